"""Operators whose results have shapes that only their operands' elements tell: computed where these are constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType
from .folding import MAX_FOLDED_BYTES


def fold(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], arrays: Sequence[np.ndarray], loc: str
) -> list[np.ndarray]:
    """The node's outputs. Raises ``INVALID_MODEL`` where operands or attributes do not fit each other."""
    values = {name: helper.get_attribute_value(attribute) for name, attribute in attributes.items()}
    axis = values.get("axis")
    rank = arrays[0].ndim
    if axis is not None and not -rank <= axis < rank:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"axis {axis} is outside of rank {rank}", loc=loc)
    try:
        results = [np.asarray(array) for array in FOLDABLE[node.op_type](*arrays, **values)]
    except (ValueError, IndexError) as problem:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"{node.op_type}: {problem}", loc=loc) from problem
    for array in results:
        if array.nbytes > MAX_FOLDED_BYTES or array.dtype.name not in {dtype.numpy.name for dtype in DType}:
            what = f"{array.dtype}{list(array.shape)}"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"{node.op_type} of constants gives {what}", loc=loc)
    return results[: len(node.output)]


def _compress(x: np.ndarray, condition: np.ndarray, axis: int | None = None) -> list[np.ndarray]:
    """The elements, or along an axis the slices, whose condition is true; a short condition ends with false."""
    extent = x.size if axis is None else x.shape[axis]
    if condition.ndim != 1 or condition.dtype != bool or condition[extent:].any():
        raise ValueError(f"a condition {condition.dtype}{list(condition.shape)} does not fit {list(x.shape)}")
    return [np.compress(condition[:extent], x, axis=axis)]


def _non_zero(x: np.ndarray) -> list[np.ndarray]:
    """The positions, one a column. A scalar has no dimensions, and so positions without rows."""
    if not x.ndim:
        return [np.zeros((0, int(bool(x))), np.int64)]
    return [np.stack(np.nonzero(x)).astype(np.int64)]


def _unique(x: np.ndarray, axis: int | None = None, sorted: int = 1) -> list[np.ndarray]:
    """The different elements, or slices along an axis, in ascending order or as they first occur; where each occurs
    first, which of them each element is, and how often each occurs."""
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
        inverse = np.argsort(order, kind="stable")[inverse]
    return [values, *(array.astype(np.int64) for array in (first, inverse, counts))]


FOLDABLE: Mapping[str, Callable[..., list[np.ndarray]]] = {
    "Compress": _compress,
    "NonZero": _non_zero,
    "Unique": _unique,
}
"""Each takes its operands and its attributes by name."""
