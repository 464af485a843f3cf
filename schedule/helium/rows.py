"""Activations where Helium block instructions can read them: in place, or as copies of rows or of windows.

A window of taps is read as *runs* of neighbouring bytes, one for each row of taps. In place that works where nothing is
padded and every run fills whole steps, so that nothing beyond the tensor is read. Else the rows under the window are
copied, with what stands for the border; and where runs would leave most of their steps empty, each window is gathered
into one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from ...blocks.helium import STEP, pad
from ...ir.loops import Block, Buffer, Expr, If, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..kernel import KernelContext
from ..tensors import TensorRef
from ..window import Window

SHORT = 2 * STEP
"""Bytes of runs that ``helium_windows`` copies in fewer cycles than ``helium_copy``."""


def ways_to_read(window: Window, pixels: int) -> tuple[bool, ...]:
    """Whether windows of the pixels of a row can be read as they are, and whether they can be ``gathered``."""
    rank = len(window.kernel)
    if rank and (window.dilation[-1] != 1 or (pixels == 1 and rank == 2 and window.kernel[0] > 1)):
        return (True,)
    return (False, True) if rank else (False,)


def copy_of(source: Pointer, target: Pointer, runs: int, size: int, x_step: int = 0, y_step: int = 0) -> Invoke:
    """Copies ``runs`` of ``size`` bytes each, which are ``x_step`` and ``y_step`` bytes apart; if they are short, as
    windows of one row, which is done for all of them at once."""
    if runs > 1 and size <= SHORT:
        return Invoke("helium_windows", (source, target), (runs, 1, size, x_step, 0, y_step, 0))
    return Invoke("helium_copy", (source, target), (runs, size, x_step, y_step))


class Rows:
    """The windows of the pixels of one row of the output, ``pixels`` many; ``gathered`` become one run each.

    ``runs`` of ``vectors`` steps, ``run_step`` bytes apart, make a window; ``pixel_step`` bytes lie between windows.
    Pixels of the rows that are read are ``between`` bytes apart.
    """

    def __init__(
        self, ctx: KernelContext, x: TensorRef, window: Window, fill: int, pixels: int, gathered: bool
    ) -> None:
        self.ctx, self.x, self.window, self.fill, self.pixels = ctx, x, window, fill, pixels
        missing = 2 - len(window.kernel)
        self.taps, self.stride, self.dilation = (
            (1,) * missing + each for each in (window.kernel, window.stride, window.dilation)
        )
        self.left = window.pad[-1] if window.kernel else 0
        self.depth = window.depth
        self.run = self.taps[1] * self.depth
        self.width = (pixels - 1) * self.stride[1] + (self.taps[1] - 1) * self.dilation[1] + 1
        self.gathered = gathered
        apart = self.taps[1] > 1 and not window.side_by_side and not gathered
        self.copied = self._padded() or apart or (self.run % STEP != 0 and not self.gathered)
        self.between = self.depth if self.copied else window.channels
        self.row_step = self.width * self.depth if self.copied else self.dilation[0] * self._row_bytes()
        if self.gathered:
            self.runs, self.vectors, self.run_step = 1, pad(self.taps[0] * self.run, STEP) // STEP, 0
            self.pixel_step = self.vectors * STEP
        else:
            self.runs, self.vectors, self.run_step = self.taps[0], pad(self.run, STEP) // STEP, self.row_step
            self.pixel_step = self.stride[1] * self.between

    def _padded(self) -> bool:
        """Whether a window reaches beyond the input."""
        window = self.window
        return any(
            pad_before or (outputs - 1) * stride + (kernel - 1) * dilation >= extent
            for kernel, stride, dilation, pad_before, extent, outputs in zip(
                window.kernel, window.stride, window.dilation, window.pad, window.extent, window.outputs, strict=True
            )
        )

    def _row_bytes(self) -> int:
        shape = self.x.buffer.shape
        return shape[-1] * shape[-2]

    @cached_property
    def _buffer(self) -> Buffer:
        """For copies of the rows under the windows."""
        last = (self.pixels - 1) * self.stride[1] * self.depth
        size = (self.taps[0] - 1) * self.row_step + max(last + pad(self.run, STEP), self.row_step)
        return self.ctx.temporary("rows", DType.I8, (size,), align=STEP)

    # ---- loops

    def prepare(self) -> Block:
        """The border beside the rows, which stays while rows are copied in its middle."""
        if not self.copied or self._inner() * self.depth == self.row_step:
            return ()
        return self._fill(self._buffer, as_expr(0), self.taps[0] * self.row_step)

    def stage(self, position: Sequence[Expr]) -> tuple[Block, Pointer]:
        """What must be done for the row at ``position`` (batch and all spatial dimensions but the last), and where its
        first window begins."""
        before, rows = self._copy(position) if self.copied else ((), self._source(self._top(position)))
        if not self.gathered:
            return before, rows
        gathered = self.ctx.temporary("windows", DType.I8, (self.pixels * self.pixel_step,), align=STEP)
        return (*before, *self._gather(rows, gathered)), Pointer(gathered, (as_expr(0),))

    def _top(self, position: Sequence[Expr], row: Expr | int = 0) -> tuple[Expr, ...]:
        """Where the input row under ``row`` of the windows is."""
        if len(self.window.kernel) != 2:
            return tuple(position)
        first = position[1] * self.stride[0] - self.window.pad[0]
        return position[0], first + row * self.dilation[0]

    def _source(self, where: Sequence[Expr], column: int = 0) -> Pointer:
        """A pixel of an input row, in a buffer whose last dimension is a whole row."""
        *lead, width, channels = self.x.buffer.shape
        *outer, pixel, channel = self.x.at((*where, column, 0))
        return Pointer(replace(self.x.buffer, shape=(*lead, width * channels)), (*outer, pixel * channels + channel))

    def _copy(self, position: Sequence[Expr]) -> tuple[Block, Pointer]:
        """The input rows under the windows, with the border around them."""
        copy, row = self._buffer, Var(self.ctx.names.fresh("row"))
        where = self._top(position, row)
        block = self._row(where, copy, row * self.row_step)
        inside = self.window.inside(0, where[1], 1) if len(self.window.kernel) == 2 else None
        if inside is not None:
            block = (If(inside, block, self._fill(copy, row * self.row_step, self.row_step)),)
        return loop(row, self.taps[0], *block), Pointer(copy, (as_expr(0),))

    def _inner(self) -> int:
        """Columns of the input under a row of the output."""
        extent = self.window.extent[-1] if self.window.kernel else self.pixels
        return max(min(extent - max(-self.left, 0), self.width - self._beside()), 0)

    def _beside(self) -> int:
        """Columns of the border to the left."""
        return min(max(self.left, 0), self.width)

    def _row(self, where: Sequence[Expr], copy: Buffer, at: Expr) -> Block:
        """What a row has of the input."""
        inner = self._inner()
        if not inner:
            return ()
        target = Pointer(copy, (at + self._beside() * self.depth,))
        source = self._source(where, max(-self.left, 0))
        if self.depth == self.window.channels:
            return (copy_of(source, target, 1, inner * self.depth),)
        return (copy_of(source, target, inner, self.depth, self.window.channels, self.depth),)

    def _fill(self, copy: Buffer, at: Expr, size: int) -> Block:
        return (Invoke("helium_fill", (Pointer(copy, (at,)),), (size, self.fill)),)

    def _gather(self, rows: Pointer, gathered: Buffer) -> Block:
        """The windows of all pixels, each as one run."""
        tap = Var(self.ctx.names.fresh("tap"))
        together = self.taps[1] if self.dilation[1] == 1 and self.between == self.depth else 1
        source = Pointer(rows.buffer, (*rows.index[:-1], rows.index[-1] + tap * (self.dilation[1] * self.between)))
        target = Pointer(gathered, (tap * self.depth,))
        steps = (self.stride[1] * self.between, self.row_step, self.pixel_step, self.run)
        copy = Invoke("helium_windows", (source, target), (self.pixels, self.taps[0], together * self.depth, *steps))
        return loop(tap, self.taps[1] // together, copy)
