"""Block instructions of contractions of few channels: meaning, C twin and assembly give the bytes of NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ccml.blocks.pointwise import pack
from ccml.targets import Machine

from tests.schedule.block_cases import RNG, Case, Route, assert_cases, routes, signed


def pointwise(
    pixels: int, channels: int, results: int, groups: int = 1, *, apart: int = 0, zero_point: int = 0
) -> Case:
    """Results within a byte and beyond both ends of it; pixels have bytes between them that are no part of them."""
    words = -(-channels // 4)
    step_x, step_y = groups * channels + apart, groups * results + apart
    x, w = signed(pixels * step_x), signed(groups * results, channels)
    bias = RNG.integers(-5000, 5000, len(w))
    parts = x.reshape(pixels, step_x)[:, : groups * channels].reshape(pixels, groups, channels).astype(np.int64)
    acc = np.einsum("pgc,grc->pgr", parts, w.reshape(groups, results, channels)).reshape(pixels, -1) + bias
    scales = 100 / (np.abs(acc).max(axis=0) + 1) * RNG.uniform(0.1, 4, len(w))
    factors = np.minimum(scales * 2.0**32, 2**31 - 1).astype(np.int64)
    y = np.zeros((pixels, step_y), np.int8)
    y[:, : groups * results] = np.clip((acc * factors + (1 << 31) >> 32) + zero_point, -128, 127)
    scalars = (pixels, *((groups,) if groups > 1 else ()), channels, results, step_x, step_y, zero_point)
    block = f"pointwise_{4 * words}" if groups == 1 else f"grouped_pointwise_{7 if 4 < channels < 8 else channels}"
    inputs = {"w": pack(bias, w, factors).ravel(), "x": x[: len(x) - apart]}
    return Case(block, scalars, inputs, {"y": y.ravel()[: y.size - apart]})


CASES = (
    *(pointwise(3, channels, results, zero_point=5) for channels in range(4, 13) for results in (1, 7, 8, 9)),
    pointwise(1, 8, 16, zero_point=-128), pointwise(2, 11, 25, apart=3), pointwise(5, 4, 8, apart=1, zero_point=127),
    *(pointwise(3, channels, results, 2, zero_point=-7) for channels in range(4, 9) for results in (1, 5, 8)),
    pointwise(1, 8, 8, 5), pointwise(4, 4, 4, 3, apart=5, zero_point=100),
)  # fmt: skip


@routes("m4", "m33")
def test_all_cases(machine: Machine, route: Route, tmp_path: Path) -> None:
    assert_cases(CASES, machine, route, tmp_path)
