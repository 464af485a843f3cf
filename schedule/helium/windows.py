"""Requantized sums of few bytes on cores with Helium, by block instructions: average pooling, row of windows by row of
windows, and linear Resize, row by row without a line in between."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...blocks.helium_windows import MOST_TAPS
from ...ir.graph import Node
from ...ir.loops import Block, Const, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.attributes import integer, ints
from ...ops.integer import zero_point
from ...ops.interpolate_nest import Taps
from ...record import record
from ..generic import NestAdapter
from ..kernel import KernelContext
from ..packed_interpolation import sum_of_weights
from ..sum_pool import Position, SumPool, is_sum_pool, window_runs
from ..tensors import TensorRef

MOST_BYTES, SHARE = 128, 32
"""Of the output that are computed at a time, or else this share of the input: so far is what is written behind what is
still read, where tensors overlap."""
_HALFWORD, _MOST, _UNBOUNDED = 1 << 15, 2**31 - 1, 1 << 62


@record
class _Result:
    """``clamp(zero_point + (2 * (sum + offset) * factor + 2^31 >> 32))``, as the blocks compute it."""

    offset: int
    factor: int
    zero_point: int

    @property
    def scalars(self) -> tuple[int, int, int]:
        return self.offset, self.factor, self.zero_point


def _result(user: Node, factor: int, bias: int, zero: int, weight: int) -> _Result | None:
    """The form of a ``rescale_sum`` for sums of bytes less ``zero``, with weights of the sum ``weight``, none of them
    negative; ``None`` where there is none that is exact for all of them.

    From ``low <= (2 * acc * factor + 2^31) / 2^32 < low + 1`` for each accumulator follow the least and the greatest
    factor.
    """
    reach = range(weight * (-128 - zero), weight * (127 - zero) + 1)
    if max(map(abs, (*reach[:1], *reach[-1:], weight * zero))) >= _HALFWORD or weight * 128 >= _HALFWORD:
        return None
    acc = np.array(reach, np.int64)
    shift, moved = integer(user.attrs, "shift"), integer(user.attrs, "zero_point")
    wanted = np.clip((acc * factor + bias) >> shift, -128, 127)
    least = np.where(wanted > -128, (wanted - moved << 31) - (1 << 30), -_UNBOUNDED)
    greatest = np.where(wanted < 127, (wanted - moved + 1 << 31) - (1 << 30) - 1, _UNBOUNDED)
    if np.any((acc == 0) & ((least > 0) | (greatest < 0))):
        return None
    up, down = acc > 0, acc < 0
    low = max((-(-least[up] // acc[up])).max(initial=1), (-(greatest[down] // -acc[down])).max(initial=1))
    high = min((greatest[up] // acc[up]).min(initial=_MOST), (-least[down] // -acc[down]).min(initial=_MOST))
    return _Result(-weight * zero, int(low + high) // 2, moved) if low <= high else None


def _rescaled(ctx: KernelContext) -> Node | None:
    """The ``rescale_sum`` to any int8 that is all of the body behind the anchor."""
    node, body = ctx.anchor, ctx.body
    assert node is not None
    user = body.nodes[-1]
    alone = len(body.nodes) == 2 and user.op == "rescale_sum" and user.operands[0].name == node.output.name
    bounds = (user.attrs.get("lo"), user.attrs.get("hi"), user.attrs.get("to"))
    return user if alone and bounds == (-128, 127, DType.I8) else None


def _is_gapless(ref: TensorRef | None) -> bool:
    """Whether the channels of neighbouring columns, an even number, are neighbours."""
    return ref is not None and ref.buffer.shape[-1] == ref.shape[-1] and ref.shape[-1] % 2 == 0


# ---------------------------------------------------------------- windows


def is_helium_window_sums(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``pool`` for which :func:`is_sum_pool` holds, of at most ``MOST_TAPS`` taps, whose
    results are requantized and nothing else."""
    if not is_sum_pool(ctx) or _rescaled(ctx) is None:
        return False
    assert ctx.anchor is not None
    refs = (ctx.refs.get(ctx.anchor.operands[0].name), ctx.refs.get(ctx.output.name))
    if not all(map(_is_gapless, refs)) or len(ints(ctx.anchor.attrs, "kernel")) > 2:
        return False
    if prod(ints(ctx.anchor.attrs, "kernel")) > MOST_TAPS:
        return False
    return _WindowSums(ctx, ctx.anchor).is_exact()


def lower_helium_window_sums(ctx: KernelContext) -> Block:
    """``pool``, for which :func:`is_helium_window_sums` holds."""
    assert ctx.anchor is not None
    return _WindowSums(ctx, ctx.anchor).emit()


