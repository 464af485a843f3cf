"""Plain nest of int_normalize: the sums of a row, its multiplier and shift, the elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..ir.build import convert, eq, maximum, minimum, select
from ..ir.graph import Node
from ..ir.loops import I32, U32, Block, Call, Expr, LoopKind
from ..ir.types import DType
from ..record import record
from .attributes import element_type, flag, integer, ints
from .int_normalize import LARGEST_SHIFT, MOST_DOUBLED, MULTIPLIER_SHIFT, START, STEPS, mean_bits
from .integer import BYTES
from .nest_tools import AxisSplit, Index, Lets, accumulate, accumulator, operand, read_as, write_as
from .opdef import NestContext

RowSums = Callable[[Index], tuple[Block, Expr, Expr]]
"""For a row: statements, the sum of its stored integers, i32, and that of their squares, unsigned."""
Row = Callable[[Index], Block]
WalkRows = Callable[[AxisSplit, Row], Block]
"""All rows, from what makes the statements for one of them."""
WriteRow = Callable[[Index, tuple[Expr, Expr, Expr]], Block]
"""For a row: all its elements, from the multiplier, bias and shift that :class:`_Scaling` has."""


def int_normalize(
    ctx: NestContext, node: Node, row_sums: RowSums | None = None, write_row: WriteRow | None = None,
    walk_rows: WalkRows | None = None,
) -> Block:  # fmt: skip
    """Two passes over each row; the zero point is taken off sums and products. Sums of bytes and their squares fit u32;
    those of 16 bits, and the products of their elements, need 64. ``row_sums`` adds up a row in another way,
    ``write_row`` has another second pass, and ``walk_rows`` another order."""
    x, to = operand(node, 0), element_type(node.attrs, "to")
    split = AxisSplit.of(x, ints(node.attrs, "axes"))
    wide = DType.I32 if x.dtype in BYTES else DType.I64
    add_up = row_sums or partial(_row_sums, ctx, node, split)

    def row(kept: Index) -> Block:
        def write(along: Index) -> Block:
            element = read_as(ctx, x, split.merge(kept, along), wide)
            steps = (element * convert(scaling.multiplier, wide) + scaling.bias) >> convert(scaling.shift, wide)
            if to is not DType.I32:
                lo, hi = integer(node.attrs, "lo"), integer(node.attrs, "hi")
                steps = minimum(maximum(steps + integer(node.attrs, "zero_point"), lo), hi)
            return write_as(ctx, node.output, split.merge(kept, along), steps)

        sums, total, squares = add_up(kept)
        lets = Lets(ctx)
        scaling = _Scaling.of(node, split.count, total, squares, lets)
        if write_row is not None:
            return (*sums, *lets.block, *write_row(kept, (scaling.multiplier, scaling.bias, scaling.shift)))
        return (*sums, *lets.block, *split.axis_loops(ctx, write, LoopKind.PARALLEL))

    return split.kept_loops(ctx, row) if walk_rows is None else walk_rows(split, row)


def _row_sums(ctx: NestContext, node: Node, split: AxisSplit, kept: Index) -> tuple[Block, Expr, Expr]:
    x = operand(node, 0)
    narrow = x.dtype in BYTES
    total, start = accumulator(ctx, "total", DType.I32, 0)
    squares, start_squares = accumulator(ctx, "squares", DType.U32 if narrow else DType.U64, 0)

    def add(along: Index) -> Block:
        lets = Lets(ctx)
        element = lets.bind("d", read_as(ctx, x, split.merge(kept, along), DType.I32))
        square = element * element if narrow else convert(element, DType.I64) * convert(element, DType.I64)
        return (
            *lets.block,
            accumulate("add", total, element),
            accumulate("add", squares, convert(square, squares.dtype)),
        )

    return (*start, *start_squares, *split.axis_loops(ctx, add)), total[0], squares[0]


@record
class _Scaling:
    """``(x * multiplier + bias) >> shift`` is the result without its zero point, for stored integers x."""

    multiplier: Expr
    bias: Expr
    shift: Expr

    @staticmethod
    def of(node: Node, count: int, total: Expr, squares: Expr, lets: Lets) -> _Scaling:
        """From the sums of a row of stored integers."""
        zero, mean = integer(node.attrs, "x_zero_point"), flag(node.attrs, "mean")
        total = lets.bind("total", total)
        if zero:
            signed = DType.I32 if squares.type.dtype is DType.U32 else DType.I64
            squares = squares - convert(convert(total, signed) * (2 * zero), squares.type.dtype) + count * zero**2
            total = lets.bind("total", total - count * zero)
        spread = convert(squares, DType.U64)
        if mean:
            wide = lets.bind("wide", convert(total, DType.I64))
            spread = count * spread - convert(wide * wide, DType.U64)
        multiplier, shift = _multiplier(node, spread, lets)
        wide_type = DType.I32 if operand(node, 0).dtype in BYTES else DType.I64
        bias = convert(1 << (shift - 1), wide_type)
        if mean:
            bias = bias - _mean(total, count, multiplier, wide_type, lets)
        if zero:
            bias = bias - convert(multiplier, wide_type) * zero
        return _Scaling(multiplier, lets.bind("bias", bias), shift)


def _mean(total: Expr, count: int, multiplier: Expr, dtype: DType, lets: Lets) -> Expr:
    """``multiplier`` times the mean: the whole part, and the fraction's product without its last bits; of a power of
    two that the fraction has bits for, both at once."""
    total = convert(total, DType.U32)
    power = count.bit_length() - 1
    if count == 1 << power and power <= mean_bits(count):
        product = convert(total, DType.U64) * convert(convert(multiplier, DType.U32), DType.U64)
        return convert(product >> power, dtype)
    whole = lets.bind("whole", total / count)
    rest = total - whole * count
    bits = mean_bits(count)
    fraction = (rest << bits) / count
    product = _product(fraction, convert(multiplier, DType.U32), bits)
    return convert(whole, dtype) * convert(multiplier, dtype) + convert(product, dtype)


def _product(x: Expr, y: Expr, shift: int) -> Expr:
    """Of the product of two u32, what is above its last bits and fits 32. Roots y are below 2^31, so that doubled they
    fit as well, and products by them are upper words."""
    return convert((convert(x, DType.U64) * convert(y, DType.U64)) >> shift, DType.U32)


def _multiplier(node: Node, spread: Expr, lets: Lets) -> tuple[Expr, Expr]:
    """As :func:`ccml.ops.int_normalize.evaluate_int_normalize` has them; i32."""
    fraction, epsilon = integer(node.attrs, "fraction"), integer(node.attrs, "epsilon")
    t = lets.bind("t", (spread << fraction) + epsilon)
    a, halved = _leading_word(t, lets)
    shift = lets.bind("shift", integer(node.attrs, "shift") - halved)
    y = START[0] - _product(a, U32(START[1]), 32)
    for _ in range(STEPS):
        doubled = lets.bind("y", y << 1)
        residue = (3 << 30) - _product(_product(doubled, doubled, 32), a, 32)
        y = _product(doubled, residue, 32)
    scaled = _product(y << 1, U32(integer(node.attrs, "factor")), 32)
    m = convert(scaled >> MULTIPLIER_SHIFT - 31, DType.I32)
    m = m << minimum(maximum(1 - shift, 0), MOST_DOUBLED)
    over = minimum(maximum(shift - LARGEST_SHIFT, 0), 31)
    bounded = minimum(maximum(shift, 1), LARGEST_SHIFT)
    return lets.bind("m", m >> over), lets.bind("shift", bounded)


def _leading_word(t: Expr, lets: Lets) -> tuple[Expr, Expr]:
    """The upper word of ``t``, a u64 that is not 0, shifted to the left by as many pairs of bits as are zeros there,
    and the number of pairs."""
    upper, lower = (lets.bind(name, convert(t >> bit, DType.U32)) for name, bit in (("upper", 32), ("lower", 0)))
    small = lets.bind("small", eq(upper, 0))
    upper, lower = (lets.bind("word", select(small, *pair)) for pair in ((lower, upper), (U32(0), lower)))
    zeros = lets.bind("zeros", Call("leading_zeros", (convert(upper, DType.I32),), I32) & 30)
    left = convert(zeros, DType.U32)
    a = lets.bind("a", (upper << left) | ((lower >> 1) >> (31 - left)))
    return a, select(small, I32(16), 0) + (zeros >> 1)
