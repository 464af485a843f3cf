"""Kernels one behind the other, a block of rows at a time: what is between them stays in the nearest caches.

A layer whose result is larger than the second cache writes it to memory, from where the next one reads it. Here the
loops of both, made for a block of rows, follow each other inside loops over the blocks; between them is memory for one
block::

    for each block of rows
      hidden[rows] = gelu(x[block, rows] @ w + b)
      y[block, rows] = hidden[rows] @ v + x[block, rows]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..ir.build import lt
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Block, Buffer, Expr, If, Type, Var
from ..ir.loops_rewrite import flat_index, loop, loop_index, map_accesses
from ..ops.attributes import integer, ints
from ..ops.fused import body_of
from .kernel import KernelContext
from .row_splits import RowSplit, operand_parts, part_of
from .tensors import TensorRef

Choice = Callable[[KernelContext], Block]
"""Makes the loops of a fused node."""


def lower_row_blocks(ctx: KernelContext, choice: Choice) -> Block:
    """The loops of a ``row_blocks`` node; those of its members by ``choice``."""
    assert ctx.anchor is not None
    return _Blocks(ctx, ctx.anchor, choice).emit()


@dataclass
class _Blocks:
    ctx: KernelContext
    node: Node
    choice: Choice

    def __post_init__(self) -> None:
        self.split = RowSplit(ints(self.node.attrs, "frame"), integer(self.node.attrs, "rows"))
        self.vars = [Var(self.ctx.names.fresh("b")) for _ in self.split.frame]
        self.between: dict[str, Buffer] = {}

    def emit(self) -> Block:
        *outer, extent = self.split.frame
        count, left = divmod(extent, self.split.rows)
        block = self._members(self.split, loop_index(self.vars[-1], count + bool(left)) * self.split.rows)
        if left:
            last = self._members(replace(self.split, rows=left), INDEX(extent - left))
            block = (If(lt(self.vars[-1], count), block, last),)
        for var, each in reversed(list(zip(self.vars, (*outer, count + bool(left)), strict=True))):
            block = loop(var, each, *block)
        return block

    def _members(self, split: RowSplit, row: Expr) -> Block:
        """The loops of all members for the rows from ``row`` on."""
        first = (*(loop_index(var, each) for var, each in zip(self.vars, split.frame[:-1])), row)
        return tuple(stmt for member in body_of(self.node.attrs).nodes for stmt in self._member(member, split, first))

    def _member(self, member: Node, split: RowSplit, first: Sequence[Expr]) -> Block:
        ctx = self.ctx
        parts = operand_parts(member, split)
        part = None if parts is None else part_of(member, parts)
        assert parts is not None and part is not None, member
        inner = KernelContext(
            part, ctx.cpu, {}, lambda value: self._constant(value, parts), ctx.names, ctx.packed, ctx.scratch
        )
        places: dict[str, tuple[Buffer, Expr]] = {}
        for value in (*part.operands, *part.outputs):
            inner.refs[value.name], place = self._tensor(value, first)
            places[inner.refs[value.name].buffer.name] = place

        def rule(buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
            if buffer.name not in places:
                return buffer, index
            target, start = places[buffer.name]
            return target, (start + flat_index(buffer, index),)

        return map_accesses(self.choice(inner), rule)

    def _tensor(self, value: Value, first: Sequence[Expr]) -> tuple[TensorRef, tuple[Buffer, Expr]]:
        """A block of a tensor as a member sees it, the elements in which it is, and the number of the first of them.
        ``first`` are the indices of the block in the dimensions of the frame."""
        stem, kind = self.ctx.names.fresh("rows"), Type(value.dtype.stored)
        whole = self.ctx.refs.get(value.name)
        if whole is None:
            if value.name not in self.between:
                self.between[value.name] = self.ctx.temporary("between", value.dtype, (value.type.size,), align=64)
            return TensorRef.whole(Buffer(stem, kind, value.shape)), (self.between[value.name], INDEX(0))
        divided = [dim for dim, extent in enumerate(whole.shape) if extent != value.shape[dim]]
        begin = 1 + max(divided, default=-1)
        shape = (*value.shape[:begin], *whole.buffer.shape[begin:])
        offset = (*(0 for _ in value.shape[:begin]), *whole.offset[begin:])
        start: Expr = INDEX(0)
        for dim in range(begin):
            at = first[dim + self.rank - len(shape)] if dim in divided else INDEX(0)
            start = start + (at + whole.offset[dim]) * prod(whole.buffer.shape[dim + 1 :])
        seen = TensorRef(Buffer(stem, kind, shape), value.shape, offset)
        return seen, (replace(whole.buffer, shape=(prod(whole.buffer.shape),)), start)

    @property
    def rank(self) -> int:
        return len(self.node.output.shape)

    def _constant(self, value: Value | None, parts: dict[str, tuple[int, ...]]) -> np.ndarray | None:
        """A constant that blocks see as a whole."""
        array = self.ctx.constant(value)
        return array if array is None or value is None or array.shape == parts.get(value.name, array.shape) else None
