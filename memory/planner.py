"""Placement of tensors in one pool of memory, at compile time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from ..ir.program import ARENA, Pool
from .first_fit import first_fit
from .request import Request

MOST_ATTEMPTS = 100
"""Orders that the search tries from each start, fewer where there are more than so many tensors:"""
MANY = 100
MANY_AT_A_TRIAL = 10
"""The same where it is only asked whether tensors fit: plans of that kind are many."""
MOST_PAIRS = 1_000_000
"""Pairs of tensors that live at the same time, over all orders of the search: what an order costs."""
MOST_SEARCHED = 500_000
"""With more such pairs there is no search: it would take memory and time, for little where so many live."""
EXACT = 7
"""Up to so many tensors all orders are tried."""


Distances = Mapping[tuple[str, str], int]
"""For (X, Y) the least ``start(X) - start(Y)`` at which they may share bytes; Y may also lie wholly behind X."""

Pairs = Set[tuple[str, str]]
"""(X, Y) that may also begin at the same place, whatever their distance."""


def place(
    requests: Sequence[Request], align: int, distances: Distances | None = None, enough: int = -1,
    in_place: Pairs = frozenset(),
) -> Pool:
    """Offsets such that tensors that live at the same time do not share bytes, or only as ``distances`` and
    ``in_place`` allow.

    Tensors are placed one after the other, each at the lowest offset that those before leave (greedy placement,
    Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). Several orders are tried: by
    size, by time from either end; then the best is improved by moving forward what lies at the top of the pool
    ("squeaky wheel" optimization, Joslin & Clements, 1999), and few tensors are tried in all orders. The search ends
    where no order can be better, or after a fixed number of attempts; where a size of ``enough`` bytes will do, also as
    soon as that is reached or known to be out of reach. Very many tensors are placed without a search, and apart.
    """
    if _pairs(requests) > MOST_SEARCHED:
        return _pool(requests, align, first_fit(requests, align))
    return _pool(requests, align, _Search(requests, align, distances or {}, enough, in_place).best().offsets)


def least_bytes(requests: Sequence[Request], align: int, distances: Distances) -> dict[int, int]:
    """For each step at which a tensor begins to live what the tensors of that step need at least."""
    return _Search(requests, align, distances, -1, frozenset()).least_bytes()


def _pool(requests: Sequence[Request], align: int, offsets: Mapping[str, int]) -> Pool:
    """The pool that these offsets make."""
    own = max((offsets[r.name] + r.nbytes for r in requests if not r.outside), default=0)
    total = max((offsets[r.name] + r.nbytes for r in requests), default=0)
    whole = _up(total, align) if any(r.outside for r in requests) else 0
    return Pool(ARENA, dict(sorted(offsets.items())), _up(own, align), align, whole)


def _pairs(requests: Sequence[Request]) -> int:
    """How many pairs of tensors live at a common step."""
    starts = sorted(r.first for r in requests)
    earlier = sum(bisect_right(starts, r.last) for r in requests)
    return earlier - len(requests) * (len(requests) + 1) // 2


@dataclass
class _Placed:
    """Offsets, and the two sizes to keep small: of all, and of what cannot be outside of the pool."""

    offsets: dict[str, int]
    total: int
    own: int

    @property
    def cost(self) -> tuple[int, int]:
        return self.total, self.own


@dataclass
class _Search:
    requests: Sequence[Request]
    align: int
    distances: Distances
    enough: int
    in_place: Pairs
    forbidden: dict[str, list[tuple[str, int, int]]] = field(init=False)
    contemporaries: dict[str, list[Request]] = field(init=False)

    def __post_init__(self) -> None:
        self.requests = [r for r in self.requests if r.nbytes] + [r for r in self.requests if not r.nbytes]
        self.contemporaries = _contemporaries(self.requests)
        self.forbidden = {
            a.name: [
                (b.name, low, high) for b in self.contemporaries[a.name] for low, high in self._all_forbidden(a, b)
            ]
            for a in self.requests
        }

    def best(self) -> _Placed:
        requests = self.requests
        orders = [
            sorted(requests, key=lambda r: (-r.nbytes, r.first, r.name)),
            sorted(requests, key=lambda r: (r.first, -r.nbytes, r.name)),
            sorted(requests, key=lambda r: (-r.last, -r.nbytes, r.name)),
            sorted(requests, key=lambda r: (-r.last, r.first, -r.nbytes, r.name)),
        ]
        least = self._goal()
        results = [(self._place(order), order) for order in orders]
        best = min((placed for placed, _ in results), key=lambda placed: placed.cost)
        for placed, start in results:
            if best.total > least:
                best = min(best, self._improved(start, placed, least), key=lambda placed: placed.cost)
        if best.total > least and len(requests) <= EXACT:
            best = self._exact(best)
        return best

    def _goal(self) -> float:
        """The bytes at which the search ends: at any where ``enough`` are out of reach."""
        least = self._lower_bound()
        if self.enough < 0:
            return least
        return self.enough if least <= self.enough else math.inf

    def _lower_bound(self) -> int:
        return max(self.least_bytes().values(), default=0)

    def least_bytes(self) -> dict[int, int]:
        """What the tensors of one step need at least: those that no distance lets overlap are disjoint."""
        shareable = {x for x, _ in self.distances}
        steps = {r.first: r for r in self.requests}
        return {step: self._at_step(request, shareable) for step, request in steps.items()}

    def _at_step(self, newest: Request, shareable: Set[str]) -> int:
        """At most one dying tensor hides behind each new one: all others lie side by side."""
        step = newest.first
        live = [newest, *(r for r in self.contemporaries[newest.name] if r.first <= step)]
        shared = {r.name for r in live if r.last == step and r.name in shareable}
        born = sum(r.nbytes for r in live if r.first == step and r.name not in shared)
        dying = sum(r.nbytes for r in live if r.name in shared)
        others = sum(r.nbytes for r in live) - born - dying
        return others + max(born, dying)

    def _improved(self, order: Sequence[Request], placed: _Placed, least: float) -> _Placed:
        """What is at the top goes to the front, again and again. ``placed`` is what the order gives."""
        current, best = list(order), placed
        seen = {tuple(r.name for r in current)}
        many = MANY if self.enough < 0 else MANY_AT_A_TRIAL
        pairs = sum(map(len, self.contemporaries.values()))
        attempts = min(MOST_ATTEMPTS, MOST_ATTEMPTS * many // max(len(order), 1), MOST_PAIRS // max(pairs, 1))
        for _ in range(attempts):
            top = [n for n, r in enumerate(current) if placed.offsets[r.name] + r.nbytes == placed.total]
            if best.total <= least or not top:
                break
            position = top[-1]
            chosen = current[position]
            for target in (position // 2, 0):
                moved = [r for r in current if r is not chosen]
                moved.insert(target, chosen)
                if tuple(r.name for r in moved) not in seen:
                    break
            else:
                break
            current = moved
            seen.add(tuple(r.name for r in current))
            placed = self._place(current)
            best = min(best, placed, key=lambda p: p.cost)
        return best

    def _exact(self, best: _Placed) -> _Placed:
        """All orders, but those that begin with more than the best."""

        def extend(placed: dict[str, int], top: int, rest: tuple[Request, ...]) -> None:
            nonlocal best
            if top >= best.total:
                return
            if not rest:
                own = max((placed[r.name] + r.nbytes for r in self.requests if not r.outside), default=0)
                best = _Placed(dict(placed), top, own)
                return
            for position, request in enumerate(rest):
                offset = self._lowest(request, placed)
                placed[request.name] = offset
                extend(placed, max(top, offset + request.nbytes), rest[:position] + rest[position + 1 :])
                del placed[request.name]

        extend({}, 0, tuple(self.requests))
        return best

    def _place(self, order: Sequence[Request]) -> _Placed:
        offsets: dict[str, int] = {}
        total = own = 0
        for request in order:
            offset = offsets[request.name] = self._lowest(request, offsets)
            end = offset + request.nbytes
            total, own = max(total, end), own if request.outside else max(own, end)
        return _Placed(offsets, total, own)

    def _lowest(self, request: Request, offsets: Mapping[str, int]) -> int:
        """The lowest aligned offset that is not forbidden by the tensors that have one."""
        step = request.align or self.align
        gaps = [
            (other + low, other + high)
            for name, low, high in self.forbidden[request.name]
            if (other := offsets.get(name)) is not None
        ]
        offset = 0
        for low, high in sorted(gaps):
            if low < offset < high:
                offset = _up(high, step)
        return offset

    def _all_forbidden(self, new: Request, old: Request) -> list[tuple[int, int]]:
        low, high = self._forbidden(new, old)
        in_place = (old.name, new.name) in self.in_place and old.last == new.first
        in_place |= (new.name, old.name) in self.in_place and new.last == old.first
        return [(low, 0), (0, high)] if in_place and low < 0 < high else [(low, high)]

    def _forbidden(self, new: Request, old: Request) -> tuple[int, int]:
        """The offsets of ``new`` relative to ``old`` that are strictly between the two are forbidden."""
        if not new.nbytes or not old.nbytes:
            return 0, 0
        low, high = -new.nbytes, old.nbytes
        if (old.name, new.name) in self.distances and old.last == new.first:
            return max(low, -self.distances[old.name, new.name]), high
        if (new.name, old.name) in self.distances and new.last == old.first:
            return low, min(high, self.distances[new.name, old.name])
        return low, high


def _contemporaries(requests: Sequence[Request]) -> dict[str, list[Request]]:
    """For each tensor the others that live when it does: those that do when it begins, and those that begin later."""
    begun = sorted(requests, key=lambda r: r.first)
    starts = [r.first for r in begun]
    found = {}
    live: list[Request] = []
    for position, request in enumerate(begun):
        live = [r for r in live if r.last >= request.first]
        later = begun[position + 1 : bisect_right(starts, request.last)]
        found[request.name] = [*live, *later]
        live.append(request)
    return found


def _up(value: int, align: int) -> int:
    return -(-value // align) * align
