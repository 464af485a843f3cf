"""The loop nest of a fused node, by the generator of its anchor."""

from __future__ import annotations

from ..ir.graph import Node
from ..ir.loops import Block
from ..targets.target import Cpu
from .borders import anchor_of
from .contraction import lower_conv, lower_matmul
from .depthwise import lower_depthwise
from .dots import has_dot
from .dsp.contraction import is_staged, lower_staged
from .dsp.depthwise import is_row_depthwise, lower_row_depthwise
from .dsp.transposed import lower_transposed
from .generic import lower_nest, lower_pointwise
from .helium.contraction import is_helium_contraction, lower_helium
from .helium.depthwise import is_helium_depthwise, lower_helium_depthwise
from .helium.finish import lower_helium_elementwise
from .helium.sums import lower_helium_sum
from .kernel import KernelContext
from .max_pool import lower_max_pool
from .plain.contraction import is_quad, lower_quads
from .plain.depthwise import is_plane, lower_planes
from .stored_weights import lower_weight_matmul

GENERATORS = {
    "conv": (
        lower_helium, lower_helium_depthwise, lower_quads, lower_staged, lower_row_depthwise,
        lower_planes, lower_depthwise, lower_conv,
    ),
    "conv_transpose": (lower_transposed,),
    "pool": (lower_max_pool,),
    "reduce": (lower_helium_sum,),
    "matmul": (lower_helium, lower_quads, lower_staged, lower_matmul),
    "weight_matmul": (lower_weight_matmul,),
}
FILLS_BORDERS = (is_helium_contraction, is_helium_depthwise, is_quad, is_staged, is_row_depthwise, is_plane)
"""Tell where a generator puts values in place of what is beyond the border by itself, and needs no halo."""


def reads_halo(cpu: Cpu, node: Node) -> bool:
    """Whether the fused node's convolution goes through a generator, which relies on a halo."""
    anchor = anchor_of(node)
    if anchor is None or anchor.op != "conv" or anchor.attrs["layout"] != "channels_last":
        return False
    x = anchor.inputs[0]
    return x is not None and has_dot(cpu, x.dtype) and not any(fills(cpu, anchor) for fills in FILLS_BORDERS)


def generate(ctx: KernelContext) -> Block:
    """The loop nest of a fused node: by the generator of its anchor, or the plain nest."""
    if ctx.anchor is None:
        return lower_helium_elementwise(ctx) or lower_pointwise(ctx)
    for generator in GENERATORS.get(ctx.anchor.op, ()):
        block = generator(ctx)
        if block is not None:
            return block
    return lower_nest(ctx)
