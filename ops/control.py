"""Control flow: ``if`` chooses one of two graphs, ``loop`` runs one again and again. Types and meaning.

Their graphs see nothing of the graph around them: what they read of it, the *captured* values, are operands of the node
and inputs of the graphs, in order. Types match up to quantization, which results do not keep.

``if(condition, captured...) {then, orelse: Graph}``: both graphs have the captured values as inputs, and outputs of
the same types.

``loop(count?, going?, states..., captured...) {step: Graph, states, limit: int, tested: bool}``: as long as fewer
passes are done than ``count`` (i64) and ``limit`` (-1: any number), and ``going`` (bool) is true, ``step`` makes new
states. Its inputs are the number of passes done (i64 without dimensions), the states and the captured values; its
outputs are ``going`` for the next pass where it is ``tested``, the states and any number of rows. Results are the last
states, then the rows of all passes along a new first dimension of ``limit``; zeros where there was no pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.types import DType, TensorType
from .attributes import flag, integer, subgraph
from .fused import run_nodes
from .opdef import Arrays, Attrs, OpDef, Types

BODIES = {"if": ("then", "orelse"), "loop": ("step",)}
"""The attributes that hold graphs, by operator."""

NO_LIMIT = -1


def bodies_of(node: Node) -> tuple[tuple[str, Graph], ...]:
    """The graphs of a control-flow node with the names of their attributes; none of other nodes."""
    return tuple((name, subgraph(node.attrs, name)) for name in BODIES.get(node.op, ()))


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph and all graphs of control flow in it."""
    yield graph
    for node in graph.nodes:
        for _, body in bodies_of(node):
            yield from all_graphs(body)


def plain(type_: TensorType) -> TensorType:
    """``type_`` without quantization."""
    return TensorType(type_.dtype, type_.shape)


def _plain(types: Sequence[TensorType]) -> tuple[TensorType, ...]:
    return tuple(map(plain, types))


def _expect(what: str, found: Sequence[TensorType], wanted: Sequence[TensorType]) -> None:
    if _plain(found) != _plain(wanted):
        raise ValueError(f"{what} are {', '.join(map(str, found))}, not {', '.join(map(str, wanted))}")


def _one(types: Types, position: int, dtype: DType, what: str) -> None:
    type_ = types[position]
    if type_ is not None and (type_.dtype is not dtype or type_.size != 1):
        raise ValueError(f"{what} is {type_}, not one {dtype.value}")


def _present(types: Types, first: int) -> list[TensorType]:
    found = [type_ for type_ in types[first:] if type_ is not None]
    if len(found) < len(types[first:]):
        raise ValueError("a captured value or a state is missing")
    return found


def infer_if(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if not types or types[0] is None:
        raise ValueError("the condition is missing")
    _one(types, 0, DType.BOOL, "the condition")
    captured, results = _present(types, 1), []
    for name in BODIES["if"]:
        graph = subgraph(attrs, name)
        _expect(f"operands of {name}", captured, [value.type for value in graph.inputs])
        results.append([value.type for value in graph.outputs])
    _expect("results of orelse", results[1], results[0])
    return _plain(results[0])


def evaluate_if(arrays: Arrays, attrs: Attrs, ops: Mapping[str, OpDef]) -> tuple[np.ndarray, ...]:
    condition = arrays[0]
    assert condition is not None
    graph = subgraph(attrs, "then" if condition.reshape(-1)[0] else "orelse")
    return _run(graph, arrays[1:], ops)


def infer_loop(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if len(types) < 2:
        raise ValueError("count and going are missing")
    _one(types, 0, DType.I64, "the count")
    _one(types, 1, DType.BOOL, "going")
    states, limit, tested = integer(attrs, "states"), integer(attrs, "limit"), flag(attrs, "tested")
    graph = subgraph(attrs, "step")
    operands, results = _present(types, 2), [value.type for value in graph.outputs]
    if not 0 <= states <= min(len(operands), len(results) - tested):
        raise ValueError(f"{states} states of {len(operands)} operands and {len(results)} results")
    if limit < 0 and types[0] is None and types[1] is None and not tested:
        raise ValueError("nothing ends the loop")
    _expect("operands of step", [TensorType(DType.I64, ()), *operands], [value.type for value in graph.inputs])
    if tested:
        _one(results, 0, DType.BOOL, "the condition")
        results = results[1:]
    _expect("states of step", results[:states], operands[:states])
    rows = results[states:]
    if rows and limit < 0:
        raise ValueError("rows of a loop without limit")
    return (*_plain(results[:states]), *(TensorType(row.dtype, (limit, *row.shape)) for row in rows))


def evaluate_loop(arrays: Arrays, attrs: Attrs, ops: Mapping[str, OpDef]) -> tuple[np.ndarray, ...]:
    count, going, *operands = arrays
    graph, states, limit = subgraph(attrs, "step"), integer(attrs, "states"), integer(attrs, "limit")
    tested = flag(attrs, "tested")
    rows = [np.zeros((limit, *value.shape), value.dtype.numpy) for value in graph.outputs[states + tested :]]
    current, captured = list(operands[:states]), operands[states:]
    on, done = going is None or bool(going.reshape(-1)[0]), 0
    while on and (limit < 0 or done < limit) and (count is None or done < int(count.reshape(-1)[0])):
        results = list(_run(graph, [np.array(done, np.int64), *current, *captured], ops))
        if tested:
            on = bool(results.pop(0).reshape(-1)[0])
        current = list(results[:states])
        for row, result in zip(rows, results[states:], strict=True):
            row[done] = result
        done += 1
    return tuple(array for array in (*current, *rows) if array is not None)


def _run(graph: Graph, arrays: Arrays, ops: Mapping[str, OpDef]) -> tuple[np.ndarray, ...]:
    inputs = {value.name: array for value, array in zip(graph.inputs, arrays, strict=True) if array is not None}
    values = run_nodes(graph, inputs, ops)
    return tuple(values[value.name] for value in graph.outputs)
