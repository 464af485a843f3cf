"""Recurrences over sequences of different lengths, compiled, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend_onnx.compiled import check_compiled, onnxruntime, reference
from tests.frontend_onnx.graphs import one_node

SEQ, BATCH, FEATURES, HIDDEN = 6, 4, 3, 5
LENGTHS = np.array([6, 1, 4, 3], np.int32)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def operands(op: str, gates: int, dirs: int) -> list[np.ndarray | None]:
    state = floats(dirs, BATCH, HIDDEN, seed=4)
    arrays: list[np.ndarray | None] = [
        floats(SEQ, BATCH, FEATURES), floats(dirs, gates * HIDDEN, FEATURES, seed=1),
        floats(dirs, gates * HIDDEN, HIDDEN, seed=2), floats(dirs, 2 * gates * HIDDEN, seed=3), LENGTHS, state,
    ]  # fmt: skip
    if op == "LSTM":
        arrays += [floats(dirs, BATCH, HIDDEN, seed=5), floats(dirs, 3 * HIDDEN, seed=6)]
    return arrays


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "gates", "outputs"), [("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)])
def test_agrees_with_onnxruntime(op: str, gates: int, outputs: int, direction: str) -> None:
    """Lengths as an input, and as a constant."""
    arrays = operands(op, gates, 2 if direction == "bidirectional" else 1)
    attrs: dict[str, Any] = {"direction": direction, "hidden_size": HIDDEN, "outputs": outputs}
    for frozen in ((1, 2, 3, 5, 6, 7), range(1, len(arrays))):
        check_compiled(*one_node(op, arrays, 14, list(frozen), **attrs), onnxruntime, rtol=1e-4, atol=1e-5)


def test_lengths_out_of_range_touch_nothing_else() -> None:
    """A length beyond the sequence is that of the sequence, one below 0 is 0: the state stays what it was."""
    arrays = operands("GRU", 3, 1)
    arrays[4] = np.array([99, -5, 6, 0], np.int32)
    proto, feeds = one_node("GRU", arrays, 14, [1, 2, 3], hidden_size=HIDDEN, outputs=2)

    def clamped(model: Any, given: Any) -> list[np.ndarray]:
        arrays[4] = None
        full = reference(*one_node("GRU", arrays, 14, hidden_size=HIDDEN, outputs=2))
        full[0][:, :, [1, 3]] = 0
        full[1][:, [1, 3]] = given["x5"][:, [1, 3]]
        return full

    check_compiled(proto, feeds, clamped, rtol=1e-4)
