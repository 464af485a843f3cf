"""Winograd's algorithm in integers on cores with DSP: its blocks give the bytes of NumPy, and layers those of the
direct convolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.blocks.winograd import SHIFT, filter_words, transformed_words
from ccml.driver import Goal, Optimize
from ccml.ir.graph import Graph
from ccml.program.build import lower_graph
from ccml.targets import Machine

from tests.schedule.block_cases import RNG, Case, Route, assert_cases, routes, signed
from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_staged import M4, assert_exact, by_c, by_jit, by_objects, choosing, fast, with_blocks
from tests.tools import needs


def windows(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The 3 x 3 windows [row, column, kh, kw, c] of an image [h, w, c]."""
    return np.stack([[x[row : row + 3, column : column + 3] for column in range(columns)] for row in range(rows)])


def inputs(groups: int) -> tuple[np.ndarray, Case]:
    """A patch [4, 10, c], and its four tiles as B^T d B says, words of halfwords, places as they are stored."""
    matrix = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    x = signed(4, 10, 4 * groups)
    tiles = np.stack([x[:, 2 * tile : 2 * tile + 4].astype(np.int64) for tile in range(4)])
    moved = np.einsum("ia,tabc,jb->ijtc", matrix, tiles, matrix)
    moved = moved[[1, 0, 2, 3]][:, [1, 0, 2, 3]].reshape(16, 4, groups, 4)
    lanes = np.stack([moved[..., [0, 2]], moved[..., [1, 3]]], axis=3)
    v = np.ascontiguousarray(lanes.transpose(2, 3, 0, 1, 4).astype(np.int16)).view(np.int32)
    return x, Case("winograd_input", (groups,), {"x": x.ravel()}, {"v": v.ravel()})


def products(groups: int, channels: int, step: int, zero_point: int, shift: int | None = None) -> Case:
    """Results within a byte and beyond both ends of it; without a ``shift`` by float32 scales."""
    x, transform = inputs(groups)
    g, bias = signed(channels, 3, 3, 4 * groups), RNG.integers(-5000, 5000, channels)
    acc = np.einsum("yxhwc,ohwc->yxo", windows(x.astype(np.int64), 2, 8), g.astype(np.int64)) + bias
    spread = 100 / (np.abs(acc).max(axis=(0, 1)) + 1) * RNG.uniform(0.1, 4, channels)
    if shift is None:
        scales = (spread / 4).astype(np.float32)
        factors = scales.view(np.int32)
        steps = np.rint((4 * acc).astype(np.float32) * scales).astype(np.int64) + zero_point
    else:
        factors = np.minimum(spread * 2.0 ** (30 + shift), 2**31 - 1).astype(np.int32)
        steps = ((4 * acc * factors >> 32) + (zero_point << shift) + (1 << shift - 1)) >> shift
    bytes_ = np.clip(steps, -128, 127).astype(np.int8)
    y = np.zeros((2, 8 * step), np.int8)
    for row in range(2):
        for column in range(8):
            y[row, column * step :][:channels] = bytes_[row, column]
    words = np.concatenate([4 * bias[None], transformed_words(g).T, factors[None]]).astype(np.int32)
    stream = words.reshape(len(words), -1, 2).transpose(1, 0, 2).ravel()
    end = 7 * step + channels
    expected = {"y0": y[0, :end], "y1": y[1, :end]}
    scalars = (groups, channels, step, zero_point) + (() if shift in (None, SHIFT) else (shift,))
    name = {None: "winograd_i8", SHIFT: "winograd_fixed6"}.get(shift, "winograd_fixed")
    return Case(name, scalars, {"w": stream, "v": transform.expected["v"]}, expected)


def filters(groups: int) -> Case:
    g, ends = signed(2, 3, 3, 4 * groups), RNG.integers(-(1 << 31), 1 << 31, (2, 2)).astype(np.int32)
    words = np.concatenate([ends[0], filter_words(g)[0], ends[1]])
    stream = np.concatenate([ends[0], transformed_words(g).T.ravel(), ends[1]])
    return Case("winograd_filter", (groups,), {"g": words}, {"w": stream})


