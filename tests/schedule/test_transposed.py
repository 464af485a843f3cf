"""Transposed convolutions as phases of ordinary ones: the bytes of the operator's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.loops import Alloc, Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule import tap_products
from ccml.targets import Machine, select
from onnx import helper

from tests.frontend_onnx.graphs import model, value
from tests.schedule.graphs import anchored_graph, looked_up, random_inputs
from tests.schedule.test_generators import TOLERANCE, machines, relative_error
from tests.schedule.test_helium import M55
from tests.schedule.test_staged import M4, Route, assert_exact, by_c, by_jit, by_objects, with_blocks
from tests.tools import needs


def transposed(
    x: Sequence[int], w: Sequence[int], stride: Sequence[int], pad: Sequence[int], extra: Sequence[int] = (),
    residual: bool = False, table: bool = False, group: int = 1,
) -> Graph:  # fmt: skip
    """int8 ``x`` [n, ..., i] by weights ``w`` [i, ..., o / group], requantized per channel; with ``residual``, a second
    input is added; with ``table``, the result is looked up."""
    rng = np.random.default_rng(3)
    arrays = {
        "w": rng.integers(-127, 128, tuple(w)).astype(np.int8),
        "b": rng.integers(-3000, 3000, w[-1] * group).astype(np.int32),
        "scale": rng.uniform(0.0005, 0.003, w[-1] * group).astype(np.float32),
    }
    for array in arrays.values():
        array.flags.writeable = False
    given = Value("x", TensorType(DType.I8, tuple(x)))
    operands = {n: Value(n, TensorType(DType.from_numpy(a.dtype), a.shape)) for n, a in arrays.items()}
    inner = GraphBuilder(infer_types, NameSupply(["x", *arrays]))
    attrs: dict[str, AttrValue] = {
        "stride": tuple(stride), "pad": tuple(pad), "group": group, "layout": "channels_last", "zero_point": -9,
        "dilation": (1,) * len(stride), "output_padding": tuple(extra) or (0,) * len(stride),
    }  # fmt: skip
    acc = inner.emit1("conv_transpose", given, operands["w"], operands["b"], loc="anchor", **attrs)
    y = inner.emit1("requantize", acc, operands["scale"], zero_point=4, lo=-128, hi=127, to=DType.I8, y_scale=0.1)
    inputs = [given]
    if residual:
        inputs.append(Value("r", y.type))
        pair: dict[str, AttrValue] = {"m1": 90, "m2": 61, "bias": 640, "shift": 7, "lo": -128, "hi": 127}
        y = inner.emit1("rescale", y, inputs[1], zero_point=3, to=DType.I8, y_scale=0.2, **pair)
    if table:
        y = looked_up(inner, y, rng, operands, arrays)
    body = Graph("body", (*inputs, *operands.values()), (y,), tuple(inner.nodes))
    return Graph("model", tuple(inputs), (y,), (Node("fused", body.inputs, (y,), {"body": body}, "layer"),), arrays)


SHAPES: dict[str, tuple[Sequence[int], ...]] = {
    "2x2, twice as large": ((1, 5, 6, 8), (8, 2, 2, 6), (2, 2), (0, 0, 0, 0)),
    "2x2, rows of tiles and more": ((2, 3, 8, 5), (5, 2, 2, 3), (2, 2), (0, 0, 0, 0)),
    "1x3, phases of two kinds": ((1, 3, 9, 8), (8, 2, 3, 6), (2, 3), (0, 1, 0, 1), (0, 2)),
    "3x3, twice as large": ((2, 4, 5, 8), (8, 3, 3, 5), (2, 2), (1, 1, 1, 1), (1, 1)),
    "4x4, twice as large": ((1, 4, 8, 12), (12, 4, 4, 4), (2, 2), (1, 1, 1, 1)),
    "5x3, three and one": ((1, 4, 7, 3), (3, 5, 3, 4), (3, 1), (0, 2, 4, 0)),
    "a cut beyond the kernel": ((1, 6, 5, 4), (4, 2, 3, 6), (1, 2), (1, 4, 1, 3)),
    "rows added": ((1, 3, 4, 4), (4, 3, 3, 3), (3, 3), (0, 1, 0, 0), (2, 0)),
    "line": ((1, 9, 8), (8, 6, 3), (2,), (2, 1)),
}
GRAPHS = {
    **{name: transposed(*shapes) for name, shapes in SHAPES.items()},
    "2x2, residual": transposed((1, 5, 8, 8), (8, 2, 2, 8), (2, 2), (0, 0, 0, 0), residual=True),
    "1x2, residual": transposed((1, 3, 7, 8), (8, 1, 2, 8), (1, 2), (0, 0, 0, 0), residual=True),
    "phases of rows, residual": transposed((1, 4, 5, 8), (8, 3, 3, 16), (2, 1), (1, 1, 1, 1), (1, 0), residual=True),
    "phases of rows, looked up": transposed((1, 4, 9, 5), (5, 2, 3, 6), (2, 1), (0, 0, 0, 0), table=True),
    "3x3, looked up": transposed((1, 4, 5, 8), (8, 3, 3, 5), (2, 2), (1, 1, 1, 1), table=True),
}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))


@by_graph
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_jit, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
@by_graph
def test_emulated(graph: Graph, machine: Machine, tmp_path: Path) -> None:
    assert_exact(graph, machine, by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_objects_on_cortex_m4(tmp_path: Path) -> None:
    assert_exact(GRAPHS["3x3, twice as large"], M4, by_objects, tmp_path)


def test_phases_that_see_the_same_share_what_is_staged() -> None:
    kernel = lower_graph(GRAPHS["2x2, rows of tiles and more"], M4).kernels[0]
    called = [stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)]
    assert called.count("im2col_x2") == 1
    assert called.count("gemm_3x2_i8") == 4


# ---------------------------------------------------------------- without block instructions

WIDER: dict[str, tuple[Sequence[int], ...]] = {
    **SHAPES,
    "more columns and rows than a block": ((1, 3, 33, 5), (5, 4, 4, 83), (2, 2), (1, 1, 1, 1)),
    "one pixel": ((1, 1, 1, 24), (24, 4, 4, 16), (1, 1), (0, 0, 0, 0)),
    "volume": ((1, 3, 2, 4, 5), (5, 2, 3, 2, 9), (2, 1, 2), (0, 1, 0, 0, 1, 0)),
}


def floats(
    x: Sequence[int], w: Sequence[int], stride: Sequence[int], pad: Sequence[int], extra: Sequence[int] = (),
    group: int = 1,
) -> Graph:  # fmt: skip
    rng = np.random.default_rng(5)
    bias = rng.standard_normal(w[-1] * group).astype(np.float32)
    constants = {"w": rng.standard_normal(tuple(w)).astype(np.float32), "b": bias}
    attrs: dict[str, AttrValue] = {
        "stride": tuple(stride), "pad": tuple(pad), "group": group, "layout": "channels_last",
        "dilation": (1,) * len(stride), "output_padding": tuple(extra) or (0,) * len(stride),
    }  # fmt: skip
    return anchored_graph("conv_transpose", {"x": tuple(x)}, constants, attrs, ["add", "relu"])


on_machines = pytest.mark.parametrize("machine", machines(), ids=lambda machine: machine.cpu.name)
by_shapes = pytest.mark.parametrize("shapes", WIDER.values(), ids=list(WIDER))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
def test_volumes_emulated(machine: Machine, tmp_path: Path) -> None:
    """Windows of several planes, which block instructions of rows cannot read."""
    graph = transposed(*WIDER["volume"], table=True)
    feeds, (y,) = random_inputs(graph), graph.outputs
    program = lower_graph(graph, machine)
    named = replace(program, outputs=tuple(replace(item, name="y", c_name="y") for item in program.outputs))
    np.testing.assert_array_equal(by_c(named, machine, feeds, tmp_path), evaluate_graph(graph, feeds)[y.name])


@on_machines
@by_shapes
def test_floats(shapes: tuple[Sequence[int], ...], machine: Machine) -> None:
    assert relative_error(floats(*shapes), machine) < TOLERANCE


@on_machines
@by_shapes
def test_bytes_by_dots(shapes: tuple[Sequence[int], ...], machine: Machine) -> None:
    graph = transposed(*shapes)
    feeds, (y,) = random_inputs(graph), graph.outputs
    found = JitModel(lower_graph(graph, machine), machine).run(feeds)[y.name]
    np.testing.assert_array_equal(found, evaluate_graph(graph, feeds)[y.name])


@pytest.mark.parametrize("graph", [transposed(*SHAPES["3x3, twice as large"]), floats(*SHAPES["3x3, twice as large"])])
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v4"])
def test_sums_are_blocks_of_registers(graph: Graph, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each phase is a contraction with accumulators, which other loops do not have."""
    monkeypatch.setattr(tap_products, "WORTH", 0.0)
    (kernel,) = (each for each in lower_graph(graph, select("x86", cpu=level)).kernels if "conv" in each.name)
    registers = [stmt for stmt in walk_stmts(kernel.body) if isinstance(stmt, Alloc) and stmt.buffer.name[:3] == "acc"]
    assert len(registers) >= 4


