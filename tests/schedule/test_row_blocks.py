"""Layers one behind the other for a block of rows at a time: the same results as one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph, GraphBuilder, Node, Value
from ccml.ir.program import Program
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.fused import body_of
from ccml.ops.table import infer_types
from ccml.passes.pipeline import optimize
from ccml.program import chunking
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.schedule import row_chains
from ccml.schedule.row_chains import block_rows
from ccml.targets import Machine, select
from pytest import MonkeyPatch

from tests.artifacts.built import SANITIZED, run_artifact
from tests.schedule.graphs import random_inputs
from tests.schedule.test_winograd import generators_of, levels

X86 = select("x86", cpu="x86-64-v4")
NAME = "blocks of rows"

Build = Callable[["Layers", Value], Value]


class Layers(GraphBuilder):
    """Layers with seeded weights, and inputs beside the first one."""

    def __init__(self) -> None:
        super().__init__(infer_types)
        self.rng = np.random.default_rng(5)
        self.inputs: list[Value] = []

    def given(self, *shape: int) -> Value:
        value = Value(self.names.fresh("x"), TensorType(DType.F32, shape))
        self.inputs.append(value)
        return value

    def weights(self, *shape: int) -> Value:
        scale = shape[-2] ** -0.5 if len(shape) > 1 else 0.1
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def product(self, x: Value, columns: int) -> Value:
        return self.emit1("matmul", x, self.weights(x.shape[-1], columns), self.weights(columns))

    def pointwise(self, x: Value, channels: int, kernel: int = 1) -> Value:
        """A convolution, channels last."""
        weights = self.weights(channels, kernel, kernel, x.shape[-1])
        pad = (kernel // 2,) * 4
        return self.emit1(
            "conv", x, weights, stride=(1, 1), pad=pad, dilation=(1, 1), group=1, layout="channels_last"
        )

    def attention(self, scores: Value, values: Value) -> Value:
        return self.emit1("matmul", self.emit1("softmax", scores, axis=len(scores.shape) - 1), values)


def graph_of(build: Build, *shape: int) -> Graph:
    layers = Layers()
    y = build(layers, layers.given(*shape))
    return Graph("model", tuple(layers.inputs), (y,), tuple(layers.nodes), layers.constants)


def perceptron(layers: Layers, x: Value) -> Value:
    hidden = layers.emit1("tanh", layers.product(x, 37))
    return layers.emit1("add", layers.product(hidden, x.shape[-1]), x)


def three(layers: Layers, x: Value) -> Value:
    return layers.product(layers.emit1("relu", layers.product(layers.emit1("relu", layers.product(x, 33)), 19)), 5)


def convolutions(layers: Layers, x: Value) -> Value:
    """Behind them one that reads the border of their result, before them one whose result has a border."""
    stem = layers.emit1("relu", layers.pointwise(x, 16, 3))
    y = layers.pointwise(layers.emit1("relu", layers.pointwise(stem, 33)), 16)
    return layers.pointwise(layers.emit1("add", y, layers.pointwise(stem, 16, 3)), 7, 3)


def attention(layers: Layers, x: Value) -> Value:
    *batches, rows, depth = x.shape
    scores = layers.emit1("matmul", x, layers.given(*batches, depth, 21))
    masked = layers.emit1("add", scores, layers.given(*(1 for _ in batches), rows, 21))
    return layers.attention(masked, layers.given(*batches, 21, 10))


def shared_keys(layers: Layers, x: Value) -> Value:
    """All heads read the same keys and values; a bias for each head and row."""
    *batches, rows, depth = x.shape
    scores = layers.emit1("matmul", x, layers.given(depth, 17))
    return layers.attention(layers.emit1("add", scores, layers.given(*batches, rows, 1)), layers.given(17, 6))


def heads_apart(layers: Layers, x: Value) -> Value:
    """Reshaped around the softmax, as exporters write products of three dimensions."""
    heads, rows, depth = x.shape
    scores = layers.emit1("matmul", x, layers.given(heads, depth, 12))
    four = layers.emit1("softmax", layers.emit1("reshape", scores, shape=(1, heads, rows, 12)), axis=3)
    return layers.emit1("matmul", layers.emit1("reshape", four, shape=(heads, rows, 12)), layers.given(heads, 12, 9))


CASES = {
    "perceptron": graph_of(perceptron, 48, 20),
    "rows of batches": graph_of(perceptron, 3, 49, 16),
    "one row a block": graph_of(perceptron, 5, 7, 3),
    "three products": graph_of(three, 2, 24, 10),
    "convolutions": graph_of(convolutions, 1, 12, 9, 5),
    "borders of single rows": graph_of(convolutions, 3, 1, 9, 5),
    "attention": graph_of(attention, 30, 8),
    "rows that are left": graph_of(attention, 31, 8),
    "rows that are left of batches": graph_of(perceptron, 3, 53, 16),
    "attention of heads": graph_of(attention, 2, 3, 20, 8),
    "attention of a head": graph_of(attention, 1, 1, 22, 8),
    "shared keys": graph_of(shared_keys, 2, 3, 10, 8),
    "heads apart": graph_of(heads_apart, 3, 14, 8),
}


@pytest.fixture
def wherever_possible(monkeypatch: MonkeyPatch) -> None:
    """However small tensors are, with so few rows in a block that there are several, and chunks of any work."""
    monkeypatch.setattr(row_chains, "LEAST", 0)
    monkeypatch.setattr(row_chains, "FEWEST_ROWS", 1)
    monkeypatch.setattr(row_chains, "BETWEEN", 1 << 10)
    monkeypatch.setattr(chunking, "SMALLEST_PHASE", 0)
    monkeypatch.setattr(chunking, "SMALLEST_CHUNK", 1)


def blocks_of(graph: Graph, machine: Machine) -> list[Node]:
    fused = [node for node in block_rows(graph, machine.cpu).nodes if node.op == "fused"]
    return [inner for node in fused for inner in body_of(node.attrs).nodes if inner.op == "row_blocks"]


def results(program: Program, machine: Machine, inputs: dict[str, np.ndarray], threads: int = 1) -> list[np.ndarray]:
    model = JitModel(program, machine)
    with model.threads(threads):
        return list(model.run(inputs).values())


@pytest.mark.parametrize("machine", levels(), ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("name", CASES)
def test_rows_in_blocks(name: str, machine: Machine, wherever_possible: None) -> None:
    graph = optimize(CASES[name])
    inputs, program = random_inputs(graph), lower_graph(graph, machine)
    assert NAME in generators_of(program)
    (actual,) = results(program, machine, inputs)
    expected = evaluate_graph(CASES[name], inputs)[CASES[name].outputs[0].name]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
    program = lower_graph(graph, machine, Goal(threads=3))
    assert any(kernel.chunked and kernel.name.startswith("row_blocks") for kernel in program.kernels)
    (threaded,) = results(program, machine, inputs, 3)
    np.testing.assert_array_equal(threaded, actual)


@pytest.mark.parametrize("name", ["convolutions", "attention of heads"])
def test_by_c(name: str, tmp_path: Path, wherever_possible: None) -> None:
    graph = optimize(CASES[name])
    machine, inputs = select("x86", cpu="x86-64-v3"), random_inputs(graph)
    program = lower_graph(graph, machine)
    assert NAME in generators_of(program)
    (found,) = run_artifact(program, machine, Emit.C, tmp_path, [inputs], SANITIZED)
    (actual,), expected = found.values(), evaluate_graph(graph, inputs)[graph.outputs[0].name]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_results_that_caches_keep_are_computed_one_by_one() -> None:
    graph = optimize(graph_of(attention, 4, 512, 64))
    assert not blocks_of(graph, X86)


def test_what_is_between_stays_in_the_nearest_caches() -> None:
    """Scores and their exponentials: 336 KiB of 2,048 rows, and of 3,072 more than 384."""
    graph = optimize(graph_of(attention, 12, 12_288, 64))
    (node,) = blocks_of(graph, X86)
    assert node.attrs["frame"] == (12, 12_288) and node.attrs["rows"] == 2048


def test_a_prime_number_of_rows() -> None:
    (node,) = blocks_of(optimize(graph_of(attention, 12, 8191, 64)), X86)
    assert 16 <= node.attrs["rows"] < 8191


def other_readers(layers: Layers, x: Value) -> Value:
    hidden = layers.product(x, 256)
    return layers.emit1("add", layers.product(hidden, 256), layers.emit1("transpose", hidden, perm=(1, 0)))


def along_rows(layers: Layers, x: Value) -> Value:
    return layers.product(layers.emit1("softmax", layers.product(x, 400), axis=0), 8)


def many_weights(layers: Layers, x: Value) -> Value:
    return layers.product(layers.emit1("relu", layers.product(x, 2048)), 256)


@pytest.mark.parametrize(
    "graph",
    [graph_of(other_readers, 256, 256), graph_of(along_rows, 1024, 16), graph_of(many_weights, 512, 256)],
    ids=["other readers", "functions along rows", "weights that are read too often"],
)
def test_what_stays_apart(graph: Graph) -> None:
    assert not blocks_of(optimize(graph), X86)
