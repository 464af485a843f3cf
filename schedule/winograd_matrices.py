"""Minimal filtering: the matrices with which Winograd's algorithms compute correlations of few taps.

``F(m, r)`` gives ``m`` neighbouring outputs ``y[p] = sum over q of g[q] * d[p + q]`` of a filter ``g`` of ``r`` taps
from ``n = m + r - 1`` inputs with ``n`` multiplications::

    y = A^T ((G g) * (B^T d))                  in two dimensions    Y = A^T ((G g G^T) * (B^T d B)) A

Sources: S. Winograd, *Arithmetic Complexity of Computations*, 1980; A. Lavin and S. Gray, *Fast Algorithms for
Convolutional Neural Networks*, 2016. Polynomials are evaluated at ``n - 1`` points and at infinity. Rounding errors
depend on the points (B. Barabasz et al., *Error Analysis and Improving the Accuracy of Winograd Convolution for Deep
Neural Networks*, 2020); of pairs ``a``, ``-a``, rows of the matrices share most of their operations.

Integers have whole points and matrices without fractions: rows of ``G`` are multiplied, and what columns of ``A^T``
lack then of a common multiple, these are. Two-dimensional results are multiples of its square, by which they are
divided. All of that is exact modulo a power of two that results are below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod, sqrt

import numpy as np

TAPS = 3
"""Taps of a filter along each dimension."""

POINTS: dict[int, tuple[float, ...]] = {
    2: (0.0, 1.0, -1.0),
    4: (0.0, sqrt(0.5), -sqrt(0.5), sqrt(2.0), -sqrt(2.0)),
}
"""The finite points, by the outputs of a tile along each dimension.

For four outputs, 0, 1, -1, 2, -2 would take some additions less, but :attr:`Filtering.amplification` is 860 instead of
157 with them, and the errors of random convolutions are twice as large.
"""
WHOLE_POINTS: dict[int, tuple[int, ...]] = {2: (0, 1, -1), 4: (0, 1, -1, 2, -2)}
"""The same for integers."""
_BYTE = 1 << 7
_HALFWORD = 1 << 15


@dataclass(frozen=True, eq=False)
class Filtering:
    """``F(outputs, TAPS)``: the matrices ``A^T`` [m, n], ``G`` [n, r] and ``B^T`` [n, n], as float64; those of ``A^T``
    and ``B^T`` are rounded to float32. In two dimensions they give ``multiple`` times the correlation."""

    outputs: int
    output: np.ndarray
    filter: np.ndarray
    input: np.ndarray
    multiple: int = 1

    @property
    def inputs(self) -> int:
        """Inputs of a tile along each dimension, ``n``."""
        return len(self.input)

    def filters(self, weights: np.ndarray) -> np.ndarray:
        """``G g G^T`` of ``weights`` [o, kh, kw, c], computed in float64: [n, n, c, o]."""
        exact = weights.astype(np.float64)
        transformed: np.ndarray = np.einsum("ik,okwc->iowc", self.filter, exact)
        return np.ascontiguousarray(np.einsum("jw,iowc->ijco", self.filter, transformed))

    @property
    def amplification(self) -> float:
        """The greatest factor, in two dimensions, by which sums of absolute values grow on the way to an output:
        ``|A^T| ((|G| |g| |G^T|) * (|B^T| |d| |B|)) |A| <= amplification * sum(|g|) * max(|d|)``."""
        most = np.abs(self.input).sum(axis=1)
        along = np.einsum("pi,ir,i->pr", np.abs(self.output), np.abs(self.filter), most)
        return float(along.max() ** 2)

    def error_bound(self, channels: int) -> float:
        """``e``, where no output is further than ``e * sum over the channels c of sum(|w_c|) * max(|x_c|)`` from its
        exact value; ``max(|x_c|)`` is that of the inputs of its tile. The values in between must not overflow.

        A term of a sum that is rounded at most ``k`` times on its way is off by ``k u / (1 - k u)`` of itself at most,
        ``u = 2^-24`` (N. Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, lemma 3.1). Each of the four
        products with ``B`` and ``A`` rounds up to three factors of a coefficient, and ``n`` results; then there are the
        filter, its product, ``channels`` sums and the bias.
        """
        steps = 4 * (self.inputs + 3) + channels + 3
        unit = 2.0**-24
        return self.amplification * steps * unit / (1 - steps * unit)


def filtering(outputs: int) -> Filtering:
    """``F(outputs, TAPS)`` for a key of :data:`POINTS`."""
    points = POINTS[outputs]
    scales = [prod(a - b for b in points if b != a) for a in points]
    filters = [[a**q / scale for q in range(TAPS)] for a, scale in zip(points, scales)]
    return Filtering(
        outputs,
        _as_computed(_outputs(points, outputs)),
        np.array([*filters, [float(q == TAPS - 1) for q in range(TAPS)]]),
        _as_computed(_polynomials(points)),
    )


def whole_filtering(outputs: int) -> Filtering:
    """``F(outputs, TAPS)`` without fractions, of signed bytes as filters, for a key of :data:`WHOLE_POINTS`. Filters
    that are transformed fit halfwords: their rows take as much of the common multiple as leaves them there."""
    points = WHOLE_POINTS[outputs]
    scales = [prod(a - b for b in points if b != a) for a in points]
    rows = [[Fraction(a**q, scale) for q in range(TAPS)] for a, scale in zip(points, scales)]
    rows.append([Fraction(q == TAPS - 1) for q in range(TAPS)])
    least = [lcm(*(value.denominator for value in row)) for row in rows]
    common = lcm(*least)
    factors = [common] * len(rows)
    while max(reach := [sum(map(abs, row)) * factor for row, factor in zip(rows, factors)]) ** 2 * _BYTE >= _HALFWORD:
        row = reach.index(max(reach))
        factors[row] = max(f for f in range(1, factors[row]) if common % f == 0 == f % least[row])
    return Filtering(
        outputs,
        np.array(_outputs(points, outputs)) * [common // factor for factor in factors],
        np.array([[float(value * factor) for value in row] for row, factor in zip(rows, factors)]),
        np.rint(_polynomials(points)),
        common**2,
    )


def _outputs(points: Sequence[float], outputs: int) -> list[list[float]]:
    """``A^T``."""
    return [[*(float(a**p) for a in points), float(p == outputs - 1)] for p in range(outputs)]


def _polynomials(points: Sequence[float]) -> list[list[float]]:
    """``B^T``."""
    others = [[b for b in points if b != a] for a in points]
    return [[*np.poly(rest)[::-1], 0.0] for rest in others] + [list(np.poly(points)[::-1])]


def _as_computed(matrix: list[list[float]]) -> np.ndarray:
    """With the coefficients that kernels have, which are float32."""
    return np.array(matrix, np.float32).astype(np.float64)


ALL: dict[int, Filtering] = {outputs: filtering(outputs) for outputs in POINTS}
WHOLE: dict[int, Filtering] = {outputs: whole_filtering(outputs) for outputs in WHOLE_POINTS}
