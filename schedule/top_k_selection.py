"""The k first of lines by selection, on machines with vectors: the k-th key first, then what does not lie behind it.

A heap decides anew for each element that enters it. Here elements that beat the k-th best so far are collected, and
once they are many the k best of them are kept::

    for r:R                              for each vector of keys where one is greater than the k-th
      if x[r] beats the root:      ->      for each key: candidate[count] = key; count += key > kth
        sift                             where count >= limit: kth = select(), keep the k best
    heapsort                             kth = select(), keep the k best, sort them

The k-th greatest of keys, which are integers (``schedule/sort_keys.py``), is found bit by bit from the highest: a bit
is set where k keys are not less than the value with it. That takes a passage over the candidates for each bit, in
vectors and without decisions. Of keys that equal the k-th the first are kept, so that equal elements stay in order.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import convert, eq, ge, gt, load, lt, maximum, minimum, select, store
from ..ir.graph import Node
from ..ir.loops import (
    BOOL,
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
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..ops.attributes import flag, integer
from ..ops.nest_tools import AxisSplit, Index
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors
from .key_sort import Keys, sort_keys
from .sort_keys import KEYED, key_range, sort_key

TOGETHER = 4
"""Vectors that are looked at together."""
_BLOCK = 256
"""Elements whose keys are computed at a time: a multiple of the vectors that are looked at together."""
_SPARE = 128
"""Candidates at least beyond the k best before there is a selection; else it is twice as many as these."""
_ALL_RANKED = 128
"""Elements of a line at most that are all ranked, for which there is no selection."""


def is_top_k_selection(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``top_k`` of lines of at least a vector, whose elements have keys of 32 bits."""
    node = ctx.anchor
    assert node is not None
    x, axis = node.operands[0], integer(node.attrs, "axis")
    long = has_vectors(ctx) and x.shape[axis] >= max(ctx.cpu.f32_lanes)
    return long and x.dtype in KEYED and integer(node.attrs, "k") > 0 and 0 not in x.shape


def lower_top_k_selection(ctx: KernelContext) -> Block:
    """``top_k``, for which :func:`is_top_k_selection` holds."""
    assert ctx.anchor is not None
    return _Selection(ctx, ctx.anchor).emit()


