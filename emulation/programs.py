"""Programs of one's own around an artifact: built and run here, or on an emulated board."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..emit_c.compiler_flags import all_flags
from ..targets import Machine
from .driver import DRIVER_FOLDER
from .platforms import compiler_of, link_options, run_command

_LONGEST = 120
"""Seconds of a run."""


def program_output(machine: Machine, sources: Sequence[Path], includes: Sequence[Path], folder: Path) -> str:
    """What a program of C sources prints on ``machine``; it is built in ``folder``. On boards ``SEMIHOSTING`` is
    defined, and text comes by ``semihosting.h``.

    Raises ``subprocess.CalledProcessError`` where it does not compile or fails, ``TimeoutExpired`` after two minutes.
    """
    flags = ["-std=c99", "-O2", *all_flags(machine, compiler_of(machine)), *(f"-I{path}" for path in includes)]
    built = list(sources)
    if machine.abi.environment.board is not None:
        built.append(DRIVER_FOLDER / "startup.c")
        flags += ["-std=gnu99", "-DSEMIHOSTING", f"-I{DRIVER_FOLDER}"]
    program = folder / "program"
    options = link_options(machine, folder)
    subprocess.run([compiler_of(machine), *flags, *built, *options, "-o", program], cwd=folder, check=True)
    done = subprocess.run(
        run_command(machine, program), capture_output=True, text=True, check=True, timeout=_LONGEST
    )  # fmt: skip
    said = done.stdout + done.stderr  # QEMU prints what semihosting says to stderr, beside warnings of its own
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("qemu-"))
