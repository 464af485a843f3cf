"""Extents that follow from others by arithmetic: of tensors put together, of borders and of windows; and nodes that
become others where an operand has extents.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from ..ops.attributes import flag, integer, ints, number, text
from ..ops.integer import zero_point
from .counts import Counts
from .polynomials import Polynomial

if TYPE_CHECKING:
    from .extents import Extents, Site

Names = Iterable[str] | None

_POOLS = ("pool", "max_pool_index")


def concat(site: Site) -> Sequence[Extents]:
    """Along ``axis`` the last operand alone may have an extent, so that nothing arbitrary is between two."""
    axis, count = integer(site.attrs, "axis"), len(site.operands)
    found: dict[int, Value] = {}
    for dim in range(site.types[0].rank):
        each = [site.extents(position).get(dim) for position in range(count)]
        extent = _together(site, axis) if dim == axis else site.same(dim, each)
        if extent is not None:
            found[dim] = extent
    return [found]


def _together(site: Site, axis: int) -> Value | None:
    """The extent of all operands together along ``axis``."""
    each = [site.extents(position).get(axis) for position in range(len(site.operands))]
    counts = [count for count in each if count is not None]
    fixed = sum(site.operand(n).shape[axis] for n, count in enumerate(each) if count is None)
    return site.builder.total(counts, fixed, site.loc) if counts else None


def pad(site: Site) -> Sequence[Extents]:
    """A border of a number; what lies beyond the extent becomes that number, too."""
    found, after = pad_extents(site), ints(site.attrs, "after")
    for axis in site.extents(0):
        if after[axis]:
            site.cleared(0, axis, number(site.attrs, "value"))
    return [found]


def pad_extents(site: Site) -> Extents:
    """Each extent with its border."""
    before, after = ints(site.attrs, "before"), ints(site.attrs, "after")
    found = dict(site.extents(0))
    for axis, count in site.extents(0).items():
        if min(before[axis], after[axis]) < 0:
            raise site.refuse(axis, "cuts")
        if before[axis] or after[axis]:
            found[axis] = site.builder.stepped(count, before[axis] + after[axis], 1, site.loc)
    return found


def windows(site: Site) -> Sequence[Extents]:
    """Convolutions and pools: as many windows as the extent has room for. Where there is a border, what lies beyond the
    extent becomes what the border is."""
    x, pads = site.operand(0), ints(site.attrs, "pad")
    site.fixed(*range(1, len(site.operands)))
    pooled = site.op in _POOLS
    if not pooled:
        site.constant_over(0, (1,), "works along")
    kernel = ints(site.attrs, "kernel") if pooled else site.operand(1).shape[2:]
    stride, dilation = ints(site.attrs, "stride"), ints(site.attrs, "dilation")
    found = dict(site.extents(0))
    for axis, count in ((axis, count) for axis, count in site.extents(0).items() if axis > 1):
        dim = axis - 2
        border = pads[dim] + pads[dim + len(pads) // 2]
        reach = (kernel[dim] - 1) * dilation[dim] + 1
        parts = pooled and flag(site.attrs, "ceil_mode") and stride[dim] > 1
        if parts and reach < pads[dim + len(pads) // 2] + stride[dim]:
            raise site.refuse(axis, "may have a window beyond the end of")
        if border or parts or (not pooled and _put_together(site)):
            site.cleared(0, axis, _border(site, axis))
        more = border - reach + stride[dim] + (stride[dim] - 1 if parts else 0)
        found[axis] = site.builder.stepped(count, more, stride[dim], site.loc)
    assert len(x.shape) == site.types[0].rank
    return [found]


def transposed_windows(site: Site) -> Sequence[Extents]:
    """As many elements as the windows of an extent make; what lies beyond it, which would reach into the last of them,
    becomes 0."""
    pads, spatial = ints(site.attrs, "pad"), len(site.operand(0).shape) - 2
    site.fixed(*range(1, len(site.operands)))
    site.constant_over(0, (1,), "works along")
    found = dict(site.extents(0))
    for axis, count in ((axis, count) for axis, count in site.extents(0).items() if axis > 1):
        dim = axis - 2
        stride, dilation, extra = (ints(site.attrs, name)[dim] for name in ("stride", "dilation", "output_padding"))
        reach = (site.operand(1).shape[axis] - 1) * dilation + 1
        more = reach - stride + extra - pads[dim] - pads[dim + spatial]
        site.cleared(0, axis, 0)
        found[axis] = site.builder.total([site.builder.scaled(count, stride, site.loc)], more, site.loc)
    return [found]


def _put_together(site: Site) -> bool:
    """Whether Winograd's algorithm may compute a convolution: of sums over whole tiles, in which what lies beyond an
    extent has to be numbers."""
    plain = all(step == 1 for name in ("stride", "dilation") for step in ints(site.attrs, name))
    return plain and site.operand(0).dtype.is_float and site.operand(1).shape[2:] == (3, 3)


def _border(site: Site, axis: int) -> float:
    from .extents import least

    dtype = site.operand(0).dtype
    if site.op == "max_pool_index" or (site.op == "pool" and text(site.attrs, "kind") == "max"):
        return least(dtype)
    if site.op == "conv":
        return zero_point(site.attrs)
    if not dtype.is_float:
        raise site.refuse(axis, "sums up integers over a border of")
    return 0.0


# ---------------------------------------------------------------- nodes that become others


def replaced_by_others(site: Site, names: Names) -> Value | None:
    """The result, made by other nodes, of means and normalizations over dimensions with extents, of averages over the
    end of one, of numbers of elements within them, of borders that continue one, of reshapes that move elements, and of
    tensors put together of which others than the last have one; ``None`` for everything else."""
    if site.op == "reduce" and text(site.attrs, "kind") == "mean":
        return _mean(site, names)
    if site.op in ("normalize", "rms_normalize") and any(axis in site.extents(0) for axis in ints(site.attrs, "axes")):
        return _normalized(site, names)
    if site.op == "pool" and text(site.attrs, "kind") == "avg":
        return _average(site, names)
    if site.op == "max_pool_index":
        return _numbers_of_greatest(site, names)
    if site.op == "pad" and text(site.attrs, "mode") != "constant":
        return _continued(site, names)
    if site.op == "reshape":
        return _apart(site, names)
    if site.op == "concat":
        axis = integer(site.attrs, "axis")
        if any(axis in site.extents(position) for position in range(len(site.operands) - 1)):
            return _closed_up(site, axis, names)
    return None


Emit = Callable[..., Value]
"""Emits a node over whole tensors: operator, operands, attributes."""


def repitched(emit: Emit, x: Value, own: Extents, shape: tuple[int, ...], extents: Extents) -> Value:
    """The elements within the extents of ``x`` in the same order within those of another shape: one behind the other,
    and apart again."""
    rows: tuple[int, ...] = (x.type.size,)
    dense = emit("pack", x, *(own[axis] for axis in sorted(own)), axes=tuple(sorted(own))) if own else x
    dense = dense if dense.shape == rows else emit("reshape", dense, shape=rows)
    room = prod(shape)
    if room < x.type.size:
        dense = emit("slice", dense, starts=(0,), steps=(1,), sizes=(room,))
    elif room > x.type.size:
        dense = emit("pad", dense, before=(0,), after=(room - x.type.size,), mode="constant", value=0)
    axes = tuple(sorted(extents))
    if all(extent == 1 for extent in shape[: max(axes, default=0)]):
        return emit("reshape", dense, shape=shape)
    return emit("unpack", dense, *(extents[axis] for axis in axes), axes=axes, shape=shape)


def _apart(site: Site, names: Names) -> Value | None:
    """A reshape that merges dimensions with extents with others, or splits them; ``None`` where elements can keep their
    places, or it is not known how the extents are split."""
    from .extents import keeps_places

    x, shape, builder = site.operand(0), site.types[0].shape, site.builder
    found = split_extents([_along(site, axis) for axis in range(len(x.shape))], x.shape, shape, builder.counts)
    if found is None or keeps_places(site):
        return None
    extents = {axis: builder.counts.value(each, site.loc) for axis, each in enumerate(found) if each.number is None}
    made = repitched(lambda op, *values, **attrs: site.emit(op, *values, **attrs), x, site.extents(0), shape, extents)
    (result,) = builder.emit_whole("reshape", [made], {"shape": shape}, loc=site.loc, names=names)
    builder.extents[result.name] = extents
    return result


def _along(site: Site, axis: int) -> Polynomial:
    count = site.extents(0).get(axis)
    return Polynomial.constant(site.operand(0).shape[axis]) if count is None else site.builder.polynomial(count)


def split_extents(
    known: Sequence[Polynomial], bounds: Sequence[int], shape: Sequence[int], counts: Counts,
    probed: Sequence[int] | None = None,
) -> list[Polynomial] | None:  # fmt: skip
    """The extents of a ``shape`` to which one of ``bounds`` with ``known`` extents is reshaped, run by run of
    dimensions of equal products; ``None`` where a run could be split in several ways, or a dimension of 1 has an
    extent. ``probed`` is the shape in the second import, where that is known."""
    found = [Polynomial.constant(extent) for extent in shape]
    if any(bound == 1 and each.number is None for bound, each in zip(bounds, known)):
        return None  # which dimension of 1 has it?
    for outer, inner in _runs(bounds, shape):
        total = Polynomial.constant(1)
        for axis in outer:
            total = total * known[axis]
        if total.number is not None:
            continue
        if len(inner) == 1:
            counts.note_order(total, [known[axis] for axis in outer])
        ways = list(counts.factored(total, [shape[axis] for axis in inner]))
        if probed is not None:
            ways = [way for way in ways if [counts.probed(each) for each in way] == [probed[axis] for axis in inner]]
        if len(ways) > 1:  # what was put together comes apart in that order
            ways = [way for way in ways if counts.is_order(total, way)]
        if len(ways) != 1:
            return None
        for axis, each in zip(inner, ways[0]):
            found[axis] = each
    return found


def outermost_in_runs(one: Sequence[int], own: Container[int], two: Sequence[int], other: Container[int]) -> bool:
    """Whether elements keep their places where a tensor of the bounds ``one`` takes those of ``two``: of dimensions
    that are split or merged none has an extent (``own``, ``other``) but the outermost, so that what is within it comes
    first."""
    runs = list(_runs(one, two))
    return bool(runs) and all(
        axis not in extents for run in runs for axes, extents in zip(run, (own, other)) for axis in axes[1:]
    )


def _runs(one: Sequence[int], two: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Shortest runs of dimensions other than 1 with equal products: of two shapes of as many elements."""
    rest = [[axis for axis, extent in enumerate(shape) if extent != 1] for shape in (one, two)]
    if prod(one) != prod(two) or 0 in one:
        return
    while any(rest):
        run: tuple[list[int], list[int]] = ([], [])
        sizes = [1, 1]
        while not run[0] or not run[1] or sizes[0] != sizes[1]:
            side = int(sizes[1] < sizes[0]) if rest[0] and rest[1] else int(not rest[0])
            axis = rest[side].pop(0)
            run[side].append(axis)
            sizes[side] *= (one, two)[side][axis]
        yield run


