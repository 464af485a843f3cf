"""What is done at the leaves of trees that are code.

* A leaf of one weight adds it, by its number among the different ones, or as a literal where these are many.
* Totals of integers that fit into 32 bits together are fields of one word (``tree_fields.py``): a leaf adds a word.
* Of a row of integers for several targets, of which most are 0, only the others are added: at the leaf where totals
  are in registers, else behind all trees. Sums of integers do not depend on the order.
* What else there is, rows of floats, and the least or the greatest of a row, is read from the table of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..ir.build import convert, lt, minimum, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Alloc, Block, Buffer, Expr, For, If, Load, Space, Store, Type, Var, as_expr, binary, const
from ..ir.types import DType
from ..ops.attributes import text
from ..ops.counted_shares import factored
from ..ops.nest_tools import Lets, operand, optional, register, serial_loop
from ..ops.trees_nest import Totals, write_memory, write_totals
from .generic import NestAdapter
from .kernel import KernelContext
from .tree_fields import Fields, fields_of

MAX_REGISTERS = 4
"""Totals of so many targets are in registers."""

UNROLLED = 16
"""Additions of a row of at most so many entries are written out."""

_ENTRY = 4
"""Bytes of an entry of a table."""

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
        vote, in_registers = single_vote(value), len(base) <= MAX_REGISTERS
        found = None if vote and in_registers and not ctx.cpu.compact else fields_of(ctx, node, value, base)
        if found is not None:
            return _InFields(ctx, nest, node, found)
        if in_registers:
            return _InRegisters(nest, node, value, base)
        return _Votes(nest, node, value, base, vote) if vote else _Lists(ctx, nest, node, value, base)
    return _Rows(ctx, nest, node, value)


def are_literals(different: np.ndarray, child: np.ndarray) -> bool:
    """Whether integers of leaves, of which these are different, are literals, and not their numbers with a table.

    A number below 256 is part of an instruction of two bytes. Greater ones take at least two bytes more each time, a
    table its entries, and a load for each tree. Small literals save nothing: compilers follow each of them into the
    trees behind it, which is more code.
    """
    size = int(np.abs(different.astype(np.int64)).max(initial=0))
    if len(different) > _BYTE:
        return True
    leaves, more = int((child < 0).sum()), 2 if size < _BYTE**2 else 4
    return leaves * more < _ENTRY * len(different)


class _InFields:
    """A leaf is a word to be added, as its number among the different ones, or as a literal where these are many."""

    def __init__(self, ctx: KernelContext, nest: NestAdapter, node: Node, fields: Fields) -> None:
        self.nest, self.node, self.fields = nest, node, fields
        self.word = Type(DType.U32)
        self.total = Buffer(nest.fresh("total"), self.word, (1,), Space.REG)
        self.leaf_register = register(nest, "leaf", DType.U32)
        different, self.number = np.unique(fields.words, return_inverse=True)
        self.table = ctx.pack("words", different) if len(different) <= _BYTE else None

    def start(self) -> Block:
        return (Alloc(self.total), store(self.total[0], const(self.fields.base, self.word)))

    def leaf(self, tree: int, row: int) -> Block:
        number = int(self.fields.words[row] if self.table is None else self.number[row])
        return (store(self.leaf_register[0], const(number, self.word)),)

    def tree(self, tree: int, code: Block) -> Block:
        leaf, lets = self.leaf_register, Lets(self.nest)
        self.leaf_register = register(self.nest, "leaf", DType.U32)
        word: Expr = leaf[0]
        if self.table is not None:
            word = self.table[lets.bind("number", convert(word, INDEX.dtype))]
        return (Alloc(leaf), *code, *lets.block, _add(self.total[0], word))

    def write(self, n: Expr) -> Block:
        lets = Lets(self.nest)
        totals = self.fields.totals(self.total[0], lets)
        return (*lets.block, *write_totals(self.nest, self.node, n, totals))


class _Rows:
    """A leaf is a literal, or the number of a row in the table of weights."""

    def __init__(self, ctx: KernelContext, nest: NestAdapter, node: Node, value: np.ndarray) -> None:
        self.node, self.nest, self.value = node, nest, value
        self.target = ctx.constant(optional(node, 8))
        child = ctx.constant(operand(node, 3))
        assert child is not None
        few = value.shape[1] == 1 and value.dtype.kind == "f" and int((child < 0).sum()) < 2 * len(value)
        self.literal = few or (value.shape[1] == 1 and value.dtype.kind != "f" and are_literals(value, child))
        self.type = operand(node, 7).dtype if self.literal else DType.I32
        self.totals = Totals(nest, node, MAX_REGISTERS)
        self.register = register(nest, "leaf", self.type)

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
        return write_totals(self.nest, self.node, n, [self.total[k] for k in range(len(self.base))])


def single_vote(value: np.ndarray) -> int:
    """What every leaf adds to one target, its own; 0 where they add to several, or not the same."""
    different = np.unique(value[value != 0])
    return int(different[0]) if len(different) == 1 and ((value != 0).sum(axis=1) == 1).all() else 0


class _Votes:
    """Each leaf adds the same to one of many totals, which are in memory, as bytes where these hold them."""

    def __init__(self, nest: NestAdapter, node: Node, value: np.ndarray, base: np.ndarray, vote: int) -> None:
        self.nest, self.node, self.base, self.vote = nest, node, base, vote
        self.target = (value != 0).argmax(axis=1)
        most = int(base.max()) + vote * operand(node, 4).shape[0]
        small = vote > 0 and base.min() >= 0 and most < _BYTE
        self.total = Buffer(nest.fresh("total"), Type(DType.U8 if small else DType.I32), (len(base),), Space.STACK)
        self.register = register(nest, "leaf", DType.I32)

    def start(self) -> Block:
        return (Alloc(self.total), *(store(self.total[k], int(first)) for k, first in enumerate(self.base)))

    def leaf(self, tree: int, row: int) -> Block:
        return (store(self.register[0], int(self.target[row])),)

    def tree(self, tree: int, code: Block) -> Block:
        leaf, self.register, lets = self.register, register(self.nest, "leaf", DType.I32), Lets(self.nest)
        number = lets.bind("number", convert(leaf[0], INDEX.dtype))
        return (Alloc(leaf), *code, *lets.block, _add(self.total[number], const(self.vote, self.total.type)))

    def write(self, n: Expr) -> Block:
        return write_memory(self.nest, self.node, n, self.total)


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
        self.lists = value[[row for row in range(len(value)) if row not in single]]
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
        return (*add, *write_memory(self.nest, self.node, n, self.total))

    def _add_row(self, tree: Expr) -> Block:
        targets, lets = len(self.base), Lets(self.nest)
        number = lets.bind("number", convert(self.noted[tree], INDEX.dtype))
        single = (_add(self.total[minimum(number, targets - 1)], const(self.weight, self.total.type)),)
        inner = Lets(self.nest)
        row = inner.bind("row", number - targets)
        add = self._add_entries(row, inner)
        return (*lets.block, If(lt(number, targets), single, (*inner.block, *add)))

    def _add_entries(self, row: Expr, lets: Lets) -> Block:
        """Adds what is not 0 of a row to its targets: weights, or counts with the multiplier of the row."""
        counted = factored(self.lists)
        if counted is None:
            weight = self._entries(self.lists, "weights", narrowest_signed)
        else:
            weight = self._entries(counted.count, "counts", narrowest)
            factor = lets.bind("multiplier", self._multiplier(counted.multiplier, row))
        dtype = self.total.dtype

        def scaled(entry: Expr) -> Expr:
            if counted is None:
                return convert(entry, dtype)
            return convert(binary("mul", convert(entry, DType.U32), factor) >> counted.shift, dtype)

        return weight(row, lets, scaled)

    def _multiplier(self, multipliers: np.ndarray, row: Expr) -> Expr:
        """That of a row, by its number among the different ones where this takes less memory."""
        different, number = np.unique(multipliers, return_inverse=True)
        which = narrowest(number)
        if len(multipliers) * _ENTRY <= len(different) * _ENTRY + which.nbytes:
            return self.ctx.pack("multipliers", multipliers.astype(np.uint32))[row]
        numbers = self.ctx.pack("multiplier_of", which)
        return self.ctx.pack("multipliers", different.astype(np.uint32))[convert(numbers[row], INDEX.dtype)]

    def _entries(self, rows: np.ndarray, stem: str, narrow: Callable[[np.ndarray], np.ndarray]) -> _AddEntries:
        """How entries of ``rows`` are added: all of a row where that takes less memory than a list of those that are
        not 0 with their targets."""
        lists = [np.flatnonzero(row) for row in rows]
        weights = narrow(np.concatenate([row[row != 0] for row in rows]))
        targets, listed = rows.shape[1], sum(map(len, lists))
        if rows.size * weights.itemsize <= listed * (weights.itemsize + 1) + 2 * len(rows):
            table = self.ctx.pack(stem, rows.astype(weights.dtype))

            def every(row: Expr, lets: Lets, scaled: Callable[[Expr], Expr]) -> Block:
                def one(k: Expr) -> Block:
                    return (_add(self.total[k], scaled(table[row, k])),)

                if targets <= UNROLLED and not self.ctx.cpu.compact:
                    return tuple(stmt for k in range(targets) for stmt in one(as_expr(k)))
                return serial_loop(self.nest, "k", targets, one)

            return every
        first = self.ctx.pack("first", narrowest(np.cumsum([0, *map(len, lists)])))
        target = self.ctx.pack("targets", narrowest(np.concatenate(lists)))
        weight = self.ctx.pack(stem, weights)

        def listed_ones(row: Expr, lets: Lets, scaled: Callable[[Expr], Expr]) -> Block:
            start = lets.bind("start", convert(first[row], INDEX.dtype))
            end = lets.bind("end", convert(first[row + 1], INDEX.dtype))
            entry = Var(self.nest.fresh("e"))
            place = convert(target[start + entry], INDEX.dtype)
            return (For(entry, end - start, (_add(self.total[place], scaled(weight[start + entry])),)),)

        return listed_ones


_AddEntries = Callable[[Expr, Lets, Callable[[Expr], Expr]], Block]
"""Adds a row by its number, with what becomes of an entry."""


def _add(total: Load, weight: Expr) -> Store:
    return store(total, binary("add", total, weight))


def narrowest(array: np.ndarray) -> np.ndarray:
    """Numbers from 0 on as the smallest unsigned integers that hold them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def narrowest_signed(array: np.ndarray) -> np.ndarray:
    """Numbers as the smallest integers, of 8 to 32 bits, that hold them."""
    if array.min(initial=0) >= 0 and array.max(initial=0) < 2**16:
        return narrowest(array)
    return array.astype(np.result_type(np.min_scalar_type(int(array.min())), np.min_scalar_type(int(array.max()))))
