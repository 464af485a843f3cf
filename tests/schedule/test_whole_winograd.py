"""Winograd's algorithm in whole numbers on CPUs with vectors: bytes equal those of the direct convolution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel
from ccml.instructions import INSTRUCTIONS
from ccml.ir.build import store
from ccml.ir.graph import Graph
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import I32, Access, Block, Buffer, Expr, Kernel
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import exact_machine, lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.schedule.constant_matrices import ConstantMatrix
from ccml.schedule.names import Names
from ccml.schedule.winograd_matrices import TAPS, WHOLE
from ccml.targets import Machine, select
from pytest import MonkeyPatch

from tests.artifacts.built import run_artifact
from tests.schedule.graphs import integer_conv_graph, random_inputs
from tests.schedule.test_winograd import PAD, generators_of, levels, prefer_tiles
from tests.tools import needs

LEVELS = [machine for machine in levels() if "dot4_u8i8" not in machine.cpu.features]
"""Those that multiply bytes as halfwords, of which products are saved."""

RNG = np.random.default_rng(6)
LIMITS = {DType.I8: (-128, 127), DType.U8: (0, 255)}


@pytest.mark.parametrize("outputs", WHOLE)
def test_multiples_of_correlations(outputs: int) -> None:
    filtering = WHOLE[outputs]
    d, g = RNG.integers(0, 256, (filtering.inputs,) * 2), RNG.integers(-128, 128, (TAPS, TAPS))
    v, u = filtering.input @ d @ filtering.input.T, filtering.filter @ g @ filtering.filter.T
    windows = np.lib.stride_tricks.sliding_window_view(d, (TAPS, TAPS))
    expected = filtering.multiple * np.einsum("pqij,ij->pq", windows, g)
    np.testing.assert_array_equal(filtering.output @ (u * v) @ filtering.output.T, expected)


def reach(matrix: np.ndarray, low: int, high: int) -> float:
    """The greatest magnitude in ``M X M^T`` for elements of X between the limits."""
    factors = np.einsum("ia,jb->ijab", matrix, matrix)
    most = np.where(factors > 0, factors * high, factors * low).sum(axis=(2, 3))
    least = np.where(factors > 0, factors * low, factors * high).sum(axis=(2, 3))
    return float(max(most.max(), -least.min()))


@pytest.mark.parametrize("outputs", WHOLE)
def test_what_is_multiplied_fits_halfwords(outputs: int) -> None:
    filtering = WHOLE[outputs]
    assert reach(filtering.filter, -128, 127) < 1 << 15
    assert all(reach(filtering.input, *limits) < 1 << 15 for limits in LIMITS.values())


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("outputs", WHOLE)
def test_code_of_transforms_has_whole_factors(outputs: int, rows: int) -> None:
    for matrix in (WHOLE[outputs].input, WHOLE[outputs].output):
        height, width = matrix.shape
        x = Buffer("x", I32, (width, width), access=Access.READ)
        y = Buffer("y", I32, (height, height), access=Access.WRITE)
        code, names = ConstantMatrix(matrix, fused=False), Names(["x", "y"])

        def at(i: int, j: int, x: Buffer = x) -> Expr:
            return x[i, j]

        def use(i: int, j: int, value: Expr, y: Buffer = y) -> Block:
            return (store(y[i, j], value),)

        body = tuple(stmt for group in code.groups(rows) for stmt in code.both_sides(group, at, use, names))
        values, result = RNG.integers(-999, 999, (width, width)).astype(np.int32), np.zeros((height, height), np.int32)
        run_kernel(Kernel("transform", (x, y), body), {"x": values, "y": result}, instructions=INSTRUCTIONS)
        np.testing.assert_array_equal(result, matrix @ values @ matrix.T)


# ---------------------------------------------------------------- results


@pytest.fixture(params=WHOLE, ids=lambda outputs: f"F({outputs}x{outputs})")
def outputs(request: pytest.FixtureRequest, monkeypatch: MonkeyPatch) -> int:
    """Tiles of that many outputs along each dimension."""
    prefer_tiles(int(request.param), monkeypatch)
    return int(request.param)


def ends(shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    """Either limit, by chance."""
    return np.where(RNG.integers(0, 2, shape) == 0, low, high)


CONVS = {
    "whole tiles": integer_conv_graph((1, 8, 8, 16), (16, TAPS, TAPS, 16), pad=PAD),
    "odd sizes": integer_conv_graph((1, 7, 9, 21), (37, TAPS, TAPS, 21), pad=PAD, zero_point=-7),
    "batch, no padding": integer_conv_graph((3, 11, 6, 8), (24, TAPS, TAPS, 8)),
    "smaller than a tile": integer_conv_graph((2, 1, 2, 32), (32, TAPS, TAPS, 32), pad=PAD),
    "uneven padding": integer_conv_graph((1, 5, 6, 12), (18, TAPS, TAPS, 12), pad=(2, 0, 3, 1), residual=True),
    "one channel": integer_conv_graph((1, 9, 9, 1), (3, TAPS, TAPS, 1), pad=PAD),
    "unsigned": integer_conv_graph((1, 10, 12, 40), (33, TAPS, TAPS, 40), pad=PAD, dtype=DType.U8, zero_point=131),
    "least weights": integer_conv_graph((1, 9, 8, 24), (16, TAPS, TAPS, 24), pad=PAD, least=-128, dtype=DType.U8),
}


def assert_equal(graph: Graph, machine: Machine, outputs: int, extreme: bool) -> None:
    program = lower_graph(graph, machine)
    assert generators_of(program) == [f"winograd F({outputs}x{outputs},3x3)"]
    for _ in range(3):
        inputs = {}
        for value in graph.inputs:
            low, high = LIMITS[value.dtype]
            drawn = ends(value.shape, low, high) if extreme else RNG.integers(low, high + 1, value.shape)
            inputs[value.name] = drawn.astype(value.dtype.numpy)
        expected, actual = evaluate_graph(graph, inputs), JitModel(program, machine).run(inputs)
        for name, array in actual.items():
            np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("machine", LEVELS, ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", CONVS)
def test_bytes_of_a_convolution(name: str, machine: Machine, outputs: int) -> None:
    assert_equal(CONVS[name], machine, outputs, extreme=False)


@pytest.mark.parametrize("machine", LEVELS, ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("kind", [DType.U8, DType.I8], ids=str)
def test_bytes_of_weights_and_activations_at_their_ends(kind: DType, machine: Machine, outputs: int) -> None:
    """Sums wrap around on their way to results that fit."""
    graph = integer_conv_graph((1, 8, 8, 100), (16, TAPS, TAPS, 100), pad=PAD, dtype=kind, zero_point=0, scale=1e-5)
    weights = ends(graph.constants["w"].shape, -128, 127).astype(np.int8)
    graph = replace(graph, constants={**graph.constants, "w": weights})
    assert_equal(graph, machine, outputs, extreme=True)


ARM64, ARM32 = select("linux-arm64", cpu="armv8-a"), select("android", "armeabi-v7a")
ARM = [
    pytest.param(ARM64, Emit.C, id="arm64 C", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")),
    pytest.param(ARM64, Emit.OBJECT, id="arm64 objects", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")),
    pytest.param(ARM32, Emit.C, id="arm32 C", marks=needs("arm-linux-gnueabihf-gcc", "qemu-arm")),
]


@pytest.mark.check
@pytest.mark.parametrize(("machine", "route"), ARM)
def test_bytes_on_arm(machine: Machine, route: Emit, outputs: int, tmp_path: Path) -> None:
    for number, name in enumerate(("odd sizes", "uneven padding", "unsigned")):
        graph = CONVS[name]
        program = lower_graph(graph, machine)
        assert generators_of(program) == [f"winograd F({outputs}x{outputs},3x3)"]
        inputs, (output,) = random_inputs(graph), graph.outputs
        (found,) = run_artifact(program, machine, route, tmp_path / str(number), [inputs])
        np.testing.assert_array_equal(found[output.name], evaluate_graph(graph, inputs)[output.name])


# ---------------------------------------------------------------- choice

LAYER = integer_conv_graph((1, 32, 32, 32), (32, TAPS, TAPS, 32), pad=PAD)


def test_it_is_chosen_where_bytes_are_multiplied_as_halfwords() -> None:
    for cpu in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        assert generators_of(lower_graph(LAYER, select("x86", cpu=cpu))) == ["winograd F(4x4,3x3)"]
    assert generators_of(lower_graph(LAYER, select("linux-arm64", cpu="armv8-a"))) == ["winograd F(4x4,3x3)"]
    assert generators_of(lower_graph(LAYER, select("linux-arm64", cpu="armv8.2-a-dotprod"))) == ["contraction"]
    for cpu in ("x86-64-v3-vnni", "x86-64-v4-vnni"):
        assert generators_of(lower_graph(LAYER, select("x86", cpu=cpu))) == ["contraction"]


def test_exact_floats_are_no_matter_of_integers() -> None:
    assert generators_of(lower_graph(LAYER, exact_machine(select("x86", cpu="x86-64-v3")))) == ["winograd F(4x4,3x3)"]


def test_memory_that_is_to_be_saved_is_not_spent() -> None:
    program = lower_graph(LAYER, select("x86", cpu="x86-64-v3"), Goal(Optimize.RAM))
    assert generators_of(program) == ["contraction"]


@pytest.mark.parametrize(("tile", "channels"), [(4, 115), (2, 1841)])
def test_results_leave_room_for_their_multiple(tile: int, channels: int, monkeypatch: MonkeyPatch) -> None:
    """127 * 9 * 115 * 255 is below 2^31 / 64, and with 1841 below 2^31 / 4."""
    prefer_tiles(tile, monkeypatch)
    for depth, expected in ((channels, f"winograd F({tile}x{tile},3x3)"), (channels + 1, "widened rows")):
        graph = integer_conv_graph((1, 4, 4, depth), (1, TAPS, TAPS, depth), pad=PAD)
        most = np.full((1, TAPS, TAPS, depth), 127, np.int8)
        program = lower_graph(replace(graph, constants={**graph.constants, "w": most}), select("x86", cpu="x86-64-v3"))
        assert generators_of(program) == [expected]
