"""Activations where Helium block instructions can read them: in place, or as copies of rows or of windows.

A window of taps is read as *runs* of neighbouring bytes, one for each row of taps. In place that works where nothing is
padded and every run fills whole steps, so that nothing beyond the tensor is read. Else the rows under the window are
copied, with what stands for the border; and where runs would leave most of their steps empty, each window is gathered
into one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir.blocks_helium import STEP
from ..ir.loops import Block, Buffer, Expr, If, Invoke, Pointer, Var, as_expr, loop
from ..ir.types import DType
from .kernel import KernelContext
from .staging import Window
from .tensors import TensorRef

GATHERED_RUN = 5
"""Instructions that gathering takes for each run of a window."""
GATHERED_WINDOW = 25
"""Instructions that gathering takes for each window besides."""


class Rows:
    """The windows of the pixels of one row of the output, ``pixels`` many, which ``channels`` will multiply.

    ``runs`` of ``vectors`` steps, ``run_step`` bytes apart, make a window; ``pixel_step`` bytes lie between windows.
    """

    def __init__(
        self,
        ctx: KernelContext,
        x: TensorRef,
        window: Window,
        fill: int,
        pixels: int,
        channels: int,
        single: bool,
    ) -> None:
        self.ctx, self.x, self.window, self.fill, self.pixels = ctx, x, window, fill, pixels
        rank = len(window.kernel)
        self.taps = (1,) * (2 - rank) + window.kernel
        self.stride = (1,) * (2 - rank) + window.stride
        self.dilation = (1,) * (2 - rank) + window.dilation
        self.pad = (0,) * (2 - rank) + window.pad
        depth = window.depth
        reach = (pixels - 1) * self.stride[1] + (self.taps[1] - 1) * self.dilation[1] + 1
        self.width = reach
        run = self.taps[1] * depth
        self.vectors = -(-run // STEP)
        self.runs = self.taps[0]
        self.gathered = self._gathers(channels, single)
        self.copied = self._padded() or (run % STEP != 0 and not self.gathered)
        self.row_step = self.width * depth if self.copied else self._row_bytes()
        self.run_step, self.pixel_step = self.dilation[0] * self.row_step, self.stride[1] * depth
        if self.copied:
            self.run_step = self.row_step
        self.rows = self.runs
        if self.gathered:
            self.vectors = -(-self.runs * run // STEP)
            self.runs, self.run_step, self.pixel_step = 1, 0, self.vectors * STEP

    def _gathers(self, channels: int, single: bool) -> bool:
        """Whether windows become one run each: where they must, or where it saves instructions."""
        run = self.taps[1] * self.window.depth
        together = -(-self.runs * run // STEP)
        if self.dilation[1] != 1 or (single and self.runs > 1):
            return True
        saved = (self.runs * self.vectors - together) * 7 * channels // 4
        return saved > GATHERED_RUN * self.runs + GATHERED_WINDOW

    def _padded(self) -> bool:
        """Whether a window reaches beyond the input."""
        if not self.window.kernel:
            return False
        rank = len(self.window.kernel)
        return any(
            self.window.pad[d]
            or (self.window.outputs[d] - 1) * self.window.stride[d] + (self.window.kernel[d] - 1) * self.window.dilation[d]
            >= self.window.extent[d]
            for d in range(rank)
        )

    def _row_bytes(self) -> int:
        shape = self.x.buffer.shape
        return shape[-1] * shape[-2] if len(shape) > 1 else shape[-1]

    # ---- loops

    def stage(self, position: Sequence[Expr]) -> tuple[Block, Pointer]:
        """What must be done for the row at ``position`` (batch and all spatial dimensions but the last), and where its
        first window begins."""
        before, rows = self._copy_rows(position) if self.copied else ((), self._in_place(position))
        if not self.gathered:
            return before, rows
        gathered = self.ctx.temporary("windows", DType.I8, (self.pixels * self.pixel_step,), align=STEP)
        return (*before, *self._gather(rows, gathered)), Pointer(gathered, (as_expr(0),))

    def _in_place(self, position: Sequence[Expr]) -> Pointer:
        x = self.x
        if len(self.window.kernel) == 2:
            top = position[1] * self.stride[0]
            index = (position[0], top, as_expr(0), as_expr(0))
        else:
            index = (*position, as_expr(0), as_expr(0))
        *lead, width, channels = x.buffer.shape
        *at, column, channel = x.at(index)
        return Pointer(replace(x.buffer, shape=(*lead, width * channels)), (*at, column * channels + channel))

    def _copy_rows(self, position: Sequence[Expr]) -> tuple[Block, Pointer]:
        """The input rows under the windows, with the border around them."""
        size = (self.rows - 1) * self.row_step + (self.pixels - 1) * self.stride[1] * self.window.depth
        size = max(size + self.vectors_of_run() * STEP, self.rows * self.row_step)
        copy = self.ctx.temporary("rows", DType.I8, (size,), align=STEP)
        row = Var(self.ctx.names.fresh("row"))
        depth, left = self.window.depth, self.pad[1]
        if not self.window.kernel:
            return self._row(position, copy, as_expr(0)), Pointer(copy, (as_expr(0),))
        rank2 = len(self.window.kernel) == 2
        top = position[1] * self.stride[0] - self.pad[0] + row * self.dilation[0] if rank2 else None
        where = (position[0], top) if top is not None else (position[0],)
        inside = self.window.inside(0, top, 1) if top is not None else None
        block = self._row(where, copy, row * self.row_step)
        if inside is not None:
            block = (If(inside, block, self._fill(copy, row * self.row_step, self.row_step)),)
        return loop(row, self.rows, *block), Pointer(copy, (as_expr(0),))

    def vectors_of_run(self) -> int:
        return -(-self.taps[1] * self.window.depth // STEP)

    def _row(self, where: Sequence[Expr], copy: Buffer, at: Expr) -> Block:
        """One row: what is left of the input, the input, what is right of it."""
        depth, left = self.window.depth, self.pad[1]
        extent = self.window.extent[-1] if self.window.kernel else self.pixels
        inner = min(extent, self.width - left)
        right = self.width - left - inner
        block: Block = ()
        if left:
            block += self._fill(copy, at, left * depth)
        *lead, width, channels = self.x.buffer.shape
        flat = replace(self.x.buffer, shape=(*lead, width * channels))
        *outer, column, channel = self.x.at((*where, as_expr(0), as_expr(0)))
        source = Pointer(flat, (*outer, column * channels + channel))
        block += (
            Invoke("helium_copy", (source, Pointer(copy, (at + left * depth,))), (1, inner * depth, 0, 0)),
        )
        if right:
            block += self._fill(copy, at + (left + inner) * depth, right * depth)
        return block

    def _fill(self, copy: Buffer, at: Expr, size: int) -> Block:
        return (Invoke("helium_fill", (Pointer(copy, (at,)),), (size, self.fill)),)

    def _gather(self, rows: Pointer, gathered: Buffer) -> Block:
        """The windows of all pixels, each as one run."""
        depth = self.window.depth
        pixel, tap = Var(self.ctx.names.fresh("pixel")), Var(self.ctx.names.fresh("tap"))
        start = rows.index[-1] + pixel * (self.stride[1] * depth)
        step = self.row_step if self.copied else self.row_step * self.dilation[0]
        if self.dilation[1] == 1:
            run = self.taps[1] * depth
            source = Pointer(rows.buffer, (*rows.index[:-1], start))
            target = Pointer(gathered, (pixel * self.pixel_step,))
            return loop(pixel, self.pixels, Invoke("helium_copy", (source, target), (self.rows, run, step, run)))
        source = Pointer(rows.buffer, (*rows.index[:-1], start + tap * (self.dilation[1] * depth)))
        target = Pointer(gathered, (pixel * self.pixel_step + tap * depth,))
        copy = Invoke("helium_copy", (source, target), (self.rows, depth, step, self.taps[1] * depth))
        return loop(pixel, self.pixels, *loop(tap, self.taps[1], copy))
