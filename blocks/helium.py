"""Block instructions of cores with Helium (Armv8.1-M vectors): contractions of bytes, sixteen products an instruction.

*Weights* are a :class:`Stream` with four words of sixteen bytes for each channel and step of sixteen k, and the float32
scales of rows that requantize. Where channels or k do not fill a tile or a step, the stream has zeros.

*Activations* are read where they lie: ``runs`` of ``vectors`` steps each, ``run_step`` bytes apart. A step may reach
beyond the k that count: into what follows, as long as that is memory of the same tensor.

*Requantization* is by the scales, with a least result ``lo``, and products that stay below 2^21; or in rows named
``fixed`` by factors that are words, of twice the accumulators, which stay below 2^30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ..ir.build import lt, minimum, select, store
from ..ir.loops import I32, INDEX, U8, Access, Bitcast, Block, Call, Expr, Kernel, Let, Stmt, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, byte_of, clamped, param, requantized, requantized_rounded, signed, when
from .instruction import MVE, BlockInstruction, Cycles, Formula, of_tiles, of_vectors
from .tiles import Stream, as_scale, tile_block

STEP = 16
"""k that one instruction multiplies and adds."""
GEMM_4X2 = Stream(4, words=STEP // 4)
"""What ``helium_pixels`` rows compute together, for two pixels."""
GEMM_8X1 = Stream(8, words=STEP // 4)
"""What ``helium_pixel`` rows compute together."""
PRE_SHIFT = 1
"""What rows with factors shift accumulators by, before they take the rounded upper word of a product."""
EIGHT_STEPS = 8
"""Steps that ``helium_gemm_8x1_eight`` rows take, half of whose activations stay in registers."""
KEPT_STEPS = 4
"""Steps that ``helium_gemm_8x1_few_i32`` can take, whose activations stay in registers."""
FEW_STEPS = 8
"""Steps that ``helium_gemm_4x2_one_run`` rows can take, in one run."""
SHORT_RUN = 12
"""Steps of a run that ``helium_gemm_4x2_short_runs`` rows can take."""


Size = TypeVar("Size", int, Number)


def pad(size: Size, unit: int) -> Size:
    """The next multiple of ``unit``."""
    return (size + (unit - 1)) // unit * unit


def channel_tiles(channels: Number, tile: int, block: Callable[[Expr, Number, str], Block]) -> Block:
    """``block(t, active, stem)`` for whole tiles and for what is left, of which ``active`` channels count."""
    t, full = Var("t"), channels // tile
    rest = channels - full * tile
    last = block(full if isinstance(full, Expr) else INDEX(full), rest, "_rest")
    return (*loop(t, full, *block(t, tile, "")), *when("ne", rest, 0, last))


def _contraction(
    stream: Stream, out: DType, runs: Number, vectors: Number, run_step: Number, pixels: Number, pixel_step: Number,
    channels: Number, zero_point: Number = 0, lo: Number = -128, *, fixed: bool = False,
) -> Kernel:  # fmt: skip
    """``pixels`` pixels by all channels; ``fixed``: requantized by factors."""
    requantize, steps = out is DType.I8, runs * vectors
    stream, tile = replace(stream, factors=requantize), stream.tile
    w = param("w", DType.I32, stream.size(pad(channels, tile), steps), Access.READ, 4)
    reach = (runs - 1) * run_step + vectors * STEP
    x = param("x", DType.I8, (pixels - 1) * pixel_step + reach, Access.READ)
    row = channels if requantize else pad(channels, tile)
    y, pixel = param("y", out, pixels * row, Access.WRITE), Var("pixel")

    def block(t: Expr, active: Number, stem: str) -> Block:
        at = t * stream.size(tile, steps)

        def group(run: Var, vector: Var, k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            value = Var(f"value{stem}", I32)
            let = Let(value, signed(x, pixel * pixel_step + run * run_step + vector * STEP + k))

            def product(acc: Expr, c: int, p: int) -> Expr:
                word = w[stream.weight(at, run * vectors + vector, c, k // 4)]
                return acc + value * byte_of(word, k % 4)

            return (let,), product

        def finish(c: int, p: int, acc: Expr) -> Block:
            place = (pixel * row + t * tile + c,)
            if not requantize:
                return (store(y[place], acc),)
            result = finished(acc, w[stream.factor(at, steps, c)], zero_point, lo, fixed)
            return when("lt", c, active, (store(y[place], result),))

        groups = (runs, vectors, STEP)
        return tile_block((tile, 1), groups, lambda c, p: w[at + c], group, finish, stem)

    return Kernel("contraction", (w, x, y), loop(pixel, pixels, *channel_tiles(channels, tile, block)))


def finished(acc: Expr, word: Expr, zero_point: Number, lo: Number, fixed: bool) -> Expr:
    """The byte of an accumulator by the scale or factor that ``word`` holds."""
    if fixed:
        return requantized_rounded(acc << PRE_SHIFT, word, zero_point)
    return requantized(acc, as_scale(word), zero_point, lo)


def _few_pixels(
    vectors: Number, pixels: Number, pixel_step: Number, channels: Number, zero_point: Number, lo: Number = -128,
    *, fixed: bool = False,
) -> Kernel:  # fmt: skip
    """Pixels of one run."""
    return _contraction(GEMM_4X2, DType.I8, 1, vectors, 0, pixels, pixel_step, channels, zero_point, lo, fixed=fixed)


def _one_step(
    pixels: Number, pixel_step: Number, channels: Number, apart: Number, zero_point: Number, lo: Number = -128,
    *, fixed: bool = False,
) -> Kernel:  # fmt: skip
    """Pixels of one step, whose results are ``apart`` bytes apart, a tile of channels after the other."""
    w = param("w", DType.I32, GEMM_4X2.size(pad(channels, GEMM_4X2.tile), 1), Access.READ, 4)
    x = param("x", DType.I8, (pixels - 1) * pixel_step + STEP, Access.READ)
    y, pixel = param("y", DType.I8, (pixels - 1) * apart + channels, Access.WRITE), Var("pixel")

    def block(t: Expr, active: Number, stem: str) -> Block:
        at = t * GEMM_4X2.size(GEMM_4X2.tile, 1)

        def group(k: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
            value = Var(f"value{stem}", I32)

            def product(acc: Expr, c: int, p: int) -> Expr:
                return acc + value * byte_of(w[GEMM_4X2.weight(at, INDEX(0), c, k // 4)], k % 4)

            return (Let(value, signed(x, pixel * pixel_step + k)),), product

        def finish(c: int, p: int, acc: Expr) -> Block:
            result = finished(acc, w[GEMM_4X2.factor(at, 1, c)], zero_point, lo, fixed)
            return when("lt", c, active, (store(y[pixel * apart + t * GEMM_4X2.tile + c], result),))

        body = tile_block((GEMM_4X2.tile, 1), (STEP,), lambda c, p: w[at + c], group, finish, stem)
        return loop(pixel, pixels, *body)

    return Kernel("one_step", (w, x, y), channel_tiles(channels, GEMM_4X2.tile, block))


def _pixel(
    out: DType, vectors: Number, channels: Number, zero_point: Number = 0, lo: Number = -128, *, fixed: bool = False
) -> Kernel:
    """One pixel of one run by all channels."""
    return _contraction(GEMM_8X1, out, 1, vectors, 0, 1, 0, channels, zero_point, lo, fixed=fixed)


# ---------------------------------------------------------------- bytes


def _copy(runs: Number, size: Number, x_step: Number, y_step: Number) -> Kernel:
    """``runs`` of ``size`` bytes each."""
    x = param("x", DType.I8, (runs - 1) * x_step + size, Access.READ)
    y = param("y", DType.I8, (runs - 1) * y_step + size, Access.WRITE)
    run, i = Var("run"), Var("i")
    copy = store(y[run * y_step + i], x[run * x_step + i])
    return Kernel("copy", (x, y), loop(run, runs, *loop(i, size, copy)))


def _windows(
    pixels: Number, rows: Number, size: Number, x_step: Number, row_step: Number, y_step: Number, y_row_step: Number
) -> Kernel:
    """``rows`` of ``size`` bytes for each of ``pixels``, which are ``x_step`` and ``y_step`` bytes apart."""
    x = param("x", DType.I8, (pixels - 1) * x_step + (rows - 1) * row_step + size, Access.READ)
    y = param("y", DType.I8, (pixels - 1) * y_step + (rows - 1) * y_row_step + size, Access.WRITE)
    pixel, row, i = Var("pixel"), Var("row"), Var("i")
    copy = store(y[pixel * y_step + row * y_row_step + i], x[pixel * x_step + row * row_step + i])
    return Kernel("windows", (x, y), loop(row, rows, *loop(pixel, pixels, *loop(i, size, copy))))


def _fill(size: Number, value: Number) -> Kernel:
    """The same byte throughout, as at borders."""
    y, i = param("y", DType.I8, size, Access.WRITE), Var("i")
    return Kernel("fill", (y,), loop(i, size, store(y[i], y.type(value))))


def _lookup(size: Number) -> Kernel:
    """``table[x + 128]``"""
    x, table = param("x", DType.I8, size, Access.READ), param("table", DType.I8, 256, Access.READ)
    y, i = param("y", DType.I8, size, Access.WRITE), Var("i")
    result = table[INDEX(signed(x, i)) + 128]
    return Kernel("lookup", (x, table, y), loop(i, size, store(y[i], result)))


def _rescale(
    size: Number, m1: Number, m2: Number, bias: Number, shift: Number, lo: Number, hi: Number
) -> Kernel:
    """``clamp((x1 * m1 + x2 * m2 + bias) >> shift, lo, hi)``, as the operator ``rescale`` has it."""
    x1, x2 = (param(name, DType.I8, size, Access.READ) for name in ("x1", "x2"))
    y, i = param("y", DType.I8, size, Access.WRITE), Var("i")
    terms = [signed(x, i) * I32(m) for x, m in ((x1, m1), (x2, m2))]
    steps = (terms[0] + terms[1] + I32(bias)) >> I32(shift)
    return Kernel("rescale", (x1, x2, y), loop(i, size, store(y[i], clamped(steps, lo, hi))))


def _rescale_product(
    size: Number, z1: Number, z2: Number, m: Number, bias: Number, shift: Number, lo: Number, hi: Number
) -> Kernel:
    """``clamp(((x1 - z1) * (x2 - z2) * m + bias) >> shift, lo, hi)``, as the operator ``rescale_product`` has it."""

    def steps(product: Expr) -> Expr:
        return (product * I32(m) + I32(bias)) >> I32(shift)

    return _products("rescale_product", size, (z1, z2), steps, (lo, hi))


def _rescale_product_upper(
    size: Number, z1: Number, z2: Number, m: Number, bias: Number, lo: Number, hi: Number
) -> Kernel:
    """A ``rescale_product`` by upper words, whose multiplier is a multiple of four, bias odd and shift one."""

    def steps(product: Expr) -> Expr:
        return (Call("mul_high", (product, I32(m)), I32) + I32(bias)) >> 1

    return _products("rescale_product_upper", size, (z1, z2), steps, (lo, hi))


def _products(
    name: str, size: Number, zeros: tuple[Number, Number], steps: Callable[[Expr], Expr], limits: tuple[Number, Number]
) -> Kernel:
    x1, x2 = (param(stem, DType.I8, size, Access.READ) for stem in ("x1", "x2"))
    y, i = param("y", DType.I8, size, Access.WRITE), Var("i")
    product = (signed(x1, i) - I32(zeros[0])) * (signed(x2, i) - I32(zeros[1]))
    return Kernel(name, (x1, x2, y), loop(i, size, store(y[i], clamped(steps(product), *limits))))


def channel_sums(rows: Number, channels: Number, start: Number) -> Kernel:
    """``start`` and the bytes of all rows, added up for each channel; ``start`` alone for those that fill up a four."""
    x = param("x", DType.I8, rows * channels, Access.READ)
    y, c, beyond = param("y", DType.I32, pad(channels, 4), Access.WRITE, 4), Var("c"), Var("beyond")

    def group(row: Var) -> tuple[Block, Callable[[Expr, int, int], Expr]]:
        return (), lambda acc, _, __: acc + signed(x, row * channels + c)

    sums = tile_block((1, 1), (rows,), lambda _, __: I32(start), group, lambda _, __, acc: (store(y[c], acc),))
    rest = loop(beyond, pad(channels, 4) - channels, store(y[beyond + channels], I32(start)))
    return Kernel("sum", (x, y), (*loop(c, channels, *sums), *rest))


def _pack(depth: Number, columns: Number, row_step: Number, tile_words: Number) -> Kernel:
    """A matrix of ``depth`` rows as the weights of its columns: words of four rows, zeros where there are no more.
    Tiles of columns are ``tile_words`` apart; ``y`` begins behind the biases of the first."""
    stream = GEMM_4X2
    words, tiles = pad(depth, 4) // 4, pad(columns, stream.tile) // stream.tile
    x = param("x", DType.I8, (depth - 1) * row_step + columns, Access.READ)
    reach = pad(words, stream.words) * stream.tile
    y = param("y", DType.I32, (tiles - 1) * tile_words + reach, Access.WRITE, 4)
    word, t = Var("word"), Var("t")
    stores: list[Stmt] = []
    for c in range(stream.tile):
        column, value = t * stream.tile + c, I32(0)
        for n in range(4):
            row = word * 4 + n
            place = minimum(row, as_expr(depth - 1)) * row_step + minimum(column, as_expr(columns - 1))
            there = lt(row, as_expr(depth)) & lt(column, as_expr(columns))
            value = value | select(there, I32(Bitcast(U8, x[place])) << 8 * n, 0)
        at = stream.weight(t * tile_words - stream.tile, word // stream.words, c, word % stream.words)
        stores.append(store(y[at], value))
    return Kernel("pack", (x, y), loop(word, words, *loop(t, tiles, *stores)))


def _pixels_cycles(call: float, pair: float, tile: float, run: float, step: float) -> Formula:
    """For two pixels at a time, by tiles of four channels, runs and steps."""

    def cycles(runs: int, vectors: int, _: int, pixels: int, __: int, channels: int, *___: int) -> float:
        tiles = -(-channels // GEMM_4X2.tile)
        return call + -(-pixels // 2) * (pair + tiles * (tile + runs * (run + step * vectors)))

    return cycles


def _rescale_cycles(size: int, m1: int, m2: int, bias: int, shift: int, *_: int) -> float:
    """Eight at a time where upper halfwords are enough."""
    return 58 + 16 * -(-size // 4) if shift < 16 else 74 + 22 * (size // 8) + 16 * -(-(size % 8) // 4)


def _one_step_cycles(call: float, tile: float, pixel: float) -> Formula:
    """By tiles of four channels and pixels."""
    return lambda pixels, _, channels, *__: call + -(-channels // GEMM_4X2.tile) * (tile + pixel * pixels)


_RUNS: Sequence[str] = ("runs", "vectors", "run_step", "pixels", "pixel_step", "channels")
_ONE_STEP: Sequence[str] = ("pixels", "pixel_step", "channels", "apart")
_LIMITS: Sequence[str] = ("zero_point", "lo")
_RESCALE_PRODUCT = ("size", "z1", "z2", "m", "bias", "shift", "lo", "hi")
_RESCALE_PRODUCT_UPPER = ("size", "z1", "z2", "m", "bias", "lo", "hi")
_RESCALE = ("size", "m1", "m2", "bias", "shift", "lo", "hi")
_pixels_i8, _pixels_i32 = (partial(_contraction, GEMM_4X2, out) for out in (DType.I8, DType.I32))
_fixed = partial(_contraction, GEMM_4X2, DType.I8, fixed=True)
_FIXED_SAMPLES = ((2, 3, 60, 5, 16, 6, -128), (3, 1, 40, 1, 16, 8, 5))
_SAMPLES = ((2, 3, 60, 5, 16, 6, -128, -9), (3, 1, 40, 1, 16, 8, 5, -128))
ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_copy", ("runs", "size", "x_step", "y_step"), _copy, MVE, ((3, 21, 30, 24),),
        cycles=Cycles(mve=lambda runs, size, *_: 33 + runs * (7.3 + 4 * -(-size // STEP))),
    ),
    BlockInstruction(
        "helium_windows", ("pixels", "rows", "size", "x_step", "row_step", "y_step", "y_row_step"), _windows, MVE,
        ((3, 2, 21, 8, 40, 48, 21), (1, 3, 4, 0, 9, 0, 5), (2, 1, 32, 8, 0, 48, 0)),
        cycles=Cycles(
            mve=lambda pixels, rows, size, *_: (
                36 + rows * (9 + (14 + 6 * pixels if size < STEP else -(-size // STEP) * (17 + 4 * pixels)))
            )
        ),
    ),
    BlockInstruction(
        "helium_fill", ("size", "value"), _fill, MVE, ((35, -3),),
        cycles=Cycles(mve=of_vectors(15, 2)),
    ),
    BlockInstruction(
        "helium_lookup", ("size",), _lookup, MVE, ((11,),),
        cycles=Cycles(mve=of_vectors(20, 16)),
    ),
    BlockInstruction(
        "helium_rescale", _RESCALE, _rescale, MVE,
        ((13, 3, -4, 5, 6, -100, 90), (21, 123456, -234567, 70000, 18, -100, 90), (24, 5, 7, 1 << 15, 16, -128, 127)),
        cycles=Cycles(mve=_rescale_cycles),
    ),
    BlockInstruction(
        "helium_rescale_product", _RESCALE_PRODUCT, _rescale_product, MVE,
        ((21, 3, -4, 4321, 1 << 20, 22, -100, 90), (8, -128, 127, -30000, 5, 7, -128, 127)),
        cycles=Cycles(mve=lambda size, *_: 62 + 23.2 * -(-size // 8)),
    ),
    BlockInstruction(
        "helium_rescale_product_upper", _RESCALE_PRODUCT_UPPER, _rescale_product_upper, MVE,
        ((21, 3, -4, 432_100, -7, -100, 90), (8, -128, 127, 1 << 30, 11, -128, 127)),
        cycles=Cycles(mve=lambda size, *_: 62 + 20 * -(-size // 8)),
    ),
    BlockInstruction(
        "helium_sum", ("rows", "channels", "start"), channel_sums, MVE, ((5, 7, -9),),
        cycles=Cycles(mve=lambda rows, channels, *_: 23 + -(-channels // 4) * (13 + 4 * rows)),
    ),
    BlockInstruction(
        "helium_pack", ("depth", "columns", "row_step", "tile_words"), _pack, MVE,
        ((7, 10, 13, 24), (16, 4, 4, 24), (21, 3, 3, 40)),
        cycles=Cycles(
            mve=lambda depth, columns, *_: 38 + -(-depth // 4) * (38 + 23.3 * -(-columns // 4))
        ),
    ),
    BlockInstruction(
        "helium_gemm_4x2_i8", (*_RUNS, *_LIMITS), _pixels_i8, MVE, _SAMPLES,
        cycles=Cycles(mve=_pixels_cycles(54, 28, 38, 15.4, 16.4)),
    ),
    BlockInstruction(
        "helium_gemm_4x2_short_runs_i8", (*_RUNS, *_LIMITS), _pixels_i8, MVE, _SAMPLES,
        cycles=Cycles(mve=_pixels_cycles(54, 24, 37, 8.9, 16)),
    ),
    BlockInstruction(
        "helium_gemm_4x2_one_run_i8", ("vectors", *_RUNS[3:], *_LIMITS), _few_pixels, MVE, ((3, 5, 16, 8, -128, -9),),
        cycles=Cycles(mve=lambda vectors, *rest: _pixels_cycles(62, 23, 36, 0, 16)(1, vectors, 0, *rest)),
    ),
    BlockInstruction(
        "helium_gemm_4x2_fixed", (*_RUNS, "zero_point"), _fixed, MVE, _FIXED_SAMPLES,
        cycles=Cycles(mve=_pixels_cycles(50, 28, 30, 15.4, 16.4)),
    ),
    BlockInstruction(
        "helium_gemm_4x2_short_runs_fixed", (*_RUNS, "zero_point"), _fixed, MVE, _FIXED_SAMPLES,
        cycles=Cycles(mve=_pixels_cycles(49, 24, 30, 8.9, 16)),
    ),
    BlockInstruction(
        "helium_gemm_4x2_one_run_fixed", ("vectors", *_RUNS[3:], "zero_point"), partial(_few_pixels, fixed=True), MVE,
        ((3, 5, 16, 8, -128),),
        cycles=Cycles(mve=lambda vectors, *rest: _pixels_cycles(53, 23, 27, 0, 16)(1, vectors, 0, *rest)),
    ),
    BlockInstruction(
        "helium_gemm_4x2_i32", (*_RUNS,), _pixels_i32, MVE, ((3, 5, 80, 4, 48, 5),),
        cycles=Cycles(mve=_pixels_cycles(45, 32, 18, 14.5, 18.4)),
    ),
    BlockInstruction(
        "helium_gemm_4x1_i8", (*_ONE_STEP, *_LIMITS), _one_step, MVE,
        ((5, 16, 6, 6, -128, -9), (3, 3, 4, 9, 5, -128), (1, 3, 4, 4, 5, -128)),
        cycles=Cycles(mve=_one_step_cycles(45, 24, 22.8)),
    ),
    BlockInstruction(
        "helium_gemm_4x1_fixed", (*_ONE_STEP, "zero_point"), partial(_one_step, fixed=True), MVE,
        ((5, 16, 6, 7, -128), (1, 3, 4, 4, 5)),
        cycles=Cycles(mve=_one_step_cycles(45, 22, 14.9)),
    ),
    BlockInstruction(
        "helium_gemm_8x1_i8", ("vectors", "channels", *_LIMITS), partial(_pixel, DType.I8), MVE, ((14, 11, 7, -128),),
        cycles=Cycles(mve=of_tiles(57, 8, 39, 18.5)),
    ),
    BlockInstruction(
        "helium_gemm_8x1_fixed", ("vectors", "channels", "zero_point"), partial(_pixel, DType.I8, fixed=True), MVE,
        ((14, 11, 7),),
        cycles=Cycles(mve=of_tiles(47, 8, 30, 18.5)),
    ),
    BlockInstruction(
        "helium_gemm_8x1_eight_fixed", ("channels", "zero_point"),
        partial(_pixel, DType.I8, EIGHT_STEPS, fixed=True), MVE, ((11, 7), (16, -128)),
        cycles=Cycles(mve=lambda channels, _: 50 + 160 * -(-channels // GEMM_8X1.tile)),
    ),
    BlockInstruction(
        "helium_gemm_8x1_few_i32", ("vectors", "channels"), partial(_pixel, DType.I32), MVE, ((1, 8), (2, 9), (4, 17)),
        cycles=Cycles(mve=of_tiles(60, 8, 7.5, 17.6)),
    ),
    BlockInstruction(
        "helium_gemm_8x1_i32", ("vectors", "channels"), partial(_pixel, DType.I32), MVE, ((2, 9),),
        cycles=Cycles(mve=of_tiles(49, 8, 19, 17.9)),
    ),
)
