"""Replaces single operators, and pairs of them, by cheaper ones of the same meaning.

The rules stand in seven files, by kind of operator. Each states the algebra it rests on and why the bits stay the same,
or why another rounding is allowed: a rule may be *more* accurate than what it replaces, never less.
"""

from __future__ import annotations

from ..ir.graph import Graph
from .rewrite import rewrite
from .simplify_anchors import ANCHOR_RULES
from .simplify_control import CONTROL_RULES
from .simplify_dequantized import DEQUANTIZED_RULES
from .simplify_normalization import NORMALIZATION_RULES
from .simplify_pointwise import POINTWISE_RULES
from .simplify_trees import TREE_RULES
from .simplify_views import VIEW_RULES


def simplify(graph: Graph) -> Graph:
    """One walk with all rules. Run it until nothing changes: rules open the way for others."""
    anchors = (*NORMALIZATION_RULES, *ANCHOR_RULES, *TREE_RULES)
    return rewrite(graph, *DEQUANTIZED_RULES, *VIEW_RULES, *POINTWISE_RULES, *anchors, *CONTROL_RULES)
