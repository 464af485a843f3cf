"""NonMaxSuppression by sorting: the greedy choice of ONNX's definition, of few and many boxes, over ties and NaN."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule.key_sort import RANKED

from tests.frontend_onnx.graphs import one_node


def greedy(boxes: np.ndarray, scores: np.ndarray, most: int, shared: float, least: float) -> list[tuple[int, int, int]]:
    """For each class of each image the boxes from the best score on that share no more with any chosen before."""
    rows: list[tuple[int, int, int]] = []
    for image, kinds in enumerate(scores):
        one, other = boxes[image, :, :2], boxes[image, :, 2:]
        low, high = np.minimum(one, other), np.maximum(one, other)
        area = np.prod(high - low, axis=1)
        for kind, score in enumerate(kinds):
            chosen: list[int] = []
            for n in sorted(np.flatnonzero(score > np.float32(least)), key=lambda n: (-score[n], n)):
                sides = np.minimum(high[n], high[chosen]) - np.maximum(low[n], low[chosen])
                common = np.prod(np.maximum(sides, 0), axis=1)
                union = area[n] + area[chosen] - common
                overlaps = (common > 0) & (common > np.float32(shared) * union)
                if len(chosen) < most and not overlaps.any():
                    chosen.append(int(n))
            rows += [(image, kind, n) for n in chosen]
    return rows


SIZES = [
    (7, 3, 0.5), (64, 64, 0.0), (130, 5, 0.7), (RANKED + 44, 40, -1.0), (1000, 90, 0.2), (1000, 1000, 0.97),
    (90, 9, 2.0),
]  # fmt: skip


@pytest.mark.parametrize(("count", "most", "least"), SIZES)
@pytest.mark.parametrize("frozen", [[2, 3, 4], []])
def test_choice(count: int, most: int, least: float, frozen: list[int]) -> None:
    """Corners are whole numbers and the share a power of two, so that products and comparisons are exact. Scores are
    of few values, and some of them are NaN: these boxes are none."""
    rng = np.random.default_rng(count)
    boxes = rng.integers(0, 40, (2, count, 4)).astype(np.float32)
    scores = (rng.integers(0, 33, (2, 3, count)) / 32).astype(np.float32)
    scores[rng.random(scores.shape) < 0.05] = np.nan
    numbers = [np.array([most]), np.array([0.25], np.float32), np.array([least], np.float32)]
    proto, feeds = one_node("NonMaxSuppression", [boxes, scores, *numbers], 11, frozen)
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    assert [tuple(row) for row in got] == greedy(boxes, scores, most, 0.25, least)


def test_sorted_where_there_are_vectors() -> None:
    boxes, scores = np.zeros((1, 50, 4), np.float32), np.zeros((1, 2, 50), np.float32)
    proto, _ = one_node("NonMaxSuppression", [boxes, scores, np.array([5])], 11, [2])
    program = lower_graph(optimize(import_model(proto)), host_machine())
    assert "sorted suppression" in {call.generator for call in program.calls}
