"""Block instructions whose machine code is known: LLVM calls them instead of compiling their meaning.

The code stands in the prologue data of a function without a body, so that the linker sees an ordinary function. The
function is weak, because LLVM must not conclude from the missing body that it never returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..blocks import BLOCKS, block_name
from ..ir.loops import Invoke, Kernel
from ..ir.loops_rewrite import walk_stmts
from ..ir.program import Program
from ..ir.specialize import element_count, specialized
from ..ir.steps import Call, map_calls
from ..targets import Machine
from .machine_code import MACHINE_CODE
from .writer import Function


def machine_code(row: str, machine: Machine) -> bytes | None:
    """The code of a block instruction on ``machine``, where there is some."""
    codes = (code for names, code in MACHINE_CODE.get(row, {}).items() if machine.abi.machine_code in names)
    return next(map(bytes.fromhex, codes), None)


def block_functions(program: Program, machine: Machine) -> tuple[dict[str, bytes], list[Kernel]]:
    """What the kernels' Invokes call: the code of the rows that have some, by name, and the meanings of the others."""
    codes: dict[str, bytes] = {}
    called = set()
    for stmt in _invokes(program.kernels):
        code = machine_code(stmt.block, machine)
        if code is None:
            called.add(block_name(stmt.block, stmt.numbers))
        else:
            codes[stmt.block] = code
    return codes, [block for block in program.blocks if block.name in called]


def with_known_blocks(program: Program, machine: Machine) -> Program:
    """``program`` as it is printed: each meaning of a block instruction is for one set of numbers, so that kernels
    whose scalars are those of a block instruction without machine code are specialized for their calls."""
    special = {kernel.name: kernel for kernel in program.kernels if _chooses_meanings(kernel, machine)}
    if not special:
        return program
    made: dict[tuple[str, tuple[int, ...], tuple[int, ...]], Kernel] = {}

    def known(_: int, call: Call) -> list[Call]:
        if call.kernel not in special:
            return [call]
        sizes = tuple(element_count(program, arg) for arg in call.args)
        key = call.kernel, call.scalars, sizes
        if key not in made:
            own = specialized(special[call.kernel], call.scalars, sizes)
            made[key] = replace(own, name=f"{own.name}_{len(made)}")
        return [replace(call, kernel=made[key].name, scalars=())]

    body = map_calls(program.body, known)
    others = (kernel for kernel in program.kernels if kernel.name not in special)
    return replace(program, kernels=(*others, *made.values()), body=body)


def _chooses_meanings(kernel: Kernel, machine: Machine) -> bool:
    return any(not stmt.known and machine_code(stmt.block, machine) is None for stmt in _invokes([kernel]))


def _invokes(kernels: Iterable[Kernel]) -> Iterator[Invoke]:
    return (stmt for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke))


def code_function(symbol: str, row: str, code: bytes, attributes: str) -> Function:
    """``void symbol(pointers..., scalars...)`` with that code."""
    scalars = BLOCKS[row].scalars
    pointers = BLOCKS[row].meaning(*(1 for _ in scalars)).params
    params = ", ".join(["ptr"] * len(pointers) + ["i32"] * len(scalars))
    return bytes_function(symbol, f"void @{symbol}({params})", code, attributes)


def bytes_function(symbol: str, signature: str, code: bytes, attributes: str) -> Function:
    """A function of which the machine code is known."""
    data = f"[{len(code)} x i8] c\"\\{code.hex(chr(92))}\""
    head = f"define weak hidden {signature} naked noinline nounwind {attributes} align 4 prologue {data}"
    return Function(symbol, f"{head} {{\n  unreachable\n}}\n", frozenset())
