"""What the calibration samples show of the float model: statistics of its values and means of its layers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.graph import Node
from ..samples import Samples
from ..verification.runner import Arrays, Runner
from .histogram import TensorStats
from .linear import output_axis
from .partition import key

log = logging.getLogger(__name__)

@dataclass(frozen=True)
class Observations:
    """``stats`` of each value that was asked for. ``means`` holds, for each layer, the mean of each output channel
    before the activation function for every sample in ``tuned``: ``[samples, channels]``."""

    stats: Mapping[str, TensorStats]
    means: Mapping[str, np.ndarray]


def spread(count: int, most: int) -> list[int]:
    """``most`` numbers below ``count`` at most, evenly apart."""
    return sorted({int(place) for place in np.linspace(0, count - 1, min(count, most))})


def observe(
    model: Runner,
    samples: Samples,
    names: Iterable[str],
    layers: Sequence[Node],
    tuned: Sequence[int],
    divisors: Arrays,
) -> Observations:
    """Runs all samples; the means are of those numbered in ``tuned``. What ``divisors`` names is divided first: it is
    the same tensor of the equalized model."""
    stats = {name: TensorStats.of_many(samples.count) for name in names}
    means: dict[str, list[np.ndarray]] = {key(node): [] for node in layers}
    chosen = set(tuned)
    first = 0
    for values in runs(model, samples, range(samples.count)):
        equalized = {**values, **{name: values[name] / divisor for name, divisor in divisors.items()}}
        for name, tensor in stats.items():
            tensor.add(equalized[name])
        count = len(next(iter(values.values())))
        seen = [place for place in range(count) if first + place in chosen]
        for node in layers if seen else ():
            means[key(node)].append(channel_means(node, equalized[key(node)][seen]))
        first += count
    return Observations(stats, {name: np.concatenate(rows) for name, rows in means.items()})


def runs(model: Runner, samples: Samples, chosen: Sequence[int]) -> Iterator[Arrays]:
    """What the model gives for the samples numbered in ``chosen``, in batches ``[samples, ...]``."""
    done, numbers = 0, np.asarray(chosen)
    inputs = {name: array[numbers] for name, array in samples.inputs.items()}
    for values in model.batches(inputs):
        done += len(next(iter(values.values())))
        share = {"share": done / len(chosen)}
        log.info("observing the float model, sample %d of %d", done, len(chosen), extra=share)
        yield values


def channel_means(node: Node, outputs: np.ndarray) -> np.ndarray:
    """The mean of each output channel of a layer for each sample, of ``[samples, ...]``; 0 where it has no elements."""
    axis = output_axis(node) + 1
    others = tuple(d for d in range(1, outputs.ndim) if d != axis)
    count = outputs.size // max(1, len(outputs) * outputs.shape[axis])
    return np.asarray(outputs.sum(axis=others, dtype=np.float64) / max(1, count))
