"""Tables looked up by vectors: the elements of the table, whatever its type, the type of the index and the extent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.loops import Call, Kernel
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.machines import GENERIC, NATIVE, V2, V3, runs_here
from tests.schedule.block_cases import Route, by_c, in_process
from tests.tools import needs

V4 = select("x86", cpu="x86-64-v4")


def table_of(dtype: DType) -> np.ndarray:
    """All entries differ where the type has so many values, and the ends of its range are there."""
    info = np.iinfo(dtype.numpy)
    return np.random.default_rng(dtype.size).permutation(np.linspace(info.min, info.max, 256).astype(dtype.numpy))


def lookup(x_type: DType, dtype: DType, shape: tuple[int, ...]) -> Graph:
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    x = Value("x", TensorType(x_type, shape))
    table = builder.constant(table_of(dtype))
    y = builder.emit1("lookup", x, table, zero_point=0, y_scale=0.1)
    return fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))


GRAPHS = {
    "bytes": lookup(DType.U8, DType.U8, (3, 5, 33)),
    "signed bytes": lookup(DType.I8, DType.I8, (2, 47)),
    "halfwords": lookup(DType.U8, DType.I16, (40,)),
    "words": lookup(DType.I8, DType.I32, (19,)),
    "a few": lookup(DType.U8, DType.I8, (7,)),
    "one": lookup(DType.U8, DType.U8, (1,)),
    "none": lookup(DType.U8, DType.U8, (0, 16)),
}


def picks(kernel: Kernel) -> bool:
    parts = (part for stmt in walk_stmts(kernel.body) for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return any(isinstance(part, Call) and part.function == "pick_words" for part in parts)


@pytest.mark.parametrize("name", ["bytes", "signed bytes", "halfwords", "words"])
def test_vectors_pick_words_where_there_is_an_instruction(name: str) -> None:
    """The rest of a row goes one by one."""
    made = [any(map(picks, lower_graph(GRAPHS[name], machine).kernels)) for machine in (V4, V3, V2, GENERIC)]
    assert made == [True, False, False, False]


@pytest.mark.parametrize(
    ("machine", "route"),
    [
        pytest.param(machine, route, id=f"{level} {route.__name__}", marks=[needs("gcc"), runs_here(machine)])
        for level, machine in {"v4": V4, "v3": V3, "here": NATIVE}.items()
        for route in (in_process, by_c)
    ],
)
def test_elements(machine: Machine, route: Route, tmp_path: Path) -> None:
    """For all bytes there are."""
    for number, graph in enumerate(GRAPHS.values()):
        (x,), (y,) = graph.inputs, graph.outputs
        size = int(np.prod(x.shape))
        feeds = {"x": np.arange(size).astype(np.uint8).view(x.dtype.numpy).reshape(x.shape)}
        found = route(lower_graph(graph, machine), machine, feeds, tmp_path / str(number))
        np.testing.assert_array_equal(found[y.name], evaluate_graph(graph, feeds)[y.name])
