"""Integer contractions through block instructions: the same bytes as the operators' meaning on every way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf, prod
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.program import Program, Storage
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.program.build import lower_graph
from ccml.schedule import generators
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.schedule.graphs import integer_conv_graph, random_inputs, sum_graph
from tests.tools import needs

SAME = (1, 1, 1, 1)
M4 = select("cortex-m4")


def with_blocks() -> Machine:
    """The portable target as if it had M4's block instructions: their meaning and C twins on this machine."""
    machine = select("generic")
    return replace(machine, cpu=replace(machine.cpu, extensions=M4.cpu.extensions))


def matmul_graph(rows: tuple[int, ...], depth: int, columns: int) -> Graph:
    """int8 rows by constant weights, requantized with one scale."""
    rng = np.random.default_rng(2)
    arrays = {
        "w": rng.integers(-127, 128, (depth, columns)).astype(np.int8),
        "scale": np.array([0.0011], np.float32),
    }
    for array in arrays.values():
        array.flags.writeable = False
    x = Value("x", TensorType(DType.I8, (*rows, depth)))
    operands = {name: Value(name, TensorType(DType.from_numpy(a.dtype), a.shape)) for name, a in arrays.items()}
    inner = GraphBuilder(infer_types, NameSupply(["x", *arrays]))
    acc = inner.emit1("matmul", x, operands["w"], loc="anchor", zero_point=-5)
    attrs: dict[str, AttrValue] = {"zero_point": 12, "lo": -128, "hi": 127, "to": DType.I8, "y_scale": 0.1}
    y = inner.emit1("requantize", acc, operands["scale"], **attrs)  # type: ignore[arg-type]
    body = Graph("body", (x, *operands.values()), (y,), tuple(inner.nodes))
    return Graph("model", (x,), (y,), (Node("fused", body.inputs, (y,), {"body": body}, "layer"),), arrays)


