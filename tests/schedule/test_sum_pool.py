"""Sums of windows, requantized: the bytes of the operators' meaning on every way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.ops.window import window_sizes
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.targets import Machine, select
from ccml.targets.target import IN_ORDER

from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process, signed

SCALE = 0.0371
M4, M55 = select("cortex-m4"), select("cortex-m55")
HOST = host_machine()
IN_TURN = replace(HOST, cpu=replace(HOST.cpu, pipeline=IN_ORDER))
"""This machine, as if it took one instruction after the other."""


@dataclass(frozen=True)
class Pool:
    """``divided``: by the taps that are inside, as means are."""

    shape: tuple[int, ...]
    kernel: Sequence[int]
    stride: Sequence[int]
    pad: Sequence[int]
    dilation: Sequence[int] = ()
    divided: bool = True
    scale: float = SCALE

    def graph(self) -> Graph:
        attrs = {
            "kernel": tuple(self.kernel), "stride": tuple(self.stride), "pad": tuple(self.pad),
            "dilation": tuple(self.dilation or [1] * len(self.kernel)), "layout": "channels_last",
            "ceil_mode": False, "count_include_pad": False,
        }  # fmt: skip
        x = Value("x", TensorType(DType.I8, self.shape))
        builder = GraphBuilder(infer_types, NameSupply(["x"]))
        acc = builder.emit1("pool", x, kind="sum", zero_point=-11, **attrs)  # type: ignore[arg-type]
        sizes = np.moveaxis(window_sizes(self.shape[1:-1], attrs), 1, -1) if self.divided else np.ones(())
        scale = builder.constant(np.asarray(self.scale / sizes, np.float32))
        reach = int(np.prod(self.kernel)) * 139
        y = builder.emit1(
            "requantize", acc, scale, zero_point=3, lo=-128, hi=127, to=DType.I8, y_scale=0.1,
            acc_lo=-reach, acc_hi=reach,
        )  # fmt: skip
        return fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))


POOLS = {
    "2x2": Pool((1, 8, 10, 12), (2, 2), (2, 2), (0, 0, 0, 0)),
    "3x3 with borders": Pool((2, 7, 6, 8), (3, 3), (1, 1), (1, 1, 1, 1)),
    "channels that fill no word": Pool((1, 6, 5, 7), (3, 3), (2, 1), (1, 1, 1, 1)),
    "three channels": Pool((1, 6, 9, 3), (2, 3), (1, 2), (1, 1, 0, 1)),
    "one number for all": Pool((1, 7, 7, 20), (3, 2), (1, 1), (1, 0, 1, 1), divided=False),
    "dilation": Pool((1, 9, 9, 4), (3, 3), (1, 1), (2, 2, 2, 2), (2, 2)),
    "along one dimension": Pool((2, 17, 9), (5,), (2,), (2, 2)),
    "along one dimension, even channels": Pool((2, 17, 18), (5,), (2,), (2, 2)),
    "eight taps, large scale": Pool((1, 6, 9, 2), (2, 4), (2, 3), (0, 1, 0, 1), scale=5.7137),
    "more outputs than are computed at a time": Pool((1, 3, 17, 34), (2, 2), (1, 2), (0, 0, 0, 0)),
    "more windows at borders than loops": Pool((1, 9, 9, 4), (5, 5), (1, 1), (3, 3, 3, 3)),
}
PAIRS = {
    "2x2", "3x3 with borders", "one number for all", "dilation", "along one dimension, even channels",
    "eight taps, large scale", "more outputs than are computed at a time",
}  # fmt: skip
"""Of at most nine taps and an even number of channels."""


def generators(graph: Graph, machine: Machine) -> set[str]:
    return {call.generator for call in lower_graph(graph, machine).calls}


@pytest.mark.parametrize("name", POOLS)
def test_taps_are_written_out(name: str) -> None:
    """On cores that go one instruction after the other, where borders are few; with Helium by a block instruction,
    where channels are an even number."""
    expected = {"nest"} if name.startswith("more windows") else {"sum of taps"}
    assert generators(POOLS[name].graph(), M4) == expected
    assert generators(POOLS[name].graph(), M55) == ({"helium window sums"} if name in PAIRS else expected)
    assert generators(POOLS[name].graph(), select("x86")) == {"nest"}


def test_halves_that_go_to_even_are_no_block() -> None:
    """Means of two without another scale."""
    graph = Pool((1, 4, 4, 8), (1, 2), (1, 2), (0, 0, 0, 0), scale=1.0).graph()
    assert generators(graph, M55) == {"sum of taps"}


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, IN_TURN, in_process, id=f"{name}, words") for name in POOLS),
        *(
            pytest.param(name, machine, route, id=f"{name}, {machine.target.name} {route.__name__}", marks=BOARD)
            for name in ("3x3 with borders", "channels that fill no word", "one number for all")
            for machine in (M4, M55)
            for route in (by_c, by_objects)
        ),
        *(
            pytest.param(name, M55, route, id=f"{name}, m55 {route.__name__}", marks=BOARD)
            for name in sorted(PAIRS - {"3x3 with borders", "one number for all"})
            for route in (by_c, by_objects)
        ),
    ],
)
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    graph = POOLS[name].graph()
    inputs = {"x": signed(*POOLS[name].shape)}
    found = route(lower_graph(graph, machine), machine, inputs, tmp_path)
    wanted = evaluate_graph(graph, inputs)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], wanted[value.name], value.name)
