"""Bodies of nodes: walked in place, or into graphs of their own (regions) for control flow at run time.

All values of an import have different names, so that a value of the graph around keeps its name inside: what a region
reads and does not make is captured, unless it is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, Node, Value
from ..ir.types import DType
from ..ops.table import OPS
from ..record import record
from .declared import Extents, file_extents
from .finish import live_nodes
from .folding import FoldingBuilder
from .scope import Bound, GrowingList, Missing, Scope, Site, StackedList, TensorList, parts, with_parts

if TYPE_CHECKING:
    from .walk import Walker


def walk_body(
    walker: Walker, site: Site, graph: onnx.GraphProto, arguments: Sequence[Bound], names: dict[str, str]
) -> list[Bound]:
    """Walks a subgraph, which sees the names around it, and returns its outputs."""
    scope = site.scope
    inner = Scope(scope.opsets, scope.attributes, scope, scope.path, site.loc, scope.depth + 1)
    inner.initializers = {tensor.name: tensor for tensor in graph.initializer}
    inner.names = names
    results = [info.name for info in graph.output] if site.node.op_type == "If" else []
    inner.declare(
        graph.node,
        lambda: {**declared_results(site, results), **file_extents([*graph.value_info, *graph.output], {})},
    )
    if len(arguments) != len(graph.input):
        reason = f"the body of {site.node.op_type} has {len(graph.input)} inputs, not {len(arguments)}"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc)
    for formal, argument in zip(graph.input, arguments):
        walker.bind(inner, formal.name, argument)
    inner.wanted.update(output.name for output in graph.output)
    walker.walk(graph.node, inner)
    return [walker.read(inner, output.name, site.loc) for output in graph.output]


def declared_results(site: Site, inner: Sequence[str]) -> dict[str, Extents]:
    """The declared shapes of the node's results by the names that they have in its body."""
    found = {name: site.scope.extents(outer) for name, outer in zip(inner, site.node.output) if outer}
    return {name: extents for name, extents in found.items() if extents is not None}


# ---- sequences as their tensors

Form = tuple[Bound, ...]
"""Values of which not the tensors count, but how many there are of each."""


def tensors_of(values: Sequence[Bound]) -> list[Value | Missing]:
    """The tensors of all values one behind the other; what is unknown stays."""
    return [
        part for value in values for part in ([value] if value is Missing.UNKNOWN else parts(value))
    ]  # fmt: skip


def in_form(form: Sequence[Bound], tensors: Sequence[Value]) -> list[Bound]:
    """The reverse of :func:`tensors_of`."""
    rest = iter(tensors)
    return [with_parts(value, [next(rest) for _ in parts(value)]) for value in form]


def same_form(a: Sequence[Bound], b: Sequence[Bound]) -> bool:
    """Whether tensors stand for tensors, and sequences for sequences of the same length."""
    return [_shown(value) for value in a] == [_shown(value) for value in b]


def shown_form(values: Sequence[Bound]) -> str:
    return ", ".join(map(_shown, values))


def _shown(value: Bound) -> str:
    match value:
        case TensorList():
            return f"a sequence of {len(value.elements)} tensors"
        case StackedList():
            return "a sequence whose length a run tells"
        case GrowingList():
            return f"a sequence that has grown by {len(value.rows)}"
    return "nothing" if value is Missing.ABSENT else "a tensor"


def names_in_form(form: Sequence[Bound], names: Sequence[str]) -> list[str]:
    """A name for each tensor of values whose names these are."""
    return [
        f"{name}_{number}" if isinstance(value, TensorList | GrowingList) and name else name
        for value, name in zip(form, [*names, *[""] * len(form)])
        for number in range(len(parts(value)))
    ]


def count_nodes(graph: onnx.GraphProto) -> int:
    """The nodes of a subgraph and of those within it."""
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return len(graph.node) + sum(map(count_nodes, inner))


# ---- regions


