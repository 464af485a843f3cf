"""Inputs and outputs that become states."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..ir.states import State, can_be_state
from ..ir.types import TensorType
from ..ops.opdef import Kind
from ..ops.table import OPS

_MOVES = frozenset({"gather", "scatter", "where"})
"""What moves elements beside views."""


def with_states(graph: Graph, states: Mapping[str, str]) -> Graph:
    """``graph`` with states, each an input and the output that becomes its value for the next run.

    Raises ``BAD_OPTION`` for names that are not there, two states of one output, tensors of different types, without
    elements or with an extent that only a run knows, and where nothing would be left that goes in or out.
    """
    inputs = {value.name: value.type for value in graph.inputs}
    outputs = {value.name: value.type for value in graph.outputs}
    ranged = {name: extent.value for extent in graph.extents for name, _ in extent.dims}
    taken: dict[str, str] = {}
    for source, target in states.items():
        text = f"the state {source}={target}"
        old, new = _known(source, inputs, "input", text), _known(target, outputs, "output", text)
        if target in taken:
            reason = f"{text}: the output {target} is the new value of {taken[target]} already"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="a state is one input and one output of its own")
        taken[target] = source
        for name in (source, target):
            if name in ranged:
                reason = f"{text}: {name} has an extent that each run has anew ({ranged[name]})"
                raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=f"--dim {ranged[name]}=N fixes it")
        _check_types(text, source, target, old, new)
    if states and len(states) == len(outputs):
        reason = "all outputs of the model are states: a run would have no result"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="leave one of them an output")
    return replace(graph, states=tuple(State(s, target, _zero_point(graph, s)) for s, target in states.items()))


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
            hint += "; a cache that grows with each run needs a model that keeps its size (docs/state.md)"
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
