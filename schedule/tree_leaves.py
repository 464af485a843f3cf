"""What is done at the leaves of trees that are code.

* A leaf of one weight adds it, as a literal.
* Of a row of integers for several targets, of which most are 0, only the others are added: at the leaf where totals
  are in registers, else behind all trees. Sums of integers do not depend on the order.
* What else there is, rows of floats, and the least or the greatest of a row, is read from the table of rows.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..ir.build import convert, lt, minimum, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Alloc, Block, Buffer, Expr, For, If, Load, Space, Store, Type, Var, as_expr, binary, const
from ..ir.types import DType
from ..ops.attributes import text
from ..ops.nest_tools import Lets, operand, optional, register, serial_loop
from ..ops.trees_nest import Totals
from .generic import NestAdapter
from .kernel import KernelContext

MAX_REGISTERS = 4
"""Totals of so many targets are in registers."""

_BYTE = 256
"""Below it a literal is part of an instruction on every core."""


class Leaves(Protocol):
    """Statements of one row: what is before the trees, at a leaf (a row of the table of weights) of a tree, around the
    code of a tree, and behind the trees."""

    def start(self) -> Block: ...

    def leaf(self, tree: int, row: int) -> Block: ...

    def tree(self, tree: int, code: Block) -> Block: ...

    def write(self, n: Expr) -> Block: ...


def leaves_of(ctx: KernelContext, nest: NestAdapter, node: Node) -> Leaves:
    value, base = ctx.constant(operand(node, 6)), ctx.constant(operand(node, 7))
    assert value is not None
    of_integers = value.dtype.kind != "f" and text(node.attrs, "kind") == "sum"
    if value.shape[1] > 1 and of_integers and base is not None:
        if len(base) <= MAX_REGISTERS and not ctx.cpu.compact:
            return _InRegisters(nest, node, value, base)
        return _Lists(ctx, nest, node, value, base)
    return _Rows(ctx, nest, node, value)


class _Rows:
    """A leaf is a literal, or the number of a row in the table of weights."""

    def __init__(self, ctx: KernelContext, nest: NestAdapter, node: Node, value: np.ndarray) -> None:
        self.node, self.nest, self.value = node, nest, value
        self.target = ctx.constant(optional(node, 8))
        child = ctx.constant(operand(node, 3))
        assert child is not None
        self.literal = value.shape[1] == 1 and self._weights_are_literals(int((child < 0).sum()))
        self.type = operand(node, 7).dtype if self.literal else DType.I32
        self.totals = Totals(nest, node, MAX_REGISTERS)
        self.register = register(nest, "leaf", self.type)

    def _weights_are_literals(self, leaves: int) -> bool:
        """Numbers of leaves are smaller than weights, but weights need no table: that pays where few are equal."""
        small = self.value.dtype.kind != "f" and int(np.abs(self.value.astype(np.int64)).max()) < _BYTE
        return small or len(self.value) > _BYTE or leaves < 2 * len(self.value)

    def start(self) -> Block:
        return self.totals.start()

    def leaf(self, tree: int, row: int) -> Block:
        number = self.value[row, 0].item() if self.literal else row
        return (store(self.register[0], const(number, self.register.type)),)

    def tree(self, tree: int, code: Block) -> Block:
        leaf, lets = self.register, Lets(self.nest)
        row = leaf[0] if self.literal else lets.bind("row", convert(leaf[0], INDEX.dtype))
        value = operand(self.node, 6)

        def weight(k: Expr) -> Expr:
            return leaf[0] if self.literal else self.nest.read(value, (row, k))

        add = self.totals.add(as_expr(tree), weight)
        if self.target is not None:
            add = (self.totals.add_to(as_expr(int(self.target[tree])), weight(as_expr(0))),)
        walk: Block = (Alloc(leaf), *code, *lets.block, *add)
        self.register = register(self.nest, "leaf", self.type)
        return walk

    def write(self, n: Expr) -> Block:
        return self.totals.write(n)


class _InRegisters:
    """Sums of integers for few targets: what is not 0 of a row is added at the leaf."""

    def __init__(self, nest: NestAdapter, node: Node, value: np.ndarray, base: np.ndarray) -> None:
        self.nest, self.node, self.value, self.base = nest, node, value, base
        self.total = Buffer(nest.fresh("total"), Type(DType.I32), (len(base),), Space.REG)

    def start(self) -> Block:
        return (Alloc(self.total), *(store(self.total[k], int(first)) for k, first in enumerate(self.base)))

    def leaf(self, tree: int, row: int) -> Block:
        weights = self.value[row]
        return tuple(_add(self.total[int(k)], const(int(weights[k]), self.total.type)) for k in np.flatnonzero(weights))

    def tree(self, tree: int, code: Block) -> Block:
        return code

    def write(self, n: Expr) -> Block:
        return _write(self.nest, self.node, n, self.total)


class _Lists:
    """Sums of integers for many targets. A leaf notes the number of its row; behind all trees the rows are added.

    Numbers below that of the targets stand for rows in which that target alone has a weight, the one that most such
    rows have: the leaves of trees that were grown to the end. The others are lists of what is not 0 in them.
    """

    def __init__(
        self, ctx: KernelContext, nest: NestAdapter, node: Node, value: np.ndarray, base: np.ndarray
    ) -> None:
        self.ctx, self.nest, self.node, self.base = ctx, nest, node, base
        targets = len(base)
        alone = np.flatnonzero((value != 0).sum(axis=1) == 1)
        common, counts = np.unique(value[alone].sum(axis=1), return_counts=True)
        self.weight = int(common[counts.argmax()]) if len(common) else 0
        single = {int(row): int(np.flatnonzero(value[row])[0]) for row in alone if value[row].sum() == self.weight}
        self.lists = [np.flatnonzero(row) for number, row in enumerate(value) if number not in single]
        self.weights = [row[row != 0] for number, row in enumerate(value) if number not in single]
        others = iter(range(targets, targets + len(self.lists)))
        self.number = [single[row] if row in single else next(others) for row in range(len(value))]
        self.total = Buffer(nest.fresh("total"), Type(DType.I32), (targets,), Space.STACK)
        kind = DType.from_numpy(np.min_scalar_type(targets + len(self.lists)))
        self.noted = Buffer(nest.fresh("noted"), Type(kind), (operand(node, 4).shape[0],), Space.STACK)
        self.register = register(nest, "leaf", DType.I32)

    def start(self) -> Block:
        init = (store(self.total[k], int(first)) for k, first in enumerate(self.base))
        return (Alloc(self.total), Alloc(self.noted), *init)

    def leaf(self, tree: int, row: int) -> Block:
        return (store(self.register[0], self.number[row]),)

    def tree(self, tree: int, code: Block) -> Block:
        leaf, self.register = self.register, register(self.nest, "leaf", DType.I32)
        return (Alloc(leaf), *code, store(self.noted[tree], convert(leaf[0], self.noted.dtype)))

    def write(self, n: Expr) -> Block:
        trees = self.noted.shape[0]
        add = serial_loop(self.nest, "t", trees, self._add_row)
        return (*add, *_write(self.nest, self.node, n, self.total))

    def _add_row(self, tree: Expr) -> Block:
        targets, lets = len(self.base), Lets(self.nest)
        number = lets.bind("number", convert(self.noted[tree], INDEX.dtype))
        single = (_add(self.total[minimum(number, targets - 1)], const(self.weight, self.total.type)),)
        if not self.lists:
            return (*lets.block, *single)
        first = self.ctx.pack("first", narrowest(np.cumsum([0, *map(len, self.lists)])))
        target = self.ctx.pack("targets", narrowest(np.concatenate(self.lists)))
        weight = self.ctx.pack("weights", narrowest_signed(np.concatenate(self.weights)))
        inner = Lets(self.nest)
        row = inner.bind("row", number - targets)
        start = inner.bind("start", convert(first[row], INDEX.dtype))
        end = inner.bind("end", convert(first[row + 1], INDEX.dtype))
        entry = Var(self.nest.fresh("e"))
        place = convert(target[start + entry], INDEX.dtype)
        add = _add(self.total[place], convert(weight[start + entry], self.total.dtype))
        return (*lets.block, If(lt(number, targets), single, (*inner.block, For(entry, end - start, (add,)))))


def _add(total: Load, weight: Expr) -> Store:
    return store(total, binary("add", total, weight))


def _write(nest: NestAdapter, node: Node, n: Expr, total: Buffer) -> Block:
    each = (nest.write(node.output, (n, as_expr(k)), total[k]) for k in range(total.shape[0]))
    return tuple(stmt for block in each for stmt in block)


def narrowest(array: np.ndarray) -> np.ndarray:
    """Numbers from 0 on as the smallest unsigned integers that hold them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def narrowest_signed(array: np.ndarray) -> np.ndarray:
    """Numbers as the smallest integers, of 8 to 32 bits, that hold them."""
    if array.min(initial=0) >= 0 and array.max(initial=0) < 2**16:
        return narrowest(array)
    return array.astype(np.result_type(np.min_scalar_type(int(array.min())), np.min_scalar_type(int(array.max()))))
