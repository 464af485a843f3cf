"""Rules of sequences and optionals: lists of values that the importer keeps, of which nothing reaches the graph.

A sequence has as many tensors as is known while compiling. A position in it may be computed at run time where its
tensors have one type: they are stacked, and gathered by computed numbers. Positions out of range, which ONNX forbids,
are kept within the sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext
from .ops_movement import sliced
from .scope import GrowingList, Missing, Operand, Results, StackedList, TensorList
from .stacked_lists import GROWING, MAX_TENSORS, STACKED, divided, expanded
from .tensors import dtype_of

SequenceRule = Callable[[NodeContext, Sequence[Operand | None]], Results]
"""The results of a node for its operands; those that are tensors are inputs of the context as well."""

# ---------------------------------------------------------------- operands


def _list(ctx: NodeContext, operands: Sequence[Operand | None], position: int = 0) -> TensorList:
    operand = operands[position] if position < len(operands) else None
    if not isinstance(operand, TensorList):
        raise ctx.invalid(f"operand {position} of {ctx.op_type} is no sequence")
    return operand


def _of(ctx: NodeContext, elements: Sequence[Value], dtype: DType | None = None) -> TensorList:
    """A sequence; all of its tensors have one element type."""
    types = {value.dtype for value in elements} | ({dtype} if dtype is not None else set())
    if len(types) > 1:
        names = ", ".join(sorted(each.value for each in types))
        raise ctx.invalid(f"{ctx.op_type}: a sequence of tensors of {names}")
    if len(elements) > MAX_TENSORS:
        raise ctx.unsupported(f"a sequence of {len(elements)} tensors; at most {MAX_TENSORS} are supported")
    return TensorList(tuple(elements), next(iter(types), None))


def _position(ctx: NodeContext, given: Value, count: int) -> int | None:
    """A constant position from the start, of ``count`` ones; ``None`` where it is computed at run time."""
    if given.type.size != 1 or given.dtype not in (DType.I32, DType.I64):
        raise ctx.invalid(f"the position is {given.type}, not one integer")
    known = ctx.known(given)
    if known is None:
        return None
    position = int(known.reshape(-1)[0])
    if not -count <= position < count:
        raise ctx.invalid(f"position {position} is outside of {count} ones")
    return position % count


def _computed(ctx: NodeContext, given: Value, count: int) -> Value:
    """A position computed at run time, from the start and kept within ``count`` ones, as i32 of rank 0."""
    within = ctx.cast(ctx.emit("clip", ctx.reshape(given, ()), lo=-count, hi=count - 1), DType.I32)
    below = ctx.emit("lt", within, ctx.scalar(0, within))
    return ctx.emit("where", below, ctx.emit("add", within, ctx.scalar(count, within)), within)


def _stacked(ctx: NodeContext, values: Sequence[Value], position: Value) -> Value:
    """Tensors of one type along a new first axis."""
    if len({value.type for value in values}) > 1:
        shown = ", ".join(dict.fromkeys(str(value.type) for value in values))
        raise ctx.unsupported(
            f"the position {position.name} is computed at run time, in a sequence of tensors of several types: {shown}",
            hint="make the position a constant, or the tensors of one shape", deciding=[position.name],
        )  # fmt: skip
    rows = [ctx.reshape(value, (1, *value.shape)) for value in values]
    return rows[0] if len(rows) == 1 else ctx.emit("concat", *rows, axis=0)


def _rearranged(ctx: NodeContext, rows: Value, numbers: Sequence[Value]) -> list[Value]:
    return [ctx.emit("gather", rows, number, axis=0) for number in numbers]


# ---------------------------------------------------------------- sequences


def construct(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    return [_of(ctx, ctx.operands())]


def empty(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    return [TensorList((), dtype_of(ctx.integer("dtype", 1), ctx.loc))]


def length(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    return [ctx.constant(np.asarray(len(_list(ctx, operands).elements), np.int64))]


def at(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    elements, given = _list(ctx, operands).elements, ctx.input(1)
    if not elements:
        raise ctx.invalid("an element of an empty sequence")
    position = _position(ctx, given, len(elements))
    if position is not None:
        return [elements[position]]
    if len(elements) == 1:
        return [elements[0]]
    return _rearranged(ctx, _stacked(ctx, elements, given), [_computed(ctx, given, len(elements))])


def insert(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """In front of the tensor at the position; -1 is in front of the last, and behind all where there is none."""
    given, tensor, place = _list(ctx, operands), ctx.input(1), ctx.optional(2)
    old, count = list(given.elements), len(given.elements)
    if place is None:
        return [_of(ctx, [*old, tensor], given.dtype)]
    constant = ctx.known(place)
    if constant is not None and constant.size == 1 and int(constant.reshape(-1)[0]) == count:
        return [_of(ctx, [*old, tensor], given.dtype)]
    position = _position(ctx, place, max(count, 1))
    if position is not None or not count:
        return [_of(ctx, [*old[:position], tensor, *old[position:]], given.dtype)]
    rows = _stacked(ctx, _of(ctx, [*old, tensor], given.dtype).elements, place)
    at_end = ctx.emit("ge", ctx.reshape(place, ()), ctx.scalar(count, place))
    before = _computed(ctx, place, count)
    before = ctx.emit("where", at_end, ctx.scalar(count, before), before)
    numbers = []
    for k in range(count + 1):
        behind = ctx.emit("where", ctx.emit("eq", before, ctx.scalar(k, before)), ctx.scalar(count, before),
                          ctx.scalar(max(k - 1, 0), before))  # fmt: skip
        unmoved = ctx.emit("gt", before, ctx.scalar(k, before))
        numbers.append(ctx.emit("where", unmoved, ctx.scalar(min(k, count - 1), before), behind))
    return [_of(ctx, _rearranged(ctx, rows, numbers))]


def erase(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    given, place = _list(ctx, operands), ctx.optional(1)
    old, count = list(given.elements), len(given.elements)
    if not count:
        raise ctx.invalid("an element is erased of an empty sequence")
    position = count - 1 if place is None else _position(ctx, place, count)
    if position is not None or place is None or count == 1:
        return [_of(ctx, [value for n, value in enumerate(old) if n != (position or 0)], given.dtype)]
    rows, erased = _stacked(ctx, old, place), _computed(ctx, place, count)
    numbers = [
        ctx.emit("where", ctx.emit("gt", erased, ctx.scalar(k, erased)), ctx.scalar(k, erased),
                 ctx.scalar(k + 1, erased))
        for k in range(count - 1)
    ]  # fmt: skip
    return [_of(ctx, _rearranged(ctx, rows, numbers))]


def concatenated(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """Along an axis that there is, or with ``new_axis`` along one that the result has besides."""
    values, new = _list(ctx, operands).elements, ctx.integer("new_axis", 0)
    if not values or new not in (0, 1):
        raise ctx.invalid(f"{len(values)} tensors are concatenated, with new_axis {new}")
    rank = len(values[0].shape)
    axis = ctx.axis(ctx.integer("axis"), rank + new)
    if any(len(value.shape) != rank for value in values):
        raise ctx.invalid(f"{', '.join(str(value.type) for value in values)} are concatenated")
    if new:
        values = tuple(ctx.reshape(value, (*value.shape[:axis], 1, *value.shape[axis:])) for value in values)
    full = tuple(value for value in values if value.type.size) or values
    return [full[0] if len(full) == 1 else ctx.emit("concat", *full, axis=axis)]


def split(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """Into parts of the sizes that are given; of one size, where that is a number, the last one smaller; or each of
    extent 1, along an axis that is left out where ``keepdims`` is 0. ONNX says that the latter does not matter where
    sizes are given; where that is 1, ONNX Runtime and those who export ``unbind`` mean it."""
    x, given = ctx.input(0), ctx.optional(1)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    number = None if given is None else ctx.static(1, "split")
    dropped = not ctx.integer("keepdims", 1) and (number is None or (number.ndim == 0 and number == 1))
    if axis in ctx.extents(x):
        return [divided(ctx, x, axis, number, dropped)]
    extent = x.shape[axis]
    sizes = [1] * extent if given is None else _sizes(ctx, given, extent)
    if len(sizes) > MAX_TENSORS:
        raise ctx.unsupported(f"a sequence of {len(sizes)} tensors; at most {MAX_TENSORS} are supported")
    elements, start = [], 0
    for size in sizes:
        ranges = [range(e) for e in x.shape]
        ranges[axis] = range(start, start + size)
        element = sliced(ctx, x, ranges)
        elements.append(ctx.reshape(element, (*x.shape[:axis], *x.shape[axis + 1 :])) if dropped else element)
        start += size
    return [_of(ctx, elements, x.dtype)]


def _sizes(ctx: NodeContext, given: Value, extent: int) -> list[int]:
    array = ctx.static(1, "split")
    if array.ndim > 1 or array.dtype.kind not in "iu":
        raise ctx.invalid(f"split is {given.type}, neither a number nor a list")
    sizes = [int(size) for size in array.reshape(-1)]
    if array.ndim == 0 and sizes[0] > 0:
        each = sizes[0]
        sizes = [each] * min(extent // each, MAX_TENSORS + 1) + ([extent % each] if extent % each else [])
    if any(size < 0 for size in sizes) or (array.ndim and sum(sizes) != extent) or (not array.ndim and 0 in sizes):
        raise ctx.invalid(f"an extent of {extent} does not split into {sizes}")
    return sizes


# ---------------------------------------------------------------- optionals


def optional(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    """What the operand is, or nothing."""
    return [Missing.ABSENT if not operands or operands[0] is None else operands[0]]


def get_element(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    if not operands or operands[0] is None:
        raise ctx.invalid("the element of an optional that is empty")
    return [operands[0]]


def has_element(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    return [ctx.constant(np.asarray(bool(operands) and operands[0] is not None))]


def identity(ctx: NodeContext, operands: Sequence[Operand | None]) -> Results:
    return [Missing.ABSENT if operands[0] is None else operands[0]]


RULES: Mapping[str, SequenceRule] = {
    "ConcatFromSequence": concatenated,
    "Identity": identity,
    "Optional": optional,
    "OptionalGetElement": get_element,
    "OptionalHasElement": has_element,
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
    "SplitToSequence": split,
}
"""The rules of operators that take or give sequences or optionals."""

PASSED = frozenset({"Identity", "Optional", "OptionalGetElement", "OptionalHasElement"})
"""Operators that look at no element, so that strings pass."""


def sequence_rule(ctx: NodeContext, name: str, operands: Sequence[Operand | None]) -> SequenceRule:
    """The rule of an operator of :data:`RULES`, by the kind of sequence that is its first operand."""
    first = operands[0] if operands else None
    if not isinstance(first, StackedList | GrowingList):
        return RULES[name]
    rule = GROWING.get(name)
    if isinstance(first, StackedList):
        rule = STACKED.get(name) if len(operands) <= 2 else None
        tensors = expanded(ctx, first) if rule is None else None
        if tensors is not None:
            return lambda ctx, operands: RULES[name](ctx, [tensors, *operands[1:]])
    if rule is None or (isinstance(first, GrowingList) and len(operands) > 2):
        growing = isinstance(first, GrowingList)
        reason = "looks into a sequence that grows in a loop" if growing else "a sequence whose length a run tells"
        hint = "make the number of passes a small constant"
        raise ctx.unsupported(reason, hint, first.deciding if isinstance(first, GrowingList) else ())
    return rule
