"""Block instructions of depthwise 3x3 convolutions: four channels of one or two rows of outputs at a time.

*Staged columns*: for each column of the input (borders included) and each of four channels two words of signed
halfwords, ``(row 0, row 1)`` and ``(row 2, row 3)``. A dual multiply-accumulate takes two rows of one channel; two rows
of outputs at stride 1 need these four rows, and one row of outputs needs the first three.

*Weights*: for each of the four channels a bias and a word of bytes ``(w0, w1, w1, w2)`` for each column of the kernel,
from top to bottom, so that ``widen_even`` and ``widen_odd`` make the pairs (w0, w1) and (w1, w2) of it. The float32
scales of the four channels follow.

*Accumulators* replace staged columns: output ``j`` of a channel stands where its column ``j`` was.
"""

from __future__ import annotations

from .blocks_common import param, requantized
from .loops import (
    F32,
    I32,
    Access,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Expr,
    Kernel,
    Let,
    Load,
    Store,
    Var,
    as_expr,
    loop,
)
from .types import DType

LANES = 4
"""Channels that are computed together."""
COLUMN = 2 * LANES
"""Words of a staged column."""
WEIGHTS = 4 * LANES
"""Words of weights and biases of four channels; as many scales as channels follow."""
STREAM = WEIGHTS + LANES
KERNEL = 3

_LOW, _HIGH = Const(0xFFFF, I32), Const(-0x10000, I32)


def stage(columns: int, step: int, left: int, right: int, zero_point: int) -> Kernel:
    """Four channels of four rows, ``columns`` columns that are ``step`` bytes apart; beside them the zero point."""
    rows = tuple(param(f"x{r}", DType.I8, (columns - 1) * step + LANES, Access.READ) for r in range(4))
    y = param("y", DType.I32, (left + columns + right) * COLUMN, Access.WRITE, 8)
    both = Const((zero_point << 16) + (zero_point & 0xFFFF), I32)
    before, after, column = Var("before"), Var("after"), Var("column")
    at = column * COLUMN + left * COLUMN
    body: Block = ()
    for half in range(2):
        evens, odds = [], []
        for row in rows[2 * half : 2 * half + 2]:
            word, even, odd = (Var(f"{row.name}_{stem}", I32) for stem in ("word", "even", "odd"))
            body += (
                Let(word, Bitcast(I32, Load(row, (column * step,), LANES))),
                Let(even, Call("widen_even", (word,), I32)),
                Let(odd, Call("widen_odd", (word,), I32)),
            )
            evens.append(even)
            odds.append(odd)
        for first, pair in enumerate((evens, odds)):
            body += (Store(y, (at + (2 * first + half),), _bottoms(*pair)),)
            body += (Store(y, (at + (2 * first + half + LANES),), _tops(*pair)),)
    return Kernel(
        "depthwise_stage",
        (*rows, y),
        (
            *loop(before, left * COLUMN, Store(y, (before,), both)),
            *loop(column, columns, *body),
            *loop(after, right * COLUMN, Store(y, (after + (left + columns) * COLUMN,), both)),
        ),
    )


def _bottoms(first: Expr, second: Expr) -> Expr:
    return Binary("or", Binary("and", first, _LOW), Binary("shl", second, Const(16, I32)))


def _tops(first: Expr, second: Expr) -> Expr:
    low = Binary("and", Binary("shr", first, Const(16, I32)), _LOW)
    return Binary("or", low, Binary("and", second, _HIGH))


def fill(columns: int, half: int, zero_point: int) -> Kernel:
    """The zero point for one row of all columns: in the low or high ``half`` of every second word."""
    y = param("y", DType.I32, (columns - 1) * COLUMN + COLUMN - 1, Access.READ_WRITE, 4)
    column = Var("column")
    kept = _LOW if half else _HIGH
    value = Const(zero_point << 16 if half else zero_point & 0xFFFF, I32)
    stores = []
    for lane in range(LANES):
        at = (column * COLUMN + 2 * lane,)
        stores.append(Store(y, at, Binary("or", Binary("and", Load(y, at), kept), value)))
    return Kernel("depthwise_fill", (y,), loop(column, columns, *stores))


