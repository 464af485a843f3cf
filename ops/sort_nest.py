"""Plain nest of top_k: a heap of indices in the memory of the result.

The heap holds the k best elements so far with the worst of them at its root, so that most elements cost one
comparison. It is sorted in place in the end (heapsort; Williams 1964). Equal elements are ordered by their index,
which makes the order total and the result independent of the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import convert, eq, gt, lt, minimum, ne, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Block, Buffer, Expr, If, as_expr
from ..ir.types import DType
from ..record import record
from .attributes import flag, integer
from .nest_tools import AxisSplit, Index, Lets, accumulator, operand, serial_loop
from .opdef import Bind, NestContext


def top_k(ctx: NestContext, node: Node) -> Block:
    """Fills the heap with the first k elements, compares it with the others, and sorts it."""
    x, axis, k = operand(node, 0), integer(node.attrs, "axis"), integer(node.attrs, "k")
    split = AxisSplit.of(x, (axis,))

    def line(kept: Index) -> Block:
        heap = _Heap(ctx, x, node.output, flag(node.attrs, "largest"), lambda i: split.merge(kept, (i,)))
        position, init_position = accumulator(ctx, "position", DType.I32, 0)
        cursor, init_cursor = accumulator(ctx, "cursor", DType.I32, 0)
        item, init_item = accumulator(ctx, "item", DType.I32, 0)
        registers = (*init_position, *init_cursor, *init_item)

        def sift(start: Expr, size: Expr, new: Expr) -> Block:
            return heap.sift(position, cursor, item, start, size, new)

        def worst_last(e: Expr) -> Block:
            last = k - 1 - e
            lets = Lets(ctx)
            moved, root = lets.bind("moved", heap.at(last)), lets.bind("root", heap.at(as_expr(0)))
            return (*lets.block, *heap.set(last, root), *sift(as_expr(0), last, moved))

        def challenge(e: Expr) -> Block:
            lets = Lets(ctx)
            better = heap.beats(heap.key(e + k), heap.key_of(heap.at(as_expr(0))), lets.bind)
            return (*lets.block, If(better, sift(as_expr(0), as_expr(k), convert(e + k, DType.I32))))

        fill = serial_loop(ctx, "j", k, lambda j: heap.set(j, convert(j, DType.I32)))
        order = serial_loop(ctx, "s", k // 2, lambda s: sift(k // 2 - 1 - s, as_expr(k), heap.at(k // 2 - 1 - s)))
        scan = serial_loop(ctx, "e", x.shape[axis] - k, challenge)
        return (*registers, *fill, *order, *scan, *serial_loop(ctx, "e", k - 1, worst_last))

    return split.kept_loops(ctx, line)


@record
class _Heap:
    """Indices into one line of ``x``, kept in ``y``. ``place`` maps a position along the axis to an index."""

    ctx: NestContext
    x: Value
    y: Value
    largest: bool
    place: Callable[[Expr], Index]

    def at(self, position: Expr) -> Expr:
        return self.ctx.read(self.y, self.place(position))

    def set(self, position: Expr, item: Expr) -> Block:
        return self.ctx.write(self.y, self.place(position), item)

    def key(self, index: Expr) -> Expr:
        return self.ctx.read(self.x, self.place(index))

    def key_of(self, item: Expr) -> Expr:
        return self.key(convert(item, INDEX.dtype))

    def beats(self, a: Expr, b: Expr, bind: Bind) -> Expr:
        """Whether key ``a`` comes before ``b``; NaN is the greatest."""
        a, b = bind("a", a), bind("b", b)
        plain = gt(a, b) if self.largest else lt(a, b)
        if not a.type.dtype.is_float:
            return plain
        nan, other = (a, b) if self.largest else (b, a)
        return plain | (ne(nan, nan) & eq(other, other))

    def worse(self, p: Expr, q: Expr, bind: Bind) -> Expr:
        """Whether item ``p`` comes behind item ``q``."""
        p, q = bind("p", p), bind("q", q)
        a, b = bind("a", self.key_of(p)), bind("b", self.key_of(q))
        later = self.beats(b, a, bind)
        equal = eq(a, b)
        if a.type.dtype.is_float:
            equal = equal | (ne(a, a) & ne(b, b))
        return later | (equal & gt(p, q))

    def sift(self, position: Buffer, cursor: Buffer, item: Buffer, start: Expr, size: Expr, new: Expr) -> Block:
        """Puts ``new`` in place of the item at ``start`` and moves it down, below all that are worse.

        ``cursor`` is the place reached so far, and ``size`` once the item has found its ``position``.
        """
        ctx, k = self.ctx, self.y.shape
        levels = max(k).bit_length()

        def level(_: Expr) -> Block:
            lets = Lets(ctx)
            child = lets.bind("child", convert(cursor[0], INDEX.dtype) * 2 + 1)
            inner = Lets(ctx)
            other = inner.bind("other", minimum(child + 1, size - 1))
            right = self.worse(self.at(other), self.at(child), inner.bind)
            lower = inner.bind("lower", child + convert(right, INDEX.dtype))
            below = inner.bind("below", self.at(lower))
            down = self.worse(below, item[0], inner.bind)
            moved = (
                *self.set(convert(position[0], INDEX.dtype), below),
                store(position[0], convert(lower, DType.I32)),
                store(cursor[0], convert(lower, DType.I32)),
            )
            step = If(down, moved, (store(cursor[0], convert(size, DType.I32)),))
            return (*lets.block, If(lt(child, size), (*inner.block, step)))

        first = convert(start, DType.I32)
        return (
            store(item[0], new), store(position[0], first), store(cursor[0], first),
            *serial_loop(ctx, "level", levels, level),
            *self.set(convert(position[0], INDEX.dtype), item[0]),
        )  # fmt: skip