def _mean(site: Site, names: Names) -> Value | None:
    """The mean of elements within extents: their sum by their number. Of none it is 0, which ONNX leaves open and ONNX
    Runtime has (and PyTorch, of a bag without embeddings). ``None`` where it is over other dimensions."""
    axes, x = ints(site.attrs, "axes"), site.operand(0)
    counts = [count for axis, count in site.extents(0).items() if axis in axes]
    if not counts:
        return None
    if not x.dtype.is_float:
        raise site.refuse(axes[0], "computes a mean of integers over")
    fixed = prod(x.shape[axis] for axis in axes if axis not in site.extents(0))
    total = site.builder.scaled(counts[0], fixed, site.loc)
    for count in counts[1:]:
        total = site.emit("mul", total, count)
    attrs, stems = {**site.attrs, "kind": "sum"}, [f"{site.loc}.extent"]
    (added,) = site.builder.emit("reduce", [x], attrs, loc=site.loc, names=stems)
    if site.least(total) < 1:
        total = site.emit("max", total, site.constant(1, total.dtype))
    divisor = site.emit("cast", total, to=x.dtype)
    return site.builder.emit("div", [added, divisor], loc=site.loc, names=names)[0]


def _normalized(site: Site, names: Names) -> Value:
    """x - mean, or x, by the square root of the mean of its squares + epsilon."""
    x, builder, stems = site.operand(0), site.builder, [f"{site.loc}.extent"]
    attrs: dict[str, AttrValue] = {"kind": "mean", "axes": ints(site.attrs, "axes"), "keepdims": True}
    if site.op == "normalize":
        (mean,) = builder.emit("reduce", [x], attrs, loc=site.loc, names=stems)
        (x,) = builder.emit("sub", [x, mean], loc=site.loc, names=stems)
    (square,) = builder.emit("mul", [x, x], loc=site.loc, names=stems)
    (power,) = builder.emit("reduce", [square], attrs, loc=site.loc, names=stems)
    epsilon = site.constant(number(site.attrs, "epsilon"), x.dtype)
    (power,) = builder.emit("add", [power, epsilon], loc=site.loc, names=stems)
    (root,) = builder.emit("sqrt", [power], loc=site.loc, names=stems)
    return builder.emit("div", [x, root], loc=site.loc, names=names)[0]


