"""Trees as code: a branch for each node, with the threshold as a literal.

It takes fewer instructions than tables, a load, a comparison and a branch for each node that a row passes, and where
thresholds are literals little more memory. What is done at a leaf is in ``tree_leaves.py``.

Features that are integers are compared as they are. Where instructions have 16 bits or 32, a load of a signed byte
or halfword may be a long one, or take its address from registers; features that many nodes ask for are copied to
words on the stack first, which one short instruction loads. Floats are compared as floats where there is a unit for
them and rows pass few nodes: ``x > t`` is false for NaN, and not ``x <= t`` is true. Else keys of all features come
first, each comparison of which takes fewer instructions and bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..ir.build import convert, ge, gt, le
from ..ir.loops import INDEX, Block, Const, Expr, If, Type, as_expr
from ..ir.types import DType
from ..ops.attributes import text
from ..ops.float_keys import KEYS, floats_of, spare_keys
from ..ops.nest_tools import loops, operand
from ..ops.trees_nest import Leaf, row_keys
from ..record import record
from .generic import NestAdapter
from .kernel import KernelContext
from .tree_leaves import Leaves, leaves_of, narrowest

MAX_NODES = 16384
"""With more, compilers take too long for the code."""

CACHED_NODES = 1024
"""With more, the code of an ensemble is larger than the cache for code, where there is one."""

COMPACT_NODES = 64
"""With more, the code of an ensemble of one weight a leaf, or of few different leaves, is larger than tables and a
loop."""

_LEAF_BYTES = 1
"""For each node, that the table of leaves may take: code takes at least 9 bytes for a node, the other tables 7."""

MAX_DEPTH = 40
"""Compilers have limits for nested blocks; C promises 127."""

_KEY_INSTRUCTIONS = 9
"""Of the key of one feature."""

_NODE_GAIN = 1.5
"""Instructions that a comparison of keys saves, at a node that a row passes; its bytes are a part of that."""


def is_tree_code(ctx: KernelContext) -> bool:
    """Whether the ensemble is constant and small."""
    node = ctx.anchor
    assert node is not None
    tables = [ctx.constant(operand) for operand in node.operands[1:]]
    if any(table is None for table in tables):
        return False
    child, root, depth = tables[2], tables[3], tables[4]
    assert child is not None and root is not None and depth is not None
    limit = CACHED_NODES if ctx.cpu.caches else MAX_NODES
    value = operand(node, 6)
    if ctx.cpu.compact and (value.shape[1] == 1 or value.type.nbytes <= _LEAF_BYTES * len(child)):
        limit = COMPACT_NODES
    within = len(child) <= limit and int(depth.max()) <= MAX_DEPTH
    return within and sum(1 for _ in _visits(child, root, limit + 1)) <= limit


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
    code = _Code(ctx)
    x = operand(code.node, 0)
    return loops(code.nest, ("n",), x.shape[:1], lambda index: code.row(index[0]))


_NEAR = 32
"""Features of which the address takes one instruction, where there are short ones only; behind it three."""


@record
class _Copying:
    """What copies save at each node, by whether the feature is near: instructions that a run executes, and halfwords
    of code, which weigh ``weight`` instructions each, at nodes with thresholds up to ``most``; the instructions of a
    ``copy``; and the gain of all copies that is worth the loop around them."""

    instructions: tuple[int, int]
    halfwords: tuple[int, int]
    weight: float
    most: float
    copy: int
    least: int


_SHORT = _Copying((3, 1), (3, 1), 0.07, np.inf, 7, 10)
_LONG = _Copying((0, 0), (1, 1), 0.17, 255, 5, 100)
"""Only with a literal that is part of a short comparison a node becomes short as a whole."""

_MOST_COPIES = 192
"""Words near enough to the top of the stack."""

Test = Callable[[int, Block, Block], If]
"""The branch at a node: its number, the code for what is at most the threshold, and for what is above."""


class _Code:
    def __init__(self, ctx: KernelContext) -> None:
        node = ctx.anchor
        assert node is not None
        self.ctx, self.node, self.nest, self.cpu = ctx, node, NestAdapter(ctx), ctx.cpu
        arrays = [ctx.constant(operand(node, n)) for n in range(1, 5)]
        self.column, self.threshold, self.child, self.root = (np.asarray(array) for array in arrays)
        self.leaves: Leaves = leaves_of(ctx, self.nest, node)
        self.missing = text(node.attrs, "missing")

    def row(self, n: Expr) -> Block:
        test, prepare = self.tests(n)
        out = [*prepare, *self.leaves.start()]
        for tree, root in enumerate(self.root.tolist()):
            out.extend(self.leaves.tree(tree, self.place(root, tree, test)))
        return (*out, *self.leaves.write(n))

    def place(self, place: int, tree: int, test: Test) -> Block:
        """The code below a place."""
        if place < 0:
            return self.leaves.leaf(tree, -1 - place)
        low, high = self.child[place].tolist()
        if low == high:
            return self.place(low, tree, test)
        return (test(place, self.place(low, tree, test), self.place(high, tree, test)),)

    # ---- tests

    def tests(self, n: Expr) -> tuple[Test, Block]:
        """How the nodes of row ``n`` branch, and what has to run before."""
        if self._compares_floats():
            return self._by_floats(n), ()
        x = operand(self.node, 0)
        copied = self._copied() if self.cpu.long_narrow_loads and x.dtype in (DType.I8, DType.I16) else []
        return self._by_copies(n, copied) if copied else self._by_keys(n)

    def _compares_floats(self) -> bool:
        x = operand(self.node, 0)
        if x.dtype not in KEYS or not self.cpu.has_fpu or (x.dtype is DType.F64 and "f64" not in self.cpu.features):
            return False
        return self._nodes_of_a_row() * _NODE_GAIN < _KEY_INSTRUCTIONS * len(np.unique(self.column))

    def _nodes_of_a_row(self) -> float:
        """How many nodes a row passes."""
        return sum(share for _, share in self._passes())

    def _passes(self) -> Iterator[tuple[int, float]]:
        """Each node with the share of rows that pass it, if each branch is as likely as the other."""
        level = [(place, 1.0) for place in self.root.tolist() if place >= 0]
        while level:
            yield from level
            level = [(p, share / 2) for place, share in level for p in self.child[place].tolist() if p >= 0]

    def _copied(self) -> list[int]:
        """The features that nodes ask for so often that a copy takes less; none where the loop takes more than that. A
        run may execute an instruction more for each node that it passes."""
        copying = _SHORT if self.cpu.short_instructions else _LONG
        executed = dict.fromkeys(self.column.tolist(), float(copying.copy))
        weights = dict.fromkeys(executed, 0.0)
        for place, share in self._passes():
            feature = int(self.column[place])
            near = feature < _NEAR
            executed[feature] -= share * copying.instructions[near]
            if abs(self.threshold[place]) <= copying.most:
                weights[feature] += copying.weight * copying.halfwords[near]
        gains = {feature: weights[feature] - more for feature, more in executed.items() if weights[feature] > more}
        copied, more, most = [], 0.0, self._nodes_of_a_row()
        for feature in sorted(gains, key=lambda feature: (-gains[feature], feature))[:_MOST_COPIES]:
            if more + executed[feature] <= most:
                copied.append(feature)
                more += executed[feature]
        return sorted(copied) if sum(gains[feature] for feature in copied) > copying.least else []

    def _by_copies(self, n: Expr, copied: list[int]) -> tuple[Test, Block]:
        """A loop copies: of copies one by one compilers make variables, along which they duplicate code."""
        x, at = operand(self.node, 0), {feature: k for k, feature in enumerate(copied)}
        words, prepare = self._keys_of(n, np.array(copied))

        def test(place: int, low: Block, high: Block) -> If:
            feature = int(self.column[place])
            found = words(as_expr(at[feature])) if feature in at else self.nest.read(x, (n, as_expr(feature)))
            return self._above(place, found, low, high)

        return test, prepare

    def _keys_of(self, n: Expr, features: np.ndarray) -> tuple[Leaf, Block]:
        table = self.ctx.pack("features", narrowest(features))
        return row_keys(self.nest, self.node, n, len(features), lambda c: convert(table[c], INDEX.dtype))

    def _above(self, place: int, found: Expr, low: Block, high: Block) -> If:
        return If(gt(found, Const(int(self.threshold[place]), Type(found.type.dtype))), high, low)

    def _by_keys(self, n: Expr) -> tuple[Test, Block]:
        """Keys of floats are those of the features in use, where these are few, else of all."""
        column, both = self.column, self.missing == "both"
        used, at = np.unique(column // 2 if both else column, return_inverse=True)
        if operand(self.node, 0).dtype not in KEYS or 2 * len(used) > operand(self.node, 0).shape[1]:
            key, prepare = row_keys(self.nest, self.node, n)
        else:
            column = 2 * at + column % 2 if both else at
            key, prepare = self._keys_of(n, used)

        def test(place: int, low: Block, high: Block) -> If:
            return self._above(place, key(as_expr(int(column[place]))), low, high)

        return test, prepare

    def _by_floats(self, n: Expr) -> Test:
        x = operand(self.node, 0)
        both = self.missing == "both"
        below = self.column % 2 == 1 if both else np.full(len(self.column), self.missing == "below")
        feature = self.column // 2 if both else self.column
        spare = spare_keys(x.dtype)
        keys = self.threshold.astype(np.int64) + np.where(below, -spare, spare)
        least = np.iinfo(self.threshold.dtype).min + spare
        floats = floats_of(keys, x.dtype)

        def test(place: int, low: Block, high: Block) -> If:
            found = self.nest.read(x, (n, as_expr(int(feature[place]))))
            limit = Const(float(floats[place]), Type(x.dtype))
            if not below[place]:
                return If(le(found, limit), low, high)
            return If(ge(found, limit) if keys[place] < least else gt(found, limit), high, low)

        return test
