"""Which nodes compute on integers, which values are stored as integers, and which of them share an encoding.

The result describes a graph of ``quantize`` and ``dequantize`` pairs as ONNX writes them:

* Every contraction with constant weights is an integer node, unless an option keeps it in float.
* What lies between integer nodes is one too, where there is an integer form. An element move right before one as well:
  moving bytes is cheaper than moving floats. What precedes (a normalization of the model's input, say) stays float.
* A *unit* has no ``quantize`` inside. Units are: an anchor, or a pointwise operator of several tensors, with the clamps
  behind it (conv + relu); a normalization with the scale and shift behind it; and pointwise operators of one tensor,
  which together are one lookup table (GELU, SiLU), whatever they are made of.
* x * c with a number c > 0 behind a contraction is no operation on integers: the same integers are read with c times
  the scale.
* With a float interface what follows the last anchor stays float: logits leave the accumulators as floats, and a
  final softmax reads them so. With an integer interface all of it is integers, the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property

from ..ir.graph import Graph, Node, Value
from ..ops.opdef import Kind
from ..ops.response import Response, response
from ..ops.table import OPS
from ..record import record
from .roles import Role, activations, is_real, role_of

_CLAMPS = frozenset({"relu", "clip"})
_ACCUMULATING = frozenset({"conv", "conv_transpose", "matmul", "pool", "reduce"})
_NORMALIZATIONS = frozenset({"normalize", "rms_normalize"})
_TAIL_ANCHORS = frozenset({"softmax", "log_softmax"})
_TAIL_VIEWS = frozenset({"reshape", "transpose", "slice"})


@record
class Partition:
    """``integer`` holds the nodes (:func:`key`) that compute on integers.

    ``stored`` maps each value that is stored as integers to the first member of its group, whose members share one
    encoding; ``sources`` maps that first member to the members that no element move made from another one. ``inside``
    are the values within units. ``factors`` holds values that are a number times the value before: name and number.
    """

    graph: Graph
    integer: frozenset[str]
    stored: Mapping[str, str]
    sources: Mapping[str, tuple[str, ...]]
    inside: frozenset[str]
    factors: Mapping[str, tuple[Value, float]]

    def members(self, head: str) -> list[str]:
        """The values that share an encoding with the first of them."""
        return [name for name, first in self.stored.items() if first == head]

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The elements of the largest member of each group, by the first member."""
        found: dict[str, int] = {}
        for value in self.graph.values():
            if value.name in self.stored:
                head = self.stored[value.name]
                found[head] = max(found.get(head, 0), value.type.size)
        return found

    def is_integer(self, node: Node) -> bool:
        return key(node) in self.integer

    def result_of(self, node: Node) -> str | None:
        """The stored value at the end of the unit that ``node`` is in, with nothing but clamps or a factor between;
        ``None`` where the result stays a float or becomes another function of it."""
        uses, value = self.graph.uses(), node.output
        while value.name not in self.stored:
            users = uses.get(value.name, [])
            if value.name not in self.inside or len(users) != 1:
                return None
            (user,) = users
            if user.op not in _CLAMPS and key(user) not in self.factors:
                return None
            value = user.output
        return value.name

    def response(self, head: str) -> Response | None:
        """What the readers of a group make of an element; ``None`` where its members come from several values too."""
        if len(self.sources[head]) > 1:
            return None
        return response(self.graph, self.members(head), self.is_integer, self.inside.__contains__)

    def factor_of(self, name: str) -> float:
        """What number times the value before a stored value is."""
        return self.factors[name][1] if name in self.factors else 1.0

    def unit_of(self, name: str) -> Iterator[Node]:
        """The nodes of the unit that ends with a value, the last one first; none for an input."""
        producers = self.graph.producers()
        waiting, seen = [name], set()
        while waiting:
            node = producers.get(waiting.pop())
            if node is not None and key(node) not in seen:
                seen.add(key(node))
                yield node
                waiting.extend(value.name for value in node.operands if value.name in self.inside)


