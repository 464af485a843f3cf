"""Recurrent operators without an integer form over short sequences: written out, their products quantized."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.integerize import integerize
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.quantization import quantize_graph
from ccml.quantization.recurrences import MOST_STEPS, unroll_recurrences

from tests.quantize.networks import ops_of, samples_for

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
FUNCTIONS = {"lstm": ("Sigmoid", "Tanh", "Relu"), "gru": ("Sigmoid", "Relu"), "rnn": ("Relu",)}
FLAGS = {"lstm": "input_forget", "gru": "linear_before_reset"}


def recurrence(
    op: str, steps: int = 3, direction: str = "forward", flag: bool = False, *, bias: bool = True, states: bool = False
) -> Graph:
    """All results of ``op`` over ``[steps, 2, 6]`` with 5 hidden units."""
    rng, count, hidden = np.random.default_rng(4), 2 if direction == "bidirectional" else 1, 5
    builder = GraphBuilder(infer_types, NameSupply(["x", "h", "c"]))
    inputs = [Value("x", TensorType(DType.F32, (steps, 2, 6)))]
    gates = GATES[op] * hidden
    shapes = [(count, gates, 6), (count, gates, hidden), (count, 2 * gates)]
    operands: list[Value | None] = [builder.constant(0.5 * rng.standard_normal(s).astype(np.float32)) for s in shapes]
    if not bias:
        operands[2] = None
    if states:
        names = ("h", "c") if op == "lstm" else ("h",)
        given = [Value(name, TensorType(DType.F32, (count, 2, hidden))) for name in names]
        inputs += given
        operands += given
    attrs: dict[str, Any] = {"hidden": hidden, "direction": direction, "activations": FUNCTIONS[op] * count}
    attrs |= {"clip": math.inf} | ({FLAGS[op]: flag} if op in FLAGS else {})
    outputs = builder.emit(op, [inputs[0], *operands], attrs, loc=op)
    return Graph("net", tuple(inputs), outputs, tuple(builder.nodes), builder.constants)


CASES = [
    pytest.param(recurrence(op, direction=direction, flag=flag, states=states, bias=states), id="-".join(
        [op, direction, *(["flag"] if flag else []), *(["states"] if states else [])]
    ))
    for op in GATES
    for direction in ("forward", "reverse", "bidirectional")
    for flag in ((False, True) if op in FLAGS else (False,))
    for states in (False, True)
]  # fmt: skip


@pytest.mark.parametrize("graph", CASES)
def test_written_out_it_computes_the_same(graph: Graph) -> None:
    result = unroll_recurrences(graph).graph
    verify_graph(result)
    assert not set(GATES) & set(ops_of(result))
    (sample,) = samples_for(graph, 1)
    wanted, got = evaluate_graph(graph, sample), evaluate_graph(result, sample)
    for value in graph.outputs:
        np.testing.assert_allclose(got[value.name], wanted[value.name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("graph", CASES[1::5])
def test_products_become_integer(graph: Graph) -> None:
    """The noise of int8 inputs, weights and states, at the outputs: 25 dB below them."""
    samples = samples_for(graph, 60)
    result = quantize_graph(graph, samples)
    verify_graph(result.graph)
    integers = integerize(result.graph)
    products = [node for node in integers.nodes if node.op == "matmul"]
    assert products
    assert all(node.output.dtype is DType.I32 for node in products)
    test = samples_for(graph, 20, seed=8)
    pairs = [(evaluate_graph(graph, sample), evaluate_graph(integers, sample)) for sample in test]
    for value in graph.outputs:
        wanted, got = (np.stack([pair[place][value.name] for pair in pairs]) for place in (0, 1))
        assert np.square(wanted - got).sum() < 10**-2.5 * np.square(wanted).sum()


def test_steps_share_kernels_and_weights() -> None:
    """A longer sequence adds calls, but no weights, and only the copies of its inputs as kernels."""
    programs = []
    for steps in (6, 12):
        graph = recurrence("lstm", steps)
        quantized = quantize_graph(graph, samples_for(graph, 20)).graph
        programs.append(lower_graph(optimize(quantized), host_machine()))
    sizes = [sum(array.nbytes for array in program.constants.values()) for program in programs]
    assert sizes[0] == sizes[1]
    own = [len([k for k in program.kernels if k.name.startswith("matmul")]) for program in programs]
    assert own[0] == own[1]


def test_long_sequences_and_peepholes_stay_one_operator() -> None:
    graph = recurrence("gru", MOST_STEPS + 1)
    assert unroll_recurrences(graph).graph is graph


def test_other_activation_functions_stay_one_operator() -> None:
    graph = recurrence("rnn")
    (node,) = graph.nodes
    graph = graph.with_nodes([replace(node, attrs={**node.attrs, "activations": ("Softsign",)})])
    assert unroll_recurrences(graph).graph is graph
