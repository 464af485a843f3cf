"""Contractions that see few channels of a pixel: the bytes of the operators' meaning on every way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.targets import Machine, select

from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process, signed
from tests.schedule.chains import Layer, chain
from tests.schedule.graphs import integer_conv_graph, with_multipliers

M4, HOST = select("cortex-m4"), host_machine()
WITH_BLOCKS = replace(HOST, cpu=replace(HOST.cpu, extensions=M4.cpu.extensions))
"""This machine, as if it had the blocks."""

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]] = {
    "five channels": ((1, 5, 7, 5), (4, 1, 1, 5), {}),
    "eleven channels, more results": ((1, 9, 7, 11), (19, 1, 1, 11), {}),
    "steps of two": ((2, 7, 9, 6), (10, 1, 1, 6), {"stride": (2, 2)}),
    "a column": ((1, 9, 1, 7), (5, 1, 1, 7), {}),
    "one dimension": ((2, 23, 9), (4, 1, 9), {"pad": (0, 0), "stride": (3,)}),
    "pairs of channels": ((1, 5, 6, 24), (24, 1, 1, 2), {"group": 12}),
    "an odd number of groups": ((1, 5, 6, 15), (15, 1, 1, 5), {"group": 3}),
    "groups of eight": ((1, 4, 6, 32), (32, 1, 1, 8), {"group": 4}),
    "groups with many results": ((1, 4, 5, 14), (34, 1, 1, 7), {"group": 2}),
    "single channels": ((1, 6, 7, 12), (12, 1, 1, 1), {"group": 12}),
}
GRAPHS = {
    name: integer_conv_graph(x, w, rounded=True, zero_point=-7, **more)  # type: ignore[arg-type]
    for name, (x, w, more) in SHAPES.items()
}


@pytest.mark.parametrize("name", GRAPHS)
def test_pixels_are_taken_as_they_are(name: str) -> None:
    assert {call.generator for call in lower_graph(GRAPHS[name], M4).calls} == {"dsp pointwise"}


def test_results_take_the_place_of_groups() -> None:
    """But for a part of them."""
    x = integer_conv_graph((1, 16, 16, 32), (32, 1, 1, 8), group=4, rounded=True)
    assert lower_graph(x, M4).plan.pools[0].ram < 1.1 * 16 * 16 * 32


def test_layers_go_row_by_row() -> None:
    """Where memory is scarce: of the tensor between two, a few rows are enough."""
    graph = chain((1, 30, 30, 6), [Layer(12, 1), Layer(0, stride=2)])
    scale = with_multipliers(graph.constants["s0"])
    scale.flags.writeable = False
    graph = replace(graph, constants={**graph.constants, "s0": scale})
    program = lower_graph(graph, M4, Goal(Optimize.RAM))
    assert [call.generator for call in program.calls] == ["dsp pointwise, dsp depthwise"]
    assert program.plan.ram < 1.3 * graph.inputs[0].type.nbytes


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, WITH_BLOCKS, in_process, id=name) for name in GRAPHS),
        *(
            pytest.param(name, M4, route, id=f"{name}, {route.__name__}", marks=BOARD)
            for name, route in (("steps of two", by_c), ("pairs of channels", by_objects))
        ),
    ],
)
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    inputs = {value.name: signed(*value.shape) for value in graph.inputs}
    found, wanted = route(lower_graph(graph, machine), machine, inputs, tmp_path), evaluate_graph(graph, inputs)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], wanted[value.name], value.name)
