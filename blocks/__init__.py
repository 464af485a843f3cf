"""Block instructions: whole loop nests that a loop-IR ``Invoke`` may name, each with its meaning as a kernel.

An ``Invoke`` carries constant scalars, so that its meaning is a plain kernel of static shapes. The C printer calls the
row's function of ``runtime_c`` (hand-written assembly where the compiler targets a core that has it, and a C twin with
the same bits elsewhere); the LLVM printer prints the meaning as a function of its own, or brings the machine code.

A file is a family: what it computes, how its operands lie in memory, and its ``ROWS``.
"""

from .instruction import BlockInstruction, block_name
from .table import BLOCKS, block_kernel, has_block

__all__ = ["BLOCKS", "BlockInstruction", "block_kernel", "block_name", "has_block"]
