"""One library for every processor of an ABI: the code of several levels, of which the first call chooses the best.

Each level is a program of its own with a hidden entry; an object in front of them has the public functions. Constants
that levels share are there once, and so are levels whose code would be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.by_content import bytes_of
from ..ir.program import MemoryPlan, Pool, Program
from ..processes import mapped
from ..record import record
from ..targets import Machine
from . import backend
from .elf_data import DataSymbol
from .entry import constant_symbol
from .expressions import internal_error
from .guard import Choice
from .module import choosing_text, constant_align, constant_array
from .objects import code_object, constants_object, linked_besides, with_helpers


@record
class Level:
    """A model's program for one of the CPUs of an ABI."""

    machine: Machine
    program: Program

    @property
    def suffix(self) -> str:
        """What the names of its files and symbols end in."""
        return level_suffix(self.machine)


def level_suffix(machine: Machine) -> str:
    """What the names of files and symbols end in that are for the CPU of ``machine``."""
    return "".join(letter if letter.isalnum() else "_" for letter in machine.cpu.name)


def by_requirements(levels: Sequence[Level]) -> list[Level]:
    """From the CPU that asks for most to that which asks for least."""
    return sorted(levels, key=lambda level: -len(level.machine.cpu.requires))


def level_of(levels: Sequence[Level], machine: Machine) -> Level | None:
    """The level that a processor of ``machine`` runs, of ``levels`` with the most demanding first."""
    has = set(machine.cpu.requires)
    return next((level for level in levels if has.issuperset(level.machine.cpu.requires)), None)


def without_equals(levels: Sequence[Level]) -> list[Level]:
    """The levels, the most demanding first, without those whose program is that of a less demanding one."""
    found: list[Level] = []
    for level in reversed(levels):
        if not any(_equal(level.program, other.program) for other in found):
            found.insert(0, level)
    return found


def _equal(one: Program, other: Program) -> bool:
    parts = ("kernels", "blocks", "body", "buffers", "plan", "small_code")
    same = all(getattr(one, part) == getattr(other, part) for part in parts)
    return same and all(np.array_equal(array, other.constants[name]) for name, array in one.constants.items())


def with_common_memory(program: Program, levels: Sequence[Level]) -> Program:
    """``program``, whose caller reserves as much memory as the level takes that takes most, and keeps inputs and
    outputs elsewhere: each level has other places for them."""
    plans = [level.program.plan for level in levels]
    if any(plan.state != program.plan.state for plan in plans):
        raise internal_error("levels keep their states in different places")
    pools = tuple(_greatest(program, [plan.pools[n] for plan in plans], n) for n in range(len(program.plan.pools)))
    return replace(program, plan=MemoryPlan(pools, program.plan.state))


def _greatest(program: Program, levels: Sequence[Pool], number: int) -> Pool:
    own = program.plan.pools[number]
    outside = {side.buffer for side in program.interfaces}
    return replace(
        own,
        offsets={name: offset for name, offset in own.offsets.items() if name not in outside},
        size=max(pool.size for pool in (own, *levels)),
        align=max(pool.align for pool in (own, *levels)),
        whole=0,
    )


def named_levels(name: str, levels: Sequence[Level]) -> list[Level]:
    """``levels`` of the model ``name`` with names of their own, for files and symbols."""
    return [replace(level, program=replace(level.program, name=f"{name}_{level.suffix}")) for level in levels]


def level_objects(program: Program, levels: Sequence[Level]) -> list[tuple[str, bytes]]:
    """The objects of a model of several levels with names of their own, the most demanding first: ``NAME.o`` chooses,
    ``NAME_LEVEL.o`` is the code of each, ``NAME_data.o`` has the constants of all; and ``NAME_runtime.o`` what the
    machines lack.

    ``program`` is what the caller sees of all.
    """
    most = levels[0].machine
    objects = [(f"{program.name}.o", choosing_object(program, levels))]
    objects += zip((f"{level.program.name}.o" for level in levels), mapped(_code, levels), strict=True)
    objects += level_constants(program.name, levels)
    elsewhere = {symbol for level in levels for symbol in linked_besides(level.program, most)}
    return with_helpers(objects, program.name, levels[-1].machine, elsewhere)


def choosing_object(program: Program, levels: Sequence[Level]) -> bytes:
    """The object with the public functions of a model, which go on to those of one of ``levels``."""
    most = levels[0].machine
    choices = [Choice(level.program.name, level.machine.asked_for) for level in levels]
    generator = backend.target_machine(most, reloc=backend.relocation(most))
    return generator.emit_object(backend.optimize(choosing_text(program, most, choices), generator))


def _code(level: Level) -> bytes:
    return code_object(level.program, level.machine, chosen=True)


def level_constants(name: str, levels: Sequence[Level]) -> list[tuple[str, bytes]]:
    """``NAME_data.o`` with the constants of all levels, where there are any and they are not in a file."""
    symbols = [symbol for level in levels for symbol in _data(level)]
    if not symbols:
        return []
    machine = levels[0].machine
    section = machine.abi.objects.constants.format(name=name)
    return [(f"{name}_data.o", constants_object(machine, section, symbols))]


def _data(level: Level) -> list[DataSymbol]:
    program = level.program
    if program.weights is not None:
        return []
    return [
        DataSymbol(constant_symbol(program, name), bytes_of(constant_array(program, name)).data, align)
        for name, align in constant_align(program, level.machine).items()
    ]
