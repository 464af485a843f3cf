"""Plain nest of int_normalize: the sums of a row, its multiplier and shift, the elements."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.build import convert, lt, maximum, minimum, select
from ..ir.graph import Node
from ..ir.loops import I32, Block, Expr, LoopKind
from ..ir.types import DType
from .attributes import flag, integer, ints
from .int_normalize import LARGEST_SHIFT, MULTIPLIER_SHIFT, NORMALIZING, START, STEPS, mean_bits
from .integer import BYTES
from .nest_tools import AxisSplit, Index, Lets, accumulate, accumulator, operand, read_as, write_as
from .opdef import NestContext


def int_normalize(ctx: NestContext, node: Node) -> Block:
    """Two passes over each row. Sums of bytes and their squares fit u32; those of 16 bits, and the products of their
    elements, need 64."""
    x = operand(node, 0)
    split = AxisSplit.of(x, ints(node.attrs, "axes"))
    narrow = x.dtype in BYTES
    centred = flag(node.attrs, "mean")

    def row(kept: Index) -> Block:
        def element(along: Index, dtype: DType = DType.I32) -> Expr:
            return read_as(ctx, x, split.merge(kept, along), dtype, integer(node.attrs, "x_zero_point"))

        def add(along: Index) -> Block:
            lets = Lets(ctx)
            d = lets.bind("d", element(along))
            square = convert(d * d, squares.dtype) if narrow else convert(d, DType.I64) * convert(d, DType.I64)
            sums = (accumulate("add", total, d),) if centred else ()
            return (*lets.block, *sums, accumulate("add", squares, convert(square, squares.dtype)))

        def write(along: Index) -> Block:
            wide = DType.I32 if narrow else DType.I64
            product = element(along, wide) * convert(scaling.multiplier, wide) + convert(scaling.bias, wide)
            steps = (product >> convert(scaling.shift, wide)) + integer(node.attrs, "zero_point")
            lo, hi = integer(node.attrs, "lo"), integer(node.attrs, "hi")
            return write_as(ctx, node.output, split.merge(kept, along), minimum(maximum(steps, lo), hi))

        total, start = accumulator(ctx, "total", DType.I32, 0)
        squares, start_squares = accumulator(ctx, "squares", DType.U32 if narrow else DType.U64, 0)
        add_up = split.axis_loops(ctx, add)
        lets = Lets(ctx)
        scaling = _Scaling.of(node, split.count, total[0] if centred else None, squares[0], lets)
        elements = split.axis_loops(ctx, write, LoopKind.PARALLEL)
        return (*(start if centred else ()), *start_squares, *add_up, *lets.block, *elements)

    return split.kept_loops(ctx, row)


@dataclass(frozen=True)
class _Scaling:
    """``(d * multiplier + bias) >> shift`` is the result without its zero point."""

    multiplier: Expr
    bias: Expr
    shift: Expr

    @staticmethod
    def of(node: Node, count: int, total: Expr | None, squares: Expr, lets: Lets) -> _Scaling:
        """From the sums of a row; ``total`` is not needed where the mean is not subtracted."""
        spread = convert(squares, DType.U64)
        if total is not None:
            total = lets.bind("total", total)
            wide = lets.bind("wide", convert(total, DType.I64))
            spread = count * spread - convert(wide * wide, DType.U64)
        multiplier, shift = _multiplier(node, spread, lets)
        bias: Expr = 1 << (shift - 1)
        wide_type = DType.I32 if operand(node, 0).dtype in BYTES else DType.I64
        bias = convert(bias, wide_type)
        if total is not None:
            bias = bias - _mean(total, count, multiplier, wide_type, lets)
        return _Scaling(multiplier, lets.bind("bias", bias), shift)


def _mean(total: Expr, count: int, multiplier: Expr, dtype: DType, lets: Lets) -> Expr:
    """``multiplier`` times the mean: the whole part, and the fraction's product without its last bits."""
    total = convert(total, DType.U32)
    whole = lets.bind("whole", total / count)
    rest = total - whole * count
    bits = mean_bits(count)
    fraction = (rest << bits) / count
    product = (convert(fraction, DType.U64) * convert(multiplier, DType.U64)) >> bits
    return convert(whole, dtype) * convert(multiplier, dtype) + convert(product, dtype)


def _multiplier(node: Node, spread: Expr, lets: Lets) -> tuple[Expr, Expr]:
    """As :func:`ccml.ops.int_normalize.evaluate_int_normalize` has them; i32."""
    fraction, epsilon = integer(node.attrs, "fraction"), integer(node.attrs, "epsilon")
    t = lets.bind("t", (spread << fraction) + epsilon)
    shift: Expr = I32(integer(node.attrs, "shift"))
    for count in NORMALIZING:
        small = lets.bind("small", lt(t, 1 << 64 - count))
        t = lets.bind("t", select(small, t << count, t))
        shift = lets.bind("shift", shift - select(small, I32(count // 2), 0))
    a = lets.bind("a", t >> 32)
    y = lets.bind("y", START[0] - ((a * START[1]) >> 32))
    for _ in range(STEPS):
        residue = (3 << 30) - ((((y * y) >> 30) * a) >> 32)
        y = lets.bind("y", (y * residue) >> 31)
    m = convert((y * integer(node.attrs, "factor")) >> MULTIPLIER_SHIFT, DType.I32)
    over = minimum(maximum(shift - LARGEST_SHIFT, 0), 31)
    bounded = minimum(maximum(shift, 1), LARGEST_SHIFT)
    return lets.bind("m", m >> over), lets.bind("shift", bounded)
