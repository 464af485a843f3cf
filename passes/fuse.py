"""Groups nodes into kernels: ``fused`` nodes, an anchor at most with the pointwise and view work around it.

A group has one output, and every other value computed in it is used in it alone. Such groups never depend on each
other in a circle: every member leads to the group's output, so if A reads the output of B and B that of A, the two
outputs would depend on each other in the original graph already. For the same reason the groups are in topological
order when sorted by the place of their outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir.graph import Graph, Node, Value, join_locs
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.control import BODIES
from ..ops.opdef import Kind
from ..ops.table import OPS
from .eliminate_dead_code import eliminate_dead_code
from .views import without_units

MAX_MEMBERS = 128
"""Nodes of a group. Kernels that grow with a chain of nodes take ever longer to compile and save ever less traffic."""

MAX_CHOICES = 8
"""Operands of a concat that another view takes in: there each element is a choice among all of them."""

MAX_PARTS = 64
"""The same where pointwise work takes it in: there each operand has a loop of its own."""


def fuse(graph: Graph) -> Graph:
    """Wraps nodes into ``fused`` ones: all but control flow and plain ``reshape`` (the same memory, another shape).

    The body's values are named as outside. Constants stay operands, except single numbers that pointwise nodes read:
    these are constants of the body. The fused node's ``loc`` joins those of its members.
    """
    graph = eliminate_dead_code(graph)
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
    return eliminate_dead_code(graph.with_nodes(grouping.merged(group) for group in groups))


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
        group, node, leaving = {seed}, self.graph.nodes[seed], self._leaving({seed})
        if _kind(node) is Kind.CONTROL:
            self.groups.append(group)
            self._grouped |= group
            return
        if _kind(node) is not Kind.VIEW and len(leaving) == 1 and not OPS[node.op].reads_back:
            shape = leaving[0].shape
            group = self._with_users(group, shape)
            group = self._with_producers(
                group, lambda place, user: self._is_pointwise(place, shape) and not self._follows_anchor(place)
            )
        if _kind(node) is not Kind.ANCHOR and node.op != "reshape":
            group = self._with_producers(group, self._is_pulled)
        if OPS[node.op].computes_input:
            group = self._with_prologue(group, seed)
        self.groups.append(group)
        self._grouped |= group

    def merged(self, group: set[int]) -> Node:
        """The fused node of a group; a plain reshape stays what it is, and so do control flow and what is fused."""
        members = [self.graph.nodes[place] for place in sorted(group)]
        if len(members) == 1 and members[0].op in ("reshape", "fused", *BODIES):
            return members[0]
        made = {value.name for node in members for value in node.outputs}
        numbers = _numbers(self.graph, members)
        operands = {value.name: value for node in members for value in node.operands}
        inputs = tuple(value for name, value in operands.items() if name not in made and name not in numbers)
        outputs = self._leaving(group)
        constants = {name: self.graph.constants[name] for name in numbers}
        body = Graph(outputs[0].name, inputs, outputs, tuple(members), constants)
        return Node("fused", inputs, outputs, {"body": body}, join_locs(*(node.loc for node in members)))

    def _with_users(self, group: set[int], shape: tuple[int, ...]) -> set[int]:
        """``group`` with the pointwise nodes behind it, as long as a single value leaves it in the end.

        On the way several may: in x * sigmoid(x), x and sigmoid(x), until the product is in.
        """
        best, attempt = group, set(group)
        while len(attempt) < MAX_MEMBERS:
            leaving = self._leaving(attempt)
            if len(leaving) == 1:
                best = set(attempt)
            users = {place for value in leaving for place in self._users.get(value.name, ())} - attempt
            if not users or not self._is_pointwise(min(users), shape):
                return best
            attempt.add(min(users))
        return best if len(self._leaving(attempt)) > 1 else attempt

    def _with_producers(self, group: set[int], wanted: Callable[[int, int], bool]) -> set[int]:
        """``group`` with the nodes before it that are ``wanted(node, user)`` and used in it alone, but by no anchor."""
        result = set(group)
        waiting = sorted(group)
        while waiting:
            user = waiting.pop()
            for value in self.graph.nodes[user].operands:
                place = self._producers.get(value.name)
                if len(result) == MAX_MEMBERS or place is None or place in result or value.name in self._outputs:
                    continue
                if not wanted(place, user):
                    continue
                users = self._users[value.name]
                if users <= result and not any(_kind(self.graph.nodes[user]) is Kind.ANCHOR for user in users):
                    result.add(place)
                    waiting.append(place)
        return result

    def _with_prologue(self, group: set[int], anchor: int) -> set[int]:
        """``group`` with the pointwise work before an anchor that reads each element of it once."""
        x = self.graph.nodes[anchor].operands[0]
        before = self._producers.get(x.name)
        if before is None or x.name in self._outputs or self._users[x.name] != {anchor}:
            return group

        def wanted(place: int, _: int) -> bool:
            return self._is_pointwise(place, x.shape) and not self._follows_anchor(place)

        if not wanted(before, anchor):
            return group
        prologue = self._with_producers({before}, wanted)
        nodes = [self.graph.nodes[place] for place in prologue]
        fits = len(group | prologue) <= MAX_MEMBERS and _is_cheap_before(self.graph.nodes[anchor], nodes)
        return group | prologue if fits else group

    def _leaving(self, group: set[int]) -> tuple[Value, ...]:
        """Values of the group that are graph outputs or used outside. A recurrent operator alone may have several."""
        made = [value for place in sorted(group) for value in self.graph.nodes[place].outputs]
        return tuple(v for v in made if v.name in self._outputs or not self._users.get(v.name, set()) <= group)

    def _is_pointwise(self, place: int, shape: tuple[int, ...]) -> bool:
        node = self.graph.nodes[place]
        return place not in self._grouped and _kind(node) is Kind.POINTWISE and node.output.shape == shape

    def _follows_anchor(self, place: int) -> bool:
        """Whether the node is the tail of an anchor that has no group yet and feeds it alone: it goes there."""
        waiting, seen = [place], {place}
        while waiting and len(seen) <= MAX_MEMBERS:  # an anchor further away takes no more nodes
            user = waiting.pop()
            for value in self.graph.nodes[user].operands:
                before = self._producers.get(value.name)
                if before is None or before in self._grouped or self._users[value.name] != {user}:
                    continue
                kind = _kind(self.graph.nodes[before])
                if kind is Kind.ANCHOR:
                    return True
                if kind is Kind.POINTWISE and before not in seen:
                    waiting.append(before)
                    seen.add(before)
        return False

    def _is_pulled(self, place: int, user: int) -> bool:
        """Whether the node at ``place`` is a view that the loads of ``user`` can follow.

        A view takes the views before it along: one copy instead of several. Pointwise work takes those that read each
        element once and keep neighbours together.
        """
        node, reader = self.graph.nodes[place], self.graph.nodes[user]
        if place in self._grouped or _kind(node) is not Kind.VIEW or _kind(reader) is Kind.ANCHOR:
            return False
        most = MAX_CHOICES if _kind(reader) is Kind.VIEW else MAX_PARTS
        if node.op == "concat" and len(node.operands) > most:
            return False
        if node.op == "reshape" and without_units(node.operands[0].shape) != without_units(node.output.shape):
            return False
        if _kind(reader) is Kind.VIEW:
            return True
        if node.op == "transpose" and ints(node.attrs, "perm")[-1] != len(node.output.shape) - 1:
            return False
        return node.op != "gather" and node.output.shape == reader.output.shape


def _is_cheap_before(anchor: Node, prologue: list[Node]) -> bool:
    """Whether pointwise work in the loops of a reduction takes no longer than in a loop of its own.

    Bytes and halfwords are added up by instructions of their own, from memory. What takes many instructions is computed
    in vectors of neighbouring elements, of which few may be left over that a reduction takes one by one.
    """
    x = anchor.operands[0]
    if x.dtype.size < 4 and x.dtype is not DType.F16:
        return False
    if all(node.op in _FEW_INSTRUCTIONS for node in prologue):
        return True
    return x.shape[-1] % _WIDEST <= x.shape[-1] // _WIDEST


_WIDEST = 16
"""The elements of the widest vectors."""

_FEW_INSTRUCTIONS = frozenset(
    {
        "abs", "add", "and", "bitand", "bitcast", "bitnot", "bitor", "bitxor", "cast", "clip", "div", "eq", "ge", "gt",
        "isinf", "isnan", "le", "lt", "max", "min", "mul", "neg", "not", "or", "relu", "shl", "shr", "sqrt", "sub",
        "where", "xor",
    }
)  # fmt: skip
"""Pointwise operators that are as many instructions for an element as for a vector."""


def _numbers(graph: Graph, members: list[Node]) -> list[str]:
    """Constants of one element that only pointwise nodes read."""
    read = {value.name: value for node in members if _kind(node) is Kind.POINTWISE for value in node.operands}
    arrays = {value.name for node in members if _kind(node) is not Kind.POINTWISE for value in node.operands}
    numbers = {name for name, value in read.items() if value.type.size == 1 and name in graph.constants}
    return sorted(numbers - arrays)
