"""What measurements of some decisions tell of others: ridge regression of ratios on the features of candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .space import FEATURES

_PENALTY = 0.3
_FEWEST = 6


class Regression:
    """Logarithms of ratios, of which each group (a kernel) has a level of its own, by features and their squares.

    Least squares with a penalty on the coefficients (A. E. Hoerl, R. W. Kennard: Ridge regression, Technometrics 12,
    1970), solved anew with each prediction: there are some hundred measurements at most.
    """

    def __init__(self) -> None:
        self._features: list[np.ndarray] = []
        self._values: list[float] = []

    def add(self, features: Sequence[float], start: Sequence[float], ratio: float) -> None:
        """A measurement: ``ratio`` to the choice whose features are ``start``."""
        self._features.append(_row(features) - _row(start))
        self._values.append(float(np.log(ratio)))

    def predict(self, features: Sequence[Sequence[float]], start: Sequence[float]) -> np.ndarray:
        """Expected ratios to the choice whose features are ``start``; those of the estimates while little is known."""
        rows = np.array([_row(each) for each in features]) - _row(start)
        if len(self._values) < _FEWEST:
            return np.exp(rows[:, 0])
        known, values = np.array(self._features), np.array(self._values)
        scale = np.maximum(known.std(axis=0), 1e-3)
        known, rows = known / scale, rows / scale
        normal = known.T @ known + _PENALTY * len(values) / 10 * np.eye(known.shape[1])
        return np.exp(rows @ np.linalg.solve(normal, known.T @ values))


def _row(features: Sequence[float]) -> np.ndarray:
    plain = np.array(features, np.float64)
    assert plain.shape == (FEATURES,)
    return np.concatenate([plain, plain[1:] ** 2])
