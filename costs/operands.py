"""Which registers an instruction reads and writes, as far as pipelines care.

Core registers by their numbers, those of the floating-point unit from :data:`FLOATS` on.
"""

from __future__ import annotations

from dataclasses import dataclass

from .instruction import FLOATS, NONE, PC, Instruction, Kind

_NO_RESULT = frozenset({"str", "strd", "stm", "push", "vcmp", "vcmp0", "b", "bl", "blx", "bx", "cbz", "cbnz", "it"})
_ACCUMULATES = frozenset({"smlal", "umlal", "umaal", "smlald", "smlalxy", "bfi", "movt"})
_TO_CORE, _FROM_CORE = ("vmov_to_core", "vmov_to_core2", "vmrs"), ("vmov_from_core", "vmov_from_core2")


@dataclass(frozen=True, slots=True)
class Operands:
    """``results`` are registers that it makes, but for base registers that it moves; ``sources`` those that it reads,
    the ones of an ``address`` among them."""

    results: frozenset[int]
    sources: frozenset[int]
    address: frozenset[int]


def is_load(i: Instruction) -> bool:
    """Whether it loads from memory."""
    return i.kind is Kind.LOAD or i.loads or i.op in ("pop_pc", "jump_loaded")


def is_store(i: Instruction) -> bool:
    """Whether it stores into memory."""
    return i.kind is Kind.STORE or (i.kind in VECTOR_ACCESSES and not i.loads)


VECTOR_ACCESSES = (
    Kind.VECTOR_MEMORY, Kind.VECTOR_INTERLEAVED, Kind.VECTOR_GATHER_4, Kind.VECTOR_GATHER_8, Kind.VECTOR_GATHER_16,
)  # fmt: skip


def is_multiple(i: Instruction) -> bool:
    """Whether it moves several registers, or one by the form for several."""
    return i.words > 1 or (bool(i.registers) and not i.floats)


def operands(i: Instruction) -> Operands:
    """The registers of an instruction."""
    if i.read or i.written:
        address = i.read[:5] if i.kind in VECTOR_ACCESSES else ()
        return Operands(frozenset(i.written), frozenset(i.read), frozenset(address))
    if i.kind in (Kind.LOAD, Kind.STORE) or is_load(i):
        return _memory(i)
    if i.op in _TO_CORE or i.op in _FROM_CORE:
        return _move(i)
    shift = FLOATS if i.kind in (Kind.FLOAT, Kind.FLOAT_MAC, Kind.FLOAT_DIVIDE) else 0
    names = {number: number + shift for number in (i.rd, i.rn, i.rm, i.ra) if number != NONE}
    long = i.kind in (Kind.LONG_MULTIPLY, Kind.LONG_MULTIPLY_ADD)
    made = () if i.op in _NO_RESULT else (i.rd, i.ra) if long else (i.rd,)
    accumulates = i.op in _ACCUMULATES or i.kind is Kind.FLOAT_MAC
    read = (i.rn, i.rm, *(() if long and not accumulates else (i.ra,)), *((i.rd,) if accumulates else ()))
    return Operands(_numbers(names, made), _numbers(names, read), frozenset())


def _numbers(names: dict[int, int], registers: tuple[int, ...]) -> frozenset[int]:
    return frozenset(names[number] for number in registers if number != NONE)


def _memory(i: Instruction) -> Operands:
    address = frozenset(number for number in (i.rn, i.rm) if number != NONE)
    listed = [number + (FLOATS if i.floats else 0) for number in i.registers]
    moved = frozenset(listed or [number for number in (i.rd, i.ra) if number != NONE])
    if i.op == "jump_loaded":
        moved = frozenset({PC})
    return Operands(moved, address, address) if is_load(i) else Operands(frozenset(), address | moved, address)


def _move(i: Instruction) -> Operands:
    core = frozenset(number for number in (i.rd, i.ra) if number != NONE)
    floats = frozenset() if i.rm == NONE else frozenset(FLOATS + i.rm + n for n in range(len(core)))
    made, read = (core, floats) if i.op in _TO_CORE else (floats, core)
    return Operands(made, read, frozenset())
