"""Plain nests of nonzero, unique, pack and unpack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import convert, eq, ge, lt, maximum, minimum, ne, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Block, Buffer, Expr, ExprLike, If, Load, as_expr, const
from ..ir.types import DType
from ..record import record
from .attributes import flag, ints
from .nest_tools import (
    Index,
    Lets,
    accumulator,
    dim_stems,
    operand,
    serial_loop,
    serial_loops,
)
from .opdef import NestContext

I32 = DType.I32


def nonzero(ctx: NestContext, node: Node) -> Block:
    """Writes each place behind those found so far, and 0 behind all of them."""
    x, (places, number) = operand(node, 0), node.outputs
    count, init = accumulator(ctx, "count", I32, 0)

    def look(i: Expr) -> Block:
        found = ctx.write(places, (_index(count),), convert(i, I32))
        return (If(ctx.read(x, (i,)), (*found, store(count[0], count[0] + 1))),)

    rest = _zeros_behind(ctx, count, places)
    return (*init, *serial_loop(ctx, "i", x.shape[0], look), *rest, *_write_count(ctx, number, count))


def unique(ctx: NestContext, node: Node) -> Block:
    """Sorts the rows by binary insertion, which is stable, and walks the groups of equal ones.

    Groups have numbers in ascending order; their labels are these, or count them in the order of first occurrence.
    """
    x, (first, inverse, counts, number) = operand(node, 0), node.outputs
    size = x.shape[0]
    rows = _Rows(ctx, x)
    work, allocated = ctx.scratch("work", I32, (5, size))  # one buffer: of unused results nothing is left over
    order, group_of, begin, length, label = (_Line(work, row) for row in range(5))
    groups, init = accumulator(ctx, "groups", I32, 0)

    def visit(place: Expr) -> Block:
        lets = Lets(ctx)
        item = lets.bind("item", order[place])
        before = convert(order[maximum(place - 1, 0)], INDEX.dtype)
        relation, compared = rows.compare(convert(item, INDEX.dtype), before)
        last = _index(groups) - 1
        opened = (
            store(groups[0], groups[0] + 1), store(begin[last], item),
            store(length[last], 0), store(label[last], groups[0] - 1),
        )  # fmt: skip
        new = eq(place, 0) | ne(relation[0], 0)
        return (
            *lets.block, *compared, If(new, opened),
            store(group_of[convert(item, INDEX.dtype)], groups[0] - 1),
            store(length[last], length[last] + 1),
        )  # fmt: skip

    def result(place: Expr) -> Block:
        lets = Lets(ctx)
        at = lets.bind("at", convert(label[place], INDEX.dtype))
        known = (*lets.block, *ctx.write(first, (at,), begin[place]), *ctx.write(counts, (at,), length[place]))
        return (If(lt(convert(place, I32), groups[0]), known),)

    def element(place: Expr) -> Block:
        return ctx.write(inverse, (place,), label[convert(group_of[place], INDEX.dtype)])

    relabel = () if flag(node.attrs, "sorted") else _by_occurrence(ctx, size, group_of, begin, label)
    blocks = (serial_loop(ctx, stem, size, step) for stem, step in (("s", visit), ("g", result), ("i", element)))
    visited, results, elements = blocks
    return (
        *allocated, *_sorted(ctx, rows, order), *init, *visited, *relabel, *results,
        *_zeros_behind(ctx, groups, first, counts), *elements, *_write_count(ctx, number, groups),
    )  # fmt: skip


def _by_occurrence(ctx: NestContext, size: int, group_of: _Line, begin: _Line, label: _Line) -> Block:
    """Labels groups in the order of their first rows."""
    labelled, init = accumulator(ctx, "labelled", I32, 0)

    def row(place: Expr) -> Block:
        lets = Lets(ctx)
        group = lets.bind("group", convert(group_of[place], INDEX.dtype))
        named = (store(label[group], labelled[0]), store(labelled[0], labelled[0] + 1))
        return (*lets.block, If(eq(begin[group], convert(place, I32)), named))

    return (*init, *serial_loop(ctx, "i", size, row))


@record
class _Line:
    """A row of a matrix of the work space."""

    buffer: Buffer
    row: int

    def __getitem__(self, place: Expr) -> Load:
        return self.buffer[self.row, place]


class _Rows:
    """The rows of a matrix, in lexicographic order. NaN equals NaN and is greater than all numbers."""

    def __init__(self, ctx: NestContext, x: Value) -> None:
        self.ctx, self.x = ctx, x

    def compare(self, p: Expr, q: Expr) -> tuple[Buffer, Block]:
        """A register that is below, at or above 0 as row ``p`` comes before row ``q``, equals it or comes behind it."""
        relation, init = accumulator(self.ctx, "relation", I32, 0)

        def element(r: Expr) -> Block:
            lets = Lets(self.ctx)
            a, b = (lets.bind(stem, self.ctx.read(self.x, (row, r))) for stem, row in (("a", p), ("b", q)))
            less, greater = self._before(a, b), self._before(b, a)
            sign = If(less, (store(relation[0], -1),), (If(greater, (store(relation[0], 1),)),))
            return (If(eq(relation[0], 0), (*lets.block, sign)),)

        return relation, (*init, *serial_loop(self.ctx, "r", self.x.shape[1], element))

    def _before(self, a: Expr, b: Expr) -> Expr:
        plain = lt(a, b)
        if not a.type.dtype.is_float:
            return plain
        return plain | (ne(b, b) & eq(a, a))


def _sorted(ctx: NestContext, rows: _Rows, order: _Line) -> Block:
    """Fills ``order`` with the numbers of the rows, equal ones in their own order."""
    size = rows.x.shape[0]
    low, init_low = accumulator(ctx, "low", I32, 0)
    high, init_high = accumulator(ctx, "high", I32, 0)

    def insert(i: Expr) -> Block:
        def halve(_: Expr) -> Block:
            lets = Lets(ctx)
            middle = lets.bind("middle", (_index(low) + _index(high)) // 2)
            relation, compared = rows.compare(i, convert(order[middle], INDEX.dtype))
            lower, upper = store(high[0], convert(middle, I32)), store(low[0], convert(middle + 1, I32))
            step = If(lt(relation[0], 0), (lower,), (upper,))
            return (If(lt(low[0], high[0]), (*lets.block, *compared, step)),)

        lets = Lets(ctx)
        place = lets.bind("place", _index(low))
        shift = serial_loop(
            ctx, "s", i - place, lambda s: (store(order[i - s], order[maximum(i - s - 1, 0)]),)
        )
        start = (store(low[0], 0), store(high[0], convert(i, I32)))
        search = serial_loop(ctx, "level", size.bit_length(), halve)
        return (*start, *search, *lets.block, *shift, store(order[place], convert(i, I32)))

    return (*init_low, *init_high, *serial_loop(ctx, "i", size, insert))


def pack(ctx: NestContext, node: Node) -> Block:
    """The elements within the extents one behind the other, and 0 behind them."""
    y = node.output

    def element(x: Value, index: Index, position: Expr) -> Block:
        return ctx.write(y, (position,), ctx.read(x, index))

    return _dense(ctx, node, operand(node, 0).shape, element)


def unpack(ctx: NestContext, node: Node) -> Block:
    """Elements that lie one behind the other put to their places within the extents, and 0 beyond these."""
    y = node.output

    def element(x: Value, index: Index, position: Expr) -> Block:
        return ctx.write(y, index, ctx.read(x, (position,)))

    return _dense(ctx, node, y.shape, element)


def _dense(
    ctx: NestContext, node: Node, shape: Sequence[int], element: Callable[[Value, Index, Expr], Block]
) -> Block:
    """``element(x, index, position)`` for each index within the extents, and zeros in the rest of the result."""
    x, y, lets = operand(node, 0), node.output, Lets(ctx)
    extents: list[ExprLike] = list(shape)
    for axis, value in zip(ints(node.attrs, "axes"), node.operands[1:], strict=True):
        given = lets.bind("given", convert(ctx.read(value, ()), INDEX.dtype))
        extents[axis] = lets.bind("n", maximum(minimum(given, shape[axis]), 0))

    def inside(index: Index) -> Block:
        position: Expr = as_expr(0)
        for part, extent in zip(index, extents):
            position = position * extent + part
        return element(x, index, position)

    zero = const(0, ctx.read(x, [as_expr(0)] * x.type.rank).type)
    clear = serial_loops(ctx, dim_stems(y.type.rank), y.shape, lambda at: ctx.write(y, at, zero))
    return (*clear, *lets.block, *serial_loops(ctx, dim_stems(len(shape)), extents, inside))


def _index(count: Buffer) -> Expr:
    return convert(count[0], INDEX.dtype)


def _zeros_behind(ctx: NestContext, count: Buffer, *values: Value) -> Block:
    """0 in the entries of lists of i32 whose number is not below ``count``."""

    def entry(i: Expr) -> Block:
        cleared = tuple(stmt for value in values for stmt in ctx.write(value, (i,), const(0, count[0].type)))
        return (If(ge(convert(i, I32), count[0]), cleared),)

    return serial_loop(ctx, "z", values[0].shape[0], entry)


def _write_count(ctx: NestContext, number: Value, count: Buffer) -> Block:
    return ctx.write(number, (), convert(count[0], number.dtype))
