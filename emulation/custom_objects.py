"""Custom operators compiled for a machine: what is linked with LLVM's objects."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ..custom_ops.host import compile_error
from ..custom_ops.unit import source_files
from ..emit_c.compiler_flags import all_flags, optimization
from ..emit_llvm.module import foreign_kernels
from ..emit_llvm.object_file import defined_symbols
from ..errors import CcmlError, ErrorCode
from ..ir.program import Program
from ..targets import Machine
from .platforms import compiler_of
from .toolchain import find_tool, run_tool


def compiles_custom(machine: Machine) -> bool:
    """Whether a C compiler for ``machine`` is installed."""
    return shutil.which(compiler_of(machine)) is not None


def custom_objects(program: Program, machine: Machine) -> list[tuple[str, bytes]]:
    """An object, as (file name, bytes), for each kernel whose C is the user's.

    Raises ``TOOLCHAIN`` where there is no compiler for ``machine``, and ``BAD_OPTION`` where it refuses the C, or that
    defines what is visible to other objects.
    """
    kernels = foreign_kernels(program)
    if not kernels:
        return []
    compiler = compiler_of(machine)
    hosted = machine.abi.objects.position_independent if machine.target.hosted else ()
    target = (f"--target={machine.abi.clang_triple}",) if "clang" in compiler and machine.abi.clang_triple else ()
    sections = ("-ffunction-sections", "-fdata-sections", "-fvisibility=hidden")
    flags = [*target, "-std=c99", optimization(program), *hosted, *sections, *all_flags(machine, compiler)]
    found = []
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        for file, text in source_files(kernels, program.name).items():
            (folder / file).write_text(text, encoding="utf-8")
        for symbol, kernel in kernels.items():
            done = run_tool([find_tool(compiler), *flags, "-c", f"{symbol}.c", "-o", f"{symbol}.o"], folder)
            if done.returncode:
                raise compile_error(kernel, done.stderr)
            image = (folder / f"{symbol}.o").read_bytes()
            others = [defined for defined in defined_symbols(image) if defined != symbol]
            if others:
                assert kernel.foreign is not None
                raise CcmlError(
                    ErrorCode.BAD_OPTION,
                    f"{kernel.foreign.operator}: {', '.join(others)} would be visible to the whole program",
                    loc=kernel.foreign.file,
                    hint="make all functions and variables static but the operator's own",
                )
            found.append((f"{symbol}.o", image))
    return found
