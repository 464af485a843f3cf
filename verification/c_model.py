"""The C route on this machine: the artifact's C sources, compiled by the system's compiler and loaded."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..emit_c.artifact import write_c
from ..emit_c.compiler_flags import all_flags
from ..emit_c.symbols import assign_symbols
from ..emit_llvm.jit import StateMemory, aligned_empty, checked_input, in_order
from ..emit_llvm.module import foreign_kernels
from ..errors import CcmlError, ErrorCode
from ..ir.extents import cropped
from ..ir.program import Program
from ..targets import Machine

COMPILERS = ("cc", "gcc", "clang")
_UNKNOWN = 0xA5
"""What the memory of states holds before it is reset."""
_FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")


class CModel:
    """A program compiled as C by ``compiler``, or by the first that is there. Raises ``TOOLCHAIN`` where none is."""

    def __init__(self, program: Program, machine: Machine, compiler: str | None = None) -> None:
        found = next(filter(None, map(shutil.which, (compiler,) if compiler else COMPILERS)), None)
        if found is None:
            what = f"no compiler '{compiler}'" if compiler else "no C compiler"
            raise CcmlError(ErrorCode.TOOLCHAIN, what, hint="install gcc or clang; 'ccml doctor' shows what is there")
        with tempfile.TemporaryDirectory(prefix="ccml-") as folder:
            self._load(program, _build(program, machine, found, Path(folder)))

    @classmethod
    def of_library(cls, program: Program, library: Path) -> CModel:
        """The model whose C sources have been compiled into the shared ``library``."""
        model = cls.__new__(cls)
        model._load(program, library)
        return model

    def _load(self, program: Program, library: Path) -> None:
        self._program, symbols = program, assign_symbols(program)
        self._function = ctypes.CDLL(str(library))[symbols.run]
        self._function.argtypes = [ctypes.c_void_p] * len(program.parameters)
        self._function.restype = ctypes.c_int
        self.state = StateMemory(program)
        if program.states:
            reset = ctypes.CDLL(str(library))[symbols.reset]
            reset.argtypes, reset.restype = [ctypes.c_void_p], None
            self.state.memory[...] = _UNKNOWN
            reset(self.state.memory.ctypes.data)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, new values of states among them: each run goes on where the one before ended."""
        program = self._program
        inputs = program.filled(inputs)
        arrays = {side.buffer: checked_input(side, inputs) for side in program.inputs}
        for side in program.outputs:
            arrays[side.buffer] = np.empty(side.type.shape, side.type.dtype.numpy)
        pools = [aligned_empty(pool.size, pool.align) for pool in program.plan.pools]
        pools.append(self.state.memory)
        status = self._function(*(0 if a is None else a.ctypes.data for a in in_order(program, pools, arrays)))
        if status:
            raise CcmlError(ErrorCode.MISMATCH, f"the compiled model returned {status}")
        outputs = {side.name: arrays[side.buffer] for side in program.outputs}
        kept = {state.output: self.state.values[state.name].copy() for state in program.states}
        return kept | cropped(program.extents, outputs, inputs)


def _build(program: Program, machine: Machine, compiler: str, folder: Path) -> Path:
    written = write_c(program, machine, folder)
    sources = [str(path) for path in written if path.suffix == ".c"]
    library = folder / "model.so"
    command = [compiler, *_FLAGS, *all_flags(machine, compiler), f"-I{folder}", *sources]
    libraries = ["-lm"] if foreign_kernels(program) else []
    done = subprocess.run([*command, *libraries, "-o", str(library)], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise CcmlError(ErrorCode.TOOLCHAIN, f"{compiler} cannot compile the C sources: {reason}")
    return library
