"""What loads and stores do, in LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping

from .function_ir import FunctionIr
from .instruction import FLOATS, NONE, PC, Instruction
from .meaning_arithmetic import Meaning, meanings, shifted


def address(f: FunctionIr, i: Instruction) -> str:
    """Where a load or store goes; the base register is updated where the instruction does that."""
    base = f.get(i.rn, i)
    offset = str(i.imm)
    if i.rm != NONE:
        offset, _ = shifted(f, f.get(i.rm), *i.shift)
    moved = base if offset == "0" else f.binary("add", base, offset)
    if i.index != "offset":
        f.put(i.rn, moved)
    return base if i.index == "post" else moved


def _load(f: FunctionIr, i: Instruction) -> None:
    where = address(f, i)
    f.put(i.rd, f.read(where, i.width, signed=i.signed))


def _store(f: FunctionIr, i: Instruction) -> None:
    value = f.get(i.rd)
    f.write(address(f, i), value, i.width)


def _load_two(f: FunctionIr, i: Instruction) -> None:
    where = address(f, i)
    words = [f.read(where), f.read(f.binary("add", where, "4"))]
    f.put(i.rd, words[0])
    f.put(i.ra, words[1])


def _store_two(f: FunctionIr, i: Instruction) -> None:
    values = [f.get(i.rd), f.get(i.ra)]
    where = address(f, i)
    f.write(where, values[0])
    f.write(f.binary("add", where, "4"), values[1])


def _multiple(f: FunctionIr, i: Instruction) -> None:
    """LDM, STM and their relatives; "push" and "ldmdb" go down before."""
    down = i.op in ("push", "ldmdb")
    size = 4 * len(i.registers)
    base = f.get(i.rn, i)
    if i.imm:
        base = f.binary("add", base, str(i.imm))
    first = f.binary("sub", base, str(size)) if down else base
    places = [first if not n else f.binary("add", first, str(4 * n)) for n in range(len(i.registers))]
    numbers = [register + FLOATS if i.floats else register for register in i.registers]
    if i.op.startswith("ldm"):
        values = [f.read(place) for place in places]
        if i.index != "offset":
            f.put(i.rn, first if down else f.binary("add", base, str(size)))
        for number, value in zip(numbers, values, strict=True):
            if i.floats or number != PC:
                f.put(number, value)
        return
    for number, place in zip(numbers, places, strict=True):
        f.write(place, f.get(number))
    if i.index != "offset":
        f.put(i.rn, first if down else f.binary("add", base, str(size)))


MEMORY: Mapping[str, Meaning] = meanings(
    (_load, "ldr"),
    (_store, "str"),
    (_load_two, "ldrd"),
    (_store_two, "strd"),
    (_multiple, "ldm ldmdb stm push pop_pc"),
)
