"""3x3 convolutions of int8 by Winograd's algorithm F(2x2, 3x3) on cores with DSP: 16 products in place of 36, and the
same bytes.

Before::                                  After::

    for o, row, column:                     for o, one or several times two rows and eight columns:
      acc = bias[c]                           gather their patches of the input, zero points beyond the border
      for k: acc += x[o, .., k] * w[c, k]     transform them
      y[o, row, column, c] = requantize(acc)  invoke the block: products, output transform, bytes
                                              for two more channels: transform their filters, invoke the block
                                              epilogue of what is in scratch memory

Blocks and arithmetic are described in ``blocks/winograd.py``. Transformed filters take 3.6 times the memory: where that
may be spent, those beyond ``KEPT_BYTES`` are transformed at run time, for as many patches as ``PATCH_BYTES`` hold; else
all are, in large layers alone, for as many patches as there is room for while they run. Where rows or columns do not
come out even, the last ones overlap those before.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ...blocks import has_block
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
from ...ir.graph import Node
from ...ir.loops import Block, Expr, Invoke, Pointer, Stmt, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.fused import body_of
from ...ops.table import OPS
from ...targets.target import Cpu
from ..byte_anchors import is_byte_contraction
from ..byte_operands import start
from ..kernel import KernelContext
from ..nibble_weights import are_nibbles
from ..requantization import fixed_form
from ..winograd_patches import TransformedWeights, clamped, gather, has_taps

KEPT_BYTES = 1 << 16
"""Of the filters of a layer that are transformed while compiling."""
PATCH_BYTES = 1 << 14
"""Of transformed inputs, where filters are transformed at run time."""
FEWEST_MACS = 1 << 20
"""Of layers that are worth the code of the blocks, where memory is not to be spent."""


def is_roomy(node: Node, cpu: Cpu) -> bool:
    """Whether a fused node is a layer that can use memory which is free while it runs to compute in fewer cycles."""
    if not has_block("winograd_fixed", cpu.extensions) or cpu.spends_memory or node.op != "fused":
        return False
    return any(_is_large(inner) for inner in body_of(node.attrs).nodes if inner.op == "conv")


def _is_large(conv: Node) -> bool:
    macs = OPS["conv"].macs
    assert macs is not None
    whole = conv.operands[0].dtype is DType.I8 and conv.attrs["group"] == 1
    return whole and has_taps(conv) and macs(conv) >= FEWEST_MACS


def is_dsp_winograd(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` of int8 with 3x3 constant taps and steps of one, where there is memory for it,
    channels and columns fill the block, and results are requantized."""
    if not (ctx.cpu.spends_memory or ctx.room) or not is_byte_contraction(ctx):
        return False
    node, weights = ctx.contraction
    if node.op != "conv" or weights is None or not has_taps(node):
        return False
    fits = weights.shape[-1] % GROUP == node.output.shape[-1] % STREAM.tile == 0
    return fits and _Convolution(TransformedWeights(ctx.with_dense_tensors())).applies


