"""Non-maximum suppression of boxes: types and meaning.

Of the boxes of each image and class, the one with the highest score is chosen, those that overlap it are dropped, and
so on; of equal scores the first comes first. A box overlaps another where intersection / union exceeds a threshold;
boxes without an area overlap none.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, integer
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .selection import COUNT


def infer_suppress(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    boxes, scores = operand(types, 0), operand(types, 1)
    fitting = boxes.rank == scores.rank == 3 and boxes.shape == (scores.shape[0], scores.shape[2], 4)
    if not fitting or boxes.dtype is not DType.F32 or scores.dtype is not DType.F32:
        raise ValueError(f"no boxes and scores: {boxes} and {scores}")
    numbers = [TensorType(DType.I32, ()), *[TensorType(DType.F32, ())] * 2]
    if [operand(types, position) for position in (2, 3, 4)] != numbers:
        raise ValueError("the limit is no i32, or a threshold no f32")
    batch, classes, count = scores.shape
    rows = batch * classes * min(integer(attrs, "limit"), count)
    return TensorType(DType.I64, (rows, 3)), COUNT


def evaluate_suppress(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    boxes, scores, limit, overlap, least = (np.asarray(array) for array in arrays if array is not None)
    batch, classes, count = scores.shape
    most = min(int(limit), integer(attrs, "limit"), count)
    rows: list[tuple[int, int, int]] = []
    with np.errstate(all="ignore"):
        for image in range(batch):
            corners = _corners(boxes[image], flag(attrs, "centered"))
            for kind in range(classes):
                rows += [(image, kind, box) for box in _chosen(corners, scores[image, kind], most, overlap, least)]
    found = np.zeros((batch * classes * min(integer(attrs, "limit"), count), 3), np.int64)
    found[: len(rows)] = np.asarray(rows, np.int64).reshape(-1, 3)
    return found, np.asarray(len(rows), np.int64)


def _chosen(corners: np.ndarray, scores: np.ndarray, most: int, overlap: np.ndarray, least: np.ndarray) -> list[int]:
    order = sorted(np.flatnonzero(scores > least), key=lambda place: (-scores[place], place))
    chosen: list[int] = []
    for place in order:
        if len(chosen) < most and not any(_overlaps(corners[place], corners[other], overlap) for other in chosen):
            chosen.append(int(place))
    return chosen


def _corners(boxes: np.ndarray, centered: bool) -> np.ndarray:
    """Rows of the lower and the upper bound in one direction and in the other."""
    a, b, c, d = boxes.T
    if centered:
        half = np.float32(0.5)
        return np.stack([a - c * half, a + c * half, b - d * half, b + d * half], 1)
    return np.stack([np.minimum(a, c), np.maximum(a, c), np.minimum(b, d), np.maximum(b, d)], 1)


def _overlaps(box: np.ndarray, other: np.ndarray, threshold: np.ndarray) -> bool:
    low, high = np.maximum(box[::2], other[::2]), np.minimum(box[1::2], other[1::2])
    if (high <= low).any():
        return False
    common = np.prod(high - low, dtype=np.float32)
    areas = [np.prod(corners[1::2] - corners[::2], dtype=np.float32) for corners in (box, other)]
    union = areas[0] + areas[1] - common
    return bool(min(*areas, common, union) > 0 and common / union > threshold)