class _Selection:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.node, self.x = ctx, node, node.operands[0]
        self.axis, self.k = integer(node.attrs, "axis"), integer(node.attrs, "k")
        self.largest = flag(node.attrs, "largest")
        self.split = AxisSplit.of(self.x, (self.axis,))
        self.ref, self.out = ctx.refs[self.x.name], ctx.refs[node.output.name]
        self.lanes = max(ctx.cpu.f32_lanes)
        self.words = Type(DType.I32, self.lanes)
        least, self.bits = key_range(self.x.dtype)
        self.least = least if self.largest else -least - (1 << self.bits)
        extent = self.x.shape[self.axis]
        self.limit = self.k + max(_SPARE, 2 * self.k)
        self.blocks = max(0, extent - self.limit) // _BLOCK
        self.first = extent - self.blocks * _BLOCK
        group = self.lanes * TOGETHER
        self.room = -(-max(self.first, self.limit + _BLOCK if self.blocks else 0) // group) * group

    def emit(self) -> Block:
        return self.split.kept_loops(NestAdapter(self.ctx), self._line)

    def _line(self, kept: Index) -> Block:
        """The first elements are candidates as they are, and there are blocks of others."""
        (self.keys, keys), (self.places, places) = (self._memory(stem, self.room) for stem in ("keys", "places"))
        start = (*keys, *places, *self._start(kept))
        if self.first <= _ALL_RANKED and not self.blocks:
            return (*start, *self._sorted(kept, self.first))
        if self.k == self.first:
            return (*start, *self._sorted(kept, self.k))
        names = self.ctx.names
        self.count, self.kth = (Buffer(names.fresh(stem), I32, (1,), Space.REG) for stem in ("count", "kth"))
        return (
            *start, Alloc(self.count), store(self.count[0], self.first),
            Alloc(self.kth), store(self.kth[0], self.least),
            *self._blocks(kept), *self._select(), *self._sorted(kept, self.k),
        )  # fmt: skip

    def _memory(self, stem: str, extent: int) -> tuple[Buffer, Block]:
        return self.ctx.own_memory(stem, DType.I32, (extent,), 4 * 4 * self.room, 4 * self.lanes)

    def _key(self, kept: Index, r: Expr) -> Expr:
        key = sort_key(self.ref[self.split.merge(kept, (r,))])
        return key if self.largest else -1 - key

    def _start(self, kept: Index) -> Block:
        """The first candidates, and behind them keys that are least."""
        r = Var(self.ctx.names.fresh("r"))
        here = loop_index(r, self.first)
        filled = (store(self.keys[here], self._key(kept, here)), store(self.places[here], I32(here)))
        return (*self.ctx.vectorized(loop(r, self.first, *filled)), *self._fill(self.first))

    def _fill(self, start: int) -> Block:
        c = Var(self.ctx.names.fresh("c"))
        at = loop_index(c, self.room - start) + start
        return self.ctx.vectorized(loop(c, self.room - start, store(self.keys[at], self.least)))

    def _sorted(self, kept: Index, count: int) -> Block:
        most = self.least + (1 << self.bits) - 1
        keys = Keys(self.keys, self.places, count, most, self.bits)

        def write(rank: Expr, place: Expr) -> Block:
            stored = store(self.out[self.split.merge(kept, (rank,))], place)
            return (stored,) if count == self.k else (If(lt(rank, self.k), (stored,)),)

        return sort_keys(self.ctx, self._memory, keys, write)

    # ---- blocks of elements

    def _blocks(self, kept: Index) -> Block:
        if not self.blocks:
            return ()
        names = self.ctx.names
        block, group, r = (Var(names.fresh(stem)) for stem in ("block", "group", "r"))
        keys, allocated = self._memory("block_keys", _BLOCK)
        start = loop_index(block, self.blocks) * _BLOCK + self.first
        computed = self.ctx.vectorized(loop(r, _BLOCK, store(keys[r], self._key(kept, start + r))))
        groups = _BLOCK // (self.lanes * TOGETHER)
        looked = loop(group, groups, *self._group(keys, group * (self.lanes * TOGETHER), start))
        many = If(ge(self.count[0], self.limit), self._select())
        return (*allocated, *loop(block, self.blocks, many, *computed, *looked))

    def _group(self, keys: Buffer, first: Expr, start: Expr) -> Block:
        """Candidates among the elements of a few vectors."""
        names = self.ctx.names
        vectors = [Var(names.fresh("v"), self.words) for _ in range(TOGETHER)]
        greatest: Expr = vectors[0]
        for vector in vectors[1:]:
            greatest = maximum(greatest, vector)
        inside: list[Stmt] = []
        for n, vector in enumerate(vectors):
            lane, key = Var(names.fresh("lane")), Var(names.fresh("key"), I32)
            at = first + n * self.lanes + lane
            taken = (Let(key, keys[at]), *self._append(key, I32(start + at), gt(key, self.kth[0])))
            inside.append(If(gt(Reduce("max", vector), self.kth[0]), loop(lane, self.lanes, *taken)))
        lets = [Let(v, load(keys, first + n * self.lanes, lanes=self.lanes)) for n, v in enumerate(vectors)]
        return (*lets, If(gt(Reduce("max", greatest), self.kth[0]), tuple(inside)))

    def _append(self, key: Expr, place: Expr, wanted: Expr) -> Block:
        """Written in any case, and counted where it is ``wanted``. Where it is not, it is no greater than the k-th key
        so far, so that searches that find it behind the candidates have the same result."""
        at = convert(self.count[0], INDEX.dtype)
        return (
            store(self.keys[at], key), store(self.places[at], place),
            store(self.count[0], self.count[0] + convert(wanted, DType.I32)),
        )  # fmt: skip

    # ---- selection

    def _select(self) -> Block:
        """The k-th key, and the k best of the candidates, of which there are at least as many."""
        names = self.ctx.names
        trial, number, bit = Var(names.fresh("trial"), I32), Var(names.fresh("number"), I32), Var(names.fresh("bit"))
        counted, count = self._count(lambda keys: ge(keys, Splat(trial, self.lanes)))
        found = select(ge(number, self.k), trial, self.kth[0])
        search = loop(
            bit, self.bits, Let(trial, self.kth[0] + (as_expr(1, I32) << I32(self.bits - 1 - bit))), *counted,
            Let(number, count), store(self.kth[0], found),
        )  # fmt: skip
        return (store(self.kth[0], self.least), *search, *self._compact())

    def _count(self, wanted: Callable[[Expr], Expr]) -> tuple[Block, Expr]:
        """Statements that count the keys that are ``wanted``, and their number."""
        names, groups = self.ctx.names, self.room // (self.lanes * TOGETHER)
        group, sums = Var(names.fresh("g")), Buffer(names.fresh("sums"), self.words, (TOGETHER,), Space.REG)
        first = loop_index(group, groups) * (self.lanes * TOGETHER)
        block: list[Stmt] = []
        for n in range(TOGETHER):
            found = wanted(load(self.keys, first + n * self.lanes, lanes=self.lanes))
            block.append(store(sums[n], sums[n] + select(found, as_expr(1, self.words), 0)))
        start = (store(sums[n], as_expr(0, self.words)) for n in range(TOGETHER))
        total: Expr = sums[0]
        for n in range(1, TOGETHER):
            total = total + sums[n]
        return (Alloc(sums), *start, *loop(group, groups, *block)), Reduce("add", total)

    def _compact(self) -> Block:
        """Keeps those above the k-th key, and the first that equal it, in their order."""
        names = self.ctx.names
        counted, above = self._count(lambda keys: gt(keys, Splat(self.kth[0], self.lanes)))
        equal, end = Buffer(names.fresh("equal"), I32, (1,), Space.REG), Var(names.fresh("end"))
        c, same = Var(names.fresh("c")), Var(names.fresh("same"), BOOL)
        key, place = (Var(names.fresh(stem), I32) for stem in ("key", "place"))
        wanted = gt(key, self.kth[0]) | (same & gt(equal[0], 0))
        passage = (
            Let(key, self.keys[c]), Let(place, self.places[c]), Let(same, eq(key, self.kth[0])),
            *self._append(key, place, wanted), store(equal[0], equal[0] - convert(same, DType.I32)),
        )  # fmt: skip
        return (
            *counted, Alloc(equal), store(equal[0], self.k - above), Let(end, convert(self.count[0], INDEX.dtype)),
            store(self.count[0], 0), *loop(c, minimum(end, self.room), *passage), *self._fill(self.k),
        )  # fmt: skip
