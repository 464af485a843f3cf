"""What the objects consist of: nothing writable, nothing from elsewhere, one name to call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ccml.targets import Machine
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.artifacts.machines import ARM64_LINUX, M4, V3, machine_id
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

LLVM = "llvm"
BUILDS = [
    pytest.param(machine, compiler, marks=needs(*tools), id=f"{compiler or LLVM}-{machine_id(machine)}")
    for machine, compiler, tools in (
        (V3, "gcc", ["make", "gcc"]),
        (V3, "clang", ["make", "clang"]),
        (V3, "", []),
        (M4, "arm-none-eabi-gcc", ["make", "arm-none-eabi-gcc"]),
        (M4, "", []),
        (ARM64_LINUX, "aarch64-linux-gnu-gcc", ["make", "aarch64-linux-gnu-gcc"]),
        (ARM64_LINUX, "", []),
    )
]
pytestmark = needs_models


@dataclass
class Contents:
    """``writable`` are sections with their bytes, the others symbols. ``hidden`` symbols are defined, but for the
    library alone."""

    writable: dict[str, int] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)
    visible: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)


@pytest.mark.check
@pytest.mark.parametrize(("machine", "compiler"), BUILDS)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_contents(model: Model, machine: Machine, compiler: str, workshop: Workshop) -> None:
    """No malloc, no memcpy, no libm: there is no undefined symbol at all, on hosted machines neither. The only thing
    that is written is a word for whether the processor has what not all of its kind have."""
    if compiler:
        objects = workshop.built_by_make(model, machine, f"CC={compiler}") / "build"
    else:
        objects = workshop.machine_code(model, machine)
    found = contents(objects)
    assert sum(found.writable.values()) == (4 if machine.asked_for else 0), found.writable
    assert found.undefined == set()
    assert found.visible == {f"{model}_run", f"{model}_model_id"}
    assert {name for name in found.hidden if not name.startswith(f"{model}_")} == set()


def contents(folder: Path) -> Contents:
    """Of all objects in ``folder``, taken together."""
    found = Contents()
    for path in sorted(folder.glob("*.o")):
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            found.writable |= dict(_writable(elf, path.name))
            _add_symbols(elf, found)
    found.undefined -= found.visible | found.hidden
    return found


def _writable(elf: ELFFile, file: str) -> Iterator[tuple[str, int]]:
    for section in elf.iter_sections():
        if section["sh_size"] and section["sh_flags"] & SH_FLAGS.SHF_WRITE:
            yield f"{file}: {section.name}", section["sh_size"]


def _add_symbols(elf: ELFFile, found: Contents) -> None:
    for table in elf.iter_sections():
        if not isinstance(table, SymbolTableSection):
            continue
        for symbol in table.iter_symbols():
            if not symbol.name or symbol["st_info"]["bind"] == "STB_LOCAL":
                continue
            if symbol["st_shndx"] == "SHN_UNDEF":
                found.undefined.add(symbol.name)
            elif symbol["st_shndx"] == "SHN_COMMON":
                found.writable[symbol.name] = symbol["st_size"]
            elif symbol["st_other"]["visibility"] == "STV_HIDDEN":
                found.hidden.add(symbol.name)
            else:
                found.visible.add(symbol.name)