def _average(site: Site, names: Names) -> Value | None:
    """The average of the elements of each window that are within extents: that of the elements, with 0 beyond, by that
    of as many ones. ``None`` where the border counts, or no window reaches beyond an extent."""
    x, attrs = site.operand(0), site.attrs
    reaches = any(ints(attrs, "pad")) or flag(attrs, "ceil_mode")
    if flag(attrs, "count_include_pad") or not reaches or not any(axis > 1 for axis in site.extents(0)):
        return None
    builder, stems = site.builder, [f"{site.loc}.extent"]
    whole = {**attrs, "count_include_pad": True}
    inner = replace(site, operands=[x], attrs=dict(whole))
    (found,) = windows(inner)
    (total,) = builder.emit_whole("pool", inner.operands, whole, loc=site.loc, names=stems)
    (share,) = builder.emit_whole("pool", [_ones(site)], whole, loc=site.loc, names=stems)
    builder.extents[total.name] = found
    builder.extents[share.name] = {axis: count for axis, count in found.items() if axis > 1}
    return builder.emit("div", [total, share], loc=site.loc, names=names)[0]


def _numbers_of_greatest(site: Site, names: Names) -> Value:
    """The numbers of the greatest elements among those within extents, of their numbers among all: these are taken
    apart into indices. What lies beyond an extent is the least there is, and the first of equal ones lies within."""
    builder, shape = site.builder, site.operand(0).shape
    extents, whole = dict(site.extents(0)), replace(site, attrs=dict(site.attrs))
    (found,) = windows(whole)
    inner = [f"{site.loc}.extent"] if any(axis > 0 for axis in extents) else names
    (result,) = builder.emit_whole(site.op, whole.operands, site.attrs, loc=site.loc, names=inner)
    if any(axis > 0 for axis in extents):
        planes = range(2, len(shape)) if flag(site.attrs, "column_major") else reversed(range(2, len(shape)))
        rest, number, pitch = result, site.constant(0, DType.I64), site.constant(1, DType.I64)
        for axis in (*planes, 1, 0):
            bound = site.constant(shape[axis], DType.I64)
            index = site.emit("mod", rest, bound, fmod=False)
            rest = site.emit("div", rest, bound)
            summands, name = [number, site.emit("mul", index, pitch)], names if axis == 0 else inner
            (number,) = builder.emit_whole("add", summands, loc=site.loc, names=name)
            pitch = site.emit("mul", pitch, extents.get(axis, bound))
        result = number
    builder.extents[result.name] = found
    return result


