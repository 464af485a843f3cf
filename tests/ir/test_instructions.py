"""Meanings in the instruction table."""

from fractions import Fraction

import numpy as np
import pytest
from ccml.blocks.dsp_packed_gemm import SCALE, packed
from ccml.instructions import INSTRUCTIONS
from hypothesis import example, given
from hypothesis import strategies as st

FMA = INSTRUCTIONS["fma"].meaning
F32 = np.float32


def test_fma_keeps_what_the_product_rounds_away() -> None:
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, which float32 rounds to 1 + 2^-11
    a = F32(1 + 2**-12)
    assert FMA(a, a, F32(-(1 + 2**-11))) == F32(2**-24)
    # (1 + 2^-52)(1 - 2^-52) - 1 = -2^-104
    assert FMA(np.float64(1 + 2**-52), np.float64(1 - 2**-52), np.float64(-1)) == -(2.0**-104)


def test_fma_rounds_once() -> None:
    # a*a is halfway between two float32 values; 2^-60 decides, and is lost in float64
    a = F32(1 + 2**-12)
    assert FMA(a, a, F32(2**-60)) == F32(1 + 2**-11 + 2**-23)
    assert FMA(a, a, F32(-(2**-60))) == F32(1 + 2**-11)


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        (-0.0, 1.0, -0.0, "-0.0"),
        (-0.0, 1.0, 0.0, "0.0"),
        (-1e-45, 1e-45, 0.0, "-0.0"),
        (3e38, 10.0, 0.0, "inf"),
        (-3e38, 10.0, np.inf, "inf"),
        (3e38, 2.0, -3e38, "3e+38"),
        (np.inf, 0.0, 1.0, "nan"),
        (1.0, 1.0, np.nan, "nan"),
    ],
)
def test_fma_of_zeros_and_large_values(a: float, b: float, c: float, expected: str) -> None:
    with np.errstate(all="ignore"):
        assert str(FMA(F32(a), F32(b), F32(c))) == expected


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60)


@given(FLOATS, FLOATS, FLOATS)
@example(1.0, 1.0, 2.0**-24)
def test_fma_is_the_nearest_float(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    result = FMA(F32(a), F32(b), F32(c))
    error = abs(Fraction(float(result)) - exact)
    for neighbour in (np.nextafter(result, F32(np.inf)), np.nextafter(result, F32(-np.inf))):
        other = abs(Fraction(float(neighbour)) - exact)
        assert error < other or (error == other and not result.view(np.int32) & 1)


WORDS = st.integers(-(2**31), 2**31 - 1).map(np.int32)
DSP = {name: INSTRUCTIONS[name].meaning for name in ("widen_even", "widen_odd", "dot2_i16i16")}


def halves(word: np.int32) -> np.ndarray:
    return np.array([word]).view(np.int16).astype(np.int64)


@given(WORDS, WORDS, WORDS)
def test_operations_on_halfwords(acc: np.int32, x: np.int32, w: np.int32) -> None:
    (x0, x1), (w0, w1) = halves(x), halves(w)
    assert DSP["dot2_i16i16"](acc, x, w) == (np.int64(acc) + x0 * w0 + x1 * w1).astype(np.int32)


@given(st.tuples(*[st.integers(-128, 127)] * 4), st.tuples(*[st.integers(-127, 127)] * 4))
def test_packed_words_need_one_extension_each(x: tuple[int, ...], w: tuple[int, ...]) -> None:
    """The algebra of ``blocks/dsp_packed_gemm.py``, with EOR, UXTB16, SXTB16, SMLSD and SMLSDX."""
    flipped = np.array(x, np.int8).view(np.uint8) ^ np.array([128, 0, 128, 0], np.uint8)
    (e0, e1), m = flipped.view(np.int16).astype(np.int64), flipped[::2].astype(np.int64)
    word = packed(np.array([w], np.int8))
    (w0, w1), v = word.view(np.int16)[0].astype(np.int64), word.view(np.int8)[0, ::2].astype(np.int64)
    assert e0 * v[0] - e1 * v[1] + m[1] * w1 - m[0] * w0 == SCALE * (np.dot(x, w) + 128 * (w[0] + w[2]))
