"""Weights of 4 bits: nibbles in flash, and the bytes of the operators' meaning on every core and route."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from ccml.blocks.nibbles import PACKED_HALFWORDS, SIGNED_BYTES
from ccml.ir.graph import Graph
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.program import Storage
from ccml.ir.types import DType
from ccml.program.build import lower_graph
from ccml.schedule import generators
from ccml.schedule.nibble_weights import are_nibbles, slices_of
from ccml.targets import Machine, select

from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_fixed_requantization import bounded
from tests.schedule.test_staged import BLOCKS_FIRST, Route, assert_exact, by_c, by_jit, by_objects
from tests.tools import needs

SAME = (1, 1, 1, 1)
BOARDS = {name: select(f"cortex-{name}") for name in ("m0plus", "m3", "m4", "m55")}
by_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS.keys())

GRAPHS = {
    "pointwise": integer_conv_graph((1, 5, 5, 32), (16, 1, 1, 32), outliers=[]),
    "pointwise, odd channels and depth": integer_conv_graph((1, 5, 3, 23), (19, 1, 1, 23), outliers=[4, 18]),
    "3x3, outliers": integer_conv_graph((1, 6, 6, 8), (12, 3, 3, 8), pad=SAME, outliers=[0, 5]),
    "3x3, slices": integer_conv_graph((1, 5, 4, 64), (48, 3, 3, 64), pad=SAME, outliers=[7, 8, 9]),
    "3x3, slices, residual": integer_conv_graph((1, 5, 4, 64), (32, 3, 3, 64), pad=SAME, outliers=[1], residual=True),
    "one pixel": integer_conv_graph((1, 1, 1, 200), (21, 1, 1, 200), outliers=[2]),
    "one pixel, slices": bounded(integer_conv_graph((1, 1, 1, 260), (64, 1, 1, 260), outliers=[63]), 0.00113719),
    "one pixel, multipliers": bounded(integer_conv_graph((1, 1, 1, 64), (32, 1, 1, 64), outliers=[3]), 0.00213719),
    "multipliers": bounded(integer_conv_graph((1, 5, 5, 16), (8, 3, 3, 16), pad=SAME, outliers=[1]), 0.01133719),
}
TWO_PIXELS = integer_conv_graph((1, 1, 2, 40), (9, 1, 1, 40), outliers=[])
def depthwise(x: tuple[int, ...], kernel: tuple[int, int] = (3, 3), **attrs: object) -> Graph:
    return integer_conv_graph(x, (x[-1], *kernel, 1), group=x[-1], outliers=[3], rounded=True, **attrs)  # type: ignore[arg-type]


DEPTHWISE = {
    "depthwise": depthwise((1, 6, 7, 32), pad=SAME),
    "depthwise, odd channels": depthwise((1, 6, 7, 37), pad=SAME),
    "depthwise, stride 2": depthwise((1, 9, 10, 36), stride=(2, 2), pad=(0, 0, 1, 1)),
}
WINDOWS = {
    "depthwise, 5x5": depthwise((2, 6, 7, 18), (5, 5), pad=(2, 2, 2, 2)),
    "depthwise, three in a line": depthwise((1, 1, 9, 90), (1, 3), pad=(0, 1, 0, 1)),
    "depthwise, multiplier 2": integer_conv_graph(
        (1, 4, 5, 16), (32, 3, 3, 1), pad=SAME, group=16, outliers=[3], rounded=True
    ),
    "groups of few channels": integer_conv_graph((1, 4, 9, 32), (32, 1, 1, 8), group=4, outliers=[3], rounded=True),
}
GROUPS = integer_conv_graph((1, 5, 8, 32), (16, 3, 3, 16), pad=SAME, group=2, outliers=[9])
ALL = GRAPHS | DEPTHWISE
ON_BOARDS = (
    "pointwise, odd channels and depth", "3x3, slices", "one pixel, slices", "multipliers", "depthwise, odd channels",
    "depthwise, stride 2",
)  # fmt: skip


def on_host(board: Machine) -> Machine:
    """The portable target as if it had the board's block instructions."""
    machine = select("generic")
    return replace(machine, cpu=replace(machine.cpu, extensions=board.cpu.extensions))


def unpacks(graph: Graph, machine: Machine) -> bool:
    kernels = lower_graph(graph, machine).kernels
    invoked = [stmt.block for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)]
    return any(name.startswith("unpack_nibble") for name in invoked)


def constant_bytes(graph: Graph, machine: Machine) -> int:
    return sum(b.nbytes for b in lower_graph(graph, machine).buffers.values() if b.storage is Storage.CONSTANT)


@by_board
@pytest.mark.parametrize("graph", ALL.values(), ids=ALL.keys())
def test_meaning_in_process(graph: Graph, board: Machine, tmp_path: Path) -> None:
    with patch.object(generators, "GENERATORS", BLOCKS_FIRST):
        assert unpacks(graph, on_host(board))
    assert_exact(graph, on_host(board), by_jit, tmp_path)


