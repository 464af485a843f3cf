"""Convolutions by Winograd's algorithm: matrices, code of transforms, results against float64, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.instructions import INSTRUCTIONS
from ccml.ir.build import store
from ccml.ir.graph import Graph
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import F32, Access, Block, Buffer, Call, Expr, Kernel
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr
from ccml.ir.program import Program
from ccml.ir.steps import walk_calls
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import exact_machine, lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.schedule import winograd
from ccml.schedule.constant_matrices import ConstantMatrix
from ccml.schedule.names import Names
from ccml.schedule.winograd_choice import choose_tiling
from ccml.schedule.winograd_matrices import ALL, TAPS, Filtering
from ccml.targets import Machine, select
from pytest import MonkeyPatch

from tests.schedule.graphs import conv_graph, random_inputs

PAD = (1, 1, 1, 1)


def levels() -> list[Machine]:
    """Every x86 level that this machine has, but for those with other products of bytes, or this machine."""
    native = host_machine()
    if native.name != "x86":
        return [native]
    known = sorted(
        (cpu for cpu in native.abi.cpus if set(cpu.requires) <= set(native.cpu.requires)), key=lambda cpu: cpu.name
    )
    return [replace(native, cpu=cpu) for cpu in known if not cpu.name.endswith(("vnni", "amx"))]


def generators_of(program: Program) -> list[str]:
    return [call.generator for call in walk_calls(program.body) if call.macs]


# ---------------------------------------------------------------- matrices


@pytest.mark.parametrize("filtering", ALL.values(), ids=lambda each: f"F({each.outputs},{TAPS})")
def test_the_matrices_correlate(filtering: Filtering) -> None:
    rng = np.random.default_rng(1)
    d, g = rng.standard_normal(filtering.inputs), rng.standard_normal(TAPS)
    y = filtering.output @ ((filtering.filter @ g) * (filtering.input @ d))
    np.testing.assert_allclose(y, np.correlate(d, g, "valid"), atol=1e-6)


def test_filters_are_transformed_in_float64() -> None:
    filtering = ALL[4]
    weights = np.random.default_rng(2).standard_normal((5, TAPS, TAPS, 7)).astype(np.float32)
    g = filtering.filter
    expected = g @ weights[3, :, :, 6].astype(np.float64) @ g.T
    np.testing.assert_allclose(filtering.filters(weights)[:, :, 6, 3], expected, rtol=1e-15, atol=1e-16)


def transform(matrix: np.ndarray, rows: int, fused: bool) -> tuple[Kernel, int]:
    """The kernel ``y = M x M^T`` and the operations of its code."""
    height, width = matrix.shape
    x = Buffer("x", F32, (width, width), access=Access.READ)
    y = Buffer("y", F32, (height, height), access=Access.WRITE)
    code, names = ConstantMatrix(matrix, fused), Names(["x", "y"])

    def at(i: int, j: int) -> Expr:
        return x[i, j]

    def use(i: int, j: int, value: Expr) -> Block:
        return (store(y[i, j], value),)

    body = tuple(stmt for group in code.groups(rows) for stmt in code.both_sides(group, at, use, names))
    parts = [part for stmt in body for expr in stmt_exprs(stmt) for part in walk_expr(expr)]
    operations = sum(part.type == F32 and (isinstance(part, Call) or hasattr(part, "op")) for part in parts)
    return Kernel("transform", (x, y), body), operations


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 6])
@pytest.mark.parametrize("outputs", ALL)
def test_code_of_transforms(outputs: int, rows: int, fused: bool) -> None:
    for matrix in (ALL[outputs].input, ALL[outputs].output):
        kernel, _ = transform(matrix, rows, fused)
        x = np.random.default_rng(3).standard_normal((matrix.shape[1],) * 2).astype(np.float32)
        y = np.zeros((matrix.shape[0],) * 2, np.float32)
        run_kernel(kernel, {"x": x, "y": y}, instructions=INSTRUCTIONS)
        np.testing.assert_allclose(y, matrix @ x @ matrix.T, rtol=1e-5, atol=1e-5)


def test_rows_share_operations() -> None:
    # Lavin and Gray count 32 and 24 additions for F(2x2, 3x3). For F(4x4, 3x3): 12 for each of 12 columns and rows.
    assert transform(ALL[2].input, 4, fused=True)[1] == 32
    assert transform(ALL[2].output, 4, fused=True)[1] == 24
    assert transform(ALL[4].input, 6, fused=True)[1] == 12 * 12
    assert transform(ALL[4].output, 4, fused=True)[1] <= 10 * 14


# ---------------------------------------------------------------- results

CONVS = {
    "whole tiles": conv_graph((1, 8, 8, 16), (16, TAPS, TAPS, 16), pad=PAD),
    "odd sizes, residual": conv_graph((1, 7, 9, 20), (37, TAPS, TAPS, 20), pad=PAD, epilogue=["add", "relu"]),
    "batch, no padding": conv_graph((3, 11, 6, 8), (24, TAPS, TAPS, 8), epilogue=["relu"]),
    "smaller than a tile": conv_graph((2, 1, 2, 32), (32, TAPS, TAPS, 32), pad=PAD, bias=False),
    "one row": conv_graph((1, 1, 19, 5), (10, TAPS, TAPS, 5), pad=PAD),
    "wide, uneven padding": conv_graph((1, 5, 6, 12), (18, TAPS, TAPS, 12), pad=(2, 0, 3, 1), epilogue=["sigmoid"]),
    "one channel": conv_graph((1, 9, 9, 1), (3, TAPS, TAPS, 1), pad=PAD),
    "many tiles and channels": conv_graph((1, 22, 26, 9), (70, TAPS, TAPS, 9), pad=PAD),
}


def prefer_tiles(wanted: int, monkeypatch: MonkeyPatch) -> None:
    """Of that many outputs along each dimension, whatever they cost."""
    monkeypatch.setattr(winograd, "relative_cost", lambda cpu, dtype, depth, out, size: 0.1 if size == wanted else 9)


@pytest.fixture(params=ALL, ids=lambda outputs: f"F({outputs}x{outputs})")
def outputs(request: pytest.FixtureRequest, monkeypatch: MonkeyPatch) -> int:
    """Tiles of that many outputs along each dimension."""
    prefer_tiles(int(request.param), monkeypatch)
    return int(request.param)


@pytest.mark.parametrize("machine", levels(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", CONVS)
def test_convolution(name: str, machine: Machine, outputs: int) -> None:
    graph = CONVS[name]
    program = lower_graph(graph, machine)
    assert generators_of(program) == [f"winograd F({outputs}x{outputs},3x3)"]
    inputs, result = random_inputs(graph), graph.outputs[0].name
    expected = evaluate_graph(graph, inputs)[result]
    actual = JitModel(program, machine).run(inputs)[result]
    assert np.linalg.norm(actual - expected) < 2e-6 * np.linalg.norm(expected)


def windows(x: np.ndarray, size: int) -> np.ndarray:
    """[n, h, w, c, size, size] of the last rows and columns that begin at every pixel."""
    view: np.ndarray = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))
    return view


@pytest.mark.parametrize("scale", ["alike", "different"])
@pytest.mark.parametrize("channels", [1, 16, 192])
def test_no_error_exceeds_the_bound(outputs: int, channels: int, scale: str) -> None:
    """Against sums in float64, where channels and pixels are alike and where they differ by orders of magnitude."""
    graph = conv_graph((1, 18, 18, channels), (16, TAPS, TAPS, channels), bias=False)
    weights, rng = graph.constants["w"].astype(np.float64), np.random.default_rng(4)
    x = rng.standard_normal((1, 18, 18, channels)).astype(np.float32)
    if scale == "different":
        x *= np.exp2(rng.integers(-20, 20, x.shape)).astype(np.float32)
    machine = host_machine()
    (actual,) = JitModel(lower_graph(graph, machine), machine).run({"x": x}).values()
    exact = np.einsum("nhwcij,oijc->nhwo", windows(x.astype(np.float64), TAPS), weights)
    filtering = ALL[outputs]
    tiles = np.abs(windows(x, filtering.inputs)[:, ::outputs, ::outputs]).max(axis=(-2, -1))
    sums = np.abs(weights).sum(axis=(1, 2))
    most = np.einsum("nhwc,oc->nhwo", tiles.astype(np.float64), sums).repeat(outputs, 1).repeat(outputs, 2)
    assert np.all(np.abs(actual - exact) <= filtering.error_bound(channels) * most)


def test_errors_of_random_convolutions_are_small(outputs: int) -> None:
    """In proportion to the sums of absolute values, they are like those of float32 sums of products."""
    graph, machine = conv_graph((1, 18, 18, 256), (16, TAPS, TAPS, 256), bias=False), host_machine()
    weights, inputs = graph.constants["w"].astype(np.float64), random_inputs(graph)
    (actual,) = JitModel(lower_graph(graph, machine), machine).run(inputs).values()
    x = windows(inputs["x"].astype(np.float64), TAPS)
    exact, absolute = (np.einsum("nhwcij,oijc->nhwo", f(x), f(weights)) for f in (np.asarray, np.abs))
    assert np.all(np.abs(actual - exact) <= 1e-6 * absolute)


# ---------------------------------------------------------------- choice


def chosen(graph: Graph, machine: Machine, goal: Goal | None = None) -> list[str]:
    return generators_of(lower_graph(graph, machine, goal or Goal()))


def layer(x: Sequence[int], w: Sequence[int], **attributes: Sequence[int]) -> Graph:
    return conv_graph(x, w, **attributes)  # type: ignore[arg-type]


COMMON = layer((1, 56, 56, 64), (64, 3, 3, 64), pad=PAD)


@pytest.mark.parametrize("machine", [select("x86"), select("linux-arm64")], ids=lambda m: m.name)
def test_it_is_chosen_where_it_saves_time(machine: Machine) -> None:
    assert chosen(COMMON, machine) == ["winograd F(4x4,3x3)"]
    assert chosen(layer((1, 8, 8, 64), (64, 3, 3, 64), pad=PAD), machine) != ["contraction"]
    # With few channels, transforms would take more than the products.
    assert chosen(layer((1, 32, 32, 1), (4, 3, 3, 1), pad=PAD), machine) == ["contraction"]


def test_weights_that_no_second_cache_keeps_are_read_once() -> None:
    """Four megabytes of them; the tiles of a row alone would read them seven times."""
    cpu = select("x86", cpu="x86-64-v4").cpu
    assert choose_tiling(cpu, DType.F32, 256, (1, 14, 14, 256), 2).block == (1, 7, 7)


def test_what_is_as_fast_as_its_weights_are_read_has_no_more_of_them() -> None:
    machine = select("x86")
    assert chosen(layer((1, 14, 14, 256), (256, 3, 3, 256), pad=PAD), machine) == ["winograd F(2x2,3x3)"]
    assert chosen(layer((1, 7, 7, 512), (512, 3, 3, 512), pad=PAD), machine) == ["contraction"]


OTHERS = {
    "stride": layer((1, 57, 57, 64), (64, 3, 3, 64), stride=(2, 2)),
    "dilation": layer((1, 32, 32, 64), (64, 3, 3, 64), dilation=(2, 2)),
    "kernel": layer((1, 32, 32, 64), (64, 5, 5, 64)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_convolutions_are_contractions(name: str) -> None:
    assert chosen(OTHERS[name], select("x86")) == ["contraction"]


@pytest.mark.parametrize("target", ["cortex-m7", "cortex-m55", "wasm32", "riscv32", "generic"])
def test_targets_that_do_without(target: str) -> None:
    graph = layer((1, 16, 16, 16), (16, 3, 3, 16), pad=PAD)
    assert not any("winograd" in name for name in chosen(graph, select(target)))


@pytest.mark.parametrize("goal", [Goal(Optimize.RAM), Goal(Optimize.SIZE), Goal(max_ram=1 << 24)], ids=str)
def test_memory_that_is_to_be_saved_is_not_spent(goal: Goal) -> None:
    assert chosen(COMMON, select("x86"), goal) == ["contraction"]


def test_exact_sums() -> None:
    assert chosen(COMMON, exact_machine(select("x86"))) == ["contraction"]
