"""Angles of any size in quadrants: the fraction of x * 2/pi by integer arithmetic (Payne and Hanek, 1983).

x = m * 2^s with an integer m, so only those bits of 2/pi count that lie from two places before the binary point of
2^s * 2/pi on: what stands before them gives whole turns. The product of m with two machine words of such bits is exact
but for its last places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from ..ir.loops import Binary, Convert, Expr, Type
from .expr_tools import FloatFormat, absolute, bits, compare, const, float_format, select
from .opdef import Bind


def reduced(x: Expr, least: float, bind: Bind) -> tuple[Expr, Expr]:
    """|x| = q * pi/2 + r with |r| <= pi/4, for |x| > ``least`` > 2 (f32 or f64): q modulo 4 as an unsigned integer
    of the same size, and r. The error of r is below 1e-8 (f32) or 2e-17 (f64), besides its rounding. Infinity and NaN
    give a NaN."""
    word = _Word(float_format(x), x.type.lanes)
    raw = bind("raw", bits(absolute(x), word.fmt.unsigned))
    mantissa = word.const((1 << word.fmt.mantissa) - 1)
    m = bind("m", word.op("or", word.op("and", raw, mantissa), word.const(1 << word.fmt.mantissa)))
    first = word.fmt.bias + word.fmt.mantissa + _first_place(word.fmt, least)
    place = bind("place", word.op("sub", word.shr(raw, word.fmt.mantissa), word.const(first)))
    high, low = _window(place, word, _strings(word.fmt, least), bind)
    turns = bind("turns", word.op("add", word.op("mul", m, high), _high_product(m, low, word, bind)))
    quadrant = bind("q", word.shr(word.op("add", turns, word.const(1 << (word.bits - 3))), word.bits - 2))
    rest = Convert(x.type, bits(word.shl(turns, 2), word.fmt.signed))
    scaled = rest * const(math.pi / 2 * 2.0**-word.bits, x.type)
    return quadrant, scaled + (x - x)


@dataclass(frozen=True)
class _Word:
    """Unsigned integers of a float format's size, in so many lanes."""

    fmt: FloatFormat
    lanes: int

    @property
    def bits(self) -> int:
        return self.fmt.unsigned.size * 8

    @property
    def type(self) -> Type:
        return Type(self.fmt.unsigned, self.lanes)

    def const(self, value: int) -> Expr:
        return const(value, self.type)

    def op(self, name: str, x: Expr, y: Expr) -> Expr:
        return Binary(name, x, y)

    def shl(self, x: Expr, count: int) -> Expr:
        return self.op("shl", x, self.const(count))

    def shr(self, x: Expr, count: int) -> Expr:
        return self.op("shr", x, self.const(count))


def _first_place(fmt: FloatFormat, least: float) -> int:
    """The exponent s of the smallest x = m * 2^s that is to be reduced."""
    return math.frexp(least)[1] - 1 - fmt.mantissa


def _strings(fmt: FloatFormat, least: float) -> tuple[int, ...]:
    """Words of the bits of 2/pi, 0 before the point: the first has the weight 2 in 2^s * 2/pi for the smallest s."""
    first, size = _first_place(fmt, least), fmt.unsigned.size * 8
    last = fmt.bias - fmt.mantissa
    count = (last - first) // size + 3
    lead = 2 - first  # bits before the first of 2/pi
    places = count * size
    number = _two_over_pi(places - lead)
    return tuple(number >> (size * (count - 1 - k)) & ((1 << size) - 1) for k in range(count))


@cache
def _two_over_pi(places: int) -> int:
    """floor(2/pi * 2^places), pi by Machin's formula with some places more."""
    unit = 1 << (places + 64)

    def arctan_of_inverse(n: int) -> int:
        term, total, k = unit // n, 0, 0
        while term:
            total += (-term if k % 2 else term) // (2 * k + 1)
            term //= n * n
            k += 1
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (2 * unit << places) // pi


def _window(place: Expr, word: _Word, strings: Sequence[int], bind: Bind) -> tuple[Expr, Expr]:
    """The two words that begin at bit ``place`` of the string."""
    index = bind("word", word.shr(place, word.bits.bit_length() - 1))
    shift = bind("shift", word.op("and", place, word.const(word.bits - 1)))
    parts: list[Expr] = [word.const(value) for value in strings]
    step = 1 << max(len(strings) - 3, 0).bit_length()
    while step > 1:
        step //= 2
        there = bind("there", compare("ne", word.op("and", index, word.const(step)), 0))
        shown = min(len(parts), step + 2)
        parts = [
            bind("part", select(there, parts[k + step], parts[k])) if k + step < len(parts) else parts[k]
            for k in range(shown)
        ]
    back = bind("back", word.op("sub", word.const(word.bits - 1), shift))
    high, low = (
        word.op("or", word.op("shl", a, shift), word.op("shr", word.shr(b, 1), back)) for a, b in pairwise(parts)
    )
    return bind("high", high), bind("low", low)


def _high_product(m: Expr, low: Expr, word: _Word, bind: Bind) -> Expr:
    """The upper word of m * low, at most 2 less: products of halves, without the carry among the lower parts."""
    half = word.bits // 2
    mask = word.const((1 << half) - 1)
    m_high, m_low = bind("mh", word.shr(m, half)), bind("ml", word.op("and", m, mask))
    high, low = bind("lh", word.shr(low, half)), bind("ll", word.op("and", low, mask))
    cross = word.op("add", word.shr(word.op("mul", m_high, low), half), word.shr(word.op("mul", m_low, high), half))
    return word.op("add", word.op("mul", m_high, high), cross)
