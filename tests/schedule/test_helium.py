"""Integer layers through the block instructions of Helium: the same bytes as the operators' meaning on every way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph
from ccml.ir.program import Storage
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.schedule.graphs import integer_conv_graph, lookup_graph, random_inputs, sum_graph, sum_of_two_graph
from tests.schedule.test_halfword_factors import with_scales
from tests.schedule.test_staged import GRAPHS as CONTRACTIONS
from tests.schedule.test_staged import (
    GROUPS,
    GROUPS_OF_STEPS,
    SAME,
    Route,
    assert_exact,
    by_c,
    by_jit,
    by_objects,
    matmul_graph,
)
from tests.tools import needs

M55 = select("cortex-m55")


def with_helium() -> Machine:
    """The portable target as if it had the block instructions: their meaning and C twins on this machine."""
    machine = select("generic")
    return replace(machine, cpu=replace(machine.cpu, extensions=M55.cpu.extensions))


GRAPHS = {
    **CONTRACTIONS,
    **GROUPS,
    **GROUPS_OF_STEPS,
    "pointwise, whole steps": integer_conv_graph((1, 5, 3, 32), (9, 1, 1, 32)),
    "many steps in a run": integer_conv_graph((1, 3, 3, 160), (6, 1, 1, 160)),
    "3x3 in place": integer_conv_graph((1, 7, 6, 16), (5, 3, 3, 16)),
    "3x3 in place, stride": integer_conv_graph((1, 9, 9, 16), (4, 3, 3, 16), stride=(2, 2)),
    "3x3, more steps than straight": integer_conv_graph((1, 4, 4, 96), (4, 3, 3, 96), pad=SAME),
    "borders wider than the map": integer_conv_graph((1, 2, 1, 4), (3, 5, 5, 4), pad=(4, 4, 4, 4)),
    "stride beyond the kernel": integer_conv_graph((1, 11, 13, 3), (6, 2, 2, 3), stride=(4, 5)),
    "along one dimension": integer_conv_graph((2, 17, 6), (7, 3, 6), stride=(2,), pad=(1, 1)),
    "3x3, dilation": integer_conv_graph((1, 9, 9, 8), (5, 3, 3, 8), pad=(2, 2, 2, 2), dilation=(2, 2)),
    "3x3, dilated rows": integer_conv_graph((1, 9, 9, 16), (5, 3, 3, 16), dilation=(3, 1)),
    "3x3, dilated columns": integer_conv_graph((1, 9, 9, 16), (5, 3, 3, 16), dilation=(1, 3)),
    "one column": integer_conv_graph((1, 9, 1, 8), (6, 3, 1, 8), pad=(1, 0, 1, 0)),
    "fully connected, depth 300": matmul_graph((1,), 300, 21),
    "rows, depth 300": matmul_graph((5,), 300, 6),
    "depthwise": integer_conv_graph((1, 6, 5, 16), (16, 3, 3, 1), pad=SAME, group=16, zero_point=-128),
    "depthwise, odd rows": integer_conv_graph((2, 5, 7, 12), (12, 3, 3, 1), pad=SAME, group=12),
    "depthwise, channels left": integer_conv_graph((1, 7, 5, 7), (7, 3, 3, 1), pad=SAME, group=7),
    "depthwise, stride": integer_conv_graph((1, 9, 8, 8), (8, 3, 3, 1), stride=(2, 2), pad=(0, 0, 1, 1), group=8),
    "depthwise, stride, odd": integer_conv_graph((1, 9, 9, 5), (5, 3, 3, 1), stride=(2, 2), pad=SAME, group=5),
    "depthwise, dilation": integer_conv_graph((1, 9, 9, 8), (8, 3, 3, 1), pad=(2, 2, 2, 2), dilation=(2, 2), group=8),
    "depthwise 2x4": integer_conv_graph((1, 6, 9, 8), (8, 2, 4, 1), pad=(0, 2, 1, 1), group=8),
    "depthwise 4x1": integer_conv_graph((1, 9, 4, 6), (6, 4, 1, 1), group=6),
    "depthwise, wide borders": integer_conv_graph((1, 2, 2, 8), (8, 3, 3, 1), pad=(3, 3, 4, 4), group=8),
    "depthwise 5x5": integer_conv_graph((1, 7, 8, 8), (8, 5, 5, 1), pad=(2, 2, 2, 2), group=8),
    "depthwise 5x5, dilation": integer_conv_graph(
        (1, 9, 10, 5), (5, 5, 5, 1), pad=(4, 3, 4, 4), dilation=(2, 2), group=5
    ),
    "depthwise 7x5, in parts, table": integer_conv_graph(
        (1, 5, 10, 130), (130, 7, 5, 1), pad=(3, 2, 3, 2), group=130, table=True
    ),
    "depthwise 6x5, stride": integer_conv_graph((1, 9, 10, 6), (6, 6, 5, 1), stride=(2, 2), pad=(2, 4, 1, 0), group=6),
    "depthwise 1x7": integer_conv_graph((2, 3, 9, 7), (7, 1, 7, 1), pad=(0, 3, 0, 3), group=7),
    "depthwise 3x7": integer_conv_graph((1, 7, 9, 6), (6, 3, 7, 1), stride=(1, 2), pad=(1, 3, 1, 3), group=6),
    "depthwise 9x9": integer_conv_graph((1, 12, 11, 5), (5, 9, 9, 1), stride=(2, 2), pad=(9, 4, 4, 4), group=5),
    "depthwise 13x1": integer_conv_graph((1, 17, 3, 12), (12, 13, 1, 1), pad=(3, 0, 3, 0), group=12),
    "depthwise, two channels each": integer_conv_graph((1, 6, 5, 8), (16, 3, 3, 1), pad=SAME, group=8),
    "depthwise, three channels each": integer_conv_graph((1, 7, 9, 5), (15, 3, 3, 1), stride=(2, 2), group=5),
    "depthwise 5x5, two channels each": integer_conv_graph((1, 7, 8, 7), (14, 5, 5, 1), pad=(2, 2, 2, 2), group=7),
    "depthwise 6x6, three channels each": integer_conv_graph(
        (1, 7, 8, 3), (9, 6, 6, 1), pad=(3, 3, 2, 2), group=3
    ),
    "one channel": integer_conv_graph((1, 7, 12, 1), (1, 3, 3, 1), pad=SAME),
    "one channel, prime columns": integer_conv_graph((2, 4, 23, 1), (1, 2, 3, 1), stride=(2, 1), pad=(0, 1, 0, 1)),
    "one channel 5x5": integer_conv_graph((1, 6, 9, 1), (1, 5, 5, 1), pad=(2, 2, 2, 2)),
    "one channel, residual": integer_conv_graph((1, 5, 8, 1), (1, 3, 3, 1), pad=SAME, residual=True),
    "one channel to three": integer_conv_graph((1, 5, 8, 1), (3, 3, 3, 1), pad=SAME, dilation=(1, 2)),
    "depthwise, three channels": integer_conv_graph((1, 5, 8, 3), (3, 3, 3, 1), pad=SAME, group=3),
    "depthwise, three channels, table": integer_conv_graph((1, 4, 6, 3), (3, 4, 4, 1), group=3, table=True),
    "pointwise, two pixels together": integer_conv_graph((1, 5, 6, 7), (6, 1, 1, 7)),
    "pointwise, three pixels together": integer_conv_graph((2, 3, 3, 5), (1, 1, 1, 5), zero_point=-5),
    "pointwise, clamped pixels together": integer_conv_graph((1, 8, 8, 2), (1, 1, 1, 2), lo=-7),
    "pointwise, few channels, residual": integer_conv_graph((1, 4, 4, 3), (3, 1, 1, 3), residual=True),
    "pointwise, few channels, table": integer_conv_graph((1, 4, 4, 3), (3, 1, 1, 3), table=True),
    "pointwise, few channels": integer_conv_graph((2, 5, 7, 3), (3, 1, 1, 3)),
    "pointwise, one pixel wide": integer_conv_graph((1, 6, 1, 5), (6, 1, 1, 5)),
    "groups of eight channels": integer_conv_graph((1, 5, 7, 32), (20, 1, 1, 8), group=4),
    "depthwise, clamped": integer_conv_graph((1, 5, 5, 8), (8, 3, 3, 1), pad=SAME, group=8, lo=-7),
    "depthwise, residual": integer_conv_graph((1, 5, 5, 8), (8, 3, 3, 1), pad=SAME, group=8, residual=True),
    "depthwise, table": integer_conv_graph((2, 5, 5, 8), (8, 3, 3, 1), pad=SAME, group=8, table=True),
    "depthwise, along one dimension": integer_conv_graph((1, 23, 8), (8, 9, 1), pad=(4, 3), stride=(2,), group=8),
    "depthwise, along one dimension, table": integer_conv_graph(
        (2, 23, 5), (5, 3, 1), stride=(1,), pad=(1, 1), group=5, table=True
    ),
    "residual, table": integer_conv_graph((1, 3, 70, 16), (9, 1, 1, 16), residual=True, table=True),
    "table": integer_conv_graph((1, 5, 7, 16), (9, 1, 1, 16), table=True),
    "fully connected, table": integer_conv_graph((1, 1, 1, 40), (9, 1, 1, 40), table=True),
    "table alone": lookup_graph((3, 41, 19)),
    "sum of two": sum_of_two_graph((3, 41, 19)),
    "sum of a map": sum_graph((2, 5, 7, 10), (1, 2), True),
    "sum of a sequence": sum_graph((3, 9, 16), (1,), False),
}
FACTORS = {
    "one run, fours": with_scales(integer_conv_graph((1, 3, 5, 32), (8, 1, 1, 32))),
    "one run, one tile, odd pixels": with_scales(integer_conv_graph((1, 1, 7, 16), (4, 1, 1, 16))),
    "short runs": with_scales(integer_conv_graph((1, 5, 6, 16), (8, 3, 3, 16))),
    "channels left": with_scales(integer_conv_graph((1, 5, 6, 16), (7, 3, 3, 16), pad=SAME)),
    "residual": with_scales(integer_conv_graph((1, 5, 6, 16), (8, 3, 3, 16), pad=SAME, residual=True)),
    "table": with_scales(integer_conv_graph((1, 5, 6, 16), (8, 1, 1, 16), table=True)),
    "groups": with_scales(integer_conv_graph((1, 5, 6, 32), (8, 1, 1, 16), group=2)),
    "one pixel": with_scales(integer_conv_graph((1, 1, 1, 150), (21, 1, 1, 150))),
    "one pixel, eight steps": with_scales(integer_conv_graph((1, 1, 1, 128), (27, 1, 1, 128))),
    "one pixel, eight steps in part": with_scales(integer_conv_graph((1, 1, 1, 116), (24, 1, 1, 116))),
    "one step": with_scales(integer_conv_graph((1, 5, 7, 9), (6, 1, 1, 9))),
    "one step, groups": with_scales(integer_conv_graph((1, 5, 7, 32), (24, 1, 1, 8), group=4)),
    "depthwise": integer_conv_graph((1, 6, 5, 16), (16, 3, 3, 1), pad=SAME, group=16, rounded=True),
    "depthwise 5x5": integer_conv_graph((1, 7, 8, 7), (7, 5, 5, 1), pad=(2, 2, 2, 2), group=7, rounded=True),
    "depthwise, channels left": integer_conv_graph((1, 7, 5, 7), (7, 3, 3, 1), pad=SAME, group=7, rounded=True),
    "depthwise, stride": integer_conv_graph((1, 9, 9, 6), (6, 3, 3, 1), stride=(2, 2), group=6, rounded=True),
    "depthwise 5x5, stride, in parts": with_scales(
        integer_conv_graph((1, 4, 13, 100), (100, 5, 5, 1), stride=(2, 2), pad=(2, 2, 2, 2), group=100)
    ),
    "depthwise, stride, two channels each": with_scales(
        integer_conv_graph((1, 8, 9, 21), (42, 3, 3, 1), stride=(2, 2), pad=SAME, group=21)
    ),
    "depthwise, stride, four channels each, table": integer_conv_graph(
        (2, 7, 6, 3), (12, 2, 3, 1), stride=(2, 1), pad=(0, 1, 1, 1), group=3, rounded=True, table=True
    ),
    "pixels together": with_scales(integer_conv_graph((1, 6, 8, 3), (3, 1, 1, 3))),
    "one channel": integer_conv_graph((1, 7, 12, 1), (1, 3, 3, 1), pad=SAME, rounded=True),
    "depthwise, three channels": integer_conv_graph((1, 6, 8, 3), (3, 3, 3, 1), pad=SAME, group=3, rounded=True),
}
"""Layers whose requantization is exact by factors."""
ORDINARY = {
    "three dimensions": integer_conv_graph((1, 3, 4, 5, 4), (6, 2, 2, 2, 4), stride=(1, 1, 1), pad=(0,) * 6),
}
FEW = [
    "pointwise, odd pixels", "pointwise, depth 11", "3x3", "3x3, dilation", "one channel, tall kernel",
    "many steps in a run",
    "borders wider than the map", "fully connected, depth 300", "clamped above the least", "residual", "matmul",
    "depthwise, odd rows", "depthwise, channels left", "depthwise, stride, odd", "depthwise, clamped", "sum of a map",
    "depthwise, table", "residual, table", "depthwise, along one dimension", "table", "table alone", "sum of two",
]  # fmt: skip
by_few = pytest.mark.parametrize("graph", [GRAPHS[name] for name in FEW], ids=FEW)
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


@by_graph
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_helium(), by_jit, tmp_path)


by_factors = pytest.mark.parametrize("graph", FACTORS.values(), ids=FACTORS.keys())


@by_factors
def test_factors_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_helium(), by_jit, tmp_path)
    blocks = {block.name.partition("_fixed")[1] for block in lower_graph(graph, M55).blocks if "gemm" in block.name}
    assert blocks <= {"_fixed"}


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_factors
def test_factors_on_cortex_m55(graph: Graph, route: Route, tmp_path: Path) -> None:
    assert_exact(graph, M55, route, tmp_path)


@pytest.mark.parametrize("graph", ORDINARY.values(), ids=ORDINARY.keys())
def test_what_has_no_block_is_right_too(graph: Graph) -> None:
    inputs, name = random_inputs(graph), graph.outputs[0].name
    found = JitModel(lower_graph(graph, with_helium()), with_helium()).run(inputs)[name]
    np.testing.assert_array_equal(found, evaluate_graph(graph, inputs)[name])


@pytest.mark.check
@needs("gcc")
@by_few
def test_portable_c(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_helium(), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@by_graph
def test_assembly_on_cortex_m55(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, M55, by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@by_few
def test_objects_on_cortex_m55(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, M55, by_objects, tmp_path)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("one channel", (3, 4, 1, 3, 4)),
        ("depthwise, three channels", (2, 12, 3, 3, 12)),
        ("depthwise", (5, 16, 16, 3, 16)),
    ],
)
def test_few_channels_of_neighbouring_columns_are_side_by_side(name: str, numbers: tuple[int, ...]) -> None:
    """Pixels and channels from one to the next, from tap to tap, taps, and channels."""
    names = [block.name for block in lower_graph(FACTORS[name], M55).blocks]
    block = next(name for name in names if name.startswith("helium_depthwise_rows"))
    assert block.replace("_fixed", "").split("_")[3:8] == [str(number) for number in numbers]


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("depthwise, stride, two channels each", "helium_depthwise_pixels_twice_fixed"),
        ("depthwise, stride, four channels each, table", "helium_depthwise_pixels_four_fixed"),
    ],
)
def test_bytes_that_several_channels_see_are_staged_once(name: str, block: str) -> None:
    names = [found.name for found in lower_graph(FACTORS[name], M55).blocks]
    assert any(found.startswith(block) for found in names)
    assert not any(found.startswith("helium_repeat") for found in names)


def test_windows_are_staged_for_some_channels_at_a_time() -> None:
    """Of 100 channels 64 and 36; two planes of words for the 17 columns under a row, with room for a vector of them,
    and the last row of a window, three columns longer."""
    program = lower_graph(FACTORS["depthwise 5x5, stride, in parts"], M55)
    arena = [buffer.nbytes for buffer in program.buffers.values() if buffer.storage is Storage.ARENA]
    assert sorted(arena) == [(17 + 3) * 64, 2 * (17 * 64 + 4) * 4]


@pytest.mark.parametrize(
    ("name", "rows"), [("3x3 in place", 0), ("pointwise, whole steps", 0), ("3x3", (2 + 1) * 10 * 16)]
)
def test_scratch_is_the_rows_under_a_window(name: str, rows: int) -> None:
    program = lower_graph(GRAPHS[name], M55)
    arena = [buffer.nbytes for buffer in program.buffers.values() if buffer.storage is Storage.ARENA]
    assert sum(arena) == rows
