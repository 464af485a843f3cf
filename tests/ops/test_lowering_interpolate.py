"""Nests of interpolate against their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ir.types import DType, TensorType
from ccml.ops.table import OPS

from tests.ops.nest_harness import check_nest, normal, run_nest

RNG = np.random.default_rng(3)


def side(extent: int, outputs: int, taps: int) -> list[np.ndarray]:
    """Places and weights of every output."""
    places = RNG.integers(0, extent, (outputs, taps)).astype(np.int32)
    return [places, RNG.integers(-1000, 1000, (outputs, taps)).astype(np.int32)]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (1, 3), (2, 3), (0, 3)])
def test_interpolate(axes: tuple[int, ...], dtype: type[np.integer]) -> None:
    """Along one axis and two, neighbours or not; with more and fewer outputs than inputs, and an extent of 1."""
    for shape, outputs, taps in (((2, 5, 4, 3), 7, 2), ((3, 4, 6, 20), 2, 4), ((1, 1, 1, 1), 3, 1)):
        x = RNG.integers(-128 if np.iinfo(dtype).min else 0, 127, shape).astype(dtype)
        tables = [array for axis in axes for array in side(shape[axis], outputs, taps)]
        check_nest("interpolate", x, *tables, axes=axes, zero_point=-7)


def test_sums_wrap_around() -> None:
    x = np.full((2, 4), 2**30, np.int32)
    check_nest("interpolate", x, *side(2, 3, 2), *side(4, 3, 2), axes=(0, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axes", [(0,), (2,), (0, 1), (1, 2), (1, 3)])
def test_floats(dtype: type[Any], axes: tuple[int, ...]) -> None:
    """The same products and sums in the same order: the same bits."""
    x, rng = normal(5, 4, 6, 3, dtype=dtype), np.random.default_rng(2)
    sides = [table for axis in axes for table in side(x.shape[axis], 7, 3)]
    tables = [rng.standard_normal(t.shape).astype(dtype) if n % 2 else t for n, t in enumerate(sides)]
    (y,) = run_nest("interpolate", x, *tables, axes=axes)
    want = x
    for axis, places, weights in zip(axes, tables[::2], tables[1::2], strict=True):
        along = [-1 if d == axis else 1 for d in range(4)]
        terms = [want.take(places[:, t], axis) * weights[:, t].reshape(along) for t in range(3)]
        want = terms[0] + terms[1] + terms[2]
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("types", "axes", "reason"),
    [
        ([(DType.F16, (4, 4)), (DType.I32, (2, 2)), (DType.F16, (2, 2))], (1,), "no interpolation of f16"),
        ([(DType.F32, (4, 4)), (DType.I32, (2, 2)), (DType.I32, (2, 2))], (1,), r"not both \[outputs, taps\] for f32"),
        ([(DType.F32, (4, 4)), (DType.I32, (2, 0)), (DType.F32, (2, 0))], (1,), r"not both \[outputs, taps\]"),
        ([(DType.I8, (4, 4)), (DType.I32, (2, 2)), (DType.I32, (2, 2))], (0, 1), "2 operands do not fit 2 axes"),
        ([(DType.I8, (4, 4)), (DType.I32, (2, 2)), (DType.I32, (2, 3))], (1,), r"not both \[outputs, taps\]"),
        ([(DType.I8, (4, 4)), *[(DType.I32, (2, 2))] * 4], (1, 0), "along"),
    ],
)
def test_operands_that_do_not_fit(
    types: list[tuple[DType, tuple[int, ...]]], axes: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        OPS["interpolate"].infer([TensorType(*each) for each in types], {"axes": axes})
