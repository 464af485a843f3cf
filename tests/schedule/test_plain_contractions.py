"""Integer convolutions on cores without packed arithmetic: the bytes of the operators' meaning, without a halo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ccml.emit_llvm.elf import defined_symbols, undefined_symbols
from ccml.emit_llvm.expressions import SCALE_HELPER
from ccml.emit_llvm.objects import emit_objects
from ccml.ir.graph import Graph
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.program import Storage
from ccml.ir.types import DType
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.targets import Machine, select
from ccml.targets.target import Registers

from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_fixed_requantization import bounded
from tests.schedule.test_staged import GRAPHS as CONTRACTIONS
from tests.schedule.test_staged import Route, assert_exact, by_c, by_jit, by_objects
from tests.tools import needs

SAME = (1, 1, 1, 1)
M0, M3 = select("cortex-m0"), select("cortex-m3")


def on_host(board: Machine) -> Machine:
    """The portable target with what the board has."""
    machine = select("generic")
    cpu = replace(machine.cpu, features=board.cpu.features, extensions=board.cpu.extensions, registers=Registers(10, 0))
    return replace(machine, cpu=cpu)


def defined(objects: list[tuple[str, bytes]]) -> set[str]:
    return {symbol for _, image in objects for symbol in defined_symbols(image)}


def depthwise(x: tuple[int, ...], **attrs: object) -> Graph:
    return integer_conv_graph(x, (x[-1], 3, 3, 1), group=x[-1], **attrs)  # type: ignore[arg-type]


GRAPHS = {
    **CONTRACTIONS,
    "more channels than a chunk": integer_conv_graph((1, 3, 3, 9), (70, 1, 1, 9)),
    "halfwords, more channels": integer_conv_graph((1, 3, 5, 7), (50, 3, 3, 7), pad=SAME, dtype=DType.I16),
    "multipliers": bounded(integer_conv_graph((1, 5, 5, 16), (8, 3, 3, 16), pad=SAME), 0.01133719),
    "multipliers, single pixel": bounded(integer_conv_graph((1, 1, 1, 40), (27, 1, 1, 40)), 0.00213719),
    "single pixel, parts": integer_conv_graph((1, 1, 1, 300), (261, 1, 1, 300)),
    "single pixel, residual in parts": integer_conv_graph((1, 1, 1, 130), (130, 1, 1, 130), residual=True),
    "sums beyond 24 bits": integer_conv_graph((1, 2, 2, 1100), (3, 1, 1, 1100)),
    "depthwise": depthwise((1, 6, 7, 5), pad=SAME),
    "depthwise, few columns": depthwise((1, 9, 3, 4), pad=SAME, zero_point=-128),
    "depthwise, stride 2": depthwise((1, 9, 10, 3), stride=(2, 2), pad=(0, 0, 1, 1)),
    "depthwise, stride 2, unread columns": depthwise((2, 8, 8, 3), stride=(2, 2), pad=(1, 1, 0, 0)),
    "depthwise, several bands": depthwise((1, 21, 50, 2), pad=SAME),
    "depthwise, multipliers": bounded(depthwise((1, 6, 9, 5), pad=SAME), 0.01133719),
    "depthwise, no padding": depthwise((1, 5, 5, 3)),
    "depthwise, residual": depthwise((1, 5, 6, 3), pad=SAME, residual=True),
}
FEW_CHANNELS = {"halfwords, odd pixels", "halfwords, residual"}
"""That a Cortex-M3 computes as fast without a block."""
OTHER_KERNEL = integer_conv_graph((1, 7, 7, 4), (4, 5, 5, 1), group=4, pad=(2, 2, 2, 2))
ON_BOARDS = (
    "pointwise, odd pixels", "3x3, odd rows", "one channel, tall kernel", "single pixel, depth 11", "multipliers",
    "residual, odd pixels", "single pixel, parts", "sums beyond 24 bits", "depthwise, stride 2",
    "depthwise, multipliers",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "board"),
    [
        *(pytest.param(name, M0, id=f"{name}-m0") for name in GRAPHS),
        *(pytest.param(name, M3, id=f"{name}-m3") for name in GRAPHS if name not in FEW_CHANNELS),
    ],
)
def test_meaning_in_process(name: str, board: Machine, tmp_path: Path) -> None:
    assert_exact(GRAPHS[name], on_host(board), by_jit, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("board", [M0, M3], ids=["m0", "m3"])
@pytest.mark.parametrize("route", [by_c, by_objects])
@pytest.mark.parametrize("name", ON_BOARDS)
def test_emulated(name: str, route: Route, board: Machine, tmp_path: Path) -> None:
    assert_exact(GRAPHS[name], board, route, tmp_path)


@pytest.mark.parametrize("name", ["3x3, odd rows", "depthwise", "depthwise, stride 2"])
def test_no_halo(name: str) -> None:
    program = lower_graph(GRAPHS[name], M3)
    (x,) = (buffer for buffer in program.buffers.values() if buffer.storage is Storage.INPUT)
    assert x.shape == GRAPHS[name].inputs[0].shape


@pytest.mark.parametrize("board", [M0, M3], ids=["m0", "m3"])
@pytest.mark.parametrize("name", ["3x3", "residual", "multipliers", "depthwise", "fully connected", "another kernel"])
def test_no_float_routine_is_called(name: str, board: Machine) -> None:
    """Neither for channels with a multiplier nor for those without."""
    objects = emit_objects(lower_graph(GRAPHS.get(name, OTHER_KERNEL), board), board)
    called = {symbol for _, image in objects for symbol in undefined_symbols(image)}
    integer = {"__aeabi_uidiv", "__aeabi_uidivmod", "__aeabi_idiv", "__aeabi_idivmod", SCALE_HELPER}
    assert called <= integer | defined(objects)


def test_a_fully_connected_layer_takes_little_memory() -> None:
    """Neither all of its activations nor all of its accumulators are words at a time."""
    program = lower_graph(integer_conv_graph((1, 1, 1, 1000), (1000, 1, 1, 1000)), M0)
    scratch = [b.nbytes for b in program.buffers.values() if b.storage is Storage.ARENA]
    assert sum(scratch) < 2000


def test_more_rows_at_once_where_memory_may_be_spent() -> None:
    def rows(goal: Goal) -> set[int]:
        kernels = lower_graph(depthwise((1, 20, 6, 4), pad=SAME), M3, goal).kernels
        invoked = [stmt for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)]
        return {stmt.numbers[0] for stmt in invoked if stmt.block == "depthwise3x3"}

    assert rows(Goal()) == {5}
    assert rows(Goal(Optimize.SPEED)) == {10}
