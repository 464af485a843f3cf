"""Products of two computed matrices of halfwords without zero points, two products an instruction.

The right matrix is packed at run time as weights are while compiling: two of its rows side by side in words. Sums that
need more than 32 bits are added up in 64, or in digits of the right matrix (``sums.py``).
"""

from __future__ import annotations

from math import ceil, prod

from ..ir.build import load, store
from ..ir.loops import I32, INDEX, Block, Const, Expr, Load, LoopKind, Splat, Type, Var
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.integer import sum_shift, zero_point
from ..targets.target import Cpu, Dot, ElementKind
from .blocking import Axis, Product, Region
from .contraction_loops import contraction_block
from .dots import usable_dots
from .kernel import KernelContext
from .microkernel import Contraction
from .sums import DIGIT, weighed_digit, without_dropped_bits

_DEEPEST = (1 << 31 - 15 - 7) - 2
"""Products of a halfword and a digit that 32 bits hold, with room for what is below and behind."""


def is_halfword_product(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` of int16 matrices without zero points, the right one computed, on a
    CPU that adds up pairs of their products."""
    node, weights = ctx.contraction
    shapes = [operand.shape for operand in node.operands]
    if weights is not None or len(node.inputs) > 2 or min(map(len, shapes)) < 2 or not node.output.type.size:
        return False
    if zero_point(node.attrs) or zero_point(node.attrs, "rhs_zero_point") or not shapes[0][-1]:
        return False
    known = all(operand.dtype is DType.I16 for operand in node.operands)
    return known and bool(_dots(ctx.cpu, sum_shift(node.attrs), shapes[0][-1]))


def lower_halfword_product(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_halfword_product` holds."""
    return _HalfwordProduct(ctx).emit()


def _dots(cpu: Cpu, shift: int, depth: int) -> tuple[Dot, ...]:
    """Those that add up in 64 bits where sums need more than 32, else those of 32 bits for digits."""
    long = usable_dots(cpu, DType.I16, wide=True) if shift else ()
    pairs = tuple(dot for dot in long if dot.group == 2)
    if pairs or (shift and depth > _DEEPEST):
        return pairs
    return tuple(dot for dot in usable_dots(cpu, DType.I16) if dot.group == 2)


class _HalfwordProduct:
    def __init__(self, ctx: KernelContext) -> None:
        self.ctx, self.names = ctx, ctx.names
        node, _ = ctx.contraction
        self.a, self.b = node.operands[:2]
        out = node.output.shape
        self.rows, self.columns, self.depth = out[-2], out[-1], self.a.shape[-1]
        self.shift = sum_shift(node.attrs)
        self.batch = [Axis(Var(self.names.fresh("o")), extent) for extent in out[:-2]]
        dots = _dots(ctx.cpu, self.shift, self.depth)
        self.in_digits = bool(self.shift) and dots[0].accumulator is ElementKind.I32
        self.digit = Var(self.names.fresh("digit")) if self.in_digits else INDEX(0)
        extents = (2, self.depth) if self.in_digits else (self.depth,)
        product = Product(dots, self.rows, self.columns, extents, prod(out[:-2]), sums=self.in_digits)
        self.blocking = ctx.blocking(product)
        lanes = self.blocking.dot.lanes
        wide = ceil(self.columns / lanes) * lanes
        self.packed = ctx.temporary(
            "packed", DType.I32, (1 + self.in_digits, ceil(self.depth / 2), wide), align=4 * lanes
        )

    def emit(self) -> Block:
        body = (*self.ctx.vectorized(self._pack()), *self._contraction())
        for axis in reversed(self.batch):
            body = loop(axis.var, axis.extent, *body)
        return body

    def _operand(self, name: str, *index: Expr) -> Load:
        ref = self.ctx.refs[name]
        position = [loop_index(axis.var, axis.extent) for axis in self.batch]
        return ref[ref.broadcast_index((*position, *index))]

    # ---- the right matrix

    def _pack(self) -> Block:
        """Pairs of rows; what fills the last pair is zero, and so are columns that fill vectors."""
        pairs, wide = self.packed.shape[1:]
        out: Block = ()
        for first, count, present in ((0, self.depth // 2, 2), (pairs - 1, self.depth % 2, 1)):
            if count:
                pair, n = Var(self.names.fresh("pair")), Var(self.names.fresh("n"))
                at = loop_index(pair, count) + first
                out += loop(pair, count, *loop(n, self.columns, *self._words(at, n, present)))
        if wide > self.columns:
            part, pair, n = (Var(self.names.fresh(stem)) for stem in ("part", "pair", "n"))
            rest = loop(n, wide - self.columns, store(self.packed[part, pair, n + self.columns], I32(0)))
            out += loop(part, self.packed.shape[0], *loop(pair, pairs, *rest))
        return out

    def _words(self, pair: Expr, n: Expr, present: int) -> Block:
        elements = [I32(self._operand(self.b.name, pair * 2 + row, n)) for row in range(present)]
        if not self.in_digits:
            return (store(self.packed[0, pair, n], _word(elements)),)
        low = [((element + 128) & 255) - 128 for element in elements]
        high = [(element - rest) >> DIGIT for element, rest in zip(elements, low)]
        return tuple(store(self.packed[digit, pair, n], _word(part)) for digit, part in enumerate((high, low)))

    # ---- the product

    def _contraction(self) -> Block:
        ctx, lanes = self.ctx, self.blocking.dot.lanes
        row, k = Axis(Var(self.names.fresh("row")), self.rows), Axis(Var(self.names.fresh("k")), self.depth)
        sums = Type(DType(self.blocking.dot.accumulator.value))
        half = (1 << self.shift) >> 1

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            first = block * (region.vectors * lanes) + (region.start + vector * lanes)
            return load(self.packed, self.digit, k.var, first, lanes=lanes)

        def start(column: Expr, width: int, active: int) -> Expr:
            if not self.in_digits:
                return Const(half, sums.with_lanes(width))
            low = I32(self.digit) * ((half & 255) - (half >> DIGIT)) + (half >> DIGIT)
            return low if width == 1 else Splat(low, width)

        def finish(r: Expr, column: Expr, value: Expr, width: int, active: int) -> Block:
            if self.in_digits:
                value = without_dropped_bits(value, self.shift)
            elif self.shift:
                value = value >> sums(self.shift)
            position = [axis.var for axis in self.batch]
            return ctx.store_vector(lambda c: (*position, r, c), column, ctx.rounded(value), active, ctx.refs)

        digits = (Axis(self.digit, 2, LoopKind.UNROLL),) if isinstance(self.digit, Var) else ()
        lhs = self._operand(self.a.name, row.var, k.var)
        weigh = (lambda *args: weighed_digit(args[-1], self.digit, self.shift)) if digits else None
        spec = Contraction((), row, self.columns, (*digits, k), lhs, weight, start, finish, weigh)
        return contraction_block(spec, self.blocking, self.names)


def _word(halves: list[Expr]) -> Expr:
    """One or two halfwords."""
    low = halves[0] & 0xFFFF
    return low if len(halves) == 1 else low | (halves[1] << 16)
