"""The few first of many lines at once, on machines with vectors: each lane has the sorted list of a line.

A heap takes a decision for each element, which processors guess wrong. Here an element is compared with all of the k
best so far, and those that come behind it move on by one::

    for r:R                                              behind[j] = key > best[j]          for all j
      line by line: heap, see ops/sort_nest.py    ->     best[j] = behind[j - 1] ? best[j - 1] : key    where behind[j]
                                                         and places with them

The elements come in the order of their indices, and an equal one is not passed: what is equal stays in this order, as
in the plain nest. Keys are integers in the order of the elements (``schedule/sort_keys.py``), NaN the greatest.
"""

from __future__ import annotations

from ..ir.build import gt, load, lt, select, store
from ..ir.graph import Node
from ..ir.loops import I32, Alloc, Block, Buffer, Expr, Let, LoopKind, Space, Splat, Stmt, Type, Var, as_expr
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import flag, integer
from ..ops.nest_tools import AxisSplit, Index, loops
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors
from .sort_keys import SHORT_KEYED, sort_key
from .vectorize import stripes

NEAR = 64 << 10
"""Bytes of the lines that are turned at once."""
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


def is_top_k_lanes(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``top_k`` of few elements with vectors full of neighbouring lines."""
    node = ctx.anchor
    assert node is not None
    x, axis = node.operands[0], integer(node.attrs, "axis")
    kept = AxisSplit.of(x, (axis,)).kept
    if not has_vectors(ctx) or x.dtype not in SHORT_KEYED or not kept or 0 in x.shape:
        return False
    lanes = max(ctx.cpu.f32_lanes)
    turned = axis == len(x.shape) - 1
    near = not turned or x.shape[axis] * lanes * x.dtype.size <= NEAR
    return near and 0 < integer(node.attrs, "k") <= lanes <= x.shape[kept[-1]]


def lower_top_k_lanes(ctx: KernelContext) -> Block:
    """``top_k``, for which :func:`is_top_k_lanes` holds."""
    assert ctx.anchor is not None
    return _TopK(ctx, ctx.anchor).emit()


class _TopK:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.x = ctx, node, node.operands[0]
        self.axis, self.k = integer(node.attrs, "axis"), integer(node.attrs, "k")
        self.largest = flag(node.attrs, "largest")
        self.split = AxisSplit.of(self.x, (self.axis,))
        self.turned = self.axis == len(self.x.shape) - 1
        self.ref, self.out = ctx.refs[self.x.name], ctx.refs[node.output.name]

    def emit(self) -> Block:
        *outer, lines = (self.x.shape[d] for d in self.split.kept)
        widths = tuple(lanes for lanes in self.ctx.cpu.f32_lanes if lanes > 1)

        def body(kept: Index) -> Block:
            block: list[Stmt] = []
            for start, trips, lanes in stripes(lines, widths):
                var = Var(self.ctx.names.fresh("line"))
                inner = self._lines(kept, loop_index(var, trips) * lanes + start, lanes)
                block += loop(var, trips, *inner, kind=LoopKind.PARALLEL)
            return tuple(block)

        return loops(NestAdapter(self.ctx), [f"i{d}" for d in self.split.kept[:-1]], outer, body)

    def _lines(self, kept: Index, first: Expr, lanes: int) -> Block:
        """``lanes`` lines from ``first`` on: their lists in registers, which are written in the end."""
        names, words = self.ctx.names, Type(DType.I32, lanes)
        best, place = (Buffer(names.fresh(stem), words, (self.k,), Space.REG) for stem in ("best", "place"))
        found = Buffer(names.fresh("found"), I32, (self.k * lanes,), Space.STACK, align=4 * lanes)
        worst = as_expr(_LEAST if self.largest else _MOST, words)
        starts = ((best, worst), (place, as_expr(0, words)))
        start = [store(buffer[n], value) for n in range(self.k) for buffer, value in starts]
        r, j, lane = (Var(names.fresh(stem)) for stem in ("r", "j", "lane"))
        turned, source = self._turn(kept, first, lanes)
        neighbours = self.turned and lanes > 1
        element = load(source, r * lanes, lanes=lanes) if neighbours else self._element(kept, first, r, lanes)
        target = self.out[self.split.merge((*kept, first + loop_index(lane, lanes)), (loop_index(j, self.k),))]
        write = store(target, found[loop_index(j, self.k) * lanes + loop_index(lane, lanes)])
        inserted = self._insert(element, r, best, place)
        return (
            *turned, Alloc(best), Alloc(place), *start, *loop(r, self.x.shape[self.axis], *inserted),
            Alloc(found), *(store(found[n * lanes], place[n]) for n in range(self.k)),
            *self.ctx.vectorized(loop(j, self.k, *loop(lane, lanes, write))),
        )  # fmt: skip

    def _element(self, kept: Index, line: Expr, r: Expr, lanes: int) -> Expr:
        return load(self.ref.buffer, *self.ref.at(self.split.merge((*kept, line), (r,))), lanes=lanes)

    def _turn(self, kept: Index, first: Expr, lanes: int) -> tuple[Block, Buffer]:
        """Lines along the last dimension side by side."""
        if not self.turned or lanes == 1:
            return (), self.ref.buffer
        names, extent = self.ctx.names, self.x.shape[self.axis]
        source = self.ctx.temporary("turned", self.x.dtype, (extent * lanes,), align=4 * lanes)
        r, lane = Var(names.fresh("r")), Var(names.fresh("lane"))
        along = loop_index(r, extent)
        copied = store(source[along * lanes + lane], self._element(kept, first + lane, along, 1))
        return self.ctx.vectorized(loop(r, extent, *loop(lane, lanes, copied))), source

    def _insert(self, element: Expr, r: Expr, best: Buffer, place: Buffer) -> Block:
        """Puts an element behind those that it does not beat."""
        names, lanes = self.ctx.names, element.type.lanes
        value = Var(names.fresh("value"), element.type)
        key, here = (Var(names.fresh(stem), best.type) for stem in ("key", "here"))
        behind = [Var(names.fresh("behind"), Type(DType.BOOL, lanes)) for _ in range(self.k)]
        block: list[Stmt] = [
            Let(value, element), Let(key, sort_key(value)), Let(here, I32(r) if lanes == 1 else Splat(I32(r), lanes)),
            *(Let(var, (gt if self.largest else lt)(key, best[j])) for j, var in enumerate(behind)),
        ]  # fmt: skip
        for j in reversed(range(self.k)):
            for buffer, new in ((best, key), (place, here)):
                moved = select(behind[j - 1], buffer[j - 1], new) if j else new
                block.append(store(buffer[j], select(behind[j], moved, buffer[j])))
        return tuple(block)