class _WindowSums(SumPool):
    def is_exact(self) -> bool:
        """Whether the results of all windows have the form of the block."""
        return all(self._result(first, taps) is not None for first, taps in self._kinds())

    def _kinds(self) -> list[tuple[tuple[int, ...], int]]:
        """The first output of all runs, and how many taps are inside."""
        found: list[tuple[tuple[int, ...], int]] = [((), 1)]
        for dim in self.dims:
            runs = window_runs(dim)
            found = [((*first, run.start), taps * len(run.taps)) for first, taps in found for run in runs]
        return found

    def _result(self, first: Sequence[int], taps: int) -> _Result | None:
        user = _rescaled(self.ctx)
        assert user is not None
        known = dict(self.constants(first))
        numbers = [known.get(value.name) for value in user.operands[1:]]
        if not taps or not all(isinstance(number, Const) for number in numbers):
            return None
        factor, bias = (int(number.value) for number in numbers if isinstance(number, Const))
        return _result(user, factor, bias, self.zero, taps)

    def along(self, position: Position, window: Sequence[Position], first: tuple[int, ...]) -> Block:
        """Rows as in any case; of a row of outputs, a piece at a time."""
        number = len(first)
        block: Block = ()
        if number < len(self.dims) - 1:
            return super().along(position, window, first)
        dim = self.dims[number]
        most = max(1, max(MOST_BYTES, self.node.operands[0].type.size // SHARE) // self.channels)
        for run in window_runs(dim):
            result = self._result((*first, run.start), len(window) * len(run.taps))
            assert result is not None
            beyond = run.taps[0] * dim.dilation - dim.pad
            whole, rest = divmod(run.extent, most)
            for start, pieces, pixels in ((run.start, whole, most), (run.start + whole * most, 1, rest)):
                piece = Var(self.names.fresh("piece"))
                place = piece * most + start if pieces > 1 else as_expr(start)
                tap = (*window[0], place * dim.stride + beyond)
                scalars = (len(window), len(run.taps), *self._steps(pixels), *result.scalars)
                pointers = (self._pointer(self.x, tap), self._output((*position, place)))
                block += loop(piece, pieces, Invoke("helium_window_sums", pointers, scalars)) if pixels else ()
        return block

    def _steps(self, pixels: int) -> tuple[int, ...]:
        """From row to row and column to column of a window, the pixels, from one to the next, and pairs of channels."""
        outer, dim = self.dims[0], self.dims[-1]
        row_step = outer.dilation * prod(self.x.buffer.shape[2:])
        column_step, pixel_step = dim.dilation * self.channels, dim.stride * self.channels
        joined = pixel_step == self.channels
        count, pairs = (1, pixels * self.channels // 2) if joined else (pixels, self.channels // 2)
        return row_step, column_step, count, pixel_step, pairs

    def _output(self, index: Position) -> Pointer:
        return self._pointer(self.ctx.refs[self.ctx.output.name], index)

    @staticmethod
    def _pointer(ref: TensorRef, index: Position) -> Pointer:
        """The first channel of a pixel."""
        return Pointer(ref.buffer, ref.at((*index, as_expr(0))))


# ---------------------------------------------------------------- interpolation


def is_helium_interpolation(ctx: KernelContext) -> bool:
    """Whether the anchor is an ``interpolate`` of bytes in memory along rows and columns between two of each, channels
    last, with constant weights that fit, whose results are requantized and nothing else."""
    node = ctx.anchor
    assert node is not None
    x = node.operands[0]
    if x.dtype is not DType.I8 or len(x.shape) != 4 or ints(node.attrs, "axes") != (1, 2) or 0 in node.output.shape:
        return False
    refs = (ctx.refs.get(value.name) for value in (x, ctx.output))
    tables = (ctx.refs.get(value.name) for value in node.operands[1:])
    two = all(table is not None and table.dense and table.shape[1] == 2 for table in tables)
    return two and all(map(_is_gapless, refs)) and _interpolated(ctx) is not None


def _interpolated(ctx: KernelContext) -> _Result | None:
    """How the sums are requantized."""
    node, user = ctx.anchor, _rescaled(ctx)
    assert node is not None
    total = sum_of_weights(ctx, node)
    numbers = [] if user is None else [ctx.constant(value) for value in user.operands[1:]]
    if user is None or total is None or not all(number is not None and number.size == 1 for number in numbers):
        return None
    factor, bias = (int(number.item()) for number in numbers if number is not None)
    return _result(user, factor, bias, zero_point(node.attrs), total)


def lower_helium_interpolation(ctx: KernelContext) -> Block:
    """``interpolate``, for which :func:`is_helium_interpolation` holds."""
    node, result = ctx.anchor, _interpolated(ctx)
    assert node is not None and result is not None
    x, y = ctx.refs[node.operands[0].name], ctx.refs[ctx.output.name]
    tables = [ctx.refs[value.name] for value in node.operands[1:]]
    batch, row = Var(ctx.names.fresh("n")), Var(ctx.names.fresh("row"))
    batches, rows, columns, channels = node.output.shape
    down = Taps(NestAdapter(ctx), node, 0, row)
    zero = as_expr(0)

    def start(ref: TensorRef, *index: Expr) -> Pointer:
        return Pointer(ref.buffer, ref.at((*index, *(zero for _ in ref.shape[len(index) :]))))

    between = [start(x, batch, at) for at, _ in down.taps]
    pointers = (*between, start(tables[1], row), start(tables[2]), start(tables[3]), start(y, batch, row))
    scalars = (columns, x.shape[2] - 1, channels // 2, *result.scalars)
    invoke = Invoke("helium_interpolate", pointers, scalars)
    return loop(batch, batches, *loop(row, rows, *down.block, invoke))
