"""Block instructions of 3x3 convolutions by Winograd's minimal filtering in integers, on cores with DSP: four tiles of
2x2 outputs, side by side, by two channels.

With ``F(2x2, 3x3)`` (``schedule/winograd_matrices.py`` has the sources) a tile of outputs takes 16 products for each
channel of the input instead of 36. In integers it is exact::

    V = B^T d B              the input transform: sums and differences of four bytes, halfwords
    U = (2 G) g (2 G)^T      four times the transform of the filter, halfwords, made while compiling
    M = sum of U * V         over the channels
    A^T M A = 4 y            the output transform; sums wrap around in 32 bits, the result fits them

*Patch*: the 4 x 10 pixels under four tiles, channel by channel as bytes, with the zero point at borders.

*Transformed inputs*: for each four channels the words of channels (0, 2), then those of (1, 3); for each of these the
16 places of a tile, rows and columns in the order 1, 0, 2, 3, of which each has a word for every tile.

*Products* of the second and the last place of a row go on from the sums of the place before: of these, m1 and m0 + m1,
m2 and m2 + m3, the output transform is made by half of the additions. Those of the first place begin with the bias,
which is thus part of all four results.

*Weights* are a :class:`Stream` whose steps are the words of channels for each of the 16 places; biases are multiples of
four, and factors multipliers or float32 scales divided by four, which is exact.

*Filters* that are transformed at run time are, for each two channels: the biases, then for each four channels of the
input nine words of taps of the one channel and nine of the other, and the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir import shifts
from ..ir.build import lt, select, store
from ..ir.loops import I32, Access, Block, Buffer, Call, Expr, Kernel, Let, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, halves, param, requantized, requantized_fixed, signed
from .instruction import DSP_FPU, BlockInstruction, Cycles, Formula, linear
from .tiles import Stream, as_scale, tile_block

OUTPUTS = 2
"""Rows and columns of the outputs of a tile."""
TILE = OUTPUTS + 2
"""Those of its inputs."""
PLACES = TILE * TILE
ORDER = (1, 0, 2, 3)
"""The rows of a tile's places, and the columns of each, in the order of memory; the inverse of it is the same."""
TAPS = 3
GROUP = 4
"""Channels of the input that are transformed together."""
TILES = 4
COLUMNS = OUTPUTS * TILES
"""Columns of outputs."""
PATCH = (TILE, COLUMNS + 2)
PRE_SHIFT = 2
"""Accumulators are four times the sums."""
SHIFT = shifts.USUAL_SHIFT - (shifts.PRE_SHIFT - PRE_SHIFT)
"""The shift behind a multiplication that most layers can have, as their factors are those of packed weights."""
STREAM = Stream(2)
PRODUCTS = PLACES * STREAM.tile * TILES
"""Words of what is between the products and the output transform."""

FILTER = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]])
INPUT = ({0: 1, 2: -1}, {1: 1, 2: 1}, {2: 1, 1: -1}, {1: 1, 3: -1})
OUTPUT = ({0: 1, 1: 1, 2: 1}, {1: 1, 2: -1, 3: -1})
"""The rows of B^T and of A^T: factors by column, 1 in front."""


def transformed_filters(taps: np.ndarray) -> np.ndarray:
    """int16 [o, 4, 4, c] of int8 weights [o, 3, 3, c]: (2 G) g (2 G)^T."""
    spread = np.einsum("ik,okwc,jw->oijc", FILTER, taps.astype(np.int64), FILTER)
    return np.asarray(spread.astype(np.int16))


def transformed_words(taps: np.ndarray) -> np.ndarray:
    """Words [o, 16 * c / 2] of int8 weights [o, 3, 3, c], where c is a multiple of four."""
    places = transformed_filters(taps)[:, list(ORDER)][:, :, list(ORDER)]
    lanes = places.reshape(len(taps), PLACES, -1, 2, 2).swapaxes(-1, -2)
    return np.ascontiguousarray(lanes).view(np.int32).reshape(len(taps), -1)


