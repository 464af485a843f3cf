"""Sums and products that need 64 bits, with 16-bit operands: vectors of such integers, and the same bits everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.loops import Kernel
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.fuse import fuse
from ccml.passes.integerize import integerize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.machines import NATIVE, V2, V3, runs_here
from tests.integerize.building import Qdq
from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process
from tests.tools import needs

V4 = select("x86", cpu="x86-64-v4")
ARM64 = select("linux-arm64")
M4, M55 = select("cortex-m4"), select("cortex-m55")


def two_tensors(op: str, narrow: DType, count: int) -> Graph:
    """Of 16 bits and of ``narrow``: the sum's bounds saturate."""
    q = Qdq()
    x, other = q.input((2, count), 0.000713, 0, DType.I16, "x"), q.input((2, count), 0.21, 3, narrow, "other")
    y = q.quantize(q.op(op, x, other), 0.0007, 0, DType.I16)
    return q.graph(y)


def rows(op: str, count: int) -> Graph:
    q = Qdq()
    y = q.op(op, q.input((3, count), 0.0007, 0, DType.I16), axes=(1,), epsilon=1e-5)
    return q.graph(q.quantize(y, 0.03, 120, DType.U8))


FLOATS = {
    "sum with bytes": two_tensors("add", DType.I8, 45),
    "sum with halfwords": two_tensors("add", DType.I16, 16),
    "product with bytes": two_tensors("mul", DType.U8, 31),
    "product with halfwords": two_tensors("mul", DType.I16, 7),
    "one element": two_tensors("add", DType.I8, 1),
    "normalized rows": rows("normalize", 45),
    "rows by their root mean square": rows("rms_normalize", 33),
}
GRAPHS = {name: fuse(integerize(graph)) for name, graph in FLOATS.items()}


FEW = ["sum with bytes", "product with bytes", "normalized rows"]


def inputs(graph: Graph) -> dict[str, np.ndarray]:
    """Random integers, and in the first rows the ends of the ranges only."""
    found = {}
    for number, value in enumerate(graph.inputs):
        rng, info = np.random.default_rng(number), np.iinfo(value.dtype.numpy)
        array = rng.integers(info.min, info.max, value.shape, value.dtype.numpy, endpoint=True)
        array[0] = rng.choice(np.array([info.min, info.max], array.dtype), value.shape[1:])
        found[value.name] = array
    return found


def long_vectors(kernel: Kernel) -> bool:
    exprs = (part for stmt in walk_stmts(kernel.body) for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return any(expr.type.dtype in (DType.I64, DType.U64) and expr.type.lanes > 1 for expr in exprs)


@pytest.mark.parametrize("name", FEW)
def test_machines_with_such_vectors_use_them(name: str) -> None:
    def use(machine: Machine) -> bool:
        return any(map(long_vectors, lower_graph(GRAPHS[name], machine).kernels))

    assert all(map(use, (V2, V3, V4, ARM64)))
    assert not any(map(use, (M4, M55)))


ROUTES = [
    *(
        pytest.param(machine, route, id=f"{machine.cpu.name} {route.__name__}",
            marks=[runs_here(machine), needs("gcc")])
        for machine, route in (
            (V2, in_process), (V3, in_process), (V4, in_process), (NATIVE, in_process), (V2, by_c), (V3, by_c),
            (V4, by_c),
        )
    ),
    *(
        pytest.param(ARM64, route, id=f"arm64 {route.__name__}", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64"))
        for route in (by_c, by_objects)
    ),
    *(pytest.param(core, by_objects, id=core.target.name, marks=BOARD) for core in (M4, M55)),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "route"), ROUTES)
def test_bits(machine: Machine, route: Route, tmp_path: Path) -> None:
    names = list(GRAPHS) if route is in_process else FEW
    for name in names:
        graph = GRAPHS[name]
        feeds = inputs(graph)
        found = route(lower_graph(graph, machine), machine, feeds, tmp_path / str(names.index(name)))
        (y,) = graph.outputs
        np.testing.assert_array_equal(found[y.name], evaluate_graph(graph, feeds)[y.name], name)
