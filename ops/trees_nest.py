"""Plain nest of trees: each row walks down each tree by the tables of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import bits, convert, ge, gt, select, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Alloc, Block, Buffer, Expr, If, Space, Store, Type, as_expr, binary, const
from ..ir.types import DType
from .attributes import text
from .float_keys import KEYS, key_of, spare_keys
from .nest_tools import Lets, accumulator, loops, operand, optional, register, serial_loop, write_as
from .opdef import NestContext
from .trees import is_greatest

_COMBINE = {"sum": "add", "min": "min", "max": "max"}

Leaf = Callable[[Expr], Expr]
"""An entry of a row, by its number."""


def trees(ctx: NestContext, node: Node) -> Block:
    """The loop over the trees is the outer one of a row. A row that is at a leaf stays there."""
    x, column, threshold, child, root, depth, value = (operand(node, n) for n in range(7))

    def row(n: Expr) -> Block:
        keys, prepare = row_keys(ctx, node, n)
        place, init_place = accumulator(ctx, "place", DType.I32, 0)

        def step(_: Expr) -> Block:
            lets = Lets(ctx)
            at = lets.bind("node", convert(place[0], INDEX.dtype))
            key = keys(convert(ctx.read(column, (at,)), INDEX.dtype))
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
        return (*prepare, *totals.start(), *init_place, *every, *totals.write(n))

    return loops(ctx, ("n",), x.shape[:1], lambda index: row(index[0]))


def row_keys(
    ctx: NestContext, node: Node, n: Expr, features: int = 0, feature: Leaf | None = None
) -> tuple[Leaf, Block]:
    """The key of a column of row ``n``, and what has to run before: keys of floats are computed for all columns. With
    ``feature``, only those of the ``features`` features that it lists are, and columns are counted among these; of
    integers these are words, and else the integers themselves."""
    x, missing = operand(node, 0), text(node.attrs, "missing")
    if x.dtype not in KEYS:
        if feature is None:
            return lambda column: ctx.read(x, (n, column)), ()
        words, block = ctx.scratch("words", DType.I32, (features,))

        def copy(c: Expr) -> Block:
            return (store(words[c], convert(ctx.read(x, (n, feature(c))), DType.I32)),)

        return lambda column: words[column], (*block, *serial_loop(ctx, "c", features, copy))
    columns, count = (2 if missing == "both" else 1), features if feature else x.shape[1]
    keys, block = ctx.scratch("keys", KEYS[x.dtype], (count * columns,))

    def body(c: Expr) -> Block:
        lets = Lets(ctx)
        element = ctx.read(x, (n, feature(c) if feature else c))
        key = lets.bind("key", key_of(lets.bind("bits", bits(element, KEYS[x.dtype]))))
        spare = spare_keys(x.dtype)
        moved = {"above": (key - spare,), "below": (key + spare,), "both": (key - spare, key + spare)}[missing]
        return (*lets.block, *(store(keys[c * columns + k], each) for k, each in enumerate(moved)))

    return lambda column: keys[column], (*block, *serial_loop(ctx, "c", count, body))


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
        if self._unrolled:
            return write_totals(self._ctx, self._node, row, [self._buffer[k] for k in range(self._count)])
        return write_memory(self._ctx, self._node, row, self._buffer)


def write_totals(ctx: NestContext, node: Node, row: Expr, totals: Sequence[Expr]) -> Block:
    """Writes the totals of a row, or the place of the first greatest of them, without a loop."""
    if not is_greatest(node.attrs):
        each = (ctx.write(node.output, (row, as_expr(k)), total) for k, total in enumerate(totals))
        return tuple(stmt for block in each for stmt in block)
    lets = Lets(ctx)
    best = lets.bind("total", totals[0])
    place: Expr = const(0, Type(DType.I32))
    for k, total in enumerate(totals[1:], start=1):
        total = lets.bind("total", total)
        better = lets.bind("better", gt(total, best))
        place = lets.bind("place", select(better, const(k, Type(DType.I32)), place))
        if k + 1 < len(totals):
            best = lets.bind("best", select(better, total, best))
    return (*lets.block, *write_as(ctx, node.output, (row,), place))


def write_memory(ctx: NestContext, node: Node, row: Expr, totals: Buffer) -> Block:
    """Writes the totals in memory, or the place of the first greatest of them, by a loop."""
    dtype = operand(node, 7).dtype
    if not is_greatest(node.attrs):
        return serial_loop(
            ctx, "k", totals.shape[0], lambda k: ctx.write(node.output, (row, k), convert(totals[k], dtype))
        )
    best, place = register(ctx, "best", dtype), register(ctx, "place", DType.I32)

    def step(k: Expr) -> Block:
        lets = Lets(ctx)
        total = lets.bind("total", convert(totals[k], dtype))
        found = (store(best[0], total), store(place[0], convert(k, DType.I32)))
        return (*lets.block, If(gt(total, best[0]), found))

    start = (Alloc(best), Alloc(place), store(best[0], convert(totals[0], dtype)), store(place[0], 0))
    return (*start, *serial_loop(ctx, "k", totals.shape[0], step), *write_as(ctx, node.output, (row,), place[0]))
