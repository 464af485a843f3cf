"""Where a run in slices keeps what, as ``emit_c/slices.py`` declares it: counts of passes, seal, position, pointers."""

from __future__ import annotations

from ..ir.program import Program
from ..ir.slices import loop_depth

SEAL_FACTOR = 31
"""Of the polynomial that the seal is, in the addresses that the run was begun with."""


def passes_offset(depth: int) -> int:
    """The count of passes of the loop ``depth``."""
    return 8 * depth


def seal_offset(program: Program) -> int:
    """What the run was begun with."""
    return 8 * loop_depth(program.body)


def position_offset(program: Program) -> int:
    """The number of the next operation."""
    return seal_offset(program) + 4


def pointer_offset(program: Program, number: int, pointer_bits: int) -> int:
    """The argument of that number."""
    return seal_offset(program) + 8 + number * pointer_bits // 8
