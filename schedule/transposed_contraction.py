"""Transposed convolutions as contractions for the microkernel, phase by phase (``phases.py``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Block, Expr
from ..ops.integer import sum_shift, zero_point
from .contraction import ConvLoops
from .dots import has_dot
from .kernel import KernelContext
from .phases import Phase, all_phases, has_phases, phase_weights, place
from .tensors import Halo


def is_transposed_contraction(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv_transpose`` with constant weights that a Dot of the CPU takes, and has phases."""
    node, weights = ctx.contraction
    if weights is None or ctx.by_rows:
        return False
    known = has_dot(ctx.cpu, node.operands[0].dtype, weights.dtype, wide=sum_shift(node.attrs) > 0)
    return known and has_phases(node, weights)


def lower_transposed_contraction(ctx: KernelContext) -> Block:
    """``conv_transpose``, for which :func:`is_transposed_contraction` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    phases = (_PhaseLoops(ctx, node, weights, phase) for phase in all_phases(node, weights))
    return tuple(stmt for phase in phases for stmt in phase.general())


def transposed_halo(node: Node) -> Halo:
    """What all phases together read beyond the input ``[n, spatial..., c]``."""
    x, w = node.operands[:2]
    before, after = [0] * (len(x.shape) - 2), [0] * (len(x.shape) - 2)
    for phase in all_phases(node, np.empty(w.shape, bool)):
        for dim, each in enumerate(phase):
            beyond = each.outputs - 1 + len(each.taps) - each.pad - x.shape[1 + dim]
            before[dim], after[dim] = max(before[dim], each.pad), max(after[dim], beyond)
    return Halo((0, *before, 0), (0, *after, 0), zero_point(node.attrs))


class _PhaseLoops(ConvLoops):
    """The outputs of one phase."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray, phase: Phase) -> None:
        super().__init__(ctx, node, phase_weights(weights, phase))
        self.phase = phase
        self.stride = (1,) * len(phase)
        self.pad = tuple(each.pad for each in phase)
        self.out_shape = (node.output.shape[0], *(each.outputs for each in phase), node.output.shape[-1])

    def place(self, position: Sequence[Expr]) -> Sequence[Expr]:
        return place(self.phase, position)
