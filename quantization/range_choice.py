"""The range of each tensor by what it does to the model's outputs, on samples that the range was not made from.

Several methods propose ranges (``ranges.py``). The samples are in folds: a method's range for all folds but one is
tried on the samples of that one. Whole models are compared, in which one method makes the ranges of all tensors: what
saturates in several of them adds up, and how far new samples reach beyond known ones is much the same in all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import repeat

import numpy as np

from ..ir.graph import Graph
from ..ops.table import OPS
from ..record import record
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
"""Of all trials together: of models that would need more no tensor is tried alone."""
_MOST_COMMON_MACS = 1 << 38
"""Of the trials of methods for all tensors: models that would need more keep to their method."""
_MOST_RUNS = 1 << 13
_MOST_TRIED = 64
_LEAST_TRIED = 8
_FEW_TRIED = 12
"""Samples of models whose tensors are not tried alone."""
_USUAL_TRIALS = 2
"""Of a group, on average: alone it is tried at a glance, and again if it makes much noise."""
_TELLING = 8
"""Samples that the extremes lose most by; a method that is no better for these is not tried on others."""
_GLANCE = 8
"""Samples by which groups are found that make little noise."""
_ALONE = 24
"""Samples by which the noise of others is measured."""
_LEAST_SHARE = 0.04
"""Of the noise of all groups: what makes less is known well enough."""
_CLEARLY = 0.63
"""Another method is better than the first one where it makes less than this part of its noise, 2 dB."""
_SURELY = 2.0
"""It is better as well where the difference of noises, sample by sample, is so many standard errors: of few samples a
handful may make most of the noise."""


@record
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
        lowest, highest = (-np.inf, np.inf) if stats.response is None else stats.response.limits(stats.low, stats.high)
        return max(low * self.part, lowest), min(high * self.part, highest)


COMMON = (
    Method(RangeMethod.MIN_MAX),
    Method(RangeMethod.MSE, trust=3.0),
    Method(RangeMethod.MSE, trust=3.0, part=1.2),
    Method(RangeMethod.MIN_MAX, part=1.2),
)
"""Methods for all tensors, the first of which others have to beat. By it nothing saturates that was seen; what cuts
off more, or leaves more room, is worth it where samples show so clearly. (Of 57 divisions of the samples of 19 models
into those that chose and others, this choice was more than 1 dB below the extremes in 4, and .6 dB above on average;
the best of all, whatever the difference, in 12, .4 dB above.)"""


Folded = Mapping[str, Sequence[Encoding]]
"""Of each group (by its first member), an encoding for each fold of the samples, made from the others."""


@record
class Group:
    """Values that share an encoding: what was observed of all, and how a range becomes an encoding."""

    stats: TensorStats
    encode: Callable[[Range], Encoding]


Known = Callable[[np.ndarray], Mapping[str, np.ndarray] | None]
"""The values of the float model, ``[samples, ...]`` by name, for samples by their numbers, if they were kept."""


@record
class Trials:
    """Samples, by their numbers, and the model to try encodings with; ``singly``: whether there is time for each tensor
    alone."""

    probe: Probe[Encodings]
    numbers: Sequence[int]
    singly: bool = True

    @staticmethod
    def of(
        graph: Graph, stored: Mapping[str, str], samples: Samples, known: Known = lambda numbers: None
    ) -> Trials | None:
        """``stored`` maps values to the first of their group; ``known`` gives the values of samples. ``None`` where
        trials would take too long."""
        groups = len(set(stored.values()))
        macs = 1 + sum(count(node) for node in graph.nodes if (count := OPS[node.op].macs) is not None)
        least, trials = min(_LEAST_TRIED, samples.count), _USUAL_TRIALS * groups
        tried = min(_MOST_TRIED, samples.count, min(_MOST_RUNS, _MOST_MACS // macs) // max(1, trials))
        singly = tried >= least
        if not singly:
            trials = len(COMMON)
            tried = min(_FEW_TRIED, samples.count, _MOST_COMMON_MACS // (macs * trials))
        if tried < least or not groups:
            return None
        numbers = spread(samples.count, tried)
        inputs = {name: array[numbers] for name, array in samples.inputs.items()}
        probe = Probe.of(graph, stored, inputs, trials, lambda: known(np.asarray(numbers)))
        return Trials(probe, numbers, singly)

    def noise_of_each(self, encodings: Folded, closely: Collection[str], least: float = 0.0) -> dict[str, float]:
        """That of each group alone, as few samples show it, and of those to look at ``closely`` that make much of it as
        more do. Nothing is known of any group where the latter make less than ``least`` together."""
        noise = self._noise_alone({name: encodings[name] for name in closely}, _GLANCE)
        if sum(noise.values()) < least:
            return {}
        noise |= self._noise_alone({name: each for name, each in encodings.items() if name not in noise}, _GLANCE)
        loud = _LEAST_SHARE * sum(noise.values())
        return noise | self._noise_alone({name: encodings[name] for name in closely if noise[name] > loud}, _ALONE)

    def _noise_alone(self, encodings: Folded, most: int) -> dict[str, float]:
        """As so many samples show it."""
        places = spread(len(self.numbers), most)
        return {
            name: self.probe.mean_of(self.noises({name: each}, places), places) for name, each in encodings.items()
        }

    def noises(
        self, encodings: Mapping[str, Sequence[Encoding]], order: Sequence[int] | None = None,
        is_lost: Callable[[np.ndarray, Sequence[int]], bool] = lambda noises, places: False,
    ) -> np.ndarray:  # fmt: skip
        """That of some groups together, each with an encoding for each fold of the samples; ``order`` and ``is_lost``
        as of :meth:`Probe.noises`."""

        def changes(place: int) -> Encodings:
            fold = self.numbers[place] % FOLDS
            return {name: each[fold] for name, each in encodings.items()}

        return self.probe.noises(changes, order, is_lost)


@record
class Chosen:
    """The method for all groups, what it gives each group for each fold, and the noise of all groups together."""

    method: Method
    folds: Folded
    noise: float


def choose_ranges(trials: Trials, groups: Mapping[str, Group]) -> Chosen:
    """By groups' first members.

    Methods are compared by the noise of all groups together. What a method for a single tensor wins alone is mostly
    luck of few samples: chosen so, ranges cut off what comes again.
    """
    log.info("trying ranges of %d tensors on %d samples", len(groups), len(trials.numbers))
    folds = {name: [group.stats.without(fold) for fold in range(FOLDS)] for name, group in groups.items()}
    trusts = [*dict.fromkeys(method.trust for method in COMMON if method.method is RangeMethod.MSE)]
    ranges = {name: [dict(zip(trusts, mse_ranges(part, trusts, _LEVELS))) for part in parts]
              for name, parts in folds.items()}  # fmt: skip
    encodings = {name: _encoded(group, COMMON[0], folds[name], ranges[name]) for name, group in groups.items()}
    first = trials.noises(encodings)
    best = Chosen(COMMON[0], encodings, trials.probe.mean(first))
    least, order = best.noise, worst_first(first)
    for method in COMMON[1:]:
        encodings = {name: _encoded(group, method, folds[name], ranges[name]) for name, group in groups.items()}

        def is_lost(noises: np.ndarray, places: Sequence[int], best: Chosen = best) -> bool:
            enough = len(places) >= _TELLING and not is_less(noises[:, places], first[:, places])
            return enough or trials.probe.mean(noises) >= best.noise

        found = trials.noises(encodings, order, is_lost)
        own = trials.probe.mean(found)
        if own < best.noise and (own < least * _CLEARLY or is_surely_less(found, first)):
            best = Chosen(method, encodings, own)
    return best


def _encoded(
    group: Group, method: Method, folds: Sequence[TensorStats], ranges: Sequence[Mapping[float, Range]]
) -> list[Encoding]:
    """For each fold of the samples."""
    return [group.encode(method.range_of(*each)) for each in zip(folds, repeat(_LEVELS), ranges)]


def worst_first(noises: np.ndarray) -> list[int]:
    """The samples of noises ``[judged, samples]``, those that make most first. By what is won with these other methods
    are told apart: where few samples make the noise, others show nothing."""
    power = np.maximum(noises.sum(axis=1, keepdims=True), 1e-30)
    return [int(place) for place in np.argsort(-(noises / power).sum(axis=0), kind="stable")]


def is_less(noises: np.ndarray, first: np.ndarray) -> bool:
    """Whether the noise of some samples, ``[judged, samples]``, is less than that of the first method, in the geometric
    mean of all that is judged."""
    parts = np.maximum(noises.sum(axis=1), 1e-30) / np.maximum(first.sum(axis=1), 1e-30)
    return bool(np.log(parts).mean() < 0)


def is_surely_less(noises: np.ndarray, first: np.ndarray) -> bool:
    """Whether the noise of each sample, ``[judged, samples]``, is less than that of the first method on average, and
    that is no matter of a few samples."""
    power = np.maximum(first.sum(axis=1, keepdims=True), 1e-30)
    apart = ((first - noises) / power).sum(axis=0)
    return bool(len(apart) > 1 and apart.mean() > _SURELY * apart.std(ddof=1) / np.sqrt(len(apart)))
