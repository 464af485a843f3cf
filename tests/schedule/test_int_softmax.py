"""Softmax of bytes, and maxima of rows: the bytes of the operators' meaning on every way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.loops import Alloc, Invoke, Space
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.passes.integerize.forms import Target
from ccml.passes.integerize.softmax import exponentials
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process, signed
from tests.tools import needs

M0, M4, M55 = (select(f"cortex-{core}") for core in ("m0plus", "m4", "m55"))
SHAPES = {"rows": ((2, 3, 21), 2), "long rows": ((2, 300), 1), "columns": ((2, 20, 3), 1), "one element": ((3, 1), 1)}


def softmax(shape: tuple[int, ...], axis: int) -> Graph:
    target = Target(np.float32(1 / 256), -128, DType.I8)
    constants = exponentials(0.04, shape[axis], target)
    assert constants is not None
    table, numbers = constants
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    x = Value("x", TensorType(DType.I8, shape))
    y = builder.emit1("int_softmax", x, builder.constant(table), **target.attrs, **numbers, axis=axis, to=DType.I8)
    return fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))


def maximum(shape: tuple[int, ...]) -> Graph:
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    x = Value("x", TensorType(DType.I8, shape))
    y = builder.emit1("reduce", x, kind="max", axes=(len(shape) - 1,), keepdims=False)
    return fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))


GRAPHS = {**{name: softmax(*shape) for name, shape in SHAPES.items()}, "maxima": maximum((3, 39))}


def blocks(graph: Graph, machine: Machine) -> set[str]:
    kernels = lower_graph(graph, machine).kernels
    return {stmt.block for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}


def test_which_cores_have_blocks() -> None:
    """Along columns there are none."""
    assert blocks(GRAPHS["rows"], M4) == {"greatest_of"}
    assert blocks(GRAPHS["maxima"], M4) == blocks(GRAPHS["maxima"], M55) == {"greatest_of"}
    assert blocks(GRAPHS["rows"], M55) == blocks(GRAPHS["one element"], M55) == {"helium_softmax"}
    assert blocks(GRAPHS["columns"], M4) == blocks(GRAPHS["columns"], M55) == set()
    assert all(blocks(graph, M0) == set() for graph in GRAPHS.values())


def test_machines_with_vectors_look_exponentials_up_once() -> None:
    """Memory for them is dear on microcontrollers."""
    made = {
        name: {call.generator for call in lower_graph(GRAPHS["rows"], machine).calls}
        for name, machine in {"x86": select("x86"), "arm64": select("linux-arm64"), "m4": M4, "m55": M55}.items()
    }
    kept = {"kept exponentials"}
    assert made == {"x86": kept, "arm64": kept, "m4": {"nest"}, "m55": {"helium softmax"}}


def test_exponentials_on_the_stack_are_aligned_to_vectors() -> None:
    def aligned(machine: Machine) -> list[int]:
        kernels = lower_graph(GRAPHS["rows"], machine).kernels
        allocated = [stmt.buffer for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Alloc)]
        return [buffer.align for buffer in allocated if buffer.space is Space.STACK]

    assert aligned(select("x86", cpu="x86-64-v4")) == [64]
    assert aligned(select("x86", cpu="x86-64-v3")) == [32]
    assert aligned(select("linux-arm64")) == [16]


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, host_machine(), in_process, id=f"{name}, here") for name in GRAPHS),
        *(pytest.param(name, host_machine(), by_c, id=f"{name}, here by C", marks=needs("gcc")) for name in GRAPHS),
        *(
            pytest.param(name, machine, route, id=f"{name}, {machine.target.name} {route.__name__}", marks=BOARD)
            for name, machine, route in (
                ("rows", M0, by_objects), ("rows", M4, by_c), ("long rows", M4, by_objects), ("maxima", M4, by_c),
                ("rows", M55, by_c), ("long rows", M55, by_objects), ("columns", M55, by_c),
            )
        ),
    ],
)  # fmt: skip
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    """Rows with an element far above the others, equal elements, and any."""
    graph = GRAPHS[name]
    x = signed(*graph.inputs[0].shape)
    x[0] = np.where(x[0] > 100, 127, -128)
    x[-1] = 5
    found = route(lower_graph(graph, machine), machine, {"x": x}, tmp_path)
    np.testing.assert_array_equal(found[graph.outputs[0].name], evaluate_graph(graph, {"x": x})[graph.outputs[0].name])
