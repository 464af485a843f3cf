"""The plain nests of weights that are stored as integers, against their meaning."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ops.table import OPS

from tests.ops.nest_harness import run_nest

RNG = np.random.default_rng(0)


def stored(*shape: int) -> np.ndarray:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def scales(*shape: int) -> np.ndarray:
    return RNG.uniform(0.01, 0.1, shape).astype(np.float32)


@pytest.mark.parametrize("zero_point", [False, True])
@pytest.mark.parametrize(("axis", "block", "shape"), [(0, 3, (3, 5)), (1, 2, (7, 3)), (1, 5, (7, 1))])
def test_dequantize_blocks(axis: int, block: int, shape: tuple[int, int], zero_point: bool) -> None:
    arrays = [stored(7, 5), scales(*shape), *([stored(*shape)] if zero_point else [])]
    (got,) = run_nest("dequantize_blocks", *arrays, axis=axis, block=block)
    (wanted,) = OPS["dequantize_blocks"].evaluate(arrays, {"axis": axis, "block": block})
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("zero_point", [False, True])
@pytest.mark.parametrize(("block", "blocks"), [(4, 3), (10, 1), (3, 4)])
def test_weight_matmul(block: int, blocks: int, zero_point: bool) -> None:
    x = RNG.standard_normal((2, 3, 10)).astype(np.float32)
    arrays = [x, stored(10, 6), scales(blocks, 6), *([stored(blocks, 6)] if zero_point else [])]
    (got,) = run_nest("weight_matmul", *arrays, block=block)
    (wanted,) = OPS["weight_matmul"].evaluate(arrays, {"block": block})
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4)
