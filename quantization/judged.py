"""Samples that models are judged by, and what models make of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir.graph import Graph
from ..record import record
from ..samples import Samples
from ..verification.accuracy import both_finite
from .execute import evaluate_samples
from .histogram import FOLDS
from .observe import spread
from .quantizer import Quantizer


@record
class Judged:
    """``samples``, in the order of results. Where they are of the calibration, ``folds`` has them by the folds of its
    samples: then each fold is judged by ranges that are made from the others, as those of later samples will be."""

    samples: Samples
    folds: Sequence[tuple[int, Samples]] = ()
    numbers: Sequence[int] = ()
    """Of samples of the calibration."""

    @staticmethod
    def of_calibration(samples: Samples, most: int) -> Judged:
        """``most`` at most of the samples that calibrate, evenly apart."""
        places = np.asarray(spread(samples.count, most))
        folds = [places[places % FOLDS == fold] for fold in range(FOLDS)]
        parts = [(fold, samples.at(own)) for fold, own in enumerate(folds) if len(own)]
        numbers = np.concatenate(folds)
        return Judged(samples.at(numbers), parts, numbers.tolist())

    def outputs(self, quantizer: Quantizer, written: Callable[[Quantizer], Graph]) -> dict[str, np.ndarray]:
        """The outputs, ``[samples, ...]`` by name, of the models that are ``written`` with the ranges of quantizers."""
        if not self.folds:
            return evaluate_samples(written(quantizer), self.samples)
        found = [evaluate_samples(written(quantizer.without(fold)), part) for fold, part in self.folds]
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    def least_sqnr(self, outputs: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> float:
        """The SQNR in dB of the worst output of floats, were the noise of all samples that of the fold that has most of
        it: where few samples make the noise, as many more may come."""
        counts = [len(next(iter(part.inputs.values()))) for _, part in self.folds] or [self.samples.count]
        found = (_sqnr_of_worst(outputs[name], array, counts) for name, array in floats_of(wanted).items())
        return min(found, default=math.inf)


def floats_of(outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those that have a ratio to noise: integers, such as places of the greatest elements, are no amounts."""
    return {name: array for name, array in outputs.items() if array.dtype.kind == "f"}


def _sqnr_of_worst(found: np.ndarray, wanted: np.ndarray, counts: Sequence[int]) -> float:
    """``counts`` are the samples of each fold, in order."""
    ends = np.cumsum(counts)[:-1]
    found, wanted = both_finite(found, wanted)
    apart = np.split(np.square(found - wanted), ends)
    noise = max(float(part.sum()) / len(part) for part in apart)
    signal = float(np.square(wanted).sum()) / sum(counts)
    return float("inf") if noise == 0 else 10 * float(np.log10(max(signal / noise, 1e-30)))
