"""Transposed convolutions of bytes through block instructions, phase by phase (``phases.py``) as ordinary ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..ir.loops import Block, Expr
from ..ir.types import DType
from .block_contraction import Contraction
from .byte_operands import Columns, Pixels
from .kernel import KernelContext, OneScratch
from .phases import Phase, all_phases, has_phases, phase_weights, pixels, place
from .requantization import LIMIT
from .window import Window


def is_transposed(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv_transpose`` of int8 with constant weights that has phases, none of one pixel."""
    node, weights = ctx.contraction
    if weights is None or node.operands[0].dtype is not DType.I8 or weights.dtype != np.int8:
        return False
    return has_phases(node, weights) and min(pixels(node, phase) for phase in all_phases(node, weights)) > 1


def lower_transposed(
    ctx: KernelContext, lower: Callable[[Contraction], Block], limit: int = LIMIT, least: int | None = -128
) -> Block:
    """``conv_transpose``, for which :func:`is_transposed` holds, with ``lower`` for each phase; what ``limit`` and
    ``least`` say of a requantization is said in :func:`requantization_of`."""
    out: Block = ()
    for phase in _phases(ctx, limit, least):
        out += lower(phase)
    return out


def transposed_together(ctx: KernelContext, limit: int = LIMIT, least: int | None = -128) -> list[Contraction]:
    """The phases of a ``conv_transpose``, for which :func:`is_transposed` holds, as contractions one after the other;
    phases that see the same of the input are ``together`` with the first of them."""
    found: dict[tuple[Window, tuple[int, ...]], list[_Phase]] = {}
    for phase in _phases(ctx, limit, least):
        found.setdefault((phase.window, phase.shape), []).append(phase)
    for first, *others in found.values():
        first.together = tuple(others)
    return [first for first, *_ in found.values()]


def _phases(ctx: KernelContext, limit: int, least: int | None) -> list[_Phase]:
    node, weights = ctx.contraction
    assert weights is not None
    shared = OneScratch.of(ctx)
    return [_Phase(shared, phase, limit, least) for phase in all_phases(node, weights)]


class _Phase(Contraction):
    """The outputs of one phase."""

    unpacks = False

    def __init__(self, ctx: KernelContext, phase: Phase, limit: int, least: int | None) -> None:
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
        columns = phase_weights(weights, self.phase).reshape(weights.shape[-1], -1)
        return Columns.folded(self.ctx, self.node, columns)

    def place(self, position: Sequence[Expr]) -> tuple[Expr, ...]:
        return place(self.phase, position)
