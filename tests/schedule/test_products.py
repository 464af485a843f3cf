"""Products of two computed matrices of bytes, by block instructions and by vectors: the bytes of their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.program import Program
from ccml.ir.steps import walk_calls
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.program.build import lower_graph
from ccml.program.goal import DEFAULT_GOAL, Goal, Optimize
from ccml.schedule.products import Digits
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import machine_id
from tests.schedule.graphs import random_inputs
from tests.schedule.test_generators import machines
from tests.schedule.test_halfword_factors import with_scales
from tests.schedule.test_helium import M55, with_helium
from tests.schedule.test_staged import M4, Route, assert_exact, by_c, by_jit, by_objects, with_blocks
from tests.tools import needs


def product(
    x: Sequence[int], w: Sequence[int], zeros: tuple[int, int] = (-5, 7), scale: float = 0.001, residual: bool = False
) -> Graph:
    """``x`` by ``w``, both int8 and computed, with these zero points, requantized; with ``residual`` a sum with a third
    tensor follows."""
    factor = np.array([scale], np.float32)
    factor.flags.writeable = False
    lhs, rhs = (Value(name, TensorType(DType.I8, tuple(shape))) for name, shape in (("x", x), ("w", w)))
    operand = Value("scale", TensorType(DType.F32, (1,)))
    inner = GraphBuilder(infer_types, NameSupply(["x", "w", "r", "scale"]))
    acc = inner.emit1("matmul", lhs, rhs, loc="anchor", zero_point=zeros[0], rhs_zero_point=zeros[1])
    attrs: dict[str, AttrValue] = {"zero_point": 12, "lo": -128, "hi": 127, "to": DType.I8, "y_scale": 0.1}
    y = inner.emit1("requantize", acc, operand, **attrs)  # type: ignore[arg-type]
    given = [lhs, rhs]
    if residual:
        given.append(Value("r", y.type))
        more: dict[str, AttrValue] = {"m1": 3, "m2": -2, "bias": 9, "shift": 2, **attrs, "zero_point": 0}
        y = inner.emit1("rescale", y, given[-1], **more)  # type: ignore[arg-type]
    body = Graph("body", (*given, operand), (y,), tuple(inner.nodes))
    return Graph(
        "model", tuple(given), (y,), (Node("fused", body.inputs, (y,), {"body": body}, "layer"),), {"scale": factor}
    )


GRAPHS = {
    "whole tiles": product((8, 32), (32, 12)),
    "nothing whole": product((5, 7), (7, 13), scale=0.004),
    "no zero point on the right": product((6, 24), (24, 9), zeros=(3, 0)),
    "no zero point, whole steps": product((6, 32), (32, 8), zeros=(0, 0)),
    "least zero point on the right": product((5, 20), (20, 6), zeros=(-128, -128), scale=0.0003),
    "greatest zero point on the right": product((5, 20), (20, 6), zeros=(127, 127), scale=0.0003),
    "depth of several digits": product((3, 600), (600, 5), zeros=(-128, -128), scale=0.000008),
    "batch": product((2, 3, 4, 16), (2, 3, 16, 10)),
    "batch on the left": product((2, 3, 5, 12), (12, 7)),
    "batch on the right": product((4, 12), (3, 12, 8)),
    "broadcast": product((2, 1, 4, 12), (3, 12, 8)),
    "many rows": product((37, 16), (16, 4)),
    "residual": product((7, 16), (16, 6), residual=True),
    "residual, batch on the left": product((2, 7, 16), (16, 6), residual=True),
    "results beyond a halfword": product((3, 4096), (4096, 4), scale=0.0005),
}


def constant_right(graph: Graph) -> Graph:
    """The same product with a constant right matrix."""
    weights = np.random.default_rng(5).integers(-128, 128, graph.inputs[1].shape).astype(np.int8)
    weights.flags.writeable = False
    return replace(graph, inputs=graph.inputs[:1], constants={**graph.constants, "w": weights})


GRAPHS["factors"] = with_scales(product((7, 48), (48, 8)))
GRAPHS["factors, large matrix"] = with_scales(product((5, 32), (32, 20)))
GRAPHS["factors, columns left"] = with_scales(product((5, 20), (20, 7), zeros=(3, 0)))
ONE_STEP = {
    "one step": with_scales(product((3, 37, 16), (3, 16, 8))),
    "one step, few words": with_scales(product((5, 5), (5, 7), zeros=(-60, 127), scale=0.0004)),
    "one step, depth of no words": with_scales(product((34, 13), (13, 9), zeros=(30, -128), scale=0.0004)),
    "one step, no zero points": with_scales(product((2, 6, 12), (12, 3), zeros=(0, 0))),
    "one step, residual": with_scales(product((7, 16), (16, 6), residual=True)),
}
"""Requantized exactly by factors."""
GRAPHS |= ONE_STEP
GRAPHS["constant, with a zero point"] = constant_right(product((6, 24), (24, 9), zeros=(3, -128), scale=0.0005))
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))


@pytest.mark.parametrize("machine", [with_blocks(), with_helium()], ids=["dsp", "helium"])
@by_graph
def test_meaning_in_process(graph: Graph, machine: Machine, tmp_path: Path) -> None:
    assert_exact(graph, machine, by_jit, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
@by_graph
def test_emulated(graph: Graph, machine: Machine, tmp_path: Path) -> None:
    assert_exact(graph, machine, by_c, tmp_path)


@pytest.mark.parametrize("name", ONE_STEP)
def test_rows_of_one_step_have_a_block(name: str) -> None:
    names = [block.name for block in lower_graph(GRAPHS[name], M55).blocks]
    assert any(each.startswith("helium_product") for each in names)


@pytest.mark.parametrize("name", [*ONE_STEP, "factors", "factors, columns left"])
def test_one_factor_needs_no_floats(name: str) -> None:
    for goal, block in ((DEFAULT_GOAL, "gemm_3x2_s16_rounded"), (Goal(Optimize.RAM), "gemm_3x2_rounded")):
        names = [each.name for each in lower_graph(GRAPHS[name], M4, goal).blocks]
        assert any(each.startswith(block) for each in names)
        assert not any(each.startswith("gemm_3x2_i8") for each in names)


def test_large_matrices_stay_bytes() -> None:
    names = [block.name for block in lower_graph(GRAPHS["factors, large matrix"], M4).blocks]
    assert any(each.startswith("gemm_3x2_rounded") for each in names)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", ["nothing whole", "batch", "one step, few words"])
def test_objects(name: str, core: str, tmp_path: Path) -> None:
    route: Route = by_objects
    assert_exact(GRAPHS[name], select(core), route, tmp_path)


VECTORS = {name: graph for name, graph in GRAPHS.items() if "constant" not in name}


def generators_of(program: Program) -> set[str]:
    return {call.generator for call in walk_calls(program.body) if call.macs}


@pytest.mark.parametrize("machine", [each for each in machines() if max(each.cpu.f32_lanes) > 1], ids=machine_id)
@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str, machine: Machine) -> None:
    graph = VECTORS[name]
    inputs, output = random_inputs(graph), graph.outputs[0].name
    program = lower_graph(graph, machine)
    assert generators_of(program) == {"computed product"}
    np.testing.assert_array_equal(
        JitModel(program, machine).run(inputs)[output], evaluate_graph(graph, inputs)[output]
    )


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("name", ["nothing whole", "whole tiles", "no zero point on the right", "batch"])
def test_dot_products_of_arm64(name: str, tmp_path: Path) -> None:
    graph, machine = GRAPHS[name], select("linux-arm64", cpu="armv8.2-a-dotprod")
    inputs, output = random_inputs(graph), graph.outputs[0].name
    program = lower_graph(graph, machine)
    assert generators_of(program) == {"computed product"}
    (found,) = run_artifact(program, machine, Emit.OBJECT, tmp_path / "a", [inputs])
    np.testing.assert_array_equal(found[output], evaluate_graph(graph, inputs)[output])


def test_cores_without_such_blocks() -> None:
    """No contraction leaves the zero point of constant weights out."""
    graph = GRAPHS["constant, with a zero point"]
    inputs, machine = random_inputs(graph), select("generic")
    found = JitModel(lower_graph(graph, machine), machine).run(inputs)[graph.outputs[0].name]
    np.testing.assert_array_equal(found, evaluate_graph(graph, inputs)[graph.outputs[0].name])


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("factor", [-127, -64, -3, 1, 5, 127, 128])
def test_digits_reach_every_sum(factor: int, bits: int) -> None:
    """What :meth:`Digits.write` takes off digit by digit leaves nothing at either end, and all weights are bytes."""
    most = 128 * 77
    digits = Digits.of(factor, most, bits)
    assert all(-128 <= weight <= 127 for weight in digits.weights)
    assert digits.unit * digits.times == factor
    limit = 1 << bits - 1
    for total in (-most, most):
        assert -limit * digits.count <= total * digits.times >> digits.shift <= (limit - 1) * digits.count
