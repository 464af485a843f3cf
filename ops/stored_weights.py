"""Weights that are stored as integers while activations are floats: types, meaning, multiply-accumulates.

A row of ``scale`` (and of ``zero_point``) is for ``block`` rows of the matrix; the last block may be shorter. One row
for all is a scale for each column.
"""

from __future__ import annotations

import numpy as np

from ..ir.graph import Node
from ..ir.types import DType, TensorType
from .attributes import integer
from .infer import operand, optional
from .opdef import Arrays, Attrs, Types
from .pointwise import INTEGERS


def infer_dequantize_blocks(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = operand(types, 0), integer(attrs, "axis")
    if x.dtype not in INTEGERS or not 0 <= axis < x.rank:
        raise ValueError(f"no blocks along axis {axis} of {x}")
    shape = tuple(_blocks(extent, attrs) if d == axis else extent for d, extent in enumerate(x.shape))
    _check_parameters(operand(types, 1), optional(types, 2), shape, x.dtype)
    return (TensorType(DType.F32, x.shape),)


def infer_weight_matmul(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, w = operand(types, 0), operand(types, 1)
    if x.dtype is not DType.F32 or w.dtype is not DType.I8:
        raise ValueError(f"multiplies f32 by i8, not {x} by {w}")
    if x.rank < 2 or w.rank != 2 or x.shape[-1] != w.shape[0]:
        raise ValueError(f"{x} and {w} do not multiply")
    shape = (_blocks(w.shape[0], attrs), w.shape[1])
    _check_parameters(operand(types, 2), optional(types, 3), shape, DType.I8)
    return (TensorType(DType.F32, (*x.shape[:-1], w.shape[1])),)


def _blocks(extent: int, attrs: Attrs) -> int:
    block = integer(attrs, "block")
    if block < 1:
        raise ValueError(f"there are no blocks of {block}")
    return -(-extent // block)


def _check_parameters(scale: TensorType, zero: TensorType | None, shape: tuple[int, ...], dtype: DType) -> None:
    if scale != TensorType(DType.F32, shape) or (zero is not None and (zero.dtype, zero.shape) != (dtype, shape)):
        raise ValueError(f"scale {scale} and zero point {zero} are not of the shape {shape}")


def evaluate_dequantize_blocks(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """(float32(x) - zero_point) * scale in float32, with the parameters of the element's block."""
    x, scale, zero = (*arrays, None)[:3]
    assert x is not None and scale is not None
    return (_dequantized(x, scale, zero, integer(attrs, "axis"), integer(attrs, "block")),)


def rows_of_blocks(extent: int, block: int) -> np.ndarray:
    """The number of the block that each element belongs to."""
    return np.arange(extent) // block


def _dequantized(x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, axis: int, block: int) -> np.ndarray:
    place = rows_of_blocks(x.shape[axis], block)
    real = x.astype(np.float32)
    if zero is not None:
        real = real - np.take(zero, place, axis).astype(np.float32)
    return real * np.take(scale, place, axis)


def evaluate_weight_matmul(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """x @ ((w - zero_point) * scale), summed in float64 and rounded once."""
    x, w, scale, zero = (*arrays, None)[:4]
    assert x is not None and w is not None and scale is not None
    weights = _dequantized(w, scale, zero, 0, integer(attrs, "block"))
    return ((x.astype(np.float64) @ weights.astype(np.float64)).astype(np.float32),)


def weight_matmul_macs(node: Node) -> int:
    return node.output.type.size * node.operands[0].shape[-1]
