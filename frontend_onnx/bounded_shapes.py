"""Shapes that a run computes of numbers of its own, such as those of masks that are resized to boxes: each dimension is
one that a run finds, up to a bound that the user gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from ..ops.attributes import integer
from .context import NodeContext
from .folding import FoldingBuilder
from .polynomials import Polynomial
from .probe import MARK

BOUNDED: Mapping[str, int] = {"ConstantOfShape": 0, "Expand": 1, "Resize": 3, "Tile": 1}
"""The operands with the shape of the result, or of Tile with how often each dimension of the first one is in it."""

FURTHEST = 1 << 40
"""Numbers that a run computes are taken to be within this."""


def bounded_operands(ctx: NodeContext) -> NodeContext:
    """The node with the bounds as the shape that a run computes, where the user gives one; each number of it is known
    as one of the run then, at most that."""
    position, most = BOUNDED.get(ctx.op_type), ctx.builder.most.get(ctx.stem)
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
