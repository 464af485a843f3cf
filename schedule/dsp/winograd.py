"""3x3 convolutions of int8 by Winograd's algorithm F(2x2, 3x3) on cores with DSP: 16 products in place of 36, and the
same bytes.

Before::                                  After::

    for o, row, column:                     for o, one or several times two rows and eight columns:
      acc = bias[c]                           gather their patches of the input, zero points beyond the border
      for k: acc += x[o, .., k] * w[c, k]     transform them
      y[o, row, column, c] = requantize(acc)  invoke the block: products, output transform, bytes
                                              for two more channels: transform their filters, invoke the block
                                              epilogue of what is in scratch memory

Blocks and arithmetic are described in ``blocks/winograd.py``. Transformed filters take 3.6 times the memory: those
beyond ``KEPT_BYTES`` are transformed at run time, for as many patches as ``PATCH_BYTES`` hold. Where rows or columns do
not come out even, the last ones overlap those before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...blocks.winograd import (
    COLUMNS,
    GROUP,
    OUTPUTS,
    PATCH,
    PLACES,
    PRE_SHIFT,
    PRODUCTS,
    SHIFT,
    STREAM,
    TAPS,
    TILES,
    filter_words,
    transformed_words,
)
from ...ir.build import store
from ...ir.loops import I8, Block, Buffer, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.attributes import ints
from ..block_contraction import Contraction
from ..byte_anchors import is_byte_contraction
from ..byte_operands import start
from ..kernel import KernelContext
from ..requantization import fixed_form
from ..staging import run_copy
from ..window import window_rows

KEPT_BYTES = 1 << 16
"""Of the filters of a layer that are transformed while compiling."""
PATCH_BYTES = 1 << 14
"""Of transformed inputs, where filters are transformed at run time."""


def is_dsp_winograd(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` of int8 with 3x3 constant taps and steps of one, where weights may take more
    memory, channels and columns fill the block, and results are requantized."""
    if not ctx.cpu.spends_memory or not is_byte_contraction(ctx):
        return False
    node, weights = ctx.contraction
    if node.op != "conv" or weights is None or weights.shape[1:-1] != (TAPS, TAPS):
        return False
    if any(step != 1 for name in ("stride", "dilation") for step in ints(node.attrs, name)):
        return False
    _, height, width, channels = node.output.shape
    fits = height >= OUTPUTS and width >= COLUMNS and weights.shape[-1] % GROUP == channels % STREAM.tile == 0
    return fits and _Convolution(Contraction(ctx.with_dense_tensors())).is_exact