@pytest.mark.parametrize("board", [BOARDS["m4"], BOARDS["m55"]], ids=["m4", "m55"])
@pytest.mark.parametrize("graph", [GROUPS, *WINDOWS.values()], ids=["groups", *WINDOWS])
def test_groups(graph: Graph, board: Machine, tmp_path: Path) -> None:
    assert unpacks(graph, on_host(board))
    assert_exact(graph, on_host(board), by_jit, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_board
@pytest.mark.parametrize("name", ON_BOARDS)
def test_on_boards(name: str, board: Machine, route: Route, tmp_path: Path) -> None:
    assert_exact(ALL[name], board, route, tmp_path)


@pytest.mark.parametrize("name", ["x86", "linux-arm64", "generic"])
def test_other_machines_keep_bytes(name: str) -> None:
    assert not unpacks(GRAPHS["pointwise"], select(name))


def test_blocks_of_bytes_alone_keep_bytes(tmp_path: Path) -> None:
    """Two pixels are fewer than packed weights are for."""
    machine = on_host(BOARDS["m4"])
    assert not unpacks(TWO_PIXELS, machine)
    assert_exact(TWO_PIXELS, machine, by_jit, tmp_path)


@by_board
def test_flash_is_that_of_nibbles(board: Machine) -> None:
    """Half a byte for each of 27,648 weights, three rows of 576 outliers in full with places, in each of four slices,
    and 12 bytes a channel for bias and factors."""
    graph = GRAPHS["3x3, slices"]
    machine = on_host(board)
    assert unpacks(graph, machine)
    assert constant_bytes(graph, machine) <= 48 * 576 // 2 + 4 * 3 * 576 * 2 + 48 * 12 + 64


@by_board
def test_memory_is_that_of_a_slice(board: Machine) -> None:
    program = lower_graph(GRAPHS["3x3, slices"], on_host(board))
    scratch = [b.nbytes for b in program.buffers.values() if b.storage is Storage.ARENA]
    assert max(scratch) < 13 << 10


@pytest.mark.parametrize("board", [BOARDS[name] for name in ("m0plus", "m3", "m55")], ids=["m0plus", "m3", "m55"])
def test_weights_of_halfwords_are_unpacked_once(board: Machine, tmp_path: Path) -> None:
    """Not for each of the pixels, which are staged one by one."""
    graph = integer_conv_graph((1, 6, 5, 8), (48, 3, 3, 8), pad=SAME, zero_point=0, dtype=DType.I16, outliers=[7])
    machine = on_host(board)
    (kernel,) = lower_graph(graph, machine).kernels
    outermost = [stmt.block for stmt in kernel.body if isinstance(stmt, Invoke)]
    assert unpacks(graph, machine) and any(name.startswith("unpack_nibble") for name in outermost)
    assert_exact(graph, machine, by_jit, tmp_path)


@pytest.mark.parametrize("board", [BOARDS[name] for name in ("m0plus", "m3", "m55")], ids=["m0plus", "m3", "m55"])
@pytest.mark.parametrize(
    ("x", "w"), [((1, 5, 4, 64), (52, 3, 3, 64)), ((1, 3, 5, 23), (51, 1, 1, 23)), ((1, 1, 1, 260), (64, 1, 1, 260))],
    ids=["slices", "odd channels and depth", "one pixel, slices"],
)  # fmt: skip
def test_halfwords(x: tuple[int, ...], w: tuple[int, ...], board: Machine, tmp_path: Path) -> None:
    pad = SAME if w[1] > 1 else (0, 0, 0, 0)
    graph = integer_conv_graph(x, w, pad=pad, zero_point=0, dtype=DType.I16, outliers=[1, 50])
    assert unpacks(graph, on_host(board))
    assert_exact(graph, on_host(board), by_jit, tmp_path)


def test_bytes_stay_bytes() -> None:
    """Where a quarter of the weights are no nibbles, or few are weights at all."""
    rng = np.random.default_rng(1)
    few = rng.integers(-8, 8, (16, 32))
    assert are_nibbles(few)
    assert not are_nibbles(few[:7])
    assert not are_nibbles(np.concatenate([few, np.full((6, 32), 8)]))
    assert are_nibbles(np.concatenate([few, np.full((5, 32), -9)]))


def test_slices_are_tiles() -> None:
    assert slices_of(64, 100, 6400) == 1
    assert slices_of(64, 100, 6399) == 2
    assert slices_of(64, 100, 1) == 16
    assert slices_of(7, 100, 1) == 1


@pytest.mark.parametrize(("form", "value"), [(SIGNED_BYTES, 0x01FF_F807), (PACKED_HALFWORDS, 0x00FF_F7F9)])
def test_word_forms(form: object, value: int) -> None:
    """Bytes 1, -1, -8, 7; halfwords 256 * 1 - 1 and 256 * -8 - 7."""
    nibbles = {0x01FF_F807: 0x0907_000F, 0x00FF_F7F9: 0x0907_0001}[value]
    found = form.nibbles(np.array([value], np.uint32).view(np.int32))  # type: ignore[attr-defined]
    assert hex(found[0]) == hex(nibbles)
