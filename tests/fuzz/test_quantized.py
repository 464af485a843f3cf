"""A seeded slice of ``python -m tests.fuzz.quantized``: operators of each way through the quantizer."""

from __future__ import annotations

from tests.fuzz.quantized import run

NAMES = [
    "ArgMax", "Cast", "Compress", "Concat", "Constant", "ConvInteger", "GridSample", "LRN", "LSTM",
    "LayerNormalization", "MatMul", "MaxPool", "NonMaxSuppression", "NonZero", "Resize", "ScatterND",
    "Softmax", "TopK", "Unique", "Where",
]  # fmt: skip


def test_operators_behind_a_convolution() -> None:
    counts = run(NAMES, 0)
    assert counts["wrong"] == 0
    assert counts["ok"] >= 10


def test_operators_in_front_of_a_convolution() -> None:
    counts = run(NAMES, 1, before=True)
    assert counts["wrong"] == 0
    assert counts["ok"] >= 10
