"""Machine code -> instructions, one after the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from .decode16 import decode16
from .decode32 import decode32
from .decode_float import decode_float
from .instruction import ALWAYS, Instruction


def decode(code: bytes, base: int, address: int, conditions: tuple[int, ...] = ()) -> Instruction:
    """The instruction at ``address`` of ``code``, which begins at ``base``. ``conditions`` are those of an IT block."""
    (high,) = struct.unpack_from("<H", code, address - base)
    if high >> 11 in (0b11101, 0b11110, 0b11111):
        (low,) = struct.unpack_from("<H", code, address - base + 2)
        made = decode_float(address, high, low) if high & 0xEC00 == 0xEC00 else decode32(address, high, low)
    else:
        made = decode16(address, high, not conditions)
    return replace(made, cond=conditions[0]) if conditions and conditions[0] != ALWAYS else made


def it_conditions(it: Instruction) -> tuple[int, ...]:
    """The conditions of the instructions behind an IT instruction."""
    first, mask = it.imm >> 4, it.imm & 15
    count = 4 - (mask & -mask).bit_length() + 1
    flips = [first & 1] + [mask >> (4 - n) & 1 for n in range(1, count)]
    return tuple(first & 14 | low for low in flips)


def straight(code: bytes, base: int, address: int) -> Iterator[Instruction]:
    """The instructions from ``address`` on, IT blocks observed, to the end of the code."""
    conditions: tuple[int, ...] = ()
    while address + 2 <= base + len(code):
        instruction = decode(code, base, address, conditions)
        conditions = it_conditions(instruction) if instruction.op == "it" else conditions[1:]
        yield instruction
        address = instruction.end
