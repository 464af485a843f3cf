"""Rules of constants, shapes, and what passes a value through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .places import filled_beyond, inside_of
from .polynomials import Polynomial
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
    extents = ctx.static(0, "the shape")
    if extents.ndim != 1:
        raise ctx.invalid(f"a shape of {extents.ndim} dimensions")
    shape = tuple(int(extent) for extent in extents)
    value = ctx.tensor("value") if ctx.has("value") else np.zeros(1, np.float32)
    if value.size != 1 or any(extent < 0 for extent in shape):
        raise ctx.invalid(f"{value.size} values for the shape {shape}")
    fill = value.reshape(())
    found = ctx.counts_of(ctx.input(0), shape)
    if not found or all(ctx.is_argument(count) for count in found.values()):
        return [ctx.emit("expand", ctx.constant(fill), shape=shape)]
    return [filled(ctx, fill, shape, found)]


def filled(ctx: NodeContext, fill: np.ndarray, shape: Sequence[int], extents: Mapping[int, Value]) -> Value:
    """A tensor of one value that has extents; it depends on these, so that it does not become a constant."""
    whole = replace(ctx, over_bounds=True)
    ctx.guard_constant(prod(shape))
    y = whole.emit("expand", whole.constant(fill), shape=tuple(shape))
    for axis, count in extents.items():
        y = whole.emit("where", inside_of(whole, shape, axis, count), y, whole.constant(fill))
    if fill:
        ctx.builder.numbers.note_ones(y)
    return ctx.with_extents(y, extents)


def counted_places(ctx: NodeContext, most: int, extent: Value) -> Value:
    """0, 1, 2 ... up to an extent, at most ``most``. They depend on it, so that they do not become a constant."""
    whole = replace(ctx, over_bounds=True)
    places = whole.emit("min", whole.constant(np.arange(most, dtype=np.int64)), extent)
    return ctx.with_extents(places, {0: extent})


def shape(ctx: NodeContext) -> Sequence[Value]:
    """``start`` and ``end`` are clamped, as Python slices are. Where all extents are arguments, the bounds: what is
    computed of these is known, and compared with what another extent gives."""
    builder = ctx.builder
    x = builder.numbers.table_in_run(ctx.input(0), ctx.loc)
    axes = range(len(x.shape))[ctx.integer("start", 0) : ctx.integer("end", len(x.shape))]
    listed = builder.numbers.is_as_long(x)
    numbers = [Polynomial.constant(x.shape[axis]) if listed else ctx.extent_along(x, axis) for axis in axes]
    if all(builder.counts.is_static(number) for number in numbers):
        y = ctx.constant(np.asarray([x.shape[axis] for axis in axes], np.int64))
    else:
        whole = replace(ctx, over_bounds=True)
        parts = [whole.reshape(builder.counts.value(number, ctx.loc), (1,)) for number in numbers]
        y = parts[0] if len(parts) == 1 else whole.emit("concat", *parts, axis=0)
    builder.numbers.note(y, numbers)
    return [y]


def size(ctx: NodeContext) -> Sequence[Value]:
    """The product of the extents."""
    builder = ctx.builder
    x = builder.numbers.table_in_run(ctx.input(0), ctx.loc)
    total = Polynomial.constant(1)
    for axis in range(len(x.shape)):
        listed = builder.numbers.is_as_long(x)
        total = total * (Polynomial.constant(x.shape[axis]) if listed else ctx.extent_along(x, axis))
    if builder.counts.is_static(total):
        y = ctx.constant(np.asarray(x.type.size, np.int64))
    else:
        y = replace(ctx, over_bounds=True).emit("reshape", builder.counts.value(total, ctx.loc), shape=())
    builder.numbers.note(y, [total])
    return [y]


def range_(ctx: NodeContext) -> Sequence[Value]:
    counted = _range_to_extent(ctx)
    if counted is not None:
        return [counted]
    if ctx.runtime(0, 1, 2):
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
    """In constant steps between numbers of shapes that depend on extents; ``None`` for all other ranges. One from a
    constant to an argument is the first part of a constant."""
    builder, counts = ctx.builder, ctx.builder.counts
    found = [builder.numbers.whole(ctx.optional(position)) for position in range(3)]
    if any(numbers is None or len(numbers) != 1 for numbers in found):
        return None
    (start,), (limit,), (delta,) = (numbers for numbers in found if numbers is not None)
    step = delta.number
    if not step or (start.number is not None and limit.number is not None):
        return None
    way = limit - start if step > 0 else start - limit
    count = counts.greatest_of(way, Polynomial.constant(0), ctx.loc)
    count = counts.quotient(count + Polynomial.constant(abs(step) - 1), abs(step), ctx.loc)
    extent = counts.value(count, ctx.loc)
    if start.number is not None and step == 1 and start.number == 0 and ctx.is_argument(extent):
        return None
    most = max(counts.span(count)[1], 0)
    ctx.guard_constant(most)
    whole = replace(ctx, over_bounds=True)
    number = whole.emit("min", whole.constant(np.arange(most, dtype=np.int64)), extent)
    y = whole.emit("mul", number, whole.scalar(step, number)) if step != 1 else number
    y = whole.cast(whole.emit("add", y, counts.value(start, ctx.loc)), ctx.input(0).dtype)
    return ctx.with_extents(y, {} if count.number is not None else {0: extent})


def _range_to_bound(ctx: NodeContext, most: int) -> Value:
    """As many elements as ONNX says, ``ceil((limit - start) / delta)``, at most the bound that the user gives."""
    if any(ctx.input(position).type.size != 1 for position in range(3)):
        raise ctx.invalid("start, limit and delta have to be single numbers")
    start, limit, delta = (ctx.reshape(number, ()) for number in _exact_numbers(ctx, most))
    wide = DType.F64 if start.dtype.is_float else DType.I64
    way = ctx.emit("sub", ctx.cast(limit, wide), ctx.cast(start, wide))
    step = ctx.cast(ctx.cast(delta, wide), DType.F64)
    still = ctx.emit("eq", step, ctx.scalar(0, step))
    step = ctx.emit("where", still, ctx.scalar(1, step), step)
    exact = ctx.emit("ceil", ctx.emit("div", ctx.cast(way, DType.F64), step))
    exact = ctx.emit("where", still, ctx.scalar(0, exact), exact)
    within = ctx.emit("max", ctx.emit("min", exact, ctx.scalar(most, exact)), ctx.scalar(0, exact))
    twin = ctx.builder.twin("cast", (within,), {"to": DType.I64})  # another range between the same numbers
    count = ctx.cast(within, DType.I64) if twin is None else twin.output
    ctx.builder.counts.atom(count, most)
    known = ctx.array(count)
    if known is not None:
        return _range_of(ctx, (int(known),))
    y = _range_of(ctx, (most,))
    if ctx.array(y) is not None:  # constants have no extents of a run
        there = ctx.emit("lt", ctx.constant(np.arange(most, dtype=np.int64)), count)
        y = ctx.emit("where", there, y, ctx.scalar(0, y))
    ctx.builder.extents[y.name] = {0: count}
    return y


def _exact_numbers(ctx: NodeContext, most: int) -> list[Value]:
    """Start, limit and delta; where start and delta are whole and the limit is an integer that became a float, as
    integers. Such a float is another number only where it is beyond any range of up to ``most`` elements."""
    operands = [ctx.input(position) for position in range(3)]
    known = [ctx.array(operands[position]) for position in (0, 2)]
    cast = ctx.builder.producers.get(operands[1].name)
    if not operands[1].dtype.is_float or cast is None or cast.op != "cast" or not cast.operands[0].dtype.is_integer:
        return operands
    mantissa = 2 ** (np.finfo(operands[1].dtype.numpy).nmant + 1)
    if any(array is None or not np.all(np.isfinite(array) & (array == np.trunc(array))) for array in known):
        return operands
    start, delta = (int(array.reshape(-1)[0]) for array in known if array is not None)
    if abs(start) + abs(delta) * most >= mantissa:
        return operands
    return [ctx.cast(operands[0], DType.I64), cast.operands[0], ctx.cast(operands[2], DType.I64)]


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
    dtype = dtype_of(ctx.integer("dtype"), ctx.loc) if ctx.has("dtype") else x.dtype
    if len(x.shape) != 2:
        raise ctx.invalid(f"EyeLike of {x.type}, which is not a matrix")
    ctx.guard_constant(x.type.size)
    eye, extents = ctx.constant(np.eye(*x.shape, k=ctx.integer("k", 0), dtype=dtype.numpy)), ctx.extents(x)
    if all(ctx.is_argument(count) for count in extents.values()):
        return [eye]
    # A constant has no extent that follows from others.
    return [ctx.with_extents(filled_beyond(replace(ctx, over_bounds=True), eye, extents), extents)]


def trilu(ctx: NodeContext) -> Sequence[Value]:
    """Zeros below (or above) a diagonal: a mask over the last two dimensions."""
    x, extents = ctx.input(0), ctx.extents(ctx.input(0))
    if len(x.shape) < 2:
        raise ctx.invalid(f"Trilu of {x.type}, which has no matrices")
    ctx = replace(ctx, over_bounds=True) if extents else ctx
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
    y = ctx.emit("and", x, kept) if x.dtype is DType.BOOL else ctx.emit("where", kept, x, ctx.scalar(0, x))
    return [ctx.with_extents(y, extents) if extents else y]


def one_hot(ctx: NodeContext) -> Sequence[Value]:
    """indices == 0..depth-1 along a new axis, selecting from values[off, on]."""
    indices, values = ctx.input(0), ctx.input(2)
    known = ctx.builder.numbers.of(ctx.input(1))
    if known and known[0].number is None:
        return [_one_hot_by_extent(ctx, indices, values, known[0])]
    depth = int(ctx.static(1, "depth").reshape(-1)[0])
    if indices.dtype not in (DType.I32, DType.I64):
        indices = ctx.cast(indices, DType.I64)
    axis = ctx.axis(ctx.integer("axis", -1), len(indices.shape) + 1)
    if depth < 1 or values.shape != (2,):
        raise ctx.invalid(f"depth {depth} with values {values.type}")
    return [_hot(ctx, indices, values, axis, depth, ctx.scalar(depth, indices))]


def _one_hot_by_extent(ctx: NodeContext, indices: Value, values: Value, depth: Polynomial) -> Value:
    """The new axis has an extent that a run tells."""
    whole, axis = replace(ctx, over_bounds=True), ctx.axis(ctx.integer("axis", -1), len(indices.shape) + 1)
    count, most = ctx.builder.counts.value(depth, ctx.loc), ctx.builder.counts.span(depth)[1]
    if values.shape != (2,):
        raise ctx.invalid(f"a depth with values {values.type}")
    extents = {d if d < axis else d + 1: each for d, each in ctx.extents(indices).items()} | {axis: count}
    y = _hot(whole, whole.cast(indices, DType.I64), values, axis, max(most, 0), count)
    return ctx.with_extents(y, extents)


def _hot(ctx: NodeContext, indices: Value, values: Value, axis: int, most: int, depth: Value) -> Value:
    """At most ``most`` places along a new axis; ``depth`` is added to negative indices."""
    ctx.guard_constant(most)
    wide = ctx.reshape(indices, (*indices.shape[:axis], 1, *indices.shape[axis:]))
    below = ctx.emit("lt", wide, ctx.scalar(0, wide))
    wide = ctx.emit("where", below, ctx.emit("add", wide, depth), wide)
    places = np.arange(most, dtype=indices.dtype.numpy).reshape(-1, *[1] * (len(indices.shape) - axis))
    hot = ctx.emit("eq", wide, ctx.constant(places))
    off, on = (ctx.reshape(ctx.emit("slice", values, starts=(p,), steps=(1,), sizes=(1,)), ()) for p in (0, 1))
    return ctx.emit("where", hot, on, off)


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
