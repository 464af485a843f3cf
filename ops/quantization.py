"""``quantize`` and ``dequantize``: types and meaning.

Both are defined in IEEE binary32 as ONNX defines QuantizeLinear and DequantizeLinear; every integer kernel must give
the bits that these two functions give.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, QuantParams, TensorType
from .attributes import element_type, floats, integer, ints
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .pointwise import INTEGERS, present_arrays


def infer_quantize(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, to = operand(types, 0), element_type(attrs, "to")
    if x.dtype is not DType.F32:
        raise ValueError(f"quantizes f32, the operand is {x}")
    if to not in INTEGERS:
        raise ValueError(f"quantizes to an integer type, not to {to.value}")
    return (TensorType(to, x.shape, quant_params(x, attrs)),)


def infer_dequantize(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    if x.dtype not in INTEGERS:
        raise ValueError(f"dequantizes integers, the operand is {x}")
    quant_params(x, attrs)
    return (TensorType(DType.F32, x.shape),)


def quant_params(x: TensorType, attrs: Attrs) -> QuantParams:
    """The attributes as quantization of ``x``. Raises :class:`ValueError` where they do not fit its shape."""
    scale, zero_point, axis = floats(attrs, "scale"), ints(attrs, "zero_point"), integer(attrs, "axis")
    if len(scale) != len(zero_point):
        raise ValueError(f"{len(scale)} scales but {len(zero_point)} zero points")
    if len(scale) == 1:
        return QuantParams(scale, zero_point)
    if not 0 <= axis < x.rank or x.shape[axis] != len(scale):
        raise ValueError(f"{len(scale)} scales along axis {axis} do not fit {x}")
    return QuantParams(scale, zero_point, axis)


def evaluate_quantize(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """saturate(round_half_even(x / scale) + zero_point), the division in float32."""
    (x,) = present_arrays(arrays)
    scale, zero_point = _parameters(x.ndim, attrs)
    to = element_type(attrs, "to")
    limits = np.iinfo(to.numpy)
    with np.errstate(all="ignore"):
        steps = np.rint(x / scale).astype(np.float64) + zero_point
    return (np.asarray(np.clip(np.nan_to_num(steps, nan=limits.min), limits.min, limits.max)).astype(to.numpy),)


def evaluate_dequantize(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """(float32(x) - zero_point) * scale in float32."""
    (x,) = present_arrays(arrays)
    scale, zero_point = _parameters(x.ndim, attrs)
    with np.errstate(all="ignore"):
        return (np.asarray((x.astype(np.float32) - zero_point.astype(np.float32)) * scale),)


def _parameters(rank: int, attrs: Attrs) -> tuple[np.ndarray, np.ndarray]:
    """Scale and zero point, shaped to broadcast along the axis."""
    scale = np.asarray(floats(attrs, "scale"), np.float32)
    zero_point = np.asarray(ints(attrs, "zero_point"), np.int64)
    axis = integer(attrs, "axis")
    if scale.size == 1:
        return scale.reshape(()), zero_point.reshape(())
    shape = [1] * rank
    shape[axis] = scale.size
    return scale.reshape(shape), zero_point.reshape(shape)
