"""Several models as one folder of C sources: a header and a file of their own each, kernels and constants once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pycparser import c_ast

from ..custom_ops.unit import prototype
from ..ir.program import Program
from ..targets import Machine
from . import tree
from .amalgamation import runtime_header
from .artifact import (
    custom_sources,
    entry_source,
    internal_header,
    kernel_comment,
    kernel_definitions,
    model_includes,
)
from .header import public_header
from .makefile import MAKEFILE, makefile
from .requirements import Requirements
from .symbols import Symbols, assign_symbols, banner, foreign_kernels
from .threads import threads_source
from .weights import INCBIN_THRESHOLD, Constant, array_source, binary_source, collect_constants


def linked_symbols(whole: Program, models: Sequence[Program]) -> tuple[Symbols, list[Symbols]]:
    """The names of the library, and of its models, whose kernels and constants are those of the library."""
    library = assign_symbols(whole)
    own = [assign_symbols(model) for model in models]
    return library, [
        replace(
            each,
            kernels={name: library.kernels[name] for name in each.kernels},
            constants={name: library.constants[name] for name in each.constants},
        )
        for each in own
    ]


def linked_headers(
    whole: Program, models: Sequence[Program], machine: Machine, *, custom_apart: bool = False
) -> dict[str, str]:
    """The header of each model, and one for all of them, by file name. ``custom_apart``: libraries are without the
    custom operators."""
    library, symbols = linked_symbols(whole, models)
    found = {
        f"{each.prefix}.h": public_header(model, machine, each, custom_apart) for model, each in zip(models, symbols)
    }
    return {**found, f"{library.prefix}.h": _header_of_all(whole, library, symbols, machine)}


def linked_sources(
    whole: Program, models: Sequence[Program], machine: Machine, *, custom_apart: bool = False,
    layer_hook: bool = False,
) -> tuple[dict[str, str], list[Constant] | None]:  # fmt: skip
    """The text files by name, and the constants that are to be a binary file, where they are too many for text. With
    ``layer_hook`` the run functions say when each layer has run."""
    library, symbols = linked_symbols(whole, models)
    constants = collect_constants(whole, machine, library) if whole.weights is None else []
    binary = machine.abi.elf is not None and sum(item.array.nbytes for item in constants) > INCBIN_THRESHOLD
    needs, prefix = Requirements(), library.prefix
    rows_types = {
        kernel.name: each.rows
        for model, each in zip(models, symbols, strict=True)
        for kernel in model.kernels
        if kernel.fetches
    }
    kernels = list(kernel_definitions(whole, library, needs, f"{library.macro}_HIDDEN", rows_types))
    parts = [kernel_comment(whole, kernel) + tree.print_c(definition) for kernel, definition in kernels]
    head = f'{banner(whole, "kernels")}\n#include "{prefix}_internal.h"\n'
    texts = linked_headers(whole, models, machine, custom_apart=custom_apart)
    texts[f"{prefix}_kernels.c"] = "\n".join([head, *parts])
    if whole.weights is None:
        texts[f"{prefix}_weights.c"] = (binary_source if binary else array_source)(whole, constants, library)
    texts |= custom_sources(whole, library)
    prototypes = "".join(f'#include "{each.prefix}.h"\n' for each in symbols if each.rows in rows_types.values())
    prototypes += "".join(_prototype(definition) for _, definition in kernels)
    for symbol, kernel in foreign_kernels(whole, library).items():
        prototypes += f"{library.macro}_HIDDEN {prototype(kernel, symbol)};\n"
    hooks = symbols if layer_hook else ()
    texts[f"{prefix}_internal.h"] = internal_header(whole, constants, library, hooks, prototypes)
    runtime = banner(whole, "the runtime that its kernels use")
    texts[f"{prefix}_runtime.h"] = f"{runtime}\n{runtime_header(needs)}"
    for model, each in zip(models, symbols, strict=True):
        begins = [banner(model, "run function"), model_includes(each, prefix)]
        texts[f"{each.prefix}.c"] = "\n".join([*begins, *entry_source(model, machine, each, layer_hook)])
        if model.threads:
            texts[f"{each.prefix}_threads.c"] = threads_source(model, machine, each)
    texts[MAKEFILE] = makefile(whole, machine, library, binary, symbols)
    return texts, constants if binary else None


def _prototype(definition: c_ast.FuncDef) -> str:
    declared: c_ast.Decl = definition.decl
    return tree.print_c(declared).rstrip().rstrip(";") + ";\n"


def _header_of_all(whole: Program, library: Symbols, symbols: Sequence[Symbols], machine: Machine) -> str:
    macro, names = library.macro, [each.prefix for each in symbols]
    includes = "".join(f'#include "{name}.h"\n' for name in names)
    sizes = "".join(
        f"#define {stem}_SIZE {pool.size}\n#define {stem}_ALIGN {pool.align}\n"
        + (f"#define {stem}_SIZE_WITH_IO {pool.whole}\n" if pool.whole > pool.size or machine.target.scarce_ram else "")
        for pool, stem in zip(whole.plan.pools, library.pool_stems)
    )
    title = f"{', '.join(names)} in one library, for {machine.name} ({machine.abi.name}, {machine.cpu.name})"
    return f"""{banner(whole, title)}#ifndef {macro}_H
#define {macro}_H

{includes}
/* Working memory that is enough for each of the models, which may share it as long as they do not run at the same
   time. States are apart. */
{sizes}
#define {macro}_NUM_MODELS {len(names)}

#endif
"""
