"""What instructions mean, on NumPy scalars: one lane."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np


def multiply_add(a: np.floating, b: np.floating, c: np.floating) -> np.floating:
    return a * b + c


def fma(a: np.floating, b: np.floating, c: np.floating) -> np.floating:
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


def dot(bits: int, unsigned_x: bool, sum_bits: int = 32) -> Callable[..., np.signedinteger]:
    """The meaning of a dot product of 32 / ``bits`` integers packed in a word, low bits first, added to an integer of
    ``sum_bits``; wraps around."""
    modulus = 1 << sum_bits

    def parts(word: np.int32, unsigned: bool) -> list[int]:
        low = [(int(word) >> shift) & ((1 << bits) - 1) for shift in range(0, 32, bits)]
        return low if unsigned else [part - (part >> (bits - 1) << bits) for part in low]

    def meaning(acc: np.signedinteger, x: np.int32, w: np.int32) -> np.signedinteger:
        total = int(acc) + sum(a * b for a, b in zip(parts(x, unsigned_x), parts(w, False), strict=True))
        wrapped = (total + modulus // 2) % modulus - modulus // 2
        return np.int32(wrapped) if sum_bits == 32 else np.int64(wrapped)

    return meaning


def matrix_of_bytes(acc: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The product of 2 x 8 signed bytes and the transpose of 2 x 8 others, added to 2 x 2 words, all row by row; wraps
    around."""
    rows, columns = (part.astype("<i4").view(np.int8).astype(np.int64).reshape(2, 8) for part in (x, w))
    total = acc.astype(np.int64).reshape(2, 2) + rows @ columns.T
    return total.astype(np.int32).reshape(4)


def _bfloats(words: np.ndarray) -> np.ndarray:
    """The pairs of bfloat16 in words as floats, the lower ones first."""
    return words.astype("<i4").view("<u2").astype(np.uint32).__lshift__(16).view(np.float32)


def dot_of_bfloats(acc: np.float32, x: np.int32, w: np.int32) -> np.float32:
    """Two products of bfloat16, which floats hold, added one after the other, the upper ones first."""
    for a, b in reversed(list(zip(_bfloats(np.array([x])), _bfloats(np.array([w])), strict=True))):
        acc = fma(a, b, acc)
    return acc


def matrix_of_bfloats(acc: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The product of 2 x 4 bfloat16 and the transpose of 2 x 4 others, added to 2 x 2 floats one by one, all row by
    row."""
    rows, columns = (_bfloats(part).reshape(2, 4) for part in (x, w))
    total = acc.reshape(2, 2)
    for k in range(4):
        total = total + np.outer(rows[:, k], columns[:, k])
    return total.reshape(4)


def round_to_bfloat(x: np.float32) -> np.uint16:
    return np.uint16(np.asarray(x).astype(ml_dtypes.bfloat16).view(np.uint16))


def pick_words(number: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Lane by lane the word of both vectors, one behind the other, with a number modulo their lanes."""
    picked: np.ndarray = np.concatenate([x, y])[number % (2 * len(x))]
    return picked


def pick_bytes(otherwise: np.ndarray, number: np.ndarray, *table: np.ndarray) -> np.ndarray:
    """Byte by byte that of the four vectors, one behind the other, whose number is the byte of ``number``, or where
    that is 64 or more the byte of ``otherwise``."""
    words = (otherwise, number, np.concatenate(table))
    others, numbers, entries = (part.astype("<i4").view(np.uint8) for part in words)
    picked = np.where(numbers < entries.size, entries[numbers % entries.size], others)
    return picked.astype(np.uint8).view("<i4").astype(np.int32)


def lower_halves(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The first halves of both vectors."""
    return np.concatenate([x[: len(x) // 2], y[: len(y) // 2]])


def upper_halves(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The second halves of both vectors."""
    return np.concatenate([x[len(x) // 2 :], y[len(y) // 2 :]])


def widen(first: int) -> Callable[..., np.int32]:
    """The meaning of the two signed bytes ``first`` and ``first + 2`` of a word as its two halfwords."""

    def meaning(word: np.int32) -> np.int32:
        low, high = (np.int8(np.uint8(int(word) >> 8 * byte & 0xFF)) for byte in (first, first + 2))
        return np.int32(int(high) * 65536 + (int(low) & 0xFFFF))

    return meaning


def bytes_apart(first: int) -> Callable[..., np.int32]:
    """The meaning of the bytes ``first`` and ``first + 2`` of a word as two unsigned halfwords."""
    return lambda word: np.int32(int(word) >> 8 * first & 0x00FF00FF)


def widen_add(first: int) -> Callable[..., np.int32]:
    """The meaning of :func:`widen` of the second operand added to the halfwords of the first."""
    widened = widen(first)

    def meaning(acc: np.int32, word: np.int32) -> np.int32:
        low = int(acc) + int(widened(word)) & 0xFFFF
        high = (int(acc) >> 16) + (int(widened(word)) >> 16) & 0xFFFF
        return np.int32((high << 16 | low) - (high >> 15 << 32))

    return meaning


def saturate8(x: np.int32) -> np.int32:
    return np.int32(max(min(int(x), 127), -128))


def mul_high(a: np.int32, b: np.int32) -> np.int32:
    return np.int32(int(a) * int(b) >> 32)


def leading_zeros(x: np.int32) -> np.int32:
    return np.int32(32 - (int(x) & 0xFFFFFFFF).bit_length())


def scale_round(acc: np.int32, factor: np.int32, shift: np.int32) -> np.int32:
    """``shift`` > 0: by a multiplier, halves up. Otherwise in binary32 with halves to even, saturated."""
    if shift > 0:
        return np.int32((int(acc) * int(factor) >> 32) + (1 << int(shift) - 1) >> int(shift))
    scale = np.float32(math.ldexp(int(factor), int(shift)))
    with np.errstate(over="ignore"):
        product = float(np.float32(acc) * scale)
    return np.int32(round(max(min(product, 2.0**31 - 1), -(2.0**31))))