@record
class Region:
    """Nodes that make ``results``, which may also be constants, inputs or captured values. ``name`` is the graph's."""

    name: str
    nodes: tuple[Node, ...]
    results: tuple[Value, ...]

    def captured(self, builder: FoldingBuilder, formals: Sequence[Value]) -> list[Value]:
        """What the region reads of the graph around it; ``formals`` are its own inputs."""
        made = {value.name for node in self.nodes for value in node.outputs} | {value.name for value in formals}
        read = {value.name: value for node in self.nodes for value in node.operands}
        read |= {value.name: value for value in self.results}
        return [value for name, value in read.items() if name not in made and name not in builder.constants]

    def graph(self, builder: FoldingBuilder, inputs: Sequence[Value]) -> Graph:
        """The region as a graph whose outputs are values of nodes, each another."""
        nodes, outputs = list(self.nodes), []
        made = {value.name for node in nodes for value in node.outputs}
        for value in self.results:
            if value.name in made and value not in outputs:
                outputs.append(value)
                continue
            (type_,) = OPS["reshape"].infer([value.type], {"shape": value.shape})
            outputs.append(Value(builder.names.fresh(f"{value.name}.result"), type_))
            extents = builder.extents_of(value, self.name)
            if extents:
                builder.extents[outputs[-1].name] = extents
            nodes.append(Node("reshape", (value,), (outputs[-1],), {"shape": value.shape}, self.name))
        read = {value.name for node in nodes for value in node.operands}
        constants = {name: builder.constants[name] for name in sorted(read) if name in builder.constants}
        return Graph(self.name, tuple(inputs), tuple(outputs), tuple(nodes), constants)


def region(
    walker: Walker, site: Site, walk: Callable[[], Sequence[Value | Missing]], strings: bool = False
) -> tuple[tuple[Node, ...], list[Value] | None]:
    """The nodes that a walk makes, apart from those around them, and its results; ``None`` where one is unknown.
    Results are numbers, or with ``strings`` also these."""
    walker.builder.enter()
    try:
        results = list(walk())
    finally:
        nodes = walker.builder.leave()
    values = [value for value in results if isinstance(value, Value)]
    if not strings and any(value.name in walker.builder.strings for value in values):
        raise unsupported(site, "a row of strings, by a condition or count at run time,", "choose them with Where")
    if Missing.ABSENT in results:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"a body of {site.node.op_type} has a result too few", loc=site.loc)
    return nodes, values if len(values) == len(results) else None


def finished(builder: FoldingBuilder, name: str, nodes: Sequence[Node], results: Sequence[Value]) -> Region:
    """The region of the nodes that ``results`` need. Constants that are stored quantized are dequantized inside."""
    live, needed = live_nodes(nodes, results)
    made = {value.name for node in live for value in node.outputs}
    stored = [
        node
        for name in sorted(needed - made)
        if (node := builder.dequantized_constant(name)) is not None and name not in builder.constants
    ]
    return Region(name, (*stored, *live), tuple(results))


# ---- operands


def given(site: Site, value: Value | None) -> Value:
    if value is None:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"an operand of {site.node.op_type} is missing", loc=site.loc)
    return value


def flag(walker: Walker, value: Value | Missing | None) -> bool | None:
    """A constant bool, or ``None``."""
    array = walker.builder.constants.get(value.name) if isinstance(value, Value) else None
    return bool(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def integer(walker: Walker, value: Value) -> int | None:
    """A constant i64, or ``None``."""
    array = walker.builder.constants.get(value.name)
    single = array is not None and array.size == 1 and value.dtype is DType.I64
    return int(array.reshape(-1)[0]) if array is not None and single else None


def unsupported(site: Site, what: str, hint: str | None = None, deciding: Sequence[Value | None] = ()) -> CcmlError:
    """``deciding`` are the values that would have to be constant."""
    reason = f"{site.node.op_type}: {what} is not supported"
    names = [value.name for value in deciding if value is not None]
    return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=site.loc, hint=hint, deciding=names)
