"""Operands that are computed at run time, but whose value follows from the declared shape of the node's output.

They are replaced by constants and not read: a value that contradicts the declared shape cannot be noticed in a run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import CcmlError
from ..ir.graph import Value
from .bounded_shapes import is_bounded
from .context import NodeContext

log = logging.getLogger(__name__)

Derived = Mapping[int, Sequence[int] | None]
"""Values of operands by their positions; ``None`` where the shape does not tell."""


def derived_operands(ctx: NodeContext) -> NodeContext:
    """The node with constants for the operands that its output's shape tells."""
    positions, derive = FROM_SHAPE.get(ctx.op_type, ((), _nothing))
    if not any(ctx.runtime(position) for position in positions):
        return ctx
    inputs = list(ctx.inputs)
    for position, entries in derive(ctx).items():
        given = ctx.input(position)
        if entries is None or not ctx.runtime(position):
            continue
        array = np.asarray(entries, np.int64)
        if array.size != given.type.size:
            raise ctx.invalid(f"{given.name} has {given.type.size} elements, but the output's shape makes it {entries}")
        inputs[position] = ctx.constant(array.astype(given.dtype.numpy).reshape(given.shape))
        text = ", ".join(map(str, array.reshape(-1)))
        log.info("%s: %s is [%s] by the declared shape of the output; it is not read", ctx.loc, given.name, text)
    return replace(ctx, inputs=tuple(inputs))


def counted_operands(ctx: NodeContext) -> NodeContext:
    """The node with constants for the operands that are numbers of shapes, at their bounds; what is behind these is
    known of the constants as well."""
    inputs, builder = list(ctx.inputs), ctx.builder
    for position in COUNTED_OPERANDS.get(ctx.op_type, ()):
        given = ctx.optional(position)
        known = builder.numbers.of(given) if given is not None and ctx.runtime(position) else None
        if given is not None and known is not None:
            array = np.asarray([builder.counts.span(each)[1] for each in known], np.int64)
            inputs[position] = ctx.constant(array.astype(given.dtype.numpy).reshape(given.shape))
            bounded = inputs[position]
            assert bounded is not None
            builder.numbers.note(bounded, known)
    return ctx if tuple(inputs) == ctx.inputs else replace(ctx, inputs=tuple(inputs))


def check_results(ctx: NodeContext, results: Sequence[object]) -> None:
    """Raises ``INVALID_MODEL`` where results do not have the shapes that decided about operands."""
    for position, value in enumerate(results):
        extents = ctx.declared(position) if isinstance(value, Value) else None
        if isinstance(value, Value) and extents is not None and not fits(value.shape, extents):
            raise _contradiction(ctx, extents, value)


def fits(shape: Sequence[int], extents: Sequence[int | None]) -> bool:
    return len(shape) == len(extents) and all(e is None or e == own for own, e in zip(shape, extents))


def _contradiction(ctx: NodeContext, extents: Sequence[int | None], value: Value) -> CcmlError:
    shown = ", ".join("?" if extent is None else str(extent) for extent in extents)
    return ctx.invalid(f"{ctx.op_type} cannot have an output of the declared shape [{shown}], but {value.type}")


# ---------------------------------------------------------------- what the shape tells, by operator


def _nothing(ctx: NodeContext) -> Derived:
    return {}


def _reshape(ctx: NodeContext) -> Derived:
    """One extent that is not declared is what is left over; 0 copies an extent that has to be 0. Within a bound of the
    user's each number may be any."""
    if is_bounded(ctx, 1):
        return {}
    extents = ctx.declared(0)
    if extents is not None and extents.count(None) == 1:
        return {1: [-1 if extent is None else extent for extent in extents]}
    return {1: ctx.declared_shape("shape", (1,), bound=True)}


def _shape(what: str, position: int, bound: bool = False) -> Callable[[NodeContext], Derived]:
    return lambda ctx: {position: ctx.declared_shape(what, (position,), bound=bound)}


def _expand(ctx: NodeContext) -> Derived:
    """The operand may have fewer entries than the result dimensions."""
    shape = ctx.declared_shape("shape", (1,), bound=True)
    count = ctx.input(1).type.size
    return {1: shape[max(len(shape) - count, 0) :]}


