"""Builds the driver with the files of an artifact, and runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..emit_c.compiler_flags import all_flags, optimization, thread_flags
from ..emit_llvm.module import foreign_kernels
from ..ir.program import Program
from ..record import record
from ..targets import Machine
from .driver import DRIVER_FOLDER, driver_macros, exit_reason, failure, read_outputs, write_inputs
from .platforms import c_library_options, compiler_of, emulator_of, is_native, link_options, loadable, run_command
from .toolchain import build, find_tool, run_tool

_C_FLAGS = ("-std=gnu99",)


@record
class Build:
    """How C is compiled: by ``compiler`` (default: the machine's GCC) and with ``flags`` after all others. With
    ``in_arena``, the driver keeps inputs and outputs in the arena."""

    compiler: str | None = None
    flags: tuple[str, ...] = ()
    in_arena: bool = False


DEFAULT_BUILD = Build()


def build_and_run(
    program: Program,
    machine: Machine,
    files: Sequence[Path],
    samples: Sequence[Mapping[str, np.ndarray]],
    *,
    include: Path,
    how: Build = DEFAULT_BUILD,
) -> list[dict[str, np.ndarray]]:
    """The outputs of each sample, by name, as the artifact computes them on (an emulation of) ``machine``.

    ``files`` make the model: C sources, objects and static libraries are linked with the driver, a shared library is
    loaded by it. ``include`` is the folder of the model's header. Raises ``TOOLCHAIN`` where a compiler or emulator is
    missing or fails, and ``MISMATCH`` where the model returns an error, crashes or writes where it must not.
    """
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        write_inputs(program, samples, folder)
        executable = build_driver(program, machine, files, include, how, folder)
        return run_driver(program, machine, len(samples), executable, folder)


def run_driver(
    program: Program,
    machine: Machine,
    count: int,
    executable: Path,
    folder: Path,
    options: Sequence[str] = (),
) -> list[dict[str, np.ndarray]]:
    """What :func:`build_and_run` does once the ``count`` inputs are in ``folder`` and the driver is built; ``options``
    are more of the emulator's."""
    done = run_tool([*run_command(machine, executable), *options], folder)
    if done.returncode:
        raise failure(exit_reason(done.returncode), (done.stdout, done.stderr))
    return read_outputs(program, count, folder)


def build_driver(
    program: Program, machine: Machine, files: Sequence[Path], include: Path, how: Build, folder: Path
) -> Path:
    """The driver, linked with ``files``; a shared library among them is put into ``folder`` for it to load."""
    environment = machine.abi.environment
    if not is_native(environment):
        emulator_of(machine)
    loaded_file = machine.target.library.file if machine.target.library else ""
    library = next((file for file in files if loaded_file and file.suffix == Path(loaded_file).suffix), None)
    loaded = None if library is None else folder / library.name
    if library is not None and loaded is not None:
        loaded.write_bytes(loadable(machine, library.read_bytes()))
    compiler = how.compiler or compiler_of(machine)
    flags = [*_C_FLAGS, optimization(program), *all_flags(machine, compiler), *environment.flags, *how.flags]
    macros = driver_macros(program, loaded, how.in_arena)
    includes = [f"-I{include.resolve()}", f"-I{DRIVER_FOLDER}"]
    sources = [*(DRIVER_FOLDER / part for part in ("main.c", *environment.driver))]
    sources += [file.resolve() for file in files if file is not library]
    executable = folder / f"driver{environment.suffix}"
    link = [*(environment.custom_link if foreign_kernels(program) else ()), *link_options(machine, folder)]
    link += thread_flags(program, machine)
    if loaded is not None:
        link += c_library_options(machine, compiler, folder)
    build([find_tool(compiler), *flags, *macros, *includes, *sources, *link, "-o", executable], folder)
    return executable
