"""Which input elements, with which weights, make each output element along one axis of Resize.

The definitions are those of the ONNX specification of Resize (opset 19); older versions are special cases.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType
from ..record import record


@record
class Interpolation:
    """The attributes of Resize. ``mode`` is nearest, linear or cubic; ``coordinates`` the transformation mode."""

    mode: str
    coordinates: str
    nearest_mode: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False

    @property
    def position_type(self) -> DType:
        """The type that positions are computed in. The nearest element is that of float32, as runtimes have it: of a
        scale of a third, which float32 has not, the third element is 3 and not what is below it."""
        single = self.mode == "nearest" and self.coordinates not in ("tf_crop_and_resize", "half_pixel_symmetric")
        return DType.F32 if single else DType.F64

    def working_type(self, dtype: DType) -> DType:
        """The type that elements are weighted in: half floats would lose what cancels, integers what is between."""
        if self.mode == "nearest":
            return dtype
        if dtype.is_integer:
            return DType.F32 if dtype.bits <= 8 else DType.F64
        return DType.F32 if dtype is DType.F16 else dtype


@record
class Taps:
    """``indices`` and ``weights`` are [outputs, taps]; ``outside`` marks outputs that are extrapolated."""

    indices: np.ndarray
    weights: np.ndarray
    outside: np.ndarray


def taps(how: Interpolation, extent: int, count: int, scale: float, roi: tuple[float, float]) -> Taps:
    """The taps of ``count`` outputs over ``extent`` inputs."""
    x = coordinates(how.coordinates, extent, count, scale, roi, how.position_type.numpy).astype(np.float64)
    outside = ((x < 0) | (x > extent - 1)) & (how.coordinates == "tf_crop_and_resize")
    if how.mode == "nearest":
        indices = _nearest(x, how.nearest_mode)[:, None]
        return Taps(np.clip(indices, 0, extent - 1), np.ones(indices.shape), outside)
    squeeze = min(scale, 1.0) if how.antialias else 1.0
    radius = 2 if how.mode == "cubic" else 1
    first = int(np.floor(-radius / squeeze)) + 1
    base = np.floor(x).astype(np.int64)
    indices = base[:, None] + np.arange(first, 2 - first)
    distance = np.abs(indices - x[:, None]) * squeeze
    weights = _cubic(distance, how.cubic_a) if how.mode == "cubic" else np.clip(1.0 - distance, 0.0, 1.0)
    if how.exclude_outside:
        weights = np.where((indices < 0) | (indices >= extent), 0.0, weights)
    total = weights.sum(axis=1, keepdims=True)
    return Taps(np.clip(indices, 0, extent - 1), weights / np.where(total == 0, 1.0, total), outside)


def coordinates(
    mode: str, extent: int, count: int, scale: float, roi: tuple[float, float], dtype: np.dtype
) -> np.ndarray:
    """Where each output lies among the inputs. Raises :class:`ValueError` for a mode that does not exist.

    ``count`` is what ONNX calls length_resized, a whole number also where ``scale`` times ``extent`` is none: with
    align_corners the last output lies on the last input.
    """
    y, scale = np.arange(count, dtype=dtype), dtype.type(scale)
    if mode == "align_corners":
        return y * (extent - 1) / max(count - 1, 1)
    if mode == "asymmetric":
        return y / scale
    if mode == "pytorch_half_pixel" and count == 1:
        return np.zeros(1)
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (y + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return extent / 2 * (1 - count / (scale * extent)) + (y + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        start, end = roi
        if count == 1:
            return np.full(1, (start + end) * (extent - 1) / 2)
        return start * (extent - 1) + y * (end - start) * (extent - 1) / (count - 1)
    raise ValueError(f"coordinate_transformation_mode is {mode}")


def _nearest(x: np.ndarray, mode: str) -> np.ndarray:
    rounding = {
        "round_prefer_floor": lambda: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda: np.floor(x + 0.5),
        "floor": lambda: np.floor(x),
        "ceil": lambda: np.ceil(x),
    }.get(mode)
    if rounding is None:
        raise ValueError(f"nearest_mode is {mode}")
    return rounding().astype(np.int64)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys, "Cubic convolution interpolation for digital image processing" (1981), equation 4."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
