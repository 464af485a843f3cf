"""Block instructions of 3x3 convolutions by Winograd's minimal filtering in integers, on cores without packed
arithmetic: four tiles of 2x2 outputs, side by side, by one channel. The arithmetic is that of ``winograd.py``.

*Transformed inputs* are words: for each of the 16 places of a tile, rows before columns, and each channel a word of
every tile. *Transformed filters* are for each channel of the output and each place halfwords, of two channels of the
input in a word. *Products* are for each place the sums of the four tiles over the channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Expr, Kernel, Let, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, high_half, low_half, param, signed
from .instruction import THUMB, BlockInstruction, Cycles
from .tiles import tile_block
from .winograd import (
    COLUMNS,
    INPUT,
    OUTPUT,
    OUTPUTS,
    PATCH,
    PLACES,
    PRE_SHIFT,
    TILE,
    TILES,
    combined,
    transformed_filters,
)

PAIR = 2
"""Channels of the input whose filters share a word."""


def filter_pairs(taps: np.ndarray) -> np.ndarray:
    """Words [o, 16 * c / 2] of int8 weights [o, 3, 3, c], where c is even."""
    return np.ascontiguousarray(transformed_filters(taps)).view(np.int32).reshape(len(taps), -1)


def _transformed(rows: Sequence[Mapping[int, int]], column: Sequence[Expr], stem: str) -> list[Let]:
    """The elements of a column times a matrix from the left."""
    return [Let(Var(f"{stem}{number}", I32), combined(row, column)) for number, row in enumerate(rows)]


def _input(channels: Number) -> Kernel:
    """The transform of four tiles of a patch, column by column: two of them belong to the next tile, too."""
    x = param("x", DType.I8, channels * (PATCH[0] * PATCH[1]), Access.READ)
    v = param("v", DType.I32, channels * (PLACES * TILES), Access.WRITE, 4)
    k = Var("k")
    columns: list[list[Let]] = []
    body: Block = ()
    for number in range(PATCH[1]):
        pixels = [
            Let(Var(f"d{row}_{number}", I32), signed(x, channels * (row * PATCH[1] + number) + k))
            for row in range(TILE)
        ]
        columns.append(_transformed(INPUT, [let.var for let in pixels], f"t{number}_"))
        body += (*pixels, *columns[-1])
        tile, last = divmod(number, OUTPUTS)
        if last == 1 and tile > 0:
            seen = columns[-TILE:]
            for i in range(TILE):
                found = [combined(row, [column[i].var for column in seen]) for row in INPUT]
                body += tuple(
                    store(v[(channels * (i * TILE + j) + k) * TILES + (tile - 1)], value)
                    for j, value in enumerate(found)
                )
    return Kernel("input", (x, v), loop(k, channels, *body))


def _products(pairs: Number) -> Kernel:
    """Those of one channel of the output."""
    u = param("u", DType.I32, pairs * PLACES, Access.READ, 4)
    v = param("v", DType.I32, pairs * (PAIR * PLACES * TILES), Access.READ, 4)
    m = param("m", DType.I32, PLACES * TILES, Access.WRITE, 4)
    place = Var("place")

    def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        word = Var("word", I32)
        at = (place * pairs + k) * (PAIR * TILES)

        def product(acc: Expr, _: int, tile: int) -> Expr:
            return acc + low_half(word) * v[at + tile] + high_half(word) * v[at + (TILES + tile)]

        return (Let(word, u[place * pairs + k]),), product

    def keep(_: int, tile: int, acc: Expr) -> Block:
        return (store(m[place * TILES + tile], acc),)

    sums = tile_block((1, TILES), (pairs,), lambda _, tile: I32(0), group, keep, "")
    return Kernel("products", (u, v, m), loop(place, PLACES, *sums))


def _output() -> Kernel:
    """Sums of the outputs, and the bias of their channel, row by row."""
    m = param("m", DType.I32, PLACES * TILES, Access.READ, 4)
    b = param("b", DType.I32, 1, Access.READ, 4)
    y = [param(f"y{row}", DType.I32, COLUMNS, Access.WRITE, 4) for row in range(OUTPUTS)]
    tile = Var("tile")
    columns = [
        _transformed(OUTPUT, [m[as_expr((i * TILE + j) * TILES) + tile] for i in range(TILE)], f"t{j}_")
        for j in range(TILE)
    ]
    stores: Block = ()
    for row in range(OUTPUTS):
        for column, total in enumerate(combined(each, [line[row].var for line in columns]) for each in OUTPUT):
            stores += (store(y[row][tile * OUTPUTS + column], (total >> PRE_SHIFT) + b[0]),)
    return Kernel("output", (m, b, *y), loop(tile, TILES, *(let for line in columns for let in line), *stores))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("winograd_words_input", ("channels",), _input, THUMB, ((6,),)),
    BlockInstruction(
        "winograd_words", ("pairs",), _products, THUMB, ((1,), (8,), (11,)),
        cycles=Cycles(thumb=lambda pairs: 100 + PLACES * (34 + 30 * pairs + 4 * (pairs // 8))),
    ),
    BlockInstruction("winograd_words_output", (), _output, THUMB, ((),), cycles=Cycles(thumb=lambda: 400)),
)
