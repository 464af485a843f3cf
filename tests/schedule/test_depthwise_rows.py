"""Depthwise 3x3 convolutions through block instructions: the same bytes as the operators' meaning on every way."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.ir.graph import Graph
from ccml.ir.program import Storage
from ccml.schedule.lower import lower_graph

from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_staged import M4, SAME, assert_exact, by_c, by_jit, by_objects, with_blocks
from tests.tools import needs


def depthwise(
    rows: int, columns: int, channels: int, *, stride: int = 1, pad: tuple[int, ...] = SAME, batch: int = 1,
    zero_point: int = 3, lo: int = -128, residual: bool = False, ties: bool = False,
) -> Graph:  # fmt: skip
    return integer_conv_graph(
        (batch, rows, columns, channels), (channels, 3, 3, 1), stride=(stride, stride), pad=pad, group=channels,
        zero_point=zero_point, lo=lo, residual=residual, ties=ties,
    )  # fmt: skip


GRAPHS = {
    "even": depthwise(6, 6, 8),
    "odd rows and columns": depthwise(7, 5, 8, zero_point=-128),
    "one row": depthwise(1, 9, 4),
    "one column": depthwise(6, 1, 4, zero_point=127),
    "one pixel": depthwise(1, 1, 64),
    "channels beside fours": depthwise(4, 5, 11),
    "batch": depthwise(3, 4, 12, batch=2),
    "no padding": depthwise(7, 6, 4, pad=(0, 0, 0, 0)),
    "uneven padding": depthwise(6, 5, 4, pad=(0, 2, 2, 0)),
    "wide padding": depthwise(3, 3, 4, pad=(2, 2, 2, 2)),
    "stride 2": depthwise(8, 8, 8, stride=2, pad=(0, 0, 1, 1)),
    "stride 2, odd": depthwise(7, 9, 5, stride=2),
    "stride 2, no padding": depthwise(7, 8, 8, stride=2, pad=(0, 0, 0, 0)),
    "stride 2, one output": depthwise(2, 2, 32, stride=2, pad=(0, 0, 1, 1)),
    "ties": depthwise(5, 6, 7, ties=True),
    "stride 2, ties": depthwise(5, 6, 8, stride=2, ties=True),
    "clamped above the least": depthwise(5, 5, 7, lo=-7),
    "stride 2, clamped above the least": depthwise(6, 5, 8, lo=-7, stride=2),
    "residual": depthwise(5, 5, 7, residual=True),
}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


@by_graph
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_jit, tmp_path)


@needs("gcc")
@by_graph
def test_portable_c(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_graph
def test_emulated_cortex_m4(graph: Graph, route: object, tmp_path: Path) -> None:
    assert_exact(graph, M4, route, tmp_path)  # type: ignore[arg-type]


def test_scratch_is_four_rows_of_four_channels() -> None:
    program = lower_graph(GRAPHS["even"], M4)
    arena = [buffer.nbytes for buffer in program.buffers.values() if buffer.storage is Storage.ARENA]
    assert arena == [(6 + 2) * 4 * 4 * 2]
