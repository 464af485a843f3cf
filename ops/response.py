"""What the readers of a tensor make of its elements, where each of them computes a function of one element alone.

A sigmoid does not tell 12 from 20, nor a hard swish -3 from -9. Steps of a byte that lie there are lost, and an error
counts by what it changes in the results: ``f(x + e) - f(x)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import partial

import numpy as np

from ..ir.graph import Graph, Node
from ..record import record
from .opdef import Kind
from .table import OPS

Function = Callable[[np.ndarray], np.ndarray]
"""``[n]`` to ``[results, n]``."""

_UNNOTICED = 1 / 8
"""Of a step of a byte of the results: a change that nobody sees."""
_POINTS = 1 << 12


@record
class Response:
    """The ``function``, which the nodes compute whose first outputs are ``by``."""

    by: tuple[str, ...]
    function: Function = field(compare=False)

    def is_finite(self, low: float, high: float) -> bool:
        """Whether elements from ``low`` to ``high`` and somewhat further have finite results."""
        return bool(np.isfinite(self.function(np.linspace(2 * low, 2 * high, _POINTS))).all())

    def limits(self, low: float, high: float) -> tuple[float, float]:
        """Numbers beyond which results no longer change, for elements from ``low`` to ``high`` and somewhat further;
        infinite where they go on changing."""
        places = np.linspace(2 * low, 2 * high, _POINTS)
        results = self.function(places)
        noticed = _UNNOTICED / 255 * np.ptp(results, axis=1, keepdims=True)
        apart = [(np.abs(results - results[:, [end]]) > noticed).any(axis=0) for end in (0, -1)]
        if not apart[0].any():
            return 0.0, 0.0
        lowest = float(places[np.argmax(apart[0]) - 1])
        highest = float(places[_POINTS - np.argmax(apart[1][::-1])])
        return (min(0.0, lowest) if lowest > low else -np.inf), (max(0.0, highest) if highest < high else np.inf)


def response(
    graph: Graph, members: Collection[str], may_follow: Callable[[Node], bool], is_passed_on: Callable[[str], bool]
) -> Response | None:
    """What the readers of ``members``, values that are stored alike, make of them; ``None`` where one of them computes
    with several elements, or one that may not follow, or where a member is an output of the graph. What comes behind a
    result is part of the function where that ``is_passed_on``, and no output."""
    outputs = {value.name for value in graph.outputs}
    if not outputs.isdisjoint(members):
        return None
    chain, inside, ends = list[Node](), set(members), list[str]()
    for node in graph.nodes:
        if node.outputs[0].name in members or not any(value.name in inside for value in node.operands):
            continue
        if not (may_follow(node) and _is_of_one_element(graph, node, inside)):
            return None
        chain.append(node)
        if is_passed_on(node.output.name) and node.output.name not in outputs:
            inside.add(node.output.name)
        else:
            ends.append(node.output.name)
    if not ends:
        return None
    function = partial(_evaluated, chain, graph.constants, members, ends)
    return Response(tuple(node.outputs[0].name for node in chain), function)


def _is_of_one_element(graph: Graph, node: Node, inside: set[str]) -> bool:
    others = (value for value in node.operands if value.name not in inside)
    numbers = all(value.name in graph.constants and value.type.size == 1 for value in others)
    return OPS[node.op].kind is Kind.POINTWISE and numbers and len(node.outputs) == 1


def _evaluated(
    chain: Sequence[Node], constants: Mapping[str, np.ndarray], starts: Collection[str], ends: Sequence[str],
    x: np.ndarray,
) -> np.ndarray:  # fmt: skip
    known = dict.fromkeys(starts, x)
    for node in chain:
        operands = [
            None if value is None else known[value.name] if value.name in known else constants[value.name].reshape(())
            for value in node.inputs
        ]  # fmt: skip
        with np.errstate(all="ignore"):
            (known[node.output.name],) = OPS[node.op].evaluate(operands, node.attrs)
    return np.stack([known[name].astype(np.float64) for name in ends])
