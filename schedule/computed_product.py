"""Products of two computed matrices of bytes by the multiply-accumulates of a CPU with vectors.

With zero points ``za`` and ``zb``, over k of 0..K-1 (Jacob et al., "Quantization and Training of Neural Networks for
Efficient Integer-Arithmetic-Only Inference", 2018, section 2.3)::

    sum((a[m, k] - za) * (b[k, n] - zb))
      = sum(a[m, k] * b[k, n]) - zb * sum(a[m, k]) + (K * za * zb - za * sum(b[k, n]))

The right matrix is packed at run time as weights are while compiling: groups of k side by side in words. The last term
is where the accumulators of a column start, the middle one is subtracted from the results of a row.
"""

from __future__ import annotations

from math import ceil, prod

from ..ir.build import load, store
from ..ir.loops import I32, Alloc, Block, Buffer, Expr, Load, Space, Splat, Var
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.integer import zero_point
from ..targets.target import Cpu, Dot, ElementKind
from .blocking import Axis, Product, Region
from .contraction_loops import contraction_block
from .dots import activation_shift, usable_dots
from .kernel import KernelContext
from .microkernel import Contraction

BYTES = (DType.I8, DType.U8)


def is_computed_product(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` of computed matrices of bytes, on a CPU that adds up groups of their products
    in vectors."""
    node, weights = ctx.contraction
    shapes = [operand.shape for operand in node.operands]
    if weights is not None or len(node.inputs) > 2 or min(map(len, shapes)) < 2 or not node.output.type.size:
        return False
    return all(operand.dtype in BYTES for operand in node.operands) and bool(_dots(ctx.cpu, node.operands[0].dtype))


def lower_computed_product(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_computed_product` holds."""
    return _ComputedProduct(ctx).emit()


def _dots(cpu: Cpu, activation: DType) -> tuple[Dot, ...]:
    found = (dot for dot in usable_dots(cpu, activation) if dot.lanes > 1 and dot.group > 1 and dot.rows == 1)
    return tuple(dot for dot in found if dot.packed_parts == dot.parts)


class _ComputedProduct:
    def __init__(self, ctx: KernelContext) -> None:
        self.ctx, self.names = ctx, ctx.names
        node, _ = ctx.contraction
        self.a, self.b = node.operands[:2]
        self.out = node.output.shape
        self.rows, self.columns, self.depth = self.out[-2], self.out[-1], self.a.shape[-1]
        self.batch = [Axis(Var(self.names.fresh("o")), extent) for extent in self.out[:-2]]
        dots = _dots(ctx.cpu, self.a.dtype)
        product = Product(dots, self.rows, self.columns, (self.depth,), prod(self.out[:-2]))
        self.blocking = ctx.blocking(product)
        self.dot = self.blocking.dot
        self.zeros = zero_point(node.attrs), zero_point(node.attrs, "rhs_zero_point")
        self.moved = 128 if self.b.dtype is DType.U8 and self.dot.weight is ElementKind.I8 else 0
        """What is subtracted from the right matrix, so that its elements are signed bytes."""
        wide = ceil(self.columns / self.dot.lanes) * self.dot.lanes
        align = 4 * self.dot.lanes
        words = ceil(self.depth / self.dot.group) * self.dot.parts
        self.packed = ctx.temporary("packed", DType.I32, (words, wide), align)
        self.starts = ctx.temporary("starts", DType.I32, (wide,), align)
        self.sums = ctx.temporary("sums", DType.I32, (self.rows,), align)

    def emit(self) -> Block:
        corrected = self.zeros[1] != self.moved
        body = (*self._pack(), *self._column_starts(), *(self._row_sums() if corrected else ()))
        body = (*self.ctx.vectorized(body), *self._contraction(corrected))
        for axis in reversed(self.batch):
            body = loop(axis.var, axis.extent, *body)
        return body

    def _position(self) -> list[Expr]:
        return [loop_index(axis.var, axis.extent) for axis in self.batch]

    def _operand(self, name: str, *index: Expr) -> Load:
        ref = self.ctx.refs[name]
        return ref[ref.broadcast_index((*self._position(), *index))]

    def _right(self, k: Expr, n: Expr) -> Expr:
        """An element of the right matrix, a signed one."""
        value: Expr = I32(self._operand(self.b.name, k, n))
        return value - self.moved if self.moved else value

    def _pack(self) -> Block:
        """The words of the right matrix; what fills the last group is zero, and so are columns that fill vectors."""
        group, parts, (words, wide) = self.dot.group, self.dot.parts, self.packed.shape
        out: Block = ()
        for first, count, present in ((0, self.depth // group, group), (words // parts - 1, 1, self.depth % group)):
            if not count or not present:
                continue
            kg, n = Var(self.names.fresh("kg")), Var(self.names.fresh("n"))
            at = loop_index(kg, count) + first
            stores = (
                store(self.packed[at * parts + part, n], self._word(at * group, n, range(part, present, parts)))
                for part in range(parts)
            )
            out += loop(kg, count, *loop(n, self.columns, *stores))
        if wide > self.columns:
            kg, n = Var(self.names.fresh("kg")), Var(self.names.fresh("n"))
            rest = store(self.packed[kg, n + self.columns], I32(0))
            out += loop(kg, words, *loop(n, wide - self.columns, rest))
        return out

    def _word(self, k: Expr, n: Expr, places: range) -> Expr:
        """Elements ``places`` behind ``k`` side by side."""
        bits = 32 * self.dot.parts // self.dot.group
        word: Expr = I32(0)
        for number, place in enumerate(places):
            part = self._right(k + place, n)
            if bits * (number + 1) < 32:
                part = part & ((1 << bits) - 1)
            word = word | part << (bits * number) if number else part
        return word

    def _column_starts(self) -> Block:
        """``K * za * zb - za * sum(b[k, n])``; the instruction may take activations that are moved as well."""
        (left, right), shift = self.zeros, activation_shift(self.dot)
        right -= self.moved
        k, n = Var(self.names.fresh("k")), Var(self.names.fresh("n"))
        total = Buffer(self.names.fresh("total"), I32, (1,), Space.REG)
        add = store(total[0], total[0] + self._right(k, n))
        start = I32(self.depth * left * right) - total[0] * (left + shift)
        each = (Alloc(total), store(total[0], I32(0)), *loop(k, self.depth, add), store(self.starts[n], start))
        rest = Var(self.names.fresh("n"))
        empty = self.starts.shape[0] - self.columns
        return (
            *loop(n, self.columns, *each),
            *(loop(rest, empty, store(self.starts[rest + self.columns], I32(0))) if empty else ()),
        )

    def _row_sums(self) -> Block:
        """``zb * sum(a[m, k])``."""
        m, k = Var(self.names.fresh("m")), Var(self.names.fresh("k"))
        total = Buffer(self.names.fresh("total"), I32, (1,), Space.REG)
        add = store(total[0], total[0] + I32(self._operand(self.a.name, m, k)))
        result = store(self.sums[m], total[0] * (self.zeros[1] - self.moved))
        return loop(m, self.rows, Alloc(total), store(total[0], I32(0)), *loop(k, self.depth, add), result)

    def _contraction(self, corrected: bool) -> Block:
        ctx, lanes = self.ctx, self.dot.lanes
        row, k = Axis(Var(self.names.fresh("row")), self.rows), Axis(Var(self.names.fresh("k")), self.depth)

        def weight(region: Region, block: Expr, vector: int) -> Expr:
            first = block * (region.vectors * lanes) + (region.start + vector * lanes)
            return load(self.packed, k.var, first, lanes=lanes)

        def start(column: Expr, lanes: int, active: int) -> Expr:
            return load(self.starts, column, lanes=lanes)

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            if corrected:
                value = value - Splat(self.sums[r], lanes)
            return ctx.store_vector(lambda c: (*self._position(), r, c), column, value, active, ctx.refs)

        lhs = self._operand(self.a.name, row.var, k.var)
        spec = Contraction((), row, self.columns, (k,), lhs, weight, start, finish)
        return contraction_block(spec, self.blocking, self.names)
