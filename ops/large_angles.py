"""Angles of any size in quadrants: the fraction of x * 2/pi by integer arithmetic (Payne and Hanek, 1983).

x = m * 2^s with an integer m, so only those bits of 2/pi count that lie from two places before the binary point of
2^s * 2/pi on: what stands before them gives whole turns. The product of m with two machine words of such bits is exact
but for its last places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from ..ir.build import absolute, bits, convert, ne, select
from ..ir.loops import Expr, Type, const
from ..record import record
from .float_exprs import FloatFormat, float_format
from .opdef import Bind


def reduced(x: Expr, least: float, bind: Bind) -> tuple[Expr, Expr]:
    """|x| = q * pi/2 + r with |r| <= pi/4, for |x| > ``least`` > 2 (f32 or f64): q modulo 4 as an unsigned integer
    of the same size, and r. The error of r is below 1e-8 (f32) or 2e-17 (f64), besides its rounding. Infinity and NaN
    give a NaN."""
    word = _Word(float_format(x), x.type.lanes)
    raw = bind("raw", bits(absolute(x), word.fmt.unsigned))
    one = 1 << word.fmt.mantissa
    m = bind("m", (raw & (one - 1)) | one)
    first = word.fmt.bias + word.fmt.mantissa + _first_place(word.fmt, least)
    place = bind("place", (raw >> word.fmt.mantissa) - first)
    high, low = _window(place, word, _strings(word.fmt, least), bind)
    turns = bind("turns", m * high + _high_product(m, low, word, bind))
    quadrant = bind("q", (turns + (1 << (word.bits - 3))) >> (word.bits - 2))
    rest = convert(bits(turns << 2, word.fmt.signed), word.fmt.dtype)
    scaled = rest * (math.pi / 2 * 2.0**-word.bits)
    return quadrant, scaled + (x - x)


@record
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
    index = bind("word", place >> (word.bits.bit_length() - 1))
    shift = bind("shift", place & (word.bits - 1))
    parts: list[Expr] = [const(value, word.type) for value in strings]
    step = 1 << max(len(strings) - 3, 0).bit_length()
    while step > 1:
        step //= 2
        there = bind("there", ne(index & step, 0))
        shown = min(len(parts), step + 2)
        parts = [
            bind("part", select(there, parts[k + step], parts[k])) if k + step < len(parts) else parts[k]
            for k in range(shown)
        ]
    back = bind("back", word.bits - 1 - shift)
    high, low = ((a << shift) | (b >> 1 >> back) for a, b in pairwise(parts))
    return bind("high", high), bind("low", low)


def _high_product(m: Expr, low: Expr, word: _Word, bind: Bind) -> Expr:
    """The upper word of m * low, at most 2 less: products of halves, without the carry among the lower parts."""
    half = word.bits // 2
    mask = (1 << half) - 1
    m_high, m_low = bind("mh", m >> half), bind("ml", m & mask)
    high, low = bind("lh", low >> half), bind("ll", low & mask)
    cross = ((m_high * low) >> half) + ((m_low * high) >> half)
    return m_high * high + cross
