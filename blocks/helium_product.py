"""The block instruction of cores with Helium for products of two computed matrices whose rows are a step at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.build import lt, select, store
from ..ir.loops import I32, INDEX, Access, Block, Expr, Kernel, Let, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, param, requantized_rounded, signed, when
from .helium import GEMM_4X2, PRE_SHIFT, STEP, channel_tiles, pad
from .instruction import MVE, BlockInstruction, Cycles
from .tiles import tile_block

COLUMNS = replace(GEMM_4X2, factors=False)
"""The columns of the right matrix, with room for a bias in front of those of a tile."""


def _product(
    depth: Number, rows: Number, row_step: Number, channels: Number, zx: Number, zw: Number, factor: Number,
    zero_point: Number,
) -> Kernel:  # fmt: skip
    """``sum((x - zx) * (w - zw))`` over ``depth`` k, at most :data:`~ccml.blocks.helium.STEP`, requantized by a factor;
    ``w`` has zeros behind these k. What does not depend on the row becomes its bias."""
    tile = COLUMNS.tile
    w = param("w", DType.I32, COLUMNS.size(pad(channels, tile), 1), Access.READ_WRITE, 4)
    x = param("x", DType.I8, (rows - 1) * row_step + STEP, Access.READ)
    y, row = param("y", DType.I8, rows * channels, Access.WRITE), Var("row")

    def block(t: Expr, active: Number, stem: str) -> Block:
        at = t * COLUMNS.size(tile, 1)

        def weight(c: int, k: Expr) -> Expr:
            return byte_of(w[COLUMNS.weight(at, INDEX(0), c, k // 4)], k % 4)

        def taken_off(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            return (), lambda acc, c, _: acc - weight(c, k) * I32(zx)

        def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            value, zero = Var(f"value{stem}", I32), Var(f"zero{stem}", I32)
            lets = (
                Let(value, signed(x, row * row_step + k)),
                Let(zero, select(lt(k, as_expr(depth)), I32(zw), 0)),
            )
            return lets, lambda acc, c, _: acc + value * (weight(c, k) - zero)

        def finish(c: int, _: int, acc: Expr) -> Block:
            result = requantized_rounded(acc << PRE_SHIFT, I32(factor), zero_point)
            return when("lt", c, active, (store(y[row * channels + t * tile + c], result),))

        biases = tile_block(
            (tile, 1), (STEP,), lambda _, __: I32(depth * zx * zw), taken_off,
            lambda c, _, acc: (store(w[at + c], acc),), f"_bias{stem}",
        )  # fmt: skip
        return (*biases, *loop(row, rows, *tile_block((tile, 1), (STEP,), lambda c, _: w[at + c], group, finish, stem)))

    return Kernel("product", (w, x, y), channel_tiles(channels, tile, block))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_product", ("depth", "rows", "row_step", "channels", "zx", "zw", "factor", "zero_point"), _product, MVE,
        (
            (16, 5, 16, 8, 3, -7, 1 << 22, -128), (13, 1, 20, 6, -128, -128, 5 << 20, 5),
            (7, 2, 16, 3, 127, 0, 1 << 21, 0),
        ),
        cycles=Cycles(mve=lambda _, rows, __, channels, *___: 66 + -(-channels // COLUMNS.tile) * (46 + 18 * rows)),
    ),
)