GRAPHS = {
    "ends of four rows": integer_conv_graph((1, 10, 11, 8), (6, 3, 3, 8)),
    "ends of four rows, threes, batch": integer_conv_graph((2, 6, 9, 8), (7, 3, 3, 8), residual=True),
    "ends of four rows, channels beside fours": integer_conv_graph((1, 6, 7, 7), (8, 3, 3, 7)),
    "ends of too many rows": integer_conv_graph((1, 9, 11, 8), (6, 3, 3, 8)),
    "ends of two rows": integer_conv_graph((1, 6, 8, 4), (8, 3, 3, 4), ties=True),
    "ends of few rows": integer_conv_graph((1, 4, 9, 8), (8, 3, 3, 8)),
    "ends of lines": integer_conv_graph((4, 11, 8), (8, 3, 8), stride=(1,), pad=(0, 0)),
    "pointwise, odd rows of one pixel": integer_conv_graph((1, 9, 1, 4), (8, 1, 1, 4), stride=(2, 2)),
    "pointwise, odd pixels": integer_conv_graph((1, 5, 5, 64), (64, 1, 1, 64)),
    "pointwise, one channel left": integer_conv_graph((1, 4, 4, 8), (7, 1, 1, 8)),
    "pointwise, depth 11": integer_conv_graph((1, 5, 3, 11), (18, 1, 1, 11)),
    "weights of -128": integer_conv_graph((1, 5, 5, 24), (9, 1, 1, 24), least=-128),
    "weights of -128, residual": integer_conv_graph((1, 5, 5, 24), (9, 1, 1, 24), least=-128, residual=True),
    "more than 24 bits": integer_conv_graph((1, 2, 3, 1200), (3, 1, 1, 1200), scale=0.0001),
    "ties": integer_conv_graph((1, 7, 3, 16), (6, 1, 1, 16), ties=True),
    "pointwise, odd channels": integer_conv_graph((1, 4, 6, 12), (9, 1, 1, 12)),
    "3x3, wide rows": integer_conv_graph((1, 4, 12, 8), (6, 3, 3, 8), pad=SAME),
    "3x3, wide rows, stride": integer_conv_graph((1, 5, 25, 4), (6, 3, 3, 4), pad=SAME, stride=(2, 2)),
    "wide rows, bytes": integer_conv_graph((1, 3, 16, 6), (4, 3, 3, 6), pad=SAME),
    "pointwise with stride": integer_conv_graph((1, 9, 7, 8), (5, 1, 1, 8), stride=(2, 2)),
    "3x3": integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=SAME),
    "3x3, odd rows": integer_conv_graph((1, 7, 5, 8), (10, 3, 3, 8), pad=SAME, zero_point=-128),
    "batch": integer_conv_graph((2, 5, 5, 12), (5, 3, 3, 12), pad=SAME),
    "uneven padding": integer_conv_graph((1, 9, 9, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1)),
    "one channel, tall kernel": integer_conv_graph((1, 49, 10, 1), (64, 10, 4, 1), stride=(2, 2), pad=(4, 1, 5, 1)),
    "one channel to one": integer_conv_graph((1, 6, 6, 1), (1, 3, 3, 1), pad=SAME),
    "two pixels": integer_conv_graph((1, 1, 2, 20), (9, 1, 1, 20)),
    "three pixels": integer_conv_graph((1, 3, 1, 20), (9, 1, 1, 20)),
    "single pixel": integer_conv_graph((1, 1, 1, 64), (12, 1, 1, 64)),
    "single pixel, depth 11": integer_conv_graph((1, 1, 1, 11), (17, 1, 1, 11)),
    "single window": integer_conv_graph((1, 3, 3, 5), (9, 3, 3, 5)),
    "clamped above the least": integer_conv_graph((1, 5, 5, 8), (7, 3, 3, 8), pad=SAME, lo=-7),
    "clamped, single pixel": integer_conv_graph((1, 1, 1, 40), (11, 1, 1, 40), lo=-7),
    "residual": integer_conv_graph((1, 6, 6, 8), (8, 3, 3, 8), pad=SAME, residual=True),
    "residual, odd pixels": integer_conv_graph((1, 5, 5, 8), (8, 1, 1, 8), residual=True),
    "halfwords, odd pixels": integer_conv_graph((1, 5, 5, 12), (10, 1, 1, 12), dtype=DType.I16),
    "halfwords, residual": integer_conv_graph((1, 3, 5, 7), (6, 3, 3, 7), pad=SAME, dtype=DType.I16, residual=True),
    "matmul": matmul_graph((6,), 24, 10),
    "matmul, odd rows of a batch": matmul_graph((2, 3), 13, 5),
    "fully connected": matmul_graph((1,), 64, 24),
}
GROUPS = {
    "groups": integer_conv_graph((1, 5, 8, 16), (8, 3, 3, 8), pad=SAME, group=2),
    "groups, odd rows, stride": integer_conv_graph((2, 7, 9, 12), (6, 3, 3, 4), pad=SAME, group=3, stride=(2, 2)),
    "groups of three channels": integer_conv_graph((1, 4, 5, 6), (10, 2, 3, 3), group=2, residual=True),
    "groups, pointwise, table": integer_conv_graph((1, 4, 5, 16), (12, 1, 1, 8), group=2, table=True),
    "groups, one pixel": integer_conv_graph((1, 1, 1, 16), (12, 1, 1, 8), group=2),
    "groups, dilation": integer_conv_graph((1, 9, 9, 8), (4, 3, 3, 4), pad=(2, 2, 2, 2), dilation=(2, 2), group=2),
    "groups, many": integer_conv_graph((1, 4, 6, 40), (60, 1, 1, 2), group=20),
    "groups, weights of -128": integer_conv_graph((1, 5, 5, 8), (6, 3, 3, 4), pad=SAME, group=2, least=-128),
}
GATHERED = {
    "gathered groups": integer_conv_graph((1, 9, 12, 32), (16, 3, 3, 4), pad=SAME, group=8),
    "gathered groups, cut rows": integer_conv_graph((1, 9, 14, 40), (20, 3, 3, 4), pad=SAME, group=10, residual=True),
    "gathered groups, stride, batch": integer_conv_graph(
        (2, 12, 15, 64), (16, 3, 3, 8), pad=(0, 1, 2, 1), group=8, stride=(1, 2)
    ),
    "gathered groups, dilated rows": integer_conv_graph(
        (1, 14, 12, 32), (32, 3, 5, 4), pad=(2, 0, 2, 4), group=8, dilation=(2, 1)
    ),
    "gathered groups, line": integer_conv_graph((1, 21, 32), (16, 5, 4), pad=(2, 2), stride=(1,), group=8),
}  # fmt: skip
GROUPS |= GATHERED
GROUPS_OF_STEPS = {
    "groups of a step": integer_conv_graph((1, 4, 5, 48), (9, 1, 1, 16), group=3),
    "groups, part of a step": integer_conv_graph((1, 7, 9, 24), (12, 3, 3, 4), pad=SAME, group=6, stride=(2, 2)),
    "groups, dilated columns": integer_conv_graph((1, 6, 9, 32), (6, 3, 3, 16), dilation=(1, 2), group=2),
    "groups in place": integer_conv_graph((1, 6, 9, 32), (6, 3, 1, 16), group=2),
    "depthwise, two of a channel": integer_conv_graph((1, 5, 5, 8), (16, 3, 3, 1), pad=SAME, group=8),
}
"""As cores read them that multiply sixteen activations at a time."""
SUMS = {
    "sum over positions": sum_graph((2, 5, 7, 24), (1, 2), True),
    "sum over as many positions as halfwords hold": sum_graph((1, 16, 16, 8), (1, 2), False),
}
EVERY = GRAPHS | GROUPS | SUMS
by_graph = pytest.mark.parametrize("graph", EVERY.values(), ids=EVERY.keys())
Route = Callable[[Program, Machine, dict[str, np.ndarray], Path], np.ndarray]


def by_jit(program: Program, machine: Machine, inputs: dict[str, np.ndarray], folder: Path) -> np.ndarray:
    return JitModel(program, machine).run(inputs)["y"]


def by_c(program: Program, machine: Machine, inputs: dict[str, np.ndarray], folder: Path) -> np.ndarray:
    return run_artifact(program, machine, Emit.C, folder, [inputs])[0]["y"]


