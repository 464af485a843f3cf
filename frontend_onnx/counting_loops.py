"""Loops that end by a number of their own: one is added to it in each pass, and they go on while it is below a limit.

``while i < n`` is exported so, and with it every loop over the elements of a tensor. It becomes a loop of n - i passes
in which the number is that of the pass, so that all that is known of passes is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from ..ir.graph import Value
from ..ir.types import DType
from ..record import record
from .invariant_values import without_carried
from .regions import flag
from .scope import Bound, Results, Site

if TYPE_CHECKING:
    from .walk import Walker

_KEPT = ("Identity", "CastLike", "Reshape", "Squeeze", "Unsqueeze")
"""Operators behind which a single number is the one that it was."""

_TO = (onnx.TensorProto.BOOL, onnx.TensorProto.INT32, onnx.TensorProto.INT64)
"""Types that keep a number, or a condition, when they are cast to."""

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
"""Types in which numbers up to :data:`_EXACT` are compared as they are, which older operator sets have instead."""

_EXACT = 2**24
"""Integers that float32 tells apart."""

_UNLIMITED = 2**31 - 1
"""A trip count that stands for none."""


@record
class _Counter:
    """The carried value of a loop that counts, and the name of its limit in the graph around; ``rounded`` where they
    are compared as floats."""

    position: int
    limit: str
    rounded: bool


def by_passes(walker: Walker, site: Site) -> tuple[Site, Callable[[Results], Results]] | None:
    """The loop with a trip count in the place of the carried number, and what puts the last of it among its results;
    ``None`` where a loop does not count, or not in integers."""
    counter = _counter(walker, site)
    if counter is None:
        return None
    limit, first = walker.read(site.scope, counter.limit, site.loc), site.inputs[2 + counter.position]
    if not isinstance(limit, Value) or first is None or limit.dtype not in (DType.I32, DType.I64):
        return None
    if first.dtype not in (DType.I32, DType.I64) or limit.type.size != 1 or first.type.size != 1:
        return None
    if counter.rounded and not (_is_exact(walker, limit) and _is_exact(walker, first)):
        return None
    ctx = walker.context(site)
    passes = ctx.emit("sub", ctx.reshape(ctx.cast(limit, DType.I64), ()), ctx.reshape(ctx.cast(first, DType.I64), ()))
    passes = ctx.emit("max", passes, ctx.scalar(1, passes))  # the first pass is decided by the first condition
    given = site.inputs[0]
    if given is not None and (flag(walker, given) is None or walker.builder.constants[given.name].item() < _UNLIMITED):
        passes = ctx.emit("min", passes, ctx.reshape(ctx.cast(given, DType.I64), ()))
    graph = site.attributes["body"].g
    formal, number = graph.input[2 + counter.position].name, graph.input[0].name
    front = _number_of_pass(formal, number, site.node.input[2 + counter.position], first.dtype)
    inner = without_carried(site, [counter.position], front)
    inner.attributes["body"].g.output[0].name = graph.input[1].name  # the condition is the one that the body is given
    inner = replace(inner, inputs=(passes, *inner.inputs[1:]))

    def completed(results: Results) -> Results:
        if len(site.node.output) <= counter.position:
            return results
        last = ctx.emit("max", passes, ctx.scalar(0, passes))
        going = site.inputs[1] if len(site.inputs) > 1 else None
        if going is not None and not flag(walker, going):
            last = ctx.emit("where", ctx.reshape(going, ()), last, ctx.scalar(0, last))
        last = ctx.emit("add", first, ctx.reshape(ctx.cast(last, first.dtype), first.shape))
        found: list[Bound] = list(results)
        return [*found[: counter.position], last, *found[counter.position :]]

    return inner, completed


def _counter(walker: Walker, site: Site) -> _Counter | None:
    graph, carried = site.attributes["body"].g, len(site.node.input) - 2
    if len(graph.input) != carried + 2 or len(graph.output) <= carried:
        return None
    made = {name: node for node in graph.node for name in node.output if name}
    inner = {*made, *(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)}
    tested = _producer(made, graph.output[0].name)
    if tested is None or tested.op_type not in ("Less", "Greater") or len(tested.input) != 2:
        return None
    compared = tested.input if tested.op_type == "Less" else tested.input[::-1]
    number, limit = (_source(made, name, _TO + _FLOATS) for name in compared)
    rounded = (number, limit) != tuple(_source(made, name) for name in compared)
    if limit in inner:
        return None
    added = _producer(made, number)
    if added is None or added.op_type != "Add":
        return None
    for position in range(carried):
        formal = graph.input[2 + position].name
        operands = [_source(made, name) for name in added.input]
        if formal not in operands or site.node.input[2 + position] in inner:
            continue
        if _producer(made, graph.output[1 + position].name) is not added:
            continue
        if _is_one(walker, site, graph, made, added.input[1 - operands.index(formal)]):
            return _Counter(position, limit, rounded)
    return None


def _is_exact(walker: Walker, value: Value) -> bool:
    """Whether a number, or all that it may be, is exact in float32."""
    stored = walker.builder.constants.get(value.name)
    known = walker.builder.counts.of(value)
    if stored is not None:
        return abs(int(stored.item())) <= _EXACT
    return known is not None and max(map(abs, walker.builder.counts.span(known))) <= _EXACT


def _source(made: Mapping[str, onnx.NodeProto], name: str, types: Sequence[int] = _TO) -> str:
    """The name of the number that a value of a body is, whatever its shape and which of ``types`` it has."""
    for _ in made:
        if name not in made or not _keeps(made[name], types):
            break
        name = made[name].input[0]
    return name


def _keeps(node: onnx.NodeProto, types: Sequence[int]) -> bool:
    to = next((attribute.i for attribute in node.attribute if attribute.name == "to"), None)
    return node.op_type in _KEPT or (node.op_type == "Cast" and to in types)


def _producer(made: Mapping[str, onnx.NodeProto], name: str) -> onnx.NodeProto | None:
    return made.get(_source(made, name))


def _is_one(
    walker: Walker, site: Site, graph: onnx.GraphProto, made: Mapping[str, onnx.NodeProto], name: str
) -> bool:
    """Whether a name of a body stands for the constant 1."""
    name = _source(made, name)
    stored: np.ndarray | None = None
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    if name in tensors:
        stored = onnx.numpy_helper.to_array(tensors[name])
    elif name in made:
        values = {attribute.name: helper.get_attribute_value(attribute) for attribute in made[name].attribute}
        if made[name].op_type == "Constant" and isinstance(values.get("value"), onnx.TensorProto):
            stored = onnx.numpy_helper.to_array(values["value"])
        elif made[name].op_type == "Constant" and "value_int" in values:
            stored = np.asarray(values["value_int"])
    elif name not in {value.name for value in graph.input}:
        value = walker.read(site.scope, name, site.loc)
        stored = walker.builder.constants.get(value.name) if isinstance(value, Value) else None
    return stored is not None and stored.size == 1 and stored.dtype.kind in "iu" and stored.item() == 1


def _number_of_pass(formal: str, number: str, first: str, dtype: DType) -> list[onnx.NodeProto]:
    """Nodes that compute a carried number, ``formal``, of the number of the pass."""
    nodes = []
    if dtype is not DType.I64:
        nodes.append(helper.make_node("Cast", [number], [f"{formal}.number"], to=onnx.TensorProto.INT32))
        number = f"{formal}.number"
    return [*nodes, helper.make_node("Add", [first, number], [formal])]