def key(node: Node) -> str:
    """What nodes are known by: the name of the first output."""
    return node.outputs[0].name


def layer_names(node: Node) -> list[str]:
    """What a user may call the layer: the node's name, those of the ONNX nodes in it, or that of its output."""
    return list(dict.fromkeys([node.loc, *node.loc.split(" + "), *(value.name for value in node.outputs)]))


def partition(
    graph: Graph,
    keep_float: Callable[[Node], bool],
    integer_io: bool,
    tied: Sequence[Sequence[str]] = (),
    rescaling: Collection[str] = (),
) -> Partition:
    """``keep_float`` says which nodes an option keeps in float; values that are ``tied`` share an encoding.
    ``rescaling`` are moves (:func:`key`) whose operands have encodings of their own."""
    builder = _Builder(graph, keep_float, integer_io, frozenset(rescaling))
    builder.flood()
    origins = builder.origins()
    inside, factors = builder.inside(origins)
    groups = builder.groups(builder.stored_values(inside), tied)
    return Partition(graph, frozenset(builder.integer), groups, builder.sources(groups), frozenset(inside), factors)


class _Builder:
    def __init__(
        self, graph: Graph, keep_float: Callable[[Node], bool], integer_io: bool, rescaling: frozenset[str]
    ) -> None:
        self.graph = graph
        self.integer_io = integer_io
        self.producers, self.uses = graph.producers(), graph.uses()
        self.outputs = {value.name for value in graph.outputs}
        self.roles = {key(node): Role.FLOAT if keep_float(node) else role_of(graph, node) for node in graph.nodes}
        self.roles.update((name, Role.GLUE) for name in rescaling if self.roles[name] is Role.MOVE)
        self.roles.update((name, Role.FLOAT) for name in self._tail())
        self.integer = {name for name, role in self.roles.items() if role is Role.CORE}

    # ------------------------------------------------------------ nodes

    def _tail(self) -> set[str]:
        """Nodes of one run-time operand each that lead to graph outputs only."""
        found: set[str] = set()
        for node in reversed(self.graph.nodes):
            users = [user for value in node.outputs for user in self.uses.get(value.name, ())]
            if len(activations(self.graph, node)) == 1 and all(key(user) in found for user in users):
                found.update([key(node)] if self._may_end(node) else ())
        return found

    def _may_end(self, node: Node) -> bool:
        if self.integer_io:
            return False
        return node.op in _TAIL_ANCHORS or node.op in _TAIL_VIEWS or OPS[node.op].kind is Kind.POINTWISE

    def flood(self) -> None:
        """Lets glue and moves become integer nodes, from neighbour to neighbour."""
        before = -1
        while before < len(self.integer):
            before = len(self.integer)
            for node in self.graph.nodes:
                if self.roles[key(node)] in (Role.MOVE, Role.GLUE) and self._is_drawn(node):
                    self.integer.add(key(node))

    def _is_drawn(self, node: Node) -> bool:
        """Whether integers are there already: an integer node makes or reads an operand, or reads a move's result."""
        operands = activations(self.graph, node)
        if any(self._is_made_of_integers(value) or self._is_read_as_integers(value) for value in operands):
            return True
        return self._is_move(node) and any(map(self._is_read_as_integers, node.outputs))

    def _is_made_of_integers(self, value: Value) -> bool:
        """By an integer node; the final states of recurrences (all results but the first) stay floats."""
        producer = self.producers.get(value.name)
        return producer is not None and key(producer) == value.name and value.name in self.integer

    def _is_read_as_integers(self, value: Value) -> bool:
        users = (user for user in self.uses.get(value.name, ()) if key(user) in self.integer)
        return any(value in activations(self.graph, user) for user in users)

    def _is_move(self, node: Node) -> bool:
        return self.roles[key(node)] is Role.MOVE

    def _is_pointwise(self, node: Node) -> bool:
        return key(node) in self.integer and OPS[node.op].kind is Kind.POINTWISE

    # ------------------------------------------------------------ units

    def origins(self) -> dict[str, str]:
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

    def inside(self, origin: Mapping[str, str]) -> tuple[set[str], dict[str, tuple[Value, float]]]:
        """Values inside units, and the values that are numbers times one of them."""
        inside = {name for name, start in origin.items() if name != start}
        behind: dict[str, list[Node]] = {}
        for node in filter(self._is_pointwise, self.graph.nodes):
            starts = self._starts(node, origin)
            if len(starts) == 1:
                behind.setdefault(starts.pop(), []).append(node)
        factors: dict[str, tuple[Value, float]] = {}
        for start, nodes in behind.items():
            producer = self._own_producer(start)
            if producer is None:
                continue
            factor = self._factor(nodes[0]) if len(nodes) == 1 and producer.op in _ACCUMULATING else None
            if factor is not None:
                factors[nodes[0].output.name] = activations(self.graph, nodes[0])[0], factor
            clamped = all(node.op in _CLAMPS for node in nodes)
            if factor is not None or clamped or self._is_scaled_normalization(producer, nodes):
                inside.add(start)
        return inside, factors

    def _own_producer(self, name: str) -> Node | None:
        """The integer node that makes a value for one reader only; not a move."""
        producer = self.producers.get(name)
        if producer is None or key(producer) not in self.integer or self._is_move(producer):
            return None
        return None if name in self.outputs or len(self.uses[name]) > 1 else producer

    def _is_scaled_normalization(self, producer: Node, nodes: Sequence[Node]) -> bool:
        """Whether nothing but a scale and a shift of each element follow, as layer normalization has them."""
        return producer.op in _NORMALIZATIONS and [node.op for node in nodes] in (["mul"], ["add"], ["mul", "add"])

    def _factor(self, node: Node) -> float | None:
        """c > 0 where the node is x * c or x / (1 / c) with a number c."""
        numbers = [self.graph.constant(value) for value in node.inputs]
        known = [number for number in numbers if number is not None and number.size == 1]
        if node.op not in ("mul", "div") or len(known) != 1 or (node.op == "div" and numbers[0] is not None):
            return None
        value = float(known[0].reshape(()))
        return None if not 1e-30 < value < 1e30 else value if node.op == "mul" else 1.0 / value

    # ------------------------------------------------------------ values

    def stored_values(self, inside: set[str]) -> set[str]:
        """Values that are quantized: what integer nodes read, what integer moves make, and an integer interface."""
        stored: set[str] = set()
        for node in self.graph.nodes:
            if key(node) in self.integer:
                made = node.outputs if self._is_move(node) else ()
                stored.update(v.name for v in (*activations(self.graph, node), *made) if v.name not in inside)
        if self.integer_io:
            stored.update(value.name for value in (*self.graph.inputs, *self.graph.outputs) if is_real(value))
        return stored

    def groups(self, stored: set[str], tied: Sequence[Sequence[str]]) -> dict[str, str]:
        """The stored values, each with the first member of its group."""
        order = [value.name for value in self.graph.values() if value.name in stored]
        first = {name: name for name in order}
        moves = [node for node in self.graph.nodes if key(node) in self.integer and self._is_move(node)]
        moved = [[v.name for v in (*activations(self.graph, node), *node.outputs)] for node in moves]
        for names in (*moved, *tied):
            joined = {first[name] for name in names if name in first}
            head = next((name for name in order if name in joined), "")
            first = {name: head if old in joined else old for name, old in first.items()}
        return first

    def sources(self, groups: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = dict.fromkeys(groups.values(), ())
        for name, head in groups.items():
            producer = self.producers.get(name)
            if producer is None or not (self._is_move(producer) and key(producer) in self.integer):
                found[head] = (*found[head], name)
        return found