def _ones(site: Site) -> Value:
    """1 within the extents of the operand along dimensions in space, 0 beyond: an image of one channel."""
    x = site.operand(0)
    ones = site.builder.constant(np.ones((1, 1, *x.shape[2:]), x.dtype.numpy), f"{site.loc}.extent")
    for axis, count in ((axis, count) for axis, count in site.extents(0).items() if axis > 1):
        places = np.arange(x.shape[axis], dtype=np.int64).reshape(-1, *[1] * (len(x.shape) - axis - 1))
        within = site.emit("lt", site.builder.constant(places, f"{site.loc}.extent"), count)
        ones = site.emit("where", within, ones, site.constant(0, x.dtype))
    return ones


def _continued(site: Site, names: Names) -> Value:
    """A border that repeats the edge, mirrors or goes on periodically: behind the end of an extent, elements come from
    places that follow from it. Other dimensions get theirs first."""
    builder, mode, found = site.builder, text(site.attrs, "mode"), pad_extents(site)
    before, after = (list(ints(site.attrs, side)) for side in ("before", "after"))
    inner = {axis: count for axis, count in site.extents(0).items() if before[axis] or after[axis]}
    outer = {
        side: tuple(0 if axis in inner else amount for axis, amount in enumerate(amounts))
        for side, amounts in (("before", before), ("after", after))
    }
    x = site.operand(0)
    if any(outer["before"]) or any(outer["after"]):
        (x,) = builder.emit_whole("pad", [x], {**site.attrs, **outer}, loc=site.loc, names=[f"{site.loc}.extent"])
    for number_, (axis, count) in enumerate(inner.items()):
        places = _places(site, np.arange(-before[axis], x.shape[axis] + after[axis]), count, mode)
        stems = names if number_ == len(inner) - 1 else [f"{site.loc}.extent"]
        (x,) = builder.emit_whole("gather", [x, places], {"axis": axis}, loc=site.loc, names=stems)
    builder.extents[x.name] = found
    return x


