"""The order of a graph's nodes, and which names are read at all, also through subgraphs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush

import onnx


def names_read(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node and the subgraphs in its attributes read; those that a subgraph itself defines too."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield from current.input
        for attribute in current.attribute:
            for graph in (attribute.g, *attribute.graphs):
                waiting += graph.node
                yield from (output.name for output in graph.output)


def in_order(nodes: Sequence[onnx.NodeProto]) -> Sequence[int]:
    """The numbers of the nodes, each behind those whose results it reads.

    ONNX demands that order, but some exporters do not keep it. What is ready comes in the order of the model. Where
    nodes depend on each other in a circle, all keep their places.
    """
    producers: dict[str, int] = {}
    for number, node in enumerate(nodes):
        for name in node.output:
            producers.setdefault(name, number)
    producers.pop("", None)
    needed = [{producers[name] for name in names_read(node) if name in producers} for node in nodes]
    if all(max(before, default=-1) < number for number, before in enumerate(needed)):
        return range(len(nodes))
    order = _sorted(needed)
    return order if len(order) == len(nodes) else range(len(nodes))


def _sorted(needed: Sequence[Collection[int]]) -> list[int]:
    """Kahn's algorithm, the least number first; what is part of a circle or behind one is left out."""
    users: list[list[int]] = [[] for _ in needed]
    missing = [len(before) for before in needed]
    for number, before in enumerate(needed):
        for producer in before:
            users[producer].append(number)
    ready = [number for number, count in enumerate(missing) if count == 0]
    heapify(ready)
    order = []
    while ready:
        number = heappop(ready)
        order.append(number)
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                heappush(ready, user)
    return order
