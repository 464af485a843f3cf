"""The table of generators: what makes the loop nest of which fused nodes, and at what cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..blocks import has_block
from ..ir.loops import Block
from .contraction import is_conv, is_matmul, lower_conv, lower_matmul
from .depthwise import is_depthwise, lower_depthwise
from .dsp.contraction import is_dsp_contraction, lower_dsp_contraction
from .dsp.depthwise import is_dsp_depthwise, lower_dsp_depthwise
from .dsp.transposed import is_transposed, lower_transposed
from .generic import lower_nest, lower_pointwise
from .helium.contraction import is_helium_contraction, lower_helium_contraction
from .helium.depthwise import is_helium_depthwise, lower_helium_depthwise
from .helium.finish import is_helium_elementwise, lower_helium_elementwise
from .helium.sums import is_helium_sum, lower_helium_sum
from .kernel import KernelContext
from .max_pool import is_max_pool, lower_max_pool
from .plain.contraction import is_plain_contraction, lower_plain_contraction
from .plain.depthwise import is_plain_depthwise, lower_plain_depthwise
from .stored_weights import is_weight_matmul, lower_weight_matmul
from .tree_code import is_tree_code, lower_tree_code


@dataclass(frozen=True)
class Generator:
    """One way to make the loop nest of a fused node.

    It is for nodes whose anchor is one of ``anchors`` (empty: any; ``None``: a node without an anchor), for CPUs that
    have the block instruction ``block``, if it needs any, and where ``applies`` holds; ``emit`` makes the loops.
    ``cost`` estimates the instructions for each multiply-accumulate, or for each element where there is none. With
    ``own_borders`` the loops put values in place of what is beyond the border, and need no halo.
    """

    name: str
    anchors: frozenset[str | None]
    applies: Callable[[KernelContext], bool]
    emit: Callable[[KernelContext], Block]
    cost: float
    own_borders: bool = False
    block: str | None = None

    def fits(self, ctx: KernelContext) -> bool:
        op = None if ctx.anchor is None else ctx.anchor.op
        known = self.block is None or has_block(self.block, ctx.cpu.extensions)
        return known and (op in self.anchors or not self.anchors) and self.applies(ctx)


def _always(ctx: KernelContext) -> bool:
    return True


def _anchors(*names: str | None) -> frozenset[str | None]:
    return frozenset(names)


GENERATORS: tuple[Generator, ...] = (
    Generator(
        "helium contraction", _anchors("conv", "matmul"), is_helium_contraction, lower_helium_contraction, 0.2, True,
        "helium_gemm_4x2_i8",
    ),
    Generator(
        "helium depthwise", _anchors("conv"), is_helium_depthwise, lower_helium_depthwise, 0.5, True,
        "helium_depthwise_rows",
    ),
    Generator(
        "dsp contraction", _anchors("conv", "matmul"), is_dsp_contraction, lower_dsp_contraction, 1.1, True,
        "gemm_3x2_i8",
    ),
    Generator(
        "dsp depthwise", _anchors("conv"), is_dsp_depthwise, lower_dsp_depthwise, 2.2, True, "depthwise_two_rows"
    ),
    Generator(
        "dsp transposed", _anchors("conv_transpose"), is_transposed, lower_transposed, 1.2, True, "gemm_3x2_i8"
    ),
    Generator(
        "plain contraction", _anchors("conv", "matmul"), is_plain_contraction, lower_plain_contraction, 2.5, True,
        "gemm_1x4_words",
    ),
    Generator(
        "plain depthwise", _anchors("conv"), is_plain_depthwise, lower_plain_depthwise, 4, True, "depthwise3x3"
    ),
    Generator("depthwise", _anchors("conv"), is_depthwise, lower_depthwise, 5),
    Generator("contraction", _anchors("conv"), is_conv, lower_conv, 6),
    Generator("contraction", _anchors("matmul"), is_matmul, lower_matmul, 6),
    Generator("stored weights", _anchors("weight_matmul"), is_weight_matmul, lower_weight_matmul, 6),
    Generator("tree code", _anchors("trees"), is_tree_code, lower_tree_code, 5),
    Generator("maximum of lines", _anchors("pool"), is_max_pool, lower_max_pool, 1),
    Generator("helium sum", _anchors("reduce"), is_helium_sum, lower_helium_sum, 1, block="helium_sum"),
    Generator(
        "helium elementwise", _anchors(None), is_helium_elementwise, lower_helium_elementwise, 1, block="helium_lookup"
    ),
    Generator("elementwise", _anchors(None), _always, lower_pointwise, 10),
    Generator("nest", _anchors(), _always, lower_nest, 10, True),
)
"""In no order that matters: of those that apply, the cheapest is taken."""


def choose_generator(ctx: KernelContext) -> Generator:
    """The cheapest generator for a fused node; its tensors need not be known."""
    return min((each for each in GENERATORS if each.fits(ctx)), key=lambda generator: generator.cost)


def reads_halo(ctx: KernelContext) -> bool:
    """Whether a fused node is a convolution whose generator relies on a halo around its input."""
    return ctx.anchor is not None and ctx.anchor.op == "conv" and not choose_generator(ctx).own_borders
