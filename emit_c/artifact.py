"""A program as a folder of C sources: header, kernels and run function, weights, runtime and Makefile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pycparser import c_ast

from ..custom_ops.unit import prototype, source_files
from ..errors import CcmlError, ErrorCode
from ..ir.aliasing import disjoint_params
from ..ir.loops import For, Kernel
from ..ir.program import Program
from ..targets import Machine
from . import tree
from .amalgamation import runtime_header
from .guard import guard_source
from .header import public_header
from .identity import identity_source
from .kernel import kernel_function
from .makefile import MAKEFILE, makefile
from .requirements import Requirements
from .run_function import chunk_functions, guarded_run, reset_function, run_function
from .slices import begin_source, step_function
from .symbols import Symbols, assign_symbols, banner, comment_text, foreign_kernels
from .threads import chunked_calls, context_declaration, threads_source
from .weights import (
    INCBIN_THRESHOLD,
    Constant,
    array_source,
    binary_source,
    collect_constants,
    declarations,
    write_binary,
)


def write_c(
    program: Program,
    machine: Machine,
    out_dir: str | Path,
    *,
    incbin_threshold: int | None = INCBIN_THRESHOLD,
    layer_hook: bool = False,
    custom_apart: bool = False,
) -> list[Path]:
    """Writes the program for ``machine`` into ``out_dir`` (made if need be) and returns the files written.

    Constants of more than ``incbin_threshold`` bytes in all are written as a binary file instead of numbers (``None``:
    never; nor where objects are not ELF). With ``layer_hook`` the run function says when each layer has run, to what
    the macro ``<NAME>_LAYER_DONE`` names; without that macro nothing is called. ``custom_apart``: libraries beside the
    sources are without the custom operators. Raises :class:`CcmlError` where the folder cannot be written or a kernel
    cannot be said in C.
    """
    symbols = assign_symbols(program)
    constants = [] if program.weights is not None else collect_constants(program, machine, symbols)
    total = sum(constant.array.nbytes for constant in constants)
    by_assembler = incbin_threshold is not None and machine.abi.elf is not None
    binary = by_assembler and total > (incbin_threshold or 0)
    texts = sources(program, machine, symbols, constants, binary, layer_hook, custom_apart)
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
    program: Program,
    machine: Machine,
    symbols: Symbols,
    constants: list[Constant],
    binary: bool,
    layer_hook: bool = False,
    custom_apart: bool = False,
) -> dict[str, str]:
    """The text files of the artifact by name."""
    needs = Requirements()
    code = _model_source(program, machine, symbols, needs, layer_hook)
    weights = binary_source if binary else array_source
    runtime = banner(program, "the runtime that its kernels use")
    prefix = symbols.prefix
    return {
        f"{prefix}.h": public_header(program, machine, symbols, custom_apart),
        f"{prefix}.c": code,
        **({f"{prefix}_weights.c": weights(program, constants, symbols)} if program.weights is None else {}),
        **({f"{prefix}_threads.c": threads_source(program, machine, symbols)} if program.threads else {}),
        f"{prefix}_internal.h": internal_header(program, constants, symbols, [symbols] if layer_hook else []),
        f"{prefix}_runtime.h": f"{runtime}\n{runtime_header(needs, program.block_sections)}",
        **custom_sources(program, symbols),
        MAKEFILE: makefile(program, machine, symbols, binary),
    }


def custom_sources(program: Program, symbols: Symbols) -> dict[str, str]:
    """The C of custom operators by file name: a source file for each kernel, and the user's code, which it includes."""
    files = source_files(foreign_kernels(program, symbols), symbols.prefix)
    head = banner(program, "a custom operator")
    return {name: text if name.endswith(".inc") else f"{head}\n{text}" for name, text in files.items()}


def internal_header(
    program: Program, constants: list[Constant], symbols: Symbols, hooks: Sequence[Symbols] = (), kernels: str = ""
) -> str:
    """What the source files share: constants, prototypes of ``kernels`` that have a file of their own, and what the
    models of ``hooks`` call behind each layer."""
    macro = symbols.macro
    return f"""{banner(program, "what its source files share")}#ifndef {macro}_INTERNAL_H
#define {macro}_INTERNAL_H

#include "{symbols.prefix}_runtime.h"

#if defined(__GNUC__) && !defined(_WIN32)
#define {macro}_HIDDEN __attribute__((visibility("hidden")))
#else
#define {macro}_HIDDEN
#endif

{"".join(map(_layer_hook, hooks))}{declarations(constants, symbols)}{kernels}
#endif
"""


