"""Block instructions of depthwise 3x3 convolutions on cores without packed arithmetic: one channel at a time.

*Staged* are some rows of one channel as words, with what stands for zero beyond the borders. Rows are ``row`` words
apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param, signed
from .instruction import THUMB, BlockInstruction, Cycles, linear, of_groups
from .tiles import tile_block

KERNEL = 3
Size = TypeVar("Size", int, Number)


def channel_words(rows: Size, outputs: Size, stride: Size, row: Size) -> Size:
    """What ``depthwise3x3`` reads."""
    return ((rows - 1) * stride + (KERNEL - 1)) * row + (outputs - 1) * stride + KERNEL


def _row(columns: Number, step: Number) -> Kernel:
    """Bytes ``step`` apart as words."""
    x = param("x", DType.I8, (columns - 1) * step + 1, Access.READ)
    y, i = param("y", DType.I32, columns, Access.WRITE), Var("i")
    return Kernel("channel_row", (x, y), loop(i, columns, store(y[i], signed(x, i * step))))


def _rows(rows: Number, columns: Number, step: Number, apart: Number, row: Number) -> Kernel:
    """``rows`` of bytes that are ``step`` apart as words: rows are ``apart`` bytes apart, and ``row`` words."""
    x = param("x", DType.I8, (rows - 1) * apart + (columns - 1) * step + 1, Access.READ)
    y, r, i = param("y", DType.I32, (rows - 1) * row + columns, Access.WRITE), Var("r"), Var("i")
    body = store(y[r * row + i], signed(x, r * apart + i * step))
    return Kernel("channel_rows", (x, y), loop(r, rows, *loop(i, columns, body)))


def _fill(columns: Number, value: Number) -> Kernel:
    """The same word throughout."""
    y, i = param("y", DType.I32, columns, Access.WRITE), Var("i")
    return Kernel("channel_fill", (y,), loop(i, columns, store(y[i], I32(value))))


def _depthwise(rows: Number, outputs: Number, stride: Number, row: Number) -> Kernel:
    """``rows`` of ``outputs`` accumulators of one channel."""
    b = param("b", DType.I32, 1, Access.READ)
    w = param("w", DType.I8, KERNEL * KERNEL, Access.READ)
    x = param("x", DType.I32, channel_words(rows, outputs, stride, row), Access.READ)
    y, r, column = param("y", DType.I32, rows * outputs, Access.WRITE), Var("r"), Var("column")

    def group(kh: Var, kw: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        weight = Let(Var("weight", I32), signed(w, kh * KERNEL + kw))
        word = x[(r * stride + kh) * row + column * stride + kw]
        return (weight,), lambda acc, _, __: acc + word * weight.var

    def finish(_: int, __: int, acc: Expr) -> Block:
        return (store(y[r * outputs + column], acc),)

    taps = tile_block((1, 1), (KERNEL, KERNEL), lambda _, __: b[0], group, finish)
    return Kernel("depthwise3x3", (b, w, x, y), loop(r, rows, *loop(column, outputs, *taps)))


def _rows_cycles(call: float, row: float, each: float) -> Callable[..., float]:
    return lambda rows, columns, *_: call + rows * (row + each * columns)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "channel_row", ("columns", "step"), _row, THUMB, ((3, 5),),
        cycles=Cycles(linear(52, 4.75), linear(47, 5)),
    ),
    BlockInstruction(
        "channel_rows", ("rows", "columns", "step", "apart", "row"), _rows, THUMB, ((1, 3, 5, 0, 3), (2, 5, 3, 16, 7)),
        cycles=Cycles(_rows_cycles(40, 32, 4.75), _rows_cycles(45, 32, 5.25)), in_parts=True, rows_together=True,
    ),
    BlockInstruction("channel_fill", ("columns", "value"), _fill, THUMB, ((6, 9),)),
    BlockInstruction(
        "depthwise3x3", ("rows", "outputs", "stride", "row"), _depthwise, THUMB, ((2, 7, 2, 17),),
        cycles=Cycles(of_groups(304, 36, 39.2), of_groups(70, 87, 34)),
    ),
)
