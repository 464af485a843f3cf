"""Rules of the gathers: positions are normalised, and bent to one axis where they have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..errors import CcmlError
from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ops_movement import sliced
from .places import arange, check_reach, check_size, strides, within


def gather(ctx: NodeContext) -> Sequence[Value]:
    """One constant index is a slice. Negative indices count from the end of an extent that only a run knows. Several
    of a constant table make another table."""
    x = ctx.input(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    follows = ctx.builder.numbers.depends(ctx.input(1)) and (ctx.input(1).type.size == 1 or ctx.array(x) is None)
    if follows:
        ctx = ctx.of_run(1)
    known, count = ctx.array(ctx.input(1)), ctx.extents(x).get(axis)
    single = known is not None and known.size == 1 and known.min() >= 0
    single = single and not ctx.builder.numbers.depends(ctx.input(1))
    if (not single and (follows or ctx.has_extents())) or (count is not None and not ctx.is_argument(count)):
        return [_counted(ctx, x, axis, count)]
    indices = _wrapped(ctx, ctx.input(1), x.shape[axis])
    if known is None or known.size != 1:
        return [ctx.emit("gather", x, indices, axis=axis)]
    known = ctx.array(indices)
    assert known is not None
    ranges = [range(extent) for extent in x.shape]
    ranges[axis] = range(int(known.reshape(-1)[0]), int(known.reshape(-1)[0]) + 1)
    try:
        return [ctx.reshape(sliced(ctx, x, ranges), (*x.shape[:axis], *known.shape, *x.shape[axis + 1 :]))]
    except CcmlError:
        if count is None or not ctx.builder.compares:
            raise
        return [_counted(ctx, x, axis, None)]  # one of several indices, as many as an extent says


def _counted(ctx: NodeContext, x: Value, axis: int, count: Value | None) -> Value:
    """Elements of operands with extents, along a dimension that has the extent ``count``, if any; the last one for
    indices beyond, which ONNX forbids."""
    given, whole = ctx.builder.numbers.in_run(ctx.input(1), ctx.loc), replace(ctx, over_bounds=True)
    known = None if ctx.extents(given) or ctx.builder.numbers.depends(given) else ctx.array(given)
    if count is not None and known is not None and known.size:
        check_reach(ctx, axis, count, max(-int(known.min()), int(known.max()) + 1))
    y = whole.emit("gather", x, _along(whole, x, axis, given), axis=axis)
    rank = len(given.shape)
    found = {axis + d: each for d, each in ctx.extents(given).items()}
    found |= {d if d < axis else d + rank - 1: each for d, each in ctx.extents(x).items() if d != axis}
    return ctx.with_extents(y, found)


def _wrapped(ctx: NodeContext, indices: Value, extent: int) -> Value:
    """Indices counted from the end as counted from the beginning.

    Constant ones are checked; others are kept within the extent, so that no input can make a model read outside of
    its memory.
    """
    known = ctx.array(indices)
    if known is not None and known.size and not (-extent <= known.min() and known.max() < extent):
        raise ctx.invalid(f"indices {known.min()} to {known.max()} reach outside of an extent of {extent}")
    if known is not None and known.size and known.min() >= 0:
        return indices
    below = ctx.emit("lt", indices, ctx.scalar(0, indices))
    wrapped = ctx.emit("where", below, ctx.emit("add", indices, ctx.scalar(extent, indices)), indices)
    return ctx.emit("clip", wrapped, lo=0, hi=extent - 1)


def gather_elements(ctx: NodeContext) -> Sequence[Value]:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1: one gather from the elements of x in a row."""
    ctx = ctx.of_run(1)
    x, given = ctx.input(0), ctx.input(1)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    others = [(own, e) for d, (own, e) in enumerate(zip(given.shape, x.shape)) if d != axis]
    if len(given.shape) != len(x.shape) or any(own > extent for own, extent in others):
        raise ctx.invalid(f"indices {given.type} do not fit {x.type}")
    check_size(ctx, x.type.size)
    if ctx.has_extents() and not ctx.over_bounds:
        (y,) = gather_elements(replace(ctx, over_bounds=True))
        return [ctx.with_extents(y, ctx.extents(given))]
    steps = strides(x.shape)
    indices = ctx.cast(_along(ctx, x, axis, given), DType.I32)
    places = indices if steps[axis] == 1 else ctx.emit("mul", indices, ctx.scalar(steps[axis], indices))
    for d, extent in enumerate(given.shape):
        if d != axis and extent > 1:
            places = ctx.emit("add", places, arange(ctx, extent, len(x.shape), d, steps[d]))
    return [ctx.emit("gather", ctx.reshape(x, (x.type.size,)), places, axis=0)]


def _along(ctx: NodeContext, x: Value, axis: int, indices: Value) -> Value:
    """Indices along a dimension of ``x``, as positions within it."""
    count = ctx.extents(x).get(axis)
    return _wrapped(ctx, indices, x.shape[axis]) if count is None else within(ctx, indices, x.shape[axis], count)


def gather_nd(ctx: NodeContext) -> Sequence[Value]:
    """The last dimension of the indices is a position in the dimensions of x after the batch dimensions."""
    ctx = ctx.of_run(1)
    x, given, batch = ctx.input(0), ctx.input(1), ctx.integer("batch_dims", 0)
    depth = given.shape[-1] if given.shape else 0
    if not 0 <= batch < min(len(x.shape), len(given.shape)) or not 1 <= depth <= len(x.shape) - batch:
        raise ctx.invalid(f"indices {given.type} with {batch} batch dimensions do not fit {x.type}")
    if given.shape[:batch] != x.shape[:batch]:
        raise ctx.invalid(f"the batch dimensions of {given.type} and {x.type} differ")
    if ctx.has_extents() and not ctx.over_bounds:
        return [_counted_nd(ctx, batch, depth)]
    taken, rest = x.shape[: batch + depth], x.shape[batch + depth :]
    steps = strides(taken)
    places: Value | None = None
    for d in range(depth):
        ranges = [*(range(extent) for extent in given.shape[:-1]), range(d, d + 1)]
        column = ctx.reshape(sliced(ctx, given, ranges), given.shape[:-1])
        column = ctx.cast(_along(ctx, x, batch + d, column), DType.I64)
        part = ctx.emit("mul", column, ctx.scalar(steps[batch + d], column))
        places = part if places is None else ctx.emit("add", places, part)
    assert places is not None
    if batch:
        ctx.guard_constant(prod(x.shape[:batch]))
        base = np.arange(prod(x.shape[:batch]), dtype=np.int64) * steps[batch - 1]
        shape = (*x.shape[:batch], *[1] * (len(given.shape) - 1 - batch))
        places = ctx.emit("add", places, ctx.constant(base.reshape(shape)))
    return [ctx.emit("gather", ctx.reshape(x, (prod(taken), *rest)), places, axis=0)]


def _counted_nd(ctx: NodeContext, batch: int, depth: int) -> Value:
    """Of operands with extents."""
    x, given = ctx.input(0), ctx.input(1)
    found, last = dict(ctx.extents(given)), len(given.shape) - 1
    if last in found or any(found.get(d) != ctx.extents(x).get(d) for d in range(batch)):
        raise ctx.unsupported("indices of a depth that only a run knows, or of other batches than the data")
    (y,) = gather_nd(replace(ctx, over_bounds=True))
    found |= {last + d - batch - depth: each for d, each in ctx.extents(x).items() if d >= batch + depth}
    return ctx.with_extents(y, found)


RULES: Mapping[str, Rule] = {"Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd}
