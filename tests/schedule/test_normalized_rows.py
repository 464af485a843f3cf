"""Normalization of rows of bytes: the bytes of the operators' meaning on every way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
from ccml.ir.graph import Graph
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.fuse import fuse
from ccml.passes.integerize import integerize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.integerize.building import Qdq
from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process, signed

M0, M4, M55 = (select(f"cortex-{core}") for core in ("m0plus", "m4", "m55"))


def normalization(
    op: str, shape: tuple[int, ...], axes: tuple[int, ...], *, scaled: bool, step: float = 0.04
) -> Graph:
    """``scaled``: with a factor and a shift for each element of the last dimension."""
    q, rng = Qdq(), np.random.default_rng(3)
    y = q.op(op, q.input(shape, 0.05), axes=axes, epsilon=1e-5)
    if scaled:
        y = q.op("mul", y, q.constant(rng.normal(1, 0.5, shape[-1])))
        y = q.op("add", y, q.constant(rng.normal(0, 1, shape[-1])))
    return fuse(integerize(q.graph(q.quantize(y, step, 3, DType.I8))))


GRAPHS = {
    "layer": normalization("normalize", (6, 39), (1,), scaled=True),
    "layer, two dimensions": normalization("normalize", (3, 4, 18), (1, 2), scaled=True),
    "root mean square": normalization("rms_normalize", (4, 64), (1,), scaled=True),
    "fewer than four": normalization("normalize", (5, 3), (1,), scaled=True),
    "fine steps": normalization("normalize", (4, 39), (1,), scaled=True, step=0.002),
    "one scale": normalization("normalize", (4, 50), (1,), scaled=False),
    "columns": normalization("normalize", (20, 5), (0,), scaled=False),
}


def blocks(graph: Graph, machine: Machine) -> set[str]:
    kernels = lower_graph(graph, machine).kernels
    return {stmt.block for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}


def test_what_is_done_by_blocks() -> None:
    """Sums of neighbours, on cores that take several bytes at a time; elements where nothing but a factor and a bias
    follows of which the upper halfword of a sum is the result."""
    scaled = GRAPHS.keys() - {"columns", "one scale", "fine steps"}
    for name in GRAPHS:
        added_up = set() if name == "columns" else {"byte_sums"}
        assert blocks(GRAPHS[name], M4) == added_up | ({"normalize_row"} if name in scaled else set()), name
        pairs = {"helium_normalize_rows"} if name in scaled else set()
        odd = {"helium_normalize_row"} if name in {"layer, two dimensions", "fewer than four"} else set()
        assert blocks(GRAPHS[name], M55) == added_up | pairs | odd, name
    assert all(blocks(graph, M0) == set() for graph in GRAPHS.values())


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, host_machine(), in_process, id=f"{name}, here") for name in GRAPHS),
        *(
            pytest.param(name, machine, route, id=f"{name}, {machine.target.name} {route.__name__}", marks=BOARD)
            for name, machine, route in (
                ("layer", M0, by_objects), ("layer", M4, by_c), ("root mean square", M4, by_objects),
                ("one scale", M4, by_c), ("layer, two dimensions", M4, by_c), ("layer", M4, by_objects),
                ("fewer than four", M4, by_c), ("fine steps", M4, by_c), ("layer", M55, by_c),
                ("layer, two dimensions", M55, by_objects), ("root mean square", M55, by_c),
                ("fewer than four", M55, by_c), ("fine steps", M55, by_objects),
            )
        ),
    ],
)  # fmt: skip
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    """Rows of any bytes, of equal ones, with one a step off, and of two neighbours."""
    graph = GRAPHS[name]
    x = signed(*graph.inputs[0].shape)
    x[1], x[2] = 5, 7
    x[2, ..., -1] = 8
    x[-1] = np.where(x[-1] > 0, -127, -128)
    feeds = {graph.inputs[0].name: x}
    found, wanted = route(lower_graph(graph, machine), machine, feeds, tmp_path), evaluate_graph(graph, feeds)
    np.testing.assert_array_equal(found[graph.outputs[0].name], wanted[graph.outputs[0].name])
