"""The order of calls: among all that compute the same, one with few bytes alive at a time."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import permutations

from ..ir.loops import Access, Kernel
from ..ir.program import BufferDecl, Storage
from ..ir.steps import Call
from ..record import record
from .overlap import least_distance, may_be_in_place

MOST_STEPS = 2_000_000
"""Tensors that the search looks at, once for each call that may come next, before it gives up."""


def order_calls(
    calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl]
) -> tuple[Call, ...]:
    """The order in which the most bytes that live during any call are the fewest; the given one where none is better.

    Best-first search over sets of finished calls, each extended by every call whose operands are there: what lives
    after a set does not depend on the order within it. Where the search gets too long, the better of the given order
    and a greedy one.
    """
    graph = _Graph(calls, kernels, buffers)
    everything = (1 << len(calls)) - 1
    given = graph.peak(range(len(calls)))
    queue: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, ())]
    seen: set[int] = set()
    steps = 0
    while queue:
        peak, done, order = heapq.heappop(queue)
        if peak >= given:
            break
        if done == everything:
            return tuple(calls[n] for n in order)
        if done in seen:
            continue
        seen.add(done)
        ready = graph.ready(done)
        steps += len(ready) * len(graph.tensors)
        if steps > MOST_STEPS:
            greedy = graph.greedy()
            return tuple(calls[n] for n in greedy) if graph.peak(greedy) < given else tuple(calls)
        for n in ready:
            heapq.heappush(queue, (max(peak, graph.bytes_during(n, done)), done | 1 << n, (*order, n)))
    return tuple(calls)


@record
class _Graph:
    """Sets of calls are bit masks."""

    calls: Sequence[Call]
    kernels: Mapping[str, Kernel]
    buffers: Mapping[str, BufferDecl]

    @cached_property
    def users(self) -> dict[str, int]:
        """The calls that use each tensor that is not constant."""
        found: dict[str, int] = {}
        for n, call in enumerate(self.calls):
            for name in call.args:
                if self.buffers[name].storage is not Storage.CONSTANT:
                    found[name] = found.get(name, 0) | 1 << n
        return found

    @cached_property
    def tensors(self) -> list[tuple[int, int, bool, bool]]:
        """For each tensor that is not constant: its users, its bytes, and whether it lives from the beginning, and to
        the end."""
        found = []
        for name, users in self.users.items():
            storage = self.buffers[name].storage
            if storage in (Storage.STATE, Storage.ROWS):
                continue
            found.append((users, self.buffers[name].nbytes, storage is Storage.INPUT, storage is Storage.OUTPUT))
        return found

    @cached_property
    def writers(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for n, call in enumerate(self.calls):
            for param, name in zip(self.kernels[call.kernel].params, call.args, strict=True):
                if param.access is not Access.READ:
                    found[name] = found.get(name, 0) | 1 << n
        return found

    @cached_property
    def before(self) -> list[int]:
        """The calls that each must come after: those before it that share a tensor that one of the two writes, or of
        which one writes what updates the other's."""
        found = []
        for n, call in enumerate(self.calls):
            earlier = 0
            for name in set(call.args) & set(self.users):
                writers = self.writers.get(name, 0)
                earlier |= self.users[name] if writers >> n & 1 else writers
                old = self.buffers[name].updates
                earlier |= self.users.get(old, 0) if old is not None and writers >> n & 1 else 0
            found.append(earlier & ((1 << n) - 1))
        return found

    @cached_property
    def savings(self) -> list[dict[tuple[str, str], int]]:
        """What each call saves where its operand dies and its result may overlap it."""
        found = []
        for call in self.calls:
            pairs = {}
            for x, y in permutations([name for name in dict.fromkeys(call.args) if self._is_placed(name)], 2):
                least = least_distance(self.kernels[call.kernel], call, x, y)
                if least is not None:
                    old, new = self.buffers[x].nbytes, self.buffers[y].nbytes
                    pairs[x, y] = max(0, old + new - max(old + max(least, 0), new + max(-least, 0)))
                    if may_be_in_place(self.kernels[call.kernel], call, x, y):
                        pairs[x, y] = max(pairs[x, y], min(old, new))
            found.append(pairs)
        return found

    def _is_placed(self, name: str) -> bool:
        """Whether a tensor is one of those that the order moves."""
        return name in self.users and self.buffers[name].storage is not Storage.STATE

    def ready(self, done: int) -> list[int]:
        return [n for n in range(len(self.calls)) if not done >> n & 1 and not self.before[n] & ~done]

    def bytes_during(self, n: int, done: int) -> int:
        """What lives while call ``n`` runs after those that are ``done``."""
        after = done | 1 << n
        total = 0
        for users, nbytes, from_begin, to_end in self.tensors:
            if (from_begin or users & after) and (to_end or users & ~done):
                total += nbytes
        saved: dict[str, int] = {}
        for (x, y), least in self.savings[n].items():
            dies = self.buffers[x].storage is not Storage.OUTPUT and not self.users[x] & ~after
            if dies and not self.users[y] & done:
                saved[x] = max(saved.get(x, 0), least)
        return total - sum(saved.values())

    def greedy(self) -> list[int]:
        """Always the call during which, then behind which, the fewest bytes live."""
        order: list[int] = []
        done = 0
        while len(order) < len(self.calls):
            during = {n: self.bytes_during(n, done) for n in self.ready(done)}
            order.append(min(during, key=lambda n: (during[n], self._bytes_behind(done | 1 << n), n)))
            done |= 1 << order[-1]
        return order

    def _bytes_behind(self, done: int) -> int:
        """What lives once the calls are ``done``."""
        return sum(
            nbytes
            for users, nbytes, from_begin, to_end in self.tensors
            if (from_begin or users & done) and (to_end or users & ~done)
        )

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes that live during any call."""
        most = done = 0
        for n in order:
            most = max(most, self.bytes_during(n, done))
            done |= 1 << n
        return most
