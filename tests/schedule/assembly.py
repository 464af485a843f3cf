"""What compilers make of kernels, as text of an assembler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ccml.emit_c.artifact import write_c
from ccml.emit_c.compiler_flags import all_flags
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.program import Program
from ccml.targets import Machine

from tests.emit_c.harness import WARNINGS, compile_c

Compiled = Callable[[Program, Machine, Path], str]
"""From a program and a folder for files."""


def by_llvm(program: Program, machine: Machine, _: Path) -> str:
    return emit_assembly(program, machine)


def by_gcc(program: Program, machine: Machine, folder: Path) -> str:
    """The kernels' C source, compiled as its Makefile does."""
    write_c(program, machine, folder)
    assembly = folder / "kernels.s"
    flags = ["-O3", *all_flags(machine, "gcc"), "-S", "-o", str(assembly)]
    compile_c([f"{machine.abi.cross_compile}gcc", *WARNINGS, *flags, str(folder / f"{program.name}.c")])
    return assembly.read_text()


def innermost(lines: list[str]) -> Iterator[list[str]]:
    """The lines of loops: from a label to a jump back to it, without another such inside."""
    labels: dict[str, int] = {}
    start = -1
    for number, line in enumerate(lines):
        label = re.match(r"(\.L\w+):", line)
        if label is not None:
            labels[label[1]] = number
        jump = re.match(r"\s+(?:j\w+|b(?:\.?[a-z]{2})?|cbn?z|tbn?z)\s.*?(\.L\w+)\s*$", line)
        if jump is not None and labels.get(jump[1], -1) > start:
            start = labels[jump[1]]
            yield lines[start : number + 1]
