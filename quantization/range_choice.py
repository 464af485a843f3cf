"""The range of each tensor by what it does to the model's outputs, on samples that the range was not made from.

Several methods propose ranges (``ranges.py``). The samples are in folds: a method's range for all folds but one is
tried on the samples of that one. First whole models are compared, in which one method makes the ranges of all tensors:
what saturates in several of them adds up, and how far new samples reach beyond known ones is much the same in all. Then
single tensors that make much noise are rounded alone in the float model. A method whose noise at the outputs is far
less than that of the method for all makes the tensor's range. Its consumer so decides what is worth keeping: behind a
sigmoid large numbers are all alike, before a sum each counts. In the end ranges of single tensors have to be better all
together, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from ..ir.graph import Graph
from ..ops.table import OPS
from ..samples import Samples
from .encoding import Encoding
from .histogram import FOLDS, TensorStats
from .observe import spread
from .options import RangeMethod
from .probe import Encodings, Probe
from .ranges import DEFAULT_TRUST, Range, find_range, mse_ranges

log = logging.getLogger(__name__)

_LEVELS = 256
_MOST_MACS = 1 << 34
"""Of all trials together: models that would need more keep to their method."""
_MOST_RUNS = 1 << 13
_MOST_TRIED = 64
_LEAST_TRIED = 8
_USUAL_TRIALS = 5
"""Of a group, on average: most add so little noise that nothing but the first method is tried."""
_GLANCE = 8
"""Samples by which groups are found that make little noise."""
_LEAST_SHARE = 0.04
"""Of the noise of all groups that makes others worth trying."""
_PREFERENCE = 0.4
"""Another method has to make less than this part of the noise that the one for all makes: with few samples smaller
differences are luck."""
_CLEARLY = 0.9
"""The same for a method for all against the first one: whole models tell methods apart better than single tensors."""
_ALIKE = 1 / 16
"""Of the width of a range, by which another has to differ at one end to be tried."""


@dataclass(frozen=True)
class Method:
    """A way to find a range: one of ``RangeMethod``, its result times ``part``; ``trust`` is for that of ``MSE``."""

    method: RangeMethod
    percentile: float = 100.0
    part: float = 1.0
    trust: float = DEFAULT_TRUST

    def range_of(self, stats: TensorStats, levels: int, known: Mapping[float, Range] | None = None) -> Range:
        """``known`` has the ranges by ``MSE`` for some numbers of :attr:`trust`."""
        if self.method is RangeMethod.MSE:
            ((low, high),) = [known[self.trust]] if known else mse_ranges(stats, [self.trust], levels)
        else:
            low, high = find_range(stats, self.method, self.percentile, levels)
        return low * self.part, high * self.part


COMMON = (
    Method(RangeMethod.MSE),
    Method(RangeMethod.MSE, trust=3.0),
    Method(RangeMethod.MSE, trust=3.0, part=1.2),
    Method(RangeMethod.MIN_MAX),
    Method(RangeMethod.MIN_MAX, part=1.2),
)
"""Methods for all tensors, the first of which others have to beat."""

SINGLE = (
    Method(RangeMethod.MIN_MAX),
    Method(RangeMethod.MIN_MAX, part=1.2),
    Method(RangeMethod.MIN_MAX, part=0.7),
    Method(RangeMethod.MIN_MAX, part=0.5),
    Method(RangeMethod.PERCENTILE, 99.9),
    Method(RangeMethod.PERCENTILE, 99.5),
)
"""Methods for a tensor that makes much noise."""


@dataclass(frozen=True)
class Group:
    """Values that share an encoding: what was observed of all, and how a range becomes an encoding."""

    stats: TensorStats
    encode: Callable[[Range], Encoding]


@dataclass(frozen=True)
class Trials:
    """Samples, by their numbers, and the model to try encodings with."""

    probe: Probe[Encodings]
    numbers: Sequence[int]

    @staticmethod
    def of(graph: Graph, stored: Mapping[str, str], samples: Samples) -> Trials | None:
        """``stored`` maps values to the first of their group. ``None`` where trials would take too long."""
        groups = len(set(stored.values()))
        macs = 1 + sum(count(node) for node in graph.nodes if (count := OPS[node.op].macs) is not None)
        runs = min(_MOST_RUNS, _MOST_MACS // macs)
        trials = _USUAL_TRIALS * groups
        tried = min(_MOST_TRIED, samples.count, runs // max(1, trials))
        if tried < min(_LEAST_TRIED, samples.count) or not groups:
            return None
        numbers = spread(samples.count, tried)
        inputs = {name: array[numbers] for name, array in samples.inputs.items()}
        return Trials(Probe.of(graph, stored, inputs, trials), numbers)

    def noise(self, encodings: Encodings) -> float:
        """That of some groups together."""
        return self.probe.noise(lambda _: encodings)

    def noises(
        self, encodings: Mapping[str, Sequence[Encoding]], order: Sequence[int] | None = None, limit: float = np.inf
    ) -> np.ndarray:
        """That of some groups together, each with an encoding for each fold of the samples; ``order`` and ``limit`` as
        of :meth:`Probe.noises`."""

        def changes(place: int) -> Encodings:
            fold = self.numbers[place] % FOLDS
            return {name: each[fold] for name, each in encodings.items()}

        return self.probe.noises(changes, order, limit)


@dataclass(frozen=True)
class Chosen:
    """The method for each group, and the noise of those that make so little that no other method was tried."""

    methods: dict[str, Method]
    quiet: dict[str, float]


Folded = Mapping[str, Sequence[Encoding]]
"""Of each group (by its first member), an encoding for each fold of the samples, made from the others."""


def choose_ranges(trials: Trials, groups: Mapping[str, Group]) -> Chosen:
    """By groups' first members."""
    log.info("trying ranges of %d tensors on %d samples", len(groups), len(trials.numbers))
    folds = {name: [_without(group.stats, fold) for fold in range(FOLDS)] for name, group in groups.items()}
    common, encodings, together = _common(trials, groups, folds)
    places = spread(len(trials.numbers), _GLANCE)
    glance = {name: trials.noises({name: each}, places) for name, each in encodings.items()}
    noise = {name: trials.probe.mean_of(noises, places) for name, noises in glance.items()}
    heard = [name for name in groups if noise[name] > _LEAST_SHARE * sum(noise.values())]
    first = {name: _Tried.first(trials, name, encodings[name]) for name in heard}
    quiet = {name: each for name, each in noise.items() if name not in first}
    methods, others = dict.fromkeys(groups, common), {}
    for place, name in enumerate(heard):
        log.info("trying ranges of %s", name, extra={"share": place / len(heard)})
        better = first[name].better(groups[name], folds[name])
        if better is not None:
            methods[name], others[name] = better
    if others and trials.probe.mean(trials.noises({**encodings, **others}, limit=together)) >= together:
        methods = dict.fromkeys(groups, common)
    return Chosen(methods, quiet)


