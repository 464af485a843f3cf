"""Transposed convolutions of bytes through block instructions, as ordinary ones.

Along a dimension with stride s, outputs whose number o has the same remainder see the same taps: with o = s * h + o0,
tap k reads input (o + pad - k) / s. So those outputs are a convolution of stride 1 with every s-th tap, reversed,
and the whole is one such *phase* for each combination of remainders (Shi et al., "Is the deconvolution layer the same
as a convolutional layer?", 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Block, Expr
from ..ir.types import DType
from ..ops.attributes import ints
from .block_contraction import Contraction
from .byte_operands import Columns, Pixels
from .kernel import KernelContext, OneScratch
from .requantization import LIMIT
from .window import Window

MOST_PHASES = 16
"""Each has code of its own."""


@dataclass(frozen=True)
class _Along:
    """A phase along one dimension: outputs ``first``, ``first + stride``, ... by ``taps`` in the order of the input, of
    which the first output sees those from element ``-pad`` on."""

    first: int
    stride: int
    outputs: int
    taps: tuple[int, ...]
    pad: int


def is_transposed(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv_transpose`` (one group, channels last, no dilation) of int8 with constant weights
    and few phases."""
    node, weights = ctx.contraction
    if weights is None or not _is_known(node, weights):
        return False
    phases = _all_phases(node, weights)
    known = all(each.taps for phase in phases for each in phase)
    return known and len(phases) <= MOST_PHASES and min(_pixels(node, phase) for phase in phases) > 1


def lower_transposed(
    ctx: KernelContext, lower: Callable[[Contraction], Block], limit: int = LIMIT, least: int | None = -128
) -> Block:
    """``conv_transpose``, for which :func:`is_transposed` holds, with ``lower`` for each phase; what ``limit`` and
    ``least`` say of a requantization is said in :func:`requantization_of`."""
    node, weights = ctx.contraction
    assert weights is not None
    shared = OneScratch.of(ctx)
    out: Block = ()
    for phase in _all_phases(node, weights):
        out += lower(_Phase(shared, phase, limit, least))
    return out


def _is_known(node: Node, weights: np.ndarray) -> bool:
    bytes_ = node.operands[0].dtype is DType.I8 and weights.dtype == np.int8
    plain = node.attrs["layout"] == "channels_last" and node.attrs["group"] == 1
    return bytes_ and plain and set(ints(node.attrs, "dilation")) == {1} and 0 not in (*node.output.shape, weights.size)


def _all_phases(node: Node, weights: np.ndarray) -> list[tuple[_Along, ...]]:
    along = [_phases(node, weights, dim) for dim in range(weights.ndim - 2)]
    return [phase for phase in product(*along) if all(each.outputs > 0 for each in phase)]


def _phases(node: Node, weights: np.ndarray, dim: int) -> list[_Along]:
    stride, pad = ints(node.attrs, "stride")[dim], ints(node.attrs, "pad")[dim]
    kernel, extent = weights.shape[1 + dim], node.output.shape[1 + dim]
    found = []
    for remainder in range(stride):
        first = (remainder - pad) % stride
        taps = tuple(range(remainder, kernel, stride))[::-1]
        begins = (first + pad - remainder) // stride
        found.append(_Along(first, stride, -(-(extent - first) // stride), taps, len(taps) - 1 - begins))
    return found


def _pixels(node: Node, phase: Sequence[_Along]) -> int:
    return node.output.shape[0] * prod(each.outputs for each in phase)


class _Phase(Contraction):
    """The outputs of one phase."""

    unpacks = False

    def __init__(self, ctx: KernelContext, phase: tuple[_Along, ...], limit: int, least: int | None) -> None:
        self.phase = phase
        super().__init__(ctx, limit=limit, least=least)

    @property
    def step(self) -> int:
        return self.phase[-1].stride

    def _pixels(self) -> Pixels:
        x = self.node.operands[0]
        ones, taps = (1,) * len(self.phase), tuple(len(each.taps) for each in self.phase)
        outputs, pads = (tuple(getattr(each, name) for each in self.phase) for name in ("outputs", "pad"))
        window = Window(taps, ones, ones, pads, x.shape[1:-1], outputs, x.shape[-1], x.shape[-1])
        return Pixels((*x.shape[:1], *outputs), window, dict(self.ctx.refs))

    def _operands(self, weights: np.ndarray) -> Columns:
        chosen = weights[np.ix_(range(weights.shape[0]), *(each.taps for each in self.phase), range(weights.shape[-1]))]
        columns = np.moveaxis(chosen, (0, -1), (-1, 0)).reshape(weights.shape[-1], -1)
        return Columns.folded(self.ctx, self.node, columns)

    def place(self, position: Sequence[Expr]) -> tuple[Expr, ...]:
        moved = (at * each.stride + each.first for at, each in zip(position[1:], self.phase, strict=True))
        return (position[0], *moved)
