"""Maxima of windows of bytes on cores with block instructions for them: of whole rows first, then of columns.

    for oh, ow, c:                           for oh:
      for kh, kw:                              invoke greatest3(&x[oh-1], &x[oh], &x[oh+1], &line)
        y[oh, ow, c] max= x[...]      ->       for ow:
                                                 invoke greatest3(&line[ow-1], &line[ow], &line[ow+1], &y[oh, ow])

At borders a tap that is missing is replaced by its neighbour in the window, which changes no maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..blocks import has_block
from ..blocks.pool import MOST_LINES
from ..ir.build import maximum, minimum
from ..ir.graph import Node
from ..ir.loops import Block, Expr, Invoke, Pointer, Stmt, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import ints
from .kernel import KernelContext
from .unroll import unroll_bytes

MOST_TAPS = 9
"""Along a dimension; larger windows share too much that this would compute again."""

FEW_TAPS = 4
"""Which cores that compare byte by byte rather take one after the other."""


def lower_max_pool(ctx: KernelContext) -> Block:
    """``pool``, for which :func:`is_max_pool` holds."""
    assert ctx.anchor is not None
    return _MaxPool(ctx, ctx.anchor).emit()


def is_max_pool(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``pool`` of bytes in memory, of one or two spatial dimensions, channels last, which is
    worth two steps."""
    node, cpu, output = ctx.anchor, ctx.cpu, ctx.output
    assert node is not None
    if node.operands[0].name not in ctx.refs:
        return False
    x, kernel, stride = node.operands[0], ints(node.attrs, "kernel"), ints(node.attrs, "stride")
    if not has_block("greatest2", cpu.extensions) or node.attrs["kind"] != "max" or x.dtype is not DType.I8:
        return False
    if node.attrs["layout"] != "channels_last" or len(kernel) > 2 or 0 in node.output.shape:
        return False
    if kernel[-1] == 1 and (stride[-1] != 1 or node.output.name != output.name):
        return False
    packed = bool(cpu.extensions & {"dsp", "mve"})
    worth_two_steps = packed or prod(kernel) > FEW_TAPS
    return worth_two_steps and 1 < max(kernel) <= MOST_TAPS and set(ints(node.attrs, "dilation")) == {1}


class _MaxPool:
    def __init__(self, ctx: KernelContext, node: Node) -> None:
        self.ctx, self.names, self.node = ctx, ctx.names, node
        x = node.operands[0]
        self.x, self.y = ctx.refs[x.name], ctx.refs[ctx.output.name]
        self.extents, self.channels = x.shape[1:-1], x.shape[-1]
        self.kernel, self.stride, self.pad = (ints(node.attrs, name) for name in ("kernel", "stride", "pad"))
        self.whole = ctx.output.name == node.output.name

    def emit(self) -> Block:
        shape, zero = self.node.output.shape, as_expr(0)
        n, row, column = (Var(self.names.fresh(stem)) for stem in ("n", "oh", "ow"))
        batch = zero if shape[0] == 1 else n
        if len(self.kernel) == 1:
            block = loop(column, shape[-2], *self._pixel(self._place(batch), (batch, column)))
        elif self.kernel[-1] == 1:
            target = Pointer(self.y.buffer, self.y.at((batch, row, zero, zero)))
            block = loop(row, shape[1], *self._greatest(self._rows(batch, row), target, shape[-2] * self.channels))
        else:
            before, line = self._line(self._rows(batch, row))
            block = loop(row, shape[1], *before, *loop(column, shape[-2], *self._pixel(line, (batch, row, column))))
        return loop(n, shape[0], *block)

    def _place(self, *index: Expr) -> Pointer:
        """The beginning of a row of the operand."""
        return Pointer(self.x.buffer, self.x.at((*index, as_expr(0), as_expr(0))))

    def _rows(self, batch: Expr, row: Expr) -> list[Pointer]:
        return [self._place(batch, tap) for tap in self._taps(0, row)]

    def _line(self, rows: list[Pointer]) -> tuple[Block, Pointer]:
        """The maxima of rows for all columns, and where they are."""
        if len(rows) == 1:
            return (), rows[0]
        size = self.extents[-1] * self.channels
        line = Pointer(self.ctx.temporary("line", DType.I8, (self.extents[-1], self.channels)), (as_expr(0),) * 2)
        return self._greatest(rows, line, size), line

    def _pixel(self, line: Pointer, position: Sequence[Expr]) -> Block:
        """The maxima of columns of one pixel, and what follows them."""
        *outer, first, channel = line.index
        taps = [Pointer(line.buffer, (*outer, first + tap, channel)) for tap in self._taps(-1, position[-1])]
        if self.whole:
            return self._greatest(taps, Pointer(self.y.buffer, self.y.at((*position, as_expr(0)))), self.channels)
        made, c = self.ctx.temporary("made", DType.I8, (self.channels,)), Var(self.names.fresh("c"))
        stored = self.ctx.store_element((*position, c), made[c])
        finish = unroll_bytes(loop(c, self.channels, *stored), self.names)
        return (*self._greatest(taps, Pointer(made, (as_expr(0),)), self.channels), *finish)

    def _taps(self, dim: int, place: Expr) -> list[Expr]:
        """Where the taps of a window lie along a spatial dimension."""
        extent, count = self.extents[dim], self.node.output.shape[1:-1][dim]
        pad, stride = self.pad[: len(self.kernel)][dim], self.stride[dim]
        found: list[Expr] = []
        for tap in range(self.kernel[dim]):
            where = place * stride + (tap - pad)
            if (count - 1) * stride + tap - pad >= extent:
                where = minimum(where, extent - 1)
            found.append(maximum(where, 0) if tap < pad else where)
        return found

    def _greatest(self, sources: Sequence[Pointer], target: Pointer, size: int) -> Block:
        """Some lines at a time, the first of which is what came out of the lines before."""
        waiting, out = list(sources), list[Stmt]()
        steps = -(-(len(sources) - 1) // (MOST_LINES - 1))
        spare = [self.ctx.temporary("most", DType.I8, (size,)) for _ in range(min(steps - 1, 2))]
        for step in range(steps):
            taken, waiting = waiting[:MOST_LINES], waiting[MOST_LINES:]
            place = Pointer(spare[step % 2], (as_expr(0),)) if waiting else target
            out.append(Invoke(f"greatest{len(taken)}", (*taken, place), (size,)))
            waiting.insert(0, place)
        return tuple(out)
