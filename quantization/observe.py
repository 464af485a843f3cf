"""What the calibration samples show of the float model: statistics of its values and means of its layers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..ir.graph import Node
from ..record import record
from ..samples import Samples
from ..verification.runner import Arrays, Runner
from .histogram import TensorStats
from .linear import output_axis
from .partition import key

log = logging.getLogger(__name__)

_MOST_KEPT = 1 << 25
"""Elements of values of all samples that are kept in memory, where the model need not run again for them."""


@record
class FloatRuns:
    """The float model on samples of the calibration, by their numbers. ``kept`` has what it gives for all samples,
    ``[samples, ...]``, where that takes little memory, and ``together`` is how many a batch has."""

    model: Runner
    samples: Samples
    kept: Arrays | None = None
    together: int = 1

    @staticmethod
    def of(model: Runner, samples: Samples, elements: int) -> FloatRuns:
        """``elements`` are those of all values of a sample."""
        runs = FloatRuns(model, samples)
        if elements * samples.count > _MOST_KEPT:
            return runs
        batches = list(runs.batches(range(samples.count)))
        kept = batches[0]
        if len(batches) > 1:
            kept = {name: np.concatenate([values[name] for values in batches]) for name in kept}
        return FloatRuns(model, samples, kept, len(next(iter(batches[0].values()))))

    def batches(self, chosen: Sequence[int]) -> Iterator[Arrays]:
        """What the model gives for some samples, in batches ``[samples, ...]``."""
        done, numbers = 0, np.asarray(chosen)
        for values in self._batches(numbers):
            done += len(next(iter(values.values())))
            share = {"share": done / len(chosen)}
            log.info("observing the float model, sample %d of %d", done, len(chosen), extra=share)
            yield values

    def _batches(self, numbers: np.ndarray) -> Iterator[Arrays]:
        if self.kept is None:
            yield from self.model.batches({name: array[numbers] for name, array in self.samples.inputs.items()})
            return
        for begin in range(0, len(numbers), self.together):
            some = numbers[begin : begin + self.together]
            yield {name: _taken(array, some) for name, array in self.kept.items()}

    def equalized(self, numbers: np.ndarray, divisors: Arrays) -> Arrays | None:
        """The values of some samples, those in ``divisors`` divided, if they are kept."""
        if self.kept is None:
            return None
        return {
            name: _taken(array, numbers) / divisors[name] if name in divisors else _taken(array, numbers)
            for name, array in self.kept.items()
        }


def _taken(array: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Without a copy where they follow each other."""
    first, last = int(numbers[0]), int(numbers[-1])
    is_part = last - first == len(numbers) - 1 and bool(np.all(np.diff(numbers) == 1))
    return array[first : last + 1] if is_part else array[numbers]


@record
class Observations:
    """``stats`` of each value that was asked for. ``means`` holds, for each layer, the mean of each output channel
    before the activation function for every sample in ``tuned``: ``[samples, channels]``. ``outputs`` are those of the
    model, as far as they were asked for, ``[samples, ...]``."""

    stats: Mapping[str, TensorStats]
    means: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]


def spread(count: int, most: int) -> list[int]:
    """``most`` numbers below ``count`` at most, evenly apart."""
    return sorted({int(place) for place in np.linspace(0, count - 1, min(count, most))})


def observe(
    floats: FloatRuns,
    names: Iterable[str],
    layers: Sequence[Node],
    tuned: Sequence[int],
    divisors: Arrays,
    outputs: Iterable[str] = (),
) -> Observations:
    """Runs all samples; the means are of those numbered in ``tuned``. What ``divisors`` names is divided first: it is
    the same tensor of the equalized model."""
    count = floats.samples.count
    stats = {name: TensorStats.of_many(count) for name in names}
    shown: dict[str, list[np.ndarray]] = {name: [] for name in outputs if name in stats}
    means: dict[str, list[np.ndarray]] = {key(node): [] for node in layers}
    chosen = set(tuned)
    first = 0
    for values in floats.batches(range(count)):
        equalized = {**values, **{name: values[name] / divisor for name, divisor in divisors.items()}}
        for name, tensor in stats.items():
            tensor.add(equalized[name])
        for name, parts in shown.items():
            parts.append(values[name])
        together = len(next(iter(values.values())))
        seen = [place for place in range(together) if first + place in chosen]
        for node in layers if seen else ():
            means[key(node)].append(channel_means(node, equalized[key(node)][seen]))
        first += together
    joined = ({name: np.concatenate(rows) for name, rows in parts.items()} for parts in (means, shown))
    return Observations(stats, *joined)


def channel_means(node: Node, outputs: np.ndarray) -> np.ndarray:
    """The mean of each output channel of a layer for each sample, of ``[samples, ...]``; 0 where it has no elements."""
    axis = output_axis(node) + 1
    others = tuple(d for d in range(1, outputs.ndim) if d != axis)
    count = outputs.size // max(1, len(outputs) * outputs.shape[axis])
    return np.asarray(outputs.sum(axis=others, dtype=np.float64) / max(1, count))
