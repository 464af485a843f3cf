"""A program as a folder of C sources: header, kernels and run function, weights, runtime and Makefile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

from pycparser import c_ast

from ..errors import CcmlError, ErrorCode
from ..ir.aliasing import disjoint_params
from ..ir.loops import For, Kernel
from ..ir.program import Program, Storage
from ..ir.types import DType
from ..targets import Machine
from . import tree
from .amalgamation import runtime_header
from .guard import guard_source
from .header import public_header
from .kernel import kernel_function
from .makefile import MAKEFILE, makefile
from .requirements import Requirements
from .spelling import MEMORY_TYPES
from .symbols import Symbols, assign_symbols, banner, comment_text, interfaces
from .weights import (
    INCBIN_THRESHOLD,
    Constant,
    array_source,
    binary_source,
    collect_constants,
    declarations,
    write_binary,
)

_TESTS = 16
"""Of one condition: printing a syntax tree takes stack by its depth."""


def write_c(
    program: Program,
    machine: Machine,
    out_dir: str | Path,
    *,
    incbin_threshold: int | None = INCBIN_THRESHOLD,
) -> list[Path]:
    """Writes the program for ``machine`` into ``out_dir`` (made if need be) and returns the files written.

    Constants of more than ``incbin_threshold`` bytes in all are written as a binary file instead of numbers (``None``:
    never; nor where objects are not ELF). Raises :class:`CcmlError` where the folder cannot be written or a kernel
    cannot be said in C.
    """
    symbols = assign_symbols(program)
    constants = collect_constants(program, machine, symbols)
    total = sum(constant.array.nbytes for constant in constants)
    by_assembler = incbin_threshold is not None and machine.abi.elf is not None
    binary = by_assembler and total > (incbin_threshold or 0)
    texts = sources(program, machine, symbols, constants, binary)
    folder = Path(out_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        weights_file = folder / f"{symbols.prefix}_weights.bin"
        if binary:
            write_binary(constants, weights_file)
        else:
            weights_file.unlink(missing_ok=True)
    except OSError as error:
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, f"cannot write: {error}", loc=str(folder)) from error
    return [*(folder / name for name in texts), *([weights_file] if binary else [])]


def sources(
    program: Program, machine: Machine, symbols: Symbols, constants: list[Constant], binary: bool
) -> dict[str, str]:
    """The text files of the artifact by name."""
    needs = Requirements()
    code = _model_source(program, machine, symbols, needs)
    weights = binary_source if binary else array_source
    prefix = symbols.prefix
    return {
        f"{prefix}.h": public_header(program, machine, symbols),
        f"{prefix}.c": code,
        f"{prefix}_weights.c": weights(program, constants, symbols),
        f"{prefix}_internal.h": _internal_header(program, constants, symbols),
        f"{prefix}_runtime.h": banner(program, "the runtime that its kernels use") + "\n" + runtime_header(needs),
        MAKEFILE: makefile(program, machine, symbols, binary),
    }


def _internal_header(program: Program, constants: list[Constant], symbols: Symbols) -> str:
    macro = symbols.macro
    return f"""{banner(program, "what its source files share")}#ifndef {macro}_INTERNAL_H
#define {macro}_INTERNAL_H

#include "{symbols.prefix}_runtime.h"

#if defined(__GNUC__) && !defined(_WIN32)
#define {macro}_HIDDEN __attribute__((visibility("hidden")))
#else
#define {macro}_HIDDEN
#endif

