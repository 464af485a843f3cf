"""Transposed depthwise convolutions, as they enlarge images: each phase (``phases.py``) is a depthwise convolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Block, Expr
from .depthwise import compute_type, is_depthwise
from .depthwise_lanes import Depthwise
from .kernel import KernelContext
from .phases import Phase, all_phases, divides, place, taps_of


def is_transposed_depthwise(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv_transpose`` for which :func:`is_depthwise` holds, and has phases."""
    node, weights = ctx.contraction
    return weights is not None and not ctx.by_rows and is_depthwise(ctx) and divides(node, weights)


def lower_transposed_depthwise(ctx: KernelContext) -> Block:
    """``conv_transpose``, for which :func:`is_transposed_depthwise` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    phases = (_PhaseDepthwise(ctx, node, weights, phase) for phase in all_phases(node, weights))
    return tuple(stmt for phase in phases for stmt in phase.emit())


class _PhaseDepthwise(Depthwise):
    """The outputs of one phase, by ``weights`` [C, k..., 1]."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray, phase: Phase) -> None:
        chosen = taps_of(weights, phase)
        compute = compute_type(ctx.cpu, node.operands[0].dtype, weights)
        assert compute is not None
        super().__init__(ctx, node, chosen, compute)
        self.phase = phase
        self.stride = self.dilation = (1,) * len(phase)
        self.pad = tuple(each.pad for each in phase)
        self.out = (node.output.shape[0], *(each.outputs for each in phase), node.output.shape[-1])

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, type(self), self.phase, self.compute, *self.packed())

    def place(self, position: Sequence[Expr]) -> Sequence[Expr]:
        return place(self.phase, position)
