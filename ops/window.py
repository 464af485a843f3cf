"""Pooling: types and meaning."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, ints, text
from .infer import operand
from .integer import NARROW, zero_point
from .opdef import Arrays, Attrs, Types
from .pointwise import FLOATS, NUMBERS, present_arrays
from .windows import (
    check_geometry,
    from_channels_first,
    join_layout,
    reach,
    split_layout,
    to_channels_first,
    window_counts,
    windows,
)


def infer_pool(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, layout, kind = operand(types, 0), attrs["layout"], text(attrs, "kind")
    if x.dtype not in {"max": NUMBERS, "avg": FLOATS, "sum": NARROW}[kind]:
        raise ValueError(f"no {kind} pooling of {x}")
    batch, channels, extents = split_layout(x.shape, layout)
    kernel, stride, pad, dilation = (ints(attrs, name) for name in ("kernel", "stride", "pad", "dilation"))
    check_geometry(len(extents), kernel, attrs)
    if any(amount >= span for amount, span in zip(pad, reach(kernel, dilation) * 2)):
        raise ValueError(f"pad {pad} is not smaller than the window {reach(kernel, dilation)}")
    counts = window_counts(extents, kernel, stride, pad, dilation, flag(attrs, "ceil_mode"))
    quant = x.quant if kind == "max" and x.quant is not None and x.quant.axis is None else None
    dtype = DType.I32 if kind == "sum" else x.dtype
    return (TensorType(dtype, join_layout(batch, channels, counts, layout), quant),)


def evaluate_pool(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Max ignores padding. Avg divides by the elements of the window that are in the input, or with
    ``count_include_pad`` in the input and its padding; what ``ceil_mode`` adds beyond never counts. Sum adds up
    x - zero_point as i32; padding is 0."""
    x = to_channels_first(present_arrays(arrays)[0], attrs["layout"])
    pool = {"max": _max_pool, "avg": _avg_pool, "sum": _sum_pool}[text(attrs, "kind")]
    return (from_channels_first(pool(x, attrs), attrs["layout"]),)


def infer_max_pool_index(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """Always channels first: numbers are those of the model's elements."""
    (pooled,) = infer_pool(types, {**attrs, "kind": "max", "layout": "channels_first"})
    return (TensorType(DType.I64, pooled.shape),)


def evaluate_max_pool_index(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The number of the element that is the first greatest of each window, among all elements of x."""
    (x,) = present_arrays(arrays)
    extents = x.shape[2:]
    numbers = np.arange(int(np.prod(extents))).reshape(extents[::-1] if attrs["column_major"] else extents)
    numbers = numbers.T if attrs["column_major"] else numbers
    numbers = numbers + np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2)) * numbers.size
    outside = -np.inf if x.dtype.kind == "f" else float(np.iinfo(x.dtype).min) - 1
    shape = infer_max_pool_index([TensorType(DType.from_numpy(x.dtype), x.shape)], attrs)[0].shape
    values = _pooled(x.astype(np.float64), attrs, outside, outside).reshape(*shape, -1)
    exists = _pooled(np.ones(x.shape), attrs, 0, 0).reshape(*shape, -1) > 0
    places = _pooled(numbers, attrs, 0, 0).reshape(*shape, -1)
    first = np.argmax(exists & (values == np.where(exists, values, -np.inf).max(-1, keepdims=True)), -1)
    return (np.take_along_axis(places, first[..., None], -1)[..., 0].astype(np.int64),)


def _pooled(x: np.ndarray, attrs: Attrs, inner: float, outer: float) -> np.ndarray:
    """All windows over ``x`` with ``inner`` in the padding and ``outer`` where ``ceil_mode`` reaches beyond it."""
    kernel, stride, pad, dilation = (ints(attrs, name) for name in ("kernel", "stride", "pad", "dilation"))
    extents, spatial = x.shape[2:], x.ndim - 2
    counts = window_counts(extents, kernel, stride, pad, dilation, flag(attrs, "ceil_mode"))
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pad[:spatial], pad[spatial:])], constant_values=inner)
    beyond = [
        max(0, (count - 1) * step + span - extent)
        for count, step, span, extent in zip(counts, stride, reach(kernel, dilation), padded.shape[2:])
    ]
    padded = np.pad(padded, [(0, 0), (0, 0), *((0, extra) for extra in beyond)], constant_values=outer)
    return windows(padded, kernel, stride, dilation, counts)


def _max_pool(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return _pooled(x, attrs, least, least).max(axis=tuple(range(x.ndim, 2 * x.ndim - 2)))


def _sum_pool(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    pooled = _pooled(x.astype(np.int32) - zero_point(attrs), attrs, 0, 0)
    return pooled.sum(axis=tuple(range(x.ndim, 2 * x.ndim - 2)), dtype=np.int32)


def _avg_pool(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    axes = tuple(range(x.ndim, 2 * x.ndim - 2))
    total = _pooled(x.astype(np.float64), attrs, 0.0, 0.0).sum(axis=axes)
    return (total / window_sizes(x.shape[2:], attrs)).astype(x.dtype)


def window_sizes(extents: tuple[int, ...], attrs: Attrs) -> np.ndarray:
    """What an average over each window divides by, [1, 1, counts...]."""
    in_padding = 1.0 if attrs["count_include_pad"] else 0.0
    pooled = _pooled(np.ones((1, 1, *extents)), attrs, in_padding, 0.0)
    return pooled.sum(axis=tuple(range(pooled.ndim // 2 + 1, pooled.ndim)))