def _common(
    trials: Trials, groups: Mapping[str, Group], folds: Mapping[str, Sequence[TensorStats]]
) -> tuple[Method, Folded, float]:
    """The best method for all groups, what it gives for each fold, and the noise of all together."""
    trusts = [*dict.fromkeys(method.trust for method in COMMON)]
    ranges = {name: [dict(zip(trusts, mse_ranges(part, trusts, _LEVELS))) for part in parts]
              for name, parts in folds.items()}  # fmt: skip
    best, found, noise = COMMON[0], {}, np.inf
    for method in COMMON:
        encodings = {
            name: [group.encode(method.range_of(*each)) for each in zip(folds[name], repeat(_LEVELS), ranges[name])]
            for name, group in groups.items()
        }
        limit = noise * _CLEARLY if best is COMMON[0] else noise
        own = trials.probe.mean(trials.noises(encodings, limit=limit))
        if own < limit:
            best, found, noise = method, encodings, own
    return best, found, noise


@dataclass(frozen=True)
class _Tried:
    """A group with the encodings that the method for all gives for each fold, the noise of these, and an order of the
    samples by it, the noisiest first: what is worse there needs no look at the others."""

    trials: Trials
    name: str
    encodings: Sequence[Encoding]
    noise: float
    order: Sequence[int]

    @staticmethod
    def first(trials: Trials, name: str, encodings: Sequence[Encoding]) -> _Tried:
        noises = trials.noises({name: encodings})
        order = np.argsort(-(noises / trials.probe.power[:, np.newaxis]).sum(axis=0), kind="stable")
        return _Tried(trials, name, encodings, trials.probe.mean(noises), order.tolist())

    def better(self, group: Group, folds: Sequence[TensorStats]) -> tuple[Method, Sequence[Encoding]] | None:
        """Another method that is far better, and what it gives for each fold."""
        best, known = None, [self.encodings]
        least = self.noise * _PREFERENCE
        for method in SINGLE:
            encodings = [group.encode(method.range_of(part, _LEVELS)) for part in folds]
            if not any(_are_alike(encodings, others) for others in known):
                known.append(encodings)
                noise = self.trials.probe.mean(self.trials.noises({self.name: encodings}, self.order, least))
                if noise < least:
                    best, least = (method, encodings), noise
        return best


def _are_alike(encodings: Sequence[Encoding], others: Sequence[Encoding]) -> bool:
    """Whether the ranges of each fold are about the same."""
    return all(
        max(abs(a - b) for a, b in zip(one.real_range, other.real_range)) <= _ALIKE * 255 * one.scale[0]
        for one, other in zip(encodings, others)
    )


def _without(stats: TensorStats, fold: int) -> TensorStats:
    others = [each for number, each in enumerate(stats.folds) if number != fold]
    return replace(stats, folds=others) if any(each.total for each in others) else stats
