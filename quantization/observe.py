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
    stats = {name: TensorStats() for name in names}
    means: dict[str, list[np.ndarray]] = {key(node): [] for node in layers}
    chosen = set(tuned)
    for number, values in enumerate(runs(model, samples, range(samples.count))):
        equalized = {**values, **{name: values[name] / divisor for name, divisor in divisors.items()}}
        for name, tensor in stats.items():
            tensor.add(equalized[name])
        if number in chosen:
            for node in layers:
                means[key(node)].append(channel_means(node, equalized[key(node)]))
    return Observations(stats, {name: np.stack(rows) for name, rows in means.items()})


def runs(model: Runner, samples: Samples, chosen: Sequence[int]) -> Iterator[Arrays]:
    for place, number in enumerate(chosen):
        done = {"share": (place + 1) / len(chosen)}
        log.info("observing the float model, sample %d of %d", place + 1, len(chosen), extra=done)
        yield model.run({name: array[number] for name, array in samples.inputs.items()})


def channel_means(node: Node, output: np.ndarray) -> np.ndarray:
    """The mean of each output channel of a layer; 0 where it has no elements."""
    axis = output_axis(node)
    others = tuple(d for d in range(output.ndim) if d != axis)
    return output.astype(np.float64).sum(axis=others) / max(1, output.size // max(1, output.shape[axis]))