def lower_dsp_winograd(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_dsp_winograd` holds."""
    return _Convolution(Contraction(ctx)).emit()


class _Convolution:
    def __init__(self, work: Contraction) -> None:
        work.settle()
        self.work, self.ctx = work, work.ctx
        self.depth = work.window.depth
        self.groups = self.depth // GROUP

    @property
    def is_exact(self) -> bool:
        """Whether results are requantized, and accumulators that are four times the sums fit 32 bits."""
        fits = np.all(self.work.operands.reach < 1 << 31 - PRE_SHIFT)
        return self.work.requantization is not None and bool(fits)

    def _numbers(self) -> tuple[str, np.ndarray, tuple[int, ...]]:
        """The block, the factors of channels and the last scalars: by multipliers where these are exact, else by
        scales of accumulators that are multiples of four."""
        rq = self.work.requantization
        assert rq is not None
        fixed = fixed_form(rq, *self.work.operands.bounds, PRE_SHIFT)
        if fixed is None:
            return "winograd_i8", rq.scale / np.float32(1 << PRE_SHIFT), (rq.zero_point,)
        if fixed.shift == SHIFT:
            return "winograd_fixed6", fixed.factors, (rq.zero_point,)
        return "winograd_fixed", fixed.factors, (rq.zero_point, fixed.shift)

    def emit(self) -> Block:
        work, ctx = self.work, self.ctx
        assert work.requantization is not None
        block, factors, last = self._numbers()
        kept = min(work.channels, KEPT_BYTES // self.filter_bytes * STREAM.tile)
        count, size = 1 if kept == work.channels else self._patches(), OUTPUTS * COLUMNS
        patch = ctx.temporary("patch", DType.I8, (PATCH[0] * PATCH[1] * self.depth,), align=4)
        inputs = ctx.temporary("inputs", DType.I32, (count, self.groups * 2 * PLACES * TILES), align=8)
        products = ctx.temporary("products", DType.I32, (PRODUCTS,), align=8)
        values = None if work.requantization.whole else work.scratch(count * size)
        step = work.y.buffer.shape[-1] if values is None else work.channels

        images, height, width = work.shape
        image, pair, part, n = (Var(ctx.names.fresh(stem)) for stem in ("o", "pair", "part", "n"))
        pairs, parts = -(-height // OUTPUTS), -(-width // COLUMNS)

        def place(along: Expr, row: Expr | int, column: Expr | int) -> tuple[Expr, ...]:
            """Of an output of the patch number ``along``."""
            at = (pair, part * count + along) if parts > 1 else (pair * count + along, part)
            return image, _clamped(at[0], OUTPUTS, height) + row, _clamped(at[1], COLUMNS, width) + column

        def position(slot: Expr) -> tuple[Expr, ...]:
            """Of outputs of all patches, one behind the other."""
            at = slot % size
            return place(slot // size if count > 1 else as_expr(0), at // COLUMNS, at % COLUMNS)

        def multiply(weights: Pointer, first: Expr, channels: int) -> Block:
            """The block for some channels of each patch."""
            if values is None:
                rows = [work.y.at((*place(n, row, 0), first)) for row in range(OUTPUTS)]
                outputs = [Pointer(work.y.buffer, row) for row in rows]
            else:
                outputs = [Pointer(values, (n * size + row * COLUMNS, first)) for row in range(OUTPUTS)]
            scalars = (self.groups, channels, step, *last)
            pointers = (weights, Pointer(inputs, (n, as_expr(0))), start(products), *outputs)
            return loop(n, count, Invoke(block, pointers, scalars))

        transformed = Invoke("winograd_input", (start(patch), Pointer(inputs, (n, as_expr(0)))), (self.groups,))
        body: Block = loop(n, count, *self._gather(patch, place(n, 0, 0)), transformed)
        body += multiply(start(ctx.pack("w", self._kept(kept, factors))), as_expr(0), kept) if kept else ()
        if kept < work.channels:
            body += self._at_run_time(kept, factors, multiply)
        if values is not None:
            body += work.epilogue(values, count * size, position, together=COLUMNS)
        loops = ((part, parts // count if parts > 1 else parts), (pair, pairs if parts > 1 else pairs // count))
        for var, extent in (*loops, (image, images)):
            body = loop(var, extent, *body)
        return body

    @property
    def filter_bytes(self) -> int:
        """Of the transformed filters of two channels."""
        return 4 * STREAM.size(STREAM.tile, self.groups * 2 * PLACES)

    def _patches(self) -> int:
        """How many patches in a row, or in a column where rows have only one, are transformed before filters are."""
        _, height, width = self.work.shape
        parts = -(-width // COLUMNS)
        along = parts if parts > 1 else -(-height // OUTPUTS)
        most = max(1, PATCH_BYTES // (self.groups * 8 * PLACES * TILES))
        return max(count for count in range(1, min(most, along) + 1) if along % count == 0)

    @property
    def _taps(self) -> np.ndarray:
        return self.work.columns.reshape(-1, TAPS, TAPS, self.depth)

    def _kept(self, channels: int, factors: np.ndarray) -> np.ndarray:
        """The stream of the first channels."""
        words = transformed_words(self._taps[:channels])
        return STREAM.pack(self.work.bias[:channels] << PRE_SHIFT, words, factors[:channels])

    def _at_run_time(
        self, first: int, factors: np.ndarray, multiply: Callable[[Pointer, Expr, int], Block]
    ) -> Block:
        """All channels from the ``first`` on."""
        ends = [
            np.ascontiguousarray(each[first:]).view(np.int32).reshape(-1, STREAM.tile)
            for each in ((self.work.bias << PRE_SHIFT).astype(np.int32), factors)
        ]
        filters = self.ctx.pack("g", np.concatenate([ends[0], filter_words(self._taps[first:]), ends[1]], axis=1))
        stream = self.ctx.temporary("filters", DType.I32, (self.filter_bytes // 4,), align=8)
        number = Var(self.ctx.names.fresh("channels"))
        transform = Invoke(
            "winograd_filter", (Pointer(filters, (number, as_expr(0))), start(stream)), (self.groups,)
        )
        each = multiply(start(stream), number * STREAM.tile + first, STREAM.tile)
        return loop(number, len(ends[0]), transform, *each)

    def _gather(self, patch: Buffer, position: Sequence[Expr]) -> Block:
        """The pixels under some outputs, as bytes."""
        _, height, width = self.work.shape
        places = (height - OUTPUTS + 1, width - COLUMNS + 1)
        window = replace(self.work.window, kernel=PATCH, stride=(1, 1), outputs=places)
        return window_rows(self.ctx, window, position, _Patch(self, patch))


def _clamped(number: Expr, size: int, extent: int) -> Expr:
    """Where part ``number`` of an ``extent`` begins; the last one may overlap that before it."""
    full, rest = divmod(extent, size)
    return number * size - number // full * (size - rest) if rest else number * size


@dataclass(frozen=True)
class _Patch:
    """Where gathered pixels go."""

    layer: _Convolution
    patch: Buffer

    def copy(self, first: Expr, taps: int, where: Sequence[Expr]) -> Block:
        x, depth = self.layer.work.x, self.layer.depth
        source, target = Pointer(x.buffer, x.at((*where, 0))), start(self.patch, first * depth)
        return (run_copy(source, target, taps * depth),)

    def fill(self, first: Expr, taps: int) -> Block:
        depth, i = self.layer.depth, Var(self.layer.ctx.names.fresh("i"))
        return loop(i, taps * depth, store(self.patch[first * depth + i], I8(self.layer.work.zero)))