# ---------------------------------------------------------------- a channel for each group

DEPTHWISE: dict[str, tuple[Sequence[int], ...]] = {
    "4x4, twice as large": ((1, 4, 5, 24), (24, 4, 4, 1), (2, 2), (1, 1, 1, 1)),
    "3x3, rows and columns added": ((2, 3, 4, 7), (7, 3, 3, 1), (2, 2), (1, 1, 0, 0), (1, 1)),
    "5x3, three and one": ((1, 4, 7, 33), (33, 5, 3, 1), (3, 1), (0, 2, 4, 0)),
    "one pixel": ((1, 1, 1, 16), (16, 4, 4, 1), (1, 1), (0, 0, 0, 0)),
    "line": ((1, 9, 8), (8, 6, 1), (2,), (2, 1)),
    "volume": ((1, 3, 2, 4, 5), (5, 2, 3, 2, 1), (2, 1, 2), (0, 1, 0, 0, 1, 0)),
}


by_depthwise = pytest.mark.parametrize("shapes", DEPTHWISE.values(), ids=list(DEPTHWISE))


@on_machines
@by_depthwise
def test_depthwise_of_floats(shapes: tuple[Sequence[int], ...], machine: Machine) -> None:
    graph = floats(*shapes, group=shapes[1][0])
    assert "depthwise" in [call.generator for call in lower_graph(graph, machine).calls]
    assert relative_error(graph, machine) < TOLERANCE


