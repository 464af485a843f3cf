"""Which tensors go to which pool: the busiest to the first, which is the fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..ir.program import Pool
from ..record import record
from .planner import Distances, Pairs, place
from .request import Request

Limits = Mapping[str, int | None]
"""The bytes of each pool by its name, fastest first; ``None``: as many as are needed."""

MOST_CHOICES = 512
"""Up to so many ways to choose pools are all tried."""
MOST_PLACEMENTS = 400
"""Placements of a pool that are tried to improve a choice."""


@record
class Problem:
    """Tensors with a place to be, what is known of their overlapping, and the bytes that a run reads and writes of
    each (``traffic``). ``max_ram`` bounds all pools together."""

    requests: Sequence[Request]
    align: int
    distances: Distances
    traffic: Mapping[str, int]
    limits: Limits
    max_ram: int | None = None
    in_place: Pairs = frozenset()


Choice = Mapping[str, int]
"""The number of the pool of each tensor."""
Change = tuple[tuple[str, int, int], ...]
"""Tensors with the pools that they leave and enter."""


def distribute(problem: Problem) -> tuple[Pool, ...]:
    """A plan for each pool.

    The cost of a choice is the sum, over all tensors, of traffic times number of the pool, so 0 where all are in the
    first; what does not fit counts before everything else, and where nothing fits the least is left over. Tensors go
    to the first pool with room, those first that are busiest for their size; where that leaves something over, the
    idlest to the last pool, or the largest first. Then single tensors are moved and two exchanged, until that gains
    nothing; where there are few choices, all are tried.
    """
    search = _Search(problem)
    choice = search.best()
    return tuple(search.pool(choice, number) for number in range(len(problem.limits)))


def fits(problem: Problem) -> bool:
    """Whether a short search finds room for everything."""
    search = _Search(problem)
    return not search.score(search.start())[0]


def excess(pools: Sequence[Pool], max_ram: int | None = None) -> int:
    """Bytes that are taken but not there."""
    over = sum(max(0, pool.ram - pool.limit) for pool in pools if pool.limit is not None)
    return over + (max(0, sum(pool.ram for pool in pools) - max_ram) if max_ram is not None else 0)


@dataclass
class _Search:
    problem: Problem
    taken: dict[tuple[int, frozenset[str]], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.limits = list(self.problem.limits.values())
        self.requests = sorted(self.problem.requests, key=lambda r: (-self._traffic(r) / max(r.nbytes, 1), r.name))

    def start(self) -> Choice:
        """A choice that fits, if it is easily found."""
        forwards = range(len(self.limits))
        by_size = sorted(self.requests, key=lambda r: (-r.nbytes, r.name))
        found = []
        for order, pools in (
            (self.requests, forwards), (self.requests[::-1], forwards[::-1]), (by_size, forwards),
            (by_size, forwards[::-1]),
        ):  # fmt: skip
            found.append(self._filled(order, pools))
            if not self.score(found[-1])[0]:
                break
        return min(found, key=self.score)

    def best(self) -> Choice:
        few = len(self.limits) ** len(self.requests) <= MOST_CHOICES
        return (self._exact if few else self._improved)(self.start())

    def pool(self, choice: Choice, number: int) -> Pool:
        """The plan of one pool, as small as it gets."""
        name, limit = list(self.problem.limits.items())[number]
        inside = [r for r in self.problem.requests if choice[r.name] == number]
        return replace(self._placed(inside), name=name, limit=limit)

    def _placed(self, inside: Sequence[Request], enough: int = -1) -> Pool:
        problem = self.problem
        return place(inside, problem.align, problem.distances, enough, problem.in_place)

    # ---- what a choice costs

    def score(self, choice: Choice) -> tuple[int, int]:
        """The bytes that do not fit, then the cost. Tensors without a pool count nothing."""
        taken = [self._taken(choice, number) for number in range(len(self.limits))]
        over = sum(max(0, n - limit) for n, limit in zip(taken, self.limits, strict=True) if limit is not None)
        if self.problem.max_ram is not None:
            over += max(0, sum(taken) - self.problem.max_ram)
        return over, sum(self._traffic(r) * choice[r.name] for r in self.requests if r.name in choice)

    def _taken(self, choice: Choice, number: int) -> int:
        """The bytes of a pool: any number below its limit will do where that is all that counts, and the best of a few
        orders where the sum counts as well."""
        limit = self.limits[number]
        if limit is None and self.problem.max_ram is None:
            return 0
        key = number, frozenset(name for name, chosen in choice.items() if chosen == number)
        if key not in self.taken:
            align = self.problem.align
            enough = limit // align * align if limit is not None and self.problem.max_ram is None else 0
            inside = [r for r in self.problem.requests if r.name in key[1]]
            self.taken[key] = self._placed(inside, enough).ram
        return self.taken[key]

    def _traffic(self, request: Request) -> int:
        return self.problem.traffic.get(request.name, 0)

    # ---- searches

    def _filled(self, order: Sequence[Request], pools: Sequence[int]) -> Choice:
        """Each tensor in the first of ``pools`` where it makes nothing worse, else where that does least harm."""
        choice: dict[str, int] = {}
        over = 0
        for request in order:
            found = []
            for number in pools:
                found.append((self.score({**choice, request.name: number})[0], number))
                if found[-1][0] <= over:
                    break
            over, choice[request.name] = min(found, key=lambda pair: pair[0])
        return choice

    def _improved(self, choice: Choice) -> Choice:
        """Rounds of changes that each make it better, until a round changes nothing."""
        score, end = self.score(choice), len(self.taken) + MOST_PLACEMENTS
        changed = True
        while changed:
            changed = False
            for change in self._changes(choice, score[0] > 0):
                if len(self.taken) >= end:
                    return choice
                if all(choice[name] == before for name, before, _ in change):
                    other = {**choice, **{name: after for name, _, after in change}}
                    if self.score(other) < score:
                        choice, score, changed = other, self.score(other), True
        return choice

    def _changes(self, choice: Choice, unfit: bool) -> list[Change]:
        """Tensors that change pools: one alone, or two that live at the same time and exchange theirs. Those first that
        gain most; where the choice is ``unfit``, whatever they cost."""
        moves: list[Change] = [
            ((r.name, choice[r.name], number),)
            for r in self.requests
            for number in range(len(self.limits))
            if number != choice[r.name]
        ]
        swaps: list[Change] = [
            ((a.name, choice[a.name], choice[b.name]), (b.name, choice[b.name], choice[a.name]))
            for position, a in enumerate(self.requests)
            for b in self.requests[position + 1 :]
            if choice[a.name] != choice[b.name] and a.overlaps(b)
        ]
        costs = [
            (sum(self.problem.traffic.get(name, 0) * (after - before) for name, before, after in change), change)
            for change in (*moves, *swaps)
        ]
        return [change for cost, change in sorted(costs, key=lambda pair: pair[0]) if cost < 0 or unfit]

    def _exact(self, best: Choice) -> Choice:
        """All choices, but those that begin worse than the best ends."""
        least = self.score(best)

        def extend(choice: Choice, rest: Sequence[Request]) -> None:
            nonlocal best, least
            found = self.score(choice)
            if found >= least:
                return
            if not rest:
                best, least = choice, found
                return
            for number in range(len(self.limits)):
                extend({**choice, rest[0].name: number}, rest[1:])

        extend({}, self.requests)
        return best
