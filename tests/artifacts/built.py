"""Artifacts written, built and run in one step, and the ways to build them that tests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ccml.artifact.emit import Emit, emit
from ccml.emulation import Build, build_and_run
from ccml.emulation.run import DEFAULT_BUILD
from ccml.ir.program import Program
from ccml.targets import Machine

# The guard behind the arena would hide what an access behind the arena does.
SANITIZED = Build(flags=("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DMODEL_GUARD=1"))
WARNINGS = Build(flags=("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"))


def run_artifact(
    program: Program,
    machine: Machine,
    form: Emit,
    folder: Path,
    samples: Sequence[Mapping[str, np.ndarray]],
    how: Build = DEFAULT_BUILD,
) -> list[dict[str, np.ndarray]]:
    """The outputs for each sample, by the C or the objects that ``folder`` is given, here or under emulation."""
    folder.mkdir(exist_ok=True)
    emit(program, machine, (form,), folder)
    files = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".o"))
    return build_and_run(program, machine, files, samples, include=folder, how=how)
