"""Rows in panels: all columns pass over some rows before the next ones, where caches do not keep all activations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph
from ccml.ir.loops import Expr, For, Load, Var, const_value
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts
from ccml.ir.program import Program
from ccml.program import chunking
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.schedule import contraction_loops
from ccml.targets.target import Cache
from pytest import MonkeyPatch

from tests.artifacts.machines import V3
from tests.schedule.graphs import anchored_graph, conv_graph, random_inputs

SMALL = replace(V3, cpu=replace(V3.cpu, caches=(Cache(8 << 10, 16.0), Cache(1 << 20, 3.0))))
"""A machine whose second cache holds 8 KiB."""
GRAPHS = {
    "pixels": conv_graph((1, 12, 12, 20), (50, 1, 1, 20)),
    "pixels in lines": conv_graph((1, 12, 12, 20), (50, 1, 1, 20), stride=(2, 2)),
    "window": conv_graph((1, 43, 21, 5), (50, 3, 1, 5), pad=(1, 0, 1, 0), epilogue=("relu",)),
    "several images": conv_graph((3, 17, 9, 6), (50, 3, 1, 6), pad=(1, 0, 1, 0), bias=False),
    "images of a pixel": conv_graph((200, 1, 1, 9), (90, 1, 1, 9)),
    "groups": conv_graph((2, 19, 8, 12), (100, 3, 1, 6), pad=(1, 0, 1, 0), group=2),
    "product": anchored_graph(
        "matmul", {"x": (211, 20)}, {"w": np.random.default_rng(3).standard_normal((20, 50)).astype(np.float32)}, {}, ()
    ),
}


def run(program: Program, graph: Graph, threads: int) -> dict[str, np.ndarray]:
    model = JitModel(program, SMALL)
    with model.threads(max(threads, 1)):
        return model.run(random_inputs(graph))


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_bits_in_panels(name: str, threads: int, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "SMALLEST_PHASE", 1)
    monkeypatch.setattr(chunking, "SMALLEST_CHUNK", 1)
    graph = GRAPHS[name]
    program = lower_graph(graph, SMALL, Goal(threads=threads))
    monkeypatch.setattr(contraction_loops, "KEPT", 1e9)
    plain = lower_graph(graph, SMALL, Goal(threads=threads))
    assert program.kernels != plain.kernels
    found = run(program, graph, threads)
    for output, array in run(plain, graph, threads).items():
        np.testing.assert_array_equal(found[output], array)


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [(12, 50, "xw"), (4, 50, "wx"), (12, 8, "x"), (12, 800, "wx")],
    ids=["panels", "few activations", "one block of columns", "more weights"],
)  # fmt: skip
def test_which_of_the_operands_the_outer_loops_pass_over(rows: int, columns: int, expected: str) -> None:
    graph = conv_graph((1, rows, 12, 20), (columns, 1, 1, 20))
    kernel = next(kernel for kernel in lower_graph(graph, SMALL).kernels if kernel.body)
    loops, body = list[Var](), kernel.body
    while isinstance(body[0], For):
        loops.append(body[0].var)
        body = body[0].body
    loads = [part for stmt in walk_stmts(body) for expr in stmt_exprs(stmt) for part in walk_expr(expr)]
    order = ""
    for loop in loops:
        passed = {_operand(part) for part in loads if isinstance(part, Load) and loop in _variables(part)}
        order += "".join(sorted(passed & {"x", "w"} - set(order)))
    assert order == expected


@pytest.mark.parametrize(("rows", "panels"), [(12, 4), (16, 4)])
def test_panels_are_even_in_number(rows: int, panels: int) -> None:
    graph = conv_graph((1, rows, 21, 5), (50, 3, 1, 5), pad=(1, 0, 1, 0))
    (conv,) = (kernel for kernel in lower_graph(graph, SMALL).kernels if kernel.name.startswith("conv"))
    extents = {stmt.var.name: const_value(stmt.extent) for stmt in conv.body if isinstance(stmt, For)}
    assert extents == {"panel": panels}


def _operand(part: Load) -> str:
    return part.buffer.name[0]


def _variables(part: Load) -> set[Expr]:
    return {each for index in part.index for each in walk_expr(index)}
