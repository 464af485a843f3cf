"""The options with which the C of an artifact is compiled: what its meaning needs, and what makes it fast."""

from __future__ import annotations

from ..ir.program import Program
from ..targets import Machine

MEANING = ("-ffp-contract=off", "-fno-math-errno")
"""Every float operation is rounded by itself, as the loop IR says."""

GCC = ("-fno-tree-loop-distribute-patterns", "-fno-predictive-commoning", "-fno-tree-reassoc", "-fno-tree-pre")
"""Loops do not become calls of memcpy and memset: the model needs no C library. Kernels hold in registers what they
need again: GCC would carry more from one iteration to the next, and add up products in an order of its own, for which
it runs out of registers. It would look long for what is computed twice on some ways through unrolled loops, without
finding any."""

CLANG = ("-fno-builtin",)


def optimization(program: Program) -> str:
    """The level of optimization."""
    return "-Os" if program.small_code else "-O3"


def machine_flags(machine: Machine) -> tuple[str, ...]:
    """For every compiler."""
    return (*machine.cpu.c_flags, *machine.target.c_flags)


def gcc_flags(machine: Machine) -> tuple[str, ...]:
    """For GCC alone."""
    return (*GCC, *machine.cpu.gcc_flags)


def clang_flags(machine: Machine) -> tuple[str, ...]:
    """For clang alone."""
    return (*CLANG, *machine.cpu.clang_flags)


def thread_flags(program: Program, machine: Machine) -> tuple[str, ...]:
    """What a C compiler that links is told for a program's threads."""
    threads = machine.target.threads
    return threads.link_flags if program.threads and threads is not None else ()


def all_flags(machine: Machine, compiler: str) -> tuple[str, ...]:
    """What ``compiler``, a program's name or path, takes beside the language and the optimization level."""
    own = clang_flags(machine) if "clang" in compiler else gcc_flags(machine)
    return (*MEANING, *machine_flags(machine), *own)
