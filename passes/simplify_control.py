"""Rules for ``if`` and ``loop``: what is constant moves into their graphs, and what is known of conditions decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.graph import AttrValue, Graph, NameSupply, Node, Value
from ..ops.attributes import integer, subgraph
from ..ops.control import BODIES, NO_LIMIT, bodies_of, plain
from .rewrite import Rewriter


def known_condition(rewriter: Rewriter, node: Node) -> Sequence[Value] | None:
    """``if(true, x...)`` is what its first graph computes of x, ``if(false, x...)`` the second."""
    condition = rewriter.array(node.inputs[0]) if node.op == "if" else None
    if condition is None:
        return None
    body = subgraph(node.attrs, "then" if condition.reshape(-1)[0] else "orelse")
    return _inlined(rewriter, node, body, node.operands[1:])


def _inlined(rewriter: Rewriter, node: Node, body: Graph, arguments: Sequence[Value]) -> list[Value]:
    stands = dict(zip((value.name for value in body.inputs), arguments, strict=True))
    for name, array in body.constants.items():
        stands[name] = rewriter.constant(array, name)

    def outer(value: Value) -> Value:
        return replace(value, name=stands[value.name].name)

    for inner in body.nodes:
        inputs = tuple(None if value is None else outer(value) for value in inner.inputs)
        for value in inner.outputs:
            stands[value.name] = replace(value, name=rewriter.names.fresh(value.name))
        rewriter.keep(replace(inner, inputs=inputs, outputs=tuple(map(outer, inner.outputs))))
    results = []
    for value, result in zip(body.outputs, node.outputs, strict=True):
        copy = Value(rewriter.names.fresh(result.name), plain(value.type))
        rewriter.keep(Node("reshape", (outer(value),), (copy,), {"shape": copy.shape}, node.loc))
        results.append(copy)
    return results


def known_bounds(rewriter: Rewriter, node: Node) -> Sequence[Value] | None:
    """The constant count of a loop is a limit; a condition before it that is true says nothing."""
    if node.op != "loop":
        return None
    count, going = (rewriter.array(value) for value in node.inputs[:2])
    limit, changed = integer(node.attrs, "limit"), list(node.inputs)
    if count is not None:
        passes = max(int(count.reshape(-1)[0]), 0)
        if limit != NO_LIMIT and passes < limit and len(node.outputs) > integer(node.attrs, "states"):
            return None  # the limit is the extent of the rows
        limit, changed[0] = passes if limit == NO_LIMIT else min(passes, limit), None
    if going is not None and going.reshape(-1)[0]:
        changed[1] = None
    if changed == list(node.inputs):
        return None
    return rewriter.emit(
        "loop", changed, {**node.attrs, "limit": limit}, loc=node.loc, names=[v.name for v in node.outputs]
    )


def constants_inside(rewriter: Rewriter, node: Node) -> Sequence[Value] | None:
    """Captured values that are constant become constants of the graphs; those that no graph reads are dropped."""
    if node.op not in BODIES:
        return None
    first = 1 if node.op == "if" else 2 + integer(node.attrs, "states")
    bodies = bodies_of(node)
    ahead = len(bodies[0][1].inputs) - (len(node.inputs) - first)  # inputs of the graphs that are not captured
    read = [{v.name for v in (*body.outputs, *(v for n in body.nodes for v in n.operands))} for _, body in bodies]

    def is_kept(position: int) -> bool:
        value = node.inputs[first + position]
        names = [body.inputs[ahead + position].name for _, body in bodies]
        return rewriter.array(value) is None and any(name in used for name, used in zip(names, read))

    captured = range(len(node.inputs) - first)
    kept = [position for position in captured if is_kept(position)]
    if len(kept) == len(captured):
        return None
    attrs: dict[str, AttrValue] = dict(node.attrs)
    for name, body in bodies:
        constants = dict(body.constants)
        for position in captured:
            array = rewriter.array(node.inputs[first + position])
            if array is not None:
                constants[body.inputs[ahead + position].name] = _read_only(array)
        inputs = (*body.inputs[:ahead], *(body.inputs[ahead + position] for position in kept))
        attrs[name] = replace(body, inputs=inputs, constants=constants)
    operands = [*node.inputs[:first], *(node.inputs[first + position] for position in kept)]
    return rewriter.emit(node.op, operands, attrs, loc=node.loc, names=[value.name for value in node.outputs])


def dequantized_inside(rewriter: Rewriter, node: Node) -> Sequence[Value] | None:
    """if(c, dequantize(x)) computes dequantize(x) in its graphs, where these are quantized as well and layers become
    integers; so does a loop."""
    if not any(inner.op in ("quantize", "dequantize") for _, body in bodies_of(node) for inner in body.nodes):
        return None
    first = 1 if node.op == "if" else 2 + integer(node.attrs, "states")
    sources = {n: rewriter.producer(value) for n, value in enumerate(node.inputs) if n >= first}
    moved = {n: source for n, source in sources.items() if source is not None and source.op == "dequantize"}
    if not moved:
        return None
    attrs: dict[str, AttrValue] = dict(node.attrs)
    for name, body in bodies_of(node):
        names, ahead = NameSupply.of(body), len(body.inputs) - len(node.inputs)
        inputs, before = list(body.inputs), []
        for position, source in moved.items():
            value = body.inputs[ahead + position]
            stored = Value(names.fresh(f"{value.name}.stored"), source.operands[0].type)
            inputs[ahead + position] = stored
            before.append(Node("dequantize", (stored,), (value,), source.attrs, source.loc))
        attrs[name] = replace(body, inputs=tuple(inputs), nodes=(*before, *body.nodes))
    operands = [moved[n].operands[0] if n in moved else value for n, value in enumerate(node.inputs)]
    return rewriter.emit(node.op, operands, attrs, loc=node.loc, names=[value.name for value in node.outputs])


def _read_only(array: np.ndarray) -> np.ndarray:
    found = np.ascontiguousarray(array)
    found.flags.writeable = False
    return found


CONTROL_RULES = (known_condition, known_bounds, constants_inside, dequantized_inside)
