"""Places of elements in the order of integers, which is that of the floats that they stand for."""

from __future__ import annotations

import numpy as np

from ...ir.graph import Node, Value
from .forms import State

PLACES = ("arg_reduce", "top_k")
"""Operators whose results are places alone."""

_LEAST_SCALE = float(np.finfo(np.float32).tiny)
"""From here on, different integers of 16 bits are different floats."""


def places(state: State, node: Node) -> Value | None:
    """The same operator on integers of one scale."""
    stored = state.stored(node.operands[0])
    if stored is None or not stored.per_tensor or float(stored.scale[0]) < _LEAST_SCALE:
        return None
    if state.rewriter.is_constant(stored.value):
        return None
    return state.rewriter.like(node, stored.value, *node.operands[1:])
