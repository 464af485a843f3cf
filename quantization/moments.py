"""Means and second moments of the rows of inputs of layers: what their rounding needs to know of them."""

from __future__ import annotations

import numpy as np

from ..record import record

_EXACT_ROWS = 1 << 8
"""Products of two integers below 2^8 that add up to no more than 2^24."""


@record
class Moments:
    """Of rows: how many, their mean ``[group, k]``, and their second moments ``[group, k, k]``, about the mean where
    the bias takes care of that."""

    rows: int
    mean: np.ndarray
    second: np.ndarray

    @staticmethod
    def of(rows: np.ndarray, centred: bool, step: float | None = None) -> Moments:
        """In float64, so that the order of the sums is of no matter; of centred multiples of ``step`` with less than 9
        bits in a faster way."""
        if centred and step is not None:
            return Moments._of_bytes(np.rint(rows / np.float32(step)), step)
        wide = rows.astype(np.float64)
        mean = wide.mean(axis=1) if centred else np.zeros((len(rows), rows.shape[2]))
        wide -= mean[:, np.newaxis, :]
        return Moments(rows.shape[1], mean, wide.transpose(0, 2, 1) @ wide / rows.shape[1])

    @staticmethod
    def _of_bytes(integers: np.ndarray, step: float) -> Moments:
        """Sums of so few products that float32 holds each exactly are added up in float64."""
        group, count, size = integers.shape
        second = np.zeros((group, size, size))
        for begin in range(0, count, _EXACT_ROWS):
            some = integers[:, begin : begin + _EXACT_ROWS]
            second += some.transpose(0, 2, 1) @ some
        total = integers.sum(axis=1, dtype=np.float64)
        second = (count * second - total[:, :, np.newaxis] * total[:, np.newaxis, :]) * (step / count) ** 2
        return Moments(count, total * (step / count), second)

    def joined(self, other: Moments) -> Moments:
        count = self.rows + other.rows
        mean = (self.rows * self.mean + other.rows * other.mean) / count
        parts = [(part.rows / count, part.second, part.mean - mean) for part in (self, other)]
        second = sum(share * (own + off[:, :, np.newaxis] * off[:, np.newaxis, :]) for share, own, off in parts)
        return Moments(count, mean, np.asarray(second))
