"""Block instructions of depthwise 3x3 convolutions on cores without packed arithmetic: one channel at a time.

A *plane* is some rows of one channel as words, with what stands for zero beyond the borders. Rows are ``row`` words
apart. Four neighbouring outputs share the words that they load.
"""

from __future__ import annotations

from ..ir.loops import (
    I32,
    Access,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Convert,
    Expr,
    Kernel,
    Let,
    Load,
    Space,
    Stmt,
    Store,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param
from .instruction import THUMB, BlockInstruction

KERNEL = 3
OUTPUTS = 4
"""Neighbours that are computed together."""


def plane_words(rows: int, outputs: int, stride: int, row: int) -> int:
    """What ``depthwise3x3`` reads."""
    return ((rows - 1) * stride + KERNEL - 1) * row + (outputs - 1) * stride + KERNEL


def _plane_row(columns: int, step: int) -> Kernel:
    """Bytes ``step`` apart as words."""
    x = param("x", DType.I8, (columns - 1) * step + 1, Access.READ)
    y, i = param("y", DType.I32, columns, Access.WRITE), Var("i")
    return Kernel("plane_row", (x, y), loop(i, columns, Store(y, (i,), Convert(I32, Load(x, (i * step,))))))


def _plane_fill(columns: int, value: int) -> Kernel:
    y, i = param("y", DType.I32, columns, Access.WRITE), Var("i")
    return Kernel("plane_fill", (y,), loop(i, columns, Store(y, (i,), Const(value, I32))))


def _depthwise(rows: int, outputs: int, stride: int, row: int) -> Kernel:
    """``rows`` of ``outputs`` accumulators of one channel."""
    b = param("b", DType.I32, 1, Access.READ)
    w = param("w", DType.I8, KERNEL * KERNEL, Access.READ)
    x = param("x", DType.I32, plane_words(rows, outputs, stride, row), Access.READ)
    y = param("y", DType.I32, rows * outputs, Access.WRITE)
    weights = [Var(f"w{tap}", I32) for tap in range(KERNEL * KERNEL)]
    r, quad, rest = Var("r"), Var("quad"), outputs % OUTPUTS
    lets: list[Stmt] = [Let(var, Convert(I32, Load(w, (as_expr(tap),)))) for tap, var in enumerate(weights)]

    def some(first: Expr, count: int, stem: str) -> Block:
        start = r * (stride * row) + first * stride
        return _outputs(Load(b, (as_expr(0),)), weights, x, start, row, stride, count, stem, y, r * outputs + first)

    full = outputs // OUTPUTS
    body = loop(quad, full, *some(quad * OUTPUTS, OUTPUTS, "q")) if full else ()
    if rest:
        body = (*body, *some(as_expr(full * OUTPUTS), rest, "r"))
    return Kernel("depthwise3x3", (b, w, x, y), (*lets, *loop(r, rows, *body)))


def _outputs(
    bias: Expr, weights: list[Var], x: Buffer, start: Expr, row: int, stride: int, count: int, stem: str, y: Buffer,
    to: Expr,
) -> Block:  # fmt: skip
    """``count`` neighbours, whose first tap is at ``start``; each word is loaded once."""
    acc = Buffer(f"acc_{stem}", I32, (count,), Space.REG)
    out: list[Stmt] = [Alloc(acc), *(Store(acc, (as_expr(i),), bias) for i in range(count))]
    for kh in range(KERNEL):
        for column in range((count - 1) * stride + KERNEL):
            users = [(i, kw) for i in range(count) for kw in range(KERNEL) if i * stride + kw == column]
            word = Var(f"x{kh}_{column}_{stem}", I32)
            out.append(Let(word, Load(x, (start + (kh * row + column),))))
            for i, kw in users:
                at = (as_expr(i),)
                product = Binary("mul", word, weights[kh * KERNEL + kw])
                out.append(Store(acc, at, Binary("add", Load(acc, at), product)))
    out += [Store(y, (to + i,), Load(acc, (as_expr(i),))) for i in range(count)]
    return tuple(out)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("plane_row", ("columns", "step"), _plane_row, THUMB, ((3, 5),)),
    BlockInstruction("plane_fill", ("columns", "value"), _plane_fill, THUMB, ((6, 9),)),
    BlockInstruction("depthwise3x3", ("rows", "outputs", "stride", "row"), _depthwise, THUMB, ((2, 7, 2, 17),)),
)
