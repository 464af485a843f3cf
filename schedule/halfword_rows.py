"""What contractions of halfwords by constant bytes have in common: where there is one, and the activations of a pixel
one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..ir.build import convert, store
from ..ir.graph import Node
from ..ir.loops import I16, I32, Block, Buffer, Expr, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.integer import sum_shift, zero_point
from ..record import record
from .block_contraction import Contraction
from .kernel import KernelContext
from .requantization import LIMIT
from .tensors import TensorRef
from .window import Window, window_rows

Put = Callable[[Expr, Expr], Block]
"""What is done with an element of a pixel, from its number and its value."""


class HalfwordContraction(Contraction):
    """A contraction of halfwords. ``sums``: these are left as they are."""

    unpacks = False

    def __init__(self, ctx: KernelContext, *, sums: bool) -> None:
        super().__init__(ctx, limit=0 if sums else LIMIT)


def halfword_weights(ctx: KernelContext) -> np.ndarray | None:
    """The weights of a ``conv`` (one group, channels last) or ``matmul`` of int16 by constant int8 weights, with sums
    of 32 bits; ``None`` where the anchor is something else."""
    anchor, weights = ctx.contraction
    if weights is None or weights.dtype != np.int8 or anchor.operands[0].dtype is not DType.I16:
        return None
    channels = anchor.output.shape[-1]
    if sum_shift(anchor.attrs) or not anchor.operands[0].shape[-1] or anchor.output.type.size < channels:
        return None
    return weights if _in_rows(anchor, weights) else None


def _in_rows(anchor: Node, weights: np.ndarray) -> bool:
    if anchor.op == "conv":
        return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] == 1
    return zero_point(anchor.attrs, "rhs_zero_point") == 0 and weights.ndim == 2 and len(anchor.operands[0].shape) > 1


def each_element(work: Contraction, position: Sequence[Expr], put: Put) -> Block:
    """``put`` for all that the pixel at ``position`` sees; beyond the border that is the zero point."""
    sink = Elements(work.ctx, work.x, work.window, work.zero, put)
    return window_rows(work.ctx, work.window, position, sink)


def split(value: Expr, at: Expr, halves: Buffer, width: int, word: Var) -> Block:
    """The halfword ``value``, which is ``256 * upper + lower + 128``, as two bytes ``width`` apart. ``word`` has it."""
    return (
        Let(word, I32(value)),
        store(halves[at], convert(word >> 8, DType.I8)),
        store(halves[at + width], convert((word & 255) - 128, DType.I8)),
    )


@record
class Elements:
    """A sink of taps (:class:`ccml.schedule.window.Sink`) that does something with each element of ``x``."""

    ctx: KernelContext
    x: TensorRef
    window: Window
    zero: int
    put: Put

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x = self.x
        *at, channel = x.at((*where, 0))
        if not self.window.kernel:
            return self._each(first, taps, lambda i: x.buffer[*at, channel + i])
        *lead, width, channels = x.buffer.shape
        flat = replace(x.buffer, shape=(*lead, width * channels))
        return self._each(first, taps, lambda i: flat[*at[:-1], at[-1] * channels + channel + i])

    def fill(self, first: Expr, taps: int) -> Block:
        return self._each(first, taps, lambda _: I16(self.zero))

    def _each(self, first: Expr, taps: int, value: Callable[[Expr], Expr]) -> Block:
        i, depth = Var(self.ctx.names.fresh("i")), self.window.depth
        return self.ctx.rolled(loop(i, taps * depth, *self.put(first * depth + i, value(i))))
