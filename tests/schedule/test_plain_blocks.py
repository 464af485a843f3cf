"""Block instructions of cores without packed arithmetic: meaning, C twin and assembly give the bytes of NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ccml.ops.fixed_point import float_parts
from ccml.targets import Machine

from tests.schedule.block_cases import RNG, Case, Route, assert_cases, routes, signed


def words(*shape: int, reach: int = 1 << 20) -> np.ndarray:
    return RNG.integers(-reach, reach, shape).astype(np.int32)


def spaced(values: np.ndarray, step: int) -> np.ndarray:
    """``values`` that far apart, with zeros between."""
    out = np.zeros(step * (values.size - 1) + 1, values.dtype)
    out[::step] = values
    return out


def spread(count: int) -> Case:
    x = signed(count)
    total = np.array([-128 * x.astype(np.int32).sum()], np.int32)
    return Case("spread", (count,), {"x": x}, {"y": x.astype(np.int32), "total": total})


def pack(count: int) -> Case:
    x = signed(count)
    return Case("pack", (count,), {"x": x}, {"y": spaced(x ^ np.int8(-128), 8)})


def corrected(x: np.ndarray) -> np.ndarray:
    """Staged words [k + 1, pixel] of bytes [k, pixel]."""
    wide = x.astype(np.int32)
    return np.concatenate([-128 * wide.sum(axis=0, keepdims=True), wide]).astype(np.int32)


def gemm_4x1(block: str, steps: int, channels: int) -> Case:
    """Of a channel, all products are as large as they can be."""
    x, w, b = signed(steps, 1), signed(channels, steps), words(channels)
    x[: steps // 2], w[1] = -128, -128
    y = b + (w.astype(np.int32) @ x.astype(np.int32))[:, 0]
    tiled = (w.astype(np.int16) + 128).astype(np.uint8).reshape(-1, 4, steps).transpose(0, 2, 1)
    inputs = {"b": b, "w": np.ascontiguousarray(tiled).ravel(), "x": corrected(x).ravel()}
    return Case(block, (steps, channels), inputs, {"y": y.astype(np.int32)})


def gemm_pairs(steps: int, channels: int, tile: int) -> Case:
    """Activations and weights at both ends of their ranges as well, where products are largest."""
    x, w, b = signed(steps, 4), signed(channels, steps), words(channels)
    x[:, 1:3] = RNG.choice(np.array([-128, 127], np.int8), (1, 2))
    w[0] = np.where(np.abs(w[0]) > 100, w[0], 127)
    y = b[:, None] + w.astype(np.int32) @ x.astype(np.int32)
    staged = np.zeros((steps, 4, 2), np.int8)
    staged[:, :, 0] = x ^ np.int8(-128)
    even, unsigned = channels // tile * tile, (w.astype(np.int16) + 128).astype(np.uint8)
    pairs = unsigned[:even].reshape(-1, tile, steps).transpose(0, 2, 1).ravel()
    inputs = {
        "b": (b - 128 * w.astype(np.int32).sum(axis=1)).astype(np.int32),
        "w": np.concatenate([pairs, unsigned[even:].ravel()]), "x": staged.ravel(),
    }  # fmt: skip
    return Case(f"gemm_{tile}x4_pairs", (steps, channels), inputs, {"y": y.astype(np.int32).ravel()})


def requantize(channels: int, pixels: int, lanes: int, step: int, zero_point: int, fixed: bool = False) -> Case:
    """Channels with multipliers and with float scales, and results beyond both ends of a byte."""
    a = words(channels, lanes, reach=1 << 18)
    a[:, 0] = RNG.choice([(1 << 28) - 1, 1 - (1 << 28), 65535, -65536, 0, -1], channels)
    s, y = np.zeros((channels, 2), np.int32), np.zeros((pixels - 1) * step + channels, np.int8)
    for c in range(channels):
        if c % 3 == 1 and not fixed:
            s[c] = float_parts(np.float32(RNG.uniform(2e-4, 2e-2)))
            results = np.rint(a[c].astype(np.float32) * np.ldexp(np.float32(s[c, 0]), s[c, 1])).astype(np.int64)
        else:
            s[c] = RNG.choice([2**31 - 1, 2**30 + 12345, 2**16, 1]), RNG.choice([1, 9, 14, 23])
            wide, shift = a[c].astype(np.int64) * s[c, 0], int(s[c, 1])
            results = (wide + (1 << 31 + shift)) >> 32 + shift
        y[np.arange(pixels) * step + c] = np.clip(zero_point + results[:pixels], -128, 127)
    inputs = {"a": a.ravel(), "s": s.ravel()}
    row = "requantize_fixed" if fixed else "requantize_i8"
    return Case(row, (channels, pixels, lanes, step, zero_point), inputs, {"y": y})


def requantize_halfword(channels: int, pixels: int, lanes: int, step: int, zero_point: int, shift: int) -> Case:
    """Results beyond both ends of a byte, accumulators of all sizes, and factors at both ends."""
    a = words(channels, lanes, reach=1 << 18)
    a[:, 0] = RNG.choice([(1 << 28) - 1, 1 - (1 << 28), 65535, -65536, 65536, 0, -1], channels)
    s = RNG.choice(np.array([1, 2, 300, 12_345, 2**15 - 1], np.int16), channels)
    half, y = 1 << 15 + shift, np.zeros((pixels - 1) * step + channels, np.int8)
    for c in range(channels):
        results = (a[c, :pixels].astype(np.int64) * int(s[c]) + half) >> 16 + shift
        y[np.arange(pixels) * step + c] = np.clip(zero_point + results, -128, 127)
    scalars = (channels, pixels, lanes, step, zero_point, shift)
    return Case("requantize_halfword", scalars, {"a": a.ravel(), "s": s}, {"y": y})


def channel_row(columns: int, step: int) -> Case:
    x = signed((columns - 1) * step + 1)
    return Case("channel_row", (columns, step), {"x": x}, {"y": x[::step].astype(np.int32)})


def channel_rows(rows: int, columns: int, step: int, apart: int = 0, row: int = 0) -> Case:
    x, y = signed((rows - 1) * apart + (columns - 1) * step + 1), np.zeros(((rows - 1) * row + columns), np.int32)
    for r in range(rows):
        y[r * row :][:columns] = x[r * apart :][: (columns - 1) * step + 1 : step]
    return Case("channel_rows", (rows, columns, step, apart, row), {"x": x}, {"y": y})


def depthwise(rows: int, outputs: int, stride: int, row: int) -> Case:
    w, b = signed(9), words(1)
    x = signed(((rows - 1) * stride + 2) * row + (outputs - 1) * stride + 3).astype(np.int32)
    y = [
        b[0] + sum(int(x[(r * stride + kh) * row + o * stride + kw]) * int(w[kh * 3 + kw])
                   for kh in range(3) for kw in range(3))
        for r in range(rows) for o in range(outputs)
    ]  # fmt: skip
    return Case("depthwise3x3", (rows, outputs, stride, row), {"b": b, "w": w, "x": x}, {"y": np.array(y, np.int32)})


CASES = (
    *(spread(count) for count in (1, 7, 40)),
    *(pack(count) for count in (1, 7, 8, 9, 40)),
    *(gemm_pairs(steps, channels, 1) for steps in (1, 2, 31, 32, 33, 70) for channels in (1, 3)),
    *(gemm_pairs(steps, channels, 2) for steps in (1, 7, 8, 9, 240) for channels in (1, 2, 5)),
    *(gemm_4x1("gemm_4x1_words", steps, channels) for steps in (1, 7, 8, 9, 40) for channels in (4, 8)),
    *(gemm_4x1("gemm_4x1_bytes", steps, channels) for steps in (1, 8, 9, 511) for channels in (4, 8)),
    requantize(7, 4, 4, 9, -128), requantize(5, 1, 4, 1, 127), requantize(1, 11, 11, 3, 0), requantize(6, 3, 4, 6, -7),
    requantize(9, 4, 4, 9, -128, True), requantize(1, 11, 12, 3, 127, True), requantize(5, 1, 1, 1, 3, True),
    requantize_halfword(9, 4, 4, 9, -128, 1), requantize_halfword(5, 1, 4, 7, 127, 8),
    requantize_halfword(1, 11, 12, 3, 3, 4), requantize_halfword(40, 1, 1, 1, -20, 6),
    channel_row(1, 1), channel_row(4, 3), channel_row(7, 8), channel_row(9, 64),
    channel_rows(3, 7, 8, 60, 9), channel_rows(2, 9, 64, 600, 9), channel_rows(4, 2, 5, 11, 4),
    *(depthwise(rows, outputs, stride, 30) for rows in (1, 3) for outputs in (1, 4, 7, 12) for stride in (1, 2)),
)  # fmt: skip
TRIED = {"spread", "pack", "gemm_1x4_pairs", "gemm_2x4_pairs", "gemm_4x1_words", "gemm_4x1_bytes", "depthwise3x3"}
assert {case.block for case in CASES} > TRIED


@routes("m0", "m3")
def test_all_cases(machine: Machine, route: Route, tmp_path: Path) -> None:
    assert_cases(CASES, machine, route, tmp_path)
