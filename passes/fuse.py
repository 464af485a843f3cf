"""Groups nodes into kernels: ``fused`` nodes, an anchor at most with the pointwise and view work around it.

A group has one output, and every other value computed in it is used in it alone. Such groups never depend on each
other in a circle: every member leads to the group's output, so if A reads the output of B and B that of A, the two
outputs would depend on each other in the original graph already. For the same reason the groups are in topological
order when sorted by the place of their outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir.graph import Graph, Node, Value
from ..ops.opdef import Kind
from ..ops.table import OPS
from .views import ints_attr, without_units


def fuse(graph: Graph) -> Graph:
    """Wraps all nodes but plain ``reshape`` (the same memory under another shape) into ``fused`` nodes.

    The body's values are named as outside. Constants stay operands, except single numbers that pointwise nodes read:
    these are constants of the body. The fused node's ``loc`` joins those of its members.
    """
    grouping = _Grouping(graph)
    # Backwards, so that an addition of two convolutions goes to the later one: by then the other operand is there.
    for place in reversed(range(len(graph.nodes))):
        if _kind(graph.nodes[place]) is Kind.ANCHOR:
            grouping.grow(place)
    for place, node in enumerate(graph.nodes):
        if _kind(node) is Kind.POINTWISE:
            grouping.grow(place)
    for place in reversed(range(len(graph.nodes))):
        grouping.grow(place)
    groups = sorted(grouping.groups, key=max)
    return graph.with_nodes(_merged(graph, [graph.nodes[place] for place in sorted(group)]) for group in groups)


def _kind(node: Node) -> Kind:
    return OPS[node.op].kind


@dataclass
class _Grouping:
    """Groups as sets of places in ``graph.nodes``; every place belongs to one group in the end."""

    graph: Graph

    def __post_init__(self) -> None:
        self.groups: list[set[int]] = []
        self._grouped: set[int] = set()
        self._outputs = {value.name for value in self.graph.outputs}
        self._producers = {value.name: i for i, node in enumerate(self.graph.nodes) for value in node.outputs}
        self._users: dict[str, set[int]] = {}
        for place, node in enumerate(self.graph.nodes):
            for value in node.operands:
                self._users.setdefault(value.name, set()).add(place)

    def grow(self, seed: int) -> None:
        """Makes a group around the node at ``seed``, unless it has one."""
        if seed in self._grouped:
            return
        group = {seed}
        node = self.graph.nodes[seed]
        if _kind(node) is not Kind.VIEW and len(node.outputs) == 1:
            group = self._with_users(group, node.output.shape)
            group = self._with_producers(group, lambda place: self._is_pointwise(place, node.output.shape))
        if _kind(node) is Kind.POINTWISE:
            group = self._with_producers(group, lambda place: self._is_view(place, node.output.shape))
        self.groups.append(group)
        self._grouped |= group

    def _with_users(self, group: set[int], shape: tuple[int, ...]) -> set[int]:
        """``group`` with the pointwise nodes behind it, as long as a single value leaves it in the end.

        On the way several may: in x * sigmoid(x), x and sigmoid(x), until the product is in.
        """
        best, attempt = group, set(group)
        while True:
            leaving = self._leaving(attempt)
            if len(leaving) == 1:
                best = set(attempt)
            users = {place for name in leaving for place in self._users.get(name, ())} - attempt
            if not users or not self._is_pointwise(min(users), shape):
                return best
            if any(name in self._outputs for name in leaving) and len(leaving) == 1:
                return best
            attempt.add(min(users))

    def _with_producers(self, group: set[int], wanted: Callable[[int], bool]) -> set[int]:
        """``group`` with the nodes before it that are ``wanted`` and used in it alone."""
        result = set(group)
        waiting = sorted(group)
        while waiting:
            for value in self.graph.nodes[waiting.pop()].operands:
                place = self._producers.get(value.name)
                if place is None or place in result or not wanted(place) or value.name in self._outputs:
                    continue
                if self._users[value.name] <= result:
                    result.add(place)
                    waiting.append(place)
        return result

    def _leaving(self, group: set[int]) -> set[str]:
        """Values of the group that are graph outputs or used outside."""
        made = [value.name for place in group for value in self.graph.nodes[place].outputs]
        return {name for name in made if name in self._outputs or not self._users.get(name, set()) <= group}

    def _is_pointwise(self, place: int, shape: tuple[int, ...]) -> bool:
        node = self.graph.nodes[place]
        return place not in self._grouped and _kind(node) is Kind.POINTWISE and node.output.shape == shape

    def _is_view(self, place: int, shape: tuple[int, ...]) -> bool:
        """Views that a load can follow: one address for each element, neighbours staying neighbours."""
        node = self.graph.nodes[place]
        if place in self._grouped or _kind(node) is not Kind.VIEW or node.output.shape != shape:
            return False
        if node.op == "transpose":
            perm = ints_attr(node, "perm")
            return perm[-1] == len(perm) - 1
        if node.op == "reshape":
            return without_units(node.operands[0].shape) == without_units(node.output.shape)
        return node.op in ("slice", "expand", "pad", "concat")


def _merged(graph: Graph, members: list[Node]) -> Node:
    """The fused node of ``members``, which are in topological order."""
    if len(members) == 1 and members[0].op == "reshape":
        return members[0]
    made = {value.name: value for node in members for value in node.outputs}
    numbers = _numbers(graph, members)
    operands = {value.name: value for node in members for value in node.operands}
    inputs = tuple(value for name, value in operands.items() if name not in made and name not in numbers)
    outputs = _outputs(graph, members)
    body = Graph(outputs[0].name, inputs, outputs, tuple(members), {name: graph.constants[name] for name in numbers})
    loc = " + ".join(dict.fromkeys(node.loc for node in members if node.loc))
    return Node("fused", inputs, outputs, {"body": body}, loc)


def _outputs(graph: Graph, members: list[Node]) -> tuple[Value, ...]:
    """The values that are needed outside; a recurrent operator alone may have several."""
    inside = {id(node) for node in members}
    uses = graph.uses()
    outputs = {value.name for value in graph.outputs}

    def leaves(value: Value) -> bool:
        return value.name in outputs or any(id(node) not in inside for node in uses.get(value.name, ()))

    return tuple(value for node in members for value in node.outputs if leaves(value))


def _numbers(graph: Graph, members: list[Node]) -> list[str]:
    """Constants of one element that only pointwise nodes read."""
    read = {value.name: value for node in members if _kind(node) is Kind.POINTWISE for value in node.operands}
    arrays = {value.name for node in members if _kind(node) is not Kind.POINTWISE for value in node.operands}
    return [name for name, value in read.items() if name in graph.constants and value.type.size == 1 and name not in arrays]
