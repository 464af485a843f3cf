"""From accumulators in memory to the output: by a block instruction for a requantization, else by the kernel's body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from ...ir.loops import Block, Buffer, Expr, Invoke, Pointer, as_expr
from ...ir.types import DType
from ...ops.attributes import integer
from ...record import record
from ..epilogue import pixels_epilogue
from ..kernel import KernelContext
from ..tensors import TensorRef

_SAFE = 1 << 28
"""Accumulators below leave room for the zero point beside the upper word of the product."""


@record
class PixelRun:
    """``count`` pixels that are neighbours in the output. ``position`` maps their slots to indices; in a dense output
    the first has the number ``pixel`` where rows do not matter."""

    position: Callable[[Expr], Sequence[Expr]]
    count: int
    pixel: Expr | None = None


class _Multipliers(NamedTuple):
    """A requantization by a block instruction: its name, the factors of the channels (and their shifts), and the
    scalars behind its shape."""

    row: str
    factors: Buffer
    scalars: tuple[int, ...]


class Finish:
    """What follows the anchor of ``ctx``, for accumulators [channel, lane] that ``reach`` bounds, per channel."""

    def __init__(self, ctx: KernelContext, refs: dict[str, TensorRef], reach: np.ndarray) -> None:
        self.ctx, self.refs = ctx, refs
        self.multipliers = self._multipliers(reach)

    def _multipliers(self, reach: np.ndarray) -> _Multipliers | None:
        """Where it is one to all of int8."""
        node, body = self.ctx.anchor, self.ctx.body
        last = body.nodes[-1]
        assert node is not None
        if len(body.nodes) != 2 or last.op != "requantize_fixed" or last.operands[0].name != node.output.name:
            return None
        if last.attrs["to"] is not DType.I8 or (integer(last.attrs, "lo"), integer(last.attrs, "hi")) != (-128, 127):
            return None
        pairs = [self.ctx.constant(operand) for operand in last.operands[1:]]
        if not np.all(reach < _SAFE) or any(p is None or not _per_channel(p, reach.size) for p in pairs):
            return None
        factors, shifts = (np.broadcast_to(p.reshape(-1), (reach.size,)) for p in pairs if p is not None)
        zero, shift = integer(last.attrs, "zero_point"), int(shifts[0])
        if np.all(shifts == shift) and shift > 0 and not np.any(factors & 0xFFFF):
            halfwords = (factors >> 16).astype(np.int16)
            return _Multipliers("requantize_halfword", self.ctx.pack("s", halfwords[:, None]), (zero, shift))
        row = "requantize_fixed" if np.all(shifts > 0) else "requantize_i8"
        return _Multipliers(row, self.ctx.pack("s", np.stack([factors, shifts], axis=1)), (zero,))

    def pixels(self, acc: Buffer, first: Expr, channels: int, run: PixelRun) -> Block:
        """``channels`` from ``first`` on of the pixels of a run."""
        ctx, y = self.ctx, self.refs[self.ctx.output.name]
        if self.multipliers is not None:
            row, s, scalars = self.multipliers
            pointers = (Pointer(acc, (as_expr(0), as_expr(0))), Pointer(s, (first, as_expr(0))), self._out(run, first))
            return (Invoke(row, pointers, (channels, run.count, acc.shape[-1], y.buffer.shape[-1], *scalars)),)
        return pixels_epilogue(
            ctx, self.refs, (run.count, channels), lambda slot, c: acc[c, slot],
            lambda slot, c: (*run.position(slot), first + c),
        )  # fmt: skip

    def _out(self, run: PixelRun, channel: Expr) -> Pointer:
        y = self.refs[self.ctx.output.name]
        if run.pixel is None:
            return Pointer(y.buffer, y.at((*run.position(as_expr(0)), channel)))
        flat = replace(y.buffer, shape=(prod(y.buffer.shape[:-1]), y.buffer.shape[-1]))
        return Pointer(flat, (run.pixel, channel))


def _per_channel(array: np.ndarray, channels: int) -> bool:
    return array.size == 1 or array.shape[-1:] == (array.size,) == (channels,)
