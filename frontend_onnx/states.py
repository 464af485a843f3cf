"""Inputs and outputs that become states."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.extents import axes_of
from ..ir.graph import AttrValue, Graph, NameSupply, Node, Value
from ..ir.states import State, can_be_state
from ..ir.types import TensorType
from ..ops.opdef import Kind
from ..ops.table import OPS
from .dims import Dims, Range, named_dimensions

_MOVES = frozenset({"gather", "scatter", "where"})
"""What moves elements beside views."""


def with_states(graph: Graph, states: Mapping[str, str]) -> Graph:
    """``graph`` with states, each an input and the output that becomes its value for the next run.

    Extents of a run leave gaps in a state, which has room for the greatest. The caller keeps the extent of the old
    value, which is an argument; that of the new one is a result.

    Raises ``BAD_OPTION`` for names that are not there, two states of one output, tensors of different types or without
    elements, and where nothing would be left that goes in or out.
    """
    inputs = {value.name: value.type for value in graph.inputs}
    outputs = {value.name: value.type for value in graph.outputs}
    arguments = {extent.value for extent in graph.extents}
    taken: dict[str, str] = {}
    for source, target in states.items():
        text = f"the state {source}={target}"
        old, new = _known(source, inputs, "input", text), _known(target, outputs, "output", text)
        if target in taken:
            reason = f"{text}: the output {target} is the new value of {taken[target]} already"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="a state is one input and one output of its own")
        taken[target] = source
        for name in (source, target):
            if name in arguments:
                raise CcmlError(ErrorCode.BAD_OPTION, f"{text}: {name} is the extent of others in a run, not a tensor")
        _check_types(text, source, target, old, _like(graph, source, target, old, new))
    results = [name for name in outputs if name not in taken and name not in arguments]
    if states and not results:
        reason = "all outputs of the model are states: a run would have no result"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="leave one of them an output")
    for source, target in states.items():
        graph = _with_room(graph, source, target)
    kept = tuple(State(s, target, _zero_point(graph, s)) for s, target in states.items())
    return replace(graph, states=kept)


def extents_of_states(
    model: onnx.ModelProto, dims: Dims, states: Collection[str]
) -> dict[str, dict[int, tuple[str, Range]]]:
    """The dimensions of inputs among ``states`` that have an extent in each run: its name and its range."""
    ranges = {name: extent for name, extent in dims.items() if isinstance(extent, Range)}
    return {
        value.name: {
            axis: (name, ranges[name])
            for name, axes in named_dimensions(value).items() if name in ranges for axis in axes
        }
        for value in model.graph.input if value.name in states
    }  # fmt: skip


def _like(graph: Graph, source: str, target: str, old: TensorType, new: TensorType) -> TensorType:
    """The type of a new value, with the bounds of the old one along dimensions where both have an extent of a run."""
    if len(old.shape) != len(new.shape):
        return new
    counted = [axes_of(graph.extents, name) for name in (source, target)]
    shape = [a if all(axis in each for each in counted) else b for axis, (a, b) in enumerate(zip(old.shape, new.shape))]
    return new.with_shape(tuple(shape))


def _with_room(graph: Graph, source: str, target: str) -> Graph:
    """``graph`` with a state that has room for its old and its new value, whose bounds may differ: of a cache that
    grows in each run the old value is a part, the elements before the new ones."""
    (old,) = (value for value in graph.inputs if value.name == source)
    (new,) = (value for value in graph.outputs if value.name == target)
    shape = tuple(map(max, old.type.shape, new.type.shape))
    rank, nodes, names = len(shape), list(graph.nodes), NameSupply.of(graph)
    inputs, outputs = graph.inputs, graph.outputs
    if old.type.shape != shape:
        part = Value(names.fresh(f"{source}.before"), old.type)
        nodes = [replace(node, inputs=tuple(part if v == old else v for v in node.inputs)) for node in nodes]
        attrs: dict[str, AttrValue] = {"starts": (0,) * rank, "steps": (1,) * rank, "sizes": old.type.shape}
        whole = Value(source, old.type.with_shape(shape))
        nodes.insert(0, Node("slice", (whole,), (part,), attrs, source))
        inputs = tuple(whole if value == old else value for value in inputs)
    if new.type.shape != shape:
        part = Value(names.fresh(f"{target}.part"), new.type)
        nodes = [
            replace(
                node, inputs=tuple(part if v == new else v for v in node.inputs),
                outputs=tuple(part if v == new else v for v in node.outputs),
            )
            for node in nodes
        ]  # fmt: skip
        after = tuple(most - size for most, size in zip(shape, new.type.shape))
        attrs = {"before": (0,) * rank, "after": after, "mode": "constant", "value": 0}
        whole = Value(target, new.type.with_shape(shape))
        nodes.append(Node("pad", (part,), (whole,), attrs, target))
        outputs = tuple(whole if value == new else value for value in outputs)
    extents = tuple(
        replace(each, dims=tuple(d for d in each.dims if d[0] not in (source, target))) for each in graph.extents
    )
    return replace(graph, inputs=inputs, outputs=outputs, nodes=tuple(nodes), extents=extents)


def _zero_point(graph: Graph, name: str) -> int:
    """The integer that stands for zero in an input of integers: that of all dequantize nodes that read it, directly or
    behind nodes that only move elements; 0 where something else is done with it or zero points differ."""
    uses, found, pending, seen = graph.uses(), set[int](), [name], {name}
    (dtype,) = (value.dtype for value in graph.inputs if value.name == name)
    while pending:
        for node in uses.get(pending.pop(), []):
            points = node.attrs.get("zero_point")
            if node.op == "dequantize" and isinstance(points, tuple):
                found.update(int(point) for point in points)
            elif (OPS[node.op].kind is Kind.VIEW or node.op in _MOVES) and node.output.dtype is dtype:
                new = [value.name for value in node.outputs if value.name not in seen]
                pending += new
                seen.update(new)
            else:
                return 0
    return found.pop() if len(found) == 1 else 0


def _check_types(text: str, source: str, target: str, old: TensorType, new: TensorType) -> None:
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        reason = f"{text}: the input {source} is {old}, the output {target} is {new}"
        hint = "a state keeps its type and shape; --shape and --dim fix open dimensions"
        if old.dtype is new.dtype and len(old.shape) == len(new.shape):
            hint += "; a cache that grows with each run needs a range, --dim NAME=0..N (docs/state.md)"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=hint)
    if not old.size:
        raise CcmlError(ErrorCode.BAD_OPTION, f"{text}: {old} has no elements, so there is nothing to keep")
    if not can_be_state(old):
        raise CcmlError(ErrorCode.BAD_OPTION, f"{text}: it is quantized with several zero points")


def _known(name: str, sides: Mapping[str, TensorType], kind: str, text: str) -> TensorType:
    if name in sides:
        return sides[name]
    close = difflib.get_close_matches(name, sides, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"the {kind}s are {_listed(sides)}"
    raise CcmlError(ErrorCode.BAD_OPTION, f"{text}: the model has no {kind} {name}", hint=hint)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
