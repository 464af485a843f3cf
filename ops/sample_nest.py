"""Plain nests of sample and roi_align.

Places and weights are computed once a point, for all channels; channels lie next to each other, so that the loop over
them becomes vectors. Indices are clamped last of all: whatever a position is, nothing outside of the tensor is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as fold
from operator import add

from ..ir.build import convert, eq, ge, gt, le, lt, maximum, minimum, ne, select, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Expr, as_expr, binary
from ..ir.types import DType
from ..record import record
from .attributes import flag, integer, number, text
from .nest_tools import Index, Lets, accumulate, accumulator, accumulator_dtype, loops, operand, serial_loops, write_as
from .opdef import Bind, NestContext
from .reduction_nest import lowest
from .rounding_exprs import ceil, floor, round_even, trunc
from .sample import MODES, MOST_SAMPLES


@record
class _Tap:
    """An element along one dimension; without ``valid`` it exists."""

    index: Expr
    weight: Expr
    valid: Expr | None


def sample(ctx: NestContext, node: Node) -> Block:
    """y[n, p, c] = sum over the taps of weight * x[n, taps, c], dimension by dimension from the last."""
    x, points = operand(node, 0), operand(node, 1)
    nearest = node.attrs["mode"] == "nearest"
    dtype = x.dtype if nearest else accumulator_dtype(x.dtype)

    def point(outer: Index) -> Block:
        lets = Lets(ctx)
        taps = [
            _taps(lets.bind("at", ctx.read(points, (*outer, as_expr(d)))), extent, node, dtype, lets.bind)
            for d, extent in enumerate(x.shape[1:-1])
        ]

        def value(chosen: Index, channel: Expr) -> Expr:
            if len(chosen) == len(taps):
                return convert(ctx.read(x, (outer[0], *chosen, channel)), dtype)
            terms = []
            for tap in taps[len(chosen)]:
                inner = value((*chosen, tap.index), channel)
                inner = inner if tap.valid is None else select(tap.valid, inner, 0)
                terms.append(inner if nearest else tap.weight * inner)
            return fold(add, terms)

        def element(inner: Index) -> Block:
            return write_as(ctx, node.output, (*outer, *inner), value((), inner[0]))

        return (*lets.block, *loops(ctx, ("c",), (x.shape[-1],), element))

    return loops(ctx, ("n", "p"), points.shape[:2], point)


def _taps(v: Expr, extent: int, node: Node, dtype: DType, bind: Bind) -> list[_Tap]:
    mode, border = text(node.attrs, "mode"), text(node.attrs, "border")
    low, high = (0.0, extent - 1.0) if node.attrs["align_corners"] else (-0.5, extent - 0.5)
    if mode == "nearest":
        v = bind("v", round_even(v, bind))
    if border == "edge" and mode != "cubic":
        v = _where_outside(v, low, high, minimum(maximum(v, 0.0), float(extent - 1)), bind)
    elif border == "reflect":
        v = _where_outside(v, low, high, _reflected(v, low, high, bind), bind)
    # NaN, as the first operand, gives way to the bound
    v = bind("v", maximum(minimum(v, extent + 2.0), -3.0))
    base = bind("base", floor(v, bind))
    whole = bind("whole", INDEX(base))
    taps = []
    for place, weight in enumerate(_weights(bind("t", v - base), mode, bind)):
        index = whole + (place - (1 if mode == "cubic" else 0))
        valid = None
        if border == "zeros":
            index = bind("i", index)
            valid = bind("valid", ge(index, 0) & lt(index, extent))
        elif border == "reflect":
            index = _reflected_index(index, extent, flag(node.attrs, "align_corners"))
        clamped = bind("i", maximum(minimum(index, extent - 1), 0))
        taps.append(_Tap(clamped, weight if mode == "nearest" else bind("w", convert(weight, dtype)), valid))
    assert len(taps) == MODES[mode]
    return taps


def _where_outside(v: Expr, low: float, high: float, instead: Expr, bind: Bind) -> Expr:
    return bind("v", select(lt(v, low) | gt(v, high), instead, v))


def _reflected(v: Expr, low: float, high: float, bind: Bind) -> Expr:
    """``v``, which is not between ``low`` and ``high``, thrown back at both until it is."""
    below = bind("below", lt(v, low))
    beyond = bind("beyond", select(below, low - v, v - high))
    times = bind("times", trunc(beyond / (high - low), bind))
    rest = bind("rest", beyond - times * (high - low))
    odd = bind("odd", ne(times - floor(times * 0.5, bind) * 2.0, 0.0))
    return select(ne(below, odd), low + rest, high - rest)


def _reflected_index(i: Expr, extent: int, align: bool) -> Expr:
    """A tap just outside: it is at most two elements from a position that lies inside.

    With the border between elements, -1 is 0 and ``extent`` is ``extent - 1``; on elements, -1 is 1. A tensor of one
    or two elements may throw it back more than once.
    """
    span = 2 * (extent - 1) if align else 2 * extent
    if span == 0:
        return as_expr(0)
    i = binary("floormod", i, span)
    return minimum(i, (span if align else span - 1) - i)


def _weights(t: Expr, mode: str, bind: Bind) -> Sequence[Expr]:
    """Of the elements before and behind a place; cubic as Keys (1981) with a = -0.75."""
    if mode == "nearest":
        return [t]
    if mode == "linear":
        return [1.0 - t, t]
    a = -0.75

    def near(s: Expr) -> Expr:
        return ((s * (a + 2) - (a + 3)) * s) * s + 1.0

    def far(s: Expr) -> Expr:
        return ((s * a - 5 * a) * s + 8 * a) * s - 4 * a

    back, ahead, two = (bind("s", s) for s in (1.0 - t, t + 1.0, 2.0 - t))
    return [far(ahead), near(t), near(back), far(two)]


# ---------------------------------------------------------------- regions of interest


def roi_align(ctx: NestContext, node: Node) -> Block:
    """For each region, part and channel, the places of the part; a region lies in image ``batch[r]``, clamped."""
    x, batch = operand(node, 0), operand(node, 2)
    dtype = accumulator_dtype(x.dtype)
    extreme = node.attrs["kind"] == "max"

    def region(outer: Index) -> Block:
        lets = Lets(ctx)
        image = convert(ctx.read(batch, outer), INDEX.dtype)
        image = lets.bind("image", maximum(minimum(image, x.shape[0] - 1), 0))
        sides = [_Side.of(ctx, node, outer[0], d, dtype, lets.bind) for d in range(2)]
        count = lets.bind("count", maximum(sides[0].count * sides[1].count, 1))

        def part(inner: Index) -> Block:
            def channel(c: Index) -> Block:
                acc, init = accumulator(ctx, "acc", dtype, lowest(dtype) if extreme else 0)

                def place(at: Index) -> Block:
                    values = Lets(ctx)
                    value = _corner_values(ctx, node, (image, c[0]), sides, inner, at, values.bind)
                    if extreme:
                        return (*values.block, store(acc[0], maximum(acc[0], value)))
                    return (*values.block, accumulate("add", acc, value))

                total = serial_loops(ctx, ("iy", "ix"), [side.count for side in sides], place)
                result = acc[0] / convert(count, dtype)
                if extreme:
                    none = eq(sides[0].count * sides[1].count, 0)
                    result = select(none, 0, acc[0])
                return (*init, *total, *write_as(ctx, node.output, (*outer, *inner, *c), result))

            return loops(ctx, ("c",), (x.shape[3],), channel)

        return (*lets.block, *loops(ctx, ("ph", "pw"), node.output.shape[1:3], part))

    return loops(ctx, ("r",), batch.shape, region)


@record
class _Side:
    """One dimension of a region: the extent of the image, where the region starts, the size of a part, and the places
    in each."""

    extent: Expr
    start: Expr
    size: Expr
    count: Expr

    @staticmethod
    def of(ctx: NestContext, node: Node, r: Expr, d: int, dtype: DType, bind: Bind) -> _Side:
        x, rois = operand(node, 0), operand(node, 1)
        half = flag(node.attrs, "half_pixel")
        ends = [convert(ctx.read(rois, (r, as_expr(place))), dtype) for place in (1 - d, 3 - d)]
        ends = [end * number(node.attrs, "scale") for end in ends]
        ends = [bind("end", end - 0.5 if half else end) for end in ends]
        whole = ends[1] - ends[0]
        parts, samples = integer(node.attrs, ("height", "width")[d]), integer(node.attrs, "samples")
        size = bind("size", (whole if half else maximum(1.0, whole)) / float(parts))
        count: Expr = INDEX(samples)
        if samples <= 0:
            bounded = maximum(minimum(ceil(size, bind), float(MOST_SAMPLES)), 0.0)
            number_of = bind("number", INDEX(bounded))
            count = bind("places", maximum(minimum(number_of, MOST_SAMPLES), 0))
        extent: Expr = INDEX(x.shape[1 + d])
        if len(node.inputs) > 3:
            given = INDEX(ctx.read(operand(node, 3), (as_expr(d),)))
            extent = bind("extent", maximum(minimum(given, x.shape[1 + d]), 1))
        return _Side(extent, ends[0], size, count)

    def place(self, part: Expr, sample: Expr, bind: Bind) -> tuple[Expr, Expr, Expr, Expr]:
        """Elements before and behind a place, the weight of the second, and whether the place exists."""
        real = self.start.type
        step = (real(sample) + 0.5) * self.size / real(self.count)
        v = bind("v", self.start + real(part) * self.size + step)
        inside = ge(v, -1.0) & le(v, real(self.extent))
        v = bind("v", maximum(minimum(v, real(self.extent) - 1.0), 0.0))
        first = bind("first", INDEX(v))
        first = bind("first", maximum(minimum(first, self.extent - 1), 0))
        second = minimum(first + 1, self.extent - 1)
        return first, bind("second", second), bind("t", v - real(first)), inside


def _corner_values(
    ctx: NestContext, node: Node, where: Index, sides: Sequence[_Side], parts: Index, samples: Index, bind: Bind
) -> Expr:
    """The elements around a place times their weights: their sum, or for max the greatest of them."""
    (image, channel), x = where, operand(node, 0)
    rows, columns = (side.place(part, s, bind) for side, part, s in zip(sides, parts, samples))
    dtype, values = sides[0].start.type.dtype, []
    for i, down in ((0, 1.0 - rows[2]), (1, rows[2])):
        for j, across in ((0, 1.0 - columns[2]), (1, columns[2])):
            weight = bind("w", down * across)
            element = convert(ctx.read(x, (image, rows[i], columns[j], channel)), dtype)
            values.append(weight * element)
    extreme = node.attrs["kind"] == "max"
    result = fold(maximum if extreme else add, values)
    return select(bind("inside", rows[3] & columns[3]), result, 0)
