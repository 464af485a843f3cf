"""Inputs that the model standardizes itself: columns of a table in units of their own, each less its mean and divided
by its deviation. Folding that into the first layer's weights would have all columns stored with one step, that of the
widest column; left in front of the layer, it gives what is stored like ranges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.graph import Graph, Node
from ..ops.stacked import Operand, evaluate_node
from ..passes.fold_affine import AFFINE, CONTRACTIONS
from ..samples import Samples

_WORTH = 4.0
"""How many times less noise makes up for arithmetic on floats."""


def standardized(graph: Graph, samples: Samples) -> frozenset[str]:
    """The values that affine operators make of inputs, and that contractions should read as they are: the first layer's
    part of the noise is :data:`_WORTH` times less than if it read the input instead."""
    chains = {value.name: _chain(graph, value.name) for value in graph.inputs if value.dtype.is_float}
    worth = (chain for name, chain in chains.items() if chain and _is_worth(graph, chain, samples.inputs[name]))
    return frozenset(chain[-1].output.name for chain in worth)


def _chain(graph: Graph, name: str) -> list[Node]:
    """Operators with a constant each from an input to a contraction, if there are such."""
    uses, chain = graph.uses(), list[Node]()
    while len(users := uses.get(name, [])) == 1:
        (node,) = users
        if node.op in CONTRACTIONS:
            return chain if node.inputs[0] is not None and node.inputs[0].name == name else []
        others = [value for value in node.operands if value.name != name]
        if node.op not in AFFINE or any(value.name not in graph.constants for value in others):
            return []
        chain.append(node)
        name = node.output.name
    return []


def _is_worth(graph: Graph, chain: Sequence[Node], x: np.ndarray) -> bool:
    """By the squares of the steps: that of the input, as it is behind the operators, and that of their result."""
    x = np.asarray(x, np.float32)
    zero, one = (_behind(graph, chain, np.full_like(x[:1], number)) for number in (0.0, 1.0))
    factors = (one - zero).astype(np.float64)
    before = _width(x) ** 2 * np.square(factors).mean()
    return bool(before > _WORTH * _width(_behind(graph, chain, x)) ** 2)


def _behind(graph: Graph, chain: Sequence[Node], x: np.ndarray) -> np.ndarray:
    """What the operators make of ``x[samples, ...]``."""
    for node in chain:
        operands = [
            Operand(graph.constants[value.name], False) if value.name in graph.constants else Operand(x, True)
            for value in node.operands
        ]
        (x,) = evaluate_node(node, operands, len(x))
    return x


def _width(x: np.ndarray) -> float:
    """Of the range of values and 0."""
    return float(max(x.max(initial=0.0), 0.0) - min(x.min(initial=0.0), 0.0))
