"""How much of each tensor a run needs whose extents are smaller than the bounds.

Shapes are bounds, and what lies beyond an extent is arbitrary: nobody needs it. The outputs of a graph say how much of
them is looked at; rules for the operators, applied backwards, say what of their operands that takes. An operator
without a rule needs all of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.types import DType
from ..ops.attributes import flag, integer, ints, text
from ..ops.fused import body_of
from ..ops.opdef import Kind
from ..ops.table import OPS
from ..ops.windows import split_layout
from ..record import record


@record
class Limit:
    """The indices along a dimension that are below ``factor * extent + offset``; ``extent`` is a value (i64) of the
    graph, ``factor`` is positive."""

    extent: str
    factor: int = 1
    offset: int = 0

    def moved(self, factor: int, offset: int) -> Limit:
        """The limit L as ``factor * L + offset``."""
        return Limit(self.extent, self.factor * factor, self.offset * factor + offset)

    def quotient(self, divisor: int) -> Limit | None:
        """The limit L as L / ``divisor``, rounded up; ``None`` where that is no such limit."""
        if self.factor % divisor:
            return None
        return Limit(self.extent, self.factor // divisor, -(-self.offset // divisor))


Needed = tuple[Limit | None, ...]
"""For each dimension the indices that are needed; ``None``: all."""


def either(a: Limit | None, b: Limit | None) -> Limit | None:
    """What is below one of two limits, or a little more."""
    if a is None or b is None or a.extent != b.extent:
        return None
    return Limit(a.extent, max(a.factor, b.factor), max(a.offset, b.offset))


def _together(a: Needed, b: Needed) -> Needed:
    return tuple(either(one, other) for one, other in zip(a, b, strict=True))


@record
class Mask:
    """A tensor that is true where the index along dimension ``axis``, -1 being the last, is below ``extent``."""

    extent: str
    axis: int


def needed_elements(graph: Graph, tile: Callable[[Node], int]) -> dict[str, Needed]:
    """What is needed of values of ``graph``, by name. What no output depends on is left out.

    A fused node makes ``tile`` neighbouring windows of sums over all that these read: what is read for one that is
    needed has to be numbers for the others, too.
    """
    outputs: dict[str, list[Limit | None]] = {value.name: [None] * len(value.shape) for value in graph.outputs}
    for extent in graph.extents:
        for name, axis in extent.dims:
            if name in outputs:
                outputs[name][axis] = Limit(extent.value)
    masks = _masks(graph, {}, {})
    return _backwards(graph, {name: tuple(limits) for name, limits in outputs.items()}, masks, tile)


# ---------------------------------------------------------------- masks, forwards


def _masks(graph: Graph, given: Mapping[str, Mask], constants: Mapping[str, np.ndarray]) -> dict[str, Mask]:
    """The masks among the values of a graph, some of which are ``given``, with ``constants`` for some of its inputs."""
    masks, arrays = dict(given), {**constants, **graph.constants}
    for node in graph.nodes:
        if node.op == "fused":
            body, outer = body_of(node.attrs), _outer(node)
            known = {inner: arrays[name] for inner, name in outer.items() if name in arrays}
            inside = _masks(body, {inner: masks[name] for inner, name in outer.items() if name in masks}, known)
            for value, result in zip(body.outputs, node.outputs, strict=True):
                if value.name in inside:
                    mask = inside[value.name]
                    masks[result.name] = replace(mask, extent=outer.get(mask.extent, mask.extent))
        elif node.op == "lt":
            places, count = (value for value in node.operands)
            array = arrays.get(places.name)
            axis = _only_axis(places.shape)
            is_extent = not count.shape and count.dtype is DType.I64
            if array is not None and axis is not None and is_extent and _counts_up(array):
                masks[node.output.name] = Mask(count.name, axis)
        elif node.op == "reshape" and node.operands[0].name in masks:
            axis = _only_axis(node.output.shape)
            if axis is not None:
                masks[node.output.name] = replace(masks[node.operands[0].name], axis=axis)
    return masks


def _outer(node: Node) -> dict[str, str]:
    """The names that the inputs of a fused node's body have outside."""
    return {inner.name: value.name for inner, value in zip(body_of(node.attrs).inputs, node.operands, strict=True)}