{declarations(constants, symbols)}
#endif
"""


def _model_source(program: Program, machine: Machine, symbols: Symbols, needs: Requirements) -> str:
    disjoint = disjoint_params(program)
    calls = Counter(call.kernel for call in program.calls)
    reserved = {symbols.run, *symbols.kernels.values(), *symbols.constants.values()}
    parts = [
        banner(program, "kernels and run function"),
        f'#include "{symbols.prefix}.h"\n#include "{symbols.prefix}_internal.h"\n',
    ]
    for name, symbol in symbols.kernels.items():
        kernel = program.kernel(name)
        apart = calls[name] > 1 or any(isinstance(stmt, For) for stmt in kernel.body)
        definition = kernel_function(
            kernel, symbol, needs, disjoint=disjoint[name], apart=apart, reserved=reserved
        )
        parts.append(_kernel_comment(program, kernel) + tree.print_c(definition))
    if not machine.asked_for:
        parts.append(tree.print_c(_run_function(program, symbols, symbols.run)))
        return "\n".join(parts)
    parts.append(guard_source(machine, symbols))
    storage = ("static", f"{symbols.macro}_APART")
    parts.append(tree.print_c(_run_function(program, symbols, symbols.checked_run, storage)))
    parts.append(tree.print_c(_guarded_run(program, symbols)))
    return "\n".join(parts)


def _kernel_comment(program: Program, kernel: Kernel) -> str:
    """What the kernel computes, then the ONNX nodes for which it does."""
    calls = [call for call in program.calls if call.kernel == kernel.name]
    what = "; or ".join(dict.fromkeys(call.summary for call in calls if call.summary))
    layers = kernel.loc or ", ".join(call.loc for call in calls if call.loc)
    text = tree.comment_lines((what, comment_text(layers)))
    return f"/* {text} */\n" if text else ""


def _guarded_run(program: Program, symbols: Symbols) -> c_ast.FuncDef:
    """The run function of a model whose code not every processor has."""
    unfit = tree.unary("!", tree.call(symbols.cpu_fits))
    arguments = (tree.name(name) for name in (*symbols.pools, *symbols.arguments))
    body = [_refuse(unfit, f"{symbols.macro}_ERROR_CPU"), c_ast.Return(tree.call(symbols.checked_run, *arguments))]
    storage = (f"{symbols.macro}_ANY_CPU",)
    return tree.function(symbols.run, _parameters(program, symbols), tree.block(body), "int", storage=storage)


def _run_function(program: Program, symbols: Symbols, symbol: str, storage: Sequence[str] = ()) -> c_ast.FuncDef:
    """Checks of the arguments, then the calls in order."""
    symbols.names.push()
    memory = [symbols.names.bind(_memory_name(symbols, pool)) for pool in symbols.pools]
    symbols.names.pop()
    body: list[c_ast.Node] = list(_checks(program, symbols))
    calls: list[c_ast.Node] = []
    for position, call in enumerate(program.calls):
        heading = f"layer {position}: {call.summary}" if call.summary else f"layer {position}"
        calls.append(tree.Comment(tree.comment_lines((heading, comment_text(call.loc)), indent=2)))
        calls.append(_kernel_call(program, symbols, position, memory))
    passed = {arg for call in program.calls for arg in call.args}
    for pool, argument, name in zip(program.plan.pools, symbols.pools, memory):
        if any(program.buffers[arg].storage is Storage.ARENA and arg in pool.offsets for arg in passed):
            pointer = c_ast.PtrDecl(["const"], c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["unsigned char"])))
            body.append(c_ast.Decl(name, [], [], [], [], pointer, tree.name(argument), None))
        elif not pool.size:
            body.append(tree.discard(argument))
    for item, argument in zip(interfaces(program), symbols.arguments):
        if item.buffer not in passed and not item.type.size:
            body.append(tree.discard(argument))
    body.extend(calls)
    body.append(c_ast.Return(tree.name(f"{symbols.macro}_OK")))
    return tree.function(symbol, _parameters(program, symbols), tree.block(body), "int", storage=storage)


def _memory_name(symbols: Symbols, pool: str) -> str:
    """What the bytes of a pool are called in the run function."""
    return "memory" if len(symbols.pools) == 1 else f"{pool}_memory"


def _parameters(program: Program, symbols: Symbols) -> list[c_ast.Decl]:
    tensors = [
        tree.pointer_parameter(argument, MEMORY_TYPES[item.type.dtype], const=position < len(program.inputs))
        for position, (item, argument) in enumerate(zip(interfaces(program), symbols.arguments))
    ]
    return [*(tree.pointer_parameter(pool, "void", const=False) for pool in symbols.pools), *tensors]


def _checks(program: Program, symbols: Symbols) -> Iterator[c_ast.Node]:
    """NULL is an error where there is anything to point at."""
    needed = [name for pool, name in zip(program.plan.pools, symbols.pools) if pool.size]
    needed += [arg for item, arg in zip(interfaces(program), symbols.arguments) if item.type.size]
    for first in range(0, len(needed), _TESTS):
        tests = [tree.binary("==", tree.name(name), tree.name("NULL")) for name in needed[first : first + _TESTS]]
        missing = reduce(lambda one, other: tree.binary("||", one, other), tests)
        yield _refuse(missing, f"{symbols.macro}_ERROR_NULL")
    for pool, argument, stem in zip(program.plan.pools, symbols.pools, symbols.pool_stems):
        if pool.size and pool.align > 1:
            rest = tree.binary("%", tree.cast("uintptr_t", tree.name(argument)), tree.name(f"{stem}_ALIGN"))
            yield _refuse(tree.binary("!=", rest, tree.integer(0)), f"{symbols.macro}_ERROR_ALIGN")


def _refuse(condition: c_ast.Node, code: str) -> c_ast.Node:
    return c_ast.If(condition, tree.block([c_ast.Return(tree.name(code))]), None)


def _kernel_call(program: Program, symbols: Symbols, position: int, memory: Sequence[str]) -> c_ast.Node:
    call = program.calls[position]
    arguments = dict(zip((item.buffer for item in interfaces(program)), symbols.arguments))
    nodes = []
    for buffer_name in call.args:
        buffer = program.buffers[buffer_name]
        if buffer.storage is Storage.ARENA:
            place = program.plan.places[buffer_name]
            nodes.append(_pool_pointer(memory[place.pool], place.offset, buffer.dtype))
        elif buffer.storage is Storage.CONSTANT:
            nodes.append(tree.name(symbols.constants[buffer_name]))
        else:
            nodes.append(tree.name(arguments[buffer_name]))
    return tree.call(symbols.kernels[call.kernel], *nodes, *map(tree.integer, call.scalars))


def _pool_pointer(memory: str, offset: int, dtype: DType) -> c_ast.Node:
    """``(float *)(void *)(memory + offset)``: by void, as the plan sees to the alignment."""
    place = tree.binary("+", tree.name(memory), tree.integer(offset)) if offset else tree.name(memory)
    return tree.cast(MEMORY_TYPES[dtype], tree.cast("void", place, pointer=True), pointer=True)
