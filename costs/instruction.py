"""One decoded Thumb instruction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SP, LR, PC = 13, 14, 15
ALWAYS = 14
NONE = -1
"""In place of a register."""


class Kind(Enum):
    """What the pipeline does with an instruction: the classes of the cycle tables in ``targets/``."""

    ALU = "alu"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    LOAD = "load"
    STORE = "store"
    BRANCH = "branch"
    FLOAT = "float"
    FLOAT_MAC = "float_mac"
    FLOAT_DIVIDE = "float_divide"
    VECTOR = "vector"
    VECTOR_MEMORY = "vector_memory"
    LOOP_END = "loop_end"


@dataclass(frozen=True, slots=True)
class Instruction:
    """``op`` names the meaning, ``translate.py`` knows it; "other" changes nothing that steers control flow.

    ``imm`` is an operand, an offset or an amount, ``shift`` what happens to ``rm``, ``registers`` the list of a
    multiple load or store, of floating-point registers if ``floats``. ``index`` is "offset", "pre" or "post".
    ``words`` are what memory instructions move, ``target`` where branches go.
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

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size
