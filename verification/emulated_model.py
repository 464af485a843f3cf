"""A model as its target computes it: machine code by either route, under emulation."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..driver import Compiled
from ..emit_c.artifact import write_c
from ..emit_llvm.entry import exported_symbols
from ..emit_llvm.module import foreign_kernels
from ..emit_llvm.objects import emit_objects
from ..emit_llvm.shared import link_library
from ..emulation.custom_objects import custom_objects
from ..emulation.driver import write_inputs
from ..emulation.run import DEFAULT_BUILD, build_driver, run_driver

log = logging.getLogger(__name__)


class EmulatedModel:
    """A compiled model on an emulated board or processor. ``route`` is ``llvm`` for LLVM's objects or ``c``
    for the C sources by GCC. Raises ``TOOLCHAIN`` where a compiler is missing, and ``BAD_OPTION`` where nothing here
    runs code for the machine."""

    def __init__(self, compiled: Compiled, route: str) -> None:
        self._program, self._machine = compiled.program, compiled.machine
        self._temporary = tempfile.TemporaryDirectory(prefix="ccml-")
        self._folder = folder = Path(self._temporary.name)
        log.info("building the %s code for %s", route, self._machine.name)
        written = write_c(self._program, self._machine, folder)
        files = _by_llvm(compiled, folder) if route == "llvm" else [file for file in written if file.suffix == ".c"]
        self._executable = build_driver(self._program, self._machine, files, folder, DEFAULT_BUILD, folder)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name. Raises ``TOOLCHAIN`` where the emulator is missing, ``MISMATCH`` where the model returns
        an error, crashes or writes where it must not."""
        (outputs,) = self.run_sequence([inputs])
        return outputs

    def run_sequence(self, samples: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        """The outputs of each sample, which all run in one process: where the model has states, one sequence."""
        write_inputs(self._program, samples, self._folder)
        return run_driver(self._program, self._machine, len(samples), self._executable, self._folder)


def _by_llvm(compiled: Compiled, folder: Path) -> list[Path]:
    """The objects, or where there is an operating system the shared library that its programs load."""
    program, machine = compiled.program, compiled.machine
    objects = [*emit_objects(program, machine), *custom_objects(program, machine)]
    if machine.target.hosted and machine.target.library is not None:
        library = folder / machine.target.library.file.format(name=program.name)
        custom = bool(foreign_kernels(program))
        link_library(objects, machine, program.name, exported_symbols(program), library, custom)
        return [library]
    for name, image in objects:
        (folder / name).write_bytes(image)
    return [folder / name for name, _ in objects]
