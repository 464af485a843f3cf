"""Which nodes compute on integers, which values are stored as integers, and which of them share an encoding.

The result describes a graph of ``quantize`` and ``dequantize`` pairs as ONNX writes them:

* Every contraction with constant weights is an integer node, unless an override keeps it in float.
* What lies between integer nodes is one too, where there is an integer form. An element move right before one as well:
  moving bytes is cheaper than moving floats. What precedes (a normalization of the model's input, say) stays float.
* A *unit* has no ``quantize`` inside. Units are: an anchor, or a pointwise operator of several tensors, with the clamps
  and constant factors behind it (conv + relu); and pointwise operators of one tensor, which together are one lookup
  table (GELU, SiLU), whatever they are made of.
* With a float interface what follows the last anchor stays float: logits leave the accumulators as floats, and a
  final softmax reads them so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...ir.graph import Graph, Node
from ...ops.opdef import Kind
from ...ops.table import OPS
from .roles import Role, activations, is_real, role_of

_CLAMPS = frozenset({"relu", "clip", "neg"})
_TAIL_ANCHORS = frozenset({"softmax", "log_softmax"})
_TAIL_VIEWS = frozenset({"reshape", "transpose", "slice"})


@dataclass(frozen=True)
class Partition:
    """``integer`` holds the nodes (by the name of their first output) that compute on integers; ``stored`` the values
    between them, each with the name of its group: members of a group share one encoding. ``sources`` are the values of
    each group whose observation gives its range: those that no element move made from another member."""

    graph: Graph
    integer: frozenset[str]
    stored: Mapping[str, str]
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def is_integer(self, node: Node) -> bool:
        return key(node) in self.integer


def key(node: Node) -> str:
    return node.outputs[0].name


def partition(graph: Graph, keep_float: Callable[[Node], bool], integer_interface: bool) -> Partition:
    """``keep_float`` says which nodes an override keeps in float."""
    builder = _Builder(graph, keep_float, integer_interface)
    builder.flood()
    stored = builder.stored_values()
    groups = builder.groups(stored)
    return Partition(graph, frozenset(builder.integer), groups, builder.sources(groups))


class _Builder:
    def __init__(self, graph: Graph, keep_float: Callable[[Node], bool], integer_interface: bool) -> None:
        self.graph = graph
        self.integer_interface = integer_interface
        self.producers, self.uses = graph.producers(), graph.uses()
        self.outputs = {value.name for value in graph.outputs}
        self.roles = {key(node): Role.FLOAT if keep_float(node) else role_of(graph, node) for node in graph.nodes}
        for name in self._tail():
            self.roles[name] = Role.FLOAT
        self.integer = {name for name, role in self.roles.items() if role is Role.CORE}

    # ------------------------------------------------------------ nodes

    def _tail(self) -> set[str]:
        """Nodes of one run-time operand each that lead to graph outputs only."""
        found: set[str] = set()
        for node in reversed(self.graph.nodes):
            (*values,) = node.outputs
            users = [user for value in values for user in self.uses.get(value.name, ())]
            ends = all(key(user) in found for user in users) and len(activations(self.graph, node)) == 1
            if ends and self._may_end(node):
                found.add(key(node))
        return found

    def _may_end(self, node: Node) -> bool:
        if node.op in _TAIL_ANCHORS:
            return True
        return not self.integer_interface and (node.op in _TAIL_VIEWS or OPS[node.op].kind is Kind.POINTWISE)

    def flood(self) -> None:
        """Lets glue and moves become integer nodes, from neighbour to neighbour."""
        changed = True
        while changed:
            before = len(self.integer)
            for node in self.graph.nodes:
                if self.roles[key(node)] in (Role.MOVE, Role.GLUE) and self._is_drawn(node):
                    self.integer.add(key(node))
            changed = len(self.integer) > before

    def _is_drawn(self, node: Node) -> bool:
        operands = activations(self.graph, node)
        if any(key(self.producers[v.name]) in self.integer for v in operands if v.name in self.producers):
            return True
        if any(key(user) in self.integer for value in operands for user in self.uses[value.name]):
            return True
        users = (user for value in node.outputs for user in self.uses.get(value.name, ()))
        return self.roles[key(node)] is Role.MOVE and any(key(user) in self.integer for user in users)

    # ------------------------------------------------------------ values

    def stored_values(self) -> set[str]:
        """Values that are quantized: what integer nodes read, what integer moves make, and an integer interface."""
        inside = self._inside()
        stored = {
            value.name
            for node in self.graph.nodes
            if key(node) in self.integer
            for value in activations(self.graph, node)
            if value.name not in inside
        }
        for node in self.graph.nodes:
            if key(node) in self.integer and self.roles[key(node)] is Role.MOVE:
                stored.update(value.name for value in node.outputs)
        if self.integer_interface:
            stored.update(value.name for value in (*self.graph.inputs, *self.graph.outputs) if is_real(value))
        return stored

    def _inside(self) -> set[str]:
        """Values inside units."""
        origin = self._origins()
        inside = {name for name, start in origin.items() if name != start}
        members: dict[str, list[Node]] = {}
        for node in self.graph.nodes:
            starts = self._starts(node, origin) if self._is_pointwise(node) else set()
            if len(starts) == 1:
                members.setdefault(starts.pop(), []).append(node)
        return inside | {start for start, nodes in members.items() if self._takes_behind(start, nodes)}

    def _origins(self) -> dict[str, str]:
        """For every result of an integer pointwise node the value that it is a function of; itself at a unit's end.

        A value belongs to the inside only if all its users compute with the same origin; whether they do depends on
        the values before, so ends are found one after the other until there are no more.
        """
        ends: set[str] = set()
        while True:
            origin: dict[str, str] = {}
            for node in filter(self._is_pointwise, self.graph.nodes):
                starts = self._starts(node, origin)
                alone = len(starts) == 1 and node.output.name not in ends
                origin[node.output.name] = starts.pop() if alone else node.output.name
            end = next((name for name in origin if self._is_end(name, origin)), None)
            if end is None:
                return origin
            ends.add(end)

    def _starts(self, node: Node, origin: Mapping[str, str]) -> set[str]:
        return {origin.get(v.name, v.name) for v in node.operands if v.name not in self.graph.constants}

    def _is_end(self, name: str, origin: Mapping[str, str]) -> bool:
        """Whether a value that counts as inside has users that are not."""
        if origin[name] == name:
            return False
        same = (self._is_pointwise(u) and self._starts(u, origin) == {origin[name]} for u in self.uses.get(name, ()))
        return name in self.outputs or not all(same)

    def _is_pointwise(self, node: Node) -> bool:
        return key(node) in self.integer and OPS[node.op].kind is Kind.POINTWISE

    def _takes_behind(self, start: str, nodes: list[Node]) -> bool:
        """Whether pointwise ``nodes`` on ``start`` belong to the unit that makes it: clamps and constant factors."""
        producer = self.producers.get(start)
        if producer is None or key(producer) not in self.integer or self.roles[key(producer)] is Role.MOVE:
            return False
        if start in self.outputs or len(self.uses[start]) > 1:
            return False
        return all(node.op in _CLAMPS or self._is_scaling(node) for node in nodes)

    def _is_scaling(self, node: Node) -> bool:
        factors = [value for value in node.operands if value.name in self.graph.constants]
        return node.op in ("mul", "div") and len(factors) == 1 and factors[0].type.size == 1

    # ------------------------------------------------------------ groups

    def groups(self, stored: set[str]) -> dict[str, str]:
        """The stored values, each with the first member of its group."""
        leader: dict[str, str] = {}
        order = [value.name for value in self.graph.values() if value.name in stored]
        for name in order:
            leader[name] = name
        for node in self.graph.nodes:
            if key(node) in self.integer and self.roles[key(node)] is Role.MOVE:
                members = [v.name for v in (*activations(self.graph, node), *node.outputs) if v.name in leader]
                heads = {leader[name] for name in members}
                first = next(name for name in order if name in heads)
                leader = {name: first if head in heads else head for name, head in leader.items()}
        return leader

    def sources(self, groups: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {head: [] for head in groups.values()}
        for name, head in groups.items():
            producer = self.producers.get(name)
            moved = producer is not None and self.roles[key(producer)] is Role.MOVE and key(producer) in self.integer
            if not moved:
                found[head].append(name)
        return {head: tuple(names) for head, names in found.items()}
