"""Block instructions of cores with Helium for sums of few bytes, eight channels in lanes of 16 bits: windows (average
pooling) and linear interpolation.

A result is ``clamp(zero_point + (2 * (sum + offset) * factor + 2^31 >> 32), -128, 127)``, where sums with the offset
fit 16 bits (those of interpolation are taken modulo 2^16). As products have lanes of 32 bits, channels come in
``pairs``.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import minimum, store
from ..ir.loops import I16, I32, INDEX, U32, Access, Block, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param, requantized_rounded, signed
from .helium import PRE_SHIFT
from .instruction import MVE, BlockInstruction, Cycles
from .tiles import tile_block

MOST_TAPS = 9
"""Of a window: each has a register that points to its bytes."""
LANES = 8


def _window_sums(
    kernel_rows: Number, kernel_columns: Number, row_step: Number, column_step: Number, pixels: Number,
    pixel_step: Number, pairs: Number, offset: Number, factor: Number, zero_point: Number,
) -> Kernel:  # fmt: skip
    """For neighbouring pixels of a row, the sums of windows of at most :data:`MOST_TAPS` that are ``pixel_step``
    apart."""
    channels = pairs * 2
    reach = (pixels - 1) * pixel_step + (kernel_rows - 1) * row_step + (kernel_columns - 1) * column_step + channels
    x = param("x", DType.I8, reach, Access.READ)
    y = param("y", DType.I8, pixels * channels, Access.WRITE)
    pixel, c = Var("pixel"), Var("c")

    def tap(row: Var, column: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        place = pixel * pixel_step + row * row_step + column * column_step + c
        return (), lambda acc, _, __: acc + signed(x, place)

    def finish(_: int, __: int, acc: Expr) -> Block:
        return (store(y[pixel * channels + c], requantized_rounded(acc << PRE_SHIFT, I32(factor), zero_point)),)

    one = tile_block((1, 1), (kernel_rows, kernel_columns), lambda _, __: I32(offset), tap, finish)
    return Kernel("window_sums", (x, y), loop(pixel, pixels, *loop(c, channels, *one)))


def _interpolate(
    pixels: Number, last: Number, pairs: Number, offset: Number, factor: Number, zero_point: Number
) -> Kernel:
    """A row of pixels between two rows of ``last + 1`` pixels: ``down`` are the weights of these rows, ``across`` for
    each pixel those of the two pixels ``places`` (of which those beyond the end are the last)."""
    channels = pairs * 2
    rows = [param(f"x{n}", DType.I8, (last + 1) * channels, Access.READ) for n in range(2)]
    down = param("down", DType.I32, 2, Access.READ, 4)
    places, across = (param(name, DType.I32, pixels * 2, Access.READ, 4) for name in ("places", "across"))
    y, pixel, c = param("y", DType.I8, pixels * channels, Access.WRITE), Var("pixel"), Var("c")
    starts = [Var(f"start{n}") for n in range(2)]
    weights = [[Var(f"w{row}{n}", I32) for n in range(2)] for row in range(2)]
    body: list[Let] = []
    for n, start in enumerate(starts):
        body.append(Let(start, INDEX(minimum(U32(places[pixel * 2 + n]), U32(last))) * channels))
        body.extend(Let(weights[row][n], down[row] * across[pixel * 2 + n]) for row in range(2))
    products = [signed(rows[row], starts[n] + c) * weights[row][n] for row in range(2) for n in range(2)]
    total = I32(offset) + products[0] + products[1] + products[2] + products[3]
    result = store(y[pixel * channels + c], requantized_rounded(I32(I16(total)) << PRE_SHIFT, I32(factor), zero_point))
    block = loop(pixel, pixels, *body, *loop(c, channels, result))
    return Kernel("interpolate", (*rows, down, places, across, y), block)


def _window_cycles(
    kernel_rows: int, kernel_columns: int, _: int, __: int, pixels: int, ___: int, pairs: int, *____: int
) -> float:
    taps = kernel_rows * kernel_columns
    far = max(0, taps - 7)
    return 60 + 6 * taps + pixels * (24 + -(-pairs * 2 // LANES) * (18 + 2 * taps + 4 * far))


def _interpolate_cycles(pixels: int, _: int, pairs: int, *__: int) -> float:
    return 40 + pixels * (34 + -(-pairs * 2 // LANES) * 27)


_RESULT = ("pairs", "offset", "factor", "zero_point")
_NINTH = 238609294
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_window_sums",
        ("kernel_rows", "kernel_columns", "row_step", "column_step", "pixels", "pixel_step", *_RESULT),
        _window_sums, MVE,
        (
            (3, 3, 60, 12, 4, 24, 6, -99, _NINTH, 3),
            (2, 4, 48, 8, 3, 16, 4, 70, _NINTH, -5),
            (1, 1, 5, 5, 2, 5, 1, 0, 2**31 - 1, 0),
        ),
        cycles=Cycles(mve=_window_cycles),
    ),
    BlockInstruction(
        "helium_interpolate", ("pixels", "last", *_RESULT), _interpolate, MVE,
        ((7, 3, 6, 48, 2**27 + 1, -18), (3, 0, 1, -700, 2**29, 5)), cycles=Cycles(mve=_interpolate_cycles),
    ),
)
