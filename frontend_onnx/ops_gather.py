"""Rules of the gathers: positions are normalised, and bent to one axis where they have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from math import prod

import numpy as np

from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ops_movement import sliced
from .places import arange, check_size, strides
from .probe import MARK


def gather(ctx: NodeContext) -> Sequence[Value]:
    """One constant index is a slice."""
    x = ctx.input(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    if ctx.builder.ranged and ctx.array(x) is None and _counts_from_end(ctx.array(ctx.input(1))):
        return [_from_end(ctx, x, axis)]
    indices = _wrapped(ctx, ctx.input(1), x.shape[axis])
    known = ctx.array(indices)
    if known is None or known.size != 1:
        return [ctx.emit("gather", x, indices, axis=axis)]
    ranges = [range(extent) for extent in x.shape]
    ranges[axis] = range(int(known.reshape(-1)[0]), int(known.reshape(-1)[0]) + 1)
    return [ctx.reshape(sliced(ctx, x, ranges), (*x.shape[:axis], *known.shape, *x.shape[axis + 1 :]))]


def _counts_from_end(indices: np.ndarray | None) -> bool:
    """Whether indices are constant, and some are negative."""
    return indices is not None and indices.size > 0 and bool(indices.min() < 0)


def _from_end(ctx: NodeContext, x: Value, axis: int) -> Value:
    """Elements from the end of a dimension that may have an extent; negative indices count back from that. The import
    that does not know of the extent makes the same nodes."""
    indices = ctx.input(1)
    count = ctx.builder.extents_of(x, ctx.loc).get(axis)
    wrapped = _wrapped(ctx, indices, x.shape[axis])
    if count is None:
        return ctx.emit("gather", x, wrapped, axis=axis)

    def emit(op: str, *operands: Value, **attrs: AttrValue) -> Value:
        names = repeat(f"{ctx.stem}{MARK}")
        return ctx.builder.emit_whole(op, operands, attrs, loc=ctx.loc, names=names)[0]

    below = emit("lt", indices, ctx.scalar(0, indices))
    behind = emit("add", indices, emit("cast", count, to=indices.dtype))
    places = emit("clip", emit("where", below, behind, indices), lo=0, hi=x.shape[axis] - 1)
    (result,) = ctx.builder.emit_whole(
        "gather", (x, places), {"axis": axis}, loc=ctx.loc, names=[f"{ctx.stem}.gather"]
    )
    kept = {d: each for d, each in ctx.builder.extents_of(x, ctx.loc).items() if d != axis}
    more = len(indices.shape) - 1
    found = {d if d < axis else d + more: each for d, each in kept.items()}
    if found:
        ctx.builder.extents[result.name] = found
    return result


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
    x, given = ctx.input(0), ctx.input(1)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    others = [(own, e) for d, (own, e) in enumerate(zip(given.shape, x.shape)) if d != axis]
    if len(given.shape) != len(x.shape) or any(own > extent for own, extent in others):
        raise ctx.invalid(f"indices {given.type} do not fit {x.type}")
    check_size(ctx, x.type.size)
    steps = strides(x.shape)
    indices = ctx.cast(_wrapped(ctx, given, x.shape[axis]), DType.I32)
    places = indices if steps[axis] == 1 else ctx.emit("mul", indices, ctx.scalar(steps[axis], indices))
    for d, extent in enumerate(given.shape):
        if d != axis and extent > 1:
            places = ctx.emit("add", places, arange(ctx, extent, len(x.shape), d, steps[d]))
    return [ctx.emit("gather", ctx.reshape(x, (x.type.size,)), places, axis=0)]


def gather_nd(ctx: NodeContext) -> Sequence[Value]:
    """The last dimension of the indices is a position in the dimensions of x after the batch dimensions."""
    x, given, batch = ctx.input(0), ctx.input(1), ctx.integer("batch_dims", 0)
    depth = given.shape[-1] if given.shape else 0
    if not 0 <= batch < min(len(x.shape), len(given.shape)) or not 1 <= depth <= len(x.shape) - batch:
        raise ctx.invalid(f"indices {given.type} with {batch} batch dimensions do not fit {x.type}")
    if given.shape[:batch] != x.shape[:batch]:
        raise ctx.invalid(f"the batch dimensions of {given.type} and {x.type} differ")
    taken, rest = x.shape[: batch + depth], x.shape[batch + depth :]
    steps = strides(taken)
    places: Value | None = None
    for d in range(depth):
        ranges = [*(range(extent) for extent in given.shape[:-1]), range(d, d + 1)]
        column = ctx.reshape(sliced(ctx, given, ranges), given.shape[:-1])
        column = ctx.cast(_wrapped(ctx, column, taken[batch + d]), DType.I64)
        part = ctx.emit("mul", column, ctx.scalar(steps[batch + d], column))
        places = part if places is None else ctx.emit("add", places, part)
    assert places is not None
    if batch:
        ctx.guard_constant(prod(x.shape[:batch]))
        base = np.arange(prod(x.shape[:batch]), dtype=np.int64) * steps[batch - 1]
        shape = (*x.shape[:batch], *[1] * (len(given.shape) - 1 - batch))
        places = ctx.emit("add", places, ctx.constant(base.reshape(shape)))
    return [ctx.emit("gather", ctx.reshape(x, (prod(taken), *rest)), places, axis=0)]


RULES: Mapping[str, Rule] = {"Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd}
