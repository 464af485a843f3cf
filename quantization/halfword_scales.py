"""Scales of weights that come to requantization factors of 15 bits, chosen before the weights are rounded.

``x_scale * w_scale / y_scale`` times a power of two that all channels of a layer share is to be a whole number that
gives the bytes of the float32 definition (``ops/halfword_factors.py``): then it takes a halfword. A scale a little
larger or smaller than the best serves as well, for the peaks of weights are searched in steps of a percent. The smaller
the product, the more whole numbers have to be tried, because float32 rounds more of the channel's products to halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ..ops.halfword_factors import FACTOR_BITS, are_exact, common_shift
from ..record import record
from .encoding import Encoding

_FINER, _COARSER = 1 - 2.0**-5, 1 + 2.0**-3
"""How far a scale may move; what is finer cuts off the largest weights."""
_MOST_TRIALS = 512
_ULPS = np.array((0, 1, -1, 2, -2, 3, -3), np.int32)
"""Around a factor: the product is rounded twice on its way from the scale."""
_AT_ONCE, _MOST_AT_ONCE = 512, 1 << 13
"""Scales that are tried together: few at first, for most channels soon have one, and twice as many each time."""
_GLANCES = 32, 7
"""Every so many of the results are looked at first, by which most scales fall. The steps have no common divisor, so
that the second looks at others."""
_I32 = 2**31 - 1
_TINY = float(np.finfo(np.float32).tiny)


@record
class Products:
    """Of a layer of bytes: its sums are multiplied by ``x_scale * w_scale / result.scale``, in float32."""

    x_scale: np.float32
    result: Encoding

    def of(self, scales: np.ndarray) -> np.ndarray:
        """As the integerizer computes them."""
        return scales * self.x_scale / np.float32(self.result.scale[0])

    def scales(self, products: np.ndarray) -> np.ndarray:
        return (products * self.result.scale[0] / float(self.x_scale)).astype(np.float32)


def with_halfword_factors(scales: np.ndarray, products: Products, reach: np.ndarray) -> np.ndarray:
    """The weights' float32 ``scales`` with those moved for which there is a factor. ``reach`` bounds the magnitude of
    each channel's results, in steps of the result."""
    wanted, result = products.of(scales).astype(np.float64), products.result
    shift = common_shift(float(wanted.max()))
    if shift is None:
        return scales
    sums = np.minimum(np.ceil(2 * reach / np.maximum(wanted, _TINY)), _I32).astype(np.int64)
    bounds, limits = np.stack([-sums, sums], axis=1), np.iinfo(result.dtype.numpy)
    layer = shift, result.zero_point[0], int(limits.min), int(limits.max)
    moved, waiting, trials = scales.copy(), np.arange(scales.size), _nearest(wanted * 2.0**shift)
    at_once = _AT_ONCE
    while waiting.size:
        block = [*islice(trials, max(1, at_once // (_ULPS.size * waiting.size)))]
        at_once = min(2 * at_once, _MOST_AT_ONCE)
        if not block:
            break
        factors = np.stack(block)[:, np.newaxis, waiting]
        near = products.scales(factors * 2.0**-shift)
        tried = (near.view(np.int32) + _ULPS[:, np.newaxis]).view(np.float32).reshape(-1, waiting.size)
        each = np.repeat(factors, _ULPS.size, axis=1).reshape(tried.shape)
        exact = _exact(products.of(tried), each, bounds[waiting], layer)
        found = exact.any(axis=0)
        moved[waiting[found]] = tried[exact.argmax(axis=0), np.arange(waiting.size)][found]
        waiting = waiting[~found]
    return moved


def _exact(scales: np.ndarray, factors: np.ndarray, bounds: np.ndarray, layer: tuple[int, int, int, int]) -> np.ndarray:
    """``[trials, channels]``; few are looked at closely. ``layer`` has the shift, the zero point and the limits."""
    exact = factors > 0
    for every in (*_GLANCES, 1):
        trial, channel = np.nonzero(exact)
        some = scales[trial, channel], factors[trial, channel]
        shift, zero_point, lo, hi = layer
        exact[trial, channel] = are_exact(*some, shift, bounds[channel], zero_point, lo, hi, every)
    return exact


def _nearest(wanted: np.ndarray) -> Iterator[np.ndarray]:
    """Whole numbers by their distance from each element; 0 where one would be too far off or too large."""
    nearest = np.rint(wanted)
    side = np.where(wanted < nearest, -1, 1)
    for trial in range(min(_MOST_TRIALS, 2 * int((_COARSER - 1) * wanted.max()) + 1)):
        away = (trial + 1) // 2
        factors = (nearest + side * (away if trial % 2 else -away)).astype(np.int64)
        fits = (factors >= _FINER * wanted) & (factors <= _COARSER * wanted) & (factors < 1 << FACTOR_BITS)
        yield np.where(fits, factors, 0)
