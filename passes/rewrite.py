"""What the passes share: walk a graph, let rules replace nodes, keep the rest.

A rule sees one node, whose operands are values of the new graph already, and returns what stands for its outputs, or
``None`` to leave the node as it is. What it emits goes before the node's users, so the order stays topological::

    def double_negation(rewriter: Rewriter, node: Node) -> Value | None:
        inner = rewriter.producer(node.inputs[0])
        return inner.inputs[0] if inner is not None and node.op == inner.op == "neg" else None

    graph = rewrite(graph, double_negation)

Values keep their names where a value still stands for the same tensor, and the graph's inputs and outputs always do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.types import TensorType
from ..ops.table import OPS, infer_types
from .eliminate_dead_code import eliminate_dead_code

Rule = Callable[["Rewriter", Node], "Value | Sequence[Value] | None"]
Pass = Callable[[Graph], Graph]


class Rewriter(GraphBuilder):
    """The graph under construction, in the order of the old one."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(infer_types, NameSupply.of(graph))
        self.graph = graph
        self.constants.update(graph.constants)
        self._replaced: dict[str, Value] = {}
        self._producers: dict[str, Node] = {}
        self._wanted: dict[str, str] = {}
        read = [*(value for node in graph.nodes for value in node.operands), *graph.outputs]
        self._uses = Counter(value.name for value in read)

    # What rules ask

    def producer(self, value: Value | None) -> Node | None:
        """The node that defines ``value``; ``None`` for inputs, constants and absent operands."""
        return None if value is None else self._producers.get(value.name)

    def array(self, value: Value | None) -> np.ndarray | None:
        """The array behind ``value`` if it is a constant."""
        return None if value is None else self.constants.get(value.name)

    def is_constant(self, value: Value) -> bool:
        return value.name in self.constants

    def used_once(self, value: Value) -> bool:
        """Whether one operand of one node, and no graph output, reads ``value``."""
        return self.uses(value) == 1

    def uses(self, value: Value) -> int:
        """How many operands and graph outputs read ``value``."""
        return self._uses[value.name]

    # What rules build with

    def constant(self, array: np.ndarray, stem: str = "const", type_: TensorType | None = None) -> Value:
        """Adds a constant; ``type_`` carries its quantization, if any."""
        value = super().constant(array, stem)
        self._wanted[value.name] = stem
        return value if type_ is None else replace(value, type=type_)

    def emit(
        self,
        op: str,
        inputs: Iterable[Value | None],
        attrs: Mapping[str, AttrValue] | None = None,
        *,
        loc: str = "",
        names: Iterable[str] | None = None,
    ) -> tuple[Value, ...]:
        stems = None if names is None else list(names)
        outputs = super().emit(op, inputs, attrs, loc=loc, names=stems)
        self._wanted.update((value.name, stem) for value, stem in zip(outputs, stems or ()))
        self._define(self.nodes[-1])
        return outputs

    def like(self, node: Node, *inputs: Value | None, **attrs: AttrValue) -> Value:
        """``node`` once more, on other operands and with some attributes changed."""
        return self.emit(node.op, inputs, {**node.attrs, **attrs}, loc=node.loc, names=[node.output.name])[0]

    def keep(self, node: Node) -> None:
        self.nodes.append(node)
        self._define(node)

    # The walk

    def visit(self, node: Node, rules: Sequence[Rule]) -> None:
        """Applies the first rule that has something to say about ``node``, or keeps it."""
        node = self._resolved(node)
        start = len(self.nodes)
        for rule in rules:
            results = rule(self, node)
            if results is not None:
                self._replace(node, (results,) if isinstance(results, Value) else tuple(results), start)
                break
        else:
            self.keep(node)
        self._uses.subtract(value.name for value in node.operands)

    def resolve(self, value: Value) -> Value:
        """What stands for a value of the old graph."""
        return self._replaced.get(value.name, value)

    def finish(self) -> Graph:
        """The new graph, without what became unused."""
        taken = {value.name for value in (*self.graph.inputs, *self.graph.outputs)}
        outputs = tuple(self._output(value, taken) for value in self.graph.outputs)
        graph = replace(self.graph, outputs=outputs, nodes=tuple(self.nodes), constants=self.constants)
        return self._restore_names(eliminate_dead_code(graph))

    def _resolved(self, node: Node) -> Node:
        """``node`` on what stands for its operands; where that has other types (a quantization that was lost), its
        outputs have those that follow."""
        if self._replaced.keys().isdisjoint(value.name for value in node.operands):
            return node
        inputs = tuple(None if value is None else self.resolve(value) for value in node.inputs)
        outputs = node.outputs
        if node.op in OPS and [value.type for value in inputs if value is not None] != [v.type for v in node.operands]:
            types = infer_types(node.op, inputs, node.attrs, node.loc)
            outputs = tuple(replace(value, type=type_) for value, type_ in zip(outputs, types, strict=True))
            self._replaced.update((old.name, new) for old, new in zip(node.outputs, outputs) if old.type != new.type)
        return replace(node, inputs=inputs, outputs=outputs)

    def _define(self, node: Node) -> None:
        self._producers.update((value.name, node) for value in node.outputs)
        self._uses.update(value.name for value in node.operands)

    def _replace(self, node: Node, results: tuple[Value, ...], start: int) -> None:
        """Lets ``results`` stand for the node's outputs; those made for it (from ``start`` on) take the name."""
        made = {value.name for new in self.nodes[start:] for value in new.outputs}
        for old, new in zip(node.outputs, results, strict=True):
            if (old.shape, old.dtype) != (new.shape, new.dtype):
                raise TypeError(f"{node.op} {node.loc}: {old.name} is {old.type}, its replacement is {new.type}")
            if new.name in made:
                self._wanted[new.name] = old.name
            self._replaced[old.name] = new
            if new.name != old.name:
                self._uses[new.name] += self._uses[old.name]

    def _output(self, old: Value, taken: set[str]) -> Value:
        """The value for a graph output. It must have its own name, so what has another name already (inputs, constants,
        other outputs: ``taken``) is passed on by a reshape that changes nothing."""
        new = self.resolve(old)
        if new.name == old.name or (new.name not in taken and new.name in self._producers):
            self._wanted[new.name] = old.name
            taken.add(new.name)
            return new
        loc = next(node.loc for node in self.graph.nodes if old in node.outputs)
        copy = Value(self.names.fresh(old.name), new.type)
        self.keep(Node("reshape", (new,), (copy,), {"shape": copy.shape}, loc))
        self._wanted[copy.name] = old.name
        return copy

    def _restore_names(self, graph: Graph) -> Graph:
        """Gives new values the names they were made for, where those are free now."""
        defined = [*(value.name for value in graph.values()), *graph.constants]
        wanted = {value.name: self._wanted[value.name] for value in graph.outputs if value.name in self._wanted}
        taken = {*defined, *wanted.values()}
        renamed = {name: stem for name, stem in wanted.items() if name != stem}
        for name in defined:
            stem = self._wanted.get(name, name)
            if stem not in taken and name not in wanted:
                renamed[name] = stem
                taken.add(stem)
        return rename(graph, renamed) if renamed else graph


