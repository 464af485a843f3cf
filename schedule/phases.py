"""Transposed convolutions as ordinary ones of stride 1, a *phase* for each remainder of the stride.

Along a dimension with stride s, outputs whose number o has the same remainder see the same taps: with o = s * h + o0,
tap k reads input (o + pad - k) / s. So those outputs are a convolution of stride 1 with every s-th tap, reversed,
and the whole is one such phase for each combination of remainders (Shi et al., "Is the deconvolution layer the same
as a convolutional layer?", 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Expr
from ..ops.attributes import ints
from ..record import record

MOST_PHASES = 16
"""Each has code of its own."""


@record
class Along:
    """A phase along one dimension: outputs ``first``, ``first + stride``, ... by ``taps`` in the order of the input, of
    which the first output sees those from element ``-pad`` on."""

    first: int
    stride: int
    outputs: int
    taps: tuple[int, ...]
    pad: int


Phase = tuple[Along, ...]
"""One for each dimension of the image."""


def has_phases(node: Node, weights: np.ndarray) -> bool:
    """Whether ``node``, a ``conv_transpose`` with constant ``weights`` [C, k..., O], is one of channels last, in one
    group, without dilation, with few phases of which none is without a tap."""
    return node.attrs["group"] == 1 and divides(node, weights)


def divides(node: Node, weights: np.ndarray) -> bool:
    """The same for any number of groups."""
    if node.attrs["layout"] != "channels_last" or 0 in (*node.output.shape, weights.size):
        return False
    if set(ints(node.attrs, "dilation")) != {1}:
        return False
    phases = all_phases(node, weights)
    return len(phases) <= MOST_PHASES and all(each.taps for phase in phases for each in phase)


def all_phases(node: Node, weights: np.ndarray) -> list[Phase]:
    """Those with outputs."""
    along = [_along(node, weights, dim) for dim in range(weights.ndim - 2)]
    return [phase for phase in product(*along) if all(each.outputs > 0 for each in phase)]


def _along(node: Node, weights: np.ndarray, dim: int) -> list[Along]:
    stride, pad = ints(node.attrs, "stride")[dim], ints(node.attrs, "pad")[dim]
    kernel, extent = weights.shape[1 + dim], node.output.shape[1 + dim]
    found = []
    for remainder in range(stride):
        first = (remainder - pad) % stride
        taps = tuple(range(remainder, kernel, stride))[::-1]
        begins = (first + pad - remainder) // stride
        found.append(Along(first, stride, -(-(extent - first) // stride), taps, len(taps) - 1 - begins))
    return found


def pixels(node: Node, phase: Phase) -> int:
    """Outputs of a phase in all images."""
    return node.output.shape[0] * prod(each.outputs for each in phase)


def phase_weights(weights: np.ndarray, phase: Phase) -> np.ndarray:
    """Those that a phase takes, as an ordinary convolution has them: [O, taps..., C]."""
    return np.moveaxis(taps_of(weights, phase), (0, -1), (-1, 0))


def taps_of(weights: np.ndarray, phase: Phase) -> np.ndarray:
    """Those of ``weights`` [C, k..., O] that a phase takes."""
    return weights[np.ix_(range(weights.shape[0]), *(each.taps for each in phase), range(weights.shape[-1]))]


def place(phase: Phase, position: Sequence[Expr]) -> tuple[Expr, ...]:
    """Where the output ``position`` = [n, spatial...] of a phase is in the whole."""
    moved = (at * each.stride + each.first for at, each in zip(position[1:], phase, strict=True))
    return (position[0], *moved)
