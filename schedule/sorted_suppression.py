"""Suppression of boxes on machines with vectors: sorted by their scores, and each compared with all that are kept.

The plain nest goes through all boxes that are left for each that it chooses. Here they are sorted once, and a box is
chosen unless it overlaps one of those chosen before, of which a vector is compared with it at a time::

    for k:most:                                   sort the boxes above the threshold
      the best of those left is chosen      ->    for each of them, the best first, until most are chosen:
      for each of those left:                       chosen unless overlap(corners[0 : 16], its corners), ...
        it goes if it overlaps the chosen

The results are those of the plain nest: whether two boxes overlap is computed by the same operations, and equal scores
are in the order of the boxes.
"""

from __future__ import annotations

from ..ir.build import convert, eq, gt, load, lt, minimum, select, store
from ..ir.graph import Node
from ..ir.loops import (
    F32,
    I32,
    INDEX,
    Alloc,
    Block,
    Buffer,
    Expr,
    If,
    Let,
    Reduce,
    Space,
    Splat,
    Stmt,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.nest_tools import Lets, operand, serial_loops
from ..ops.suppression_nest import Boxes, clear_rows, overlap
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors
from .key_sort import Keys, sort_keys
from .sort_keys import key_range, sort_key

TOGETHER = 4
"""Vectors of scores that are looked at together."""


def is_sorted_suppression(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``suppress`` of boxes on a machine with vectors and memory."""
    assert ctx.anchor is not None
    return has_vectors(ctx) and 0 not in operand(ctx.anchor, 1).shape


def lower_sorted_suppression(ctx: KernelContext) -> Block:
    """``suppress``, for which :func:`is_sorted_suppression` holds."""
    assert ctx.anchor is not None
    return _Suppression(ctx, ctx.anchor).emit()


class _Suppression:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.adapter, self.names = ctx, node, NestAdapter(ctx), ctx.names
        self.scores = operand(node, 1)
        self.batch, self.classes, self.count = self.scores.shape
        self.most = min(integer(node.attrs, "limit"), self.count)
        self.lanes = max(ctx.cpu.f32_lanes)
        room = -(-self.count // self.lanes) * self.lanes + self.lanes
        self.keys, self.places = (self._memory(stem, DType.I32, room) for stem in ("keys", "places"))
        self.order = self._memory("order", DType.I32, self.count)
        kept = -(-self.most // self.lanes) * self.lanes
        self.corners = [self._memory(f"corner{d}", DType.F32, kept) for d in range(4)]
        self.total, self.listed, self.chosen = (
            Buffer(self.names.fresh(stem), I32, (1,), Space.REG) for stem in ("total", "listed", "chosen")
        )
        self.wanted = Var(self.names.fresh("wanted"), I32)
        self.least, self.shared = (Var(self.names.fresh(stem), F32) for stem in ("least", "shared"))

    def emit(self) -> Block:
        rows, number = self.node.outputs
        numbers = zip((self.wanted, self.shared, self.least), (operand(self.node, n) for n in (2, 3, 4)))
        return (
            *(Let(var, self.adapter.read(value, ())) for var, value in numbers),
            *(Alloc(each) for each in (self.total, self.listed, self.chosen)), store(self.total[0], 0),
            *serial_loops(self.adapter, ("image", "kind"), (self.batch, self.classes), lambda at: self._class(*at)),
            *clear_rows(self.adapter, rows, self.total),
            *self.adapter.write(number, (), convert(self.total[0], DType.I64)),
        )  # fmt: skip

    def _memory(self, stem: str, dtype: DType, extent: int) -> Buffer:
        return self.ctx.temporary(stem, dtype, (extent,), align=4 * self.lanes)

    def _class(self, image: Expr, kind: Expr) -> Block:
        least, bits = key_range(DType.F32)
        length = Var(self.names.fresh("length"))
        keys = Keys(self.keys, self.places, self.count, least + (1 << bits) - 1, bits, length)
        rank = Var(self.names.fresh("rank"))
        judged = If(lt(self.chosen[0], minimum(self.wanted, self.most)), self._judge(image, kind, rank))
        return (
            store(self.listed[0], 0), store(self.chosen[0], 0), *self._list(image, kind),
            Let(length, convert(self.listed[0], INDEX.dtype)),
            store(self.keys[minimum(length, self.count)], as_expr(least, Type(DType.I32, self.lanes))),
            *sort_keys(
                self.ctx, lambda stem, extent: (self._memory(stem, DType.I32, extent), ()), keys,
                lambda rank, place: (store(self.order[rank], place),),
            ),
            *loop(rank, minimum(length, self.count), judged),
        )  # fmt: skip

    # ---- candidates

    def _list(self, image: Expr, kind: Expr) -> Block:
        """The boxes of a class whose scores are above the threshold."""
        width = self.lanes * TOGETHER
        groups, rest = divmod(self.count, width)
        group, tail = Var(self.names.fresh("g")), Var(self.names.fresh("n"))
        block: list[Stmt] = []
        if groups:
            ref, first = self.ctx.refs[self.scores.name], (group if groups > 1 else as_expr(0)) * width
            above: Expr | None = None
            for n in range(TOGETHER):
                scores = load(ref.buffer, *ref.at((image, kind, first + n * self.lanes)), lanes=self.lanes)
                found = gt(scores, Splat(self.least, self.lanes))
                above = found if above is None else above | found
            assert above is not None
            some = Reduce("max", select(above, as_expr(1, Type(DType.I32, self.lanes)), 0))
            lane = Var(self.names.fresh("lane"))
            looked = If(gt(some, 0), loop(lane, width, *self._append(image, kind, first + lane)))
            block += loop(group, groups, looked)
        at = (tail if rest > 1 else as_expr(0)) + groups * width
        return (*block, *loop(tail, rest, *self._append(image, kind, at)))

    def _append(self, image: Expr, kind: Expr, box: Expr) -> Block:
        """Written in any case, and counted where the score is above the threshold."""
        score = Var(self.names.fresh("score"), F32)
        at = convert(self.listed[0], INDEX.dtype)
        return (
            Let(score, self.adapter.read(self.scores, (image, kind, box))),
            store(self.keys[at], sort_key(score)), store(self.places[at], I32(box)),
            store(self.listed[0], self.listed[0] + convert(gt(score, self.least), DType.I32)),
        )  # fmt: skip

    # ---- choices

    def _judge(self, image: Expr, kind: Expr, rank: Expr) -> Block:
        """Keeps a box that overlaps none of those that are kept."""
        lets = Lets(self.adapter)
        listed = lets.bind("box", convert(self.order[rank], INDEX.dtype))
        corners = Boxes(self.adapter, self.node, image).corners(lets, listed)
        hidden = Buffer(self.names.fresh("hidden"), I32, (1,), Space.REG)
        part = Var(self.names.fresh("part"))
        parts = self.corners[0].shape[0] // self.lanes
        full = (convert(self.chosen[0], INDEX.dtype) + (self.lanes - 1)) // self.lanes
        compared = If(eq(hidden[0], 0), self._compare(corners, hidden, part * self.lanes))
        return (
            *lets.block, Alloc(hidden), store(hidden[0], 0), *loop(part, minimum(full, parts), compared),
            If(eq(hidden[0], 0), self._keep(image, kind, listed, corners)),
        )  # fmt: skip

    def _compare(self, corners: list[Expr], hidden: Buffer, first: Expr) -> Block:
        lets = Lets(self.adapter)
        kept = [lets.bind("kept", load(buffer, first, lanes=self.lanes)) for buffer in self.corners]
        own = [Splat(corner, self.lanes) for corner in corners]
        too_much = overlap(lets, kept, own, Splat(self.shared, self.lanes))
        found = Reduce("max", select(too_much, as_expr(1, Type(DType.I32, self.lanes)), 0))
        return (*lets.block, store(hidden[0], found))

    def _keep(self, image: Expr, kind: Expr, box: Expr, corners: list[Expr]) -> Block:
        """A new vector of corners begins with boxes without an area, which overlap nothing."""
        at, row = convert(self.chosen[0], INDEX.dtype), convert(self.total[0], INDEX.dtype)
        empty = as_expr(0.0, Type(DType.F32, self.lanes))
        entries = [convert(entry, DType.I64) for entry in (image, kind, box)]
        rows = self.node.outputs[0]
        return (
            If(eq(self.chosen[0] & (self.lanes - 1), 0), tuple(store(buffer[at], empty) for buffer in self.corners)),
            *(store(buffer[at], corner) for buffer, corner in zip(self.corners, corners)),
            *(stmt for j, entry in enumerate(entries) for stmt in self.adapter.write(rows, (row, INDEX(j)), entry)),
            store(self.chosen[0], self.chosen[0] + 1), store(self.total[0], self.total[0] + 1),
        )  # fmt: skip
