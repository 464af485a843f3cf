"""Tables looked up by vectors: the elements of the table, whatever its type, the type of the index and the extent."""

from __future__ import annotations

from collections.abc import Sequence
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

from tests.artifacts.machines import ARM64_LINUX, GENERIC, NATIVE, V2, V3, runs_here
from tests.schedule.assembly import Compiled, by_gcc, by_llvm
from tests.schedule.block_cases import Route, by_c, by_objects, in_process
from tests.schedule.graphs import random_inputs
from tests.schedule.test_generators import INTEGER_CONVS
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


def lookups_of_lengths(lengths: Sequence[int]) -> Graph:
    """Bytes of either sign by tables of either, a model input for each length."""
    builder = GraphBuilder(infer_types, NameSupply([f"x{length}" for length in lengths]))
    inputs, outputs = [], []
    for place, length in enumerate(lengths):
        x_type, y_type = ((DType.U8, DType.I8)[place >> bit & 1] for bit in range(2))
        inputs.append(Value(f"x{length}", TensorType(x_type, (length,))))
        table = builder.constant(table_of(y_type))
        outputs.append(builder.emit1("lookup", inputs[-1], table, zero_point=0, y_scale=0.1))
    return fuse(Graph("g", tuple(inputs), tuple(outputs), tuple(builder.nodes), builder.constants))


def behind_a_product() -> Graph:
    """A convolution of bytes, whose result is looked up."""
    graph = INTEGER_CONVS["pointwise"]
    nodes = [part for node in graph.nodes for part in (node.attrs["body"].nodes if node.op == "fused" else (node,))]
    constants = {name: array for each in (graph, *bodies(graph)) for name, array in each.constants.items()}
    builder = GraphBuilder(infer_types, NameSupply([*constants, *(v.name for node in nodes for v in node.outputs)]))
    y = builder.emit1("lookup", nodes[-1].output, builder.constant(table_of(DType.I8)), zero_point=0, y_scale=0.1)
    return fuse(Graph("g", graph.inputs, (y,), (*nodes, *builder.nodes), {**constants, **builder.constants}))


def bodies(graph: Graph) -> list[Graph]:
    return [node.attrs["body"] for node in graph.nodes if node.op == "fused"]


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


ARM64 = [
    pytest.param(route, id=route.__name__, marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64"))
    for route in (by_c, by_objects)
]


@pytest.mark.parametrize("route", ARM64)
def test_bytes_sixteen_at_a_time(route: Route, tmp_path: Path) -> None:
    """All bytes, and lengths that are no multiples of a vector."""
    graph = lookups_of_lengths([1, 7, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 66, 67, 256, 257, 300, 259])
    feeds = {x.name: np.arange(x.shape[0]).astype(np.uint8).view(x.dtype.numpy) for x in graph.inputs}
    found, wanted = route(lower_graph(graph, ARM64_LINUX), ARM64_LINUX, feeds, tmp_path), evaluate_graph(graph, feeds)
    for y in graph.outputs:
        np.testing.assert_array_equal(found[y.name], wanted[y.name])


@pytest.mark.parametrize(
    "compiled", [by_llvm, pytest.param(by_gcc, marks=needs("aarch64-linux-gnu-gcc"))], ids=["llvm", "gcc"]
)
def test_bytes_of_four_vectors_are_one_instruction(compiled: Compiled, tmp_path: Path) -> None:
    """A table has four quarters, and nothing else is between the load of sixteen bytes and the store of as many."""
    text = compiled(lower_graph(GRAPHS["bytes"], ARM64_LINUX), ARM64_LINUX, tmp_path)
    assert text.count("tbx\t") == 4 and "umov" not in text


@pytest.mark.parametrize("route", ARM64)
def test_lookups_behind_products_are_kernels_of_their_own(route: Route, tmp_path: Path) -> None:
    graph = behind_a_product()
    feeds = random_inputs(graph)
    program = lower_graph(graph, ARM64_LINUX)
    assert [len(lower_graph(graph, machine).calls) for machine in (ARM64_LINUX, V3, V4)] == [2, 2, 1]
    found, (y,) = route(program, ARM64_LINUX, feeds, tmp_path), graph.outputs
    np.testing.assert_array_equal(found[y.name], evaluate_graph(graph, feeds)[y.name])
