"""Nests of interpolate against their meaning."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.types import DType, TensorType
from ccml.ops.table import OPS

from tests.ops.nest_harness import check_nest

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


@pytest.mark.parametrize(
    ("types", "axes", "reason"),
    [
        ([(DType.F32, (4, 4)), (DType.I32, (2, 2)), (DType.I32, (2, 2))], (1,), "no interpolation of f32"),
        ([(DType.I8, (4, 4)), (DType.I32, (2, 2)), (DType.I32, (2, 2))], (0, 1), "2 operands do not fit 2 axes"),
        ([(DType.I8, (4, 4)), (DType.I32, (2, 2)), (DType.I32, (2, 3))], (1,), "not both i32"),
        ([(DType.I8, (4, 4)), *[(DType.I32, (2, 2))] * 4], (1, 0), "along"),
    ],
)
def test_operands_that_do_not_fit(
    types: list[tuple[DType, tuple[int, ...]]], axes: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        OPS["interpolate"].infer([TensorType(*each) for each in types], {"axes": axes})
