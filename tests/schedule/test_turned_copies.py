"""Copies that store along one dimension what they load along another: the elements, whatever the permutation, the
extents and the machine; and vectors, where there are any."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.loops import Kernel, Load, Shuffle
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.machines import ARM64_LINUX, GENERIC, V2, V3, runs_here
from tests.schedule.block_cases import Route, by_c, by_objects, in_process
from tests.schedule.graphs import random_inputs
from tests.tools import needs

V4 = select("x86", cpu="x86-64-v4")
M4 = select("cortex-m4")

SHAPES = [(16, 16), (33, 17), (4, 4), (5, 3), (3, 35, 7), (2, 19, 16), (4, 1, 50)]
FOUR = [((2, 3, 4, 5), perm) for perm in ((0, 2, 3, 1), (3, 1, 0, 2), (1, 3, 2, 0))]


def transposed(cases: list[tuple[tuple[int, ...], tuple[int, ...]]], dtype: DType, *, sums: bool = False) -> Graph:
    """An input, its transpose and an output for each shape and permutation; with ``sums`` a tensor is added that lies
    as the output does, and the sum of both is negated."""
    builder = GraphBuilder(infer_types, NameSupply([f"{name}{n}" for name in "xz" for n in range(len(cases))]))
    inputs, outputs = [], []
    for number, (shape, perm) in enumerate(cases):
        inputs.append(Value(f"x{number}", TensorType(dtype, shape)))
        y = builder.emit1("transpose", inputs[-1], perm=perm)
        if sums:
            inputs.append(Value(f"z{number}", TensorType(dtype, y.shape)))
            y = builder.emit1("neg", builder.emit1("add", y, inputs[-1]))
        outputs.append(y)
    return fuse(Graph("g", tuple(inputs), tuple(outputs), tuple(builder.nodes), builder.constants))


def all_permutations(shapes: list[tuple[int, ...]]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Those that leave the last dimension in its place are copied in rows."""
    found = [(shape, perm) for shape in shapes for perm in permutations(range(len(shape)))]
    return [(shape, perm) for shape, perm in found if perm[-1] != len(shape) - 1]


GRAPHS = {
    "floats": transposed([*all_permutations(SHAPES), *FOUR], DType.F32),
    "sums": transposed(all_permutations(SHAPES[1:5]), DType.F32, sums=True),
    "words": transposed(all_permutations([(3, 37), (18, 33)]), DType.I32),
    "halfwords": transposed(all_permutations([(3, 37), (18, 33)]), DType.I16),
    "bytes": transposed([*all_permutations([(3, 37), (2, 50), (18, 33), (35, 21)]), *FOUR], DType.I8),
    "unsigned": transposed(all_permutations([(4, 37), (33, 16)]), DType.U8),
}


def parts(kernel: Kernel, kind: type) -> list:
    expressions = (expr for stmt in walk_stmts(kernel.body) for expr in stmt_exprs(stmt))
    return [part for expr in expressions for part in walk_expr(expr) if isinstance(part, kind)]


@pytest.mark.parametrize(
    ("shape", "perm"), [((16, 32), (1, 0)), ((2, 48), (1, 0)), ((3, 7, 64), (1, 2, 0)), ((1, 16, 4, 16), (0, 2, 3, 1))]
)
@pytest.mark.parametrize("machine", [V4, V3, V2, ARM64_LINUX], ids=["v4", "v3", "v2", "arm64"])
def test_nothing_goes_one_by_one_where_extents_are_whole(
    shape: tuple[int, ...], perm: tuple[int, ...], machine: Machine
) -> None:
    (kernel,) = lower_graph(transposed([(shape, perm)], DType.F32), machine).kernels
    assert all(load.lanes > 1 for load in parts(kernel, Load)) and parts(kernel, Shuffle)


@pytest.mark.parametrize("machine", [V4, V3, V2, ARM64_LINUX], ids=["v4", "v3", "v2", "arm64"])
@pytest.mark.parametrize("colours", [2, 3, 4])
def test_colours_of_bytes_are_interleaved_by_sixteen(colours: int, machine: Machine) -> None:
    (kernel,) = lower_graph(transposed([((1, colours, 6, 16), (0, 2, 3, 1))], DType.U8), machine).kernels
    assert {load.lanes for load in parts(kernel, Load)} == {16} and parts(kernel, Shuffle)


@pytest.mark.parametrize("machine", [GENERIC, M4], ids=["generic", "m4"])
def test_machines_without_vectors_have_no_shuffles(machine: Machine) -> None:
    assert not any(parts(kernel, Shuffle) for kernel in lower_graph(GRAPHS["floats"], machine).kernels)


def test_a_square_takes_as_many_shuffles_as_stages_and_vectors() -> None:
    (kernel,) = lower_graph(transposed([((16, 16), (1, 0))], DType.F32), V4).kernels
    assert (len(parts(kernel, Shuffle)), len(parts(kernel, Load))) == (4 * 16, 16)


@pytest.mark.parametrize(
    ("machine", "route"),
    [
        pytest.param(machine, route, id=f"{level} {route.__name__}", marks=[needs("gcc"), runs_here(machine)])
        for level, machine in {"v4": V4, "v3": V3, "v2": V2}.items()
        for route in (in_process, by_c)
    ]
    + [
        pytest.param(
            ARM64_LINUX, route, id=f"arm64 {route.__name__}", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
        )
        for route in (by_c, by_objects)
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", GRAPHS)
def test_elements(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    feeds = random_inputs(graph)
    found, wanted = route(lower_graph(graph, machine), machine, feeds, tmp_path), evaluate_graph(graph, feeds)
    for y in graph.outputs:
        np.testing.assert_array_equal(found[y.name], wanted[y.name])


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_beyond_integers_are_added_to_what_is_turned(number: float) -> None:
    """What is loaded is a float, whatever is looked for in the places of a copy."""
    x = Value("x", TensorType(DType.F32, (2, 3, 32)))
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    y = builder.emit1("transpose", x, perm=(2, 0, 1))
    y = builder.emit1("add", y, builder.constant(np.float32(number), "number"))
    graph = fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))
    inputs = random_inputs(graph)
    found = JitModel(lower_graph(graph, host_machine()), host_machine()).run(inputs)[graph.outputs[0].name]
    np.testing.assert_array_equal(found, evaluate_graph(graph, inputs)[graph.outputs[0].name])
