"""The search among models of mixed precision: from the front of what is estimated to be best to what is measured to be.

A place on the front (``front.py``) is found by bisection: the first choice that is as good as demanded, or the last
that fits the limits. Estimates of noise and cost are only estimates. So the choices next to it are measured (one
candidate more, one less, one for another), as long as that finds something better; beside the front, the uniform
choices are: no candidate, what is wide by default, all tensors with 16 bits, all weights as well, and all in float.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest

import numpy as np

from ..record import record
from .attempts import Attempt, Attempts
from .candidates import Candidate, Raise
from .front import Chosen, front, slot_of, with_candidate
from .prices import Costing
from .quantizer import Quantizer, needs_bytes

log = logging.getLogger(__name__)

_TRIALS, _LARGE_TRIALS = 24, 3
"""Neighbours of small models, and of large ones, that are tuned and measured."""
_MOST_FILLED = 12
"""Candidates that are tried beside those that fit a budget."""
_MOST_TAKEN_BACK = 24
"""Trials without tuning to do without candidates."""
_NEAR = 3.0
"""In dB, what tuning may be worth: what is estimated to miss a goal by more is not tried."""
_LATER = 1e9
"""The factor on the cost of what comes last in an order."""


@record
class Search:
    """Among ``candidates`` of ``attempts``."""

    attempts: Attempts
    candidates: Sequence[Candidate]
    costs: Costing

    # ------------------------------------------------------------ within the limits

    def within(self) -> Attempt | None:
        """The best score of what fits; ``None`` where nothing does."""
        best: Attempt | None = None
        for raised in chain(self.uniform(), *map(self._longest, self._fronts())):
            best = self._fitting(raised) if best is None else self._better(best, raised)
        return None if best is None else self._improved(best, self._fuller, self._better)

    def _fronts(self) -> Iterator[list[Chosen]]:
        """For small models also those with tensors before weights, and with the noisiest first: tuning makes up for
        noise in part, which the noise of each candidate alone does not tell."""
        yield front(self.candidates, self.costs)
        if self.attempts.is_small:
            yield front(self.candidates, lambda each: self.costs(each) * (1.0 if each.kind is Raise.INT16 else _LATER))
            yield front(self.candidates, lambda each: _LATER if each.kind is Raise.FLOAT else 1.0)

    def _longest(self, choices: Sequence[Chosen]) -> Iterator[Chosen]:
        """The last choice of the front that fits, alone and with what else fits."""
        count = bisected(lambda n: not self.attempts.seems_to_fit(choices[n + 1]), len(choices) - 1)
        raised = choices[count]
        yield raised
        left = sorted(self._others(raised), key=lambda each: -each.noise / self.costs(each))
        price, trials = self.attempts.untuned_price(raised), _MOST_FILLED
        for candidate in left:
            if trials > 0 and price is not None and self.costs.may_fit(price, (), [candidate]):
                trials -= 1
                more = with_candidate(raised, candidate)
                found = self.attempts.untuned_price(more)
                if found is not None and found.fits:
                    raised, price = more, found
        yield raised

    def _fitting(self, raised: Chosen) -> Attempt | None:
        if self.attempts.is_small or self.attempts.seems_to_fit(raised):
            found = self.attempts.attempt(raised)
            return found if self.attempts.fits(found) else None
        return None

    def _better(self, best: Attempt, raised: Chosen) -> Attempt:
        """``best``, or what has a better score and fits."""
        if not (self.attempts.is_small or self._may_be_better(best, raised)):
            return best
        found = self.attempts.attempt(raised)
        return found if found.score > best.score and self.attempts.fits(found) else best

    def _may_be_better(self, best: Attempt, raised: Chosen) -> bool:
        """Without tuning."""
        return self.attempts.untuned(raised).score >= best.score - _NEAR and self.attempts.seems_to_fit(raised)

    def _fuller(self, best: Attempt) -> Iterator[Chosen]:
        """What may have less noise and fit, that of the least estimated noise first; and in turns, what may be better
        without a candidate that is worth little."""
        price = self.attempts.price(best)
        quieter = [
            each for each in chain(self._with_one(best.raised), self._exchanged(best.raised))
            if self.noise(each) < self.noise(best.raised)
            and (price is None or self.costs.may_fit(price, set(best.raised) - set(each), set(each) - set(best.raised)))
        ]  # fmt: skip
        yield from in_turns(sorted(quieter, key=self.noise), sorted(self._without_one(best.raised), key=self.noise))

    # ------------------------------------------------------------ as good as demanded

    def demanded(self) -> Attempt:
        """The cheapest that is as good as demanded, as far as it is found; what is nearest where nothing is."""
        best = self._shortest()
        if not self.attempts.aim.thorough:
            return best
        for raised in self.uniform():
            best = self._cheaper(best, raised)
        return self._improved(best, self._leaner, self._cheaper) if best.is_good else best

    def _shortest(self) -> Attempt:
        """The first choice of the front that is as good as demanded, without what it does not need."""
        choices, attempts = front(self.candidates, self.costs), self.attempts
        count = bisected(lambda n: attempts.untuned(choices[n]).is_good, len(choices) - 1)
        if attempts.is_small and attempts.aim.thorough:
            count = bisected(lambda n: attempts.attempt(choices[n]).is_good, count)
        step = 1
        while not attempts.attempt(choices[count]).is_good and count < len(choices) - 1:
            count, step = min(len(choices) - 1, count + step), 2 * step
        found = attempts.attempt(choices[count])
        kept = self._shrunk(found) if found.is_good else found.raised
        return self._cheaper(found, kept) if len(kept) < len(found.raised) else found

    def _shrunk(self, found: Attempt) -> Chosen:
        """Without the candidates that the demand does not need without tuning, the dearest first: in quarters, eighths,
        ... of all, and at last one by one."""
        kept, trials = sorted(found.raised, key=self.costs, reverse=True), _MOST_TAKEN_BACK
        size = max(1, len(kept) // 4)
        while trials > 0:
            start = 0
            while start < len(kept) and trials > 0:
                others = kept[:start] + kept[start + size :]
                trials -= 1
                if self.attempts.untuned(tuple(others), found.result.tuned).is_good:
                    kept = others
                else:
                    start += size
            if size == 1:
                break
            size //= 2
        return tuple(kept)

    def _cheaper(self, best: Attempt, raised: Chosen) -> Attempt:
        """``best``, or what is as good as demanded and costs less."""
        if best.is_good and self.cost(raised) > 2 * self.cost(best.raised):
            return best
        if not self.attempts.is_small and best.is_good and not self._is_near(self.attempts.untuned(raised)):
            return best
        found = self.attempts.attempt(raised)
        if not best.is_good:
            return found if (found.is_good, found.score) > (best.is_good, best.score) else best
        return found if found.is_good and self._measured_cost(found) < self._measured_cost(best) else best

    def _is_near(self, found: Attempt) -> bool:
        return found.is_good or found.score > self.attempts.aim.goal - _NEAR

    def _leaner(self, best: Attempt) -> Iterator[Chosen]:
        """What costs less and may be as good as demanded, the cheapest first; with one candidate less, then with one in
        the place of another."""
        goal = self.attempts.aim.goal
        most = np.inf if np.isinf(goal) else 10 ** (-(goal - _NEAR) / 10)
        now = 10 ** (-best.score / 10) - self.noise(best.raised)
        for choices in (self._without_one(best.raised), self._exchanged(best.raised)):
            leaner = [each for each in choices if self.cost(each) < self.cost(best.raised)]
            yield from sorted((each for each in leaner if now + self.noise(each) <= most), key=self.cost)

    def _measured_cost(self, found: Attempt) -> float:
        """The largest share of a limit; where nothing is limited, the cost of what is compiled, or else estimated."""
        if self.attempts.aim.meter is None:
            return self.cost(found.raised)
        price = self.attempts.price(found)
        if price is None:
            return np.inf
        return price.worst if price.needs else self.costs.shares.cost(price)

    # ------------------------------------------------------------ both

    def _improved(
        self,
        best: Attempt,
        neighbours: Callable[[Attempt], Iterable[Chosen]],
        better: Callable[[Attempt, Chosen], Attempt],
    ) -> Attempt:
        """With neighbours for as long as one is better, and as there are trials."""
        trials = _TRIALS if self.attempts.is_small else _LARGE_TRIALS
        tried: set[frozenset[Candidate]] = set()
        while True:
            before = best
            for raised in neighbours(before):
                if trials == 0:
                    return best
                if frozenset(raised) not in tried:
                    tried.add(frozenset(raised))
                    trials -= 1
                    best = better(best, raised)
                    if best is not before:
                        log.info("%d raised: %.1f dB", len(best.raised), best.score)
                        break
            else:
                return best

    def uniform(self) -> list[Chosen]:
        """Choices that are the same for all, those that raise nothing first."""
        quantizer, parts = self.attempts.quantizer, self.attempts.quantizer.partition()
        tensors = [each for each in self.candidates if each.kind is Raise.INT16]
        default = default_of(quantizer, tensors)
        all_wide = [each for each in tensors if not needs_bytes(parts, parts.members(each.name))]
        halfwords, floats = ([c for c in self.candidates if c.kind is k] for k in (Raise.HALFWORDS, Raise.FLOAT))
        every = ((), default, all_wide, [*all_wide, *halfwords], [*tensors, *floats])
        return list(dict.fromkeys(map(tuple, every)))

    def cost(self, raised: Iterable[Candidate]) -> float:
        return sum(map(self.costs, raised))

    def noise(self, raised: Iterable[Candidate]) -> float:
        """What is left of the estimated noise, less a constant."""
        return -sum(each.noise for each in raised)

    def _others(self, raised: Chosen) -> list[Candidate]:
        """Candidates whose slots are free."""
        taken = {slot_of(each) for each in raised}
        return [each for each in self.candidates if slot_of(each) not in taken]

    def _with_one(self, raised: Chosen) -> list[Chosen]:
        return [with_candidate(raised, each) for each in self.candidates if each not in raised]

    def _without_one(self, raised: Chosen) -> list[Chosen]:
        return [tuple(each for each in raised if each is not other) for other in raised]

    def _exchanged(self, raised: Chosen) -> list[Chosen]:
        return [
            with_candidate(others, each)
            for others in self._without_one(raised) for each in self.candidates if each not in raised
        ]  # fmt: skip


def default_of(quantizer: Quantizer, tensors: Iterable[Candidate]) -> Chosen:
    """Those of ``tensors`` that have 16 bits by default."""
    return () if quantizer.wider is None else tuple(each for each in tensors if each.name in quantizer.wider.wide)


def in_turns(*choices: Iterable[Chosen]) -> Iterator[Chosen]:
    """The first of each, the second of each, ..."""
    return (each for turn in zip_longest(*choices) for each in turn if each is not None)


def bisected(is_true: Callable[[int], bool], most: int) -> int:
    """The least number for which something is true, where it stays so for larger ones; ``most`` where none below is."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        found = is_true(middle)
        log.info("%d of %d raised: %s", middle, most, "enough" if found else "not enough")
        low, high = (low, middle) if found else (middle, high)
    return high
