"""Depthwise convolutions through block instructions: the same bytes as the operators' meaning on every way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from ccml.blocks import BLOCKS
from ccml.ir.graph import Graph
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.program import Storage
from ccml.program.build import lower_graph
from ccml.program.goal import Goal

from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_staged import M4, SAME, assert_exact, by_c, by_jit, by_objects, with_blocks
from tests.tools import needs


def line(length: int, channels: int, pad: tuple[int, int], *, batch: int = 1, multiplier: int = 1) -> Graph:
    """Three taps along one dimension."""
    return integer_conv_graph(
        (batch, length, channels), (channels * multiplier, 3, 1), stride=(1,), pad=pad, group=channels, rounded=True,
    )


def depthwise(
    rows: int, columns: int, channels: int, *, kernel: tuple[int, int] = (3, 3), stride: int | tuple[int, int] = 1,
    dilation: int = 1, pad: tuple[int, ...] = SAME, batch: int = 1, zero_point: int = 3, lo: int = -128,
    residual: bool = False, ties: bool = False, rounded: bool = False, multiplier: int = 1,
) -> Graph:  # fmt: skip
    return integer_conv_graph(
        (batch, rows, columns, channels), (channels * multiplier, *kernel, 1), pad=pad, group=channels,
        stride=(stride, stride) if isinstance(stride, int) else stride, dilation=(dilation, dilation),
        zero_point=zero_point, lo=lo, residual=residual, ties=ties, rounded=rounded,
        scale=0.002 * 9 / (kernel[0] * kernel[1]),
    )  # fmt: skip


SUMS = {
    "even": depthwise(6, 6, 8),
    "one row": depthwise(1, 9, 4),
    "one column": depthwise(6, 1, 4, zero_point=127),
    "one pixel": depthwise(1, 1, 64),
    "uneven padding": depthwise(6, 5, 4, pad=(0, 2, 2, 0)),
    "stride 2": depthwise(8, 8, 8, stride=2, pad=(0, 0, 1, 1)),
    "stride 2, odd": depthwise(7, 9, 5, stride=2),
    "ties": depthwise(5, 6, 7, ties=True),
    "stride 2, ties": depthwise(5, 6, 8, stride=2, ties=True),
    "clamped above the least": depthwise(5, 5, 7, lo=-7),
    "stride 2, clamped above the least": depthwise(6, 5, 8, lo=-7, stride=2),
    "residual": depthwise(5, 5, 7, residual=True),
    "5x5": depthwise(7, 9, 8, kernel=(5, 5), pad=(2, 2, 2, 2), zero_point=-128),
    "5x5, channels beside fours": depthwise(5, 6, 11, kernel=(5, 5), pad=(2, 1, 2, 3), batch=2),
    "5x5, residual": depthwise(4, 15, 6, kernel=(5, 5), pad=(2, 2, 2, 2), residual=True),
    "5x5, wide rows, ties": depthwise(2, 150, 4, kernel=(5, 5), pad=(2, 2, 2, 2), ties=True),
    "dilation, ties": depthwise(6, 7, 4, dilation=3, pad=(3, 3, 3, 3), ties=True),
    "one dimension": integer_conv_graph((1, 13, 6), (6, 3, 1), stride=(1,), pad=(1, 1), group=6, residual=True),
    "a column": depthwise(14, 1, 6, kernel=(5, 1), pad=(2, 0, 2, 0), residual=True),
    "multiplier 2, ties": depthwise(5, 6, 7, multiplier=2, ties=True),
    "multiplier 3, residual": depthwise(4, 5, 5, multiplier=3, residual=True),
    "multiplier 2, stride 2, residual": depthwise(6, 7, 9, stride=2, multiplier=2, residual=True),
    "multiplier 2, stride 2, ties": depthwise(6, 7, 8, stride=2, multiplier=2, ties=True),
}
"""Of which accumulators are computed first."""
BYTES = {
    "even": depthwise(6, 6, 8, rounded=True),
    "odd rows and columns": depthwise(7, 5, 8, zero_point=-128, rounded=True),
    "one pixel": depthwise(1, 1, 64, rounded=True),
    "channels beside fours": depthwise(4, 5, 11, rounded=True),
    "batch": depthwise(3, 4, 12, batch=2, rounded=True),
    "no padding": depthwise(7, 6, 4, pad=(0, 0, 0, 0), rounded=True),
    "wide padding": depthwise(3, 3, 4, pad=(2, 2, 2, 2), rounded=True),
    "many groups, odd width": depthwise(5, 3, 36, rounded=True),
    "two rows, one column": depthwise(2, 1, 8, rounded=True),
    "rows behind the last ones that are needed": depthwise(6, 7, 8, pad=(0, 1, 0, 1), rounded=True),
    "one column, no padding": depthwise(4, 3, 8, pad=(0, 0, 0, 0), rounded=True),
    "large": depthwise(6, 34, 8, rounded=True),
    "large, odd": depthwise(7, 33, 11, batch=2, zero_point=-128, rounded=True),
    "large, multiplier 2": depthwise(5, 38, 8, multiplier=2, rounded=True),
    "stride 2": depthwise(8, 8, 8, stride=2, pad=(0, 0, 1, 1), rounded=True),
    "stride 2, odd": depthwise(7, 9, 5, stride=2, zero_point=-128, rounded=True),
    "stride 2, even, rows above": depthwise(6, 8, 8, stride=2, rounded=True),
    "stride 2, no padding": depthwise(7, 8, 8, stride=2, pad=(0, 0, 0, 0), rounded=True),
    "stride 2, one output": depthwise(2, 2, 32, stride=2, pad=(0, 0, 1, 1), rounded=True),
    "stride 2, many groups": depthwise(5, 7, 28, stride=2, batch=2, rounded=True),
    "stride 2, wide padding": depthwise(4, 5, 8, stride=2, pad=(2, 2, 2, 2), rounded=True),
    "stride 2, sixteen channels together": depthwise(6, 7, 32, stride=2, rounded=True),
    "stride 2, sixteen at odd addresses": depthwise(6, 7, 19, stride=2, rounded=True),
    "5x5": depthwise(7, 15, 11, kernel=(5, 5), pad=(2, 2, 2, 2), rounded=True),
    "5x5, stride 2": depthwise(8, 14, 12, kernel=(5, 5), stride=2, pad=(1, 2, 2, 2), batch=2, rounded=True),
    "7x7, one pixel": depthwise(1, 1, 64, kernel=(7, 7), pad=(3, 3, 3, 3), rounded=True),
    "1x9": depthwise(1, 31, 8, kernel=(1, 9), pad=(0, 4, 0, 4), rounded=True),
    "one dimension": integer_conv_graph((2, 21, 8), (8, 9, 1), stride=(2,), pad=(4, 3), group=8, rounded=True),
    "a column": depthwise(23, 1, 8, kernel=(5, 1), pad=(1, 0, 3, 0), batch=2, rounded=True),
    "three in a line": line(12, 8, (1, 1), batch=2),
    "three in a line, odd": line(13, 5, (1, 1)),
    "three in a line, no padding": line(8, 4, (0, 0)),
    "three in a line, padding before": line(10, 6, (1, 0)),
    "three in a line, padding behind, odd": line(9, 4, (0, 1)),
    "three in a line, wide padding": line(9, 4, (2, 2)),
    "three in a short line": line(4, 4, (1, 1)),
    "three in a shorter line": line(3, 4, (1, 1)),
    "lines of several rows": depthwise(5, 9, 7, kernel=(1, 3), pad=(0, 1, 0, 1), stride=(2, 1), rounded=True),
    "lines beside rows of padding": depthwise(3, 6, 4, kernel=(1, 3), pad=(1, 1, 0, 1), rounded=True),
    "a column of three": depthwise(15, 1, 6, kernel=(3, 1), pad=(1, 0, 1, 0), zero_point=-128, rounded=True),
    "a column, stride 2": depthwise(21, 1, 12, kernel=(9, 1), stride=2, pad=(4, 0, 3, 0), rounded=True),
    "a column, dilation 2": depthwise(19, 1, 4, kernel=(3, 1), dilation=2, pad=(2, 0, 1, 0), rounded=True),
    "a column, stride and dilation": depthwise(19, 1, 4, kernel=(3, 1), stride=2, dilation=2, pad=(2, 0, 1, 0)),
    "a column behind the border": depthwise(9, 1, 12, kernel=(3, 1), stride=(1, 2), pad=(1, 1, 1, 0), rounded=True),
    "4x1": depthwise(9, 5, 8, kernel=(4, 1), pad=(1, 0, 2, 0), rounded=True),
    "1x1": depthwise(3, 5, 8, kernel=(1, 1), pad=(0, 0, 0, 0), rounded=True),
    "stride 3": depthwise(9, 11, 8, stride=3, rounded=True),
    "stride beyond the kernel": depthwise(9, 11, 8, kernel=(2, 2), stride=3, pad=(0, 0, 0, 0), rounded=True),
    "strides apart": depthwise(6, 9, 8, stride=(2, 1), rounded=True),
    "dilation": depthwise(8, 9, 8, dilation=2, pad=(2, 2, 2, 2), rounded=True),
    "dilation, more than columns": depthwise(5, 3, 4, dilation=4, pad=(4, 4, 4, 4), rounded=True),
    "all of the input": depthwise(7, 5, 8, kernel=(7, 5), pad=(0, 0, 0, 0), rounded=True),
    "multiplier 2": depthwise(6, 5, 8, multiplier=2, rounded=True),
    "multiplier 3, channels beside fours": depthwise(5, 4, 7, multiplier=3, batch=2, rounded=True),
    "multiplier 2, stride 2, many groups": depthwise(5, 7, 28, stride=2, multiplier=2, rounded=True),
    "multiplier 5, stride 3, odd addresses": depthwise(7, 8, 5, stride=3, multiplier=5, rounded=True),
    "multiplier 2, 5x5": depthwise(6, 7, 11, kernel=(5, 5), pad=(2, 2, 2, 2), multiplier=2, rounded=True),
    "multiplier 2, dilation": depthwise(8, 9, 6, dilation=2, pad=(2, 2, 2, 2), multiplier=2, rounded=True),
    "multiplier 2, one dimension": line(21, 6, (1, 1), multiplier=2),
    "multiplier 2, a column": depthwise(11, 1, 8, kernel=(5, 1), pad=(1, 0, 3, 0), multiplier=2, rounded=True),
}
"""Of which bytes are computed in one pass."""
GRAPHS = {**{f"sums, {name}": graph for name, graph in SUMS.items()}, **BYTES}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


@by_graph
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_jit, tmp_path)


@pytest.mark.check
@needs("gcc")
@by_graph
def test_portable_c(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_blocks(), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_graph
def test_emulated_cortex_m4(graph: Graph, route: object, tmp_path: Path) -> None:
    assert_exact(graph, M4, route, tmp_path)  # type: ignore[arg-type]


def blocks(graphs: Iterable[Graph]) -> set[str]:
    """The block instructions that M4 takes for them."""
    kernels = (kernel for graph in graphs for kernel in lower_graph(graph, M4).kernels)
    return {stmt.block for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}


def test_all_blocks_are_tried() -> None:
    sums, in_bytes = blocks(SUMS.values()), blocks(BYTES.values())
    others = {"grouped_pointwise_4"}
    assert sums | in_bytes == {name for name in BLOCKS if name.startswith("depthwise_")} | others
    assert sums & in_bytes <= {"depthwise_stage", "depthwise_fill", "depthwise_stage_row"}


def test_a_small_map_takes_the_place_of_its_operand() -> None:
    """Beside it are pairs of rows of four channels."""
    program = lower_graph(BYTES["even"], M4)
    assert program.plan.ram == 6 * 6 * 8 + (3 + 1) * (6 + 2) * 4 * 4
    assert blocks([BYTES["even"]]) == {"depthwise_stage_pairs", "depthwise_map"}


def test_layers_that_go_row_by_row_take_no_whole_maps() -> None:
    by_rows = lower_graph(BYTES["even"], M4, Goal(max_ram=1 << 20, pools={"fast": None}))
    assert {"depthwise_map"}.isdisjoint(
        stmt.block for kernel in by_rows.kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)
    )


def test_scratch_is_four_rows_of_four_channels() -> None:
    program = lower_graph(SUMS["even"], M4)
    arena = [buffer.nbytes for buffer in program.buffers.values() if buffer.storage is Storage.ARENA]
    assert arena == [(6 + 2) * 4 * 4 * 2]
