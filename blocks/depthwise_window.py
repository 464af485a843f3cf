"""Block instructions of depthwise convolutions with any kernel: one row of outputs from staged rows.

Rows are staged as ``depthwise_rows.py`` says, one for each row of the kernel. Outputs are computed in pairs: the
first begins at an even column, the second at the odd one behind it. So the *stream* has for each channel its bias, and
for each row and each pair of columns under a pair of outputs the bytes ``(w[2t], w[2t - 1], w[2t + 1], w[2t])``, zero
beyond the kernel: ``widen_even`` are the weights of the first output, ``widen_odd`` those of the second. Behind them
follows, for bytes, the factor of the requantization (by the rounded upper word, as in ``depthwise_bytes.py``).
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.loops import (
    I32,
    Access,
    Alloc,
    Block,
    Buffer,
    Call,
    Expr,
    Kernel,
    Let,
    Load,
    Space,
    Store,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import param, requantized_rounded
from .depthwise import COLUMN, LANES, dot
from .instruction import DSP_FPU, BlockInstruction

TOGETHER = 8
"""Outputs at a time; half of that where no more are left."""


def pairs_under(outputs: int, words: int) -> int:
    """Pairs of columns that are staged for a row of outputs, whose windows have ``words`` pairs."""
    return whole(outputs) // 2 + words - 1


def whole(outputs: int) -> int:
    """Outputs that are computed; what is more than ``outputs`` is not wanted."""
    half = TOGETHER // 2
    return -(-outputs // half) * half


def window_bytes(groups: int, outputs: int, rows: int, words: int, step: int, zero_point: int) -> Kernel:
    """``groups`` times four channels of pixels that are ``step`` bytes apart."""
    channel = rows * words + 2
    w = param("w", DType.I32, groups * LANES * channel, Access.READ, 4)
    x = param("x", DType.I32, rows * groups * pairs_under(outputs, words) * LANES, Access.READ, 4)
    y = param("y", DType.I8, (outputs - 1) * step + LANES * groups, Access.WRITE)
    group, lane, factor = Var("group"), Var("lane"), Var("factor", I32)
    first = (group * LANES + lane) * channel

    def store(column: Expr, acc: Expr) -> Block:
        place = column * step + group * LANES + lane
        return (Store(y, (place,), requantized_rounded(acc, factor, zero_point)),)

    body = (
        Let(factor, Load(w, (first + (channel - 1),))),
        *_windows(w, x, first, group, lane, (groups, outputs, rows, words), store),
    )
    return Kernel("depthwise_window_bytes", (w, x, y), loop(group, groups, *loop(lane, LANES, *body)))


def window_sums(outputs: int, rows: int, words: int) -> Kernel:
    """The accumulators of four channels, as ``depthwise.py`` has them: those of an output in place of a column. The
    number of outputs is a :func:`whole` one."""
    channel = rows * words + 1
    w = param("w", DType.I32, LANES * channel, Access.READ, 4)
    x = param("x", DType.I32, rows * pairs_under(outputs, words) * LANES, Access.READ, 4)
    y = param("y", DType.I32, outputs * COLUMN, Access.WRITE, 4)
    lane = Var("lane")

    def store(column: Expr, acc: Expr) -> Block:
        return (Store(y, (column * COLUMN + lane * 2,), acc),)

    body = _windows(w, x, lane * channel, as_expr(0), lane, (1, outputs, rows, words), store)
    return Kernel("depthwise_window_sums", (w, x, y), loop(lane, LANES, *body))


def _windows(
    w: Buffer,
    x: Buffer,
    first: Expr,
    group: Expr,
    lane: Expr,
    extents: tuple[int, int, int, int],
    store: Callable[[Expr, Expr], Block],
) -> Block:
    """All outputs of a channel, whose words begin at ``first``; ``extents`` are groups, outputs, rows and words."""
    groups, outputs, rows, words = extents
    pairs, bias = pairs_under(outputs, words), Var("bias", I32)
    out: Block = (Let(bias, Load(w, (first,))),)
    full = outputs // TOGETHER * TOGETHER
    for start, times, count, kept in (
        (0, outputs // TOGETHER, TOGETHER, TOGETHER),
        (full, int(full < outputs), whole(outputs) - full, outputs - full),
    ):
        block, row, word = Var(f"block{start}"), Var("row"), Var("word")
        acc = Buffer(f"acc{start}", Type(DType.I32), (count,), Space.REG)
        even, odd, four = Var("even", I32), Var("odd", I32), Var("four", I32)
        body: Block = (
            Let(four, Load(w, (first + row * words + word + 1,))),
            Let(even, Call("widen_even", (four,), I32)),
            Let(odd, Call("widen_odd", (four,), I32)),
        )
        for number in range(0, count, 2):
            pair = block * (count // 2) + word + (start // 2 + number // 2)
            both = Var(f"pair{number}", I32)
            place = row * (groups * pairs * LANES) + group * (pairs * LANES) + pair * LANES + lane
            body += (Let(both, Load(x, (place,))),)
            for past, weights in enumerate((even, odd)):
                at = (as_expr(number + past),)
                body += (Store(acc, at, dot(Load(acc, at), both, weights)),)
        sums: Block = (Alloc(acc), *(Store(acc, (as_expr(number),), bias) for number in range(count)))
        sums += loop(row, rows, *loop(word, words, *body))
        for number in range(kept):
            sums += store(block * count + (start + number), Load(acc, (as_expr(number),)))
        out += loop(block, times, *sums)
    return out


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "depthwise_window_bytes", ("groups", "outputs", "rows", "words", "step", "zero_point"), window_bytes,
        DSP_FPU, ((2, 15, 2, 3, 8, -3),),
    ),
    BlockInstruction("depthwise_window_sums", ("outputs", "rows", "words"), window_sums, DSP_FPU, ((12, 2, 3),)),
)
