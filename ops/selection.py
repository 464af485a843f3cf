"""Results of which only a run tells how many elements they have: types and meaning of nonzero, unique, pack and unpack.

Their shapes are static bounds; an output says how many of the entries along the first dimension count. Entries behind
these are 0.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, ints
from .infer import check_axes, operand
from .opdef import Arrays, Attrs, Types
from .pointwise import NUMBERS, present_arrays

COUNT = TensorType(DType.I64, ())
"""The type of an extent that is computed at run time."""


def infer_nonzero(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    if x.dtype is not DType.BOOL or x.rank != 1:
        raise ValueError(f"no list of conditions: {x}")
    return TensorType(DType.I32, x.shape), COUNT


def evaluate_nonzero(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    (places,) = np.nonzero(x)
    return _filled(places, x.size), np.asarray(places.size, np.int64)


def infer_unique(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    if x.rank != 2 or x.dtype not in NUMBERS:
        raise ValueError(f"no rows of numbers: {x}")
    places = TensorType(DType.I32, x.shape[:1])
    return places, places, places, COUNT


def evaluate_unique(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Rows are compared element by element; NaN equals NaN and is greater than all numbers."""
    (x,) = present_arrays(arrays)
    rows: dict[tuple[tuple[bool, object], ...], list[int]] = {}
    for place, row in enumerate(x):
        rows.setdefault(tuple((e != e, e.item() if e == e else 0) for e in row), []).append(place)
    groups = [rows[key] for key in sorted(rows)] if flag(attrs, "sorted") else list(rows.values())
    inverse = np.empty(len(x), np.int32)
    for number, group in enumerate(groups):
        inverse[group] = number
    first, counts = ([function(group) for group in groups] for function in (min, len))
    return _filled(first, len(x)), inverse, _filled(counts, len(x)), np.asarray(len(groups), np.int64)


def infer_pack(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = _with_extents(types, attrs)
    return (TensorType(x.dtype, (x.size,), x.quant),)


def evaluate_pack(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    x, *extents = present_arrays(arrays)
    part = x[_part(x.shape, extents, attrs)]
    y = np.zeros(x.size, x.dtype)
    y[: part.size] = part.reshape(-1)
    return (y,)


def infer_unpack(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, shape = operand(types, 0), ints(attrs, "shape")
    if x.shape != (prod(shape),):
        raise ValueError(f"{x} does not have the elements of {list(shape)}")
    return (_with_extents((x.with_shape(shape), *types[1:]), attrs),)


def evaluate_unpack(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    x, *extents = present_arrays(arrays)
    y = np.zeros(ints(attrs, "shape"), x.dtype)
    part = y[_part(y.shape, extents, attrs)]
    part[...] = x[: part.size].reshape(part.shape)
    return (y,)


def _with_extents(types: Types, attrs: Attrs) -> TensorType:
    """The tensor, if its axes and the extents along these are in order."""
    x, axes = operand(types, 0), ints(attrs, "axes")
    check_axes(axes, x)
    if [operand(types, position) for position in range(1, len(types))] != [COUNT] * len(axes):
        raise ValueError(f"axes {axes} have other operands: {', '.join(map(str, types[1:]))}")
    return x


def _part(shape: tuple[int, ...], extents: Arrays, attrs: Attrs) -> tuple[slice, ...]:
    found = dict(zip(ints(attrs, "axes"), present_arrays(extents)))
    return tuple(slice(0, min(max(int(found.get(axis, size)), 0), size)) for axis, size in enumerate(shape))


def _filled(entries: object, size: int) -> np.ndarray:
    found = np.asarray(entries, np.int32)
    return np.pad(found, (0, size - found.size))
