"""Sorting keys with the places that they come from, without decisions that a processor would have to guess.

Few keys are *ranked*: the rank of a key is how many come before it, which vectors of keys count for a key at a time::

    rank[i : 16] = sum over j of before(key[j], key[i : 16])         out[rank[i]] = place[i]

More are sorted by their digits of eight bits, the last digit first, each by counting (Knuth, The Art of Computer
Programming, volume 3, 5.2.5). The greatest key comes first; equal ones stay in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..ir.build import convert, eq, ge, gt, le, load, lt, minimum, select, store
from ..ir.loops import I32, Alloc, Block, Buffer, Expr, If, Let, Space, Splat, Stmt, Type, Var, as_expr
from ..ir.loops_rewrite import loop, loop_index
from ..ir.types import DType
from ..record import record
from .kernel import KernelContext

RANKED = 256
"""The keys at most that are ranked: beyond, their square is more than the passes over all digits."""
_DIGIT = 8
_VALUES = 1 << _DIGIT

Write = Callable[[Expr, Expr], Block]
"""``write(rank, place)``: stores the place of a key that ``rank`` others come before."""
Memory = Callable[[str, int], tuple[Buffer, Block]]
"""``memory(stem, extent)``: so many i32, aligned to vectors, and the statements that allocate them."""


@record
class Keys:
    """The first ``count`` elements of ``keys``, or the first ``length`` of them where only a run knows how many, and
    where they come from. ``most`` is the greatest key that there may be, ``bits`` the number of bits in which keys
    differ from it. Both buffers are whole vectors, the last of which least keys fill up."""

    keys: Buffer
    places: Buffer
    count: int
    most: int
    bits: int
    length: Expr | None = None

    @property
    def extent(self) -> Expr:
        return as_expr(self.count) if self.length is None else minimum(self.length, self.count)

    def place(self, var: Var) -> Expr:
        """What a loop over the keys counts."""
        return loop_index(var, self.count) if self.length is None else var


def sort_keys(ctx: KernelContext, memory: Memory, keys: Keys, write: Write) -> Block:
    """Calls ``write`` for all keys, in any order."""
    if keys.count <= RANKED:
        return _ranked(ctx, memory, keys, write)
    many = _by_digits(ctx, memory, keys, write)
    if keys.length is None:
        return many
    few = _ranked(ctx, memory, replace(keys, count=RANKED), write)
    return (If(le(keys.length, RANKED), few, many),)


# ---------------------------------------------------------------- ranks


def _ranked(ctx: KernelContext, memory: Memory, given: Keys, write: Write) -> Block:
    lanes = max(ctx.cpu.f32_lanes)
    ranks, allocated = memory("ranks", -(-given.count // lanes) * lanes)
    names, blocks = ctx.names, ranks.shape[0] // lanes
    block, i = Var(names.fresh("b")), Var(names.fresh("i"))
    first, full = (loop_index(block, blocks) * lanes, as_expr(blocks))
    if given.length is not None:
        first, full = block * lanes, minimum((given.length + (lanes - 1)) // lanes, blocks)
    each = given.place(i)
    return (
        *allocated,
        *loop(block, full, *_rank_vector(ctx, given, ranks, first, lanes)),
        *loop(i, given.extent, *write(convert(ranks[each], DType.INDEX), given.places[each])),
    )  # fmt: skip


def _rank_vector(ctx: KernelContext, given: Keys, ranks: Buffer, first: Expr, lanes: int) -> Block:
    """The ranks of ``lanes`` keys. Keys in front of them come before equal ones, those behind do not; the keys that
    fill up the last vector are least and behind all."""
    names, words = ctx.names, Type(DType.I32, lanes)
    rank, mine = Buffer(names.fresh("rank"), words, (1,), Space.REG), Var(names.fresh("mine"), words)
    numbers = load(ctx.pack("numbers", np.arange(lanes, dtype=np.int32)), 0, lanes=lanes)
    before, beside, behind = (Var(names.fresh(stem)) for stem in ("before", "beside", "behind"))

    def count(other: Expr, comes_before: Callable[[Expr], Expr]) -> Block:
        key = Var(names.fresh("key"), words)
        found = select(comes_before(key), as_expr(1, words), 0)
        return (Let(key, Splat(given.keys[other], lanes)), store(rank[0], rank[0] + found))

    def equal_first(key: Expr) -> Expr:
        return gt(key, mine) | (eq(key, mine) & lt(Splat(I32(beside), lanes), numbers))

    return (
        Alloc(rank), store(rank[0], as_expr(0, words)), Let(mine, load(given.keys, first, lanes=lanes)),
        *loop(before, minimum(first, given.count), *count(before, lambda key: ge(key, mine))),
        *loop(beside, lanes, *count(first + beside, equal_first)),
        *loop(
            behind, minimum(given.extent - lanes - first, given.count),
            *count(first + behind + lanes, lambda key: gt(key, mine)),
        ),
        store(ranks[first], rank[0]),
    )  # fmt: skip


# ---------------------------------------------------------------- digits


def _by_digits(ctx: KernelContext, memory: Memory, given: Keys, write: Write) -> Block:
    """Passes from the last digit to the first, of the differences from the greatest key."""
    digits = -(-given.bits // _DIGIT)
    starts, allocated = memory("starts", digits * _VALUES)
    block: list[Stmt] = [*allocated, *_starts(ctx, given, starts, digits)]
    source, spare = (given.keys, given.places), None
    for digit in range(digits - 1):
        if spare is None:
            (keys, get_keys), (places, get_places) = (memory(stem, given.count) for stem in ("keys", "places"))
            spare, block = (keys, places), [*block, *get_keys, *get_places]
        block += _distribute(ctx, given, starts, digit, source, partial(_move, spare))
        source, spare = spare, source
    return (*block, *_distribute(ctx, given, starts, digits - 1, source, lambda at, key, place: write(at, place)))


def _move(target: tuple[Buffer, Buffer], at: Expr, key: Expr, place: Expr) -> Block:
    return (store(target[0][at], key), store(target[1][at], place))


def _distribute(
    ctx: KernelContext,
    given: Keys,
    starts: Buffer,
    digit: int,
    source: tuple[Buffer, Buffer],
    move: Callable[[Expr, Expr, Expr], Block],
) -> Block:
    """``move(at, key, place)`` for each key, which goes behind those with the same value of a digit."""
    names = ctx.names
    i, key, place = Var(names.fresh("i")), Var(names.fresh("key"), I32), Var(names.fresh("place"), I32)
    to, at = Var(names.fresh("to"), I32), Var(names.fresh("at"))
    here = given.place(i)
    slot = starts[_value(given, key, digit) + digit * _VALUES]
    return loop(
        i, given.extent, Let(key, source[0][here]), Let(place, source[1][here]),
        Let(to, slot), store(slot, to + 1), Let(at, convert(to, DType.INDEX)), *move(at, key, place),
    )  # fmt: skip


def _value(given: Keys, key: Expr, digit: int) -> Expr:
    """A digit of the difference from the greatest key, which wraps around where it has 32 bits."""
    return convert(((as_expr(given.most, I32) - key) >> (_DIGIT * digit)) & (_VALUES - 1), DType.INDEX)


def _starts(ctx: KernelContext, given: Keys, starts: Buffer, digits: int) -> Block:
    """Where keys with each value of each digit begin: how many have lesser ones."""
    names = ctx.names
    zero, i, value = (Var(names.fresh(stem)) for stem in ("z", "i", "v"))
    key, number = Var(names.fresh("key"), I32), Var(names.fresh("number"), I32)
    total = Buffer(names.fresh("total"), I32, (1,), Space.REG)
    counts = [starts[_value(given, key, digit) + digit * _VALUES] for digit in range(digits)]
    block: list[Stmt] = [
        *ctx.vectorized(loop(zero, digits * _VALUES, store(starts[zero], 0))),
        *loop(i, given.extent, Let(key, given.keys[given.place(i)]), *(store(count, count + 1) for count in counts)),
        Alloc(total),
    ]  # fmt: skip
    for digit in range(digits):
        slot = starts[value + digit * _VALUES]
        summed = (Let(number, slot), store(slot, total[0]), store(total[0], total[0] + number))
        block += (store(total[0], 0), *loop(value, _VALUES, *summed))
    return tuple(block)
