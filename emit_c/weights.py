"""The constants of a program: as C arrays, or as one binary file that the assembler includes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..ir.program import Program
from ..ir.types import DType
from ..record import record
from ..targets import Machine
from .spelling import MEMORY_TYPES
from .symbols import Symbols, banner

INCBIN_THRESHOLD = 1 << 20


@record
class Constant:
    """One array of the artifact; ``align`` in bytes. ``section`` is there where it is not that of the others."""

    symbol: str
    dtype: DType
    array: np.ndarray
    align: int
    section: str = ""

    @property
    def declaration(self) -> str:
        """The declarator; an array of no elements gets one, as C has none."""
        alignment = f"CCML_ALIGN({self.align}) " if self.align > self.dtype.size else ""
        return f"{alignment}const {MEMORY_TYPES[self.dtype]} {self.symbol}[{max(self.array.size, 1)}]"


def collect_constants(program: Program, machine: Machine, symbols: Symbols) -> list[Constant]:
    """Constants in the order of the program; those for vectors at the start of a cache line, where RAM is plenty."""
    wanted: dict[str, int] = {}
    for call in program.calls:
        for buffer, argument in zip(program.kernel(call.kernel).params, call.args):
            wanted[argument] = max(wanted.get(argument, 1), buffer.align)
    found = []
    for name, symbol in symbols.constants.items():
        dtype = program.buffers[name].dtype
        array = np.ascontiguousarray(program.constants[name], dtype=dtype.numpy)
        cached = max(machine.cpu.f32_lanes) > 1 and not machine.target.scarce_ram
        vector = machine.target.arena_align if cached else 1
        natural = vector if array.nbytes >= vector else 1
        align = max(dtype.size, wanted.get(name, 1), natural)
        found.append(Constant(symbol, dtype, array, align, program.sections.get(("weights", name), "")))
    return found


def declarations(constants: list[Constant], symbols: Symbols) -> str:
    """``extern`` declarations for the internal header."""
    return "".join(f"extern {symbols.macro}_HIDDEN {constant.declaration};\n" for constant in constants)


# ---------------------------------------------------------------- arrays


def array_source(program: Program, constants: list[Constant], symbols: Symbols) -> str:
    """``<name>_weights.c`` with every number as text."""
    macro = symbols.macro
    head = f'''{banner(program, "constant data")}
#include "{symbols.prefix}_internal.h"

/* Where the linker puts the constants: define {macro}_WEIGHTS_SECTION as a section name, in quotes. */
#ifdef {macro}_WEIGHTS_SECTION
#define {macro}_WEIGHTS CCML_SECTION({macro}_WEIGHTS_SECTION)
#else
#define {macro}_WEIGHTS
#endif
'''
    placed = (f'CCML_SECTION("{item.section}")' if item.section else f"{macro}_WEIGHTS" for item in constants)
    return head + "".join(
        f"\n{place} {item.declaration} = {{\n{_rows(item)}}};\n" for place, item in zip(placed, constants)
    )


def _rows(constant: Constant) -> str:
    elements = list(_elements(constant.array.reshape(-1), constant.dtype)) or ["0"]
    per_line = 8 if constant.dtype.is_float else 16
    lines = (", ".join(elements[start : start + per_line]) for start in range(0, len(elements), per_line))
    return "".join(f"  {line},\n" for line in lines)


def _elements(flat: np.ndarray, dtype: DType) -> Iterator[str]:
    if dtype is DType.F16:
        return (f"{value}u" for value in flat.view(np.uint16).tolist())
    if dtype.is_float:
        return _float_elements(flat, dtype)
    if dtype is DType.BOOL:
        return (str(int(value)) for value in flat.tolist())
    suffix = "u" if dtype in (DType.U32, DType.U64) else ""
    least = -(2 ** (8 * dtype.size - 1))
    if dtype in (DType.I32, DType.I64):
        return (str(value) if value != least else f"INT{8 * dtype.size}_MIN" for value in flat.tolist())
    return (f"{value}{suffix}" for value in flat.tolist())


def _float_elements(flat: np.ndarray, dtype: DType) -> Iterator[str]:
    """The shortest decimal that reads back as the same number, as NumPy prints it."""
    suffix = "f" if dtype is DType.F32 else ""
    cast = "" if dtype is DType.F32 else "(double)"
    special = {"nan": f"{cast}CCML_NAN", "inf": f"{cast}CCML_INFINITY", "-inf": f"-{cast}CCML_INFINITY"}
    for value in flat:
        text = str(value)
        yield special[text] if text in special else text + suffix


# ---------------------------------------------------------------- binary file


def binary_source(program: Program, constants: list[Constant], symbols: Symbols) -> str:
    """``<name>_weights.c`` that takes the numbers from ``<name>_weights.bin``: one symbol for each constant."""
    macro, prefix = symbols.macro, symbols.prefix
    offsets = _offsets(constants)
    table = "".join(
        f"     {offset:>10} {item.array.nbytes:>10}  {item.symbol}\n" for offset, item in zip(offsets, constants)
    )
    blocks = "".join(_incbin(item, offset, macro) for offset, item in zip(offsets, constants))
    return f'''{banner(program, "constant data")}
/* The numbers stand in {prefix}_weights.bin, little endian, and are taken in by the assembler (GNU or LLVM, for ELF).
   It looks for the file in the folders of -I. Where it cannot (clang -flto, or another build system), define
   {macro}_WEIGHTS_FILE as the path of the file, in quotes. Where the compiler knows no such assembler, leave this
   file out and link an object that defines these symbols with the bytes at these places of the file:

         offset      bytes  symbol
{table}*/
#include "{prefix}_internal.h"

#if !defined(__GNUC__) || !defined(__ELF__)
#error "{prefix}_weights.c needs GCC or clang for ELF; its first comment says what to do elsewhere"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "{prefix}_weights.bin is little endian"
#endif

#ifndef {macro}_WEIGHTS_FILE
#define {macro}_WEIGHTS_FILE "{prefix}_weights.bin"
#endif

/* Where the linker puts the constants: define {macro}_WEIGHTS_SECTION as a section name, in quotes. */
#ifndef {macro}_WEIGHTS_SECTION
#define {macro}_WEIGHTS_SECTION ".rodata.{prefix}_weights"
#endif
{blocks}'''


def write_binary(constants: list[Constant], path: Path) -> None:
    """The file of :func:`binary_source`: every constant at a multiple of its alignment."""
    with path.open("wb") as file:
        for offset, constant in zip(_offsets(constants), constants):
            file.write(bytes(offset - file.tell()))
            little = constant.array.astype(constant.array.dtype.newbyteorder("<"), copy=False)
            file.write(little.reshape(-1).view(np.uint8).data)


def _binary_align(constant: Constant) -> int:
    """The ABI of x86-64 lets compilers expect any array of 16 bytes or more at a multiple of 16."""
    return max(constant.align, 16 if constant.array.nbytes >= 16 else 1)


def _offsets(constants: list[Constant]) -> list[int]:
    offsets, end = [], 0
    for constant in constants:
        align = _binary_align(constant)
        start = -(-end // align) * align
        offsets.append(start)
        end = start + constant.array.nbytes
    return offsets


def _incbin(constant: Constant, offset: int, macro: str) -> str:
    symbol, size = constant.symbol, constant.array.nbytes
    section = f'"{constant.section}"' if constant.section else f"{macro}_WEIGHTS_SECTION"
    content = f'.incbin \\"" {macro}_WEIGHTS_FILE "\\", {offset}, {size}' if size else ".zero 1"
    return f'''
__asm__(".pushsection " {section} ",\\"a\\",%progbits\\n"
        ".balign {_binary_align(constant)}\\n"
        ".globl {symbol}\\n"
        ".hidden {symbol}\\n"
        ".type {symbol}, %object\\n"
        ".size {symbol}, {size}\\n"
        "{symbol}:\\n"
        "{content}\\n"
        ".popsection\\n");
'''
