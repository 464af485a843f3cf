"""What passes share about control flow: they go into the graphs of ``if`` and ``loop`` first."""

from __future__ import annotations

from dataclasses import replace

from ..ir.graph import Graph, NameSupply, Node
from ..ops.control import BODIES, bodies_of
from .rewrite import Pass, rename


def in_bodies(run: Pass) -> Pass:
    """The pass that applies ``run`` to the innermost graphs first, and to the graph itself last."""

    def everywhere(graph: Graph) -> Graph:
        if any(node.op in BODIES for node in graph.nodes):
            graph = graph.with_nodes(_with_bodies(node, everywhere) for node in graph.nodes)
        return run(graph)

    return everywhere


def _with_bodies(node: Node, run: Pass) -> Node:
    changed = {name: run(body) for name, body in bodies_of(node)}
    return node.with_attrs(**changed) if changed else node


def name_apart(graph: Graph) -> Graph:
    """``graph`` with values of graphs of control flow renamed where the name stands for another value elsewhere:
    buffers of the program are named after them."""
    if not any(node.op in BODIES for node in graph.nodes):
        return graph
    names = NameSupply.of(graph)
    return graph.with_nodes(_with_bodies(node, lambda body: _apart(body, names)) for node in graph.nodes)


def _apart(body: Graph, names: NameSupply) -> Graph:
    kernels = [kernel for node in body.nodes if isinstance(kernel := node.attrs.get("body"), Graph)]
    own = [name for graph in (body, *kernels) for name in (*(value.name for value in graph.values()), *graph.constants)]
    found = {name: names.fresh(name) for name in dict.fromkeys(own)}
    body = _renamed(body, {old: new for old, new in found.items() if old != new})
    return body.with_nodes(_with_bodies(node, lambda inner: _apart(inner, names)) for node in body.nodes)


def _renamed(graph: Graph, names: dict[str, str]) -> Graph:
    """With the kernels of the graph, whose values are called as those around them."""
    inputs = tuple(replace(value, name=names.get(value.name, value.name)) for value in graph.inputs)
    graph = rename(graph, names)
    nodes = [
        node.with_attrs(body=_renamed(kernel, names)) if isinstance(kernel := node.attrs.get("body"), Graph) else node
        for node in graph.nodes
    ]
    return graph.with_nodes(nodes, inputs=inputs)
