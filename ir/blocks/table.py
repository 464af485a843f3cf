"""The table of block instructions, put together from the families."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..loops import Kernel
from . import (
    depthwise,
    depthwise_bytes,
    depthwise_rows,
    depthwise_window,
    helium,
    helium_depthwise,
    pair,
    plain,
    plane,
    pool,
    quad,
    solo,
)

_DEPTHWISE = (depthwise, depthwise_bytes, depthwise_rows, depthwise_window)
_FAMILIES = (pair, quad, solo, *_DEPTHWISE, plain, plane, pool, helium, helium_depthwise)


@dataclass(frozen=True)
class BlockInstruction:
    """``meaning`` maps the values of ``scalars`` to a kernel with one flat parameter for each pointer."""

    name: str
    scalars: tuple[str, ...]
    meaning: Callable[..., Kernel]


def block_kernel(name: str, scalars: Sequence[int]) -> Kernel:
    """The meaning of an Invoke, under :func:`block_name`."""
    return _meaning(name, tuple(scalars))


@lru_cache(maxsize=256)
def _meaning(name: str, scalars: tuple[int, ...]) -> Kernel:
    kernel = BLOCKS[name].meaning(*scalars)
    return Kernel(block_name(name, scalars), kernel.params, kernel.body, kernel.loc)


def block_name(name: str, scalars: Sequence[int]) -> str:
    """``stage_16``: an identifier for a block instruction with its scalars."""
    return "_".join((name, *(str(scalar).replace("-", "m") for scalar in scalars)))


BLOCKS: dict[str, BlockInstruction] = {row[0]: BlockInstruction(*row) for family in _FAMILIES for row in family.ROWS}

SELECTING: Mapping[str, frozenset[str]] = {
    "helium_pixels_i8": frozenset({"runs", "vectors", "channels"}),
    "spread": frozenset({"step"}),
}
"""Scalars by which the C function of a row chooses among several: of numbers, only the chosen one is compiled."""