def _places(site: Site, at: np.ndarray, count: Value, mode: str) -> Value:
    """Where in 0 .. ``count`` - 1 the elements of the places ``at`` come from."""
    place = site.builder.constant(at.astype(np.int64), f"{site.loc}.extent")
    zero, one = (site.constant(n, DType.I64) for n in (0, 1))
    last = site.emit("max", site.emit("sub", count, one), zero)
    if mode == "edge":
        return site.emit("min", site.emit("max", place, zero), last)
    if mode == "wrap":
        return site.emit("mod", place, site.emit("add", last, one), fmod=False)
    period = site.emit("max", site.emit("add", last, last), one)
    turned = site.emit("mod", place, period, fmod=False)
    return site.emit("min", turned, site.emit("sub", period, turned))


def _closed_up(site: Site, axis: int, names: Names) -> Value:
    """All operands at their bounds one behind the other, and of these the elements within extents: behind the end of an
    operand, places are further by how much it lacks to its bound. Parts of one dimension are together no more than it
    was, whatever their bounds are."""
    builder = site.builder
    found = dict(concat(site)[0])
    total = builder.polynomial(found[axis])
    whole = site.emit("concat", *(site.operand(n) for n in range(len(site.operands))), axis=axis)
    bound = min(whole.shape[axis], max(builder.counts.span(total)[1], 1))
    if total.number is not None:
        del found[axis]
    positions = builder.constant(np.arange(bound, dtype=np.int64), f"{site.loc}.extent")
    places, counts, fixed = positions, list[Value](), 0
    for n in range(len(site.operands) - 1):
        count, most = site.extents(n).get(axis), site.operand(n).shape[axis]
        if count is None:
            fixed += most
            continue
        counts.append(count)
        behind = site.emit("ge", positions, builder.total(counts, fixed, site.loc))
        lack = site.emit("sub", builder.constant(np.asarray(most, np.int64), f"{site.loc}.extent"), count)
        zero = builder.constant(np.asarray(0, np.int64), f"{site.loc}.extent")
        places = site.emit("add", places, site.emit("where", behind, lack, zero))
    places = site.emit("clip", places, lo=0, hi=whole.shape[axis] - 1)
    (result,) = builder.emit_whole("gather", [whole, places], {"axis": axis}, loc=site.loc, names=names)
    builder.extents[result.name] = found
    return result
