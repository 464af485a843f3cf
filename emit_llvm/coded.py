"""Block instructions whose machine code is known: LLVM calls them instead of compiling their meaning.

The code stands in the prologue data of a function without a body, so that the linker sees an ordinary function. The
function is weak, because LLVM must not conclude from the missing body that it never returns.
"""

from __future__ import annotations

from ..ir.blocks import BLOCKS, block_name
from ..ir.loops import Invoke
from ..ir.loops_rewrite import walk_stmts
from ..ir.program import Program
from ..targets import Machine
from .machine_code import MACHINE_CODE
from .writer import Function


def machine_code(row: str, machine: Machine) -> bytes | None:
    """The code of a block instruction on ``machine``, where there is some."""
    architecture = machine.abi.triple.split("-")[0]
    codes = (code for architectures, code in MACHINE_CODE.get(row, {}).items() if architecture in architectures)
    return next(map(bytes.fromhex, codes), None)


def coded_blocks(program: Program, machine: Machine) -> tuple[dict[str, bytes], frozenset[str]]:
    """The code of the rows that the program invokes, by name, and the meanings that it stands for, by theirs."""
    codes: dict[str, bytes] = {}
    replaced = set()
    for kernel in program.kernels:
        for stmt in walk_stmts(kernel.body):
            code = machine_code(stmt.block, machine) if isinstance(stmt, Invoke) else None
            if isinstance(stmt, Invoke) and code is not None:
                codes[stmt.block] = code
                replaced.add(block_name(stmt.block, stmt.scalars))
    return codes, frozenset(replaced)


def code_function(symbol: str, row: str, code: bytes, attributes: str) -> Function:
    """``void symbol(pointers..., scalars...)`` with that code."""
    scalars = BLOCKS[row].scalars
    pointers = BLOCKS[row].meaning(*(1 for _ in scalars)).params
    params = ", ".join(["ptr"] * len(pointers) + ["i32"] * len(scalars))
    data = f"[{len(code)} x i8] c\"\\{code.hex(chr(92))}\""
    head = f"define weak hidden void @{symbol}({params}) naked noinline nounwind {attributes} align 4 prologue {data}"
    return Function(symbol, f"{head} {{\n  unreachable\n}}\n", frozenset())
