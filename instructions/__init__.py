"""The instructions that a loop-IR ``Call`` names, one row each: meaning, expansion, C function, LLVM's intrinsics."""

from .instruction import Instruction, Intrinsic
from .table import INSTRUCTIONS

__all__ = ["INSTRUCTIONS", "Instruction", "Intrinsic"]
