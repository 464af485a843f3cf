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
from .options import RangeMethod
from .probe import Probe
from .ranges import Range, find_range

log = logging.getLogger(__name__)

_LEVELS = 256
_MOST_MACS = 1 << 34
"""Of all trials together: models that would need more keep to their method."""
_MOST_RUNS = 1 << 13
_MOST_TRIED = 24
_LEAST_TRIED = 8
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


def choose_ranges(
    graph: Graph, stored: Mapping[str, str], groups: Mapping[str, Group], samples: Samples
) -> dict[str, Method] | None:
    """The method for each of ``groups``, which are by their first member; ``None`` where trials would take too long."""
    macs = 1 + sum(count(node) for node in graph.nodes if (count := OPS[node.op].macs) is not None)
    runs = min(_MOST_RUNS, _MOST_MACS // macs)
    tried = min(_MOST_TRIED, samples.count, runs // max(1, len(METHODS) * len(groups)))
    if tried < min(_LEAST_TRIED, samples.count) or not groups:
        return None
    numbers = sorted({int(place) for place in np.linspace(0, samples.count - 1, tried)})
    log.info("trying ranges of %d tensors on %d samples", len(groups), len(numbers))
    probe = Probe.of(graph, stored)
    inputs = [{name: array[n] for name, array in samples.inputs.items()} for n in numbers]
    wanted = [probe.outputs(one, {}) for one in inputs]
    power = [max(float(np.square(rows, dtype=np.float64).sum()), 1e-30) for rows in map(np.stack, zip(*wanted))]
    methods: dict[str, Method] = {}
    for place, (name, group) in enumerate(groups.items()):
        log.info("trying ranges of %s", name, extra={"share": place / len(groups)})
        found = [_noise(probe, name, encodings, numbers, inputs, wanted, power) for encodings in _by_fold(group)]
        best = min(range(len(found)), key=lambda n: found[n] * (1.0 if n else _PREFERENCE))
        methods[name] = METHODS[best]
    return methods


def _by_fold(group: Group) -> list[list[Encoding]]:
    """For each method the encodings for samples of each fold, made from the others."""
    stats = [_without(group.stats, fold) for fold in range(FOLDS)]
    return [[group.encode(method.range_of(part, _LEVELS)) for part in stats] for method in METHODS]


def _without(stats: TensorStats, fold: int) -> TensorStats:
    others = [each for number, each in enumerate(stats.folds) if number != fold]
    return replace(stats, folds=others) if any(each.total for each in others) else stats


def _noise(
    probe: Probe,
    name: str,
    encodings: Sequence[Encoding],
    numbers: Sequence[int],
    inputs: Sequence[Mapping[str, np.ndarray]],
    wanted: Sequence[Sequence[np.ndarray]],
    power: Sequence[float],
) -> float:
    """The geometric mean of the relative noise of all that is judged."""
    noise = np.zeros(len(power))
    for number, one, right in zip(numbers, inputs, wanted):
        found = probe.outputs(one, {name: encodings[number % FOLDS]})
        noise += [float(np.square(own - each, dtype=np.float64).sum()) for own, each in zip(found, right)]
    return float(np.exp(np.mean(np.log(noise / power + 1e-30))))
