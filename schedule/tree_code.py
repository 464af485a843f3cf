"""Trees as code: a branch for each node, with the threshold as a literal.

An ensemble of a few hundred nodes takes fewer instructions so than by tables, a load, a comparison and a branch for
each node that a row passes, and where thresholds are literals little more memory. What a row comes to is the number
of the leaf, whose weights stand in a table, or the weight itself where leaves have one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..ir.build import convert, gt, store
from ..ir.loops import INDEX, Alloc, Block, Buffer, Const, Expr, If, Type, as_expr, const
from ..ir.types import DType
from ..ops.nest_tools import Lets, loops, operand, optional, register
from ..ops.trees_nest import Totals
from .generic import NestAdapter
from .kernel import KernelContext

MAX_NODES = 1024
"""With more, the code of an ensemble is much larger than its tables."""

MAX_DEPTH = 40
"""Compilers have limits for nested blocks; C promises 127."""

MAX_REGISTERS = 4
"""Totals of so many targets are in registers."""

_BYTE = 256
"""Below it a literal is part of an instruction on every core."""


def is_tree_code(ctx: KernelContext) -> bool:
    """Whether the ensemble is constant and small."""
    node = ctx.anchor
    assert node is not None
    tables = [ctx.constant(operand) for operand in node.operands[1:]]
    if any(table is None for table in tables):
        return False
    child, root, depth = tables[2], tables[3], tables[4]
    assert child is not None and root is not None and depth is not None
    within = len(child) <= MAX_NODES and int(depth.max()) <= MAX_DEPTH
    return within and sum(1 for _ in _visits(child, root, MAX_NODES + 1)) <= MAX_NODES


def _visits(child: np.ndarray, root: np.ndarray, limit: int) -> Iterator[int]:
    """The nodes, ``limit`` at most, in the order of the code: those with several parents occur several times."""
    stack = [int(place) for place in root]
    while stack and limit:
        place = stack.pop()
        if place >= 0:
            yield place
            stack += child[place].tolist()
            limit -= 1


def lower_tree_code(ctx: KernelContext) -> Block:
    """The trees one after the other, for each row."""
    return _Code(ctx).rows()


class _Code:
    def __init__(self, ctx: KernelContext) -> None:
        node = ctx.anchor
        assert node is not None
        arrays = [ctx.constant(operand(node, n)) for n in range(1, 7)]
        self.column, self.threshold, self.child, self.root, _, self.value = (np.asarray(array) for array in arrays)
        self.node, self.nest = node, NestAdapter(ctx)
        self.target = ctx.constant(optional(node, 8))
        self.literal = self.value.shape[1] == 1 and self._weights_are_literals()
        self.leaf_type = operand(node, 7).dtype if self.literal else DType.I32

    def _weights_are_literals(self) -> bool:
        """Numbers of leaves are smaller than weights, but weights need no table: that pays where few are equal."""
        leaves = int((self.child < 0).sum())
        small = self.value.dtype.kind != "f" and int(np.abs(self.value.astype(np.int64)).max()) < _BYTE
        return small or len(self.value) > _BYTE or leaves < 2 * len(self.value)

    def rows(self) -> Block:
        keys = operand(self.node, 0)

        def row(n: Expr) -> Block:
            totals = Totals(self.nest, self.node, MAX_REGISTERS)
            out = list(totals.start())
            for tree, root in enumerate(self.root.tolist()):
                out.extend(self.tree(n, tree, root, totals))
            return (*out, *totals.write(n))

        return loops(self.nest, ("n",), keys.shape[:1], lambda index: row(index[0]))

    def tree(self, n: Expr, tree: int, root: int, totals: Totals) -> Block:
        leaf = register(self.nest, "leaf", self.leaf_type)
        walk = (Alloc(leaf), *self.place(n, root, leaf))
        lets = Lets(self.nest)
        row = leaf[0] if self.literal else lets.bind("row", convert(leaf[0], INDEX.dtype))
        value = operand(self.node, 6)

        def weight(k: Expr) -> Expr:
            return leaf[0] if self.literal else self.nest.read(value, (row, k))

        if self.target is None:
            return (*walk, *lets.block, *totals.add(as_expr(tree), weight))
        return (*walk, *lets.block, totals.add_to(as_expr(int(self.target[tree])), weight(as_expr(0))))

    def place(self, n: Expr, place: int, leaf: Buffer) -> Block:
        """The code that finds out the leaf below a place."""
        if place < 0:
            number = self.value[-1 - place, 0].item() if self.literal else -1 - place
            return (store(leaf[0], const(number, leaf.type)),)
        low, high = self.child[place].tolist()
        if low == high:
            return self.place(n, low, leaf)
        keys = operand(self.node, 0)
        key = self.nest.read(keys, (n, as_expr(int(self.column[place]))))
        above = gt(key, Const(int(self.threshold[place]), Type(keys.dtype)))
        return (If(above, self.place(n, high, leaf), self.place(n, low, leaf)),)
