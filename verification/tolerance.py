"""How far a compiled model may be from its reference."""

from __future__ import annotations

from ..driver import Compiled
from ..ops import int_recurrent
from ..ops.control import all_graphs
from ..ops.fused import inner_nodes


def default_tolerance(compiled: Compiled) -> float:
    """The relative L2 error that suits the precision, and recurrent layers in integers: the reference has them in
    floats."""
    kernels = (kernel for graph in all_graphs(compiled.optimized) for kernel in graph.nodes)
    in_integers = any(node.op in int_recurrent.GATES for kernel in kernels for node in inner_nodes(kernel))
    return max(compiled.source.options.precision.tolerance, int_recurrent.TOLERANCE if in_integers else 0.0)
