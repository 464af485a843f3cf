"""The table of generators: what makes the loop nest of which fused nodes, and at what cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, prod

from ..blocks import has_block
from ..ir.graph import Node
from ..ir.loops import Block
from ..ir.types import DType
from ..ops.attributes import ints
from ..ops.table import OPS
from ..record import record
from .arg_reduce import is_vector_arg_reduce, lower_arg_reduce
from .banded import band_width, is_banded, lower_banded
from .borders import needed_halo
from .channel_sums import is_dsp_sum, is_helium_sum, lower_dsp_sum, lower_helium_sum
from .computed_product import is_computed_product, lower_computed_product
from .contraction import is_conv, is_matmul, lower_conv, lower_matmul
from .cycles import predicted_cycles
from .depthwise import is_depthwise, lower_depthwise
from .dsp.contraction import is_dsp_contraction, lower_dsp_contraction, lower_dsp_transposed
from .dsp.depthwise import is_dsp_depthwise, lower_dsp_depthwise
from .dsp.halfwords import is_halfword_contraction, lower_halfword_contraction
from .dsp.pointwise import is_dsp_pointwise, lower_dsp_pointwise
from .dsp.product import lower_dsp_product
from .dsp.winograd import is_dsp_winograd, lower_dsp_winograd
from .few_channels import is_few_channels, lower_few_channels
from .generic import lower_nest, lower_pointwise
from .grouped_lanes import grouped_share, is_grouped_lanes, lower_grouped_lanes
from .halfword_product import is_halfword_product, lower_halfword_product
from .helium.contraction import (
    is_helium_contraction,
    is_helium_transposed,
    lower_helium_contraction,
    lower_helium_transposed,
)
from .helium.depthwise import is_helium_depthwise, lower_helium_depthwise
from .helium.depthwise_taps import is_helium_taps, lower_helium_taps
from .helium.finish import is_helium_elementwise, lower_helium_elementwise
from .helium.halfwords import is_helium_halfword_contraction, lower_helium_halfword_contraction
from .helium.product import lower_helium_product
from .helium.recurrent import is_helium_recurrent, lower_helium_recurrent
from .helium.softmax import is_helium_softmax, lower_helium_softmax
from .helium.windows import (
    is_helium_interpolation,
    is_helium_window_sums,
    lower_helium_interpolation,
    lower_helium_window_sums,
)
from .int_recurrent import is_int_recurrent, lower_int_recurrent
from .kept_exponentials import lower_kept_exponentials
from .kernel import KernelContext, has_vectors
from .matrix_tiles import is_tiled, lower_tiled, tiled_cost, tiled_halo
from .max_pool import is_max_pool, lower_max_pool
from .normalized_rows import is_normalized_rows, lower_normalized_rows
from .outer_product import is_outer_product, lower_outer_product
from .overlap_add import lower_overlap_add
from .packed_elementwise import is_packed_elementwise, lower_packed_elementwise
from .packed_interpolation import is_packed_interpolation, lower_packed_interpolation
from .picked_columns import is_picked_columns, lower_picked_columns
from .plain.contraction import is_plain_contraction, lower_plain_contraction
from .plain.depthwise import is_plain_depthwise, lower_plain_depthwise
from .plain.winograd import is_plain_winograd, lower_plain_winograd
from .pooled_rows import is_pooled_rows, lower_pooled_rows
from .products import is_product
from .recurrent import is_recurrent, lower_recurrent
from .row_blocks import lower_row_blocks
from .row_dots import is_row_dots, lower_row_dots, row_dots_share
from .separate_maxima import is_separate_maxima, lower_separate_maxima
from .sorted_suppression import is_sorted_suppression, lower_sorted_suppression
from .stored_weights import is_weight_matmul, lower_weight_matmul
from .sum_pool import is_sum_pool, lower_sum_pool
from .tap_products import is_tap_products, lower_tap_products, tap_products_cost
from .tensors import Halo
from .top_k_lanes import is_top_k_lanes, lower_top_k_lanes
from .top_k_selection import is_top_k_selection, lower_top_k_selection
from .transposed import is_transposed
from .transposed_contraction import is_transposed_contraction, lower_transposed_contraction, transposed_halo
from .transposed_depthwise import is_transposed_depthwise, lower_transposed_depthwise
from .tree_code import is_tree_code, lower_tree_code
from .widened_rows import is_widened, lower_widened, widened_cost
from .winograd import is_winograd, lower_winograd, winograd_cost, winograd_halo

Estimate = Callable[[KernelContext], float]


@record
class Generator:
    """One way to make the loop nest of a fused node.

    It is for nodes whose anchor is one of ``anchors`` (empty: any; ``None``: a node without an anchor), for CPUs that
    have the block instruction ``block``, if it needs any, and where ``applies`` holds; ``emit`` makes the loops.
    ``cost`` estimates the cycles that they take, without knowledge of the tensors in memory. ``halo`` is what they
    rely on around the input of their anchor; ``None``: they put values in place of what is beyond the border.
    ``tunable``: something about the loops may be decided from outside. ``tile``: as many neighbouring windows along
    each dimension are computed of sums over all that they read. ``streams``: the loops are over the rows of an image
    where the context has them by rows, and take about as long.
    """

    name: str
    anchors: frozenset[str | None]
    applies: Callable[[KernelContext], bool]
    emit: Callable[[KernelContext], Block]
    cost: Estimate
    halo: Callable[[Node], Halo] | None = None
    block: str | None = None
    tunable: bool = False
    tile: int = 1
    streams: bool = False

    def fits(self, ctx: KernelContext) -> bool:
        op = None if ctx.anchor is None else ctx.anchor.op
        known = self.block is None or has_block(self.block, ctx.cpu.extensions)
        return known and (op in self.anchors or not self.anchors) and self.applies(ctx)


def _always(ctx: KernelContext) -> bool:
    return True


def _has_anchor(ctx: KernelContext) -> bool:
    return ctx.anchor is not None


def _anchors(*names: str | None) -> frozenset[str | None]:
    return frozenset(names)


# ---------------------------------------------------------------- estimates


def _of_blocks(
    name: str, anchors: frozenset[str | None], applies: Callable[[KernelContext], bool],
    emit: Callable[[KernelContext], Block], block: str,
) -> Generator:  # fmt: skip
    """One whose loops invoke block instructions, and are made on trial to tell their cycles."""

    def cost(ctx: KernelContext) -> float:
        return predicted_cycles(emit(ctx.trial()), ctx.cpu)

    return Generator(name, anchors, applies, emit, cost, block=block, tunable=True)


_FEW_PRODUCTS, _FEW_OF_VECTORS = 1024, 512
"""Products of halfwords that are not worth the code of a block, if no other layer has it. Where that is one of vectors,
weights would else be halfwords, of which it saves half of the bytes."""


def _unless_few(emit: Callable[[KernelContext], Block], few: int) -> Estimate:
    """The predicted cycles, of contractions that have not fewer products of halfwords."""

    def cost(ctx: KernelContext) -> float:
        anchor, weights = ctx.contraction
        assert weights is not None
        products = anchor.output.type.size // max(1, anchor.output.shape[-1]) * weights.size
        small = anchor.operands[0].dtype is DType.I16 and products < few
        return inf if small else predicted_cycles(emit(ctx.trial()), ctx.cpu)

    return cost


_RESULT = 35
"""Cycles for what is done once for each result: bias, requantization, store, and the loops around."""
_HALO = 2
"""Times the cycles of a step where a halo is read, which keeps the kernel before from running over the end of rows."""
_SHORT = 2.8
"""Times as many on cores of 16-bit instructions, for want of registers, addresses and multiply-accumulates."""


def _scalar(step: float) -> Estimate:
    """Code of compilers: ``step`` cycles for a multiply-accumulate, or what else an anchor does as often as it has
    taps, or for an element where there is no anchor. Figures are what the worst code takes that GCC or LLVM made of
    layers for Cortex-M4 and M3; vectors divide all of them alike."""

    def cost(ctx: KernelContext) -> float:
        times = _SHORT if ctx.cpu.short_instructions else 1
        return (step * _steps(ctx) + _RESULT * ctx.output.type.size) * times

    return cost


def _steps(ctx: KernelContext) -> int:
    node = ctx.anchor
    macs = None if node is None else OPS[node.op].macs
    if node is not None and macs is not None:
        return macs(node)
    if node is not None and "kernel" in node.attrs:
        return prod(ints(node.attrs, "kernel")) * node.output.type.size
    return max(value.type.size for value in (*ctx.node.operands, *ctx.node.outputs))


def _convolution(step: float, alone: float) -> Estimate:
    """``alone``: a step where groups have one channel each, so that they share no activations."""

    def cost(ctx: KernelContext) -> float:
        node, _ = ctx.contraction
        each = alone if node.attrs["group"] == node.output.shape[-1] else step
        return _scalar(each * (_HALO if any(ints(node.attrs, "pad")) else 1))(ctx)

    return cost


_ALONE, _ALONE_HALO = 6, 16
"""Cycles of a step of the depthwise loops, and what a halo adds: on Cortex-M3 the 1x1 layer before it, which has rows
of five pixels then, takes 10 more a step."""


def _depthwise(ctx: KernelContext) -> float:
    node, _ = ctx.contraction
    return _scalar(_ALONE + (_ALONE_HALO if any(ints(node.attrs, "pad")) else 0))(ctx)


_DIRECT = (7, 13)
"""Cycles of the register-blocked contraction."""


def _winograd(outputs: int) -> Generator:
    """In tiles of ``outputs`` x ``outputs``; the cost is a share of the contraction's."""
    direct = _convolution(*_DIRECT)
    return Generator(
        f"winograd F({outputs}x{outputs},3x3)",
        _anchors("conv"),
        lambda ctx: is_winograd(ctx, outputs),
        lambda ctx: lower_winograd(ctx, outputs),
        lambda ctx: direct(ctx) * winograd_cost(ctx, outputs),
        lambda conv: winograd_halo(conv, outputs),
        tunable=True,
        tile=outputs,
    )