CASES = {
    "filters": [filters(groups) for groups in (1, 2, 5)],
    "inputs": [inputs(groups)[1] for groups in (1, 2, 5)],
    "products, usual shift": [products(groups, 4, 4, -7, SHIFT) for groups in (1, 2, 9, 17)],
    "products in little code": [
        replace(products(groups, 4, 4, -7, SHIFT), block="winograd_fixed6_compact") for groups in (1, 2, 3, 9, 17)
    ],
    "products": [
        *(products(groups, 4, 4, 5, 9) for groups in (1, 2, 3, 8, 9, 17)),
        products(2, 2, 2, -128, 1), products(2, 6, 20, 127, 12),
        *(products(groups, 4, 4, 5) for groups in (1, 9)), products(2, 6, 20, -128),
    ],
}  # fmt: skip
"""Apart, as all that a run works on has to fit the stack of a board."""


@routes("m4", "m33")
def test_blocks_give_the_bytes_of_numpy(machine: Machine, route: Route, tmp_path: Path) -> None:
    for name, cases in CASES.items():
        assert_cases(cases, machine, route, tmp_path / name)


GRAPHS = {
    "not padded, rows and columns that overlap": integer_conv_graph((1, 7, 13, 8), (6, 3, 3, 8), zero_point=-128),
    "two images, uneven padding": integer_conv_graph((2, 5, 9, 4), (4, 3, 3, 4), pad=(2, 0, 1, 1), zero_point=127),
    "a sum behind it": integer_conv_graph((1, 6, 16, 8), (8, 3, 3, 8), pad=(1, 1, 1, 1), residual=True),
    "filters at run time": integer_conv_graph((1, 5, 10, 64), (36, 3, 3, 64), pad=(1, 1, 1, 1), scale=0.0005),
    "some for parts of rows, and a sum": integer_conv_graph(
        (1, 3, 16, 64), (34, 3, 3, 64), pad=(1, 1, 1, 1), scale=0.0005, residual=True
    ),
    "a sum behind what overlaps": integer_conv_graph((1, 7, 13, 8), (8, 3, 3, 8), pad=(1, 1, 1, 1), residual=True),
    "a sum behind all that overlaps, at run time": integer_conv_graph(
        (1, 9, 20, 64), (34, 3, 3, 64), pad=(1, 1, 1, 1), scale=0.0005, residual=True
    ),
    "halves that go to even": integer_conv_graph((1, 2, 8, 8), (4, 3, 3, 8), pad=(1, 1, 1, 1), ties=True),
    "exact multipliers": integer_conv_graph((1, 4, 8, 4), (4, 3, 3, 4), pad=(1, 1, 1, 1), rounded=True),
    "nibbles": integer_conv_graph((1, 8, 8, 64), (64, 3, 3, 64), pad=(1, 1, 1, 1), scale=0.0005, outliers=()),
    "a table behind it": integer_conv_graph((1, 5, 11, 12), (4, 3, 3, 12), pad=(0, 1, 0, 1), table=True),
}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))


@pytest.fixture
def chosen() -> Iterator[None]:
    with choosing("dsp winograd"):
        yield


@by_graph
@pytest.mark.usefixtures("chosen")
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, fast(with_blocks()), by_jit, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@by_graph
@pytest.mark.usefixtures("chosen")
def test_emulated(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, fast(M4), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.usefixtures("chosen")
def test_objects_on_cortex_m4(tmp_path: Path) -> None:
    assert_exact(GRAPHS["a sum behind it"], fast(M4), by_objects, tmp_path)


PADDED = integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1))


def generator(graph: Graph, goal: Goal) -> str:
    return lower_graph(graph, M4, goal).calls[0].generator


def test_it_is_chosen_for_speed() -> None:
    assert generator(PADDED, Goal(Optimize.SPEED)) == "dsp winograd"


@pytest.mark.parametrize("goal", [Goal(), Goal(Optimize.SIZE), Goal(Optimize.SPEED, max_ram=1 << 16)])
def test_weights_grow_for_speed_alone(goal: Goal) -> None:
    assert generator(PADDED, goal) == "dsp contraction"


@pytest.mark.parametrize(
    "graph",
    [
        integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1), stride=(2, 2)),
        integer_conv_graph((1, 8, 7, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1)),
        integer_conv_graph((1, 8, 8, 6), (16, 3, 3, 6), pad=(1, 1, 1, 1)),
        integer_conv_graph((1, 8, 8, 16), (15, 3, 3, 16), pad=(1, 1, 1, 1)),
    ],
    ids=["strides", "few columns", "channels of the input", "channels of the output"],
)
def test_other_layers_stay_direct(graph: Graph) -> None:
    assert generator(graph, Goal(Optimize.SPEED)) == "dsp contraction"
