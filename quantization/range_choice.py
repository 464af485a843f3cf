"""The range of each tensor by what it does to the model's outputs, on samples that the range was not made from.

Several methods propose ranges (``ranges.py``). The samples are in folds: a method's range for all folds but one is
tried on the samples of that one, the tensor alone being rounded in the float model. The method whose noise at the
outputs is far less than the first one's then makes the range from all samples. A tensor's consumer so decides what is
worth keeping: behind a sigmoid large numbers are all alike, before a sum each counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.graph import Graph
from ..ops.table import OPS
from ..samples import Samples
from .encoding import Encoding
from .histogram import FOLDS, TensorStats
from .observe import spread
from .options import RangeMethod
from .probe import Encodings, Probe
from .ranges import Range, find_range

log = logging.getLogger(__name__)

_LEVELS = 256
_MOST_MACS = 1 << 34
"""Of all trials together: models that would need more keep to their method."""
_MOST_RUNS = 1 << 13
_MOST_TRIED = 24
_LEAST_TRIED = 8
_USUAL_TRIALS = 5
"""Of a group, on average: most add so little noise that nothing but the first method is tried."""
_LEAST_SHARE = 0.02
"""Of the noise of all groups that makes others worth trying."""
_PREFERENCE = 0.4
"""Another method has to make less than this part of the first one's noise: with few samples smaller differences are
luck."""


@dataclass(frozen=True)
class Method:
    """A way to find a range: one of ``RangeMethod``, its result times ``part``."""

    method: RangeMethod
    percentile: float = 100.0
    part: float = 1.0

    def range_of(self, stats: TensorStats, levels: int) -> Range:
        low, high = find_range(stats, self.method, self.percentile, levels)
        return low * self.part, high * self.part


METHODS = (
    Method(RangeMethod.MSE),
    Method(RangeMethod.MIN_MAX),
    Method(RangeMethod.MIN_MAX, part=1.2),
    Method(RangeMethod.MIN_MAX, part=0.85),
    Method(RangeMethod.MIN_MAX, part=0.7),
    Method(RangeMethod.MIN_MAX, part=0.5),
    Method(RangeMethod.PERCENTILE, 99.99),
    Method(RangeMethod.PERCENTILE, 99.9),
    Method(RangeMethod.PERCENTILE, 99.5),
)
"""The first is what others have to beat."""


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
        self, name: str, encodings: Sequence[Encoding], order: Sequence[int] | None = None, limit: float = np.inf
    ) -> np.ndarray:
        """That of a group alone, with an encoding for each fold of the samples."""
        return self.probe.noises(lambda place: {name: encodings[self.numbers[place] % len(encodings)]}, order, limit)


@dataclass(frozen=True)
class Chosen:
    """The method for each group, and the noise of those that make so little that no more than the first was tried."""

    methods: dict[str, Method]
    quiet: dict[str, float]


def choose_ranges(trials: Trials, groups: Mapping[str, Group]) -> Chosen:
    """By groups' first members."""
    log.info("trying ranges of %d tensors on %d samples", len(groups), len(trials.numbers))
    first = {name: _Tried.first(trials, name, group) for name, group in groups.items()}
    whole = sum(tried.noise for tried in first.values())
    heard = [name for name, tried in first.items() if tried.noise > _LEAST_SHARE * whole]
    chosen = dict.fromkeys(groups, METHODS[0])
    for place, name in enumerate(heard):
        log.info("trying ranges of %s", name, extra={"share": place / len(heard)})
        chosen[name] = first[name].best()
    quiet = {name: tried.noise for name, tried in first.items() if name not in heard}
    return Chosen(chosen, quiet)


@dataclass(frozen=True)
class _Tried:
    """A group with the encodings that the first method gives for each fold, the noise of these, and an order of the
    samples by it, the noisiest first: what is worse there needs no look at the others."""

    trials: Trials
    name: str
    group: Group
    folds: Sequence[TensorStats]
    encodings: Sequence[Encoding]
    noise: float
    order: Sequence[int]

    @staticmethod
    def first(trials: Trials, name: str, group: Group) -> _Tried:
        folds = [_without(group.stats, fold) for fold in range(FOLDS)]
        encodings = _encodings(METHODS[0], group, folds)
        noises = trials.noises(name, encodings)
        order = np.argsort(-(noises / trials.probe.power[:, np.newaxis]).sum(axis=0), kind="stable")
        return _Tried(trials, name, group, folds, encodings, trials.probe.mean(noises), order.tolist())

    def best(self) -> Method:
        best, known = METHODS[0], [self.encodings]
        least = self.noise * _PREFERENCE
        for method in METHODS[1:]:
            encodings = _encodings(method, self.group, self.folds)
            if encodings not in known:
                known.append(encodings)
                noise = self.trials.probe.mean(self.trials.noises(self.name, encodings, self.order, least))
                if noise < least:
                    best, least = method, noise
        return best


def _encodings(method: Method, group: Group, folds: Sequence[TensorStats]) -> list[Encoding]:
    return [group.encode(method.range_of(part, _LEVELS)) for part in folds]


def _without(stats: TensorStats, fold: int) -> TensorStats:
    others = [each for number, each in enumerate(stats.folds) if number != fold]
    return replace(stats, folds=others) if any(each.total for each in others) else stats
