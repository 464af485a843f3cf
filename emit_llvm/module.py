"""A whole program -> the text of one LLVM module: constants, kernels and the entry function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ..ir.aliasing import disjoint_params
from ..ir.identity import model_id
from ..ir.loops import For, If, Invoke, Kernel
from ..ir.loops_rewrite import walk_stmts
from ..ir.program import Program
from ..targets import Machine
from . import backend
from .coded import block_functions, code_function, with_known_blocks
from .entry import EntryWriter, ModuleOptions, constant_symbol
from .expressions import internal_error
from .guard import Choice, word_definition
from .kernels import kernel_function
from .placement import comdats, constant_section, function_attributes
from .writer import Function

SIZE_ATTRIBUTES = "optsize"


def foreign_kernels(program: Program) -> dict[str, Kernel]:
    """The kernels whose C is the user's, by symbol: what another object or this process has to define."""
    return {f"{program.owner}_{kernel.name}": kernel for kernel in program.kernels if kernel.foreign is not None}


def constant_array(program: Program, buffer: str) -> np.ndarray:
    """A constant as its declaration says, dense and little endian."""
    array, decl = program.constants[buffer], program.buffers[buffer]
    if array.dtype != decl.dtype.numpy or array.nbytes != decl.nbytes:
        raise internal_error(f"constant {buffer} is {array.dtype}{list(array.shape)}, declared {decl}")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def constant_align(program: Program, machine: Machine) -> dict[str, int]:
    """The alignment of each constant: what its uses ask for, and a cache line on machines that have one."""
    least = machine.target.arena_align if machine.target.hosted else 4
    align = {name: max(least, decl.dtype.size) for name, decl in program.buffers.items() if name in program.constants}
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for call in program.calls:
        for param, name in zip(kernels[call.kernel].params, call.args):
            if name in align:
                align[name] = max(align[name], param.align)
    return align


def module_text(program: Program, machine: Machine, options: ModuleOptions | None = None) -> str:
    """The module that defines ``NAME_run``; everything else in it is internal or hidden."""
    how = options or ModuleOptions()
    if how.addresses is None and (not how.chosen or program.sliced or program.weights is not None):
        program = replace(program, identity=model_id(program))
    program = with_known_blocks(program, machine)
    functions = kernel_functions(program, machine, how)
    entry = EntryWriter(program, machine, how)
    guarded = bool(machine.asked_for) and how.addresses is None and not how.chosen
    functions += entry.chunks()
    functions += entry.guarded() if guarded else entry.entries(program.name, "hidden" if how.chosen else "")
    if not how.chosen:
        functions += entry.besides(guarded)
    if how.call_symbols:
        functions.extend(entry.single(number, call) for number, call in enumerate(program.calls))
    declarations = sorted(set(chain.from_iterable(function.declarations for function in functions)))
    hidden = "" if how.addresses is not None else "hidden "
    for symbol, kernel in foreign_kernels(program).items():
        declarations.append(f"declare {hidden}void @{symbol}({', '.join(['ptr'] * len(kernel.params))}) nounwind")
    parts = (
        f'source_filename = "{program.name}"',
        f'target triple = "{backend.triple(machine)}"',
        *comdats(machine, functions),
        *_constants(program, machine, how),
        *([word_definition(program.name)] if guarded else []),
        *declarations,
        *(function.text for function in functions),
    )
    return "\n".join(parts)


def kernel_functions(program: Program, machine: Machine, how: ModuleOptions) -> list[Function]:
    """The kernels, but for those of custom operators, and the block instructions that they invoke."""
    noalias = disjoint_params(program)
    own = (kernel for kernel in program.kernels if kernel.foreign is None)
    functions = [_kernel(program, kernel, machine, noalias[kernel.name], how) for kernel in own]
    codes, meanings = block_functions(program, machine)
    functions += [_kernel(program, block, machine, frozenset(), how) for block in meanings]
    return functions + [_coded(program, row, code, machine) for row, code in codes.items()]


def choosing_text(program: Program, machine: Machine, choices: Sequence[Choice]) -> str:
    """The module that defines ``NAME_run`` as the first of ``choices``, functions of other objects, that the processor
    can run. ``program`` has the interface and the states of all."""
    entry = EntryWriter(program, machine, ModuleOptions())
    functions = [*entry.choosing(choices), *entry.besides(guarded=True)]
    parts = (
        f'source_filename = "{program.name}"',
        f'target triple = "{backend.triple(machine)}"',
        word_definition(program.name),
        *comdats(machine, functions),
        *sorted(set(chain.from_iterable(function.declarations for function in functions))),
        *(
            f"declare hidden i32 @{choice.prefix}_{function}({', '.join(['ptr'] * len(given))})"
            for choice in choices
            for function, given in entry.functions.items()
        ),
        *(function.text for function in functions),
    )
    return "\n".join(parts)


def _kernel(
    program: Program, kernel: Kernel, machine: Machine, noalias: frozenset[str], options: ModuleOptions
) -> Function:
    symbol = f"{program.name}_{kernel.name}"
    section = program.sections.get(("code", kernel.name)) or program.block_sections.get(kernel.name, "")
    own = SIZE_ATTRIBUTES if _only_invokes(kernel) else options.attributes
    attributes = function_attributes(machine, symbol, own, section)
    return kernel_function(
        kernel, machine, symbol=symbol, noalias=noalias, attributes=attributes,
        prefix=f"{program.name}_", unroll_sums=options.unroll_sums,
    )  # fmt: skip


def _only_invokes(kernel: Kernel) -> bool:
    """Whether its time is spent in block instructions."""
    return all(isinstance(stmt, (For, If, Invoke)) for stmt in walk_stmts(kernel.body))


def _coded(program: Program, row: str, code: bytes, machine: Machine) -> Function:
    symbol = f"{program.name}_{row}"
    attributes = function_attributes(machine, symbol, section=program.block_sections.get(row, ""))
    return code_function(symbol, row, code, attributes)


def _constants(program: Program, machine: Machine, options: ModuleOptions) -> list[str]:
    if options.addresses is not None or program.weights is not None:
        return []
    lines = []
    for name, align in constant_align(program, machine).items():
        symbol, size = constant_symbol(program, name), program.buffers[name].nbytes
        if options.external_constants:
            lines.append(f"@{symbol} = external hidden constant [{size} x i8], align {align}")
            continue
        text = quoted(constant_array(program, name).tobytes())
        section = constant_section(machine, program.name, program.sections.get(("weights", name), ""))
        lines.append(f"@{symbol} = internal constant [{size} x i8] {text}{section}, align {align}")
    return lines


def quoted(data: bytes | memoryview) -> str:
    """Bytes as LLVM IR has them."""
    return 'c"\\' + data.hex("\\") + '"' if data else "zeroinitializer"
