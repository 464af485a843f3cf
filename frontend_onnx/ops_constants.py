"""Rules of constants, shapes, and what passes a value through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .shape_numbers import Entry, shape_numbers
from .tensors import dtype_of


def constant(ctx: NodeContext) -> Sequence[Value]:
    if ctx.has("value"):
        array = ctx.tensor("value")
    elif ctx.has("value_float"):
        array = np.asarray(ctx.number("value_float"), np.float32)
    elif ctx.has("value_floats"):
        array = np.asarray(ctx.numbers("value_floats"), np.float32)
    elif ctx.has("value_int"):
        array = np.asarray(ctx.integer("value_int"), np.int64)
    elif ctx.has("value_ints"):
        array = np.asarray(ctx.integers("value_ints"), np.int64)
    elif ctx.has("value_string"):
        array = np.array(ctx.string("value_string"), object)
    elif ctx.has("value_strings"):
        array = np.array(ctx.strings("value_strings"), object)
    else:
        raise ctx.unsupported(f"constants of the kind {', '.join(ctx.attributes) or 'none'} are not supported")
    return [ctx.constant(array)]


def constant_of_shape(ctx: NodeContext) -> Sequence[Value]:
    found = shape_numbers(ctx, ctx.input(0)) if ctx.runtime(0) else None
    if found is not None and len(ctx.input(0).shape) == 1:
        return [_filled(ctx, found)]
    extents = ctx.static(0, "the shape")
    if extents.ndim != 1:
        raise ctx.invalid(f"a shape of {extents.ndim} dimensions")
    shape = tuple(int(extent) for extent in extents)
    value = ctx.tensor("value") if ctx.has("value") else np.zeros(1, np.float32)
    if value.size != 1 or any(extent < 0 for extent in shape):
        raise ctx.invalid(f"{value.size} values for the shape {shape}")
    return [ctx.emit("expand", ctx.constant(value.reshape(())), shape=shape)]


def _filled(ctx: NodeContext, entries: Sequence[Entry]) -> Value:
    """A tensor of one value whose shape has extents; it depends on these, so that it does not become a constant."""
    given = ctx.tensor("value") if ctx.has("value") else np.zeros(1, np.float32)
    bounds = tuple(entry.bound for entry in entries)
    ctx.guard_constant(prod(bounds))
    y = ctx.emit("expand", ctx.constant(given.reshape(())), shape=bounds)
    extents = {axis: entry.extent for axis, entry in enumerate(entries) if entry.extent is not None}
    for axis, count in extents.items():
        places = np.arange(bounds[axis], dtype=np.int64).reshape(-1, *[1] * (len(bounds) - axis - 1))
        y = ctx.emit("where", ctx.emit("lt", ctx.constant(places), count), y, ctx.constant(given.reshape(())))
    ctx.builder.extents[y.name] = extents
    return y


def shape(ctx: NodeContext) -> Sequence[Value]:
    """``start`` and ``end`` are clamped, as Python slices are."""
    x = ctx.input(0)
    axes = range(len(x.shape))[ctx.integer("start", 0) : ctx.integer("end", len(x.shape))]
    counts = _found(ctx, x)
    if not any(axis in counts for axis in axes):
        return [ctx.constant(np.asarray([x.shape[axis] for axis in axes], np.int64))]
    ctx.builder.bounds |= {count.name: x.shape[axis] for axis, count in counts.items()}
    entries = [counts.get(axis) or ctx.constant(np.asarray(x.shape[axis], np.int64)) for axis in axes]
    parts = [ctx.reshape(entry, (1,)) for entry in entries]
    return [parts[0] if len(parts) == 1 else ctx.emit("concat", *parts, axis=0)]


def _found(ctx: NodeContext, x: Value) -> dict[int, Value]:
    """The extents that a run finds. Those that are arguments count as their bounds: what is computed of these is
    compared with what another extent gives."""
    probe = ctx.builder.probe
    numbers = () if probe is None else probe.numbers
    return {axis: count for axis, count in ctx.builder.extents.get(x.name, {}).items() if count.name not in numbers}


def size(ctx: NodeContext) -> Sequence[Value]:
    """The product of the extents."""
    x = ctx.input(0)
    counts = _found(ctx, x)
    fixed = prod(extent for axis, extent in enumerate(x.shape) if axis not in counts)
    total = ctx.constant(np.asarray(fixed, np.int64))
    for count in counts.values():
        total = ctx.emit("mul", total, count)
    if counts:
        ctx.builder.bounds[total.name] = x.type.size
    return [total]


def range_(ctx: NodeContext) -> Sequence[Value]:
    if ctx.runtime(0, 1, 2):
        counted = _range_to_extent(ctx)
        if counted is not None:
            return [counted]
        if ctx.stem in ctx.builder.most:
            return [_range_to_bound(ctx, ctx.builder.most[ctx.stem])]
        return [_range_of(ctx, ctx.declared_shape("the range", (0, 1, 2), bound=True))]
    start, limit, delta = (ctx.static(position, what) for position, what in enumerate(("start", "limit", "delta")))
    if any(array.size != 1 for array in (start, limit, delta)) or delta.reshape(-1)[0] == 0:
        raise ctx.invalid("start, limit and delta have to be single numbers, and delta not 0")
    first, last, step = (array.reshape(-1)[0] for array in (start, limit, delta))
    with np.errstate(all="ignore"):
        exact = (last.astype(np.float64) - first) / step
    if not np.isfinite(exact):
        raise ctx.invalid(f"a range from {first} to {last} by {step}")
    count = max(int(np.ceil(exact)), 0)
    ctx.guard_constant(count)
    return [ctx.constant((first + np.arange(count).astype(start.dtype) * step).astype(start.dtype))]


def _range_to_extent(ctx: NodeContext) -> Value | None:
    """From a constant up to an extent, in constant steps; ``None`` for all other ranges."""
    start, delta, limit = ctx.array(ctx.input(0)), ctx.array(ctx.input(2)), shape_numbers(ctx, ctx.input(1))
    if start is None or delta is None or limit is None or len(limit) != 1 or min(start.size, delta.size) != 1:
        return None
    first, step, (entry,) = int(start.reshape(())), int(delta.reshape(())), limit
    if entry.extent is None or step < 1:
        return None
    count = ctx.builder.stepped(entry.extent, step - 1 - first, step, ctx.loc)
    most = max(-(-(entry.bound - first) // step), 0)
    ctx.guard_constant(most)
    number = ctx.emit("min", ctx.constant(np.arange(most, dtype=np.int64)), count)
    y = ctx.cast(ctx.emit("mul", number, ctx.scalar(step, number)), ctx.input(0).dtype)
    y = ctx.emit("add", y, ctx.scalar(first, y))
    ctx.builder.extents[y.name] = {0: count}
    return y


def _range_to_bound(ctx: NodeContext, most: int) -> Value:
    """As many elements as ONNX says, ``ceil((limit - start) / delta)``, at most the bound that the user gives."""
    if any(ctx.input(position).type.size != 1 for position in range(3)):
        raise ctx.invalid("start, limit and delta have to be single numbers")
    start, limit, delta = (ctx.reshape(ctx.input(position), ()) for position in range(3))
    wide = DType.F64 if start.dtype.is_float else DType.I64
    way = ctx.emit("sub", ctx.cast(limit, wide), ctx.cast(start, wide))
    step = ctx.cast(ctx.cast(delta, wide), DType.F64)
    still = ctx.emit("eq", step, ctx.scalar(0, step))
    step = ctx.emit("where", still, ctx.scalar(1, step), step)
    exact = ctx.emit("ceil", ctx.emit("div", ctx.cast(way, DType.F64), step))
    exact = ctx.emit("where", still, ctx.scalar(0, exact), exact)
    within = ctx.emit("max", ctx.emit("min", exact, ctx.scalar(most, exact)), ctx.scalar(0, exact))
    count = ctx.cast(within, DType.I64)
    ctx.builder.bounds[count.name] = most
    known = ctx.array(count)
    if known is not None:
        return _range_of(ctx, (int(known),))
    y = _range_of(ctx, (most,))
    if ctx.array(y) is not None:  # constants have no extents of a run
        there = ctx.emit("lt", ctx.constant(np.arange(most, dtype=np.int64)), count)
        y = ctx.emit("where", there, y, ctx.scalar(0, y))
    ctx.builder.extents[y.name] = {0: count}
    return y


def _range_of(ctx: NodeContext, extents: tuple[int, ...]) -> Value:
    """start + i * delta for each i of the declared extent."""
    if len(extents) != 1 or any(ctx.input(position).type.size != 1 for position in range(3)):
        raise ctx.invalid(f"start, limit and delta have to be single numbers, and the output a list, not {extents}")
    ctx.guard_constant(extents[0])
    start, delta = ctx.reshape(ctx.input(0), ()), ctx.reshape(ctx.input(2), ())
    numbers = ctx.constant(np.arange(extents[0]).astype(start.dtype.numpy))
    return ctx.emit("add", start, ctx.emit("mul", numbers, delta))


def eye_like(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    if _found(ctx, x):
        raise ctx.unsupported(f"{x.name} has an extent that is only known in a run", hint="fix it")
    dtype = dtype_of(ctx.integer("dtype"), ctx.loc) if ctx.has("dtype") else x.dtype
    if len(x.shape) != 2:
        raise ctx.invalid(f"EyeLike of {x.type}, which is not a matrix")
    ctx.guard_constant(x.type.size)
    return [ctx.constant(np.eye(*x.shape, k=ctx.integer("k", 0), dtype=dtype.numpy))]


def trilu(ctx: NodeContext) -> Sequence[Value]:
    """Zeros below (or above) a diagonal: a mask over the last two dimensions."""
    x = ctx.input(0)
    if len(x.shape) < 2:
        raise ctx.invalid(f"Trilu of {x.type}, which has no matrices")
    given, below = ctx.optional(1) or ctx.constant(np.zeros((), np.int64)), not ctx.integer("upper", 1)
    if given.type.size != 1:
        raise ctx.invalid(f"k has {given.type.size} elements, not one")
    known = ctx.array(given)
    ctx.guard_constant(x.shape[-2] * x.shape[-1])
    rows, columns = np.arange(x.shape[-2]).reshape(-1, 1), np.arange(x.shape[-1])
    if known is not None:
        distance, k = columns - rows, int(known.reshape(-1)[0])
        kept = ctx.constant(distance <= k if below else distance >= k)
    else:
        within = ctx.emit("clip", ctx.reshape(given, ()), lo=-x.shape[-2], hi=x.shape[-1])
        diagonal = ctx.emit("add", ctx.constant(rows), within)
        kept = ctx.emit("le" if below else "ge", ctx.constant(columns), diagonal)
    if x.dtype is DType.BOOL:
        return [ctx.emit("and", x, kept)]
    return [ctx.emit("where", kept, x, ctx.scalar(0, x))]


def one_hot(ctx: NodeContext) -> Sequence[Value]:
    """indices == 0..depth-1 along a new axis, selecting from values[off, on]."""
    indices, values = ctx.input(0), ctx.input(2)
    depth = int(ctx.static(1, "depth").reshape(-1)[0])
    if indices.dtype not in (DType.I32, DType.I64):
        indices = ctx.cast(indices, DType.I64)
    axis = ctx.axis(ctx.integer("axis", -1), len(indices.shape) + 1)
    if depth < 1 or values.shape != (2,):
        raise ctx.invalid(f"depth {depth} with values {values.type}")
    ctx.guard_constant(depth)
    wide = ctx.reshape(indices, (*indices.shape[:axis], 1, *indices.shape[axis:]))
    below = ctx.emit("lt", wide, ctx.scalar(0, wide))
    wide = ctx.emit("where", below, ctx.emit("add", wide, ctx.scalar(depth, wide)), wide)
    places = np.arange(depth, dtype=indices.dtype.numpy).reshape(-1, *[1] * (len(indices.shape) - axis))
    hot = ctx.emit("eq", wide, ctx.constant(places))
    off, on = (ctx.reshape(ctx.emit("slice", values, starts=(p,), steps=(1,), sizes=(1,)), ()) for p in (0, 1))
    return [ctx.emit("where", hot, on, off)]


RULES: Mapping[str, Rule] = {
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "EyeLike": eye_like,
    "OneHot": one_hot,
    "Range": range_,
    "Shape": shape,
    "Size": size,
    "Trilu": trilu,
}
