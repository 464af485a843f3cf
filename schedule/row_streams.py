"""Which values go from one kernel to the next a few rows at a time: those that the second cache would not keep.

The kernels on both sides of such a value are made as loops over its rows; :mod:`..program.streams` joins them, with a
buffer of a few rows in the place of the value. What products of rows alone hand on is for :mod:`.row_chains`, which
needs no order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType
from ..ops.fused import body_of
from ..ops.opdef import Kind
from ..ops.table import OPS
from ..targets.target import Cpu

LEAST = 1
"""The share of the second cache beyond which a result is not there any more when it is read."""
MOST_WEIGHTS = 1 / 8
"""The share of the second cache that may be taken by the weights of a kernel, which are read again for every row."""
IMAGE_RANK = 4
"""The rank of images, whose rows have pixels enough for a block of registers."""


def streamed_values(graph: Graph, cpu: Cpu, goes_by_rows: Callable[[Node], bool]) -> frozenset[str]:
    """The values that the next kernel reads as soon as there are rows of them, where kernels of both nodes go by rows.
    Where extents are told by a run there are none: their loops end early."""
    if not cpu.caches or graph.extents or graph.states:
        return frozenset()
    found = set()
    for node, following in pairwise(graph.nodes):
        value = node.outputs[0]
        handed_on = any(operand.name == value.name for operand in following.operands)
        if not handed_on or not _is_large_image(value, cpu):
            continue
        if all(_fits(each, cpu) and goes_by_rows(each) for each in (node, following)):
            found.add(value.name)
    return frozenset(found)


def _is_large_image(value: Value, cpu: Cpu) -> bool:
    shape = value.shape
    if value.dtype is not DType.F32 or len(shape) != IMAGE_RANK or shape[0] != 1:
        return False
    return value.type.nbytes > cpu.caches[0].size * LEAST


def _fits(node: Node, cpu: Cpu) -> bool:
    """Whether a node moves nothing to other rows, and the caches hold what all rows read."""
    if node.op != "fused" or len(node.outputs) != 1:
        return False
    inner = body_of(node.attrs).nodes
    if any(OPS[each.op].kind not in (Kind.ANCHOR, Kind.POINTWISE) for each in inner):
        return False
    products = (each for each in inner if each.op in ("conv", "conv_transpose", "matmul"))
    weights = (value for each in products for value in each.inputs[1:] if value is not None)
    return sum(value.type.nbytes for value in weights) <= cpu.caches[0].size * MOST_WEIGHTS
