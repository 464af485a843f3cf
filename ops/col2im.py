"""Overlapping blocks added up to an image: types and meaning of col2im."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..ir.types import TensorType
from .attributes import ints
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .pointwise import NUMBERS, present_arrays
from .windows import check_geometry, check_padded, window_counts


def infer_col2im(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    image, stride, pad, dilation = (ints(attrs, name) for name in ("image", "stride", "pad", "dilation"))
    spatial = len(image)
    if x.rank != 2 + 2 * spatial or spatial < 1 or x.dtype not in NUMBERS or min(image) < 1:
        raise ValueError(f"{x} are no blocks of an image {image}")
    kernel = x.shape[2 : 2 + spatial]
    check_geometry(spatial, kernel, attrs)
    check_padded(image, pad)
    counts = window_counts(image, kernel, stride, pad, dilation)
    if x.shape[2 + spatial :] != counts:
        raise ValueError(f"{x} has not {counts} blocks, as an image {image} does")
    return (TensorType(x.dtype, (*x.shape[:2], *image)),)


def evaluate_col2im(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """x[n, c, tap..., block...] is added to the image at block * stride - pad + tap * dilation."""
    (x,) = present_arrays(arrays)
    image, stride, pad, dilation = (ints(attrs, name) for name in ("image", "stride", "pad", "dilation"))
    spatial = len(image)
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    padded = np.zeros((*x.shape[:2], *(e + a + b for e, a, b in zip(image, pad, pad[spatial:]))), wide.dtype)
    counts = x.shape[2 + spatial :]
    for tap in product(*(range(extent) for extent in x.shape[2 : 2 + spatial])):
        window = [slice(t * d, t * d + (count - 1) * s + 1, s) for t, d, count, s in zip(tap, dilation, counts, stride)]
        block: Any = (slice(None), slice(None), *tap)
        np.add(padded[:, :, *window], wide[block], out=padded[:, :, *window])
    inner = [slice(before, before + extent) for before, extent in zip(pad, image)]
    return (np.ascontiguousarray(padded[:, :, *inner]).astype(x.dtype),)
