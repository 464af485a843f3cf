"""From a range of real numbers to scale and zero point, and back and forth between reals and stored integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..ir.graph import AttrValue
from ..ir.types import DType
from ..ops.quantization import evaluate_dequantize, evaluate_quantize
from ..record import record

WEIGHT_LEVELS = 127
"""Weights are stored as -127..127: symmetric, and the negation of every weight exists."""

_TINY = float(np.finfo(np.float32).tiny)


@record
class Encoding:
    """How a tensor is stored: ``real = (stored - zero_point) * scale``, the scales being float32 numbers.

    One scale and zero point for the tensor, or one each per index of ``axis``.
    """

    dtype: DType
    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0

    @property
    def parameters(self) -> dict[str, AttrValue]:
        """The attributes of a ``dequantize`` node."""
        return {"scale": self.scale, "zero_point": self.zero_point, "axis": self.axis}

    @property
    def attrs(self) -> dict[str, AttrValue]:
        """The attributes of a ``quantize`` node."""
        return {**self.parameters, "to": self.dtype}

    @property
    def real_range(self) -> tuple[float, float]:
        """The least and the greatest real number that a per-tensor encoding can store."""
        limits = np.iinfo(self.dtype.numpy)
        return (limits.min - self.zero_point[0]) * self.scale[0], (limits.max - self.zero_point[0]) * self.scale[0]

    def quantize(self, x: np.ndarray) -> np.ndarray:
        return evaluate_quantize([x.astype(np.float32, copy=False)], self.attrs)[0]

    def dequantize(self, stored: np.ndarray) -> np.ndarray:
        return evaluate_dequantize([stored], self.parameters)[0]

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """``x`` as it is after having been stored."""
        if len(self.scale) > 1 or self.dtype.size > 2 or x.dtype != np.float32:
            return self.dequantize(self.quantize(x))
        limits, zero = np.iinfo(self.dtype.numpy), self.zero_point[0]
        return stored_floats(x, *(np.float32(each) for each in (self.scale[0], limits.min - zero, limits.max - zero)))


_Floats = np.ndarray | np.float32


def stored_floats(x: np.ndarray, step: _Floats, low: _Floats, high: _Floats) -> np.ndarray:
    """Floats as they are after having been stored in 8 or 16 bits that reach from ``low`` to ``high``, counted in steps
    from zero: what quantization and dequantization do, all in float32, which holds these integers."""
    rounded = np.asarray(x / step)
    np.rint(rounded, out=rounded)
    np.fmax(rounded, low, out=rounded)
    np.fmin(rounded, high, out=rounded)
    return np.multiply(rounded, step, out=rounded)


def activation_encoding(low: float, high: float, dtype: DType, symmetric: bool) -> Encoding:
    """The encoding of a tensor whose values are in ``low..high``; the range is widened to hold 0, which is exact.

    Asymmetric: the range is divided into as many steps as the type has, and the zero point is where 0 falls, rounded
    (Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
    2018, section 3). Symmetric: the zero point is the middle of the type and the larger side decides.
    """
    limits = np.iinfo(dtype.numpy)
    least, greatest = int(limits.min), int(limits.max)
    low, high = min(low, 0.0), max(high, 0.0)
    if symmetric:
        middle = (least + greatest + 1) // 2
        return Encoding(dtype, (_scale(max(-low, high), greatest - middle),), (middle,))
    scale = _scale(high - low, greatest - least)
    zero_point = int(np.clip(np.rint(least - low / scale), least, greatest))
    return Encoding(dtype, (scale,), (zero_point,))


def weight_encoding(peaks: Sequence[float] | np.ndarray, axis: int) -> Encoding:
    """Symmetric int8, one scale a channel: ``peaks`` are the magnitudes that become 127."""
    scales = tuple(_scale(float(peak), WEIGHT_LEVELS) for peak in peaks)
    return Encoding(DType.I8, scales, (0,) * len(scales), axis)


def _scale(span: float, steps: int) -> float:
    """A normal float32; 1 where there is nothing but zeros."""
    if not span > 0:
        return 1.0
    if not math.isfinite(span):
        raise ValueError(f"a range of {span} has no scale")
    return max(float(np.float32(span / steps)), _TINY)