def lower_dsp_winograd(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_dsp_winograd` holds."""
    return _Convolution(TransformedWeights(ctx)).emit()


class _Convolution:
    """``kept``: the channels whose filters are transformed while compiling; ``patches``: how many below each other and
    side by side are transformed before the filters of the others are (0: there is no room for any)."""

    def __init__(self, work: TransformedWeights) -> None:
        work.settle()
        self.work, self.ctx = work, work.ctx
        self.depth = work.window.depth
        self.groups = self.depth // GROUP
        spends = self.ctx.cpu.spends_memory
        self.kept = min(work.channels, KEPT_BYTES // self.filter_bytes * STREAM.tile) if spends else 0
        self.patches = (1, 1) if self.kept == work.channels else self._patches(PATCH_BYTES if spends else self._free)

    @property
    def applies(self) -> bool:
        """Whether there is room, results are requantized, accumulators that are four times the sums fit 32 bits, and
        weights have no shorter form."""
        fits = np.all(self.work.operands.reach < 1 << 31 - PRE_SHIFT)
        small = are_nibbles(self.work.columns) and not self.ctx.cpu.spends_memory
        return all(self.patches) and self.work.requantization is not None and bool(fits) and not small

    @property
    def filter_bytes(self) -> int:
        """Of the transformed filters of two channels."""
        return 4 * STREAM.size(STREAM.tile, self.groups * 2 * PLACES)

    @property
    def _input_bytes(self) -> int:
        """Of a transformed patch."""
        return self.groups * 8 * PLACES * TILES

    @property
    def _free(self) -> int:
        """The room for transformed patches."""
        once = PATCH[0] * PATCH[1] * self.depth + 4 * PRODUCTS + self.filter_bytes
        results = OUTPUTS * COLUMNS * self.work.channels
        share = self._input_bytes / (self._input_bytes + results)
        return int((self.ctx.room - once) * share)

    def _patches(self, room: int) -> tuple[int, int]:
        """As many as the ``room`` holds: a part of a row of them, or several rows."""
        most = min(room, PATCH_BYTES) // self._input_bytes
        _, height, width = self.work.shape
        beside = _together(COLUMNS, width, most)
        return _together(OUTPUTS, height, most // beside if beside == -(-width // COLUMNS) else min(most, 1)), beside

    def _numbers(self) -> tuple[str, np.ndarray, tuple[int, ...]]:
        """The block, the factors of channels and the last scalars: by multipliers where these are exact, else by
        scales of accumulators that are multiples of four."""
        rq = self.work.requantization
        assert rq is not None
        fixed = fixed_form(rq, *self.work.operands.bounds, PRE_SHIFT)
        if fixed is None:
            return "winograd_i8", rq.scale / np.float32(1 << PRE_SHIFT), (rq.zero_point,)
        if fixed.shift == SHIFT:
            block = "winograd_fixed6" if self.ctx.cpu.spends_memory else "winograd_fixed6_compact"
            return block, fixed.factors, (rq.zero_point,)
        return "winograd_fixed", fixed.factors, (rq.zero_point, fixed.shift)

    def emit(self) -> Block:
        work, ctx, kept = self.work, self.ctx, self.kept
        assert work.requantization is not None
        block, factors, last = self._numbers()
        count, size = prod(self.patches), OUTPUTS * COLUMNS
        patch = ctx.temporary("patch", DType.I8, (PATCH[0] * PATCH[1] * self.depth,), align=4)
        inputs = ctx.temporary("inputs", DType.I32, (count, self._input_bytes // 4), align=8)
        products = ctx.temporary("products", DType.I32, (PRODUCTS,), align=8)
        values = None if work.requantization.whole else work.scratch(count * size)
        step = work.y.buffer.shape[-1] if values is None else work.channels

        images, height, width = work.shape
        image, pair, part, i, j = (Var(ctx.names.fresh(stem)) for stem in ("o", "pair", "part", "i", "j"))
        below, beside = self.patches
        number = i * beside + j

        def place(down: Expr, along: Expr, row: Expr | int, column: Expr | int) -> tuple[Expr, ...]:
            """Of an output of the patch in row ``down`` and column ``along`` of those that are computed together."""
            at = pair * below + down, part * beside + along
            return image, clamped(at[0], OUTPUTS, height) + row, clamped(at[1], COLUMNS, width) + column

        def position(slot: Expr) -> tuple[Expr, ...]:
            """Of an output of a patch."""
            return place(i, j, slot // COLUMNS, slot % COLUMNS)

        def each(*body: Stmt) -> Block:
            """For all patches that are computed together."""
            return loop(i, below, *loop(j, beside, *body))

        def multiply(weights: Pointer, first: Expr, channels: int) -> Block:
            """The block for some channels of each patch."""
            if values is None:
                rows = [work.y.at((*place(i, j, row, 0), first)) for row in range(OUTPUTS)]
                outputs = [Pointer(work.y.buffer, row) for row in rows]
            else:
                outputs = [Pointer(values, (number * size + row * COLUMNS, first)) for row in range(OUTPUTS)]
            scalars = (self.groups, channels, step, *last)
            pointers = (weights, Pointer(inputs, (number, as_expr(0))), start(products), *outputs)
            return each(Invoke(block, pointers, scalars))

        transformed = Invoke("winograd_input", (start(patch), Pointer(inputs, (number, as_expr(0)))), (self.groups,))
        body: Block = each(*gather(work, patch, place(i, j, 0, 0)), transformed)
        body += multiply(start(ctx.pack("w", self._kept(kept, factors))), as_expr(0), kept) if kept else ()
        if kept < work.channels:
            body += self._at_run_time(kept, factors, multiply)
        if values is not None:
            body += each(*work.epilogue(values, size, position, together=COLUMNS, begin=number * size))
        pairs, parts = -(-height // OUTPUTS) // below, -(-width // COLUMNS) // beside
        for var, extent in ((part, parts), (pair, pairs), (image, images)):
            body = loop(var, extent, *body)
        return body

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


def _together(size: int, extent: int, most: int) -> int:
    """How many parts of an ``extent`` are computed together, a divisor of their number up to ``most``; 0 where there is
    none. Where the last part overlaps that before, it is one or all: bounds of places are proven of one loop."""
    number = -(-extent // size)
    counts = (count for count in range(1, min(number, most) + 1) if number % count == 0)
    return max((count for count in counts if extent % size == 0 or count in (1, number)), default=0)
