"""Inputs whose rows a function of the caller's brings one by one, in place of memory that holds all of them.

    %y = conv(%x)        becomes    %x.rows = fetch(%x) {axis=2}
                                    %x.whole = transpose(%x.rows) {perm=(1, 2, 0, 3)}
                                    %y = conv(%x.whole)

What is a row follows from the layers that read the input: of a convolution or a pool it is what has one place along
the first spatial axis, of all channels; of a product of matrices a row; of a recurrent layer a step of the sequence.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import CcmlError, ErrorCode, not_by_rows
from ..ir.extents import axes_of
from ..ir.graph import Graph, NameSupply, Node, Value
from ..ops.attributes import ints
from ..ops.movement import FETCH
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from .views import without_units

ONLY = ""
"""Stands for the name of the only input of a model."""

Axes = tuple[int, ...]
"""For each axis of a tensor the axis of the input that it is; -1 where it is none."""

_WINDOWS = ("conv", "conv_transpose", "pool", "max_pool_index")
_SEQUENCES = ("lstm", "gru", "rnn", "int_lstm", "int_gru", "int_rnn")


def by_rows(graph: Graph, names: Sequence[str]) -> Graph:
    """``graph`` with the inputs of these ``names`` fetched row by row.

    Raises ``BAD_OPTION`` where there is no such input, or none that has rows.
    """
    inputs = {value.name: value for value in graph.inputs}
    values = [inputs[name] for name in dict.fromkeys(input_name(graph, name) for name in names)]
    for value in values:
        _check(graph, value)
        if value.dtype is not values[0].dtype:
            raise not_by_rows(value.name, f"its elements are other ones than those of {values[0].name}")
        graph = _fetched(graph, value, _row_axis(graph, value))
    return graph


def input_name(graph: Graph, name: str) -> str:
    """The input that ``name`` stands for. Raises ``BAD_OPTION`` where there is none."""
    known = [value.name for value in graph.inputs]
    if name == ONLY and len(known) == 1:
        return known[0]
    if name in known:
        return name
    reason = f"the model has no input '{name}'" if name else f"the model has {len(known)} inputs: say which"
    raise CcmlError(
        ErrorCode.BAD_OPTION, f"--input rows: {reason}",
        hint="one of " + ", ".join(f"--input {each}=rows" for each in known) if known else None,
    )  # fmt: skip


def _check(graph: Graph, value: Value) -> None:
    """Raises ``BAD_OPTION`` where an input is more than a tensor that layers read."""
    reason = None
    if value in graph.outputs:
        reason = "the input is an output as well"
    elif any(state.input == value.name for state in graph.states):
        reason = "it is a state, which is in memory of its own"
    elif axes_of(graph.extents, value.name) or any(extent.value == value.name for extent in graph.extents):
        reason = "its extents are known in a run only (--dim N..M)"
    elif not any(value in node.operands for node in graph.nodes):
        reason = "no layer reads it"
    if reason is not None:
        raise not_by_rows(value.name, reason)


def _fetched(graph: Graph, value: Value, axis: int) -> Graph:
    names = NameSupply.of(graph)

    def node(op: str, operand: Value, stem: str, **attrs: object) -> Node:
        (type_,) = infer_types(op, [operand], attrs, value.name)  # type: ignore[arg-type]
        output = Value(names.fresh(f"{value.name}.{stem}"), type_)
        return Node(op, (operand,), (output,), attrs, value.name)  # type: ignore[arg-type]

    fetch = node(FETCH, value, "rows", axis=axis)
    whole = node("transpose", fetch.output, "whole", perm=(*range(1, axis + 1), 0, *range(axis + 1, len(value.shape))))

    def reading(each: Node) -> Node:
        return replace(each, inputs=tuple(whole.output if operand == value else operand for operand in each.inputs))

    return graph.with_nodes((fetch, whole, *map(reading, graph.nodes)))


def _row_axis(graph: Graph, value: Value) -> int:
    """The axis along which rows of the input are counted, by the first layer that has one."""
    found = next((axis for axis in _axes_of_rows(graph, value) if axis >= 0 and value.shape[axis] > 1), None)
    if found is None:
        found = next((axis for axis, extent in enumerate(value.shape) if extent > 1), None)
    if found is None:
        raise not_by_rows(value.name, f"an input of the shape {list(value.shape)} has no rows")
    return found


def _axes_of_rows(graph: Graph, value: Value) -> Iterator[int]:
    """Of each layer that is reached from the input, by what keeps its rows apart, the axes that may count them."""
    uses, seen = graph.uses(), {value.name}
    waiting = deque([(value, tuple(range(len(value.shape))))])
    while waiting:
        tensor, axes = waiting.popleft()
        for node in uses.get(tensor.name, ()):
            if node.op in _WINDOWS and node.operands[0] == tensor:
                first = 2 if node.attrs.get("layout", "channels_first") == "channels_first" else 1
                yield from axes[first : first + len(axes) - 2]
            elif node.op in _SEQUENCES and node.operands[0] == tensor:
                yield axes[0]
            elif node.op == "matmul" and node.operands[0] == tensor:
                yield from axes[-2:-1]
            else:
                followed = _followed(node, axes)
                for output in node.outputs if followed is not None else ():
                    if output.name not in seen and len(followed or ()) == len(output.shape):
                        seen.add(output.name)
                        waiting.append((output, followed or ()))


def _followed(node: Node, axes: Axes) -> Axes | None:
    """Where the axes of an operand are in the result; ``None`` where that is not known."""
    if node.op == "transpose":
        return tuple(axes[axis] for axis in ints(node.attrs, "perm"))
    if node.op == "reshape":
        return _reshaped(node.operands[0].shape, node.output.shape, axes)
    return axes if OPS[node.op].kind in (Kind.POINTWISE, Kind.VIEW) else None


def _reshaped(old: Sequence[int], new: Sequence[int], axes: Axes) -> Axes | None:
    """Axes of one element may come and go."""
    if without_units(tuple(old)) != without_units(tuple(new)):
        return None
    kept = iter([axis for axis, extent in zip(axes, old, strict=True) if extent != 1])
    return tuple(-1 if extent == 1 else next(kept) for extent in new)
