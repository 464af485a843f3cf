"""Sequences whose length a run tells: their tensors lie along the first axis of one, and its extent is the length.

A loop makes such a list: what each pass appends is a row of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext
from .counted_movement import reshape_counted
from .counts import Polynomial
from .places import within
from .scope import AnyList, GrowingList, Operand, Results, StackedList, TensorList

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


# ---------------------------------------------------------------- bodies


def growing(graph: onnx.GraphProto, position: int) -> bool:
    """Whether the body of a loop gives back the list that is its carried value ``position`` with more at its end."""
    place = position + 1
    if place >= len(graph.output) or place + 1 >= len(graph.input):
        return False
    name, formal = graph.output[place].name, graph.input[place + 1].name
    return name != formal and _reaches(graph, name, formal)


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
