"""Maxima of windows through block instructions: the bytes of the operator's meaning on every way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ccml.blocks import BLOCKS
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process, signed
from tests.schedule.test_staged import with_blocks
from tests.tools import needs

Window = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""Kernel, stride and pad."""
PLANE: dict[str, Window] = {
    "2x2": ((2, 2), (2, 2), (0, 0, 0, 0)),
    "3x3 with borders": ((3, 3), (1, 1), (1, 1, 1, 1)),
    "3x3, steps of two": ((3, 3), (2, 2), (0, 1, 1, 1)),
    "5x4": ((5, 4), (1, 3), (2, 0, 2, 2)),
    "9x2": ((9, 2), (3, 1), (4, 1, 3, 0)),
    "rows only": ((3, 1), (2, 1), (1, 0, 1, 0)),
    "columns only": ((1, 3), (2, 2), (0, 1, 0, 1)),
}
LINE: dict[str, Window] = {"3": ((3,), (1,), (1, 1)), "4, steps of two": ((4,), (2,), (0, 3))}


@dataclass(frozen=True)
class Case:
    """Pools of one input; with a ``tail`` clipped behind."""

    shape: tuple[int, ...]
    windows: dict[str, Window]
    tail: bool = False
    ceil: bool = False


CASES = {
    "borders": Case((2, 11, 10, 7), PLANE),
    "a tail": Case((1, 9, 12, 19), {name: window for name, window in PLANE.items() if name != "rows only"}, tail=True),
    "windows that reach beyond": Case((1, 10, 10, 32), PLANE, ceil=True),
    "lines": Case((2, 13, 21), LINE),
    "lines with a tail": Case((1, 13, 5), LINE, tail=True),
}


def graph_of(case: Case) -> Graph:
    x = Value("x", TensorType(DType.I8, case.shape))
    builder, outputs = GraphBuilder(infer_types, NameSupply(["x"])), []
    for kernel, stride, pad in case.windows.values():
        y = builder.emit1(
            "pool", x, kind="max", kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad), layout="channels_last",
            dilation=(1,) * len(kernel), ceil_mode=case.ceil, count_include_pad=False,
        )  # fmt: skip
        outputs.append(builder.emit1("clip", y, lo=-100, hi=90) if case.tail else y)
    return fuse(Graph("g", (x,), tuple(outputs), tuple(builder.nodes)))


ROUTES = [
    *(pytest.param(name, with_blocks(), in_process, id=f"{name}, meaning") for name in CASES),
    *(pytest.param(name, with_blocks(), by_c, id=f"{name}, twin", marks=needs("gcc")) for name in CASES),
    *(
        pytest.param(name, select(f"cortex-{core}"), route, id=f"{name}, {core} {route.__name__}", marks=BOARD)
        for name in ("a tail", "windows that reach beyond")
        for core, route in (("m4", by_c), ("m55", by_c), ("m55", by_objects))
    ),
]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_windows_become_blocks(case: Case) -> None:
    for kernel in lower_graph(graph_of(case), select("cortex-m4")).kernels:
        used = {stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}
        assert used and used <= {"greatest2", "greatest3"} <= set(BLOCKS)


@pytest.mark.parametrize(("name", "machine", "route"), ROUTES)
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    graph = graph_of(CASES[name])
    inputs = {"x": signed(*CASES[name].shape)}
    found = route(lower_graph(graph, machine), machine, inputs, tmp_path)
    wanted = evaluate_graph(graph, inputs)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], wanted[value.name], value.name)
