"""Block instructions of CPUs with Intel's AMX: products of bytes by tiles of 16 rows.

A tile register holds up to 16 rows of 64 bytes. One instruction multiplies a tile of activations, whose rows are those
of the result, with a tile of weights, whose rows are four k of sixteen columns, and adds to a tile of 32-bit sums
(Intel 64 Software Developer's Manual, volume 1, "Programming with Intel AMX"). How many rows and bytes a tile has is
configured before, and what tiles hold is released behind.
"""

from __future__ import annotations

from functools import partial

from ..ir.build import minimum, store
from ..ir.loops import I32, Access, Alloc, Block, Buffer, Expr, Kernel, Space, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..targets.target import TILES
from .common import Number, param
from .instruction import BlockInstruction, Cycles

ROWS_OF_TILE = 16
COLUMNS_OF_TILE = 16
DEPTH_OF_TILE = 64
"""Bytes of a row: so many k."""
LINE = 64
"""Bytes that are fetched at a time."""
GROUP = 4
"""Neighbouring k of a column, which are neighbours in memory."""


def _configure(rows: Number, width: Number) -> Kernel:
    """Tiles of ``rows`` rows and ``width`` bytes of activations from now on; it leaves nothing in memory."""
    del rows, width
    return Kernel("tiles_configure", (), ())


def _release() -> Kernel:
    """Nothing is in tiles from now on."""
    return Kernel("tiles_release", (), ())


def _product(
    activation: DType, panels: int, rows: Number, row_step: Number, steps: Number, width: Number, last: Number,
    outer: Number, outer_step: Number, taps: Number, tap_step: Number, lines: Number,
) -> Kernel:  # fmt: skip
    """``sums[t, row, column] = bias[column] + sum(x_t * w)`` for two tiles of ``rows`` rows, ``row_step`` bytes apart,
    and ``panels`` of 16 columns.

    What is summed are ``outer`` times ``taps`` runs of activations. A run is read in ``steps`` of ``width`` bytes, one
    behind the other, but for the last, which begins at ``last``: where it overlaps the one before, weights are zero.
    ``w`` has, for each panel, in the order of the steps, groups of four k of its columns. In each step so many
    ``lines`` of ``next`` are fetched to the second cache.
    """
    size = outer * taps * steps * width * COLUMNS_OF_TILE
    fetched = outer * taps * steps * lines * LINE + 1
    reach = (rows - 1) * row_step + (outer - 1) * outer_step + (taps - 1) * tap_step + last + width
    columns = panels * COLUMNS_OF_TILE
    tiles = [param(f"x{t}", activation, reach, Access.READ) for t in range(2)]
    w = param("w", DType.I8, size * panels, Access.READ)
    bias = param("bias", DType.I32, columns, Access.READ, 4)
    sums = param("sums", DType.I32, rows * (2 * columns), Access.WRITE, 4)
    ahead = param("next", DType.I8, fetched, Access.READ)
    row, panel, column = Var("row"), Var("panel"), Var("column")
    o, tap, step, k = Var("o"), Var("tap"), Var("step"), Var("k")
    run = (o * taps + tap) * steps + step
    at = panel * size + (run * width + k - k % GROUP) * COLUMNS_OF_TILE + column * GROUP + k % GROUP
    start = o * outer_step + tap * tap_step + minimum(step * width, as_expr(last)) + k

    def of_tile(x: Buffer, t: int) -> Block:
        total = Buffer(f"total{t}", I32, (1,), Space.REG)
        body: Block = (store(total[0], total[0] + I32(x[row * row_step + start]) * I32(w[at])),)
        for var, extent in ((k, width), (step, steps), (tap, taps), (o, outer)):
            body = loop(var, extent, *body)
        place: Expr = (row + rows * t) * columns + panel * COLUMNS_OF_TILE + column
        begin = store(total[0], bias[panel * COLUMNS_OF_TILE + column])
        body = (Alloc(total), begin, *body, store(sums[place], total[0]))
        for var, extent in ((column, COLUMNS_OF_TILE), (panel, panels), (row, rows)):
            body = loop(var, extent, *body)
        return body

    body = tuple(stmt for t, x in enumerate(tiles) for stmt in of_tile(x, t))
    return Kernel(product_name(activation, panels), (*tiles, w, bias, sums, ahead), body)


def product_name(activation: DType, panels: int) -> str:
    """The block for bytes of that type and one or two panels of columns."""
    return f"tiles_{activation.value}_2x{panels}"


_SCALARS = ("rows", "row_step", "steps", "width", "last", "outer", "outer_step", "taps", "tap_step", "lines")
_SAMPLES = (
    (16, 8, 1, 8, 0, 1, 0, 1, 0, 0), (3, 24, 2, 20, 11, 2, 210, 1, 0, 3), (1, 5, 1, 4, 0, 2, 17, 3, 8, 1),
    (2, 64, 2, 64, 64, 1, 0, 1, 0, 0), (5, 12, 3, 12, 24, 1, 0, 1, 0, 0),
)  # fmt: skip


def _cycles(panels: int) -> Cycles:
    """A product of tiles takes a cycle a row, but ten at least."""

    def product(*scalars: int) -> float:
        rows, _, steps, _, _, outer, _, taps, _, _ = scalars
        return 40 + 16 * panels + outer * taps * (4 + steps * 2 * panels * max(rows, 10))

    return Cycles(amx=product)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "tiles_configure", ("rows", "width"), _configure, TILES, ((16, 64), (3, 12)), Cycles(amx=lambda *_: 170)
    ),
    BlockInstruction("tiles_release", (), _release, TILES, ((),), Cycles(amx=lambda: 14)),
    *(
        BlockInstruction(
            product_name(activation, panels), _SCALARS, partial(_product, activation, panels), TILES, _SAMPLES,
            _cycles(panels),
        )
        for activation in (DType.U8, DType.I8)
        for panels in (1, 2)
    ),
)
