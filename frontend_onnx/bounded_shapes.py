"""Shapes that a run computes of numbers of its own, such as those of masks that are resized to boxes: each dimension is
one that a run finds, up to a bound that the user gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from ..ops.attributes import integer
from .context import NodeContext
from .folding import FoldingBuilder
from .joined_extents import repitched
from .polynomials import Polynomial
from .probe import MARK

_SHAPES: Mapping[str, int] = {"ConstantOfShape": 0, "Expand": 1, "Resize": 3, "Tile": 1}
"""The operands with the shape of the result, or of Tile with how often each dimension of the first one is in it."""

BOUNDED = frozenset({*_SHAPES, "Pad", "Reshape"})
"""The operators whose results have extents that a run computes."""

FURTHEST = 1 << 40
"""Numbers that a run computes are taken to be within this."""


def bounded_operands(ctx: NodeContext) -> NodeContext:
    """The node with the bounds as the shape that a run computes, where the user gives one; each number of it is known
    as one of the run then, at most that."""
    position, most = _SHAPES.get(ctx.op_type), ctx.builder.most.get(ctx.stem)
    given = None if position is None else ctx.optional(position)
    if most is None or given is None or position is None or not _is_open(ctx, position, given):
        return ctx
    declared = ctx.declared(0) or ()
    count, tiled = given.type.size, ctx.op_type == "Tile"
    sizes: list[int | None] = list(declared) if len(declared) == count and not tiled else [None] * count
    limits = [most] * count
    if ctx.op_type == "Expand":  # which repeats what is 1, and keeps the rest
        for place, extent in enumerate(ctx.input(0).shape, count - len(ctx.input(0).shape)):
            if place >= 0 and extent != 1:
                sizes[place] = extent
    if tiled:
        limits = [most // max(extent, 1) for extent in ctx.input(0).shape]
    numbers = [
        own if own.number is not None else Polynomial.constant(size) if size is not None else _limited(ctx, own, limit)
        for own, size, limit in zip(_entries(ctx.builder, given, ctx.loc), sizes, limits)
    ]
    array = np.asarray([ctx.builder.counts.span(each)[1] for each in numbers], np.int64)
    shape = ctx.constant(array.astype(given.dtype.numpy).reshape(given.shape))
    ctx.builder.numbers.note(shape, numbers)
    return replace(ctx, inputs=(*ctx.inputs[:position], shape, *ctx.inputs[position + 1 :]))


def _is_open(ctx: NodeContext, position: int, given: Value) -> bool:
    """Whether nothing else tells the shape, and each number of it can be any."""
    if not given.dtype.is_integer or given.type.rank != 1 or not ctx.runtime(position):
        return False
    if ctx.builder.numbers.of(given) is not None or None not in (ctx.declared(0) or (None,)):
        return False
    if ctx.op_type == "Tile":
        return given.type.size == len(ctx.input(0).shape)
    return ctx.op_type != "Resize" or ctx.string("keep_aspect_ratio_policy", "stretch") == "stretch"


def is_bounded(ctx: NodeContext, position: int) -> bool:
    """Whether the user gives a bound for numbers that a run computes, and nothing else tells them."""
    given = ctx.optional(position)
    return (
        ctx.stem in ctx.builder.most and given is not None and given.dtype.is_integer and given.type.rank == 1
        and ctx.runtime(position) and ctx.builder.numbers.of(given) is None and None in (ctx.declared(0) or (None,))
    )  # fmt: skip


def reshape_bounded(ctx: NodeContext, x: Value) -> Value:
    """``x`` in a shape of numbers that a run computes, among them perhaps 0, which copies an extent (unless allowzero),
    and -1, which is what is left over."""
    given, most, counts = ctx.input(1), ctx.builder.most[ctx.stem], ctx.builder.counts
    keep, declared = not ctx.integer("allowzero", 0), ctx.declared(0) or ()
    sizes = declared if len(declared) == given.type.size else (None,) * given.type.size
    own = [ctx.extent_along(x, axis) for axis in range(len(x.shape))]
    numbers: list[Polynomial] = []
    for place, (number, size) in enumerate(zip(_entries(ctx.builder, given, ctx.loc), sizes)):
        copied = own[place] if keep and place < len(own) else Polynomial.constant(0)
        if size is not None:
            number = Polynomial.constant(size)
        elif number.number == 0:
            number = copied
        elif number.number is None and keep:
            number = _where(ctx, "eq", number, copied)
        numbers.append(number)
    rest = _left_over(ctx, prod(own, start=Polynomial.constant(1)), numbers)
    numbers = [
        rest if number.number == -1 else number if counts.is_static(number) else _where(ctx, "lt", number, rest)
        for number in numbers
    ]
    found = [_limited(ctx, number, most) for number in numbers]
    shape = tuple(max(counts.span(each)[1], 0) for each in found)
    extents = {axis: counts.value(each, ctx.loc) for axis, each in enumerate(found) if each.number is None}
    whole = replace(ctx, over_bounds=True)
    return ctx.with_extents(repitched(whole.emit, x, ctx.extents(x), shape, extents), extents)


def _left_over(ctx: NodeContext, total: Polynomial, numbers: Sequence[Polynomial]) -> Polynomial:
    """``total`` by the product of the numbers that are not negative."""
    one = Polynomial.constant(1)
    known = prod((each for each in numbers if each.number is not None and each.number > 0), start=one)
    for each in numbers:
        if each.number is None:
            known = known * _where(ctx, "lt", each, one)
        elif each.number == 0:
            return Polynomial.constant(0)
    divided = total.divided(known)
    if divided is not None:
        return divided
    whole, counts = replace(ctx, over_bounds=True), ctx.builder.counts
    divisor = whole.emit("max", counts.value(known, ctx.loc), whole.constant(np.asarray(1)))
    quotient = whole.emit("div", counts.value(total, ctx.loc), divisor)
    return counts.atom(quotient, max(counts.span(total)[1], 0))


def _where(ctx: NodeContext, op: str, number: Polynomial, other: Polynomial) -> Polynomial:
    """``number``, or the ``other`` where it compares so with 0."""
    whole, counts = replace(ctx, over_bounds=True), ctx.builder.counts
    value = counts.value(number, ctx.loc)
    chosen = whole.emit("where", whole.emit(op, value, whole.scalar(0, value)), counts.value(other, ctx.loc), value)
    (low, high), (least, most) = counts.span(number), counts.span(other)
    return counts.atom(chosen, max(high, most), min(low, least))


def padded_totals(ctx: NodeContext, x: Value, axes: Sequence[int]) -> tuple[list[Polynomial], list[Polynomial]]:
    """The numbers of Pad in front of ``axes`` and behind them, which a run computes, so that each extent of the result
    is within the bound."""
    most, counts = ctx.builder.most[ctx.stem], ctx.builder.counts
    numbers, declared = list(_entries(ctx.builder, ctx.input(1), ctx.loc)), ctx.declared(0) or (None,) * len(x.shape)
    before, after = list[Polynomial](), list[Polynomial]()
    for axis, first, last in zip(axes, numbers[: len(axes)], numbers[len(axes) :], strict=True):
        extent, size = ctx.extent_along(x, axis), declared[axis]
        if first.number is None:
            least = counts.greatest_of(first, Polynomial.constant(-x.shape[axis]), ctx.loc)
            first = counts.least_of(least, Polynomial.constant(most), ctx.loc)
        total = extent + first + last
        total = Polynomial.constant(size) if size is not None else _limited(ctx, total, most)
        before.append(first)
        after.append(total - extent - first)
    return before, after


def _limited(ctx: NodeContext, number: Polynomial, most: int) -> Polynomial:
    """From 0 to ``most``. What it is of is remembered."""
    counts = ctx.builder.counts
    if counts.is_static(number) or 0 <= counts.span(number)[0] <= counts.span(number)[1] <= most:
        return number
    above = counts.greatest_of(number, Polynomial.constant(0), ctx.loc)
    within = counts.least_of(above, Polynomial.constant(most), ctx.loc)
    counts.limited[within] = number
    return within


def _entries(builder: FoldingBuilder, value: Value, loc: str) -> Iterator[Polynomial]:
    """The numbers of a list, in which known ones and such that a run computes may stand together."""
    known, node = builder.numbers.of(value), builder.producers.get(value.name)
    if known is not None:
        yield from known
    elif node is not None and node.op in ("reshape", "cast") and node.operands[0].dtype.is_integer:
        yield from _entries(builder, node.operands[0], loc)
    elif node is not None and node.op == "concat" and integer(node.attrs, "axis") == 0:
        for operand in node.operands:
            yield from _entries(builder, operand, loc)
    else:
        for place in range(value.type.size):
            yield _entry(builder, value, place, loc)


def _entry(builder: FoldingBuilder, value: Value, place: int, loc: str) -> Polynomial:
    """One number of a list that a run computes; the same one whenever it is asked for."""
    key = value.name, place
    if key not in builder.counts.entries:
        with builder.at_depth(builder.depth(value)):
            flat = _emit(builder, loc, "reshape", value, shape=(value.type.size,))
            one = _emit(builder, loc, "slice", flat, starts=(place,), steps=(1,), sizes=(1,))
            single = _emit(builder, loc, "reshape", one, shape=())
            single = single if single.dtype is DType.I64 else _emit(builder, loc, "cast", single, to=DType.I64)
        builder.counts.entries[key] = builder.counts.atom(single, FURTHEST, -FURTHEST)
    return builder.counts.entries[key]


def _emit(builder: FoldingBuilder, loc: str, op: str, x: Value, **attrs: AttrValue) -> Value:
    return builder.emit_whole(op, [x], attrs, loc=loc, names=[f"{loc}{MARK}"])[0]
