"""Convolutions of bytes with few weights: the bytes of the operators' meaning on every way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import host_machine
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select
from ccml.targets.target import IN_ORDER

from tests.schedule.block_cases import BOARD, Route, by_c, by_objects, in_process, signed
from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_halfword_factors import with_scales

M4, M55 = (select(f"cortex-{core}") for core in ("m4", "m55"))
SAME = (1, 1, 1, 1)
HOST = host_machine()
IN_TURN = replace(HOST, cpu=replace(HOST.cpu, pipeline=IN_ORDER, features=HOST.cpu.features | {"mul_high"}))
"""This machine, as if it took one instruction after the other."""


GRAPHS = {
    name: with_scales(graph)
    for name, graph in {
        "3x3": integer_conv_graph((1, 9, 11, 1), (1, 3, 3, 1), pad=SAME),
        "3x3, two batches, no border": integer_conv_graph((2, 6, 7, 1), (2, 3, 3, 1)),
        "1x1, three channels": integer_conv_graph((1, 5, 7, 3), (3, 1, 1, 3), zero_point=-128),
        "1x1, four channels of two": integer_conv_graph((2, 3, 9, 2), (4, 1, 1, 2), zero_point=5),
        "3x1, three channels at borders": integer_conv_graph((1, 4, 6, 3), (2, 3, 1, 3), pad=(1, 0, 1, 0)),
        "stride": integer_conv_graph((1, 11, 13, 1), (1, 2, 3, 1), pad=(1, 2, 1, 2), stride=(2, 1)),
        "dilation": integer_conv_graph((1, 11, 13, 1), (1, 2, 3, 1), pad=(0, 2, 0, 2), dilation=(1, 2)),
        "along one dimension": integer_conv_graph((1, 23, 2), (1, 5, 2), pad=(2, 2), stride=(1,)),
        "windows beyond the border": integer_conv_graph((1, 2, 2, 1), (1, 2, 2, 1), pad=(3, 0, 3, 0)),
        "residual": integer_conv_graph((1, 6, 5, 1), (1, 3, 3, 1), pad=SAME, residual=True),
    }.items()
}


IN_LANES = ("1x1, three channels", "1x1, four channels of two", "along one dimension")
"""Whose windows lie in a few words, so that Helium takes many pixels at once."""

SIDE_BY_SIDE = ("3x3", "3x3, two batches, no border", "dilation")
"""Of one channel: neighbouring columns become channels of one pixel for Helium."""


def on_helium(name: str) -> str:
    if name in SIDE_BY_SIDE:
        return "helium depthwise"
    return "helium contraction" if name in IN_LANES else "few channels"


def generators(graph: Graph, machine: Machine) -> set[str]:
    return {call.generator for call in lower_graph(graph, machine).calls}


@pytest.mark.parametrize("name", GRAPHS)
def test_products_are_written_out(name: str) -> None:
    """On cores that go one instruction after the other and have upper words of products."""
    assert generators(GRAPHS[name], M4) == {"few channels"}
    assert generators(GRAPHS[name], M55) == {on_helium(name)}
    assert "few channels" not in generators(GRAPHS[name], select("cortex-m0")) | generators(GRAPHS[name], HOST)


def test_more_weights_are_a_contraction() -> None:
    graph = with_scales(integer_conv_graph((1, 9, 11, 3), (4, 3, 3, 3), pad=SAME))
    assert generators(graph, M4) == {"dsp contraction"}


@pytest.mark.parametrize(
    ("name", "machine", "route"),
    [
        *(pytest.param(name, IN_TURN, in_process, id=f"{name}, in turn") for name in GRAPHS),
        *(
            pytest.param(name, machine, route, id=f"{name}, {machine.target.name} {route.__name__}", marks=BOARD)
            for name, machine, route in (
                ("3x3", M4, by_c), ("1x1, three channels", M4, by_objects), ("3x3", M55, by_objects),
            )
        ),
    ],
)  # fmt: skip
def test_bytes(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    inputs = {value.name: signed(*value.shape) for value in graph.inputs}
    found, wanted = route(lower_graph(graph, machine), machine, inputs, tmp_path), evaluate_graph(graph, inputs)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], wanted[value.name], value.name)
