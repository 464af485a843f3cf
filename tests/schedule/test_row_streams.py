"""Layers that hand on more than the caches hold, row by row: the same results as one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.ir.chunks import chunk_extents
from ccml.ir.graph import Graph, GraphBuilder, Value
from ccml.ir.program import Program
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.program.streams import chunks
from ccml.schedule import row_streams
from ccml.targets import Machine, select
from pytest import MonkeyPatch

from tests.artifacts.built import SANITIZED, run_artifact
from tests.schedule.graphs import random_inputs
from tests.schedule.test_winograd import levels

X86 = select("x86", cpu="x86-64-v4")

Build = Callable[["Images", Value], Value]


class Images(GraphBuilder):
    """Layers of images, channels last, with seeded weights."""

    def __init__(self) -> None:
        super().__init__(infer_types)
        self.rng = np.random.default_rng(7)

    def weights(self, *shape: int) -> Value:
        scale = np.prod(shape[1:]) ** -0.5
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def conv(
        self, x: Value, channels: int, kernel: tuple[int, int] = (1, 1), stride: tuple[int, int] = (1, 1),
        pad: tuple[int, int, int, int] | None = None, dilation: tuple[int, int] = (1, 1), group: int = 1,
    ) -> Value:  # fmt: skip
        border = tuple(d * (k // 2) for d, k in zip(dilation, kernel)) * 2 if pad is None else pad
        weights = self.weights(channels, *kernel, x.shape[-1] // group)
        y = self.emit1(
            "conv", x, weights, stride=stride, pad=border, dilation=dilation, group=group, layout="channels_last"
        )
        return self.emit1("relu", y)

    def depthwise(self, x: Value, kernel: tuple[int, int] = (3, 3), stride: tuple[int, int] = (1, 1), **more) -> Value:
        return self.conv(x, x.shape[-1], kernel, stride, group=x.shape[-1], **more)


def graph_of(build: Build, *shape: int) -> Graph:
    layers = Images()
    x = Value("x", TensorType(DType.F32, shape))
    y = build(layers, x)
    return Graph("model", (x,), (y,), tuple(layers.nodes), layers.constants)


def bottleneck(layers: Images, x: Value) -> Value:
    return layers.emit1("add", layers.conv(layers.depthwise(layers.conv(x, 24)), x.shape[-1]), x)


def stem(layers: Images, x: Value) -> Value:
    y = layers.depthwise(layers.conv(x, 20, (3, 3), (2, 2)))
    return layers.conv(y, 9)


def strided(layers: Images, x: Value) -> Value:
    y = layers.depthwise(layers.conv(x, 18), (5, 3), (2, 3))
    return layers.depthwise(layers.conv(y, 33), (3, 5), (1, 2))


def dilated(layers: Images, x: Value) -> Value:
    return layers.depthwise(layers.depthwise(layers.conv(x, 16), dilation=(2, 3)), (2, 2), pad=(0, 1, 1, 0))


def pooled(layers: Images, x: Value) -> Value:
    y = layers.conv(layers.depthwise(layers.conv(x, 16)), 32)
    return layers.emit1("reduce", y, kind="mean", axes=(1, 2), keepdims=True)


def columns(layers: Images, x: Value) -> Value:
    """A border at the sides alone, and none at all."""
    return layers.depthwise(layers.depthwise(layers.conv(x, 17), (1, 3)), (3, 1), pad=(0, 0, 0, 0))


def read_twice(layers: Images, x: Value) -> Value:
    """Read once more when all rows are there."""
    y = layers.conv(x, 96)
    return layers.emit1("add", layers.depthwise(y), layers.emit1("reduce", y, kind="mean", axes=(1, 2), keepdims=True))


def groups(layers: Images, x: Value) -> Value:
    """Groups of four channels, and a sum with what is read by rows before."""
    y = layers.conv(x, 16)
    return layers.emit1("add", layers.conv(layers.conv(y, 16, (3, 3), group=4), 16), y)


CASES = {
    "bottleneck": graph_of(bottleneck, 1, 9, 7, 5),
    "bottleneck of one row": graph_of(bottleneck, 1, 1, 7, 5),
    "bottleneck of two rows": graph_of(bottleneck, 1, 2, 16, 16),
    "bottleneck of one column": graph_of(bottleneck, 1, 6, 1, 3),
    "stem": graph_of(stem, 1, 23, 29, 3),
    "strided": graph_of(strided, 1, 21, 20, 4),
    "dilated": graph_of(dilated, 1, 12, 11, 6),
    "pooled": graph_of(pooled, 1, 10, 9, 4),
    "columns": graph_of(columns, 1, 11, 8, 4),
    "groups": graph_of(groups, 1, 9, 10, 6),
}


@pytest.fixture
def however_small(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(row_streams, "LEAST", 0)


@pytest.fixture
def in_chunks(monkeypatch: MonkeyPatch, however_small: None) -> None:
    monkeypatch.setattr(chunks, "MOST_AGAIN", math.inf)


WHOLE = {"bottleneck of one row", "bottleneck of two rows", "dilated"}
"""What has no stream in chunks: there are too few rows."""


def streams_of(program: Program) -> list[str]:
    return [kernel.name for kernel in program.kernels if kernel.name.startswith("stream_")]


@pytest.mark.parametrize("machine", levels(), ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("name", CASES)
def test_row_by_row(name: str, machine: Machine, however_small: None) -> None:
    graph = optimize(CASES[name])
    inputs, program = random_inputs(graph), lower_graph(graph, machine)
    assert bool(streams_of(program)) == (CASES[name].inputs[0].shape[1] > 2)
    (actual,) = JitModel(program, machine).run(inputs).values()
    expected = evaluate_graph(CASES[name], inputs)[CASES[name].outputs[0].name]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["bottleneck", "stem", "strided"])
def test_by_c(name: str, tmp_path: Path, however_small: None) -> None:
    graph = optimize(CASES[name])
    machine, inputs = select("x86", cpu="x86-64-v3"), random_inputs(graph)
    program = lower_graph(graph, machine)
    assert streams_of(program)
    (found,) = run_artifact(program, machine, Emit.C, tmp_path, [inputs], SANITIZED)
    (actual,), expected = found.values(), evaluate_graph(graph, inputs)[graph.outputs[0].name]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_what_the_caches_hold_is_computed_layer_by_layer() -> None:
    assert not streams_of(lower_graph(optimize(graph_of(bottleneck, 1, 56, 56, 8)), X86))


def test_what_they_do_not_hold_is_a_few_rows() -> None:
    """Three maps of 112 x 112 x 24 floats, of 1.2 MB each; a stream has one of them, the result, and less of others."""
    whole = 112 * 112 * 24 * 4
    program = lower_graph(optimize(graph_of(bottleneck, 1, 112, 112, 24)), X86)
    assert streams_of(program)
    assert program.plan.pools[0].size < whole / 4


@pytest.mark.parametrize(
    "graph",
    [graph_of(read_twice, 1, 112, 112, 16), graph_of(bottleneck, 2, 112, 112, 24)],
    ids=["all rows are read again", "several images"],
)
def test_what_stays_apart(graph: Graph) -> None:
    assert not streams_of(lower_graph(optimize(graph), X86))


def test_in_chunks_for_threads() -> None:
    """Four chunks of 28 rows; of what is between the layers each has a few rows of its own."""
    whole = 112 * 112 * 24 * 4
    program = lower_graph(optimize(graph_of(bottleneck, 1, 112, 112, 24)), X86, Goal(threads=2))
    (stream,) = (kernel for kernel in program.kernels if kernel.name.startswith("stream_"))
    assert chunk_extents(stream) == (4,)
    assert program.plan.pools[0].size < whole / 2


@pytest.mark.parametrize("name", CASES)
def test_chunks_meet_nowhere(name: str, in_chunks: None, tmp_path: Path) -> None:
    """The last chunk first, with GCC's sanitizers."""
    graph, machine = optimize(CASES[name]), select("x86", cpu="x86-64-v3")
    inputs, program = random_inputs(graph), lower_graph(graph, machine, Goal(threads=3))
    found = [chunk_extents(kernel)[0] for kernel in program.kernels if kernel.name in streams_of(program)]
    assert bool(found) == (name not in WHOLE) and all(1 < count <= 6 for count in found)
    backwards = replace(SANITIZED, flags=(*SANITIZED.flags, "-DMODEL_THREADS=-1"))
    (results,) = run_artifact(program, machine, Emit.C, tmp_path, [inputs], backwards)
    (actual,), expected = results.values(), evaluate_graph(graph, inputs)[graph.outputs[0].name]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_little_is_computed_twice() -> None:
    """Of 12 rows in four chunks, two more of the first layer would be needed at each seam; what reads no rows of others
    is another matter."""
    graph = optimize(graph_of(bottleneck, 1, 12, 1000, 96))
    alone, threads = (lower_graph(graph, X86, goal) for goal in (Goal(), Goal(threads=4)))
    assert [kernel.name for kernel in alone.kernels] == ["stream_0"]
    assert streams_of(threads) == ["stream_0"] and any(k.name.startswith("conv_0") for k in threads.kernels)