def _layer_hook(symbols: Symbols) -> str:
    return f"""/* For measurements: where {symbols.layer_done} is the name of a function, that is called with the
   number of each layer when it has run. */
#ifdef {symbols.layer_done}
void {symbols.layer_done}(int layer);
#else
#define {symbols.layer_done}(layer) ((void)0)
#endif

"""


def _model_source(
    program: Program, machine: Machine, symbols: Symbols, needs: Requirements, layer_hook: bool
) -> str:
    parts = [banner(program, "kernels and run function"), model_includes(symbols, symbols.prefix)]
    foreign = foreign_kernels(program, symbols)
    parts += [f"{symbols.macro}_HIDDEN {prototype(kernel, symbol)};\n" for symbol, kernel in foreign.items()]
    parts += [
        kernel_comment(program, kernel) + tree.print_c(definition)
        for kernel, definition in kernel_definitions(program, symbols, needs)
    ]
    return "\n".join([*parts, *entry_source(program, machine, symbols, layer_hook)])


def model_includes(symbols: Symbols, library: str) -> str:
    """The headers of a model whose kernels and constants are those of ``library``; the model's own functions are plain
    functions behind them."""
    undefined = "".join(f"#undef {function}\n" for function in symbols.checked)
    return f'#include "{symbols.prefix}.h"\n#include "{library}_internal.h"\n\n{undefined}'


def kernel_definitions(
    program: Program, symbols: Symbols, needs: Requirements, linkage: str = "static",
    rows_types: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[Kernel, c_ast.FuncDef]]:  # fmt: skip
    """The C functions of all kernels but those of custom operators. ``rows_types`` are the structures that bring rows
    to those which fetch some, by kernel, where they are not that of ``symbols``."""
    disjoint = disjoint_params(program)
    calls = Counter(call.kernel for call in program.calls)
    reserved = {symbols.run, symbols.reset, *symbols.kernels.values(), *symbols.constants.values()}
    for name, symbol in symbols.kernels.items():
        kernel = program.kernel(name)
        if kernel.foreign is not None:
            continue
        section = program.sections.get(("code", name), "")
        apart = bool(section) or calls[name] > 1 or any(isinstance(stmt, For) for stmt in kernel.body)
        yield kernel, kernel_function(
            kernel, symbol, needs, disjoint=disjoint[name], apart=apart, reserved=reserved, linkage=linkage,
            section=section, rows_type=rows_types.get(name, symbols.rows),
        )


def entry_source(program: Program, machine: Machine, symbols: Symbols, layer_hook: bool = False) -> list[str]:
    """The functions of the header, and what they need of their own."""
    guarded = bool(machine.asked_for)
    parts = [guard_source(machine, symbols)] if guarded else []
    if chunked_calls(program):
        parts.append(context_declaration(program, symbols))
        parts += [tree.print_c(function) for function in chunk_functions(program, symbols)]
    any_cpu = (f"{symbols.macro}_ANY_CPU",) if guarded else ()
    parts.append(identity_source(program, symbols, any_cpu))
    if program.states:
        parts.append(tree.print_c(reset_function(program, symbols, any_cpu)))
    if program.sliced:
        parts.append(begin_source(program, symbols, any_cpu, guarded))
        parts.append(tree.print_c(step_function(program, symbols)))
    if not guarded:
        return [*parts, tree.print_c(run_function(program, symbols, symbols.run, layer_hook=layer_hook))]
    storage = ("static", f"{symbols.macro}_APART")
    parts.append(tree.print_c(run_function(program, symbols, symbols.checked_run, storage, layer_hook)))
    return [*parts, tree.print_c(guarded_run(program, symbols))]


def kernel_comment(program: Program, kernel: Kernel) -> str:
    """What the kernel computes, then the ONNX nodes for which it does."""
    calls = [call for call in program.calls if call.kernel == kernel.name]
    what = "; or ".join(dict.fromkeys(call.summary for call in calls if call.summary))
    layers = kernel.loc or ", ".join(call.loc for call in calls if call.loc)
    text = tree.comment_lines((what, comment_text(layers)))
    return f"/* {text} */\n" if text else ""
