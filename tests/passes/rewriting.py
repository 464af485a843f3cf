"""``assert_rewrites``: a pass test is a graph before, the graph expected after, and the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from ccml.ir.graph import AttrValue, Graph, Node
from ccml.ir.graph_text import parse_graph, print_graph
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.rewrite import rename


def assert_rewrites(
    run: Callable[[Graph], Graph], before: str, expected: str | None = None, *, tolerance: float = 0.0
) -> Graph:
    """Runs a pass on the text ``before``; the result must be ``expected`` but for the names of inner values.

    Without ``expected`` the graph must stay as it is. Locations count where the expected text has some. Both graphs
    must give the same outputs: the same bits, or within ``tolerance`` of the output's largest magnitude.
    """
    graph = parse_graph(before)
    verify_graph(graph)
    result = run(graph)
    verify_graph(result)
    wanted = parse_graph(expected or before)
    with_locs = "@" in (expected or "")
    assert print_graph(canonical(result, with_locs)) == print_graph(canonical(wanted, with_locs)), print_graph(result)
    assert_same_meaning(graph, result, tolerance)
    return result


def assert_same_meaning(before: Graph, after: Graph, tolerance: float = 0.0, seed: int = 0) -> None:
    """Both graphs have the same signature and give the same outputs on random inputs."""
    assert [(v.name, v.type) for v in before.inputs] == [(v.name, v.type) for v in after.inputs]
    assert [(v.name, v.shape, v.dtype) for v in before.outputs] == [(v.name, v.shape, v.dtype) for v in after.outputs]
    inputs = random_inputs(before, seed)
    wanted, got = evaluate_graph(before, inputs), evaluate_graph(after, inputs)
    for value in before.outputs:
        expected, actual = wanted[value.name], got[value.name]
        if tolerance == 0:
            assert expected.tobytes() == actual.tobytes(), (value.name, expected, actual)
        else:
            allowed = tolerance * float(np.max(np.abs(expected), initial=1e-6))
            np.testing.assert_allclose(actual, expected, rtol=0, atol=allowed, err_msg=value.name)


def random_inputs(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Values around zero, with zeros of both signs among the floats."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in graph.inputs:
        array = rng.standard_normal(value.shape) * 3
        if value.dtype.is_float:
            array = np.where(rng.random(value.shape) < 0.1, rng.choice([0.0, -0.0], value.shape), array)
        low = 0 if not value.dtype.is_signed else -100
        arrays[value.name] = np.clip(array, low, 100).astype(value.dtype.numpy)
    return arrays


def canonical(graph: Graph, with_locs: bool, *, nested: bool = False) -> Graph:
    """The graph with inner values named by their order, constants in the order of use, and attributes sorted."""
    used = [value.name for node in graph.nodes for value in node.operands] + [value.name for value in graph.outputs]
    constants = list(dict.fromkeys(name for name in used if name in graph.constants))
    names = {name: f"c{position}" for position, name in enumerate(constants)}
    fixed = set() if nested else {value.name for value in (*graph.inputs, *graph.outputs)}
    inner = [value.name for value in graph.values() if value.name not in fixed]
    names |= {name: f"v{position}" for position, name in enumerate(inner)}
    nodes = [_canonical_node(node, with_locs) for node in graph.nodes]
    ordered = {name: graph.constants[name] for name in constants}
    return rename(replace(graph, name="graph", nodes=tuple(nodes), constants=ordered), names)


def _canonical_node(node: Node, with_locs: bool) -> Node:
    attrs: dict[str, AttrValue] = {
        name: canonical(value, with_locs, nested=True) if isinstance(value, Graph) else value
        for name, value in sorted(node.attrs.items())
    }
    return replace(node, attrs=attrs, loc=node.loc if with_locs else "")
