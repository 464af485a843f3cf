"""The table of block instructions, put together from the families."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..ir.loops import Kernel
from . import (
    depthwise,
    depthwise_line,
    depthwise_map,
    depthwise_windows,
    dsp_gemm,
    dsp_packed_gemm,
    halfword_gemm,
    helium,
    helium_depthwise,
    helium_gates,
    helium_product,
    helium_softmax,
    helium_tanh,
    helium_taps,
    helium_windows,
    interpolation,
    matrix_tiles,
    nibbles,
    normalization,
    plain,
    plain_depthwise,
    pointwise,
    pool,
    rescaling,
    row_sums,
    winograd,
    winograd_words,
)
from .instruction import BlockInstruction

_FAMILIES = (
    dsp_gemm, dsp_packed_gemm, depthwise, depthwise_line, depthwise_map, depthwise_windows, plain, plain_depthwise,
    pointwise, pool, helium, helium_depthwise, helium_gates, helium_product, helium_softmax, helium_tanh, helium_taps,
    helium_windows, row_sums, winograd, winograd_words, halfword_gemm, interpolation, matrix_tiles, nibbles,
    normalization, rescaling,
)  # fmt: skip

BLOCKS: Mapping[str, BlockInstruction] = {row.name: row for family in _FAMILIES for row in family.ROWS}


def block_kernel(name: str, numbers: Sequence[int]) -> Kernel:
    """The meaning of an Invoke."""
    return BLOCKS[name].kernel(tuple(numbers))


def has_block(name: str, extensions: Collection[str]) -> bool:
    """Whether a CPU with these ``extensions`` has the block instruction."""
    return BLOCKS[name].extensions <= set(extensions)
