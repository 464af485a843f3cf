"""A fused node as a program of its own, whose kernel is that of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, NameSupply, Node, Value
from ..ir.loops import Kernel
from ..ir.program import Program, Storage
from ..program.build import lower_graph
from ..program.goal import Goal
from ..record import record
from ..schedule.decision import Decision, kernel_key
from ..schedule.kernel import KernelContext
from ..schedule.machine_operators import in_terms_of
from ..targets import Machine

_ALONE = Goal()


@record
class Single:
    """A fused node of ``graph``, its ``key`` and how many nodes of the model share it, by the names of their layers."""

    node: Node
    graph: Graph
    key: str
    layers: tuple[str, ...]

    def context(self, machine: Machine) -> KernelContext:
        """What generators look at."""
        return KernelContext(self.node, machine.cpu, {}, self.graph.constant)

    def lower(self, machine: Machine, decision: Decision | None, *, surrounded: bool = True) -> Program:
        """The program of the node alone, by ``decision`` or as the cost model has it.

        ``surrounded``: between copies of its operands and of its results, so that its tensors lie in memory as those of
        a model do, with borders where its loops rely on them.
        """
        graph = _surrounded(self.node, self.graph) if surrounded else _alone(self.node, self.graph)
        tuned = {} if decision is None else {self.key: decision}
        return lower_graph(graph, machine, replace(_ALONE, tuned=tuned))


@record
class Timed:
    """A kernel, and the numbers of those of its parameters that are constants."""

    kernel: Kernel
    constants: tuple[int, ...]


def singles(graph: Graph, machine: Machine) -> list[Single]:
    """The fused nodes of an optimized graph, equal ones once, in the order of the first."""
    found: dict[str, Single] = {}
    for node, inside in _fused(in_terms_of(graph, machine)):
        key = kernel_key(node, machine, inside.constant)
        known = found.get(key, Single(node, inside, key, ()))
        found[key] = replace(known, layers=(*known.layers, node.loc))
    return list(found.values())


def kernel_of(program: Program, node: Node) -> Timed:
    """The kernel of a node that was lowered surrounded."""
    call = next(call for call in program.calls if call.loc == node.loc)
    kernel = next(kernel for kernel in program.kernels if kernel.name == call.kernel)
    storages = [program.buffers[name].storage for name in call.args]
    return Timed(kernel, tuple(number for number, each in enumerate(storages) if each is Storage.CONSTANT))


def _fused(graph: Graph) -> Iterator[tuple[Node, Graph]]:
    """All fused nodes with the graph that holds them, those of control flow as well."""
    for node in graph.nodes:
        if node.op == "fused":
            yield node, graph
            continue
        for value in node.attrs.values():
            if isinstance(value, Graph):
                yield from _fused(value)


def _alone(node: Node, graph: Graph) -> Graph:
    inputs = tuple(value for value in dict.fromkeys(node.operands) if value.name not in graph.constants)
    return Graph("alone", inputs, node.outputs, (node,), _constants(node, graph))


def _surrounded(node: Node, graph: Graph) -> Graph:
    names = NameSupply([value.name for value in (*node.operands, *node.outputs)])
    read = [value for value in dict.fromkeys(node.operands) if value.name not in graph.constants]
    inputs = {value: Value(names.fresh("given"), value.type) for value in read}
    results = {value: Value(names.fresh("result"), value.type) for value in node.outputs}
    before = [_copy(source, value) for value, source in inputs.items()]
    behind = [_copy(value, result) for value, result in results.items()]
    nodes = (*before, node, *behind)
    return Graph("alone", tuple(inputs.values()), tuple(results.values()), nodes, _constants(node, graph))


def _copy(source: Value, result: Value) -> Node:
    copied = Node("expand", (source,), (result,), {"shape": source.shape})
    return Node("fused", (source,), (result,), {"body": Graph("copy", (source,), (result,), (copied,))}, "copy")


def _constants(node: Node, graph: Graph) -> dict[str, np.ndarray]:
    return {value.name: graph.constants[value.name] for value in node.operands if value.name in graph.constants}
