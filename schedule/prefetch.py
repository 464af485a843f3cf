"""Weights brought into caches before they are read: those of the next block while one is computed, and the next lines.

A block of weights is read once for each block of rows. What hardware fetches ahead on its own follows the lines as they
are read, so that each new block waits for memory at its first row. Here each step of each row asks for a part of the
next block, which has come to the second cache when its turn comes; and for a line of its own block some steps ahead,
from the second cache to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from ..ir.loops import INDEX, Access, Block, Buffer, Expr, Load, Pointer, Prefetch, Space, Var, as_expr
from ..ir.loops_rewrite import flat_index, map_expr, row_major, walk_expr
from ..record import record
from ..targets.target import CacheLines
from .affine import coefficient, occurs
from .blocking import Axis


@record
class Stream:
    """Blocks of weights of ``elements`` each, one after the other in ``buffer``; ``starts`` are the first elements of
    the present one, a line each, with ``width`` elements from step to step, ``next`` is that of the next one or
    ``None``, ``again`` the loops that read the present one over and over."""

    buffer: Buffer
    elements: int
    starts: tuple[Expr, ...]
    width: int
    next: Expr | None
    again: tuple[Axis, ...]
    lines: CacheLines

    def next_lines(self, k: Expr, width: int) -> Block:
        """At step ``k``, which reads ``width`` elements: the lines that are read some steps later."""
        size = self.buffer.dtype.size
        if self.elements * size < self.lines.near:
            return ()
        ahead = ceil(self.lines.distance / (width * size)) * self.width
        return tuple(self._at(start + k * self.width + ahead) for start in self.starts)

    def next_block(self, body: Expr, bodies: int) -> Block:
        """In passage ``body`` of ``bodies`` of the loops over k: a part of the next block. Of loops that are empty, as
        those over fewer elements than the machine multiplies together, no passage fetches."""
        size = self.buffer.dtype.size
        if self.next is None or bodies < 1:
            return ()
        passages = bodies * prod(axis.extent for axis in self.again)
        parts = ceil(self.elements * size / (self.lines.size * passages))
        step = ceil(self.elements / (passages * parts))
        passage = row_major([axis.var for axis in self.again], [axis.extent for axis in self.again])
        place = self.next + (passage * bodies + body) * (parts * step)
        return tuple(self._at(place + part * step) for part in range(parts))

    def _at(self, place: Expr) -> Prefetch:
        return Prefetch(Pointer(self.buffer, (*[INDEX(0)] * (len(self.buffer.shape) - 1), place)))


def stream(
    lines: CacheLines, rhs: Sequence[Expr], k: Sequence[Var], elements: int, around: Sequence[Axis], parts: int
) -> Stream | None:
    """What the loops ``around``, outermost first, read through ``rhs``, the vectors of a step ``k``, of which each has
    ``parts``; ``None`` where these are no loads of constants, or of so few that they stay in the caches."""
    loads = [part for vector in rhs for part in walk_expr(vector) if isinstance(part, Load)]
    if len(loads) != len(rhs):
        return None
    buffer, lanes = loads[0].buffer, loads[0].lanes
    if buffer.space is not Space.GLOBAL or buffer.access is not Access.READ:
        return None
    if prod(buffer.shape) * buffer.dtype.size < lines.fewest:
        return None
    step = coefficient(_flat(loads[0]), k[-1])
    if step is None:
        return None
    first, *others = (_without(_flat(load), k) for load in loads[:: max(1, lines.size // (lanes * buffer.dtype.size))])
    starts = tuple(place + part * step for part in range(parts) for place in (first, *others))
    moving = [number for number, axis in enumerate(around) if occurs(axis.var, first)]
    if not moving:
        return Stream(buffer, elements, starts, parts * step, None, (), lines)
    var, again = around[moving[-1]].var, tuple(around[moving[-1] + 1 :])
    following = map_expr(first, lambda part: var + 1 if part == var else None) if again else None
    return Stream(buffer, elements, starts, parts * step, following, again, lines)


def _flat(load: Load) -> Expr:
    """The number of the first element in its buffer."""
    return flat_index(load.buffer, load.index)


def _without(index: Expr, k: Sequence[Var]) -> Expr:
    return map_expr(index, lambda part: as_expr(0) if part in k else None)
