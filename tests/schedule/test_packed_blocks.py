"""Block instructions of contractions with packed weights: meaning, C twin and assembly give the bytes of NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ccml.blocks.dsp_packed_gemm import packed
from ccml.targets import Machine

from tests.schedule.block_cases import RNG, Case, Route, assert_cases, routes, signed


def staged(x: np.ndarray) -> np.ndarray:
    """Words [group, low or whole, pixel] of bytes [pixel, k]: of even k plus 128, those of each group exchanged, and of
    all k, the even ones plus 128."""
    flipped = x.copy().view(np.uint8)
    flipped[:, ::2] ^= 128
    low = flipped[:, ::2].reshape(len(x), -1, 2)[..., ::-1].astype(np.int16).reshape(len(x), -1)
    words = np.stack([part.view(np.int32) for part in (low, flipped)])
    return np.ascontiguousarray(words.transpose(2, 0, 1))


def stage(groups: int, step: int) -> Case:
    x = signed(3 * step + 4 * groups)
    pixels = np.stack([x[pixel * step :][: 4 * groups] for pixel in range(4)])
    return Case("im2col_x4", (groups, step), {"x": x}, {"y": staged(pixels).ravel()})


def stage_rows(groups: int, step: int, rows: int, pitch: int) -> Case:
    x = signed((rows - 1) * pitch + 3 * step + 4 * groups)
    pixels = [np.concatenate([x[r * pitch + p * step :][: 4 * groups] for r in range(rows)]) for p in range(4)]
    return Case("im2col_x4_rows", (groups, step, rows, pitch), {"x": x}, {"y": staged(np.stack(pixels)).ravel()})


def stage_three(words: int, step: int, rows: int, pitch: int) -> Case:
    x = signed((rows - 1) * pitch + 5 * step + 4 * words)
    places = [[r * pitch + (p + tap) * step for r in range(rows) for tap in range(3)] for p in range(4)]
    pixels = [np.concatenate([x[place:][: 4 * words] for place in each]) for each in places]
    return Case("im2col_x4_three", (words, step, rows, pitch), {"x": x}, {"y": staged(np.stack(pixels)).ravel()})


def stage_pixel(groups: int) -> Case:
    x = signed(1, 4 * groups)
    y = np.zeros((groups, 2, 4), np.int32)
    y[:, :, :1] = staged(x)
    return Case("im2col_x4_pixel", (groups,), {"x": x[0]}, {"y": y.ravel()[: 8 * groups - 3]})


def copy_bytes(count: int) -> Case:
    x = signed(count)
    return Case("copy_bytes", (count,), {"x": x}, {"y": x})


def fill(groups: int, value: int) -> Case:
    y = np.zeros((groups, 2, 4), np.int32)
    y[:, :, :1] = staged(np.full((1, 4 * groups), value, np.int8))
    return Case("im2col_x4_fill", (groups, value), {}, {"y": y.ravel()[: 8 * groups - 3]})


def contraction(
    row: str, groups: int, channels: int, zero_point: int = 0, shift: int = 12, *, pixels: int = 4, tile: int = 2
) -> Case:
    """Results within a byte and beyond both ends of it. Tiles of four channels take their pixel as bytes."""
    x, w = signed(pixels, 4 * groups), np.maximum(signed(channels, 4 * groups), -127)
    bias = RNG.integers(-5000, 5000, channels)
    acc = x.astype(np.int64) @ w.T.astype(np.int64) + bias
    start = 256 * (bias - 128 * w[:, ::2].astype(np.int64).sum(axis=1))
    spread = 100 / (np.abs(acc).max(axis=0) + 1) * RNG.uniform(0.1, 4, channels)
    if row.endswith("i32"):
        y, last = acc.astype(np.int32), np.zeros((0, channels), np.int32)
    elif row.endswith("i8"):
        scales = (spread / 256).astype(np.float32)
        rounded = np.rint((256 * acc).astype(np.float32) * scales).astype(np.int64)
        y, last = np.clip(rounded + zero_point, -128, 127).astype(np.int8), scales.view(np.int32)[None]
    else:
        factors = np.minimum(spread * 2.0 ** (24 + shift), 2**31 - 1).astype(np.int64)
        steps = ((256 * acc * factors >> 32) + (zero_point << shift) + (1 << shift - 1)) >> shift
        y, last = np.clip(steps, -128, 127).astype(np.int8), factors.astype(np.int32)[None]
    words = np.concatenate([start.astype(np.int32)[None], packed(w).T, last])
    stream = words.reshape(len(words), -1, tile).transpose(1, 0, 2).ravel()
    scalars = (groups, channels) + (() if row.endswith("i32") else (zero_point,))
    scalars += (shift,) if row.endswith("fixed") else ()
    if tile == 4:
        return Case(row, scalars, {"w": stream, "x": x[0]}, {"y": y[0]})
    activations = np.zeros((groups, 2, 4), np.int32)
    activations[:, :, :pixels] = staged(x)
    inputs = {"w": stream, "x": activations.ravel()[: 8 * groups - 4 + pixels]}
    return Case(row, scalars, inputs, {f"y{pixel}": y[pixel] for pixel in range(pixels)})


CASES = (
    *(stage(groups, step) for groups in (1, 2, 5) for step in (4, 20)),
    stage_rows(1, 4, 1, 0), stage_rows(3, 8, 3, 40), stage_rows(2, 5, 2, 33),
    stage_three(1, 4, 1, 0), stage_three(2, 8, 3, 100), stage_three(3, 21, 2, 130),
    *(copy_bytes(count) for count in (1, 4, 7, 64)),
    *(stage_pixel(groups) for groups in (1, 2, 5)), fill(1, 127), fill(3, -128),
    *(contraction("gemm_packed_2x4_fixed12", groups, 4, 5) for groups in (*range(1, 13), 20)),
    *(contraction("gemm_packed_2x4_i8", groups, 4, -7) for groups in (1, 2, 3, 10, 11)),
    *(contraction("gemm_packed_2x4_i32", groups, 4) for groups in (1, 3, 4, 11, 12)),
    contraction("gemm_packed_2x4_fixed", 3, 2, 127, 15), contraction("gemm_packed_2x4_fixed", 6, 10, 0, 1),
    contraction("gemm_packed_2x4_fixed12", 4, 2, 127), contraction("gemm_packed_2x4_fixed12", 4, 14, -128),
    contraction("gemm_packed_2x4_i8", 4, 2, 127), contraction("gemm_packed_2x4_i32", 4, 6),
    *(contraction("gemm_packed_2x1_fixed", groups, 6, -3, pixels=1) for groups in (1, 2, 5, 8)),
    *(contraction("gemm_packed_2x1_i8", groups, 6, -3, pixels=1) for groups in (1, 2, 5, 8)),
    *(contraction("gemm_packed_2x1_i32", groups, 2, pixels=1) for groups in (1, 2, 5)),
    *(contraction("gemm_packed_4x1_fixed", groups, 8, -128, 9, pixels=1, tile=4) for groups in (1, 2, 5, 11)),
)  # fmt: skip


@routes("m4", "m33")
def test_all_cases(machine: Machine, route: Route, tmp_path: Path) -> None:
    assert_cases(CASES, machine, route, tmp_path)