def by_objects(program: Program, machine: Machine, inputs: dict[str, np.ndarray], folder: Path) -> np.ndarray:
    return run_artifact(program, machine, Emit.OBJECT, folder, [inputs])[0]["y"]


BLOCKS_FIRST = tuple(row if row.block else replace(row, cost=lambda _: inf) for row in generators.GENERATORS)
"""What makes blocks of small layers, too, for which code of compilers may be cheaper."""


def choosing(name: str) -> AbstractContextManager[object]:
    """The generator of that name wherever it applies, even if it takes longer."""
    rows = tuple(row if row.name == name else replace(row, cost=lambda _: inf) for row in generators.GENERATORS)
    return patch(f"{__name__}.BLOCKS_FIRST", rows)


def fast(machine: Machine) -> Machine:
    """As ``--optimize speed`` takes it."""
    return replace(machine, cpu=replace(machine.cpu, spends_memory=True))


def assert_exact(graph: Graph, machine: Machine, route: Route, folder: Path) -> None:
    inputs = random_inputs(graph)
    with patch.object(generators, "GENERATORS", BLOCKS_FIRST):
        program = lower_graph(graph, machine)
    assert any(isinstance(stmt, Invoke) for kernel in program.kernels for stmt in walk_stmts(kernel.body))
    output = graph.outputs[0].name
    expected = evaluate_graph(graph, inputs)[output]
    assert len(np.unique(expected)) > 5, "the case must not saturate everywhere"
    named = replace(program, outputs=tuple(replace(item, name="y", c_name="y") for item in program.outputs))
    np.testing.assert_array_equal(route(named, machine, inputs, folder), expected)


@by_graph
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_jit, tmp_path)


@pytest.mark.check
@needs("gcc")
@by_graph
def test_portable_c(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_graph
def test_emulated_cortex_m4(graph: Graph, route: Route, tmp_path: Path) -> None:
    assert_exact(graph, M4, route, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores(core: str, tmp_path: Path) -> None:
    assert_exact(GRAPHS["3x3, odd rows"], select(core), by_c, tmp_path)


def test_activations_need_no_halo_and_little_scratch() -> None:
    """Four pixels of int16 are staged at a time; the accumulators stay in registers. What pixels see at the end of a
    row is five elements between borders."""
    program = lower_graph(GRAPHS["3x3"], M4)
    arena = [buffer.nbytes for buffer in program.buffers.values() if buffer.storage is Storage.ARENA]
    assert sorted(arena) == [(1 + 5 + 1) * 16, 4 * 2 * 9 * 16]


@pytest.mark.parametrize("name", GATHERED)
def test_small_groups_are_gathered(name: str) -> None:
    """Which takes less memory than the operand."""
    graph = GATHERED[name]
    program = lower_graph(graph, M4)
    (kernel,) = program.kernels
    (part,) = (each for each in kernel.params if each.name.startswith("part"))
    assert 4 * prod(part.shape) <= graph.inputs[0].type.size
    called = {stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}
    assert "line" in name or called & {"im2col_x4_rows", "im2col_x4_three"}


def test_ends_of_rows_are_tiles() -> None:
    """Of six pixels of a row two are left, of two rows one tile: rows are staged together, and no pixel is alone."""
    (kernel,) = lower_graph(GRAPHS["ends of two rows"], M4).kernels
    called = {stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}
    assert {"im2col_x4_three", "im2col_x4_pixel"} <= called
    assert not any(name.startswith("gemm_packed_2x1") for name in called)


def test_groups_of_one_pixel_take_the_place_of_their_operand() -> None:
    """Four pixels of a group are copied before results are where they were: sixteen channels as four groups of four,
    each eight words."""
    graph = integer_conv_graph((1, 4, 8, 64), (64, 1, 1, 16), group=4, rounded=True)
    assert lower_graph(graph, M4).plan.ram == 4 * 8 * 64 + 4 * 8 * 4


@pytest.mark.parametrize(("least", "block"), [(97, "depthwise_window_bytes_9"), (96, "depthwise_window_bytes")])
def test_nine_taps_have_a_block_unless_pixels_are_far_apart(least: int, block: str) -> None:
    """Windows are 96 bytes apart."""
    graph = integer_conv_graph((1, 5, 7, 8), (8, 3, 3, 1), group=8, stride=(2, 2), rounded=True)
    with patch("ccml.schedule.dsp.depthwise_windows.FAR", least):
        (kernel,) = lower_graph(graph, M4).kernels
    called = {stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}
    assert called == {"depthwise_stage_row", block}


@pytest.mark.parametrize(("shape", "taken"), [((1, 16, 16, 8), True), ((1, 257, 1, 8), False), ((1, 5, 5, 12), False)])
def test_sums_over_positions_have_a_block_where_they_are_halfwords(shape: tuple[int, ...], taken: bool) -> None:
    """Of eight channels each."""
    (kernel,) = lower_graph(sum_graph(shape, (1, 2), True), M4).kernels
    called = {stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}
    assert called == ({"channel_sums"} if taken else set())
