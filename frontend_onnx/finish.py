"""The graph out of what the walk has built: outputs under their ONNX names, nothing that no output needs."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.extents import Extent
from ..ir.graph import Graph, Node, Value
from ..ops.table import OPS
from .folding import FoldingBuilder


def finish(
    builder: FoldingBuilder,
    name: str,
    inputs: Sequence[Value],
    outputs: Sequence[tuple[str, Value]],
    extents: Sequence[Extent] = (),
) -> Graph:
    """``outputs`` holds, in order, the name that each output is to have and its value; ``extents`` know these names."""
    named = [_named_output(builder, target, value) for target, value in _rename_outputs(builder, outputs)]
    nodes, needed = live_nodes(builder.nodes, named)
    constants = {key: array for key, array in builder.constants.items() if key in needed}
    return Graph(name, tuple(inputs), tuple(named), nodes, constants, tuple(extents))


def _rename_outputs(builder: FoldingBuilder, outputs: Sequence[tuple[str, Value]]) -> list[tuple[str, Value]]:
    """Gives the results of nodes that pass through aliases (Identity, ...) the name of the first output they are, and
    constants that bear the name of an output another one: the output will be a copy."""
    made = {value.name for node in builder.nodes for value in node.outputs}
    targets = {target for target, _ in outputs}
    names: dict[str, str] = {}
    for target, value in outputs:
        if value.name in made and value.name not in targets:
            names.setdefault(value.name, target)
        elif value.name in builder.constants and value.name in targets and value.name not in names:
            names[value.name] = builder.names.fresh(f"{value.name}.const")
    builder.rename(0, names)
    return [(target, Value(names.get(value.name, value.name), value.type)) for target, value in outputs]


def _named_output(builder: FoldingBuilder, target: str, value: Value) -> Value:
    """An output that is an input, a constant, or another output as well, is a copy of it."""
    if value.name == target:
        return value
    (type_,) = OPS["reshape"].infer([value.type], {"shape": value.shape})  # it keeps no quantization along an axis
    copy = Value(target, type_)
    builder.nodes.append(Node("reshape", (value,), (copy,), {"shape": value.shape}, target))
    return copy


def live_nodes(nodes: Sequence[Node], outputs: Sequence[Value]) -> tuple[tuple[Node, ...], set[str]]:
    """The nodes that the outputs depend on, in order, and the names of all values these read."""
    needed = {value.name for value in outputs}
    live = []
    for node in reversed(nodes):
        if any(value.name in needed for value in node.outputs):
            live.append(node)
            needed.update(value.name for value in node.operands)
    return tuple(reversed(live)), needed
