"""Rules of operators that move elements: reshape, transpose, slice, concat, pad and their relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from .bounded_shapes import is_bounded, reshape_bounded
from .context import NodeContext, Rule
from .counted_movement import (
    Part,
    expand_counted,
    filled,
    of_one_extent,
    pad_counted,
    reshape_counted,
    slice_counted,
    split_counted,
    taken,
    tile_counted,
)
from .polynomials import Polynomial
from .runtime_movement import is_known_slice, pad_anywhere, slice_anywhere


def reshape(ctx: NodeContext) -> Sequence[Value]:
    """0 copies an extent (unless allowzero), -1 is what is left over."""
    if not ctx.has("shape") and is_bounded(ctx, 1):
        return [reshape_bounded(ctx, ctx.input(0))]
    x, wanted = ctx.input(0), ctx.parameter("shape", 1)
    if wanted is None:
        raise ctx.invalid("Reshape has no shape")
    keep = not ctx.integer("allowzero", 0)
    if keep and any(extent == 0 and d >= len(x.shape) for d, extent in enumerate(wanted)):
        raise ctx.invalid(f"shape {wanted} copies more dimensions than {x.type} has")
    shape = [x.shape[d] if extent == 0 and keep else extent for d, extent in enumerate(wanted)]
    if ctx.extents(x) and -1 not in shape and prod(shape) == x.type.size:
        copied = [d for d, extent in enumerate(wanted) if extent == 0 and keep]
        said = {count.atoms for count in ctx.builder.numbers.of(ctx.optional(1)) or ()}
        kept = [d for d in ctx.extents(x) if ctx.extent_along(x, d).atoms <= frozenset().union(*said)]
        x = filled(ctx, x, [d for d in range(len(x.shape)) if d not in (*copied, *kept)])
    if ctx.extents(x) and shape.count(-1) <= 1:
        counted = reshape_counted(ctx, x, _wanted(ctx, x, wanted))
        if counted is not None:
            return [counted]
    if shape.count(-1) > 1 or any(extent < -1 for extent in shape):
        raise ctx.invalid(f"shape {wanted} is not one")
    if -1 in shape:
        # Copied extents are on both sides: without them, one that is 0 leaves the rest as it would be beside any other.
        copied = [d for d, extent in enumerate(wanted) if extent == 0 and keep]
        size = prod(extent for d, extent in enumerate(x.shape) if d not in copied)
        rest = prod(extent for d, extent in enumerate(shape) if d not in copied and extent != -1)
        if rest == 0 or size % rest:
            raise ctx.invalid(f"{x.type} has {x.type.size} elements and cannot take the shape {wanted}")
        shape[shape.index(-1)] = size // rest
    return [ctx.reshape(x, tuple(shape))]


def _wanted(ctx: NodeContext, x: Value, wanted: Sequence[int]) -> list[Polynomial | None]:
    """The extents that the shape of Reshape says; one may be left over."""
    known = ctx.builder.numbers.of(ctx.optional(1))
    numbers = [Polynomial.constant(number) for number in wanted] if ctx.has("shape") or known is None else list(known)
    keep = not ctx.integer("allowzero", 0)
    return [
        ctx.extent_along(x, d) if wanted[d] == 0 and keep else None if wanted[d] == -1 else number
        for d, number in enumerate(numbers)
    ]


def flatten(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    axis, rank = ctx.integer("axis", 1), len(x.shape)
    axis = axis if axis == rank else ctx.axis(axis, rank)
    shape = prod(x.shape[:axis]), prod(x.shape[axis:])
    if not ctx.extents(x):
        return [ctx.reshape(x, shape)]
    first = Polynomial.constant(1)
    for d in range(axis):
        first = first * ctx.extent_along(x, d)
    return [reshape_counted(ctx, x, [first, None]) or ctx.reshape(x, shape)]


def squeeze(ctx: NodeContext) -> Sequence[Value]:
    x, axes = ctx.input(0), ctx.parameter("axes", 1)
    if axes is None:
        for axis in ctx.extents(x):
            if ctx.builder.counts.span(ctx.extent_along(x, axis))[0] <= 1 < x.shape[axis]:
                reason = f"which dimensions are left out depends on the extent of dimension {axis}"
                raise ctx.unsupported(reason, hint="name the axes, or let the range begin at 2")
        axes = tuple(axis for axis, extent in enumerate(x.shape) if extent == 1)
    axes = ctx.axes(axes, len(x.shape))
    if any(x.shape[axis] != 1 for axis in axes):
        raise ctx.invalid(f"axes {axes} of {x.type} are not all of extent 1")
    x = filled(ctx, x, axes)
    return [_with_other_ones(ctx, x, [axis for axis in range(len(x.shape)) if axis not in axes])]


def unsqueeze(ctx: NodeContext) -> Sequence[Value]:
    x, axes = ctx.input(0), ctx.parameter("axes", 1)
    if axes is None:
        raise ctx.invalid("Unsqueeze has no axes")
    rank = len(x.shape) + len(axes)
    axes, places = ctx.axes(axes, rank), iter(range(len(x.shape)))
    return [_with_other_ones(ctx, x, [None if axis in axes else next(places) for axis in range(rank)])]


def _with_other_ones(ctx: NodeContext, x: Value, places: Sequence[int | None]) -> Value:
    """``x`` with dimensions of 1 more or less: each of the result is one of its own, or a new one (``None``). Where a
    dimension that a run tells is at most 1 as well, the shapes alone do not say which it is."""
    shape = tuple(1 if place is None else x.shape[place] for place in places)
    found = ctx.extents(x)
    if shape == x.shape or ctx.array(x) is not None or all(x.shape[axis] != 1 for axis in found):
        return ctx.reshape(x, shape)
    y = replace(ctx, over_bounds=True).emit("reshape", x, shape=shape)
    kept = {axis: place for axis, place in enumerate(places) if place is not None and place in found}
    return ctx.with_extents(y, {axis: found[place] for axis, place in kept.items()})


def transpose(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    perm = ctx.integers("perm", tuple(reversed(range(len(x.shape)))))
    return [transposed(ctx, x, ctx.axes(perm, len(x.shape)))]


def transposed(ctx: NodeContext, x: Value, perm: tuple[int, ...]) -> Value:
    """Reordered dimensions. Of a dequantized constant the stored integers are reordered, so that it stays one."""
    source = ctx.builder.dequantized_constant(x.name)
    if source is None or sorted(perm) != list(range(len(x.shape))):
        return ctx.emit("transpose", x, perm=perm)
    stored = [ctx.emit("transpose", operand, perm=perm) for operand in source.operands]
    axis, scale = source.attrs["axis"], source.attrs.get("scale")
    assert isinstance(axis, int)
    moved = axis if isinstance(scale, tuple) and len(scale) == 1 else perm.index(axis)
    return ctx.emit(source.op, *stored, **{**source.attrs, "axis": moved})


def expand(ctx: NodeContext) -> Sequence[Value]:
    x, wanted = ctx.input(0), ctx.parameter("shape", 1)
    try:
        shape = np.broadcast_shapes(x.shape, wanted or ())
    except ValueError as problem:
        raise ctx.invalid(f"{x.type} does not expand to {wanted}") from problem
    return [expand_counted(ctx, x, shape)]


def tile(ctx: NodeContext) -> Sequence[Value]:
    """[a, b] -> [1, a, 1, b] -> expanded -> joined."""
    x, repeats = ctx.input(0), ctx.parameter("repeats", 1)
    if repeats is None or len(repeats) != len(x.shape) or any(count < 0 for count in repeats):
        raise ctx.invalid(f"repeats {repeats} do not fit {x.type}")
    counted = tile_counted(ctx, x, repeats)
    if counted is not None:
        return [counted]
    apart = tuple(e for extent in x.shape for e in (1, extent))
    wide = tuple(e for count, extent in zip(repeats, x.shape) for e in (count, extent))
    spread = ctx.emit("expand", ctx.emit("reshape", x, shape=apart), shape=wide)
    return [ctx.emit("reshape", spread, shape=tuple(c * e for c, e in zip(repeats, x.shape)))]


def slice_(ctx: NodeContext) -> Sequence[Value]:
    """Python's slicing: negative positions count from the end, all are clamped."""
    x = ctx.input(0)
    counted = slice_counted(ctx)
    if counted is not None:
        return [counted]
    if ctx.opset >= 10 and ctx.runtime(1, 2, 3, 4):
        counted = None if is_known_slice(ctx) else slice_counted(ctx, found=True)
        return slice_anywhere(ctx) if counted is None else [counted]
    starts, ends = ctx.parameter("starts", 1), ctx.parameter("ends", 2)
    if starts is None or ends is None:
        raise ctx.invalid("Slice has no starts or no ends")
    axes = ctx.parameter("axes", 3)
    axes = ctx.axes(axes if axes is not None else tuple(range(len(starts))), len(x.shape))
    steps = ctx.parameter("steps", 4) or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ctx.invalid(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit each other")
    ranges = [range(extent) for extent in x.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps):
        # An end at or below -extent - 1 means "past the first element" when stepping backwards.
        stop = None if step < 0 and end < -x.shape[axis] else end
        ranges[axis] = range(x.shape[axis])[start:stop:step]
    return [sliced(ctx, x, ranges)]


def sliced(ctx: NodeContext, x: Value, ranges: Sequence[range]) -> Value:
    """The elements of ``x`` at one range of positions a dimension."""
    if all(r == range(extent) for r, extent in zip(ranges, x.shape)):
        return x
    starts = tuple(r.start if len(r) else 0 for r in ranges)
    return ctx.emit("slice", x, starts=starts, steps=tuple(r.step for r in ranges), sizes=tuple(map(len, ranges)))


def split(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    extent, count = x.shape[axis], ctx.output_count
    if ctx.integer("num_outputs", count) != count:
        raise ctx.invalid(f"num_outputs is {ctx.integer('num_outputs')}, the node has {count} outputs")
    counted = split_counted(ctx, x, axis)
    if counted is not None:
        return counted
    sizes = ctx.parameter("split", 1)
    if sizes is None:
        each = -(-extent // count)
        sizes = tuple(min(each, max(extent - each * number, 0)) for number in range(count))
        if ctx.opset < 18 and extent % count:
            raise ctx.invalid(f"{x.type} does not split evenly in {count} along axis {axis}")
    if len(sizes) != count or sum(sizes) != extent or any(size < 0 for size in sizes):
        raise ctx.invalid(f"{x.type} does not split into {sizes} along axis {axis}")
    parts, start = [], 0
    for size in sizes:
        ranges = [range(e) for e in x.shape]
        ranges[axis] = range(start, start + size)
        parts.append(sliced(ctx, x, ranges))
        start += size
    return parts


def concat(ctx: NodeContext) -> Sequence[Value]:
    """Operands without elements are left out, also such of another rank (an empty cache, say)."""
    operands = ctx.operands()
    axis = ctx.axis(ctx.integer("axis"), len(operands[0].shape))
    full = tuple(value for value in operands if value.type.size) or operands
    full = full if len(full) == 1 else of_one_extent(ctx, full, axis)
    return [full[0] if len(full) == 1 else ctx.emit("concat", *full, axis=axis)]


def pad(ctx: NodeContext) -> Sequence[Value]:
    """Negative amounts cut elements off, before the border is added."""
    x, rank = ctx.input(0), len(ctx.input(0).shape)
    mode = ctx.string("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise ctx.invalid(f"mode is {mode}")
    counted = pad_counted(ctx, x)
    if counted is not None:
        return [counted]
    if ctx.opset >= 11 and ctx.runtime(1, 2, 3):
        return pad_anywhere(ctx, mode)
    amounts = ctx.parameter("pads", 1)
    value = ctx.scalar_parameter("value", 2)
    axes = ctx.parameter("axes", 3) if ctx.opset >= 18 else None
    axes = tuple(range(rank)) if axes is None else ctx.axes(axes, rank)
    if amounts is None or len(amounts) != 2 * len(axes):
        raise ctx.invalid(f"pads {amounts} do not fit {x.type}")
    before, after = [0] * rank, [0] * rank
    for number, axis in enumerate(axes):
        before[axis], after[axis] = amounts[number], amounts[number + len(axes)]
    x = _cropped(ctx, x, [max(-b, 0) for b in before], [max(-a, 0) for a in after])
    before, after = [max(b, 0) for b in before], [max(a, 0) for a in after]
    if not any((*before, *after)):
        return [x]
    fill = float(value or 0) if x.dtype.is_float else int(value or 0)
    return [ctx.emit("pad", x, before=tuple(before), after=tuple(after), mode=mode, value=fill)]


def _cropped(ctx: NodeContext, x: Value, before: Sequence[int], after: Sequence[int]) -> Value:
    """``x`` without so many elements at both ends of each dimension."""
    counts, constant = ctx.builder.counts, Polynomial.constant
    counted: dict[int, Part] = {}
    for axis in ctx.extents(x):
        if before[axis] or after[axis]:
            rest = ctx.extent_along(x, axis) - constant(before[axis] + after[axis])
            counted[axis] = Part(constant(before[axis]), 1, counts.greatest_of(rest, constant(0), ctx.loc))
    x = taken(ctx, x, counted) if counted else x
    kept = [(0, 0) if axis in counted else ends for axis, ends in enumerate(zip(before, after))]
    return sliced(ctx, x, [range(first, extent - last) for extent, (first, last) in zip(x.shape, kept)])


def depth_to_space(ctx: NodeContext) -> Sequence[Value]:
    """[n, c * b * b, h, w] -> [n, c, h * b, w * b]; DCR holds the block outside of the channels, CRD inside."""
    x, block, mode = ctx.input(0), ctx.integer("blocksize"), ctx.string("mode", "DCR")
    if len(x.shape) != 4 or block < 1 or x.shape[1] % (block * block) or mode not in ("DCR", "CRD"):
        raise ctx.invalid(f"blocks of {block} in mode {mode} do not fit {x.type}")
    n, channels, height, width = x.shape
    c = channels // (block * block)
    if mode == "DCR":
        apart, perm = (n, block, block, c, height, width), (0, 3, 4, 1, 5, 2)
    else:
        apart, perm = (n, c, block, block, height, width), (0, 1, 4, 2, 5, 3)
    moved = ctx.emit("transpose", ctx.emit("reshape", x, shape=apart), perm=perm)
    return [ctx.emit("reshape", moved, shape=(n, c, height * block, width * block))]


def space_to_depth(ctx: NodeContext) -> Sequence[Value]:
    """[n, c, h, w] -> [n, c * b * b, h / b, w / b], the inverse of DepthToSpace."""
    x, block, mode = ctx.input(0), ctx.integer("blocksize"), ctx.string("mode", "DCR")
    if len(x.shape) != 4 or block < 1 or x.shape[2] % block or x.shape[3] % block or mode not in ("DCR", "CRD"):
        raise ctx.invalid(f"blocks of {block} in mode {mode} do not fit {x.type}")
    n, c, height, width = x.shape
    side = Polynomial.constant(block)
    down, across = (ctx.extent_along(x, axis).divided(side) for axis in (2, 3))
    apart = None
    if ctx.extents(x) and down is not None and across is not None:
        outer = [ctx.extent_along(x, axis) for axis in (0, 1)]
        apart = reshape_counted(ctx, x, [*outer, down, side, across, side])
    if apart is None:
        apart = ctx.emit("reshape", x, shape=(n, c, height // block, block, width // block, block))
    moved = ctx.emit("transpose", apart, perm=(0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return [ctx.emit("reshape", moved, shape=(n, c * block * block, height // block, width // block))]


RULES: Mapping[str, Rule] = {
    "Concat": concat,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Flatten": flatten,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
