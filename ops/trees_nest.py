"""Plain nest of trees: each row walks down each tree by the tables of its nodes."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import convert, ge, gt, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Alloc, Block, Buffer, Expr, If, Space, Store, Type, as_expr, binary
from ..ir.types import DType
from .attributes import text
from .nest_tools import Lets, accumulator, loops, operand, optional, serial_loop
from .opdef import NestContext

_COMBINE = {"sum": "add", "min": "min", "max": "max"}

Leaf = Callable[[Expr], Expr]
"""An entry of the leaf's row, by its number."""


def trees(ctx: NestContext, node: Node) -> Block:
    """The loop over the trees is the outer one of a row. A row that is at a leaf stays there."""
    keys, column, threshold, child, root, depth, value = (operand(node, n) for n in range(7))

    def row(n: Expr) -> Block:
        place, init_place = accumulator(ctx, "place", DType.I32, 0)

        def step(_: Expr) -> Block:
            lets = Lets(ctx)
            at = lets.bind("node", convert(place[0], INDEX.dtype))
            key = ctx.read(keys, (n, convert(ctx.read(column, (at,)), INDEX.dtype)))
            above = gt(key, ctx.read(threshold, (at,)))
            onward = ctx.read(child, (at, convert(above, INDEX.dtype)))
            return (If(ge(place[0], 0), (*lets.block, store(place[0], convert(onward, DType.I32)))),)

        totals = Totals(ctx, node)

        def tree(t: Expr) -> Block:
            start = store(place[0], convert(ctx.read(root, (t,)), DType.I32))
            walk = serial_loop(ctx, "d", convert(ctx.read(depth, (t,)), INDEX.dtype), step)
            lets = Lets(ctx)
            leaf = lets.bind("leaf", -1 - convert(place[0], INDEX.dtype))
            return (start, *walk, *lets.block, *totals.add(t, lambda k: ctx.read(value, (leaf, k))))

        every = serial_loop(ctx, "t", root.shape[0], tree)
        return (*totals.start(), *init_place, *every, *totals.write(n))

    return loops(ctx, ("n",), keys.shape[:1], lambda index: row(index[0]))


class Totals:
    """What the leaves of one row come to so far: in registers up to ``registers`` targets, else in memory.

    Leaves can only be added to registers where it is known when the kernel is made which target they are of.
    """

    def __init__(self, ctx: NestContext, node: Node, registers: int = 1) -> None:
        self._ctx, self._node, self._base = ctx, node, operand(node, 7)
        self._kind = _COMBINE[text(node.attrs, "kind")]
        self._count, dtype = self._base.shape[0], self._base.dtype
        self._unrolled = self._count <= registers
        if self._unrolled:
            self._buffer = Buffer(ctx.fresh("total"), Type(dtype), (self._count,), Space.REG)
            self._block: Block = (Alloc(self._buffer),)
        else:
            self._buffer, self._block = ctx.scratch("totals", dtype, (self._count,))

    def _each(self, body: Callable[[Expr], Block]) -> Block:
        """For each target."""
        if self._unrolled:
            return tuple(stmt for k in range(self._count) for stmt in body(as_expr(k)))
        return serial_loop(self._ctx, "k", self._count, body)

    def start(self) -> Block:
        base = self._each(lambda k: (store(self._buffer[k], self._ctx.read(self._base, (k,))),))
        return (*self._block, *base)

    def add(self, tree: Expr, leaf: Leaf) -> Block:
        """Adds a leaf of tree number ``tree``: to all targets, or to the one of the tree."""
        target = optional(self._node, 8)
        if target is None:
            return self._each(lambda k: (self.add_to(k, leaf(k)),))
        lets = Lets(self._ctx)
        at = lets.bind("target", convert(self._ctx.read(target, (tree,)), INDEX.dtype))
        return (*lets.block, self.add_to(at, leaf(as_expr(0))))

    def add_to(self, target: Expr, element: Expr) -> Store:
        """Adds one weight to one target, a literal where totals are in registers."""
        total = self._buffer[target]
        return store(total, binary(self._kind, total, convert(element, self._buffer.dtype)))

    def write(self, row: Expr) -> Block:
        return self._each(lambda k: self._ctx.write(self._node.output, (row, k), self._buffer[k]))
