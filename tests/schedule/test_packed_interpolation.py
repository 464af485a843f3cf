"""Linear Resize with two channels in a word, or eight in lanes of 16 bits: the bytes of the operators' meaning on every
way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
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

M4, M55 = select("cortex-m4"), select("cortex-m55")
HOST = host_machine()
PACKED = replace(HOST, cpu=replace(HOST.cpu, features=HOST.cpu.features | {"widen_even", "widen_even_add"}))
"""This machine, as if it had packed arithmetic."""


@dataclass(frozen=True)
class Resize:
    """From ``shape`` to ``scale`` times as many rows and columns; two weights have the sum ``total``."""

    shape: tuple[int, int, int, int]
    scale: int
    total: int = 4
    zero_point: int = -11
    least: int = 0
    ratio: float = 1.137

    def graph(self) -> Graph:
        rng, x = np.random.default_rng(5), Value("x", TensorType(DType.I8, self.shape))
        builder = GraphBuilder(infer_types, NameSupply(["x"]))
        tables = []
        for extent in self.shape[1:3]:
            places = rng.integers(0, extent, (extent * self.scale, 2)).astype(np.int32)
            first = rng.integers(self.least, self.total + 1, extent * self.scale).astype(np.int32)
            first[0] = self.least
            tables += [builder.constant(places), builder.constant(np.stack([first, self.total - first], axis=1))]
        acc = builder.emit1("interpolate", x, *tables, axes=(1, 2), zero_point=self.zero_point)
        scale = builder.constant(np.float32(self.ratio / self.total**2))
        reach = 255 * (self.total - 2 * self.least) ** 2
        y = builder.emit1(
            "requantize", acc, scale, zero_point=3, lo=-128, hi=127, to=DType.I8, y_scale=0.1,
            acc_lo=-reach, acc_hi=reach,
        )  # fmt: skip
        return fuse(Graph("g", (x,), (y,), tuple(builder.nodes), builder.constants))


FIT = {
    "twice": Resize((1, 5, 7, 8), 2),
    "the largest sums": Resize((2, 3, 2, 12), 3, total=11, zero_point=-128, ratio=1.1941),
    "one pixel": Resize((1, 1, 1, 4), 1, zero_point=127),
    "steps of less than two": Resize((1, 3, 4, 12), 2, total=1, ratio=0.7),
    "results far beyond bytes": Resize((2, 2, 5, 20), 2, total=9, ratio=3.3),
}
OTHERS = {
    "channels that fill no word": Resize((1, 4, 3, 6), 2),
    "larger sums": Resize((1, 4, 3, 8), 2, total=16),
    "weights below 0": Resize((1, 4, 3, 8), 2, least=-1),
}
ALL = {**FIT, **OTHERS}
HELIUM = {"twice", "the largest sums", "one pixel", "channels that fill no word"}
"""With an even number of channels, of sums that fit 16 bits."""


def generators(graph: Graph, machine: Machine) -> set[str]:
    return {call.generator for call in lower_graph(graph, machine).calls}


@pytest.mark.parametrize("name", ALL)
def test_what_fits_halfwords_is_packed(name: str) -> None:
    graph = ALL[name].graph()
    assert generators(graph, M4) == {"packed interpolation" if name in FIT else "nest"}
    assert generators(graph, M55) == {"helium interpolation" if name in HELIUM else "nest"}
    assert generators(graph, select("cortex-m3")) == {"nest"}


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, PACKED, in_process, id=name) for name in FIT),
        *(
            pytest.param(name, M4, route, id=f"{name}, {route.__name__}", marks=BOARD)
            for name in FIT for route in (by_c, by_objects)
        ),
        *(
            pytest.param(name, M55, route, id=f"{name}, m55 {route.__name__}", marks=BOARD)
            for name in sorted(HELIUM) for route in (by_c, by_objects)
        ),
    ],
)  # fmt: skip
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    """Extremes side by side, so that a carry between halves would be seen."""
    graph = ALL[name].graph()
    program = lower_graph(graph, machine)
    kind = "helium interpolation" if machine is M55 else "packed interpolation"
    assert {call.generator for call in program.calls} == {kind}
    x = signed(*ALL[name].shape)
    expected = evaluate_graph(graph, {"x": x})
    (output,) = graph.outputs
    found = route(program, machine, {"x": x}, tmp_path)
    np.testing.assert_array_equal(found[output.name], expected[output.name])


def test_blocks_do_what_is_requantized_exactly() -> None:
    """On a core that has them; not where a sum is half or more of a step."""
    for name in ("twice", "the largest sums"):
        (kernel,) = lower_graph(ALL[name].graph(), M4).kernels
        called = [stmt.block for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)]
        assert called == ["interpolate_line", "interpolate_pixels"], name
    (kernel,) = lower_graph(Resize((1, 3, 4, 4), 2, total=1, ratio=0.7).graph(), M4).kernels
    assert not any(isinstance(stmt, Invoke) for stmt in walk_stmts(kernel.body))
