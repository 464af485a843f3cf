"""Where functions and constants go in objects, in the words of LLVM IR and of the object's format."""

from __future__ import annotations

from collections.abc import Iterable

from ..targets import Machine
from .writer import Function


def function_attributes(machine: Machine, symbol: str, more: str = "", section: str = "") -> str:
    """What stands behind the parameters of ``symbol``: ``more`` attributes, and a section for each function, so that a
    linker can place and drop it."""
    objects = machine.abi.objects
    place = section or objects.code.format(symbol=symbol)
    words = (more, objects.attributes, f'section "{place}"' if place else "", "comdat" if objects.comdat else "")
    return " ".join(filter(None, words))


def constant_section(machine: Machine, name: str, section: str = "") -> str:
    """The section of constants of the model ``name``, as it stands behind a constant's value, comma included."""
    place = section or machine.abi.objects.constants.format(name=name)
    return f', section "{place}"' if place else ""


def comdats(machine: Machine, functions: Iterable[Function]) -> list[str]:
    """The definitions of the groups that ``functions`` are in."""
    return [f"${function.name} = comdat nodeduplicate" for function in functions if machine.abi.objects.comdat]


def shared_comdat(machine: Machine, symbol: str) -> tuple[str, str]:
    """The definition of a group of which linkers keep one, and the word that puts ``symbol`` into it; for formats whose
    weak definitions would be something else."""
    return (f"${symbol} = comdat any\n", " comdat") if machine.abi.objects.comdat else ("", "")
