"""Estimated cycles of basic blocks."""

from __future__ import annotations

from collections.abc import Iterable

from ..targets.timing import Timing
from .functions import is_return
from .instruction import Instruction, Kind

_MEMORY = (Kind.LOAD, Kind.STORE)
_VECTOR = (Kind.VECTOR, Kind.VECTOR_MEMORY)


def instruction_cycles(block: Iterable[Instruction], timing: Timing) -> list[float]:
    """The cycles of each instruction of a block, branches not taken."""
    found = []
    before: Instruction | None = None
    for instruction in block:
        found.append(_cycles(instruction, before, timing))
        before = instruction
    return found


def taken_cycles(last: Instruction, timing: Timing) -> float:
    """What the jump at the end of a block adds where it is taken."""
    if last.kind is Kind.LOOP_END:
        return 0
    return timing.load_pc if is_return(last) and last.words else timing.taken


def _cycles(instruction: Instruction, before: Instruction | None, timing: Timing) -> float:
    kind = instruction.kind
    own = timing.cycles.get(kind.value, 1)
    if kind in _VECTOR and before is not None and before.kind in _VECTOR and before.kind is not kind:
        return timing.overlapped
    if kind in _MEMORY:
        if instruction.words > 1:
            return 1 + timing.word * instruction.words
        if before is not None and before.kind in _MEMORY and before.words == 1:
            own = min(own, timing.pipelined)
    if instruction.op == "bl":
        own += timing.taken
    return own / timing.issue if own == 1 else own
