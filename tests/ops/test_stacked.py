"""Operators evaluated for many samples at once give what they give for each sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from ccml.ir.graph import Node, Value
from ccml.ir.graph_text import parse_graph
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.stacked import Operand, Operands, evaluate_node, evaluate_stacked
from ccml.ops.table import OPS

from tests.ops.test_table import SAMPLES, Sample, f

COUNT = 3
CASES = [(op, number) for op, samples in SAMPLES.items() for number in range(len(samples))]

CONVS: dict[str, Sample] = {
    "depthwise": (
        [f(2, 4, 6, 5), f(4, 1, 3, 2), f(4)],
        {"stride": (2, 1), "pad": (1, 0, 0, 1), "dilation": (1, 2), "group": 4, "layout": "channels_first"},
    ),
    "multiplier": (
        [f(1, 3, 7), f(6, 1, 3), None],
        {"stride": (1,), "pad": (1, 1), "dilation": (1,), "group": 3, "layout": "channels_first"},
    ),
    "pointwise": (
        [f(2, 4, 5, 3), f(6, 4, 1, 1), f(6)],
        {"stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1), "group": 1, "layout": "channels_first"},
    ),
    "pointwise with a stride": (
        [f(2, 4, 5, 3), f(6, 2, 1, 1), f(6)],
        {"stride": (2, 2), "pad": (0, 0, 0, 0), "dilation": (1, 1), "group": 2, "layout": "channels_first"},
    ),
}


def varied(array: np.ndarray) -> np.ndarray:
    """Stacked samples: floats differ, and other operands, which may be places in something, are the same."""
    if array.dtype.kind != "f":
        return np.stack([array] * COUNT)
    return np.stack([np.roll(array, shift) for shift in range(COUNT)])


def placed(arrays: Sequence[np.ndarray | None], stacked: Sequence[int]) -> Operands:
    return [
        None if array is None else Operand(varied(array), True) if place in stacked else Operand(array, False)
        for place, array in enumerate(arrays)
    ]


def node_of(op: str, arrays: Sequence[np.ndarray | None], attrs: dict[str, object]) -> Node:
    types = [None if a is None else TensorType(DType.from_numpy(a.dtype), a.shape) for a in arrays]
    inputs = tuple(None if type_ is None else Value(f"x{place}", type_) for place, type_ in enumerate(types))
    results = OPS[op].infer(types, attrs)  # type: ignore[arg-type]
    return Node(op, inputs, tuple(Value(f"y{place}", type_) for place, type_ in enumerate(results)), attrs)  # type: ignore[arg-type]


def check(op: str, sample: Sample) -> None:
    arrays, attrs = sample
    node, there = node_of(op, arrays, attrs), [place for place, array in enumerate(arrays) if array is not None]
    for stacked in [*([place] for place in there), there]:
        operands = placed(arrays, stacked)
        found = evaluate_node(node, operands, COUNT)
        for n in range(COUNT):
            wanted = OPS[op].evaluate([None if each is None else each.of(n) for each in operands], attrs)
            for own, theirs in zip(found, wanted, strict=True):
                assert own.dtype == theirs.dtype and own[n].shape == theirs.shape
                np.testing.assert_allclose(own[n], theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("op", "number"), CASES)
def test_every_operator(op: str, number: int) -> None:
    if OPS[op].infer is None or not any(array is not None for array in SAMPLES[op][number][0]):
        pytest.skip("nothing that samples could differ in")
    with np.errstate(all="ignore"):
        check(op, SAMPLES[op][number])


@pytest.mark.parametrize("name", CONVS)
def test_convolutions(name: str) -> None:
    check("conv", CONVS[name])


def test_error_function() -> None:
    x = np.linspace(-5, 5, 1001, dtype=np.float32)
    (found,) = evaluate_node(node_of("erf", [x], {}), [Operand(x[np.newaxis], True)], 1)
    (wanted,) = OPS["erf"].evaluate([x], {})
    np.testing.assert_allclose(found[0], wanted, atol=5e-7)


GRAPH = parse_graph("""graph g(%x: f32[1,3]) -> (%y, %c)
  const %w : f32[3,2] = dense<1.0, 2.0, 0.5, -1.0, 3.0, 0.25>
  %v : f32[3,2] = neg(%w)
  %p : f32[1,2] = matmul(%x, %v)
  %y : f32[1,2] = relu(%p)
  %c : f32[3,2] = abs(%v)
""")


def test_graph() -> None:
    """What is asked for is stacked, also where it does not depend on the inputs."""
    x = np.arange(12, dtype=np.float32).reshape(4, 1, 3) - 5
    found = evaluate_stacked(GRAPH, {"x": x}, ["y", "c", "x", "w"])
    assert set(found) == {"y", "c", "x", "w"}
    for n in range(4):
        wanted = evaluate_graph(GRAPH, {"x": x[n]})
        for name, array in found.items():
            np.testing.assert_allclose(array[n], wanted[name], rtol=1e-6)