def _counts_up(array: np.ndarray) -> bool:
    return bool(np.array_equal(array.reshape(-1), np.arange(array.size)))


def _only_axis(shape: tuple[int, ...]) -> int | None:
    """The dimension, from the end, that all elements lie along."""
    axes = [axis for axis, size in enumerate(shape) if size == prod(shape) != 0]
    return axes[-1] - len(shape) if axes else None


# ---------------------------------------------------------------- needs, backwards


@record
class _Site:
    """A node and what is needed of its results."""

    node: Node
    needed: Needed
    masks: Mapping[str, Mask]
    tile: int

    def shape(self, position: int) -> tuple[int, ...]:
        value = self.node.inputs[position]
        assert value is not None
        return value.shape


Rule = Callable[[_Site], Sequence[Needed | None]]
"""What is needed of the first operands, ``None``: all of it; of further ones all."""


def _backwards(
    graph: Graph, outputs: Mapping[str, Needed], masks: Mapping[str, Mask], tile: Callable[[Node], int]
) -> dict[str, Needed]:
    found = dict(outputs)
    for node in reversed(graph.nodes):
        results = {value.name: found[value.name] for value in node.outputs if value.name in found}
        if not results:
            continue
        for name, needed in _of_operands(node, results, masks, tile):
            known = found.get(name)
            found[name] = needed if known is None else _together(known, needed)
    return found


def _of_operands(
    node: Node, results: Mapping[str, Needed], masks: Mapping[str, Mask], tile: Callable[[Node], int]
) -> list[tuple[str, Needed]]:
    if node.op == "fused":
        body, outer = body_of(node.attrs), _outer(node)
        wanted = {
            value.name: results[result.name]
            for value, result in zip(body.outputs, node.outputs, strict=True)
            if result.name in results
        }
        inside = _inside(body, outer, masks)
        windows = tile(node)
        found = _backwards(body, wanted, inside, lambda _: windows)
        return [
            (outer[value.name], tuple(_renamed(limit, outer) for limit in found[value.name]))
            for value in body.inputs
            if value.name in found
        ]
    needs = list(results.values())
    given: list[Needed | None] = []
    rule = pointwise if OPS[node.op].kind is Kind.POINTWISE else RULES.get(node.op)
    if rule is not None and len({len(needed) for needed in needs}) == 1:
        together = needs[0]
        for other in needs[1:]:
            together = _together(together, other)
        given = list(rule(_Site(node, together, masks, tile(node))))
    given += [None] * (len(node.inputs) - len(given))
    return [
        (value.name, needed or (None,) * len(value.shape))
        for value, needed in zip(node.inputs, given, strict=False)
        if value is not None
    ]


def _inside(body: Graph, outer: Mapping[str, str], masks: Mapping[str, Mask]) -> dict[str, Mask]:
    """The masks among the values of a fused node's body, with the names that extents have outside."""
    given = {inner: masks[name] for inner, name in outer.items() if name in masks}
    return _masks(body, given, {})


def _renamed(limit: Limit | None, outer: Mapping[str, str]) -> Limit | None:
    return None if limit is None else replace(limit, extent=outer.get(limit.extent, limit.extent))


def pointwise(site: _Site) -> Sequence[Needed | None]:
    """Every operand as the result, but for dimensions that are broadcast; of what a mask chooses what it lets pass."""
    rank = len(site.needed)
    passed: dict[int, Limit] = {}
    operands = [None if value is None else value for value in site.node.inputs]
    if site.node.op in ("where", "and"):
        for value in operands:
            if value is not None and value.name in site.masks:
                mask = site.masks[value.name]
                passed[mask.axis] = Limit(mask.extent)
    found: list[Needed | None] = []
    for position, value in enumerate(operands):
        if value is None or position in OPS[site.node.op].tables:
            found.append(None)
            continue
        chosen = passed if site.node.op == "and" or position == 1 else {}
        if value.name in site.masks:
            chosen = {}
        limits: list[Limit | None] = []
        for axis, size in enumerate(value.shape):
            limit = site.needed[axis + rank - len(value.shape)]
            limits.append(None if size == 1 else limit or chosen.get(axis - len(value.shape)))
        found.append(tuple(limits))
    return found


