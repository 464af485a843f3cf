"""View operators (every output element is a copy of an input element or a constant): types and meaning.

Per-tensor quantization passes through a view; quantization along an axis passes through ``transpose``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.types import DType, QuantParams, TensorType
from .attributes import integer, ints
from .infer import broadcast_shapes, check_axes, check_dtype, operand, present
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays

FETCH = "fetch"
"""The operator that brings an input row by row, along an axis that becomes the first."""


def _moved(x: TensorType, shape: tuple[int, ...]) -> tuple[TensorType, ...]:
    quant = x.quant if x.quant is not None and x.quant.axis is None else None
    return (TensorType(x.dtype, shape, quant),)


def infer_reshape(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, shape = operand(types, 0), ints(attrs, "shape")
    (result,) = _moved(x, shape)
    if result.size != x.size:
        raise ValueError(f"{x} has {x.size} elements and cannot take the shape {shape}")
    return (result,)


def evaluate_reshape(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (present_arrays(arrays)[0].reshape(ints(attrs, "shape")),)


def infer_transpose(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, perm = operand(types, 0), ints(attrs, "perm")
    if sorted(perm) != list(range(x.rank)):
        raise ValueError(f"{perm} does not permute the dimensions of {x}")
    quant = x.quant
    if quant is not None and quant.axis is not None:
        quant = QuantParams(quant.scale, quant.zero_point, perm.index(quant.axis))
    return (TensorType(x.dtype, tuple(x.shape[axis] for axis in perm), quant),)


def evaluate_transpose(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (np.transpose(present_arrays(arrays)[0], ints(attrs, "perm")).copy(order="C"),)


def infer_fetch(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = operand(types, 0), integer(attrs, "axis")
    if axis >= x.rank:
        raise ValueError(f"{x} has no axis {axis}")
    return _moved(x, (x.shape[axis], *x.shape[:axis], *x.shape[axis + 1 :]))


def evaluate_fetch(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (np.moveaxis(present_arrays(arrays)[0], integer(attrs, "axis"), 0).copy(order="C"),)


def infer_expand(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, shape = operand(types, 0), ints(attrs, "shape")
    if broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"{x} does not expand to {shape}")
    return _moved(x, shape)


def evaluate_expand(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (np.broadcast_to(present_arrays(arrays)[0], ints(attrs, "shape")).copy(),)


def infer_slice(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    starts, steps, sizes = (ints(attrs, name) for name in ("starts", "steps", "sizes"))
    if not len(starts) == len(steps) == len(sizes) == x.rank:
        raise ValueError(f"starts {starts}, steps {steps} and sizes {sizes} need one entry a dimension of {x}")
    for extent, start, step, size in zip(x.shape, starts, steps, sizes):
        last = start + (size - 1) * step
        if size < 0 or step == 0 or (size and not (0 <= start < extent and 0 <= last < extent)):
            raise ValueError(f"starts {starts}, steps {steps} and sizes {sizes} reach outside {x}")
    return _moved(x, sizes)


def evaluate_slice(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    axes = [
        start + step * np.arange(size, dtype=np.int64)
        for start, step, size in zip(ints(attrs, "starts"), ints(attrs, "steps"), ints(attrs, "sizes"))
    ]
    return (x[np.ix_(*axes)] if axes else x.copy(),)


def infer_concat(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    operands, axis = present(types), integer(attrs, "axis")
    if not operands:
        raise ValueError("nothing to concatenate")
    first = operands[0]
    check_axes((axis,), first)
    for other in operands[1:]:
        check_dtype(other, first)
        if other.rank != first.rank or any(
            a != b for d, (a, b) in enumerate(zip(first.shape, other.shape)) if d != axis
        ):
            raise ValueError(f"{', '.join(map(str, operands))} do not concatenate along axis {axis}")
    shape = list(first.shape)
    shape[axis] = sum(type_.shape[axis] for type_ in operands)
    (result,) = _moved(first, tuple(shape))
    return (result if len({type_.quant for type_ in operands}) == 1 else replace(result, quant=None),)


def evaluate_concat(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return (np.concatenate(present_arrays(arrays), axis=integer(attrs, "axis")),)


def infer_pad(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, mode = operand(types, 0), attrs["mode"]
    before, after = ints(attrs, "before"), ints(attrs, "after")
    if not len(before) == len(after) == x.rank:
        raise ValueError(f"before {before} and after {after} do not fit {x}")
    if mode != "constant" and any(not e and low + high for e, low, high in zip(x.shape, before, after)):
        raise ValueError(f"before {before} and after {after} have nothing to take from {x}")
    return _moved(x, tuple(low + extent + high for extent, low, high in zip(x.shape, before, after)))


def evaluate_pad(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    (x,) = present_arrays(arrays)
    widths = list(zip(ints(attrs, "before"), ints(attrs, "after")))
    if attrs["mode"] == "constant":
        return (np.pad(x, widths, mode="constant", constant_values=x.dtype.type(attrs["value"])),)
    return (np.pad(x, widths, mode=attrs["mode"]),)  # type: ignore[call-overload]


def infer_gather(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, indices, axis = operand(types, 0), operand(types, 1), integer(attrs, "axis")
    check_axes((axis,), x)
    if indices.dtype not in (DType.I32, DType.I64):
        raise ValueError(f"indices are {indices}, not i32 or i64")
    if indices.size and not x.shape[axis]:
        raise ValueError(f"there is nothing to gather along axis {axis} of {x}")
    return _moved(x, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def evaluate_gather(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    x, indices = present_arrays(arrays)
    return (np.take(x, indices, axis=integer(attrs, "axis")),)
