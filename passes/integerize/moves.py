"""Views of values that follow from integers: the integers are moved, and the form with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import TensorType
from ...ops.attributes import ints
from ...ops.opdef import Kind
from ...ops.table import OPS, infer_types
from .forms import Blocked, Form, Stacked, State, Stored, Tabled
from .tables import as_table

EMPTY: Mapping[str, AttrValue] = MappingProxyType({})
PURE = ("reshape", "transpose", "expand", "slice", "gather")
"""Views that show elements of their first operand and nothing else."""


def is_view(node: Node) -> bool:
    return OPS[node.op].kind is Kind.VIEW or node.op in PURE


def move(state: State, node: Node) -> None:
    """Notes the form of a view's output, if all its operands follow from integers in the same way."""
    forms = [state.form(value) for value in (node.operands if node.op == "concat" else node.operands[:1])]
    first = forms[0]
    if (stacked := _stacked(state, node, forms)) is not None:
        moved: Form | None = stacked
    elif isinstance(first, Blocked):
        moved = _transposed_blocks(state, node, first)
    elif isinstance(first, Stored) and first.axis is not None:
        moved = _along_axis(state, node, first)
    elif node.op in PURE:
        moved = _moved(state, node, first)
    elif node.op == "pad":
        moved = _padded(state, node, first)
    else:
        moved = _joined(state, node, forms)
    if moved is not None:
        state.forms[node.output.name] = moved


def emit_view(
    state: State,
    node: Node,
    operands: Sequence[Value],
    name: str,
    attrs: Mapping[str, AttrValue] = EMPTY,
    type_: TensorType | None = None,
) -> Value:
    """The view of integers, with some attributes changed: a constant where they are constant. The same view of the same
    integers is made once."""
    changed = {**node.attrs, **attrs}
    key = (node.op, tuple(value.name for value in operands), repr(sorted(changed.items())))
    if key not in state.views:
        arrays = [state.rewriter.array(value) for value in operands]
        if any(array is None for array in arrays):
            (state.views[key],) = state.rewriter.emit(node.op, operands, changed, loc=node.loc, names=[name])
        else:
            (result,) = OPS[node.op].evaluate(arrays, changed)
            type_ = type_ or infer_types(node.op, operands, changed, node.loc)[0]
            state.views[key] = state.rewriter.constant(result, name, type_)
    return state.views[key]


def _name(node: Node) -> str:
    return f"{node.output.name}.stored"


def _moved(state: State, node: Node, form: Form | None) -> Form | None:
    table = as_table(form)
    if isinstance(form, Stored):
        value = emit_view(state, node, [form.value, *node.operands[1:]], _name(node))
        _move_origin(state, node, form.value, value)
        return replace(form, value=value)
    if table is None or not table.single or len(table.sources) != 1:
        return None
    (source,) = table.sources
    value = emit_view(state, node, [source.value, *node.operands[1:]], _name(node))
    return replace(table, sources=(replace(source, value=value),))


def _move_origin(state: State, node: Node, before: Value, after: Value) -> None:
    """What was looked up in a tensor, and then moved, could have been looked up in the moved tensor."""
    origin = state.origins.get(before.name)
    if origin is not None:
        root = emit_view(state, node, [origin.source.value, *node.operands[1:]], f"{after.name}.origin")
        state.origins[after.name] = replace(origin, source=replace(origin.source, value=root))


def _along_axis(state: State, node: Node, form: Stored) -> Form | None:
    """Constants with parameters along an axis: where the axis goes."""
    axis, shape = form.axis, form.value.shape
    assert axis is not None
    if node.op == "transpose":
        to = ints(node.attrs, "perm").index(axis)
    elif node.op == "reshape":
        target = node.output.shape
        places = [d for d in range(len(target)) if prod(target[:d]) == prod(shape[:axis]) and target[d] == shape[axis]]
        if not places:
            return None
        to = places[0]
    else:
        return None
    quant = replace(form.quant, axis=to)
    type_ = TensorType(form.value.dtype, node.output.shape, quant)
    return replace(form, value=emit_view(state, node, [form.value], _name(node), type_=type_), axis=to)


def _transposed_blocks(state: State, node: Node, form: Blocked) -> Form | None:
    if node.op != "transpose":
        return None
    perm = ints(node.attrs, "perm")
    zero_point = None if form.zero_point is None else form.zero_point.transpose(perm)
    value = emit_view(state, node, [form.value], _name(node))
    return Blocked(value, form.scale.transpose(perm), zero_point, perm.index(form.axis), form.block)


def _padded(state: State, node: Node, form: Form | None) -> Form | None:
    """Padding with a constant needs an integer that stands for it."""
    table = as_table(form)
    if table is None or not table.single or len(table.sources) != 1:
        return None
    (source,) = table.sources
    code: int | float = 0.0
    if node.attrs["mode"] == "constant":
        value = node.attrs["value"]
        places = np.flatnonzero(table.table.reshape(-1) == value)
        if not places.size:
            state.keep_float(node, f"no integer stands for the padding {value}")
            return None
        code = int(places[0]) + source.least
    moved = replace(source, value=emit_view(state, node, [source.value], _name(node), {"value": code}))
    return moved if isinstance(form, Stored) else replace(table, sources=(moved,))


def _joined(state: State, node: Node, forms: Sequence[Form | None]) -> Form | None:
    """A concatenation of integers that all stand for their numbers in the same way."""
    tables = [as_table(form) for form in forms]
    first = tables[0]
    if first is None or not first.single or len(first.sources) != 1:
        return None
    sources = []
    for table in tables:
        same = table is not None and table.single and len(table.sources) == 1
        if table is None or not same or not _alike(table, first):
            return None
        sources.append(table.sources[0])
    value = emit_view(state, node, [source.value for source in sources], _name(node))
    moved = replace(sources[0], value=value)
    return moved if all(isinstance(form, Stored) for form in forms) else replace(first, sources=(moved,))


def _stacked(state: State, node: Node, forms: Sequence[Form | None]) -> Stacked | None:
    """Constants whose parameters are along other axes than the one along which they are joined, the first; or a matrix
    with parameters for its rows, which are divided among several."""
    if node.op == "reshape" and isinstance(forms[0], Stored):
        return _divided(state, node, forms[0])
    if node.op != "concat":
        return None
    parts = tuple(form for form in forms if isinstance(form, Stored))
    constant = len(parts) == len(forms) and all(state.rewriter.is_constant(part.value) for part in parts)
    apart = constant and node.attrs["axis"] == 0 and any(part.axis is not None for part in parts)
    return Stacked(parts) if apart and all(part.axis != 0 for part in parts) else None


def _divided(state: State, node: Node, form: Stored) -> Stacked | None:
    array, shape = state.rewriter.array(form.value), node.output.shape
    if array is None or form.axis != 0 or len(shape) != 3 or array.shape != (shape[0] * shape[1], shape[2]):
        return None
    scales, zeros = (np.split(each, shape[0]) for each in (form.scale, form.zero_point))
    values = (state.rewriter.constant(part[np.newaxis], form.value.name) for part in np.split(array, shape[0]))
    return Stacked(tuple(Stored(value, scale, zero, 1) for value, scale, zero in zip(values, scales, zeros)))


def _alike(table: Tabled, other: Tabled) -> bool:
    """Whether the same integers mean the same numbers."""
    same_type = table.sources[0].value.dtype is other.sources[0].value.dtype
    return same_type and table.table.shape == other.table.shape and bool(np.array_equal(table.table, other.table))
