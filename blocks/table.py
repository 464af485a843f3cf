"""The table of block instructions, put together from the families."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..ir.loops import Kernel
from . import depthwise, depthwise_rows, helium, helium_depthwise, pair, plain, plane, pool, quad
from .instruction import BlockInstruction

_FAMILIES = (pair, quad, depthwise, depthwise_rows, plain, plane, pool, helium, helium_depthwise)

BLOCKS: Mapping[str, BlockInstruction] = {row.name: row for family in _FAMILIES for row in family.ROWS}


def block_kernel(name: str, numbers: Sequence[int]) -> Kernel:
    """The meaning of an Invoke."""
    return BLOCKS[name].kernel(tuple(numbers))


def has_block(name: str, extensions: Collection[str]) -> bool:
    """Whether a CPU with these ``extensions`` has the block instruction."""
    return BLOCKS[name].extensions <= set(extensions)
