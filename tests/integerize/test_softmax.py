"""Softmax in integers: within one step of the float definition, and nearly always equal to it."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize, integerize_with_report

from tests.integerize.building import Qdq, check, operators, outputs, random_bytes


@pytest.mark.parametrize("count", [1, 2, 3, 12, 100, 1000])
@pytest.mark.parametrize("scale", [0.001, 0.02, 0.16, 2.0])
@pytest.mark.parametrize("step", [1 / 256, 1 / 255, 0.0029, 0.01])
def test_within_one_step(count: int, scale: float, step: float) -> None:
    differ = values = 0
    for dtype, zero_point in ((DType.I8, -128), (DType.U8, 0)):
        q = Qdq()
        y = q.op("softmax", q.input((8, count), scale, 5, dtype), axis=1)
        graph = q.graph(q.quantize(y, step, zero_point, dtype))
        result = integerize(graph)
        assert operators(result) == ["int_softmax"]
        for seed in range(3):
            feeds = random_bytes(graph, seed)
            wanted, got = (evaluate_graph(g, feeds)[g.outputs[0].name].astype(int) for g in (graph, result))
            assert np.max(np.abs(wanted - got)) <= 1
            differ, values = differ + np.count_nonzero(wanted != got), values + wanted.size
    assert differ <= max(1, 0.01 * values)


def test_compiled() -> None:
    for axis in (0, 1, 2):
        q = Qdq()
        y = q.op("softmax", q.input((3, 4, 5), 0.05, 5, DType.U8), axis=axis)
        check(q.graph(q.quantize(y, 1 / 256, 0, DType.U8)), ["int_softmax"], same=False)


def test_equal_elements_round_halves_to_even() -> None:
    """1/4 in steps of 1/2 is 0, 3/4 is not to be had."""
    q = Qdq()
    graph = q.graph(q.quantize(q.op("softmax", q.input((1, 4)), axis=1), 1 / 2, 0, DType.U8))
    feeds = {"x": np.full((1, 4), 7, np.int8)}
    (wanted,), (got,) = (outputs(g, feeds)[0].tolist() for g in (graph, integerize(graph)))
    assert wanted == got == [0] * 4


def test_what_is_not_of_bytes_stays_in_float() -> None:
    q = Qdq()
    w = q.weights(np.ones((4, 3), np.int8), [0.1])
    y = q.op("softmax", q.op("matmul", q.input((2, 4)), w), axis=1)
    result, kept = integerize_with_report(q.graph(q.quantize(y, 1 / 256, 0, DType.U8)))
    assert operators(result) == ["matmul", "cast", "mul", "softmax", "quantize"]
    assert [(k.op, k.reason) for k in kept] == [("softmax", "its operand is not of 8 bits")]


def test_rows_too_long_for_32_bits_stay_in_float() -> None:
    q = Qdq()
    graph = q.graph(q.quantize(q.op("softmax", q.input((1, 100_000)), axis=1), 1 / 256, 0, DType.U8))
    assert operators(integerize(graph)) == ["dequantize", "softmax", "quantize"]