def pair(outputs: int) -> Kernel:
    """The accumulators of two rows of outputs, stride 1: of the upper row and of the lower row."""
    w, x, lane, loads, weights = _operands(outputs + KERNEL - 1)
    column = Var("column")
    at = column * COLUMN + lane * 2
    lets, columns = _columns(x, at)
    upper: Expr = loads[0]
    lower: Expr = loads[0]
    for (rows01, rows23), (w01, w12) in zip(columns, weights, strict=True):
        upper = Call("low_by_high", (_dot(upper, rows01, w01), rows23, w12), I32)
        lower = _dot(Call("high_by_low", (lower, rows01, w01), I32), rows23, w12)
    first, second = Var("upper", I32), Var("lower", I32)
    body = (*lets, Let(first, upper), Let(second, lower), Store(x, (at,), first), Store(x, (at + 1,), second))
    block = loop(lane, LANES, *_channel(w, lane, loads, weights), *loop(column, outputs, *body))
    return Kernel("depthwise_pair", (w, x), block)


def stride2(outputs: int) -> Kernel:
    """The accumulators of one row of outputs, stride 2."""
    w, x, lane, loads, weights = _operands((outputs - 1) * 2 + KERNEL)
    column = Var("column")
    lets, columns = _columns(x, column * (2 * COLUMN) + lane * 2)
    acc: Expr = loads[0]
    for (rows01, rows23), (w01, w12) in zip(columns, weights, strict=True):
        acc = Call("low_by_high", (_dot(acc, rows01, w01), rows23, w12), I32)
    found = Var("acc", I32)
    body = (*lets, Let(found, acc), Store(x, (column * COLUMN + lane * 2,), found))
    block = loop(lane, LANES, *_channel(w, lane, loads, weights), *loop(column, outputs, *body))
    return Kernel("depthwise_stride2", (w, x), block)


def _operands(columns: int) -> tuple[Buffer, Buffer, Var, list[Var], list[tuple[Var, Var]]]:
    """Weights, staged columns, the lane, and names for the bias and the weights of a lane."""
    w = param("w", DType.I32, WEIGHTS, Access.READ, 4)
    x = param("x", DType.I32, columns * COLUMN, Access.READ_WRITE, 8)
    weights = [(Var(f"w01_{k}", I32), Var(f"w12_{k}", I32)) for k in range(KERNEL)]
    return w, x, Var("lane"), [Var("bias", I32)], weights


def _channel(w: Buffer, lane: Expr, bias: list[Var], weights: list[tuple[Var, Var]]) -> Block:
    out: Block = (Let(bias[0], Load(w, (lane * (KERNEL + 1),))),)
    for k, (w01, w12) in enumerate(weights):
        word = Var(f"word_{k}", I32)
        out += (
            Let(word, Load(w, (lane * (KERNEL + 1) + (k + 1),))),
            Let(w01, Call("widen_even", (word,), I32)),
            Let(w12, Call("widen_odd", (word,), I32)),
        )
    return out


def _columns(x: Buffer, at: Expr) -> tuple[Block, list[tuple[Var, Var]]]:
    """Three staged columns from word ``at`` on."""
    out: Block = ()
    found = []
    for k in range(KERNEL):
        rows = (Var(f"rows01_{k}", I32), Var(f"rows23_{k}", I32))
        out += tuple(Let(row, Load(x, (at + (k * COLUMN + half),))) for half, row in enumerate(rows))
        found.append(rows)
    return out, found


def _dot(acc: Expr, x: Expr, w: Expr) -> Expr:
    return Call("dot2_i16i16", (acc, x, w), I32)


def finish(rows: int, outputs: int, step: int, zero_point: int) -> Kernel:
    """Requantizes the accumulators of one or two rows into pixels that are ``step`` bytes apart. Where both rows of
    outputs are at the same place, the upper row counts."""
    scales = param("scales", DType.I32, LANES, Access.READ, 4)
    x = param("x", DType.I32, outputs * COLUMN, Access.READ, 8)
    y = tuple(param(f"y{row}", DType.I8, (outputs - 1) * step + LANES, Access.WRITE) for row in range(rows))
    column = Var("column")
    named = [Var(f"scale{lane}", F32) for lane in range(LANES)]
    lets = tuple(Let(name, Bitcast(F32, Load(scales, (as_expr(lane),)))) for lane, name in enumerate(named))
    stores = []
    for row in reversed(range(rows)):
        for lane, scale in enumerate(named):
            acc = Load(x, (column * COLUMN + (2 * lane + row),))
            stores.append(Store(y[row], (column * step + lane,), requantized(acc, scale, zero_point)))
    return Kernel("depthwise_finish", (scales, x, *y), (*lets, *loop(column, outputs, *stores)))
