"""Contractions of many samples at once: ``x[samples, ...]`` with weights that all samples share.

What ``contraction.py`` sums in float64, so that it can judge any order, is here left to the matrix product of NumPy, in
float32 or float64 as the operands are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from .attributes import Attrs, integer, ints
from .windows import reach, window_counts

_MOST_COLUMNS = 1 << 17
"""Elements of patches that are made at once: about what a cache holds, beside what is made of them."""
_DEPTHWISE_ARRAYS = 2
"""Arrays of the size of a result that a tap of a depthwise kernel goes through: products and sums."""


def stacked_matmul(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Batches broadcast; one matrix for all rows is a single product."""
    y = (a.reshape(-1, a.shape[-1]) @ b).reshape(*a.shape[:-1], b.shape[1]) if b.ndim == 2 else a @ b
    return y if bias is None else y + bias


def batched_conv(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, attrs: Attrs) -> np.ndarray:
    """Channels first, any batch."""
    stride, pad, dilation = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "dilation")
    kernel, group = w.shape[2:], integer(attrs, "group")
    counts = window_counts(x.shape[2:], kernel, stride, pad, dilation)
    y = np.empty((len(x), len(w), *counts), x.dtype)
    depthwise = is_depthwise(w, attrs)
    columns = x.shape[1] * (_DEPTHWISE_ARRAYS if depthwise else prod(kernel)) * prod(counts)
    for some in _parts(len(x), columns):
        padded = _padded(x[some], pad)
        if depthwise:
            y[some] = _depthwise(padded, w, stride, dilation, counts)
        else:
            patches = _patches(padded, kernel, stride, dilation, counts).reshape(len(padded), group, -1, prod(counts))
            matrices = w.reshape(group, len(w) // group, -1)
            np.matmul(matrices, patches, out=y[some].reshape(len(padded), group, -1, prod(counts)))
    if bias is not None:
        y += bias.reshape(-1, *[1] * len(counts))
    return y


def batched_conv_transpose(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, attrs: Attrs, extents: Sequence[int]
) -> np.ndarray:
    """Channels first, any batch; ``extents`` are those of the result."""
    stride, pad, dilation = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "dilation")
    group, kernel, spatial = integer(attrs, "group"), w.shape[2:], x.ndim - 2
    full = [extent + pad[d] + pad[spatial + d] for d, extent in enumerate(extents)]
    matrices = w.reshape(group, x.shape[1] // group, -1).transpose(0, 2, 1)
    y = np.empty((len(x), group * w.shape[1], *extents), x.dtype)
    kept = (slice(None), slice(None), *(slice(pad[d], pad[d] + extent) for d, extent in enumerate(extents)))
    for some in _parts(len(x), group * matrices.shape[1] * prod(x.shape[2:])):
        products = matrices @ x[some].reshape(-1, group, x.shape[1] // group, prod(x.shape[2:]))
        parts = products.reshape(len(products), group * w.shape[1], prod(kernel), *x.shape[2:])
        image = np.zeros((len(products), group * w.shape[1], *full), x.dtype)
        for number, tap in enumerate(np.ndindex(*kernel)):
            image[_tap(tap, stride, dilation, x.shape[2:], 2)] += parts[:, :, number]
        y[some] = image[kept]
    if bias is not None:
        y += bias.reshape(-1, *[1] * spatial)
    return y


def _parts(count: int, size: int) -> Iterator[slice]:
    """Of ``count`` images with ``size`` elements to work on, such as are looked at together."""
    step = max(1, _MOST_COLUMNS // max(1, size))
    return (slice(begin, begin + step) for begin in range(0, count, step))


def is_depthwise(w: np.ndarray, attrs: Attrs) -> bool:
    """Whether a convolution has one kernel for each channel: its sums have the same order everywhere."""
    return integer(attrs, "group") == len(w) and w.shape[1] == 1


def _padded(x: np.ndarray, pad: Sequence[int]) -> np.ndarray:
    if not any(pad):
        return x
    spatial = x.ndim - 2
    before, extents = pad[:spatial], x.shape[2:]
    around = tuple(extent + begin + end for extent, begin, end in zip(extents, before, pad[spatial:]))
    inside = tuple(slice(begin, begin + extent) for begin, extent in zip(before, extents))
    padded = np.zeros((*x.shape[:2], *around), x.dtype)
    padded[(slice(None), slice(None), *inside)] = x
    return padded


def _tap(
    tap: Sequence[int], stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int], outer: int = 0
) -> tuple[slice, ...]:
    """The elements of a padded plane, behind ``outer`` dimensions, that a tap of the kernel meets."""
    plane = (
        slice(t * dilation[d], t * dilation[d] + (counts[d] - 1) * stride[d] + 1, stride[d]) for d, t in enumerate(tap)
    )
    return (*[slice(None)] * outer, *plane)


def _patches(
    padded: np.ndarray, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int]
) -> np.ndarray:
    """``[batch, channels, taps, counts...]``"""
    if prod(kernel) == 1 and tuple(counts) == padded.shape[2:]:
        return np.ascontiguousarray(padded)
    patches = np.empty((*padded.shape[:2], prod(kernel), *counts), padded.dtype)
    for number, tap in enumerate(np.ndindex(*kernel)):
        patches[:, :, number] = padded[_tap(tap, stride, dilation, counts, 2)]
    return patches


def _depthwise(
    padded: np.ndarray, w: np.ndarray, stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int]
) -> np.ndarray:
    """A kernel for each channel: one tap after the other, so that sums have one order. What is innermost is to be long:
    the channels, or where they are longer the rows of an image."""
    spatial = len(counts)
    last = counts[-1] < len(w)
    images = np.moveaxis(padded, 1, -1).copy() if last else padded
    shape = (len(padded), *counts, len(w)) if last else (len(padded), len(w), *counts)
    y = np.zeros(shape, padded.dtype)
    product = np.empty_like(y)
    factors_of = np.ascontiguousarray(np.moveaxis(w[:, 0], 0, -1))
    for tap in np.ndindex(*w.shape[2:]):
        place, factors = _tap(tap, stride, dilation, counts), factors_of[tap]
        if last:
            np.multiply(images[(slice(None), *place)], factors, out=product)
        else:
            np.multiply(images[(slice(None), slice(None), *place)], factors.reshape(-1, *[1] * spatial), out=product)
        y += product
    return np.moveaxis(y, -1, 1) if last else y