_FUSED = 0.75
"""Of the cycles predicted for products that are written out: multiplications add as well, and loads extend bytes."""


def _written_out(ctx: KernelContext) -> float:
    return _FUSED * predicted_cycles(lower_few_channels(ctx.trial()), ctx.cpu)


def _banded(ctx: KernelContext) -> float:
    """Steps of the band alone."""
    _, weights = ctx.contraction
    assert weights is not None
    return _scalar(7 * band_width(ctx) / len(weights))(ctx)


def _nothing(ctx: KernelContext) -> float:
    """Of what there is no other way to compute."""
    return 0.0


def _lowered(ctx: KernelContext) -> Block:
    """The loops of a fused node inside another one."""
    return choose_generator(ctx).emit(ctx)


# ---------------------------------------------------------------- the table


GENERATORS: tuple[Generator, ...] = (
    _of_blocks(
        "helium contraction", _anchors("conv", "matmul"), is_helium_contraction, lower_helium_contraction,
        "helium_gemm_4x2_i8",
    ),
    _of_blocks(
        "helium depthwise", _anchors("conv"), is_helium_depthwise, lower_helium_depthwise, "helium_depthwise_rows"
    ),
    _of_blocks("helium taps", _anchors("conv"), is_helium_taps, lower_helium_taps, "helium_depthwise_taps"),
    _of_blocks("dsp contraction", _anchors("conv", "matmul"), is_dsp_contraction, lower_dsp_contraction, "gemm_3x2_i8"),
    _of_blocks("dsp pointwise", _anchors("conv", "matmul"), is_dsp_pointwise, lower_dsp_pointwise, "pointwise_4"),
    _of_blocks(
        "dsp halfwords", _anchors("conv", "matmul"), is_halfword_contraction, lower_halfword_contraction, "gemm_3x2_i32"
    ),
    replace(
        _of_blocks(
            "helium halfwords", _anchors("conv", "matmul"), is_helium_halfword_contraction,
            lower_helium_halfword_contraction, "helium_gemm_4x1_s16s8_i32",
        ),
        cost=_unless_few(lower_helium_halfword_contraction, _FEW_OF_VECTORS),
    ),
    _of_blocks("dsp winograd", _anchors("conv"), is_dsp_winograd, lower_dsp_winograd, "winograd_fixed"),
    _of_blocks("dsp depthwise", _anchors("conv"), is_dsp_depthwise, lower_dsp_depthwise, "depthwise_two_rows"),
    _of_blocks("dsp transposed", _anchors("conv_transpose"), is_transposed, lower_dsp_transposed, "gemm_3x2_i8"),
    _of_blocks("dsp product", _anchors("matmul"), is_product, lower_dsp_product, "gemm_3x2_i8"),
    _of_blocks("helium product", _anchors("matmul"), is_product, lower_helium_product, "helium_gemm_4x2_i8"),
    _of_blocks(
        "helium transposed", _anchors("conv_transpose"), is_helium_transposed, lower_helium_transposed,
        "helium_gemm_4x2_i8",
    ),
    replace(
        _of_blocks(
            "plain contraction", _anchors("conv", "matmul"), is_plain_contraction, lower_plain_contraction,
            "gemm_1x4_pairs",
        ),
        cost=_unless_few(lower_plain_contraction, _FEW_PRODUCTS),
    ),
    _of_blocks("plain winograd", _anchors("conv"), is_plain_winograd, lower_plain_winograd, "winograd_words"),
    _of_blocks("plain depthwise", _anchors("conv"), is_plain_depthwise, lower_plain_depthwise, "depthwise3x3"),
    Generator("few channels", _anchors("conv"), is_few_channels, lower_few_channels, _written_out),
    _of_blocks("maximum of lines", _anchors("pool"), is_max_pool, lower_max_pool, "greatest2"),
    _of_blocks("helium sum", _anchors("reduce"), is_helium_sum, lower_helium_sum, "helium_sum"),
    _of_blocks("dsp sum", _anchors("reduce"), is_dsp_sum, lower_dsp_sum, "channel_sums"),
    _of_blocks(
        "helium softmax", _anchors("int_softmax"), is_helium_softmax, lower_helium_softmax, "helium_softmax"
    ),
    _of_blocks(
        "helium interpolation", _anchors("interpolate"), is_helium_interpolation, lower_helium_interpolation,
        "helium_interpolate",
    ),
    _of_blocks(
        "helium window sums", _anchors("pool"), is_helium_window_sums, lower_helium_window_sums, "helium_window_sums"
    ),
    _of_blocks("helium elementwise", _anchors(None), is_helium_elementwise, lower_helium_elementwise, "helium_lookup"),
    Generator(
        "depthwise", _anchors("conv"), is_depthwise, lower_depthwise, _depthwise, needed_halo, tunable=True,
        streams=True,
    ),
    Generator(
        "lanes of groups", _anchors("conv"), is_grouped_lanes, lower_grouped_lanes,
        lambda ctx: _convolution(*_DIRECT)(ctx) * grouped_share(ctx), needed_halo, tunable=True, streams=True,
    ),
    Generator(
        "contraction", _anchors("conv"), is_conv, lower_conv, _convolution(*_DIRECT), needed_halo, tunable=True,
        streams=True,
    ),
    Generator(
        "tiles", _anchors("conv"), is_tiled, lower_tiled, lambda ctx: _convolution(*_DIRECT)(ctx) * tiled_cost(ctx),
        tiled_halo, block="tiles_u8_2x2",
    ),
    Generator(
        "widened rows", _anchors("conv"), is_widened, lower_widened,
        lambda ctx: _convolution(*_DIRECT)(ctx) * widened_cost(ctx), needed_halo, tunable=True,
    ),
    _winograd(2),
    _winograd(4),
    Generator(
        "contraction", _anchors("conv_transpose"), is_transposed_contraction, lower_transposed_contraction,
        _convolution(*_DIRECT), transposed_halo,
    ),
    Generator(
        "products of taps", _anchors("conv_transpose"), is_tap_products, lower_tap_products,
        lambda ctx: _convolution(*_DIRECT)(ctx) * tap_products_cost(ctx), tunable=True,
    ),
    Generator(
        "depthwise", _anchors("conv_transpose"), is_transposed_depthwise, lower_transposed_depthwise, _scalar(_ALONE),
        transposed_halo,
    ),
    Generator("contraction", _anchors("matmul"), is_matmul, lower_matmul, _scalar(7), tunable=True),
    Generator("outer product", _anchors("matmul"), is_outer_product, lower_outer_product, _scalar(1)),
    Generator(
        "dot products of rows", _anchors("matmul"), is_row_dots, lower_row_dots,
        lambda ctx: _scalar(7)(ctx) * row_dots_share(ctx),
    ),
    Generator(
        "tiles", _anchors("matmul"), is_tiled, lower_tiled, lambda ctx: _scalar(7)(ctx) * tiled_cost(ctx),
        block="tiles_u8_2x2",
    ),
    Generator(
        "widened rows", _anchors("matmul"), is_widened, lower_widened, lambda ctx: _scalar(7)(ctx) * widened_cost(ctx),
        tunable=True,
    ),
    Generator(
        "computed product", _anchors("matmul"), is_computed_product, lower_computed_product, _scalar(7), tunable=True
    ),
    Generator(
        "halfword product", _anchors("matmul"), is_halfword_product, lower_halfword_product, _scalar(7), tunable=True
    ),
    Generator("band", _anchors("matmul"), is_banded, lower_banded, _banded),
    Generator(
        "stored weights", _anchors("weight_matmul"), is_weight_matmul, lower_weight_matmul, _scalar(7), tunable=True
    ),
    Generator("recurrence", _anchors("lstm", "gru", "rnn"), is_recurrent, lower_recurrent, _scalar(7), tunable=True),
    Generator(
        "integer recurrence", _anchors("int_lstm", "int_gru", "int_rnn"), is_int_recurrent, lower_int_recurrent,
        _scalar(7), tunable=True,
    ),
    Generator(
        "helium recurrence", _anchors("int_lstm", "int_gru", "int_rnn"), is_helium_recurrent, lower_helium_recurrent,
        _scalar(4), tunable=True,
    ),
    Generator("blocks of rows", _anchors("row_blocks"), _always, lambda ctx: lower_row_blocks(ctx, _lowered), _nothing),
    Generator("tree code", _anchors("trees"), is_tree_code, lower_tree_code, _scalar(7)),
    Generator("normalized rows", _anchors("int_normalize"), is_normalized_rows, lower_normalized_rows, _scalar(20)),
    Generator("vectors of extremes", _anchors("arg_reduce"), is_vector_arg_reduce, lower_arg_reduce, _scalar(10)),
    Generator("overlap-add", _anchors("col2im"), has_vectors, lower_overlap_add, _scalar(10)),
    Generator("lists in lanes", _anchors("top_k"), is_top_k_lanes, lower_top_k_lanes, _scalar(10)),
    Generator("selection", _anchors("top_k"), is_top_k_selection, lower_top_k_selection, _scalar(12)),
    Generator(
        "sorted suppression", _anchors("suppress"), is_sorted_suppression, lower_sorted_suppression, _scalar(10)
    ),
    Generator("kept exponentials", _anchors("int_softmax"), has_vectors, lower_kept_exponentials, _scalar(20)),
    Generator(
        "packed interpolation", _anchors("interpolate"), is_packed_interpolation, lower_packed_interpolation, _scalar(4)
    ),
    Generator("picked columns", _anchors("interpolate"), is_picked_columns, lower_picked_columns, _scalar(3)),
    Generator("rows of pools", _anchors("pool"), is_pooled_rows, lower_pooled_rows, _scalar(6)),
    Generator("separate maxima", _anchors("pool"), is_separate_maxima, lower_separate_maxima, _scalar(8)),
    Generator("sum of taps", _anchors("pool"), is_sum_pool, lower_sum_pool, _scalar(10), streams=True),
    Generator(
        "packed elementwise", _anchors(None), is_packed_elementwise, lower_packed_elementwise, _scalar(8)
    ),
    Generator("elementwise", _anchors(None), _always, lower_pointwise, _scalar(15), streams=True),
    Generator("nest", _anchors(), _has_anchor, lower_nest, _scalar(30), streams=True),
)
"""In no order that matters: of those that apply, the cheapest is taken."""

READ_BORDERS = frozenset(anchor for each in GENERATORS if each.halo is not None for anchor in each.anchors)
"""The anchors for which some loops rely on what is around the input."""


def choose_generator(ctx: KernelContext) -> Generator:
    """The generator for a fused node that is decided on, else that whose loops take the fewest cycles where all tensors
    are dense, which need not be known."""
    found = [each for each in GENERATORS if each.fits(ctx)]
    decided = None if ctx.decision is None else ctx.decision.generator
    if any(each.name == decided for each in found):
        return next(each for each in found if each.name == decided)
    dense = ctx.with_dense_tensors()
    return found[0] if len(found) == 1 else min(found, key=lambda generator: generator.cost(dense))
