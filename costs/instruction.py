"""One decoded Thumb instruction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SP, LR, PC = 13, 14, 15
ALWAYS = 14
NONE = -1
"""In place of a register."""
FLOATS = 16
"""The number of s0, behind the core registers."""


class Kind(Enum):
    """What the pipeline does with an instruction: the classes of the cycle tables in ``targets/``."""

    ALU = "alu"
    IF_THEN = "if_then"
    MULTIPLY = "multiply"
    MULTIPLY_ADD = "multiply_add"
    LONG_MULTIPLY = "long_multiply"
    LONG_MULTIPLY_ADD = "long_multiply_add"
    DIVIDE = "divide"
    LOAD = "load"
    STORE = "store"
    BRANCH = "branch"
    FLOAT = "float"
    FLOAT_MAC = "float_mac"
    FLOAT_DIVIDE = "float_divide"
    FLOAT_MOVE = "float_move"
    FLOAT_MOVE_PAIR = "float_move_pair"
    VECTOR = "vector"
    VECTOR_SHIFT = "vector_shift"
    VECTOR_NARROW = "vector_narrow"
    VECTOR_MULTIPLY = "vector_multiply"
    VECTOR_FLOAT = "vector_float"
    VECTOR_SUM = "vector_sum"
    VECTOR_MEMORY = "vector_memory"
    VECTOR_GATHER_4 = "vector_gather_4"
    VECTOR_GATHER_8 = "vector_gather_8"
    VECTOR_GATHER_16 = "vector_gather_16"
    VECTOR_INTERLEAVED = "vector_interleaved"
    LOOP_END = "loop_end"


@dataclass(frozen=True, slots=True)
class Instruction:
    """``op`` names the meaning, ``translate.py`` knows it; "other" changes nothing that steers control flow.

    ``imm`` is an operand, an offset or an amount, ``shift`` what happens to ``rm``, ``registers`` the list of a
    multiple load or store, of floating-point registers if ``floats``. ``index`` is "offset", "pre" or "post".
    ``words`` are what memory instructions move, ``target`` where branches go. Of vector instructions, ``read`` and
    ``written`` are the registers, core ones by number, others from :data:`FLOATS` on; ``loads``: from memory.
    """

    address: int
    size: int
    op: str
    kind: Kind = Kind.ALU
    rd: int = NONE
    rn: int = NONE
    rm: int = NONE
    ra: int = NONE
    imm: int = 0
    shift: tuple[str, int] = ("lsl", 0)
    width: int = 4
    signed: bool = False
    index: str = "offset"
    registers: tuple[int, ...] = ()
    floats: bool = False
    sets_flags: bool = False
    carry: int = NONE
    cond: int = ALWAYS
    target: int = 0
    words: int = 0
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    loads: bool = False

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size


def vector_register(number: int) -> tuple[int, ...]:
    """The four single registers of q0 to q7."""
    first = FLOATS + 4 * (number & 7)
    return tuple(range(first, first + 4))
