"""Meanings in the instruction table."""

from fractions import Fraction

import numpy as np
import pytest
from ccml.ir.instructions import INSTRUCTIONS
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
