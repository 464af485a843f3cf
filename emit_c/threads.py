"""Threads in C: what runs one chunk of a call, who hands chunks out, and the file with threads of the system.

The run function keeps its arguments in a structure, with which any thread can make the same call::

    static void kws_chunk_3(void *context, int32_t chunk)
    {
      const kws_context *const run = context;
      ...
      kws_conv_3(...,  chunk / 4, chunk % 4);
    }
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.resources import files

from pycparser import c_ast

from ..ir.chunks import chunk_count, chunk_extents, chunk_strides
from ..ir.loops import Kernel
from ..ir.program import Parameter, Program, Role
from ..ir.steps import Call
from ..ir.threads import HIDDEN_WORDS, MOST_THREADS
from ..targets import Machine
from . import tree
from .guard import any_cpu_macro
from .spelling import SCALAR_TYPE, pointee
from .symbols import Symbols, banner

_CONTEXT = "context"
_CHUNK = "chunk"


def chunked_calls(program: Program) -> dict[int, tuple[Call, Kernel]]:
    """The calls of chunked kernels, by number."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    found = ((number, call, kernels[call.kernel]) for number, call in enumerate(program.calls))
    return {number: (call, kernel) for number, call, kernel in found if kernel.chunked}


def thread_types() -> Iterator[str]:
    """What the headers of all models with threads declare, once in a program."""
    yield "#ifndef CCML_THREADS"
    yield "#define CCML_THREADS"
    yield f"#define CCML_MOST_THREADS {MOST_THREADS}"
    yield "/* Who runs the chunks of large layers: parallel_for calls task(context, 0), ... task(context, count - 1),"
    yield "   each once, in any order and on any threads, and returns when all of them have returned. */"
    yield "typedef struct ccml_threads {"
    yield (
        "  void (*parallel_for)(void *pool, void (*task)(void *context, int32_t chunk), void *context, int32_t count);"
    )
    yield "  void *pool;"
    yield "} ccml_threads;"
    yield "/* Threads that a model's library starts and stops. It must not be moved in between. */"
    yield "typedef struct ccml_workers {"
    yield "  ccml_threads threads;"
    yield f"  uint64_t hidden[{HIDDEN_WORDS}];"
    yield "} ccml_workers;"
    yield "#endif"


def context_declaration(program: Program, symbols: Symbols) -> str:
    """The arguments of a run, and the function that hands out the chunks of a call."""
    fields = "".join(
        f"  {'' if item.written else 'const '}{pointee(item, symbols.rows)} *{name};\n"
        for item, name in _arguments(program, symbols)
    )
    return f"""typedef struct {symbols.context} {{
{fields}}} {symbols.context};

static void {symbols.parallel}(const ccml_threads *threads, void (*task)(void *, int32_t), void *context, int32_t count)
{{
  int32_t chunk;
  if (threads != NULL && threads->parallel_for != NULL) {{
    threads->parallel_for(threads->pool, task, context, count);
    return;
  }}
  for (chunk = 0; chunk < count; ++chunk) {{
    task(context, chunk);
  }}
}}
"""


def context_variable(program: Program, symbols: Symbols) -> c_ast.Decl:
    """``kws_context context = {arena, input, ...};``"""
    values = c_ast.InitList([tree.name(name) for _, name in _arguments(program, symbols)])
    return tree.declare(_CONTEXT, symbols.context, values)


def context_fields(program: Program, symbols: Symbols, needed: Collection[str]) -> list[c_ast.Node]:
    """The arguments of a run as variables of a function that gets the context, as far as they are ``needed``."""
    found: list[c_ast.Node] = []
    for item, name in _arguments(program, symbols):
        if name in needed:
            pointer = tree.pointer_parameter(name, pointee(item, symbols.rows), const=not item.written)
            pointer.type.quals = ["const"]
            run = tree.cast(f"const {symbols.context}", tree.name(_CONTEXT), pointer=True)
            pointer.init = c_ast.StructRef(run, "->", tree.name(name))
            found.append(pointer)
    return found


def parallel_call(symbols: Symbols, number: int, kernel: Kernel) -> c_ast.Node:
    """``kws_parallel(threads, kws_chunk_3, &context, 16)``."""
    context = tree.unary("&", tree.name(_CONTEXT))
    count = tree.integer(chunk_count(kernel))
    assert symbols.threads is not None
    return tree.call(symbols.parallel, tree.name(symbols.threads), tree.name(symbols.chunk(number)), context, count)


def chunk_numbers(kernel: Kernel) -> Iterator[c_ast.Node]:
    """The numbers of the passage that the chunk is: ``chunk / 4``, ``chunk % 4``."""
    for number, (extent, stride) in enumerate(zip(chunk_extents(kernel), chunk_strides(kernel), strict=True)):
        value: c_ast.Node = tree.name(_CHUNK)
        if stride > 1:
            value = tree.binary("/", value, tree.integer(stride))
        yield value if number == 0 else tree.binary("%", value, tree.integer(extent))


def chunk_function(symbols: Symbols, number: int, body: list[c_ast.Node]) -> c_ast.FuncDef:
    """The function that runs one chunk of call ``number``."""
    parameters = [
        tree.pointer_parameter(_CONTEXT, "void", const=False),
        tree.declare(_CHUNK, SCALAR_TYPE),
    ]
    return tree.function(symbols.chunk(number), parameters, tree.block(body))


def threads_source(program: Program, machine: Machine, symbols: Symbols) -> str:
    """The file with the functions that start and stop threads, on any processor."""
    text = (files("ccml.runtime_c") / "ccml_workers.c").read_text(encoding="utf-8")
    macro = symbols.macro
    return f"""{banner(program, "threads")}
#if !defined(_WIN32) && !defined(__APPLE__) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include <stddef.h>
#include "{symbols.prefix}.h"
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
#if defined(__APPLE__)
#include <dispatch/dispatch.h>
#else
#include <semaphore.h>
#endif
#endif

{any_cpu_macro("WORKERS_ANY_CPU", machine)}#define WORKERS_START {symbols.workers_start}
#define WORKERS_STOP {symbols.workers_stop}
#define WORKERS_NULL {macro}_ERROR_NULL
#define WORKERS_ERROR {macro}_ERROR_THREADS

{text}"""


def _arguments(program: Program, symbols: Symbols) -> Iterator[tuple[Parameter, str]]:
    """The parameters that kernels may need."""
    for item, name in zip(program.parameters, symbols.parameters, strict=True):
        if item.role is not Role.THREADS:
            yield item, name