def _reshape(site: _Site) -> Sequence[Needed | None]:
    x, y = site.shape(0), site.node.output.shape
    found: list[Limit | None] = [None] * len(x)
    for axis, limit in ((axis, limit) for axis, limit in enumerate(site.needed) if limit is not None):
        stride = prod(y[axis + 1 :])
        for dim, size in enumerate(x):
            inner = prod(x[dim + 1 :])
            if (inner, size) == (stride, y[axis]) and size != 1:
                found[dim] = limit
            elif prod(y[:axis]) == prod(x[:dim]) == 1 and size != 1:
                found[dim] = limit.moved(stride, 0).quotient(inner)
    return [tuple(found)]


def _transpose(site: _Site) -> Sequence[Needed | None]:
    perm = ints(site.node.attrs, "perm")
    return [tuple(site.needed[perm.index(axis)] for axis in range(len(perm)))]


def _expand(site: _Site) -> Sequence[Needed | None]:
    x, shift = site.shape(0), len(site.needed) - len(site.shape(0))
    return [tuple(None if size == 1 else site.needed[axis + shift] for axis, size in enumerate(x))]


def _slice(site: _Site) -> Sequence[Needed | None]:
    starts, steps = ints(site.node.attrs, "starts"), ints(site.node.attrs, "steps")
    return [
        tuple(
            None if limit is None or step <= 0 else limit.moved(step, start - step + 1)
            for limit, start, step in zip(site.needed, starts, steps, strict=True)
        )
    ]


def _concat(site: _Site) -> Sequence[Needed | None]:
    axis, start, found = integer(site.node.attrs, "axis"), 0, list[Needed | None]()
    for position in range(len(site.node.inputs)):
        limits = list(site.needed)
        limit = limits[axis]
        limits[axis] = None if limit is None else limit.moved(1, -start)
        found.append(tuple(limits))
        start += site.shape(position)[axis]
    return found


def _pad(site: _Site) -> Sequence[Needed | None]:
    if text(site.node.attrs, "mode") != "constant":
        return [None]
    before = ints(site.node.attrs, "before")
    return [tuple(None if limit is None else limit.moved(1, -n) for limit, n in zip(site.needed, before, strict=True))]


def _gather(site: _Site) -> Sequence[Needed | None]:
    axis, rank = integer(site.node.attrs, "axis"), len(site.shape(1))
    return [(*site.needed[:axis], None, *site.needed[axis + rank :]), site.needed[axis : axis + rank]]


def _matmul(site: _Site) -> Sequence[Needed | None]:
    """Rows of the first operand, columns of the second, matrices of both."""
    found: list[Needed | None] = []
    for position in (0, 1):
        shape = site.shape(position)
        if len(shape) < 2 or len(site.needed) < 2:
            return []
        shift = len(site.needed) - len(shape)
        outer = [None if size == 1 else site.needed[axis + shift] for axis, size in enumerate(shape[:-2])]
        found.append((*outer, site.needed[-2], None) if position == 0 else (*outer, None, site.needed[-1]))
    return found


