"""Reading a tensor between its elements: types and meaning of sample and roi_align.

A position along a dimension is in elements: 1.25 lies between elements 1 and 2. Tensors are channels last.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, integer, number, text
from .infer import check_dtype, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import FLOATS, present_arrays

MODES = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements are read along each dimension."""
MOST_TAPS = 64


def infer_sample(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, points = operand(types, 0), operand(types, 1)
    rank = x.rank - 2
    if rank < 1 or points.rank != 3 or points.shape[0] != x.shape[0] or points.shape[2] != rank:
        raise ValueError(f"points {points} do not fit {x}; they need [batch, count, {rank}]")
    if points.dtype not in (DType.F32, DType.F64):
        raise ValueError(f"points are {points}, not f32 or f64")
    mode = text(attrs, "mode")
    if MODES[mode] ** rank > MOST_TAPS:
        raise ValueError(f"no mode {mode} in {rank} dimensions")
    if mode != "nearest" and x.dtype not in FLOATS:
        raise ValueError(f"nothing lies between elements of {x}")
    if 0 in x.shape[1:-1] and points.size:
        raise ValueError(f"there is nothing to read in {x}")
    return (TensorType(x.dtype, (x.shape[0], points.shape[1], x.shape[-1])),)


def evaluate_sample(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """y[n, p, c] = sum over the elements around points[n, p] of weight * x[n, element, c]."""
    x, points = present_arrays(arrays)
    mode, border, align = text(attrs, "mode"), text(attrs, "border"), flag(attrs, "align_corners")
    extents = x.shape[1:-1]
    with np.errstate(all="ignore"):
        taps = [_taps(points[..., d], extent, mode, border, align) for d, extent in enumerate(extents)]
    batch = np.arange(x.shape[0])[:, None]
    wide = x if mode == "nearest" else x.astype(np.float64)
    y = np.zeros((*points.shape[:2], x.shape[-1]), wide.dtype)
    for chosen in product(*taps):
        inside = np.logical_and.reduce([valid for _, _, valid in chosen])
        weight = np.prod([weight for _, weight, _ in chosen], axis=0)
        element = np.where(inside[..., None], wide[(batch, *(index for index, _, _ in chosen))], wide.dtype.type(0))
        y = element if mode == "nearest" else y + weight[..., None] * element
    return (y.astype(x.dtype),)


def _taps(v: np.ndarray, extent: int, mode: str, border: str, align: bool) -> list[tuple[np.ndarray, ...]]:
    """(index, weight, whether it exists) of each element that is read along a dimension.

    A position beyond the edge is moved there, but for cubic interpolation: then it is each element for itself, as
    PyTorch and ONNX Runtime have it (onnx.reference moves the position).
    """
    low, high = (0.0, extent - 1.0) if align else (-0.5, extent - 0.5)
    v = np.rint(v) if mode == "nearest" else v
    outside = (v < low) | (v > high)
    if border == "edge" and mode != "cubic":
        v = np.where(outside, np.clip(v, 0, extent - 1), v)
    elif border == "reflect":
        v = np.where(outside, reflected(v, low, high), v)
    v = np.where(np.isnan(v), extent + 2.0, np.clip(v, -3.0, extent + 2.0))
    base = np.floor(v)
    weights = _weights(v - base, mode)
    found: list[tuple[np.ndarray, ...]] = []
    for place, weight in enumerate(weights):
        index = base + (place - (1 if mode == "cubic" else 0))
        valid = (index >= 0) & (index < extent) if border == "zeros" else np.ones(index.shape, bool)
        if border == "reflect":
            index = np.where((index < low) | (index > high), np.trunc(reflected(index, low, high)), index)
        index = np.clip(np.where(np.isnan(index), 0, index), 0, extent - 1).astype(np.int64)
        found.append((index, weight, valid))
    return found


def reflected(v: np.ndarray, low: float, high: float) -> np.ndarray:
    """``v`` thrown back at both borders until it lies between them."""
    span = high - low
    beyond = np.where(v < low, low - v, v - high)
    times = np.trunc(beyond / span)
    rest = beyond - times * span
    from_low = (v < low) == (times % 2 == 0)
    return np.where(from_low, low + rest, high - rest)


def _weights(t: np.ndarray, mode: str) -> Sequence[np.ndarray]:
    """Of the elements before and behind a place; cubic as Keys (1981) with a = -0.75."""
    if mode == "nearest":
        return [np.ones(t.shape)]
    if mode == "linear":
        return [1 - t, t]
    a = -0.75
    near = lambda s: ((a + 2) * s - (a + 3)) * s * s + 1  # noqa: E731
    far = lambda s: ((a * s - 5 * a) * s + 8 * a) * s - 4 * a  # noqa: E731
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


# ---------------------------------------------------------------- regions of interest


def infer_roi_align(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, rois, batch = (operand(types, position) for position in range(3))
    extents = types[3] if len(types) > 3 else None
    check_dtype(rois, x)
    if extents is not None and extents != TensorType(DType.I64, (2,)):
        raise ValueError(f"extents of images are {extents}, not i64[2]")
    if x.rank != 4 or x.dtype not in FLOATS or rois.shape != (*batch.shape, 4) or batch.rank != 1:
        raise ValueError(f"regions {rois} of images {batch} do not fit {x}")
    if batch.dtype not in (DType.I32, DType.I64):
        raise ValueError(f"numbers of images are {batch}, not i32 or i64")
    height, width = integer(attrs, "height"), integer(attrs, "width")
    if height < 1 or width < 1 or attrs["kind"] not in ("avg", "max") or 0 in x.shape[:3]:
        raise ValueError(f"no {attrs['kind']} of {height} x {width} parts in {x}")
    return (TensorType(x.dtype, (batch.shape[0], height, width, x.shape[3])),)


MOST_SAMPLES = 1 << 12
"""Places along each dimension of a part at which a region is read where their number follows from its size."""


def evaluate_roi_align(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The mean, or the extreme, of places in each part of a region, read linearly between the elements. Images end at
    their extents, height and width, where these are given."""
    x, rois, batch, *extents = present_arrays(arrays)
    ends = [int(np.clip(end, 1, most)) for end, most in zip(extents[0] if extents else x.shape[1:3], x.shape[1:3])]
    height, width = integer(attrs, "height"), integer(attrs, "width")
    y = np.zeros((len(batch), height, width, x.shape[3]), np.float64)
    real = np.float64 if x.dtype == np.float64 else np.float32
    offset = real(0.5 if attrs["half_pixel"] else 0.0)
    for r, (roi, image) in enumerate(zip(rois.astype(real), np.clip(batch, 0, x.shape[0] - 1))):
        x0, y0, x1, y1 = roi * real(number(attrs, "scale")) - offset
        sizes = [y1 - y0, x1 - x0] if attrs["half_pixel"] else [max(y1 - y0, real(1)), max(x1 - x0, real(1))]
        rows = _places(y0, sizes[0] / height, height, ends[0], integer(attrs, "samples"))
        columns = _places(x0, sizes[1] / width, width, ends[1], integer(attrs, "samples"))
        for (i, row), (j, column) in product(enumerate(rows), enumerate(columns)):
            y[r, i, j] = _part(x[image].astype(np.float64), row, column, attrs["kind"] == "max")
    return (y.astype(x.dtype),)


_Place = tuple[int, int, float, bool]


def _places(start: float, size: float, parts: int, extent: int, samples: int) -> list[list[_Place]]:
    """For each part: elements before and behind each place, the weight of the second, whether the place exists."""
    count = samples if samples > 0 else int(np.clip(np.nan_to_num(np.ceil(size)), 0, MOST_SAMPLES))
    found = []
    for part in range(parts):
        line = []
        for sample in range(count):
            v = start + part * size + (sample + 0.5) * size / count
            inside = bool(-1.0 <= v <= extent)
            v = min(max(v, 0.0), extent - 1.0) if inside else 0.0
            first = int(v)
            line.append((first, min(first + 1, extent - 1), v - first, inside))
        found.append(line)
    return found


def _part(image: np.ndarray, rows: list[_Place], columns: list[_Place], extreme: bool) -> np.ndarray:
    """The mean over all places; or the greatest of all elements times their weights, as ONNX defines max."""
    values = []
    for (top, bottom, down, row), (left, right, across, column) in product(rows, columns):
        corners = [
            (1 - down) * (1 - across) * image[top, left], (1 - down) * across * image[top, right],
            down * (1 - across) * image[bottom, left], down * across * image[bottom, right],
        ]  # fmt: skip
        value = np.maximum.reduce(corners) if extreme else sum(corners)
        values.append(value if row and column else np.zeros(image.shape[-1]))
    if not values:
        return np.zeros(image.shape[-1])
    return np.maximum.reduce(values) if extreme else np.add.reduce(values) / len(values)
