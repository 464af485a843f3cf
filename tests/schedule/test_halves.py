"""Contractions of halves, by their own arithmetic or that of floats, within the bounds of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import Graph
from ccml.ir.steps import walk_calls
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.fused import body_of
from ccml.passes.fuse import fuse
from ccml.passes.precision import halves
from ccml.program.build import lower_graph
from ccml.schedule.winograd_matrices import ALL
from ccml.targets import select

from tests.artifacts.built import run_artifact
from tests.schedule.graphs import conv_graph, random_inputs
from tests.schedule.test_generators import machines, matmul_graph
from tests.tools import needs

FP16 = select("linux-arm64", cpu="armv8.2-a-fp16")
UNIT = 2.0**-11
"""The relative error of rounding to a half."""

PAD = (1, 1, 1, 1)
GRAPHS = {
    "plain 3x3": (conv_graph((1, 6, 6, 16), (16, 3, 3, 16), pad=PAD), 144),
    "winograd": (conv_graph((1, 8, 8, 32), (32, 3, 3, 32), pad=PAD), None),
    "pointwise, odd": (conv_graph((1, 5, 3, 11), (18, 1, 1, 11), epilogue=["relu"]), 11),
    "first layer": (conv_graph((1, 9, 9, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1)), 27),
    "groups": (conv_graph((1, 5, 5, 12), (10, 3, 3, 6), group=2, pad=PAD, bias=False), 54),
    "depthwise": (conv_graph((1, 7, 9, 20), (20, 3, 3, 1), group=20, pad=PAD, epilogue=["relu"]), 9),
    "residual": (conv_graph((1, 6, 6, 8), (8, 1, 1, 8), epilogue=["add", "relu"]), 9),
    "one row": (matmul_graph((1, 64), (64, 12), constant=True, bias=12), 64),
    "both computed": (matmul_graph((2, 7, 5), (2, 5, 11), constant=False), 5),
}


def halved(graph: Graph) -> Graph:
    """The graph of one fused node with its operators in halves."""
    (node,) = graph.nodes
    body = body_of(node.attrs)
    constants = {**graph.constants, **body.constants}
    return fuse(halves(Graph("g", graph.inputs, body.outputs, body.nodes, constants)))


def bounds(graph: Graph, products: int | None, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """How far results may be from exact ones: with each product and sum of the magnitudes rounded once more than it is
    said to be in the documentation, for what stands behind the contraction."""
    (node,) = graph.nodes
    body = body_of(node.attrs)
    constants = {name: np.abs(array) for name, array in {**graph.constants, **body.constants}.items()}
    most = evaluate_graph(
        Graph("g", graph.inputs, body.outputs, body.nodes, constants), {k: np.abs(v) for k, v in inputs.items()}
    )[graph.outputs[0].name]
    if products is None:
        channels = graph.inputs[0].shape[-1]
        per_tile = 16 * (channels + 33) * UNIT
        largest = max(np.abs(value).max() for value in inputs.values())
        weights = np.abs(graph.constants["w"]).sum(axis=(1, 2, 3)).max()
        return np.full_like(most, per_tile * largest * weights)
    share = (products + 4) * UNIT
    return share / (1 - share) * most + 1e-6


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize(
    "route", [pytest.param(Emit.C, marks=pytest.mark.check, id="c"), pytest.param(Emit.OBJECT, id="llvm")]
)
def test_errors_of_arithmetic_of_halves(route: Emit, tmp_path: Path) -> None:
    for number, (name, (graph, products)) in enumerate(GRAPHS.items()):
        inputs, output = random_inputs(graph), graph.outputs[0].name
        program = lower_graph(halved(graph), FP16)
        (found,) = run_artifact(program, FP16, route, tmp_path / str(number), [inputs])
        apart = np.abs(found[output] - evaluate_graph(graph, inputs)[output])
        assert found[output].dtype == np.float32
        assert np.all(apart <= bounds(graph, products, inputs)), name
        assert apart.max() > 0, name


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", GRAPHS)
def test_sums_in_floats_elsewhere(name: str, machine: object) -> None:
    """Each result is the exact one of rounded operands, rounded to a half, or a neighbour of that."""
    graph = halved(GRAPHS[name][0])
    inputs, output = random_inputs(graph), graph.outputs[0].name
    found = JitModel(lower_graph(graph, machine), machine).run(inputs)[output]  # type: ignore[arg-type]
    wanted = evaluate_graph(graph, inputs)[output]
    np.testing.assert_allclose(found, wanted, rtol=2.1 * UNIT, atol=2e-3)


def test_winograd_of_small_tiles_alone() -> None:
    (call,) = (call for call in walk_calls(lower_graph(halved(GRAPHS["winograd"][0]), FP16).body) if call.macs)
    assert call.generator == "winograd F(2x2,3x3)"
    assert np.abs(ALL[2].input).max() == np.abs(ALL[2].output).max() == 1


def test_lanes_of_eight_halves() -> None:
    for name in ("pointwise, odd", "depthwise", "winograd"):
        text = emit_assembly(lower_graph(halved(GRAPHS[name][0]), FP16), FP16)
        assert re.search(r"\bfmla\s+v\d+\.8h", text) and not re.search(r"\bfmla\s+v\d+\.4s", text), name
