"""The instruction table: the functions that a loop-IR ``Call`` may name.

A row says what the function means; targets say in their data which of them they have, and the printers hold the
spelling for each backend. A row whose ``meaning`` is given can be evaluated in Python (by the interpreter of the
tests); every row has a portable C twin in ``runtime_c`` that gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Protocol

import numpy as np

from .loops import Kernel
from .types import DType


@dataclass(frozen=True)
class Instruction:
    """One function, applied lane by lane.

    ``operands``/``result`` are element types, or ``None`` for "the common floating type of the call".
    ``meaning`` maps NumPy scalars to a NumPy scalar.
    """

    name: str
    operands: tuple[DType | None, ...]
    result: DType | None
    meaning: Callable[..., object]


class BlockInstruction(Protocol):
    """What an ``Invoke`` may name: the loop nest that it stands for with certain numbers for its ``scalars``."""

    @property
    def scalars(self) -> tuple[str, ...]: ...

    def kernel(self, numbers: tuple[int, ...]) -> Kernel: ...


BlockTable = Mapping[str, BlockInstruction]
"""Block instructions by name. The table itself is ``ccml.blocks``; verifier and interpreter are given it."""

NO_BLOCKS: BlockTable = MappingProxyType({})


def _fma(a: np.floating, b: np.floating, c: np.floating) -> np.floating:
    """One rounding of the exact sum; zeros and what is not finite follow from the separate operations."""
    if not all(math.isfinite(operand) for operand in (a, b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return _rounded(exact, type(a)) if exact else a * b + c


def _rounded(exact: Fraction, kind: type[np.floating]) -> np.floating:
    """``exact`` to nearest even, once.

    Narrower types go through a float64 rounded to odd, which keeps what decides the second rounding (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    try:
        near = float(exact)
    except OverflowError:
        return kind(math.inf if exact > 0 else -math.inf)
    if kind is not np.float64 and Fraction(near) != exact and not np.float64(near).view(np.int64) & 1:
        near = math.nextafter(near, math.inf if exact > near else -math.inf)
    return kind(near)


def _dot(bits: int, unsigned_x: bool) -> Callable[..., np.int32]:
    """The meaning of a dot product of 32 / ``bits`` integers packed in a word, low bits first; wraps around."""

    def parts(word: np.int32, unsigned: bool) -> list[int]:
        low = [(int(word) >> shift) & ((1 << bits) - 1) for shift in range(0, 32, bits)]
        return low if unsigned else [part - (part >> (bits - 1) << bits) for part in low]

    def meaning(acc: np.int32, x: np.int32, w: np.int32) -> np.int32:
        total = int(acc) + sum(a * b for a, b in zip(parts(x, unsigned_x), parts(w, False), strict=True))
        return np.int32((total + (1 << 31)) % (1 << 32) - (1 << 31))

    return meaning


def _widen(first: int) -> Callable[..., np.int32]:
    """The meaning of the two signed bytes ``first`` and ``first + 2`` of a word as its two halfwords."""

    def meaning(word: np.int32) -> np.int32:
        low, high = (np.int8(np.uint8(int(word) >> 8 * byte & 0xFF)) for byte in (first, first + 2))
        return np.int32(int(high) * 65536 + (int(low) & 0xFFFF))

    return meaning


def _halves(operation: Callable[[int, int], int]) -> Callable[..., np.int32]:
    """The meaning of an operation on both halfwords of two words; each wraps around."""

    def meaning(x: np.int32, y: np.int32) -> np.int32:
        low, high = (operation(int(x) >> bit, int(y) >> bit) & 0xFFFF for bit in (0, 16))
        return np.uint32(high << 16 | low).astype(np.int32)

    return meaning


def _half_product(x_bit: int, w_bit: int) -> Callable[..., np.int32]:
    """The meaning of ``acc`` plus the product of a halfword of ``x`` and one of ``w``; wraps around."""

    def meaning(acc: np.int32, x: np.int32, w: np.int32) -> np.int32:
        parts = (np.int32(word).view(np.uint32) >> np.uint32(bit) for word, bit in ((x, x_bit), (w, w_bit)))
        product = np.prod([part.astype(np.uint16).view(np.int16).astype(np.int64) for part in parts])
        return np.uint32((int(acc) + int(product)) & 0xFFFFFFFF).astype(np.int32)

    return meaning


def _saturate8(x: np.int32) -> np.int32:
    return np.int32(max(min(int(x), 127), -128))


def _mul_high(a: np.int32, b: np.int32) -> np.int32:
    return np.int32(int(a) * int(b) >> 32)


def _scale_round(acc: np.int32, factor: np.int32, shift: np.int32) -> np.int32:
    """``shift`` > 0: by a multiplier, halves up. Otherwise in binary32 with halves to even, saturated."""
    if shift > 0:
        return np.int32((int(acc) * int(factor) >> 32) + (1 << int(shift) - 1) >> int(shift))
    scale = np.float32(math.ldexp(int(factor), int(shift)))
    with np.errstate(over="ignore"):
        product = float(np.float32(acc) * scale)
    return np.int32(round(max(min(product, 2.0**31 - 1), -(2.0**31))))


_WORDS = (DType.I32, DType.I32, DType.I32)

INSTRUCTIONS: dict[str, Instruction] = {
    row.name: row
    for row in (
        Instruction("fma", (None, None, None), None, _fma),
        Instruction("sqrt", (None,), None, np.sqrt),
        Instruction("floor", (None,), None, np.floor),
        Instruction("ceil", (None,), None, np.ceil),
        Instruction("trunc", (None,), None, np.trunc),
        Instruction("round_even", (None,), None, np.rint),
        # acc + x . w: four bytes (x unsigned or signed) or two halfwords in each 32-bit lane
        Instruction("dot4_u8i8", _WORDS, DType.I32, _dot(8, True)),
        Instruction("dot4_i8i8", _WORDS, DType.I32, _dot(8, False)),
        Instruction("dot2_i16i16", _WORDS, DType.I32, _dot(16, False)),
        # bytes 0 and 2, or 1 and 3, of a word as two signed halfwords
        Instruction("widen_even", (DType.I32,), DType.I32, _widen(0)),
        Instruction("widen_odd", (DType.I32,), DType.I32, _widen(1)),
        # both halfwords of two words
        Instruction("halves_add", _WORDS[:2], DType.I32, _halves(int.__add__)),
        Instruction("halves_sub", _WORDS[:2], DType.I32, _halves(int.__sub__)),
        # acc + the low halfword of x times the high one of w, and the high one by the low one
        Instruction("low_by_high", _WORDS, DType.I32, _half_product(0, 16)),
        Instruction("high_by_low", _WORDS, DType.I32, _half_product(16, 0)),
        # clamped to a signed byte
        Instruction("saturate8", (DType.I32,), DType.I32, _saturate8),
        # the upper word of the product
        Instruction("mul_high", (DType.I32, DType.I32), DType.I32, _mul_high),
        # acc * factor / 2^(32 + shift) for shift > 0, else float32(acc) * (factor * 2^shift); rounded to a whole number
        Instruction("scale_round", _WORDS, DType.I32, _scale_round),
    )
}