def rewrite(graph: Graph, *rules: Rule) -> Graph:
    """One walk over ``graph``; at each node the first rule that returns something wins."""
    rewriter = Rewriter(graph)
    for node in graph.nodes:
        rewriter.visit(node, rules)
    return rewriter.finish()


def rename(graph: Graph, names: Mapping[str, str]) -> Graph:
    """``graph`` with values renamed, old name to new."""

    def renamed(value: Value) -> Value:
        return replace(value, name=names[value.name]) if value.name in names else value

    def with_names(node: Node) -> Node:
        if names.keys().isdisjoint(value.name for value in (*node.operands, *node.outputs)):
            return node
        inputs = tuple(None if value is None else renamed(value) for value in node.inputs)
        return replace(node, inputs=inputs, outputs=tuple(renamed(value) for value in node.outputs))

    nodes = [with_names(node) for node in graph.nodes]
    constants = {names.get(name, name): array for name, array in graph.constants.items()}
    return graph.with_nodes(nodes, outputs=tuple(renamed(value) for value in graph.outputs), constants=constants)


def until_stable(graph: Graph, step: Pass, limit: int = 20) -> Graph:
    """Repeats ``step`` until it changes nothing, ``limit`` times at most."""
    for _ in range(limit):
        result = step(graph)
        if (result.nodes, result.outputs) == (graph.nodes, graph.outputs):
            break
        graph = result
    return graph
