"""Rounded and clamped numbers: every half is rounded to even behind every offset, and what fits is not narrowed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ccml.ir.build import convert, maximum, minimum
from ccml.ir.loops import Convert, Expr
from ccml.ir.types import DType
from ccml.ops.limits import limits, widened
from ccml.ops.rounding_exprs import round_to_integer

from tests.ops.expr_harness import Bindings, evaluate, operands

HALVES = (np.arange(-1300, 1301) / np.float32(2)).astype(np.float32)
WHOLE = np.arange(-700, 701, dtype=np.int32)


def of_halves(low: int, high: int, offset: int) -> Expr:
    (x,) = operands(HALVES)
    return round_to_integer(minimum(maximum(x, low - offset), high - offset), offset)


@pytest.mark.parametrize("offset", [0, 1, -1, 5, -5, 128, -128, 127, 255, 65535])
def test_halves_are_rounded_to_even_behind_every_offset(offset: int) -> None:
    (x,) = operands(HALVES)
    found = evaluate(round_to_integer(x, offset), Bindings(), HALVES)
    np.testing.assert_array_equal(found, np.rint(HALVES).astype(np.int32) + offset)


@pytest.mark.parametrize(("low", "high", "offset"), [*product([-128, -3, 0], [0, 7, 127], [0, 5, -5, 128, -128])])
def test_limits_are_those_of_the_values(low: int, high: int, offset: int) -> None:
    rounded = of_halves(low, high, offset)
    (x,) = operands(WHOLE)
    for expr, values in ((rounded, HALVES), (minimum(maximum(x, low), high), WHOLE)):
        found = evaluate(expr, Bindings(), values)
        assert limits(expr) == (found.min(), found.max()) == (low, high)


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8])
def test_what_fits_is_not_narrowed_and_the_rest_is(dtype: DType) -> None:
    least, most = (int(end) for end in (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max))
    (x,) = operands(WHOLE)
    cases = {
        (low, high, clamped): values
        for low, high in ((least, most), (least + 3, most - 9), (least - 1, most), (least, most + 1))
        for clamped, values in (
            (of_halves(low, high, 5), HALVES), (of_halves(low, high, 6), HALVES),
            (minimum(maximum(x, low), high), WHOLE),
        )
    }  # fmt: skip
    for (low, high, clamped), values in cases.items():
        narrow = convert(clamped, dtype)
        found = widened(narrow, DType.I32)
        assert isinstance(found, Convert) != (least <= low and high <= most)
        expected = evaluate(narrow, Bindings(), values).astype(np.int32)
        np.testing.assert_array_equal(evaluate(found, Bindings(), values), expected)


def test_nothing_is_known_of_other_expressions() -> None:
    (x,) = operands(WHOLE)
    (f,) = operands(HALVES)
    for expr in (x, x + 1, x - 3, minimum(x, 5), maximum(x, 5), maximum(minimum(x, 5), 0) * 2, round_to_integer(f, 3)):
        assert limits(expr) is None
    assert limits(minimum(maximum(x, 9), 3)) is None
    narrow = convert(x, DType.I8)
    assert widened(narrow, DType.I32) == convert(narrow, DType.I32)
