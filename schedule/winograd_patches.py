"""The pixels under four tiles of outputs, side by side, for Winograd's algorithm in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..blocks.winograd import COLUMNS, OUTPUTS, PATCH, TAPS
from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import I8, Block, Buffer, Expr, Pointer, Var
from ..ir.loops_rewrite import loop
from ..ops.attributes import ints
from ..record import record
from .block_contraction import Contraction
from .byte_operands import start
from .staging import run_copy
from .window import window_rows, window_taps


class TransformedWeights(Contraction):
    """A convolution whose weights are bytes until they are transformed."""

    unpacks = False


def has_taps(conv: Node) -> bool:
    """Whether a convolution has 3x3 taps side by side and steps of one, and as many outputs as four tiles in a row
    have."""
    steps = (step for name in ("stride", "dilation") for step in ints(conv.attrs, name))
    if conv.operands[1].shape[1:-1] != (TAPS, TAPS) or any(step != 1 for step in steps):
        return False
    height, width = conv.output.shape[1:3]
    return height >= OUTPUTS and width >= COLUMNS


def clamped(number: Expr, size: int, extent: int) -> Expr:
    """Where part ``number`` of an ``extent`` begins; the last one may overlap that before it."""
    full, rest = divmod(extent, size)
    return number * size - number // full * (size - rest) if rest else number * size


def gather(work: Contraction, patch: Buffer, position: Sequence[Expr]) -> Block:
    """The pixels that the outputs from ``position`` on see, as bytes, and the zero point beyond the border."""
    _, height, width = work.shape
    places = (height - OUTPUTS + 1, width - COLUMNS + 1)
    window = replace(work.window, kernel=PATCH, stride=(1, 1), outputs=places)
    firsts = (min(part * COLUMNS, places[1] - 1) - window.pad[1] for part in range(-(-width // COLUMNS)))
    rows = window_rows if any(0 <= first <= window.extent[1] - PATCH[1] for first in firsts) else window_taps
    return rows(work.ctx, window, position, _Patch(work, patch))


@record
class _Patch:
    """Where gathered pixels go."""

    work: Contraction
    patch: Buffer

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x, depth = self.work.x, self.work.window.depth
        source, target = Pointer(x.buffer, x.at((*where, 0))), start(self.patch, first * depth)
        return (run_copy(source, target, taps * depth),)

    def fill(self, first: Expr, taps: int) -> Block:
        depth, i = self.work.window.depth, Var(self.work.names.fresh("i"))
        return loop(i, taps * depth, store(self.patch[first * depth + i], I8(self.work.zero)))
