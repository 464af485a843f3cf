"""Winograd's algorithm in integers on cores without packed arithmetic: its blocks give the words of NumPy, and layers
the bytes of the direct convolution."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ccml.blocks.winograd_words import filter_pairs
from ccml.driver import Goal, Optimize
from ccml.ir.graph import Graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.schedule.block_cases import RNG, Case, Route, assert_cases, routes, signed
from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_staged import Route as GraphRoute
from tests.schedule.test_staged import assert_exact, by_c, by_objects, choosing, fast
from tests.tools import needs

INPUT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
OUTPUT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
M0PLUS = select("cortex-m0plus")


def inputs(channels: int) -> Case:
    """A patch [4, 10, c], and its four tiles as B^T d B says: [place, c, tile]."""
    x = signed(4, 10, channels)
    tiles = np.stack([x[:, 2 * tile : 2 * tile + 4].astype(np.int64) for tile in range(4)])
    moved = np.einsum("ia,tabc,jb->ijct", INPUT, tiles, INPUT)
    return Case("winograd_words_input", (channels,), {"x": x.ravel()}, {"v": moved.astype(np.int32).ravel()})


def products(pairs: int) -> Case:
    u = RNG.integers(-1143, 1144, (16, pairs, 2)).astype(np.int16)
    v = RNG.integers(-512, 512, (16, pairs, 2, 4)).astype(np.int32)
    m = np.einsum("pkh,pkht->pt", u.astype(np.int64), v.astype(np.int64)).astype(np.int32)
    return Case("winograd_words", (pairs,), {"u": u.view(np.int32).ravel(), "v": v.ravel()}, {"m": m.ravel()})


def outputs() -> Case:
    """Sums that are multiples of four, as those of products are, and wrap around in between."""
    y = RNG.integers(-(1 << 29), 1 << 29, (2, 4, 2))
    m = RNG.integers(-(1 << 31), 1 << 31, (4, 4, 4))
    # The four results hang on m[1, 1], m[1, 2], m[2, 1] and m[2, 2] by factors of 1 and -1: solved for these.
    for tile in range(4):
        held = m[:, :, tile].copy()
        held[1:3, 1:3] = 0
        rest = 4 * y[:, tile] - OUTPUT @ held @ OUTPUT.T
        square = np.array([[1, 1], [1, -1]])
        inner = square @ rest @ square
        inner -= inner % 4
        m[1:3, 1:3, tile] = inner // 4
        y[:, tile] = (OUTPUT @ m[:, :, tile] @ OUTPUT.T) // 4
    exact = np.stack([OUTPUT @ m[:, :, tile] @ OUTPUT.T for tile in range(4)])
    bias = np.array([-77], np.int32)
    found = ((exact.astype(np.int64) << 32 >> 32) >> 2) + bias
    rows = [found[:, row].astype(np.int32).ravel() for row in range(2)]
    return Case(
        "winograd_words_output", (), {"m": m.astype(np.int32).ravel(), "b": bias}, {"y0": rows[0], "y1": rows[1]}
    )


CASES = (*map(inputs, (2, 6)), *map(products, (1, 7, 8, 9, 20)), outputs())


@routes("m0", "m3")
def test_blocks_give_the_words_of_numpy(machine: Machine, route: Route, tmp_path: Path) -> None:
    assert_cases(CASES, machine, route, tmp_path)


def test_filters_are_those_of_the_definition() -> None:
    """(2 G) g (2 G)^T, two channels in a word."""
    taps = signed(3, 3, 3, 4)
    matrix = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]])
    expected = np.stack([[matrix @ each[:, :, c] @ matrix.T for c in range(4)] for each in taps.astype(np.int64)])
    found = filter_pairs(taps).view(np.int16).reshape(3, 4, 4, 4)
    np.testing.assert_array_equal(found.transpose(0, 3, 1, 2), expected)


GRAPHS = {
    "not padded, rows and columns that overlap": integer_conv_graph((1, 7, 13, 6), (5, 3, 3, 6), zero_point=-128),
    "two images, uneven padding": integer_conv_graph((2, 5, 9, 4), (3, 3, 3, 4), pad=(2, 0, 1, 1), zero_point=127),
    "a sum behind it": integer_conv_graph((1, 7, 20, 8), (18, 3, 3, 8), pad=(1, 1, 1, 1), residual=True),
    "halfword factors": integer_conv_graph((1, 4, 8, 2), (33, 3, 3, 2), pad=(1, 1, 1, 1), rounded=True),
    "a table behind it": integer_conv_graph((1, 5, 11, 12), (4, 3, 3, 12), pad=(0, 1, 0, 1), table=True),
    "nibbles": integer_conv_graph((1, 6, 8, 32), (32, 3, 3, 32), pad=(1, 1, 1, 1), scale=0.0005, outliers=()),
}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))


@pytest.fixture
def chosen() -> Iterator[None]:
    with choosing("plain winograd"):
        yield


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3"])
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_graph
@pytest.mark.usefixtures("chosen")
def test_emulated(graph: Graph, route: GraphRoute, core: str, tmp_path: Path) -> None:
    assert_exact(graph, fast(select(core)), route, tmp_path)


PADDED = integer_conv_graph((1, 16, 16, 32), (32, 3, 3, 32), pad=(1, 1, 1, 1))


def generator(graph: Graph, goal: Goal) -> str:
    return lower_graph(graph, M0PLUS, goal).calls[0].generator


def test_it_is_chosen_for_speed_alone() -> None:
    assert generator(PADDED, Goal(Optimize.SPEED)) == "plain winograd"
    for goal in (Goal(), Goal(Optimize.SIZE), Goal(Optimize.RAM), Goal(Optimize.SPEED, max_ram=1 << 16)):
        assert generator(PADDED, goal) == "plain contraction"


@pytest.mark.parametrize(
    "graph",
    [
        integer_conv_graph((1, 16, 16, 32), (32, 3, 3, 32), pad=(1, 1, 1, 1), stride=(2, 2)),
        integer_conv_graph((1, 16, 7, 32), (32, 3, 3, 32), pad=(1, 1, 1, 1)),
        integer_conv_graph((1, 16, 16, 31), (32, 3, 3, 31), pad=(1, 1, 1, 1)),
        integer_conv_graph((1, 16, 16, 64), (48, 3, 3, 64), pad=(1, 1, 1, 1)),
    ],
    ids=["strides", "few columns", "odd channels", "large filters"],
)
def test_other_layers_stay_direct(graph: Graph) -> None:
    assert generator(graph, Goal(Optimize.SPEED)) == "plain contraction"