def filter_words(taps: np.ndarray) -> np.ndarray:
    """Words [o / 2, c / 4 * 18] of int8 weights [o, 3, 3, c], for two channels each."""
    lanes = taps.astype(np.int8).reshape(len(taps) // STREAM.tile, STREAM.tile, TAPS * TAPS, -1, GROUP)
    words = np.ascontiguousarray(lanes.transpose(0, 3, 1, 2, 4)).view(np.int32)
    return words.reshape(len(words), -1)


def _filter(groups: Number) -> Kernel:
    """The stream of two channels."""
    words, size = TAPS * TAPS * STREAM.tile, groups * 2 * PLACES
    g = param("g", DType.I32, groups * words + 2 * STREAM.tile, Access.READ, 4)
    w = param("w", DType.I32, STREAM.size(STREAM.tile, size), Access.WRITE, 8)
    n = Var("n")

    def value(c: int, half: int, i: int, j: int, byte: int) -> Expr:
        total: Expr | None = None
        for row, column in np.argwhere(np.outer(FILTER[i], FILTER[j])):
            place = g[n * words + (STREAM.tile + (c * TAPS + row) * TAPS + column)]
            factor = int(FILTER[i, row] * FILTER[j, column])
            part = byte_of(place, half + byte)
            part = part if factor == 1 else part * factor
            total = part if total is None else total + part
        assert total is not None
        return total

    stores: Block = ()
    for c in range(STREAM.tile):
        for half in range(2):
            for i in range(TILE):
                for j in range(TILE):
                    at = STREAM.weight(as_expr(0), ((ORDER[i] * TILE + ORDER[j]) * (groups * 2)) + (n * 2 + half), c)
                    stores += (store(w[at], halves(value(c, half, i, j, 0), value(c, half, i, j, 2))),)
    ends: list[tuple[Number, Expr]] = [(c, as_expr(c)) for c in range(STREAM.tile)]
    ends += [(groups * words + (STREAM.tile + c), STREAM.factor(as_expr(0), size, c)) for c in range(STREAM.tile)]
    copies = tuple(store(w[at], g[as_expr(source)]) for source, at in ends)
    return Kernel("winograd_filter", (g, w), (*copies, *loop(n, groups, *stores)))


def _input(groups: Number) -> Kernel:
    """The transform of four tiles of a patch."""
    pixel: Number = groups * 4
    x = param("x", DType.I8, pixel * (PATCH[0] * PATCH[1]), Access.READ, 4)
    v = param("v", DType.I32, groups * (2 * PLACES * TILES), Access.WRITE, 8)
    g, tile = Var("g"), Var("tile")

    def value(i: int, j: int, lane: int) -> Expr:
        total: Expr | None = None
        for row, down in INPUT[i].items():
            for column, across in INPUT[j].items():
                part = signed(x, (tile * OUTPUTS + (row * PATCH[1] + column)) * pixel + (g * 4 + lane))
                if total is None:
                    total = part if down * across > 0 else -part
                else:
                    total = total + part if down * across > 0 else total - part
        assert total is not None
        return total

    stores: Block = ()
    for half in range(2):
        for i in range(TILE):
            for j in range(TILE):
                at = ((g * 2 + half) * PLACES + (ORDER[i] * TILE + ORDER[j])) * TILES + tile
                stores += (store(v[at], halves(value(i, j, half), value(i, j, half + 2))),)
    return Kernel("winograd_input", (x, v), loop(g, groups, *loop(tile, TILES, *stores)))


def combined(row: Mapping[int, int], values: Sequence[Expr]) -> Expr:
    """Some of the values, added and subtracted; the first is added."""
    first, *others = row.items()
    total = values[first[0]]
    for column, sign in others:
        total = total + values[column] if sign > 0 else total - values[column]
    return total


def _products(
    rounding: Callable[[Expr, Expr], Expr], groups: Number, channels: Number, step: Number
) -> Kernel:
    """All channels of four tiles to bytes, whose pixels are ``step`` bytes apart. ``rounding`` makes a byte of an
    accumulator and the factor of its channel."""
    steps, words = groups * 2 * PLACES, groups * 2
    w = param("w", DType.I32, STREAM.size(channels, steps), Access.READ, 4)
    v = param("v", DType.I32, words * (PLACES * TILES), Access.READ, 8)
    m = param("m", DType.I32, PRODUCTS, Access.READ_WRITE, 8)
    y = [param(f"y{row}", DType.I8, (COLUMNS - 1) * step + channels, Access.WRITE) for row in range(OUTPUTS)]
    t, pair, tile = Var("t"), Var("pair"), Var("tile")
    at = t * STREAM.size(STREAM.tile, steps)

    def products(place: Expr, start: Callable[[int, int], Expr], stem: str) -> Block:
        def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            def product(acc: Expr, c: int, p: int) -> Expr:
                x = v[(k * PLACES + place) * TILES + p]
                return Call("dot2_i16i16", (acc, x, w[STREAM.weight(at, place * words + k, c)]), I32)

            return (), product

        def keep(c: int, p: int, acc: Expr) -> Block:
            return (store(m[(place * STREAM.tile + c) * TILES + p], acc),)

        return tile_block((STREAM.tile, TILES), (words,), start, group, keep, stem)

    both = products(pair * 2, lambda c, p: select(lt(pair, 1), w[at + c], I32(0)), "")
    both += products(pair * 2 + 1, lambda c, p: m[(pair * (2 * STREAM.tile) + c) * TILES + p], "_next")
    results: Block = ()
    for c in range(STREAM.tile):
        results += _outputs(m, tile, c)
        for row in range(OUTPUTS):
            for column in range(OUTPUTS):
                byte = rounding(Var(f"y{c}{row}{column}", I32), w[STREAM.factor(at, steps, c)])
                index = (tile * OUTPUTS + column) * step + (t * STREAM.tile + c)
                results += (store(y[row][index], byte),)
    body = (*loop(pair, PLACES // 2, *both), *loop(tile, TILES, *results))
    return Kernel("winograd", (w, v, m, *y), loop(t, channels // STREAM.tile, *body))


def _fixed(
    groups: Number, channels: Number, step: Number, zero_point: Number, shift: Number = SHIFT
) -> Kernel:  # fmt: skip
    def rounding(acc: Expr, factor: Expr) -> Expr:
        return requantized_fixed(acc, factor, zero_point, shift)

    return _products(rounding, groups, channels, step)


def _scaled(groups: Number, channels: Number, step: Number, zero_point: Number) -> Kernel:
    def rounding(acc: Expr, factor: Expr) -> Expr:
        return requantized(acc, as_scale(factor), zero_point)

    return _products(rounding, groups, channels, step)


def _outputs(m: Buffer, tile: Var, c: int) -> Block:
    """The output transform of a tile of channel ``c``."""
    lets: list[Let] = []
    sums: list[list[Expr]] = [[], []]
    for i in range(TILE):
        one, both, two, last = (m[((ORDER[i] * TILE + j) * STREAM.tile + c) * TILES + tile] for j in range(TILE))
        for column, value in enumerate((both + two, one - last)):
            lets.append(Let(Var(f"p{c}{i}{column}", I32), value))
            sums[column].append(lets[-1].var)
    for row in range(OUTPUTS):
        values = (combined(OUTPUT[row], each) for each in sums)
        lets += [Let(Var(f"y{c}{row}{column}", I32), value) for column, value in enumerate(values)]
    return tuple(lets)


def _cycles(pair: float, group: float = 519) -> Formula:
    """``pair``: of two channels, without what each ``group`` of channels of the input takes."""
    return lambda groups, channels, *_: 110 + channels // STREAM.tile * (pair + group * groups)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("winograd_input", ("groups",), _input, DSP_FPU, ((3,),), cycles=Cycles(dsp=linear(42, 749))),
    BlockInstruction("winograd_filter", ("groups",), _filter, DSP_FPU, ((3,),), cycles=Cycles(dsp=linear(52, 447))),
    BlockInstruction(
        "winograd_fixed", ("groups", "channels", "step", "zero_point", "shift"), _fixed, DSP_FPU,
        ((2, 4, 4, 5, 9), (9, 2, 3, -7, 4)), cycles=Cycles(dsp=_cycles(1040)),
    ),
    BlockInstruction(
        "winograd_fixed6", ("groups", "channels", "step", "zero_point"), _fixed, DSP_FPU,
        ((2, 4, 4, 5), (9, 2, 3, -7)), cycles=Cycles(dsp=_cycles(965)),
    ),
    BlockInstruction(
        "winograd_fixed6_compact", ("groups", "channels", "step", "zero_point"), _fixed, DSP_FPU,
        ((2, 4, 4, 5), (9, 2, 3, -7)), cycles=Cycles(dsp=_cycles(965, 568)),
    ),
    BlockInstruction(
        "winograd_i8", ("groups", "channels", "step", "zero_point"), _scaled, DSP_FPU, ((2, 4, 4, 5), (9, 2, 3, -7)),
        cycles=Cycles(dsp=_cycles(1210)),
    ),
)
