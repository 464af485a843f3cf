"""Rules of the scatters: positions are normalised, and bent to one axis where they have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ops_movement import sliced
from .places import arange, check_size, filled_beyond, flattened, positions, strides
from .polynomials import Polynomial

_OF_BOOL = {"none": "none", "add": "max", "max": "max", "mul": "min", "min": "min"}


def _scatter(ctx: NodeContext, x: Value, places: Value, updates: Value, reduction: str) -> Value:
    """Reductions of bool are those of 0 and 1."""
    if reduction not in _OF_BOOL:
        raise ctx.invalid(f"reduction is {reduction}")
    if x.dtype is not DType.BOOL or reduction == "none":
        return ctx.emit("scatter", x, places, updates, reduction=reduction)
    numbers = [ctx.cast(value, DType.U8) for value in (x, updates)]
    return ctx.cast(ctx.emit("scatter", numbers[0], places, numbers[1], reduction=_OF_BOOL[reduction]), DType.BOOL)


def scatter_elements(ctx: NodeContext) -> Sequence[Value]:
    """y[i, indices[i, j, k], k] = updates[i, j, k] for axis 1: one scatter to the elements of x in a row."""
    ctx = ctx.of_run(0, 1, 2)
    x, given, updates = (ctx.input(position) for position in range(3))
    rank = len(x.shape)
    axis = ctx.axis(ctx.integer("axis", 0), rank)
    others = [(own, e) for d, (own, e) in enumerate(zip(given.shape, x.shape)) if d != axis]
    if given.shape != updates.shape or len(given.shape) != rank or any(own > extent for own, extent in others):
        raise ctx.invalid(f"indices {given.type} and updates {updates.type} do not fit {x.type}")
    check_size(ctx, x.type.size)
    if not given.type.size:
        return [x]
    if ctx.has_extents() and not ctx.over_bounds:
        (y,) = scatter_elements(replace(ctx, over_bounds=True))
        return [ctx.with_extents(y, ctx.extents(x))]
    columns, steps = [positions(ctx, given, x.shape[axis], ctx.extents(x).get(axis))], strides(x.shape)
    rest = [d for d in range(rank) if d != axis and given.shape[d] > 1]
    columns += [arange(ctx, given.shape[d], rank, d) for d in rest]
    places = flattened(ctx, columns, [steps[axis], *(steps[d] for d in rest)])
    places = filled_beyond(ctx, places, ctx.extents(given), -1)
    flat = ctx.reshape(x, (x.type.size,))
    return [ctx.reshape(_scatter(ctx, flat, places, updates, ctx.string("reduction", "none")), x.shape)]


def scatter_nd(ctx: NodeContext) -> Sequence[Value]:
    """The last dimension of the indices is a position in the first dimensions of x."""
    ctx = ctx.of_run(0, 1, 2)
    x, given, updates = (ctx.input(position) for position in range(3))
    if len(given.shape) == 2 and updates.shape and given.shape[0] != updates.shape[0]:
        given, updates = _as_many(ctx, given, updates), _as_many(ctx, updates, given)
        ctx = replace(ctx, inputs=(x, given, updates))
    depth = given.shape[-1] if given.shape else 0
    if not 1 <= depth <= len(x.shape) or updates.shape != (*given.shape[:-1], *x.shape[depth:]):
        raise ctx.invalid(f"indices {given.type} and updates {updates.type} do not fit {x.type}")
    check_size(ctx, prod(x.shape[:depth]))
    if not given.type.size:
        return [x]
    if ctx.has_extents() and not ctx.over_bounds:
        if len(given.shape) - 1 in ctx.extents(given):
            raise ctx.unsupported("indices of a depth that only a run knows")
        (y,) = scatter_nd(replace(ctx, over_bounds=True))
        return [ctx.with_extents(y, ctx.extents(x))]
    columns = []
    for d in range(depth):
        ranges = [*(range(extent) for extent in given.shape[:-1]), range(d, d + 1)]
        column = ctx.reshape(sliced(ctx, given, ranges), given.shape[:-1])
        columns.append(positions(ctx, column, x.shape[d], ctx.extents(x).get(d)))
    places = filled_beyond(ctx, flattened(ctx, columns, strides(x.shape[:depth])), ctx.extents(given), -1)
    rows = ctx.reshape(x, (prod(x.shape[:depth]), *x.shape[depth:]))
    return [ctx.reshape(_scatter(ctx, rows, places, updates, ctx.string("reduction", "none")), x.shape)]


def _as_many(ctx: NodeContext, rows: Value, others: Value) -> Value:
    """Rows whose number a run finds, of which no more are read than there are others at most: where a mask has as many
    places as the model has embeddings of an image, ONNX allows no other number."""
    extents, counts = ctx.extents(rows), ctx.builder.counts
    bound, found = others.shape[0], extents.get(0)
    if found is None or rows.shape[0] < bound or counts.is_static(ctx.builder.polynomial(found)):
        return rows
    whole = replace(ctx, over_bounds=True)
    first = sliced(whole, rows, [range(extent) for extent in (bound, *rows.shape[1:])])
    least = counts.least_of(ctx.builder.polynomial(found), Polynomial.constant(bound), ctx.loc)
    return ctx.with_extents(first, {**extents, 0: counts.value(least, ctx.loc)})


def tensor_scatter(ctx: NodeContext) -> Sequence[Value]:
    """y[b, ..., start[b] + t] = update[b, ..., t] along the axis, modulo its extent in circular mode.

    What reaches outside is left out.
    """
    if ctx.has_extents() and not ctx.over_bounds:
        (y,) = tensor_scatter(replace(ctx, over_bounds=True))
        return [ctx.with_extents(y, ctx.extents(ctx.input(0)))]
    x, update, starts = ctx.input(0), ctx.input(1), ctx.optional(2)
    rank, mode = len(x.shape), ctx.string("mode", "linear")
    axis = ctx.axis(ctx.integer("axis", -2), rank)
    extent, count = x.shape[axis], ctx.extents(x).get(axis)
    fits = len(update.shape) == rank and all(
        own == theirs if d != axis else own <= theirs for d, (own, theirs) in enumerate(zip(update.shape, x.shape))
    )
    if not fits or axis == 0 or mode not in ("linear", "circular"):
        raise ctx.invalid(f"update {update.type} along axis {axis} in mode {mode} does not fit {x.type}")
    if starts is not None and starts.shape != (x.shape[0],):
        raise ctx.invalid(f"write_indices {starts.type} do not fit {x.type}")
    check_size(ctx, prod(x.shape[: axis + 1]))
    prefix = axis + 1
    row: Value = arange(ctx, update.shape[axis], prefix, axis)
    if starts is not None:
        first = ctx.emit("clip", starts, lo=0 if mode == "circular" else -extent - 1, hi=(1 << 31) - 1 - extent)
        first = ctx.reshape(ctx.cast(first, DType.I32), (x.shape[0], *[1] * axis))
        row = ctx.emit("add", first, row)
        end = ctx.scalar(extent, row) if count is None else ctx.cast(count, DType.I32)
        if mode == "circular":
            row = ctx.emit("mod", row, ctx.emit("max", end, ctx.scalar(1, row)), fmod=False)
        else:
            above = ctx.emit("ge", row, end)
            row = ctx.emit("where", above, ctx.scalar(-1, row), row)
    steps = strides(x.shape[:prefix])
    outer = [d for d in range(axis) if x.shape[d] > 1]
    columns = [row, *(arange(ctx, x.shape[d], prefix, d) for d in outer)]
    places = flattened(ctx, columns, [1, *(steps[d] for d in outer)])
    places = ctx.emit("expand", places, shape=update.shape[:prefix])
    known = ctx.extents(update)
    places = filled_beyond(ctx, places, {d: known[d] for d in known if d < prefix}, -1)
    rows = ctx.reshape(x, (prod(x.shape[:prefix]), *x.shape[prefix:]))
    return [ctx.reshape(ctx.emit("scatter", rows, places, update, reduction="none"), x.shape)]


def max_unpool(ctx: NodeContext) -> Sequence[Value]:
    """Elements go to their places in the tensor that was pooled, whose shape is inferred, or to zeros around it.

    With ``output_shape`` that tensor is the first part of the result along each dimension.
    """
    x, indices = ctx.input(0), ctx.input(1)
    spatial, kernel = len(x.shape) - 2, ctx.integers("kernel_shape")
    stride, pad = ctx.integers("strides", (1,) * spatial), ctx.integers("pads", (0,) * 2 * spatial)
    if spatial < 1 or len(kernel) != spatial or len(stride) != spatial or len(pad) != 2 * spatial:
        raise ctx.invalid(f"kernel {kernel}, strides {stride} and pads {pad} do not fit {x.type}")
    if indices.shape != x.shape:
        raise ctx.invalid(f"indices {indices.type} do not fit {x.type}")
    extents = tuple(
        (extent - 1) * step - pad[d] - pad[spatial + d] + span
        for d, (extent, step, span) in enumerate(zip(x.shape[2:], stride, kernel))
    )
    shape = (*x.shape[:2], *extents)
    wanted = ctx.parameter("output_shape", 2) or shape
    if len(wanted) != len(shape) or any(extent < own for extent, own in zip(wanted, shape)) or min(shape) < 0:
        raise ctx.invalid(f"{x.type} unpooled is {shape}, which does not fit output_shape {wanted}")
    check_size(ctx, prod(shape))
    zeros = ctx.emit("expand", ctx.scalar(0, x), shape=(prod(shape),))
    places = positions(ctx, ctx.reshape(indices, (x.type.size,)), prod(shape))
    y = ctx.emit("scatter", zeros, places, ctx.reshape(x, (x.type.size,)), reduction="none")
    after = tuple(extent - own for extent, own in zip(wanted, shape))
    y = ctx.reshape(y, shape)
    if not any(after):
        return [y]
    return [ctx.emit("pad", y, before=(0,) * len(shape), after=after, mode="constant", value=0.0)]


RULES: Mapping[str, Rule] = {
    "MaxUnpool": max_unpool,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
}
