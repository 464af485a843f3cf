"""Carried values of a loop that no pass changes: what the body computes with is the value in front of the loop.

TensorFlow's loops carry all that their bodies read, weights among it. Known to be constant, these are laid out for
the products that read them, and a limit that is carried is known to be one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import onnx
from onnx import helper

from .scope import Bound, Results, Site


def without_invariants(site: Site) -> tuple[Site, Callable[[Results], Results]] | None:
    """The loop without the carried tensors that its body gives back as it is given them, and what puts them among its
    results; ``None`` where there are none."""
    graph = site.attributes["body"].g
    positions = _invariants(site, graph)
    if not positions:
        return None
    read = [helper.make_node("Identity", [site.node.input[2 + n]], [graph.input[2 + n].name]) for n in positions]
    inner = without_carried(site, positions, read)

    def completed(results: Results) -> Results:
        found: list[Bound] = list(results)
        for n in positions:
            if n < len(site.node.output):
                found.insert(n, site.bound(2 + n))
        return found

    return inner, completed


def without_carried(site: Site, positions: Sequence[int], front: Sequence[onnx.NodeProto]) -> Site:
    """The loop without the carried values of ``positions``, in ascending order; ``front`` are nodes that compute in
    front of its body what they are there."""
    node, body = onnx.NodeProto(), onnx.AttributeProto()
    node.CopyFrom(site.node)
    body.CopyFrom(site.attributes["body"])
    for n in reversed(positions):
        del node.input[2 + n], node.output[n : n + 1], body.g.input[2 + n], body.g.output[1 + n]
    own = [*front, *body.g.node]
    del body.g.node[:]
    body.g.node.extend(own)
    left = [n for n in range(len(site.node.input)) if n - 2 not in positions]
    lists = {new: site.lists[n] for new, n in enumerate(left) if n in site.lists}
    inputs = tuple(site.inputs[n] for n in left)
    return replace(site, node=node, attributes={**site.attributes, "body": body}, inputs=inputs, lists=lists)


def _invariants(site: Site, graph: onnx.GraphProto) -> list[int]:
    """Positions of such values among the carried ones, in ascending order."""
    carried = len(site.node.input) - 2
    if len(graph.input) != carried + 2 or len(graph.output) <= carried:
        return []
    passed_on = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity" and node.input[0]}
    inner = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    inner |= {name for node in graph.node for name in node.output}
    found = []
    for n in range(carried):
        name = graph.output[1 + n].name
        for _ in passed_on:
            name = passed_on.get(name, name)
        same = name == graph.input[2 + n].name and site.node.input[2 + n] not in inner
        if same and site.inputs[2 + n] is not None and 2 + n not in site.lists:
            found.append(n)
    return found
