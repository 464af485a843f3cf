"""Totals of several targets as fields of one word.

Where no weight is negative and the totals of all targets fit into 32 bits side by side, a leaf adds one word to one
register, and behind all trees the fields are taken apart. Where all leaves of a tree have the same sum of weights, as
shares of classes do, one target needs no field: it is what the others leave of the whole.
"""

from __future__ import annotations

import numpy as np

from ..ir.build import convert
from ..ir.graph import Node
from ..ir.loops import Expr
from ..ir.types import DType
from ..ops.nest_tools import Lets, operand, optional
from ..record import record
from .kernel import KernelContext

WORD_BITS = 32


@record
class Fields:
    """``words[row]`` is what a leaf with that row of weights adds to ``base``. Target k is in the bits ``shift[k]`` to
    ``shift[k] + bits[k]``; the target ``rest`` in none: it is ``whole`` without the others."""

    words: np.ndarray
    base: int
    shift: tuple[int, ...]
    bits: tuple[int, ...]
    rest: int | None
    whole: int

    def totals(self, total: Expr, lets: Lets) -> list[Expr]:
        """The totals of all targets, i32, of a word."""
        out: list[Expr] = []
        for shift, bits in zip(self.shift, self.bits):
            moved = total >> shift if shift else total
            part = moved & (2**bits - 1) if shift + bits < WORD_BITS else moved
            out.append(convert(part, DType.I32))
        if self.rest is not None:
            out = [lets.bind("total", each) for each in out]
            left: Expr = self.whole - out[0]
            for each in out[1:]:
                left = left - each
            out.insert(self.rest, left)
        return out


def fields_of(ctx: KernelContext, node: Node, value: np.ndarray, base: np.ndarray) -> Fields | None:
    """The fields for rows of weights ``value[rows, targets]``, or ``None`` where they do not fit."""
    if optional(node, 8) is not None or value.min(initial=0) < 0 or base.min(initial=0) < 0:
        return None
    child, root = ctx.constant(operand(node, 3)), ctx.constant(operand(node, 4))
    assert child is not None and root is not None
    trees = [_rows_below(child, place) for place in root.tolist()]
    wide = value.astype(np.int64)
    most = base.astype(np.int64) + sum(wide[rows].max(axis=0) for rows in trees)
    bits = np.array([int(total).bit_length() for total in most])
    sums = [np.unique(wide[rows].sum(axis=1)) for rows in trees]
    whole, rest = int(base.sum()) + sum(int(each[0]) for each in sums), None
    if all(len(each) == 1 for each in sums) and whole < 2**31:
        rest = int(bits.argmax())
    kept = [k for k in range(len(base)) if k != rest]
    if not kept or bits[kept].sum() > WORD_BITS or bits[kept].max() >= WORD_BITS:
        return None
    shift = np.cumsum([0, *bits[kept][:-1]])
    words = (wide[:, kept] << shift).sum(axis=1).astype(np.uint32)
    first = int((base.astype(np.int64)[kept] << shift).sum())
    return Fields(words, first, tuple(shift.tolist()), tuple(bits[kept].tolist()), rest, whole)


def _rows_below(child: np.ndarray, root: int) -> list[int]:
    """The rows of weights of all leaves of a tree."""
    rows, stack = [], [root]
    while stack:
        place = stack.pop()
        if place < 0:
            rows.append(-1 - place)
        else:
            stack += child[place].tolist()
    return rows
