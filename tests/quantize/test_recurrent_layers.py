"""Recurrent layers that are quantized as a whole: integer layers of any length, near the float model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.integerize import integerize, integerize_with_report
from ccml.quantization import QuantizeOptions, quantize_graph
from ccml.quantization.options import LayerOptions, Precision
from ccml.quantization.recurrent_weights import byte_weights, halfword_weights
from ccml.quantization.rounding import nearest
from ccml.samples import Batching, Samples

from tests.quantize.networks import ops_of

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
FUNCTIONS = {"lstm": ("Sigmoid", "Tanh", "Tanh"), "gru": ("Sigmoid", "Tanh"), "rnn": ("Tanh",)}
FLAGS = {"lstm": "input_forget", "gru": "linear_before_reset"}


def layer(
    op: str, steps: int = 5, direction: str = "forward", *, flag: bool = False, states: bool = False,
    lengths: bool = False, dense: bool = False, **attrs: Any,
) -> Graph:  # fmt: skip
    """All results of ``op`` over ``[steps, 2, 6]`` with 7 hidden units; ``dense``: a product with the last state."""
    rng, count, hidden = np.random.default_rng(4), 2 if direction == "bidirectional" else 1, 7
    builder = GraphBuilder(infer_types, NameSupply(["x", "h", "c", "lengths"]))
    inputs = [Value("x", TensorType(DType.F32, (steps, 2, 6)))]
    gates = GATES[op] * hidden
    shapes = [(count, gates, 6), (count, gates, hidden), (count, 2 * gates)]
    operands: list[Value | None] = [builder.constant(0.5 * rng.standard_normal(s).astype(np.float32)) for s in shapes]
    names = ("h", "c") if op == "lstm" else ("h",)
    given = [Value(name, TensorType(DType.F32, (count, 2, hidden))) for name in names] if states else []
    operands += given or [None] * len(names)
    if lengths:
        given = [*given, Value("lengths", TensorType(DType.I32, (2,)))]
        operands += [*([None] if op == "lstm" else []), given[-1]]
    attrs = {"hidden": hidden, "direction": direction, "activations": FUNCTIONS[op] * count, "clip": math.inf, **attrs}
    attrs |= {FLAGS[op]: flag} if op in FLAGS else {}
    outputs = builder.emit(op, [*inputs, *operands], attrs, loc=op)
    if dense:
        w = builder.constant(rng.standard_normal((hidden, 4)).astype(np.float32))
        outputs = (builder.emit1("matmul", outputs[1], w, loc="dense"),)
    return Graph("net", (*inputs, *given), outputs, tuple(builder.nodes), builder.constants)


def typical(graph: Graph, count: int, seed: int = 1) -> Samples:
    """Sequences of normal numbers; states are within 1, lengths those of sequences."""
    rng = np.random.default_rng(seed)
    inputs = {
        value.name: rng.integers(0, 6, (count, *value.shape)).astype(np.int32)
        if value.name == "lengths"
        else rng.standard_normal((count, *value.shape)).astype(np.float32)
        for value in graph.inputs
    }
    inputs.update({name: np.tanh(array) for name, array in inputs.items() if name == "h"})
    return Samples(inputs, {}, count, Batching.ADDED)


CASES: dict[str, dict[str, Any]] = {
    "forward": {}, "one step": {"steps": 1}, "longer than what is written out": {"steps": 130},
    "both directions": {"direction": "bidirectional", "states": True}, "backward": {"direction": "reverse"},
    "flag": {"flag": True, "states": True}, "lengths": {"lengths": True, "direction": "bidirectional"},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("op", list(GATES))
def test_layers(op: str, case: str) -> None:
    """The integer model has one integer layer, and its outputs at least 35 dB."""
    graph = layer(op, **CASES[case])
    result = quantize_graph(graph, typical(graph, 24))
    verify_graph(result.graph)
    integers, kept = integerize_with_report(result.graph)
    assert not kept and f"int_{op}" in ops_of(integers) and op not in ops_of(integers)
    test = typical(graph, 8, seed=8).inputs
    for n in range(8):
        sample = {name: array[n] for name, array in test.items()}
        wanted, got = evaluate_graph(graph, sample), evaluate_graph(integers, sample)
        for value in graph.outputs:
            noise = np.square(wanted[value.name] - got[value.name]).sum()
            assert noise <= 10**-3.5 * np.square(wanted[value.name]).sum() + 1e-9


def test_the_qdq_model_means_the_same_to_others() -> None:
    """Float gates of the written model, and integer ones of the compiled: below 0.002 apart."""
    graph = layer("lstm", 20, "bidirectional")
    result = quantize_graph(graph, typical(graph, 24)).graph
    sample = {name: array[0] for name, array in typical(graph, 1, seed=9).inputs.items()}
    wanted, got = evaluate_graph(result, sample), evaluate_graph(integerize(result), sample)
    for value in graph.outputs:
        assert np.abs(wanted[value.name] - got[value.name]).max() < 0.002


def test_inputs_have_16_bits_and_those_of_an_integer_interface_8() -> None:
    graph = layer("gru", dense=True)
    for options, dtype in ((QuantizeOptions(), DType.I16), (QuantizeOptions(integer_io=True), DType.I8)):
        integers = integerize(quantize_graph(graph, typical(graph, 24), options).graph)
        (node,) = (each for each in integers.nodes if each.op == "int_gru")
        assert node.operands[0].dtype is dtype


def test_a_layer_can_be_kept_in_float() -> None:
    graph = layer("gru", dense=True)
    options = QuantizeOptions(layers={"gru": LayerOptions(Precision.FLOAT)})
    integers = integerize(quantize_graph(graph, typical(graph, 24), options).graph)
    assert "gru" in ops_of(integers) and "int_gru" not in ops_of(integers)


def test_weights_have_a_scale_for_each_row_and_sums_that_fit() -> None:
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((2, 3, 500)) * np.array([1, 10, 0.1])[:, None]
    weights[1, 2] = 1.0
    rows = [rng.standard_normal((1, 50, 500)) for _ in range(2)]
    bytes_ = byte_weights(weights, rows, lambda matrices, steps, _: nearest(matrices, steps))
    for stored, dtype, part in ((bytes_, np.int8, 0.03), (halfword_weights(weights), np.int16, 0.006)):
        assert stored.array.dtype == dtype and stored.shape == (2, 3, 500) and len(stored.encoding.scale) == 6
        assert np.abs(stored.array.astype(np.int64)).sum(axis=1).max() * 2**15 < 2**31
        apart = np.abs(stored.real - weights).mean(axis=2) / np.abs(weights).max(axis=2)
        assert apart.max() < part


def test_one_direction_has_an_axis_and_no_other_shape() -> None:
    stored = halfword_weights(np.ones((1, 3, 4)))
    assert stored.shape is None and stored.array.shape == (1, 3, 4) and stored.encoding.axis == 1
    np.testing.assert_allclose(stored.real, 1.0, rtol=2.0**-14)


def test_inputs_may_be_larger_than_what_was_observed() -> None:
    """Four times, and more where a range has a margin: what saturates is wrong in all steps that follow."""
    graph = layer("gru", dense=True)
    samples = typical(graph, 24)
    result = quantize_graph(graph, samples)
    (quantize,) = (node for node in result.graph.nodes if node.op == "quantize" and node.operands[0].name == "x")
    (scale,) = quantize.attrs["scale"]
    assert 4 <= 32768 * scale / np.abs(samples.inputs["x"]).max() < 6
