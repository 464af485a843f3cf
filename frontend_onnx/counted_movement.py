"""Slices, reshapes and repetitions along dimensions whose extents depend on a run.

Where elements can stay at the pitch of the bounds they do; else they are gathered, or put one behind the other and
apart again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import DType
from ..record import record
from .bounded_shapes import is_bounded, padded_totals
from .context import NodeContext
from .joined_extents import outermost_in_runs, repitched
from .linear import differences
from .places import inside_of
from .polynomials import Polynomial

ZERO, ONE = Polynomial.constant(0), Polynomial.constant(1)


# ---------------------------------------------------------------- parts


@record
class Part:
    """Of a dimension the elements ``start``, ``start + step``, ...: ``count`` of them."""

    start: Polynomial
    step: int
    count: Polynomial


def sliced_part(ctx: NodeContext, extent: Polynomial, start: Polynomial, end: Polynomial, step: int) -> Part:
    """What Slice takes of a dimension: positions below 0 count from its end, all are clamped."""
    counts, loc = ctx.builder.counts, ctx.loc
    last = extent - ONE
    if step > 0:
        low, high = ZERO, extent
        ends = counts.wrapped(end, extent, loc)
    else:
        low, high = ZERO - ONE, last
        # An end at or below -extent - 1 means "past the first element" when stepping backwards.
        ends = low if end.number is not None and end.number < -(1 << 31) else counts.wrapped(end, extent, loc)
    first, behind = (
        counts.greatest_of(counts.least_of(each, high, loc), low, loc)
        for each in (counts.wrapped(start, extent, loc), ends)
    )
    way = counts.difference(behind, first, loc) if step > 0 else first - behind
    way = counts.greatest_of(way, ZERO, loc)
    return Part(first, step, counts.quotient(way + Polynomial.constant(abs(step) - 1), abs(step), loc))


def taken(ctx: NodeContext, x: Value, parts: Mapping[int, Part]) -> Value:
    """The parts of ``x`` along axes. It is a node also where all is taken: the second import has one as well."""
    counts, whole = ctx.builder.counts, replace(ctx, over_bounds=True)
    found = dict(ctx.builder.extents_of(x, ctx.loc))
    starts, steps, sizes = [0] * len(x.shape), [1] * len(x.shape), list(x.shape)
    gathered: dict[int, Value] = {}
    for axis, part in parts.items():
        number, room = part.start.number, x.shape[axis]
        if part.count == ctx.extent_along(x, axis) and number == 0 and part.step == 1:
            continue
        most = min(counts.most(part.count), -(-room // abs(part.step)))
        if number is not None and part.step > 0:
            most = min(most, -(-max(room - number, 0) // part.step))
            starts[axis], steps[axis], sizes[axis] = number if most else 0, part.step, most
        else:
            numbers = whole.constant(np.arange(most, dtype=np.int64) * part.step)
            places = whole.emit("add", numbers, counts.value(part.start, ctx.loc))
            gathered[axis] = whole.emit("clip", places, lo=0, hi=max(room - 1, 0))
        found.pop(axis, None)
        if part.count.number is None:
            found[axis] = counts.value(part.count, ctx.loc)
    y = x
    for axis, places in gathered.items():
        y = whole.emit("gather", y, places, axis=axis)
        sizes[axis] = y.shape[axis]
    if not gathered or tuple(sizes) != y.shape:
        y = whole.emit("slice", y, starts=tuple(starts), steps=tuple(steps), sizes=tuple(sizes))
    return ctx.with_extents(_kept_in_run(whole, y, found), found)


def _kept_in_run(whole: NodeContext, y: Value, extents: Mapping[int, Value]) -> Value:
    """``y``, which is no constant where it has extents."""
    if whole.array(y) is None:
        return y
    zero, shape = whole.scalar(0, y), y.shape
    for axis, count in extents.items():
        y = whole.emit("where", inside_of(whole, shape, axis, count), y, zero)
    return y


def slice_counted(ctx: NodeContext, found: bool = False) -> Value | None:
    """Slice along dimensions with extents, or by numbers of shapes; where these may be ``found`` in a run, by any
    numbers. ``None`` for all others."""
    x = ctx.builder.numbers.table_in_run(ctx.input(0), ctx.loc)
    ctx = replace(ctx, inputs=(x, *ctx.inputs[1:]))
    starts, ends = _numbers(ctx, "starts", 1), _numbers(ctx, "ends", 2)
    axes, steps = _constants(ctx, "axes", 3), _constants(ctx, "steps", 4)
    lengths: Sequence[int | None] = ()
    if axes is None or steps is None:
        return None
    if _is_folded(ctx, x, 1, 2):
        return None
    if starts is None or ends is None:
        if not found:
            return None
        room = [x.shape[axis] for axis in ctx.axes(axes or tuple(range(ctx.input(1).type.size)), len(x.shape))]
        lengths = differences(ctx.builder, ctx.input(2), ctx.input(1))
        starts = starts or _found_numbers(ctx, ctx.input(1), room)
        ends = ends or _found_numbers(ctx, ctx.input(2), room)
    axes = ctx.axes(axes or tuple(range(len(starts))), len(x.shape))
    steps = steps or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    counted = any(each.number is None for each in (*starts, *ends)) or any(axis in ctx.extents(x) for axis in axes)
    if not counted or (ctx.array(x) is not None and _is_first_part(ctx, starts, ends)):
        return None
    parts = {
        axis: sliced_part(ctx, ctx.extent_along(x, axis), start, end, step)
        for axis, start, end, step in zip(axes, starts, ends, steps)
    }
    for axis, step, length in zip(axes, steps, lengths):
        if step == 1 and length is not None and parts[axis].count.number is None:
            most = Polynomial.constant(max(length, 0))
            parts[axis] = replace(parts[axis], count=ctx.builder.counts.least_of(parts[axis].count, most, ctx.loc))
    return taken(ctx, x, parts)


def _is_folded(ctx: NodeContext, x: Value, *positions: int) -> bool:
    """Whether all is constant in the import that another is compared with, which does not know what extents constants
    have: its result is a constant, of which the shape is compared."""
    operands = [x, *(ctx.optional(position) for position in positions)]
    return ctx.builder.compares and all(each is None or ctx.array(each) is not None for each in operands)


def _is_first_part(ctx: NodeContext, starts: Sequence[Polynomial], ends: Sequence[Polynomial]) -> bool:
    """Whether a constant is cut at arguments: its part is a constant, too."""
    arguments = [end for end in ends if end.number is None]
    return all(start.number is not None for start in starts) and all(
        ctx.is_argument(ctx.builder.counts.value(end, ctx.loc)) for end in arguments
    )


def _numbers(ctx: NodeContext, name: str, position: int) -> Sequence[Polynomial] | None:
    if ctx.has(name):
        return [Polynomial.constant(number) for number in ctx.integers(name)]
    return ctx.builder.numbers.of(ctx.optional(position))


def _found_numbers(ctx: NodeContext, value: Value, room: Sequence[int]) -> list[Polynomial]:
    """Places in dimensions of ``room`` elements that a run computes, kept within them on both sides."""
    whole, names = replace(ctx, over_bounds=True), [f"{ctx.loc}.extent"]
    if value.shape != (len(room),):
        raise ctx.invalid(f"{len(room)} places of Slice are {value.type}")
    numbers: list[Polynomial] = []
    for n, most in enumerate(room):
        part = whole.emit("slice", value, starts=(n,), steps=(1,), sizes=(1,))
        number = whole.cast(whole.reshape(part, ()), DType.I64)
        limits = {"lo": -most - 1, "hi": most}
        twin = ctx.builder.twin("clip", (number,), limits)  # parts of other tensors between the same places
        (kept,) = twin.outputs if twin else ctx.builder.emit_whole("clip", (number,), limits, loc=ctx.loc, names=names)
        numbers.append(ctx.builder.counts.atom(kept, most, -most - 1))
    return numbers


def _constants(ctx: NodeContext, name: str, position: int) -> tuple[int, ...] | None:
    """Integers that are constant, none where they are left out; ``None`` where a run computes them."""
    if not ctx.has(name) and ctx.optional(position) is None:
        return ()
    found = _numbers(ctx, name, position)
    known = [each.number for each in found or ()]
    return None if found is None or None in known else tuple(number for number in known if number is not None)


def split_counted(ctx: NodeContext, x: Value, axis: int) -> list[Value] | None:
    """Split along a dimension with an extent, or in parts of sizes that a run computes; ``None`` for all others."""
    counts, count = ctx.builder.counts, ctx.output_count
    sizes = _numbers(ctx, "split", 1)
    if axis not in ctx.extents(x) and not any(size.number is None for size in sizes or ()) and not ctx.runtime(1):
        return None
    extent = ctx.extent_along(x, axis)
    if sizes is None and ctx.optional(1) is not None and ctx.runtime(1):
        return _split_as_found(ctx, x, axis)
    if sizes is None and (ctx.has("split") or ctx.optional(1) is not None):
        return None
    if sizes is None:
        each = extent.divided(Polynomial.constant(count))
        if each is None:
            each = counts.quotient(extent + Polynomial.constant(count - 1), count, ctx.loc)
        sizes = [each] * count
    parts, start = [], ZERO
    for size in sizes:
        begin = counts.least_of(start, extent, ctx.loc)
        rest = counts.greatest_of(extent - begin, ZERO, ctx.loc)
        length = rest if start + size == extent else counts.least_of(size, rest, ctx.loc)
        parts.append(taken(ctx, x, {axis: Part(begin, 1, length)}))
        start = start + size
    return parts


def _split_as_found(ctx: NodeContext, x: Value, axis: int) -> list[Value]:
    """Split in parts whose sizes a run computes. The last one is what is left over, as they are all together what ONNX
    demands; none reaches beyond the dimension."""
    counts, extent, start = ctx.builder.counts, ctx.extent_along(x, axis), ZERO
    sizes = _found_numbers(ctx, ctx.input(1), [x.shape[axis]] * ctx.output_count)
    parts: list[Value] = []
    for size in sizes:
        length = rest = extent - start
        if len(parts) < len(sizes) - 1:
            length = counts.least_of(counts.greatest_of(size, ZERO, ctx.loc), rest, ctx.loc)
        parts.append(taken(ctx, x, {axis: Part(start, 1, length)}))
        start = start + length
    return parts


# ---------------------------------------------------------------- reshapes


def reshape_counted(ctx: NodeContext, x: Value, wanted: Sequence[Polynomial | None]) -> Value | None:
    """``x`` in a shape of the extents ``wanted``, at most one of which is what is left over (``None``); ``None`` where
    they are not known to have the elements of ``x``."""
    total = ONE
    for axis in range(len(x.shape)):
        total = total * ctx.extent_along(x, axis)
    found = _completed(ctx, total, wanted)
    if found is None:
        found = _as_given(ctx, x, wanted)
    if found is None:
        return None
    counts = ctx.builder.counts
    shape = tuple(max(counts.span(each)[1], 0) for each in found)
    extents = {axis: counts.value(each, ctx.loc) for axis, each in enumerate(found) if each.number is None}
    if shape == x.shape and _names(extents) == _names(ctx.extents(x)):
        return x  # where the second import knows only the numbers, it makes no node either
    try:
        if prod(shape) != x.type.size:
            raise ctx.unsupported("other bounds")
        y = ctx.emit("reshape", x, shape=shape)
        if _names(ctx.builder.extents.get(y.name, {})) == _names(extents):
            return y
    except CcmlError as problem:
        if problem.kind is not ErrorCode.UNSUPPORTED_FEATURE:
            raise
    whole = replace(ctx, over_bounds=True)
    if outermost_in_runs(x.shape, ctx.extents(x), shape, extents):
        return ctx.with_extents(whole.emit("reshape", x, shape=shape), extents)
    return ctx.with_extents(repitched(whole.emit, x, ctx.extents(x), shape, extents), extents)


def _as_given(ctx: NodeContext, x: Value, wanted: Sequence[Polynomial | None]) -> list[Polynomial] | None:
    """What is wanted, in the import that another is compared with: there it is enough that it has as many elements, for
    what ``x`` was computed of may be constants, of which that import knows no extents."""
    if not ctx.builder.compares or None in wanted:
        return None
    given = [each for each in wanted if each is not None]
    sizes = [ctx.builder.counts.probed(each) for each in given]
    known = tuple(size for size in sizes if size is not None)
    fits = len(known) == len(sizes) and prod(known) == x.type.size and known != x.shape
    return given if fits else None


def _names(extents: Mapping[int, Value]) -> dict[int, str]:
    return {axis: count.name for axis, count in extents.items()}


def filled(ctx: NodeContext, x: Value, axes: Sequence[int]) -> Value:
    """``x``, whose extents along ``axes`` are the bounds where a run finds them, since ONNX allows no others."""
    found, counts = ctx.extents(x), ctx.builder.counts
    kept = {d: n for d, n in found.items() if d not in axes or counts.is_static(ctx.builder.polynomial(n))}
    if len(kept) == len(found):
        return x
    return ctx.with_extents(replace(ctx, over_bounds=True).emit("reshape", x, shape=x.shape), kept)


def _completed(
    ctx: NodeContext, total: Polynomial, wanted: Sequence[Polynomial | None]
) -> list[Polynomial] | None:
    """The extents with what is left over; ``None`` where that is not known."""
    rest = total
    for each in wanted:
        if each is not None and each != ONE:
            divided = rest.divided(each)
            if divided is None:
                return None
            rest = divided
    if None not in wanted and rest != ONE:
        return None
    return [rest if each is None else each for each in wanted]


# ---------------------------------------------------------------- repetitions


def expand_counted(ctx: NodeContext, x: Value, shape: tuple[int, ...]) -> Value:
    """``x`` repeated along dimensions of extent 1, as often as a run tells."""
    numbers = ctx.builder.numbers.of(ctx.input(1)) or ()
    known = {len(shape) - len(numbers) + n: each for n, each in enumerate(numbers)}
    shift, own, found = len(shape) - len(x.shape), ctx.extents(x), dict[int, Value]()
    for axis in range(len(shape)):
        inner = axis - shift
        if inner in own:
            found[axis] = own[inner]
        elif axis in known and known[axis].number is None and (inner < 0 or x.shape[inner] == 1):
            found[axis] = ctx.builder.counts.value(known[axis], ctx.loc)
    x = ctx.builder.numbers.in_run(x, ctx.loc) if found and x.type.size == 1 else x
    fixed = ctx.array(x) is not None
    if not found or (fixed and all(map(ctx.is_argument, found.values()))):
        return ctx.emit("expand", x, shape=shape)
    if fixed:  # what a constant has is not asked for where all operands are
        x = ctx.builder.numbers.table_in_run(x, ctx.loc)
        found |= {axis + shift: count for axis, count in ctx.builder.extents_of(x, ctx.loc).items()}
    whole = replace(ctx, over_bounds=True)
    y = whole.emit("expand", x, shape=shape)
    return ctx.with_extents(_kept_in_run(whole, y, found), found)


def pad_counted(ctx: NodeContext, x: Value) -> Value | None:
    """A border of a number whose sizes, which may also be negative, are some of shapes that depend on a run, or are
    bounded; ``None`` for others."""
    known, axes = ctx.builder.numbers.of(ctx.optional(1)), _constants(ctx, "axes", 3)
    value = ctx.array(ctx.optional(2)) if ctx.optional(2) is not None else np.zeros(1)
    if axes is None or value is None or value.size != 1 or _is_folded(ctx, x, 1):
        return None
    if ctx.string("mode", "constant") != "constant":
        return None
    axes = ctx.axes(axes or tuple(range(len(x.shape))), len(x.shape))
    if known is None and is_bounded(ctx, 1):
        known = tuple(each for numbers in padded_totals(ctx, x, axes) for each in numbers)
    if known is None:
        return None
    before, after = known[: len(axes)], known[len(axes) :]
    if all(each.number is not None for each in known):
        return None
    x = ctx.builder.numbers.table_in_run(x, ctx.loc)
    counts, whole, y = ctx.builder.counts, replace(ctx, over_bounds=True), x
    found = dict(ctx.builder.extents_of(x, ctx.loc))
    fill = float(value.reshape(())) if x.dtype.is_float else int(value.reshape(()))
    low, high = [0] * len(x.shape), [0] * len(x.shape)
    for axis, first, last in zip(axes, before, after):
        total = ctx.extent_along(x, axis) + first + last
        if (first.number or 0) < 0:
            return None
        if first.number is None:
            y = _padded_in_front(whole, y, axis, first, ctx.extent_along(x, axis), total, fill)
            found.pop(axis, None)
            if total.number is None:
                found[axis] = counts.value(total, ctx.loc)
            continue
        if axis in found:
            y = whole.emit("where", inside_of(whole, y.shape, axis, found.pop(axis)), y, whole.scalar(fill, y))
        low[axis] = first.number or 0
        high[axis] = max(counts.span(total)[1] - x.shape[axis] - low[axis], 0)
        if total.number is None:
            found[axis] = counts.value(total, ctx.loc)
    y = whole.emit("pad", y, before=tuple(low), after=tuple(high), mode="constant", value=fill)
    return ctx.with_extents(_kept_in_run(whole, y, found), found)


def _padded_in_front(
    whole: NodeContext, x: Value, axis: int, before: Polynomial, extent: Polynomial, total: Polynomial,
    fill: float | int,
) -> Value:  # fmt: skip
    """``x`` along ``axis`` from the place ``before`` on, which a run tells: each of as many as ``total`` can be from
    where it lies in ``x``."""
    counts, loc = whole.builder.counts, whole.loc
    places = whole.constant(np.arange(max(counts.span(total)[1], 1), dtype=np.int64))
    places = whole.emit("sub", places, counts.value(before, loc))
    inside = whole.emit("and", whole.emit("ge", places, whole.scalar(0, places)),
                        whole.emit("lt", places, counts.value(extent, loc)))  # fmt: skip
    inside = whole.reshape(inside, (*places.shape, *[1] * (len(x.shape) - axis - 1)))
    y = whole.emit("gather", x, whole.emit("clip", places, lo=0, hi=max(x.shape[axis] - 1, 0)), axis=axis)
    return whole.emit("where", inside, y, whole.scalar(fill, y))


def tile_counted(ctx: NodeContext, x: Value, repeats: Sequence[int]) -> Value | None:
    """``x`` one after the other along dimensions; ``None`` where no extent depends on a run, or of a constant a part is
    taken that an argument tells."""
    known = ctx.builder.numbers.of(ctx.optional(1))
    if known is None or len(known) != len(x.shape):
        return None
    if not ctx.extents(x) and all(each.number is not None for each in known):
        return None
    found = dict(ctx.extents(x))
    if ctx.array(x) is not None:  # what a constant has is not asked for where all operands are
        x = ctx.builder.numbers.table_in_run(ctx.builder.numbers.in_run(x, ctx.loc), ctx.loc)
        found = dict(ctx.builder.extents_of(x, ctx.loc))
    counts, whole, y = ctx.builder.counts, replace(ctx, over_bounds=True), x
    for axis, each in enumerate(known):
        if each == ONE:
            continue
        extent = ctx.extent_along(x, axis)
        total = extent * each
        most = x.shape[axis] * repeats[axis]
        ctx.guard_constant(most)
        numbers = whole.constant(np.arange(most, dtype=np.int64))
        places = whole.emit("mod", numbers, _positive(whole, counts.value(extent, ctx.loc)), fmod=False)
        y = whole.emit("gather", y, places, axis=axis)
        if total.number is None:
            found[axis] = counts.value(total, ctx.loc)
    if ctx.array(x) is not None and all(map(ctx.is_argument, found.values())):
        return None  # the first part of a constant
    return ctx.with_extents(_kept_in_run(whole, y, found), found)


def _positive(ctx: NodeContext, count: Value) -> Value:
    return ctx.emit("max", count, ctx.scalar(1, count))


def of_one_extent(ctx: NodeContext, operands: Sequence[Value], axis: int) -> tuple[Value, ...]:
    """The operands of a Concat, where those whose extents a run finds have along the other dimensions what the rest of
    them has, or the first one: ONNX joins nothing else."""
    whole, builder, rank = replace(ctx, over_bounds=True), ctx.builder, len(operands[0].shape)
    if rank == 1 or not ctx.runtime(*range(len(ctx.inputs))) or any(len(value.shape) != rank for value in operands):
        return tuple(operands)
    operands = [builder.numbers.in_run(value, ctx.loc) for value in operands]
    found = [dict(ctx.extents(value)) for value in operands]
    if not any(found):
        return tuple(operands)
    sizes = [list(value.shape) for value in operands]
    for dim in (dim for dim in range(rank) if dim != axis):
        each = [ctx.extent_along(value, dim) for value in operands]
        known = [number for number in each if builder.counts.is_static(number)]
        wanted, most = (known or each)[0], min(size[dim] for size in sizes)
        if len(set(each)) == 1 or any(number != wanted for number in known) or wanted.number not in (None, most):
            continue
        for own, extents, size in zip(each, found, sizes):
            if own != wanted:
                size[dim] = most
                extents.pop(dim, None)
                if wanted.number is None:
                    extents[dim] = builder.counts.value(wanted, ctx.loc)
            elif wanted.number is None:
                size[dim] = most
    made: list[Value] = []
    for value, extents, size in zip(operands, found, sizes):
        if tuple(size) == value.shape and extents == ctx.extents(value):
            made.append(value)
            continue
        part = whole.emit("slice", value, starts=(0,) * rank, steps=(1,) * rank, sizes=tuple(size))
        made.append(ctx.with_extents(part, extents))
    return tuple(made)
