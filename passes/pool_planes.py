"""Pooling between transposes pools the channels of the images as images of one channel, which are there already.

::

    t = transpose(x[N, C, H, W], (0, 2, 3, 1))        p = pool(reshape(x, [N * C, H, W, 1]))
    y = transpose(pool(t), (0, 3, 1, 2))         ->   y = reshape(p, [N, C, OH, OW])

No element moves then. Bytes stay as they are: machines without vectors have instructions for several channels of them.
"""

from __future__ import annotations

from math import prod

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import ints
from .rewrite import Rewriter, rewrite
from .views import Perm, inverse, reshape

MOST_STRIDE = 2
"""Columns apart at most: lanes that lie farther apart are dearer to gather than images are to transpose."""
LEAST_COLUMNS = 32
"""In a row of an image, of which fewer do not keep vectors busy."""
FEW_CHANNELS = 8
"""With fewer channels, lanes of them would be no better."""


def pool_planes(graph: Graph) -> Graph:
    """The graph with pools of one channel in the place of those whose operand and only result are transposed."""
    return rewrite(graph, _pooled)


def _pooled(rewriter: Rewriter, node: Node) -> Value | None:
    if node.op != "transpose":
        return None
    pooled, rank = node.operands[0], len(node.output.shape)
    last: Perm = (0, *range(2, rank), 1)
    pool = rewriter.producer(pooled)
    if ints(node.attrs, "perm") != inverse(last) or pool is None or pool.op != "pool" or not rewriter.used_once(pooled):
        return None
    before = rewriter.producer(pool.operands[0])
    if before is None or before.op != "transpose" or ints(before.attrs, "perm") != last or not _is_worth_it(pool):
        return None
    x = before.operands[0]
    planes = reshape(rewriter, x, (prod(x.shape[:2]), *x.shape[2:], 1), loc=pool.loc)
    return reshape(rewriter, rewriter.like(pool, planes), node.output.shape, loc=pool.loc, name=node.output.name)


def _is_worth_it(pool: Node) -> bool:
    *_, columns, channels = pool.operands[0].shape
    if pool.attrs["layout"] != "channels_last" or not pool.output.dtype.is_float:
        return False
    return channels < FEW_CHANNELS or (ints(pool.attrs, "stride")[-1] <= MOST_STRIDE and columns >= LEAST_COLUMNS)