def _windows(site: _Site) -> Sequence[Needed | None]:
    """Convolutions and pools: images of the batch, and of each what the windows reach."""
    attrs, x = site.node.attrs, site.shape(0)
    layout, stride, pad, dilation = attrs["layout"], *(ints(attrs, name) for name in ("stride", "pad", "dilation"))
    kernel = ints(attrs, "kernel") if site.node.op == "pool" else split_layout(site.shape(1), layout)[2]
    first = 1 if layout == "channels_last" else 2
    limits: list[Limit | None] = [None] * len(x)
    limits[0] = site.needed[0]
    for dim in range(len(kernel)):
        limit = site.needed[first + dim]
        if limit is not None:
            reach = (kernel[dim] - 1) * dilation[dim] + 1
            limits[first + dim] = limit.moved(stride[dim], reach - stride[dim] - pad[dim] + site.tile - 1)
    if site.node.op == "pool":
        channels = len(x) - 1 if layout == "channels_last" else 1
        limits[channels] = site.needed[channels]
    return [tuple(limits)]


def _images(site: _Site) -> Sequence[Needed | None]:
    """Operators that treat the indices of the first dimension alike."""
    return [(site.needed[0], *[None] * (len(site.shape(0)) - 1))]


def _rows(inner: int) -> Rule:
    """Operators that work along the last ``inner`` dimensions alone."""

    def rule(site: _Site) -> Sequence[Needed | None]:
        outer = len(site.shape(0)) - inner
        return [(*site.needed[:outer], *[None] * inner)]

    return rule


def _along(name: str) -> Rule:
    """Operators that work along the dimensions of an attribute, and keep the shape."""

    def rule(site: _Site) -> Sequence[Needed | None]:
        given = site.node.attrs[name]
        axes = (given,) if isinstance(given, int) else ints(site.node.attrs, name)
        return [tuple(None if axis in axes else limit for axis, limit in enumerate(site.needed))]

    return rule


def _cumulative(site: _Site) -> Sequence[Needed | None]:
    return _along("axis")(site) if flag(site.node.attrs, "reverse") else [site.needed]


def _reduce(site: _Site) -> Sequence[Needed | None]:
    attrs = site.node.attrs
    axes = ints(attrs, "axes") if site.node.op == "reduce" else (integer(attrs, "axis"),)
    keep, rest, limits = flag(attrs, "keepdims"), iter(site.needed), list[Limit | None]()
    for axis in range(len(site.shape(0))):
        if axis in axes:
            if keep:
                next(rest)
            limits.append(None)
        else:
            limits.append(next(rest))
    return [tuple(limits)]


def _recurrent(site: _Site) -> Sequence[Needed | None]:
    """Sequences of the batch, and of each the steps of which results are needed: where time has an extent, sequences
    end there, so that no direction begins behind it."""
    if len(site.needed) == 3:
        return [(None, site.needed[1], None)]
    time = site.needed[0]
    return [(None if time is None else replace(time, offset=max(time.offset, 0)), site.needed[2], None)]


def _pack(site: _Site) -> Sequence[Needed | None]:
    """What is within the extents."""
    limits: list[Limit | None] = [None] * len(site.shape(0))
    for axis, count in zip(ints(site.node.attrs, "axes"), site.node.operands[1:], strict=True):
        limits[axis] = Limit(count.name)
    return [tuple(limits)]


RULES: Mapping[str, Rule] = {
    "reshape": _reshape, "transpose": _transpose, "expand": _expand, "slice": _slice, "concat": _concat, "pad": _pad,
    "gather": _gather, "matmul": _matmul, "weight_matmul": _rows(1), "conv": _windows, "pool": _windows,
    "trees": _images, "square_distance": _images,
    "conv_transpose": _images, "col2im": _images, "fft": _images, "reduce": _reduce, "arg_reduce": _reduce,
    "softmax": _along("axis"), "log_softmax": _along("axis"), "int_softmax": _along("axis"),
    "normalize": _along("axes"), "rms_normalize": _along("axes"), "int_normalize": _along("axes"),
    "interpolate": _along("axes"), "top_k": _along("axis"), "pack": _pack,
    "cumsum": _cumulative, "cumprod": _cumulative,
    "lstm": _recurrent, "gru": _recurrent, "rnn": _recurrent,
}  # fmt: skip
"""By operator; pointwise ones have one rule for all."""
