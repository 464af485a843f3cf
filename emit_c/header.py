"""The public header of an artifact: the whole contract between a model and the program that calls it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..ir.program import Interface, Program
from ..ir.types import DType
from ..targets import Machine
from .spelling import MEMORY_TYPES
from .symbols import Symbols, banner, c_string, comment_text, interfaces

_STORED_AS = {DType.F16: ", the bits of IEEE binary16", DType.BOOL: ", 0 or 1 each"}


def public_header(program: Program, machine: Machine, symbols: Symbols) -> str:
    """The text of ``<name>.h``."""
    macro = symbols.macro
    lines = [
        f"#ifndef {macro}_H",
        f"#define {macro}_H",
        "",
        "#include <stdint.h>",
        "",
        *_sizes(program, symbols),
        *_tensors(program, symbols),
        f"/* What {symbols.run} returns. */",
        f"#define {macro}_OK 0",
        f"#define {macro}_ERROR_NULL 1 /* a pointer is NULL that must not be */",
        f"#define {macro}_ERROR_ALIGN 2 /* the arena is not at a multiple of {macro}_ARENA_ALIGN */",
        "",
        f"/* {macro}_API can be defined before, as dllexport for instance. */",
        f"#ifndef {macro}_API",
        "#if defined(__GNUC__) && !defined(_WIN32)",
        f'#define {macro}_API __attribute__((visibility("default")))',
        "#else",
        f"#define {macro}_API",
        "#endif",
        "#endif",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_run_comment(program, symbols),
        f"{macro}_API int {symbols.run}({', '.join(parameters(program, symbols))});",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    target = f"for {machine.name} ({machine.abi.name}, {machine.cpu.name})"
    return banner(program, f"a model compiled {target}") + "\n".join(lines) + "\n"


def parameters(program: Program, symbols: Symbols) -> Iterator[str]:
    """The parameters of the run function as they stand in its prototype."""
    yield "void *arena"
    for position, (item, argument) in enumerate(zip(interfaces(program), symbols.arguments)):
        const = "const " if position < len(program.inputs) else ""
        yield f"{const}{MEMORY_TYPES[item.type.dtype]} *{argument}"


def _sizes(program: Program, symbols: Symbols) -> list[str]:
    macro = symbols.macro
    weights = sum(array.nbytes for array in program.constants.values())
    return [
        "/* The working memory that the caller passes, in bytes, and what its address must be a multiple of. */",
        f"#define {macro}_ARENA_SIZE {program.plan.size}",
        f"#define {macro}_ARENA_ALIGN {program.plan.align}",
        *_whole_arena(program, macro),
        "",
        "/* Bytes of constant data in the program, and multiply-accumulates of one run. */",
        f"#define {macro}_WEIGHTS_SIZE {weights}",
        f"#define {macro}_MACS {sum(call.macs for call in program.calls)}",
        "",
        f"#define {macro}_NUM_INPUTS {len(program.inputs)}",
        f"#define {macro}_NUM_OUTPUTS {len(program.outputs)}",
        "",
    ]


def _whole_arena(program: Program, macro: str) -> list[str]:
    if not program.plan.whole:
        return []
    return [
        "",
        "/* Inputs and outputs, all or some, may be kept in the arena, each at its _OFFSET. The arena then takes this",
        "   many bytes. The model uses the place of an input once it has been read, and that of an output until it is",
        "   written: write such an input before each run, and take such an output before the next. */",
        f"#define {macro}_ARENA_SIZE_WITH_IO {program.plan.whole}",
    ]


def _tensors(program: Program, symbols: Symbols) -> Iterator[str]:
    for position, (item, stem) in enumerate(zip(interfaces(program), symbols.stems)):
        number = position if position < len(program.inputs) else position - len(program.inputs)
        yield f"/* {'Input' if position < len(program.inputs) else 'Output'} {number}: {_describe(item)}. */"
        yield f"#define {stem}_NAME {c_string(item.name)}"
        yield f"#define {stem}_TYPE {MEMORY_TYPES[item.type.dtype]}"
        yield f"#define {stem}_ELEMENTS {item.type.size}"
        yield f"#define {stem}_BYTES {item.type.nbytes}"
        if item.buffer in program.plan.offsets:
            yield f"#define {stem}_OFFSET {program.plan.offsets[item.buffer]} /* in the arena, if it is kept there */"
        yield f"#define {stem}_RANK {item.type.rank}"
        if item.type.rank:
            yield f"#define {stem}_DIMS {{{', '.join(map(str, item.type.shape))}}}"
        for axis, extent in enumerate(item.type.shape):
            yield f"#define {stem}_DIM{axis} {extent}"
        quant = item.type.quant
        if quant is not None and len(quant.scale) == 1:
            yield f"/* Quantized: real number = (element - {stem}_ZERO_POINT) * {stem}_SCALE. */"
            yield f"#define {stem}_SCALE {np.float32(quant.scale[0])!s}f"
            yield f"#define {stem}_ZERO_POINT ({quant.zero_point[0]})"
        yield ""


def _describe(item: Interface) -> str:
    shape = ", ".join(map(str, item.type.shape))
    stored = _STORED_AS.get(item.type.dtype, "")
    return f"{comment_text(item.name)}, {item.type.dtype.value}[{shape}], row-major{stored}"


def _run_comment(program: Program, symbols: Symbols) -> Iterator[str]:
    macro = symbols.macro
    yield "/* Runs the model once."
    yield ""
    if program.plan.size:
        yield f"   arena: {macro}_ARENA_SIZE bytes of working memory at a multiple of {macro}_ARENA_ALIGN. It holds"
        yield "   nothing between calls and may be shared with anything that does not run at the same time."
    else:
        yield "   arena: not used, may be NULL."
    for position, (item, argument) in enumerate(zip(interfaces(program), symbols.arguments)):
        verb = "read" if position < len(program.inputs) else "written"
        yield f"   {argument}: {item.type.size} elements, {verb}; {_describe(item)}."
    yield ""
    yield "   Outputs must not overlap inputs, each other or the arena. The function keeps no state, allocates nothing"
    yield "   and may run on several threads at once, each with its own arena and outputs."
    if program.plan.whole:
        yield f"   In an arena of {macro}_ARENA_SIZE_WITH_IO bytes, each may be at its _OFFSET instead; an input there"
        yield "   is overwritten during the run."
    yield f"   Returns {macro}_OK or an error above. */"
