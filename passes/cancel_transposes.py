"""Moves transposes until they meet and cancel.

A transpose sinks through the operators behind it (``sink_transposes``) and merges with the next one. Where an operator
has operands in several layouts, or a transposed value has several users, sinking may cost more than it saves; then a
local search over the operators' layouts finds the cheaper way. The cost is the number of elements that the remaining
transposes move at run time.
"""

from __future__ import annotations

from ..ir.graph import Graph
from ..ops.attributes import ints
from .eliminate_common_subexpressions import eliminate_common_subexpressions
from .sink_transposes import Plan, Sinker, lets_pass
from .views import Perm, inverse

TRIALS = 64
"""Layout changes that the search tries at most."""
VISITS = 12_800
"""Nodes that the search looks at, each trial at all of the graph, before it gives up: its time is bounded whatever the
graph."""


def cancel_transposes(graph: Graph) -> Graph:
    """The graph with fewer transposed elements, or as many. Values are the same up to the order of sums."""
    best, choices = _sunk(graph, {})
    plan: Plan = {}
    trials = min(TRIALS, VISITS // max(len(graph.nodes), 1))
    improved = True
    while improved and trials > 0 and _may_vanish(best):
        improved = False
        for name, perm in _alternatives(best, choices)[:trials]:
            trials -= 1
            attempt, attempted = _sunk(graph, {**plan, name: perm})
            if transposed_elements(attempt) < transposed_elements(best):
                best, choices, plan, improved = attempt, attempted, {**plan, name: perm}, True
                break
    return best if transposed_elements(best) <= transposed_elements(graph) else graph


def transposed_elements(graph: Graph) -> int:
    """What the transposes of a graph cost."""
    return sum(node.output.type.size for node in graph.nodes if node.op == "transpose")


def _may_vanish(graph: Graph) -> bool:
    """Whether there is a transpose beside an operator that it could pass; between others it stays whatever is done."""
    producers, uses = graph.producers(), graph.uses()
    for node in graph.nodes:
        if node.op == "transpose":
            before = producers.get(node.operands[0].name)
            neighbours = [*uses.get(node.output.name, ()), *((before,) if before is not None else ())]
            if any(map(lets_pass, neighbours)):
                return True
    return False


def _sunk(graph: Graph, plan: Plan) -> tuple[Graph, dict[str, tuple[Perm, tuple[Perm, ...]]]]:
    sinker = Sinker(plan)
    return eliminate_common_subexpressions(sinker.run(graph)), sinker.chosen


def _alternatives(best: Graph, choices: dict[str, tuple[Perm, tuple[Perm, ...]]]) -> list[tuple[str, Perm]]:
    """Changes of one node's layout: to another that its operands offer, or to the one its user transposes it to."""
    found = [(name, perm) for name, (chosen, offers) in choices.items() for perm in offers if perm != chosen]
    for node in best.nodes:
        name = node.inputs[0].name if node.op == "transpose" and node.inputs[0] is not None else None
        if name in choices:
            perm = inverse(ints(node.attrs, "perm"))
            if choices[name][0] != perm and len(choices[name][0]) == len(perm):
                found.append((name, perm))
    return found