def assert_bytes(graph: Graph, machine: Machine, route: Route, folder: Path) -> None:
    """The bytes of the operator's meaning."""
    inputs, program = random_inputs(graph), lower_graph(graph, machine)
    assert [call.generator for call in program.calls if call.macs] == ["depthwise"]
    expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
    assert len(np.unique(expected)) > 5, "the case must not saturate everywhere"
    named = replace(program, outputs=tuple(replace(item, name="y", c_name="y") for item in program.outputs))
    np.testing.assert_array_equal(route(named, machine, inputs, folder), expected)


@on_machines
@by_depthwise
def test_depthwise_of_bytes(shapes: tuple[Sequence[int], ...], machine: Machine, tmp_path: Path) -> None:
    assert_bytes(transposed(*shapes, group=shapes[1][0]), machine, by_jit, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
@by_depthwise
def test_depthwise_emulated(shapes: tuple[Sequence[int], ...], machine: Machine, tmp_path: Path) -> None:
    assert_bytes(transposed(*shapes, group=shapes[1][0]), machine, by_c, tmp_path)


# ---------------------------------------------------------------- few channels as results

FEW: dict[str, tuple[Sequence[int], ...]] = {
    "4x4, twice as large": ((1, 9, 33, 24), (24, 4, 4, 1), (2, 2), (1, 1, 1, 1)),
    "9x9, three times as large": ((2, 7, 30, 16), (16, 9, 9, 1), (3, 3), (4, 4, 4, 4), (2, 2)),
    "three channels": ((1, 8, 29, 16), (16, 4, 4, 3), (2, 2), (1, 1, 1, 1)),
    "5x3, three and one": ((1, 6, 31, 32), (32, 5, 3, 1), (3, 1), (0, 2, 4, 0)),
    "3x3, rows and columns added": ((1, 5, 28, 32), (32, 3, 3, 2), (2, 2), (1, 1, 0, 0), (1, 1)),
    "line": ((1, 64, 48), (48, 16, 1), (8,), (4, 4)),
}


@pytest.mark.parametrize("band", [8, 1], ids=["one band", "bands"])
@pytest.mark.parametrize("name", [machine.cpu.name for machine in machines() if max(machine.cpu.f32_lanes) > 1])
@pytest.mark.parametrize("shapes", FEW.values(), ids=list(FEW))
def test_few_channels(
    shapes: tuple[Sequence[int], ...], name: str, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tap_products, "BAND", band)
    machine = next(machine for machine in machines() if machine.cpu.name == name)
    graph = floats(*shapes)
    if machine.cpu.name.startswith("x86-64-v4"):
        assert "products of taps" in [call.generator for call in lower_graph(graph, machine).calls]
    assert relative_error(graph, machine) < TOLERANCE


def test_few_channels_with_a_factor_for_each() -> None:
    """What follows is computed pixel by pixel where channels differ in it."""
    rng = np.random.default_rng(2)
    weights = {
        "w": rng.standard_normal((16, 3, 4, 4)).astype(np.float32), "slope": np.array([[[0.1]], [[0.2]], [[-3]]], "f4"),
    }  # fmt: skip
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["t"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("PRelu", ["t", "slope"], ["y"]),
    ]
    graph = import_model(model(nodes, [value("x", (2, 16, 9, 28))], ["y"], weights))
    program = lower_graph(optimize(graph), host_machine())
    assert [call.generator for call in program.calls if call.macs] == ["products of taps"]
    feeds = random_inputs(graph)
    expected = evaluate_graph(graph, feeds)["y"]
    assert np.linalg.norm(JitModel(program).run(feeds)["y"] - expected) < TOLERANCE * np.linalg.norm(expected)


def test_many_channels_stay_with_phases() -> None:
    graph = floats((1, 9, 33, 24), (24, 4, 4, 16), (2, 2), (1, 1, 1, 1))
    calls = lower_graph(graph, select("x86", cpu="x86-64-v4")).calls
    assert [call.generator for call in calls if call.macs] == ["contraction"]
