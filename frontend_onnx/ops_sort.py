"""Rules of TopK and ReverseSequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .extents import greatest, least
from .places import arange, check_size, flattened, inside_of, strides


def top_k(ctx: NodeContext) -> Sequence[Value]:
    """The k greatest (least) elements and their indices; always sorted, which ``sorted`` 0 allows."""
    x, rank = ctx.input(0), len(ctx.input(0).shape)
    axis = ctx.axis(ctx.integer("axis", -1), rank)
    if not ctx.has("k") and (ctx.runtime(1) or ctx.builder.numbers.depends(ctx.input(1))):
        return _first_of_all(ctx, x, axis)
    k = (ctx.integer("k"),) if ctx.has("k") else ctx.parameter("k", 1)
    largest = bool(ctx.integer("largest", 1))
    ctx.integer("sorted", 1)
    if k is None or len(k) != 1 or not 0 <= k[0] <= x.shape[axis]:
        raise ctx.invalid(f"k {k} does not fit {x.type} along axis {axis}")
    if k[0] == 1 and not x.dtype.is_float:
        kind = "max" if largest else "min"
        order = ctx.emit("arg_reduce", x, kind=kind, axis=axis, keepdims=True, last=False)
    else:
        order = ctx.emit("top_k", x, axis=axis, k=k[0], largest=largest)
    indices = ctx.cast(order, DType.I64)
    check_size(ctx, x.type.size)
    if ctx.extents(x):
        whole = replace(ctx, over_bounds=True)
        return [ctx.with_extents(_at(whole, x, order, axis), ctx.extents(order)), indices]
    return [_at(ctx, x, order, axis), indices]


def _at(ctx: NodeContext, x: Value, order: Value, axis: int) -> Value:
    """The elements at the places ``order`` along an axis."""
    rank = len(x.shape)
    steps, rest = strides(x.shape), [d for d in range(rank) if d != axis and x.shape[d] > 1]
    columns = [ctx.cast(order, DType.I32), *(arange(ctx, x.shape[d], rank, d) for d in rest)]
    places = flattened(ctx, columns, [steps[axis], *(steps[d] for d in rest)])
    return ctx.emit("gather", ctx.reshape(x, (x.type.size,)), places, axis=0)


def _first_of_all(ctx: NodeContext, x: Value, axis: int) -> Sequence[Value]:
    """All elements in order, of which a run counts the first k, kept within the extent."""
    given, counts = ctx.input(1), ctx.builder.counts
    if given.type.size != 1:
        raise ctx.invalid(f"k has {given.type.size} elements, not one")
    whole, known = replace(ctx, over_bounds=True), ctx.builder.numbers.of(given)
    within, data = ctx.extents(x).get(axis), x
    if known is not None:
        count = counts.value(counts.least_of(known[0], ctx.extent_along(x, axis), ctx.loc), ctx.loc)
    else:
        count = whole.reshape(ctx.builder.numbers.in_run(given, ctx.loc), ())
        count = whole.emit("clip", count, lo=0, hi=x.shape[axis])
        count = count if within is None else whole.emit("min", count, within)
    if within is not None:
        last = least(x.dtype) if ctx.integer("largest", 1) else greatest(x.dtype)
        data = whole.emit("where", inside_of(whole, x.shape, axis, within), x, whole.scalar(last, x))
    k = whole.constant(np.full(given.shape, x.shape[axis], np.int64))
    results = top_k(replace(whole, inputs=(data, k)))
    return [ctx.with_extents(value, {**ctx.extents(x), axis: count}) for value in results]


def reverse_sequence(ctx: NodeContext) -> Sequence[Value]:
    """y[t, b] = x[t < length[b] ? length[b] - 1 - t : t, b]; elements beyond extents are moved among these."""
    x, lengths, extents = ctx.input(0), ctx.input(1), ctx.extents(ctx.input(0))
    if ctx.builder.ranged or ctx.has_extents():
        lengths = ctx.builder.numbers.table_in_run(ctx.builder.numbers.in_run(lengths, ctx.loc), ctx.loc)
        ctx.builder.extents_of(lengths, ctx.loc)  # what depends on extents in another way is refused
    time, batch = ctx.integer("time_axis", 0), ctx.integer("batch_axis", 1)
    if len(x.shape) < 2 or {time, batch} != {0, 1} or lengths.shape != (x.shape[batch],):
        raise ctx.invalid(f"lengths {lengths.type} with time axis {time} and batch axis {batch} do not fit {x.type}")
    check_size(ctx, prod(x.shape[:2]))
    ctx = replace(ctx, over_bounds=True) if extents else ctx
    length = ctx.cast(ctx.emit("clip", lengths, lo=0, hi=x.shape[time]), DType.I32)
    length = ctx.reshape(length, (x.shape[batch], *[1] * (1 - batch)))
    step = arange(ctx, x.shape[time], 2, time)
    back = ctx.emit("sub", ctx.emit("sub", length, step), ctx.scalar(1, step))
    at = ctx.emit("where", ctx.emit("lt", step, length), back, step)
    steps = strides(x.shape[:2])
    total = ctx.emit("mul", at, ctx.scalar(steps[time], at)) if steps[time] != 1 else at
    places = ctx.emit("add", total, arange(ctx, x.shape[batch], 2, batch, steps[batch]))
    rows = ctx.reshape(x, (prod(x.shape[:2]), *x.shape[2:]))
    return [ctx.with_extents(ctx.reshape(ctx.emit("gather", rows, places, axis=0), x.shape), extents)]


RULES: Mapping[str, Rule] = {"ReverseSequence": reverse_sequence, "TopK": top_k}