def _tile(ctx: NodeContext) -> Derived:
    if ctx.opset < 6:  # one number for one axis
        return {}
    x, shape = ctx.input(0), ctx.declared_shape("repeats", (1,), bound=True)
    if len(shape) != len(x.shape):
        return {1: None}
    return {1: [wide // extent if extent else 1 for wide, extent in zip(shape, x.shape)]}


def _inserted(ctx: NodeContext, short: Sequence[int], long: Sequence[int], count: int) -> list[int]:
    """``count`` places of extents 1 of ``long`` without which it is ``short``."""
    rest, places = list(short), []
    for place, extent in enumerate(long):
        if rest and rest[0] == extent:
            rest.pop(0)
        else:
            places.append(place)
    if rest or len(places) != count or any(long[place] != 1 for place in places):
        raise ctx.invalid(f"{count} axes cannot be between the shapes {list(short)} and {list(long)}")
    return places


def _unsqueeze(ctx: NodeContext) -> Derived:
    return {1: _inserted(ctx, ctx.input(0).shape, ctx.declared_shape("axes", (1,)), ctx.input(1).type.size)}


def _squeeze(ctx: NodeContext) -> Derived:
    return {1: _inserted(ctx, ctx.declared_shape("axes", (1,)), ctx.input(0).shape, ctx.input(1).type.size)}


def _split(ctx: NodeContext) -> Derived:
    """One size that is not declared is what is left over; where there are more, a run finds them."""
    rank = len(ctx.input(0).shape)
    axis = ctx.axis(ctx.integer("axis", 0), rank)
    shapes = [ctx.declared(position) for position in range(ctx.output_count)]
    sizes = [None if shape is None or len(shape) != rank else shape[axis] for shape in shapes]
    if sizes.count(None) == 1:
        rest = ctx.input(0).shape[axis] - sum(size for size in sizes if size is not None)
        sizes[sizes.index(None)] = max(rest, 0)
    return {1: None if None in sizes else [size for size in sizes if size is not None]}


def _top_k(ctx: NodeContext) -> Derived:
    axis = ctx.axis(ctx.integer("axis", -1), len(ctx.input(0).shape))
    for extents in (ctx.declared(0), ctx.declared(1)):
        if extents is not None and len(extents) == len(ctx.input(0).shape) and extents[axis] is not None:
            return {1: [extents[axis] or 0]}
    return {1: None}


def _one_hot(ctx: NodeContext) -> Derived:
    shape = ctx.declared_shape("depth", (1,))
    return {1: [shape[ctx.axis(ctx.integer("axis", -1), len(shape))]]}


def _resize(ctx: NodeContext) -> Derived:
    """Sizes that keep the aspect ratio tell a scale besides, which the output's shape does not."""
    if not ctx.runtime(3) or ctx.string("keep_aspect_ratio_policy", "stretch") != "stretch":
        return {}
    shape, rank = ctx.declared_shape("sizes", (3,), bound=True), len(ctx.input(0).shape)
    axes = ctx.axes(ctx.integers("axes", tuple(range(rank))), rank)
    return {3: [shape[axis] for axis in axes]} if len(shape) == rank else {}


def _crop(ctx: NodeContext) -> Derived:
    shape, rank = ctx.declared_shape("shape", (1,)), len(ctx.input(0).shape)
    return {1: [shape[axis] for axis in ctx.axes(ctx.integers("axes", tuple(range(rank))), rank)]}


def _affine_grid(ctx: NodeContext) -> Derived:
    """[n, ..., 2 or 3] -> [n, channels, ...]; the result does not depend on the number of channels."""
    batch, *spatial, _ = ctx.declared_shape("size", (1,))
    return {1: [batch, 1, *spatial]}


def _extent(what: str, position: int, axis: int) -> Callable[[NodeContext], Derived]:
    def derived(ctx: NodeContext) -> Derived:
        shape = ctx.declared_shape(what, (position,))
        if not -len(shape) <= axis < len(shape):
            raise ctx.invalid(f"a result of shape {list(shape)}")
        return {position: [shape[axis]]}

    return derived


COUNTED_OPERANDS: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,), "Expand": (1,), "Reshape": (1,), "Tile": (1,),
}  # fmt: skip
"""The operands with numbers of shapes whose rules know what stands behind these."""

FROM_SHAPE: Mapping[str, tuple[tuple[int, ...], Callable[[NodeContext], Derived]]] = {
    "AffineGrid": ((1,), _affine_grid),
    "BlackmanWindow": ((0,), _extent("size", 0, 0)),
    "CenterCropPad": ((1,), _crop),
    "ConstantOfShape": ((0,), _shape("shape", 0, bound=True)),
    "Expand": ((1,), _expand),
    "HammingWindow": ((0,), _extent("size", 0, 0)),
    "HannWindow": ((0,), _extent("size", 0, 0)),
    "MaxUnpool": ((2,), _shape("output_shape", 2)),
    "MelWeightMatrix": ((0,), _extent("num_mel_bins", 0, 1)),
    "OneHot": ((1,), _one_hot),
    "Reshape": ((1,), _reshape),
    "Resize": ((3,), _resize),
    "Split": ((1,), _split),
    "Squeeze": ((1,), _squeeze),
    "Tile": ((1,), _tile),
    "TopK": ((1,), _top_k),
    "Unsqueeze": ((1,), _unsqueeze),
}
"""The operands that the output's shape can tell, and how."""
