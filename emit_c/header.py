"""The public header of an artifact: the whole contract between a model and the program that calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..ir.c_spelling import c_string
from ..ir.extents import Extent, axes_of
from ..ir.identity import model_id
from ..ir.program import Interface, Program
from ..ir.types import DType, TensorType
from ..targets import Machine
from .rows import row_macros, rows_error, rows_type
from .slices import job_declaration, slice_count
from .spelling import MEMORY_TYPES, pointee
from .symbols import Symbols, banner, comment_text, foreign_kernels, wrapped
from .threads import thread_types

_FORMATS = {
    DType.BF16: "bfloat16", DType.F8E4M3FN: "float8 E4M3FN", DType.F8E4M3FNUZ: "float8 E4M3FNUZ",
    DType.F8E5M2: "float8 E5M2", DType.F8E5M2FNUZ: "float8 E5M2FNUZ", DType.F8E8M0: "E8M0, a power of two",
    DType.F6E2M3: "float6 E2M3", DType.F6E3M2: "float6 E3M2", DType.F4E2M1: "float4 E2M1",
}  # fmt: skip
_STORED_AS = {
    DType.F16: ", the bits of IEEE binary16", DType.BOOL: ", 0 or 1 each",
    **{dtype: f", the bits of {name}" for dtype, name in _FORMATS.items()},
}  # fmt: skip


def public_header(program: Program, machine: Machine, symbols: Symbols, custom_apart: bool = False) -> str:
    """The text of ``<name>.h``. ``custom_apart``: libraries are without the custom operators."""
    macro = symbols.macro
    lines = [
        f"#ifndef {macro}_H",
        f"#define {macro}_H",
        "",
        *_custom(program, symbols, custom_apart),
        *(["#include <stddef.h>"] if program.weights is not None or program.by_rows else []),
        "#include <stdint.h>",
        "",
        "/* What this header and the library know each other by. */",
        f"#define {macro}_MODEL_ID {model_id(program):#010x}u",
        "",
        *_sizes(program, symbols),
        *_tensors(program, symbols),
        *_states(program, symbols),
        f"/* What {symbols.run} returns. */",
        f"#define {macro}_OK 0",
        f"#define {macro}_ERROR_NULL 1 /* a pointer is NULL that must not be */",
        f"#define {macro}_ERROR_ALIGN 2 /* {_misaligned(symbols)} */",
        f"#define {macro}_ERROR_CPU 3 /* the CPU lacks instructions for which the model was compiled */",
        *_extent_error(program, macro),
        f"#define {macro}_ERROR_MODEL 5 /* {_strangers(program)} are not of one model */",
        *_weights_error(program, macro),
        *_slice_codes(program, macro),
        *_threads_error(program, macro),
        *rows_error(program, macro),
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
        f"/* {macro}_MODEL_ID of the header that the library was compiled with. */",
        f"{macro}_API uint32_t {symbols.model_id}(void);",
        "",
        *_reset(program, symbols),
        *_check_weights(program, symbols),
        *_threads(program, symbols),
        *rows_type(program, symbols.rows),
        *_run_comment(program, symbols),
        f"{macro}_API int {symbols.run}({', '.join(parameters(program, symbols))});",
        "",
        *_slices(program, symbols),
        *_checked(program, symbols),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    target = f"for {machine.name} ({machine.abi.name}, {machine.cpu.name})"
    return banner(program, f"a model compiled {target}") + "\n".join(lines) + "\n"


def _custom(program: Program, symbols: Symbols, apart: bool) -> Iterator[str]:
    """Which files have the C of custom operators."""
    foreign = foreign_kernels(program, symbols)
    if not foreign:
        return
    operators = dict.fromkeys(kernel.foreign.operator for kernel in foreign.values() if kernel.foreign is not None)
    files = _listed([f"{symbol}.c" for symbol in foreign])
    lines = f"/* Custom operators: {_listed([comment_text(name) for name in operators])}, in {files}."
    if apart:
        lines += (
            f" NOTE: lib{program.owner} is WITHOUT them, as there was no C compiler for this machine: compile "
            f"{'these files' if len(foreign) > 1 else 'this file'} and link {'them' if len(foreign) > 1 else 'it'} "
            "beside the library."
        )
    yield from wrapped(f"{lines} */")
    yield ""


def _reset(program: Program, symbols: Symbols) -> Iterator[str]:
    if program.states:
        yield from wrapped(
            f"/* Gives the states their first values, {_first_values(program)}. Call it once before the first run, and "
            f"whenever a new sequence begins; {symbols.state} as for {symbols.run}, not NULL. */"
        )
        yield f"{symbols.macro}_API void {symbols.reset}(void *{symbols.state});"
        yield ""


def _strangers(program: Program) -> str:
    return _listed(("header", "library", *(["weights"] if program.weights is not None else [])))


def _weights_error(program: Program, macro: str) -> Iterator[str]:
    if program.weights is not None:
        yield f"#define {macro}_ERROR_WEIGHTS 6 /* the weights are damaged, or no file of weights */"


def _slice_codes(program: Program, macro: str) -> Iterator[str]:
    if program.sliced:
        yield f"#define {macro}_ERROR_SEQUENCE 7 /* no run was begun, it is over, or job was changed */"
        yield f"#define {macro}_AGAIN (-1) /* no error: the run goes on */"


def _threads_error(program: Program, macro: str) -> Iterator[str]:
    if program.threads:
        yield f"#define {macro}_ERROR_THREADS 8 /* no such number of threads, or the system has no more */"


def _threads(program: Program, symbols: Symbols) -> Iterator[str]:
    """Types and functions of threads."""
    if not program.threads:
        return
    macro = symbols.macro
    yield from thread_types()
    yield ""
    yield "/* Threads for which the work is split; more or fewer may run it, and outputs are the same. */"
    yield f"#define {macro}_THREADS {program.threads}"
    yield ""
    yield from wrapped(
        "/* Starts threads - 1 threads, which with the caller's own are 1 to CCML_MOST_THREADS: give &workers->threads "
        f"to {symbols.run}. They sleep between runs, and serve one run at a time, of any model. Returns {macro}_OK or "
        f"{macro}_ERROR_THREADS. */"
    )
    yield f"{macro}_API int {symbols.workers_start}(ccml_workers *workers, int32_t threads);"
    yield "/* Stops them; nothing happens where none have been started. */"
    yield f"{macro}_API void {symbols.workers_stop}(ccml_workers *workers);"
    yield ""


def _check_weights(program: Program, symbols: Symbols) -> Iterator[str]:
    """The function that looks at all of the file of weights."""
    if program.weights is None:
        return
    macro = symbols.macro
    yield from wrapped(
        f"/* Checks {symbols.prefix}.weights, {macro}_WEIGHTS_FILE_SIZE bytes at a multiple of {macro}_WEIGHTS_ALIGN, "
        "of which there are size bytes or more: its length, that it is of this model, and the checksum of all its "
        f"bytes. Once, when it has been mapped or written, is enough: {symbols.run} looks at its head only. Takes some "
        f"ten instructions a byte. Returns {macro}_OK or an error above. */"
    )
    yield f"{macro}_API int {symbols.check_weights}(const void *weights, size_t size);"
    yield ""


def _checked(program: Program, symbols: Symbols) -> Iterator[str]:
    """What calls of the functions become: with a look whether the library is that of the header."""
    macro = symbols.macro
    yield from wrapped(
        "/* Calls in a program look first whether the library is that of this header, and are "
        f"{macro}_ERROR_MODEL or do nothing where it is not. {macro}_UNCHECKED, defined before, leaves that out. */"
    )
    yield f"#if !defined({macro}_UNCHECKED) && (defined(__cplusplus) || __STDC_VERSION__ + 0 >= 199901L)"
    if program.states:
        checked = symbols.of_header(symbols.reset)
        yield f"static inline void {checked}(void *{symbols.state})"
        yield "{"
        yield f"  if ({symbols.model_id}() == {macro}_MODEL_ID) {{"
        yield f"    {symbols.reset}({symbols.state});"
        yield "  }"
        yield "}"
        yield f"#define {symbols.reset} {checked}"
    given, names = list(parameters(program, symbols)), list(symbols.parameters)
    yield from _checked_call(symbols, symbols.run, given, names)
    if program.sliced:
        yield from _checked_call(symbols, symbols.begin, [f"{symbols.job} *job", *given], ["job", *names])
    yield "#endif"
    yield ""


def _checked_call(symbols: Symbols, function: str, given: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    checked, macro = symbols.of_header(function), symbols.macro
    yield f"static inline int {checked}({', '.join(given)})"
    yield "{"
    call = f"{function}({', '.join(names)})"
    yield f"  return {symbols.model_id}() == {macro}_MODEL_ID ? {call} : {macro}_ERROR_MODEL;"
    yield "}"
    yield f"#define {function} {checked}"


def _slices(program: Program, symbols: Symbols) -> Iterator[str]:
    """A run in slices: the structure, begin and step."""
    if not program.sliced:
        return
    macro = symbols.macro
    yield from wrapped(
        f"/* A run in slices: {symbols.begin} takes what {symbols.run} takes, and {symbols.step} then runs a layer at "
        f"a time, until it returns something else than {macro}_AGAIN. In between, the memory that {symbols.begin} was "
        f"given belongs to the run. What is in {symbols.job} is the library's; it may be begun anew at any time. */"
    )
    yield from job_declaration(program, symbols)
    yield "/* Layers of a run, at most; loops without bound count once. */"
    yield f"#define {macro}_NUM_SLICES {slice_count(program)}"
    yield ""
    yield f"/* Returns {macro}_OK or an error above. */"
    yield f"{macro}_API int {symbols.begin}({symbols.job} *job, {', '.join(parameters(program, symbols))});"
    yield ""
    yield from wrapped(
        f"/* Returns {macro}_AGAIN while there is more to do, {macro}_OK once the outputs are complete, or "
        f"{macro}_ERROR_SEQUENCE where no run was begun, it is over, or job was changed. */"
    )
    yield f"{macro}_API int {symbols.step}({symbols.job} *job);"
    yield ""


def _first_values(program: Program) -> str:
    return "zero" if not any(item.initial for item in program.states) else "zero or the integers that stand for it"


def _states(program: Program, symbols: Symbols) -> Iterator[str]:
    """What is where in the memory of states."""
    plan = program.plan
    if plan.state is None:
        return
    yield from wrapped(
        "/* The memory of states, which the caller keeps from one run to the next: its bytes, and what its address "
        "must be a multiple of. It holds no pointers and may be copied. */"
    )
    yield f"#define {symbols.state_stem}_SIZE {plan.state.size}"
    yield f"#define {symbols.state_stem}_ALIGN {plan.state.align}"
    yield ""
    for item, stem in zip(program.states, symbols.state_stems, strict=True):
        sides = f"{comment_text(item.name)}, then {comment_text(item.output)}"
        yield f"/* State {sides}: {_type_text(item.type, {})}. */"
        yield f"#define {stem}_NAME {c_string(item.name)}"
        yield f"#define {stem}_OFFSET {plan.state.offsets[item.buffer]}"
        yield from _storage(item.type, stem)
        yield from _shape(item.type, stem)
        yield from _quantization(item.type, stem)
        yield ""


def _extent_error(program: Program, macro: str) -> Iterator[str]:
    given = {item.name for item in program.inputs}
    if any(extent.value in given for extent in program.extents):
        yield f"#define {macro}_ERROR_EXTENT 4 /* an extent is out of its range */"


def parameters(program: Program, symbols: Symbols) -> Iterator[str]:
    """The parameters of the run function as they stand in its prototype."""
    for item, name in zip(program.parameters, symbols.parameters, strict=True):
        yield f"{'' if item.written else 'const '}{pointee(item, symbols.rows)} *{name}"


def _misaligned(symbols: Symbols) -> str:
    stem = symbols.pool_stems[0] if len(symbols.memory) == 1 else "its "
    stem = "its " if symbols.weights is not None else stem
    others = [] if symbols.weights is None else [symbols.weights]
    spoken = [*_spoken(symbols), *symbols.memory[len(symbols.pools) :], *others]
    return f"{_listed(spoken, 'or')} is not at a multiple of {stem}_ALIGN"


def _spoken(symbols: Symbols) -> Sequence[str]:
    """The pools as they are called in a sentence: "the arena", or by their names."""
    return symbols.pools if len(symbols.pools) > 1 else [f"the {symbols.pools[0]}"]


def _listed(names: Sequence[str], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} {joint} {last}" if others else last


def _sizes(program: Program, symbols: Symbols) -> list[str]:
    macro = symbols.macro
    return [
        "/* The working memory that the caller passes, in bytes, and what its address must be a multiple of. */",
        *_pool_sizes(program, symbols),
        *_whole_pools(program, symbols),
        "",
        *_weights_size(program, symbols),
        "",
        f"/* Multiply-accumulates of one run{_without(program)}. */",
        f"#define {macro}_MACS {program.macs}",
        "",
        f"#define {macro}_NUM_INPUTS {len(program.inputs)}",
        f"#define {macro}_NUM_OUTPUTS {len(program.outputs)}",
        "",
    ]


def _weights_size(program: Program, symbols: Symbols) -> Iterator[str]:
    weights, macro = sum(array.nbytes for array in program.constants.values()), symbols.macro
    if program.weights is None:
        yield "/* Bytes of constant data in the program. */"
        yield f"#define {macro}_WEIGHTS_SIZE {weights}"
        return
    yield from wrapped(
        f"/* Bytes of constant data, all in {symbols.prefix}.weights, which the caller maps or has in flash: the bytes "
        "of that file, and what its address must be a multiple of. It is read only, in place. */"
    )
    yield f"#define {macro}_WEIGHTS_SIZE {weights}"
    yield f"#define {macro}_WEIGHTS_FILE_SIZE {program.weights.size}"
    yield f"#define {macro}_WEIGHTS_ALIGN {program.weights.align}"


def _without(program: Program) -> str:
    names = [comment_text(name) for name in program.uncounted]
    return f", without those of {_listed(names)}" if names else ""


def _pool_sizes(program: Program, symbols: Symbols) -> Iterator[str]:
    for pool, stem in zip(program.plan.pools, symbols.pool_stems):
        yield f"#define {stem}_SIZE {pool.size}"
        yield f"#define {stem}_ALIGN {pool.align}"


def _whole_pools(program: Program, symbols: Symbols) -> Iterator[str]:
    if not any(pool.whole for pool in program.plan.pools):
        return
    where = _listed(_spoken(symbols), "or")
    takes = f"its _OFFSET. {where[0].upper()}{where[1:]} then takes"
    if len(symbols.pools) > 1:
        takes = "its _OFFSET in the one that this names. That one then takes"
    yield ""
    yield from wrapped(
        f"/* Inputs and outputs, all or some, may be kept in {where}, each at {takes} this many bytes. The model uses "
        "the place of an input once it has been read, and that of an output until it is written: write such an input "
        "before each run, and take such an output before the next. */"
    )
    for pool, stem in zip(program.plan.pools, symbols.pool_stems):
        yield f"#define {stem}_SIZE_WITH_IO {pool.ram}"


def offset_macro(program: Program, item: Interface, stem: str) -> str:
    """The macro of the place of an input or output; where there are several pools it names the pool, so that code that
    adds it to another one does not compile."""
    pools = program.plan.pools
    pool = pools[program.plan.places[item.buffer].pool]
    return f"{stem}_OFFSET" if len(pools) == 1 else f"{stem}_{pool.name.upper()}_OFFSET"


def _tensors(program: Program, symbols: Symbols) -> Iterator[str]:
    for position, (item, stem) in enumerate(zip(program.interfaces, symbols.stems)):
        number = position if position < len(program.inputs) else position - len(program.inputs)
        yield f"/* {'Input' if position < len(program.inputs) else 'Output'} {number}: {_describe(program, item)}. */"
        yield f"#define {stem}_NAME {c_string(item.name)}"
        yield from _storage(item.type, stem)
        if item.buffer in program.plan.places:
            pool, offset = program.plan.places[item.buffer]
            where = f"/* in the {symbols.pools[pool]}, if it is kept there */"
            yield f"#define {offset_macro(program, item, stem)} {offset} {where}"
        yield from _shape(item.type, stem)
        yield from row_macros(item, stem)
        yield from _extents(program, symbols, item, stem)
        yield from _quantization(item.type, stem)
        yield ""


def _storage(type_: TensorType, stem: str) -> Iterator[str]:
    yield f"#define {stem}_TYPE {MEMORY_TYPES[type_.dtype]}"
    yield f"#define {stem}_ELEMENTS {type_.size}"
    yield f"#define {stem}_BYTES {type_.nbytes}"


def _shape(type_: TensorType, stem: str) -> Iterator[str]:
    yield f"#define {stem}_RANK {type_.rank}"
    if type_.rank:
        yield f"#define {stem}_DIMS {{{', '.join(map(str, type_.shape))}}}"
    for axis, extent in enumerate(type_.shape):
        yield f"#define {stem}_DIM{axis} {extent}"


def _quantization(type_: TensorType, stem: str) -> Iterator[str]:
    quant = type_.quant
    if quant is not None and len(quant.scale) == 1:
        yield f"/* Quantized: real number = (element - {stem}_ZERO_POINT) * {stem}_SCALE. */"
        yield f"#define {stem}_SCALE {np.float32(quant.scale[0])!s}f"
        yield f"#define {stem}_ZERO_POINT ({quant.zero_point[0]})"


def _extents(program: Program, symbols: Symbols, item: Interface, stem: str) -> Iterator[str]:
    """Bounds of dimensions that have an extent in each run, and which argument that is."""
    axes = axes_of(program.extents, item.name)
    if axes:
        yield "/* Extents of a run; its elements lie one behind the other, in memory for the greatest extents. */"
    for axis, extent in sorted(axes.items()):
        yield f"#define {stem}_DIM{axis}_MIN {extent.least}"
        holder = _argument(program, symbols, extent)
        yield f"#define {stem}_DIM{axis}_MAX {extent.bound} /* {holder} holds the extent */"
        if extent.step > 1:
            yield f"#define {stem}_DIM{axis}_STEP {extent.step} /* extents are multiples of it */"


def _argument(program: Program, symbols: Symbols, extent: Extent) -> str:
    names = [item.name for item in program.interfaces]
    return symbols.arguments[names.index(extent.value)]


def _describe(program: Program, item: Interface) -> str:
    return f"{comment_text(item.name)}, {_type_text(item.type, axes_of(program.extents, item.name))}"


def _type_text(type_: TensorType, axes: Mapping[int, Extent]) -> str:
    sizes = [f"{axes[n].least}..{size}" if n in axes else str(size) for n, size in enumerate(type_.shape)]
    stored, dtype = _STORED_AS.get(type_.dtype, ""), type_.dtype
    if dtype.bits < 8:
        stored = f"{stored or ', integers'}, one element a byte, in its {dtype.bits} low bits"
    if dtype is DType.CHAR:
        stored = f": strings of up to {type_.shape[-1]} bytes of UTF-8, filled up with zeros (as by strncpy)"
    return f"{dtype.value}[{', '.join(sizes)}], row-major{stored}"


def _run_comment(program: Program, symbols: Symbols) -> Iterator[str]:
    macro = symbols.macro
    yield "/* Runs the model once."
    yield ""
    for pool, argument, stem in zip(program.plan.pools, symbols.pools, symbols.pool_stems):
        if pool.size:
            yield f"   {argument}: {stem}_SIZE bytes of working memory at a multiple of {stem}_ALIGN. It holds"
            yield "   nothing between calls and may be shared with anything that does not run at the same time."
        else:
            yield f"   {argument}: not used, may be NULL."
    if symbols.state is not None:
        yield f"   {symbols.state}: {symbols.state_stem}_SIZE bytes at a multiple of {symbols.state_stem}_ALIGN, which"
        yield "   hold what the run before left; the run updates them."
    if symbols.weights is not None:
        yield f"   {symbols.weights}: {symbols.prefix}.weights, as {symbols.check_weights} found it to be right."
    if symbols.threads is not None:
        yield f"   {symbols.threads}: who runs the chunks of large layers besides the caller; NULL: nobody."
    for position, (item, argument) in enumerate(zip(program.interfaces, symbols.arguments)):
        if item.row_axis is not None:
            yield f"   {argument}: brings {item.row_count} rows, as {symbols.rows} says; {_describe(program, item)}."
            continue
        verb = "read" if position < len(program.inputs) else "written"
        most = "at most " if axes_of(program.extents, item.name) else ""
        yield f"   {argument}: {most}{item.type.size} elements, {verb}; {_describe(program, item)}."
    yield ""
    yield from wrapped(" ".join(_obligations(symbols)))
    if any(pool.whole for pool in program.plan.pools):
        yield f"   In {_whole_memory(symbols)} bytes, each may be at its _OFFSET instead; an input there"
        yield "   is overwritten during the run."
    yield f"   Returns {macro}_OK or an error above. */"


def _obligations(symbols: Symbols) -> Iterator[str]:
    others = _listed(("inputs", "each other", *_spoken(symbols), *symbols.memory[len(symbols.pools) :]), "or")
    yield f"Outputs must not overlap {others}."
    if len(symbols.memory) > 1:
        yield f"{_listed(symbols.memory)} must not overlap."
    kept = "keeps no state" if symbols.state is None else f"keeps nothing but {symbols.state}"
    yield f"The function {kept}, allocates nothing and may run on several threads at once, each with its own"
    yield f"{_listed((*symbols.memory, 'outputs'))}."


def _whole_memory(symbols: Symbols) -> str:
    if len(symbols.pools) > 1:
        return f"{_listed(symbols.pools)} of _SIZE_WITH_IO"
    name = symbols.pools[0]
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} of {symbols.pool_stems[0]}_SIZE_WITH_IO"
