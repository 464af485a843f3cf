"""The C around a custom operator's: one translation unit for each foreign kernel.

The user's function becomes ``static``, and a function with the kernel's name and parameters calls it. So every kernel
has its own copy, compiled for its own shapes, and nothing but that function is visible::

    #define CCML_IN0_SIZE 4                      constants of the node
    static void Swish(const float *, float *);
    #include "kws_swish.inc"                     the user's code
    void kws_custom_0(const float *in0, float *out0) { Swish(in0, out0); }
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..ir.c_spelling import MEMORY_TYPES
from ..ir.foreign import Foreign
from ..ir.loops import Access, Kernel

HIDDEN = """#if defined(__GNUC__) && !defined(_WIN32)
#define CCML_CUSTOM_API __attribute__((visibility("hidden")))
#else
#define CCML_CUSTOM_API
#endif
"""
VISIBLE = "#define CCML_CUSTOM_API\n"


def source_files(kernels: Mapping[str, Kernel], stem: str, api: str = HIDDEN) -> dict[str, str]:
    """The files by name: ``<symbol>.c`` for each of the foreign ``kernels`` by symbol, and the code that they include,
    ``<stem>_<file>.inc``, each once."""
    files: dict[str, str] = {}
    names: dict[str, str] = {}
    for symbol, kernel in kernels.items():
        foreign = kernel.foreign
        assert foreign is not None
        if foreign.code not in names:
            base = f"{stem}_{re.sub(r'[^A-Za-z0-9_]', '_', foreign.file.rpartition('.')[0]) or 'code'}"
            name, number = f"{base}.inc", 1
            while name in files:
                number += 1
                name = f"{base}_{number}.inc"
            names[foreign.code] = name
            files[name] = foreign.code
        files[f"{symbol}.c"] = _unit(kernel, foreign, symbol, names[foreign.code], api)
    return files


def prototype(kernel: Kernel, symbol: str) -> str:
    """The declaration of the function that the program calls, without what may stand before and behind it."""
    params = (
        f"{'const ' if param.access is Access.READ else ''}{MEMORY_TYPES[param.dtype]} *{param.name}"
        for param in kernel.params
    )
    return f"void {symbol}({', '.join(params) or 'void'})"


def expected(foreign: Foreign) -> str:
    """The function as the user has to define it."""
    return f"void {foreign.function}({', '.join(f'{type_} *' for type_ in foreign.types) or 'void'})"


def _unit(kernel: Kernel, foreign: Foreign, symbol: str, included: str, api: str) -> str:
    arguments = ", ".join("NULL" if n < 0 else kernel.params[n].name for n in foreign.arguments)
    head = prototype(kernel, symbol)
    return f"""#include <stddef.h>
#include <stdint.h>
{foreign.constants}
static {expected(foreign)};
#include "{included}"

{api}
CCML_CUSTOM_API {head};
{head}
{{
    {foreign.function}({arguments});
}}
"""
