"""3x3 convolutions of int8 by Winograd's algorithm F(2x2, 3x3) on cores without packed arithmetic, where flash may be
spent: 16 products in place of 36, and the same bytes.

Before::                                  After::

    for o, row, column:                     for o, two rows and eight columns:
      acc = bias[c]                           gather the patch of the input, transform it
      for k: acc += x[o, .., k] * w[c, k]     for some channels:
      y[o, row, column, c] = requantize(acc)    products, output transform: accumulators
                                                requantize them, row by row

Blocks are described in ``blocks/winograd_words.py``. Transformed filters, which are made while compiling, take 3.6
times the memory. Where rows or columns do not come out even, the last ones overlap those before.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...blocks.winograd import COLUMNS, OUTPUTS, PATCH, PLACES, PRE_SHIFT, TAPS, TILES
from ...blocks.winograd_words import PAIR, filter_pairs
from ...ir.loops import Block, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..byte_anchors import is_byte_contraction
from ..byte_operands import start
from ..kernel import KernelContext
from ..winograd_patches import TransformedWeights, clamped, gather, has_taps
from .contraction import has_plain_blocks
from .finish import Finish, PixelRun

KEPT_BYTES = 1 << 16
"""Of transformed filters of a layer, at most."""
CHUNK = 16
"""Channels whose accumulators are in memory at a time."""


def is_plain_winograd(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` of int8 with 3x3 constant taps and steps of one, where weights may take more
    memory, channels of the input are pairs, and accumulators that are four times the sums fit 32 bits."""
    if not ctx.cpu.spends_memory or not has_plain_blocks(ctx.cpu) or not is_byte_contraction(ctx):
        return False
    node, weights = ctx.contraction
    if node.op != "conv" or weights is None or not has_taps(node) or weights.shape[-1] % PAIR:
        return False
    if 2 * PLACES * weights.size // TAPS**2 > KEPT_BYTES:
        return False
    work = TransformedWeights(ctx.with_dense_tensors())
    return bool(np.all(work.operands.reach < 1 << 31 - PRE_SHIFT))


def lower_plain_winograd(ctx: KernelContext) -> Block:
    """``conv``, for which :func:`is_plain_winograd` holds."""
    work = TransformedWeights(ctx)
    images, height, width = work.shape
    depth, names = work.window.depth, ctx.names
    results = Finish(ctx, work.refs, work.operands.reach)
    filters = ctx.pack("u", filter_pairs(work.columns.reshape(-1, TAPS, TAPS, depth)))
    bias = ctx.pack("b", work.bias.astype(np.int32))
    patch = ctx.temporary("patch", DType.I8, (PATCH[0] * PATCH[1] * depth,), align=4)
    inputs = ctx.temporary("inputs", DType.I32, (PLACES * depth * TILES,))
    products = ctx.temporary("products", DType.I32, (PLACES * TILES,))
    most = min(CHUNK, work.channels)
    sums = [ctx.temporary("acc", DType.I32, (most, COLUMNS)) for _ in range(OUTPUTS)]
    image, pair, part, chunk, channel = (Var(names.fresh(stem)) for stem in ("o", "pair", "part", "chunk", "channel"))

    def place(row: int, column: Expr) -> tuple[Expr, ...]:
        return image, clamped(pair, OUTPUTS, height) + row, clamped(part, COLUMNS, width) + column

    def channels(first: Expr, count: int) -> Block:
        """``count`` of them from the ``first`` on."""
        factors = Pointer(filters, (first + channel, as_expr(0)))
        outputs = (Pointer(each, (channel, as_expr(0))) for each in sums)
        each = loop(
            channel,
            count,
            Invoke("winograd_words", (factors, start(inputs), start(products)), (depth // PAIR,)),
            Invoke("winograd_words_output", (start(products), Pointer(bias, (first + channel,)), *outputs), ()),
        )
        rows = (
            results.pixels(acc, first, count, PixelRun(partial(place, row), COLUMNS)) for row, acc in enumerate(sums)
        )
        return (*each, *(stmt for row in rows for stmt in row))

    full, rest = divmod(work.channels, most)
    transform = Invoke("winograd_words_input", (start(patch), start(inputs)), (depth,))
    body: Block = (*gather(work, patch, place(0, as_expr(0))), transform)
    body += loop(chunk, full, *channels(chunk * most, most))
    body += channels(as_expr(full * most), rest) if rest else ()
    for var, extent in ((part, -(-width // COLUMNS)), (pair, -(-height // OUTPUTS)), (image, images)):
        body = loop(var, extent, *body)
    return body
