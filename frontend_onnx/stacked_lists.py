"""Sequences whose length a run tells: their tensors lie along the first axis of one, and its extent is the length.

A loop makes such a list: what each pass appends is a row of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx

from ..ir.graph import Value
from ..ir.types import DType, TensorType
from .context import NodeContext
from .counted_movement import ONE, ZERO, reshape_counted
from .places import within
from .polynomials import Polynomial
from .scope import AnyList, Bound, GrowingList, Operand, Results, StackedList, TensorList

MAX_TENSORS = 4096
"""Of a sequence."""


# ---------------------------------------------------------------- rules


def _stack(operands: Sequence[Operand | None]) -> StackedList:
    assert isinstance(operands[0], StackedList)
    return operands[0]


def length(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """As the extent of a shape is told."""
    rows, builder = _stack(operands).rows, ctx.builder
    number = ctx.extent_along(rows, 0)
    if builder.counts.is_static(number):
        y = ctx.constant(np.asarray(rows.shape[0], np.int64))
    else:
        y = replace(ctx, over_bounds=True).emit("reshape", builder.counts.value(number, ctx.loc), shape=())
    builder.numbers.note(y, [number])
    return [y]


def at(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """One row; positions out of range, which ONNX forbids, are kept within the list."""
    rows, position = _stack(operands).rows, ctx.input(1)
    if position.type.size != 1 or position.dtype not in (DType.I32, DType.I64):
        raise ctx.invalid(f"the position is {position.type}, not one integer")
    if not rows.shape[0]:
        raise ctx.invalid("an element of an empty sequence")
    extents, whole = ctx.builder.extents_of(rows, ctx.loc), replace(ctx, over_bounds=True)
    count = ctx.builder.counts.value(ctx.extent_along(rows, 0), ctx.loc)
    row = whole.emit("gather", rows, within(whole, whole.reshape(position, ()), rows.shape[0], count), axis=0)
    return [ctx.with_extents(row, {axis - 1: each for axis, each in extents.items() if axis})]


def insert(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """Behind the last one."""
    return [StackedList(joined(ctx, [_stack(operands).rows, as_row(ctx, ctx.input(1))]))]


def erase(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """Without one row, the last one where no position says which."""
    rows, counts, loc = _stack(operands).rows, ctx.builder.counts, ctx.loc
    place = ctx.optional(1) or ctx.constant(np.asarray(-1, np.int64))
    if place.type.size != 1 or place.dtype not in (DType.I32, DType.I64):
        raise ctx.invalid(f"the position is {place.type}, not one integer")
    if not rows.shape[0]:
        raise ctx.invalid("an element of an empty sequence")
    extents, count, whole = ctx.builder.extents_of(rows, loc), ctx.extent_along(rows, 0), replace(ctx, over_bounds=True)
    place = within(whole, whole.reshape(place, ()), rows.shape[0], counts.value(count, loc))
    numbers = whole.constant(np.arange(rows.shape[0] - 1, dtype=np.int32))
    behind = whole.cast(whole.emit("ge", numbers, place), DType.I32)
    left = whole.emit("gather", rows, whole.emit("add", numbers, behind), axis=0)
    rest = counts.greatest_of(count - ONE, ZERO, loc)
    found = {axis: each for axis, each in extents.items() if axis}
    if rest.number is None:
        found[0] = counts.value(rest, loc)
    return [StackedList(ctx.with_extents(left, found))]


def concatenated(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """The axis of the rows goes to the place of a new one, or in front of the one that it becomes one with."""
    rows, new = _stack(operands).rows, ctx.integer("new_axis", 0)
    axis = ctx.axis(ctx.integer("axis"), len(rows.shape) - 1 + new)
    perm = (*range(1, axis + 1), 0, *range(axis + 1, len(rows.shape)))
    y = rows if axis == 0 else ctx.emit("transpose", rows, perm=perm)
    return [y if new else merged(ctx, y, axis)]


def identity(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    return [operand for operand in operands if operand is not None]


def append(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """In the body of a loop, behind what it was given."""
    assert isinstance(operands[0], GrowingList)
    return [replace(operands[0], rows=(*operands[0].rows, as_row(ctx, ctx.input(1))))]


_Rules = Mapping[str, Callable[[NodeContext, Sequence[Operand | None]], Results]]

STACKED: _Rules = {
    "ConcatFromSequence": concatenated,
    "Identity": identity,
    "SequenceAt": at,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
}
"""The rules of operators whose first operand is a :class:`StackedList`."""

GROWING: _Rules = {"Identity": identity, "SequenceInsert": append}
"""The rules of operators whose first operand is a :class:`GrowingList`."""


# ---------------------------------------------------------------- rows


def as_row(ctx: NodeContext, x: Value) -> Value:
    return ctx.emit("reshape", x, shape=(1, *x.shape))


def joined(ctx: NodeContext, parts: Sequence[Value], axis: int = 0) -> Value:
    """Rows of one type, those of each part behind those before."""
    types = {(part.dtype, part.shape[:axis], part.shape[axis + 1 :]) for part in parts}
    if len(types) > 1:
        shown = ", ".join(dict.fromkeys(str(part.type) for part in parts))
        raise ctx.unsupported(f"a sequence whose length a run tells, of tensors of several types: {shown}")
    full = [part for part in parts if part.shape[axis]] or parts[:1]
    return full[0] if len(full) == 1 else ctx.emit("concat", *full, axis=axis)


def merged(ctx: NodeContext, x: Value, axis: int) -> Value:
    """``x`` with one dimension in the place of two, the first of which is ``axis``."""
    first, second = (ctx.extent_along(x, each) for each in (axis, axis + 1))
    shape = (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])
    if not ctx.builder.extents_of(x, ctx.loc):
        return ctx.emit("reshape", x, shape=shape)
    wanted: list[Polynomial | None] = [ctx.extent_along(x, each) for each in range(len(x.shape)) if each != axis + 1]
    wanted[axis] = first * second
    y = reshape_counted(replace(ctx, inputs=(x,)), x, wanted)
    if y is None:
        raise ctx.unsupported("tensors one behind the other whose extents only a run knows")
    return y


def lengthened(ctx: NodeContext, given: AnyList, appended: Sequence[Value]) -> AnyList:
    """What a loop makes of the list that it was ``given``; ``appended`` are the rows of its passes, each of which has
    the shape [passes, rows of one pass, ...]."""
    new = merged(ctx, joined(ctx, appended, 1), 0)
    match given:
        case GrowingList():
            return replace(given, rows=(*given.rows, new))
        case StackedList():
            return StackedList(joined(ctx, [given.rows, new]))
    return StackedList(joined(ctx, [*(as_row(ctx, value) for value in given.elements), new]))


def expanded(ctx: NodeContext, stack: StackedList) -> TensorList | None:
    """The tensors one by one; ``None`` where a run tells how many there are."""
    rows, count = stack.rows, stack.rows.shape[0]
    if 0 in ctx.builder.extents_of(rows, ctx.loc) or count > MAX_TENSORS:
        return None
    numbers = [ctx.constant(np.asarray(number)) for number in range(count)]
    return TensorList(tuple(ctx.emit("gather", rows, number, axis=0) for number in numbers), rows.dtype)


def divided(ctx: NodeContext, x: Value, axis: int, size: np.ndarray | None, dropped: bool) -> StackedList:
    """Parts of ``x`` along a dimension with an extent: of one ``size`` or of extent 1, which may be ``dropped``."""
    each = 1 if size is None else int(size.reshape(-1)[0]) if size.ndim == 0 else 0
    count = ctx.extent_along(x, axis).divided(Polynomial.constant(each)) if each > 0 else None
    if count is None:
        reason = "parts of different sizes along a dimension whose extent only a run knows"
        raise ctx.unsupported(reason, "say of what its extents are multiples, such as --dim h=32*1..7")
    before, behind = ([ctx.extent_along(x, d) for d in part] for part in (range(axis), range(axis + 1, len(x.shape))))
    inner = [] if dropped else [Polynomial.constant(each)]
    y = reshape_counted(ctx, x, [*before, count, *inner, *behind])
    if y is None:
        raise ctx.unsupported("parts along a dimension whose extent only a run knows")
    perm = (axis, *range(axis), *range(axis + 1, len(y.shape)))
    return StackedList(y if axis == 0 else ctx.emit("transpose", y, perm=perm))


# ---------------------------------------------------------------- lists of different lengths


def stacked(ctx: NodeContext, given: Bound, like: TensorType) -> Bound:
    """A list as the rows of one tensor; each is of the type ``like``."""
    if not isinstance(given, TensorList):
        return given
    if not given.elements:
        return StackedList(ctx.constant(np.zeros((0, *like.shape), like.dtype.numpy)))
    return StackedList(joined(ctx, [as_row(ctx, value) for value in given.elements]))


def common_lists(a: Sequence[Bound], b: Sequence[Bound]) -> dict[int, TensorType]:
    """Which values are lists of different lengths, by number: the type of their tensors, which is one."""
    found: dict[int, TensorType] = {}
    for n, pair in enumerate(zip(a, b)):
        lists = [each for each in pair if isinstance(each, TensorList | StackedList)]
        if len(lists) < 2 or len({len(each.elements) if isinstance(each, TensorList) else -1 for each in lists}) == 1:
            continue
        types = {type_ for each in lists for type_ in _element_types(each)}
        if len(types) == 1:
            found[n] = types.pop()
    return found


def lengths_change(old: Sequence[Bound], new: Sequence[Bound], grown: Sequence[int]) -> dict[int, TensorType]:
    """Of which carried lists but those that have ``grown`` a pass changes the length, as :func:`common_lists`."""
    found = common_lists(old, new)
    return {n: type_ for n, type_ in found.items() if n not in grown and not isinstance(old[n], StackedList)}


def lengths_vary(ctx: NodeContext, grown: Mapping[int, Bound]) -> dict[int, TensorType]:
    """To which lists a pass appends as much as it finds anew."""
    found: dict[int, TensorType] = {}
    for n, each in grown.items():
        for row in each.rows if isinstance(each, GrowingList) else ():
            if ctx.builder.counts.depth(ctx.extent_along(row, 0)) >= ctx.builder.depth_of_nodes:
                found[n] = TensorType(row.dtype, row.shape[1:])
    return found


def _element_types(given: TensorList | StackedList) -> list[TensorType]:
    if isinstance(given, StackedList):
        return [TensorType(given.rows.dtype, given.rows.shape[1:])]
    return [TensorType(value.dtype, value.shape) for value in given.elements]


# ---------------------------------------------------------------- bodies


def growing(graph: onnx.GraphProto, position: int) -> bool:
    """Whether the body of a loop gives back the list that is its carried value ``position`` with more at its end."""
    place = position + 1
    if place >= len(graph.output) or place + 1 >= len(graph.input):
        return False
    name, formal = graph.output[place].name, graph.input[place + 1].name
    return name != formal and _reaches(graph, name, formal)


def looked_into(graph: onnx.GraphProto, position: int) -> bool:
    """Whether the body of a loop reads the list that is its carried value ``position``, or what it appends to it, but
    to append."""
    chain = {graph.input[position + 2].name}
    for node in graph.node:
        if node.op_type in ("Identity", "SequenceInsert", "Loop") and chain.intersection(node.input):
            chain.update(node.output[list(node.input).index(name) - (2 if node.op_type == "Loop" else 0)]
                         for name in chain.intersection(node.input))  # fmt: skip
    return any(_reads(node, chain) for node in graph.node)


def _reads(node: onnx.NodeProto, names: set[str]) -> bool:
    """Whether a node reads one of these lists otherwise than to append to it."""
    bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    if any(names.intersection(inner.input) or _reads(inner, names) for body in bodies for inner in body.node):
        return True
    if node.op_type == "Loop":
        places = [place - 2 for place, name in enumerate(node.input) if name in names]
        return any(place < 0 or looked_into(bodies[0], place) for place in places)
    return bool(names.intersection(node.input)) and node.op_type not in ("Identity", "SequenceInsert")


def _reaches(graph: onnx.GraphProto, name: str, formal: str) -> bool:
    """Whether a list is ``formal``, or that with more at its end."""
    makers = {output: node for node in graph.node for output in node.output}
    while name != formal:
        node = makers.get(name)
        if node is None:
            return False
        if node.op_type == "Loop":
            position = list(node.output).index(name)
            body = next(attribute.g for attribute in node.attribute if attribute.name == "body")
            if position + 2 >= len(node.input) or not growing(body, position):
                return False
            name = node.input[position + 2]
        elif node.op_type == "Identity" or (node.op_type == "SequenceInsert" and len(node.input) == 2):
            name = node.input[0]
        else:
            return False
    return True