def batched_pool(x: np.ndarray, attrs: Attrs) -> np.ndarray | None:
    """The maximum of windows, or the mean of windows without padding; ``None`` for others."""
    kernel, stride, pad, dilation = (ints(attrs, name) for name in ("kernel", "stride", "pad", "dilation"))
    is_max, spatial = attrs["kind"] == "max", x.ndim - 2
    if attrs["ceil_mode"] or attrs["layout"] != "channels_first" or not (is_max or attrs["kind"] == "avg"):
        return None
    if any(pad) and not is_max:
        return None
    counts = window_counts(x.shape[2:], kernel, stride, pad, dilation)
    width = [(0, 0), (0, 0), *zip(pad[:spatial], pad[spatial:])]
    padded = np.pad(x, width, constant_values=-np.inf) if any(pad) else x
    y = np.full((*x.shape[:2], *counts), -np.inf if is_max else 0.0, np.float32)
    for tap in np.ndindex(*kernel):
        window = padded[_tap(tap, stride, dilation, counts, 2)]
        if is_max:
            np.maximum(y, window, out=y)
        else:
            y += window
    return y if is_max else y / np.float32(prod(kernel))


def transposed_extents(extents: Sequence[int], kernel: Sequence[int], attrs: Attrs) -> tuple[int, ...]:
    """Of the result of a transposed convolution."""
    stride, pad, extra = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "output_padding")
    spatial = len(extents)
    return tuple(
        (extent - 1) * stride[d] + span + extra[d] - pad[d] - pad[spatial + d]
        for d, (extent, span) in enumerate(zip(extents, reach(kernel, ints(attrs, "dilation"))))
    )
