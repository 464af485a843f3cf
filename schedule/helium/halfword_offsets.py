"""Requantization of sums in halfwords (``blocks/helium_taps.py``).

Of a bias a part is added before the product with the factor and the rest behind it, in steps of the product: of the
parts that are nearly whole steps the first one is taken with which all results are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...blocks.helium_taps import FACTOR_SHIFT
from ..byte_operands import Columns

MOST_SHIFT = 8
"""With it a halfword has room for the results of a byte and no more."""
MOST_BEFORE, PARTS, TRIED = (1 << 14) - 1, 4096, 16
"""What may be added to a product of bytes in a halfword; how far from that or the bias the parts of it are, and how
many of these are tried."""
QUIET = 1 << 14
"""What sums do not exceed while an input that is zero is added up: there is as much room for others."""
LOW, HIGH = -(1 << 15), (1 << 15) - 1
RESULTS = np.arange(-127, 128, dtype=np.int64)
"""Those that are reached by some sum, and not by all below it."""


def halfword_offsets(
    operands: Columns, factors: np.ndarray, shift: int, zero_point: int, zero: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """What is added to the sums of each channel, and to their products shifted by ``FACTOR_SHIFT``, if
    ``clamp(sat(sat((sum + before) * factor >> FACTOR_SHIFT) + behind) >> shift - FACTOR_SHIFT)`` equals
    ``clamp(zero_point + ((sum + bias) * factor + 2^(shift - 1) >> shift))`` for all sums that occur,
    and sums stay in halfwords where the input is ``zero``, for most of their terms to be added will be small.
    """
    left = shift - FACTOR_SHIFT
    if not 0 < left <= MOST_SHIFT:
        return None
    each = zip(operands.bias.tolist(), factors.tolist(), operands.spread.tolist(), strict=True)
    found = [_of_channel(bias, factor, spread, left, zero_point) for bias, factor, spread in each]
    if any(pair is None for pair in found):
        return None
    before, behind = np.array(found, np.int64).T
    sums = before[:, np.newaxis] + zero * np.cumsum(operands.weights, axis=1)
    return (before, behind) if np.all(np.abs(sums) <= QUIET) else None


def _of_channel(bias: int, factor: int, spread: int, left: int, zero_point: int) -> tuple[int, int] | None:
    shift = left + FACTOR_SHIFT
    wanted = np.clip(_quotient((RESULTS - zero_point << shift) - (1 << shift - 1), factor) - bias, -spread, spread + 1)
    for before in _parts(bias, factor):
        behind = ((bias - before) * factor >> FACTOR_SHIFT) + (zero_point << left)
        if not LOW <= behind <= HIGH:
            continue
        least = (RESULTS << left) - (1 << left - 1) - behind
        reached = _quotient(_beyond(least) << FACTOR_SHIFT, factor) - before
        if np.array_equal(np.clip(reached, -spread, spread + 1), wanted):
            return before, behind
    return None


def _quotient(x: np.ndarray, factor: int) -> np.ndarray:
    """Rounded up."""
    return -(-x // factor)


def _beyond(least: np.ndarray) -> np.ndarray:
    """The least halfwords that reach something, where all do, or none does, far beyond them."""
    far = np.int64(1) << 40
    return np.where(least <= LOW, -far, np.where(least > HIGH, far, least))


def _parts(bias: int, factor: int) -> Iterator[int]:
    """Of a bias, all of it if that fits, and those whose rest is next to whole steps of the product."""
    if abs(bias) <= MOST_BEFORE:
        yield bias
    near = min(max(bias, PARTS - MOST_BEFORE), MOST_BEFORE - PARTS)
    parts = np.arange(near - PARTS, near + PARTS + 1, dtype=np.int64)
    rest = (bias - parts) * factor % (1 << FACTOR_SHIFT)
    yield from parts[np.argsort(rest, kind="stable")[:TRIED]].tolist()
