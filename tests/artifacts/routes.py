"""The ways from a program to outputs, on every machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import Build, build_and_run
from ccml.samples import Samples
from ccml.targets import Machine

from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import Model

Results = list[dict[str, np.ndarray]]


@dataclass(frozen=True)
class Case:
    """A model, compiled for a machine, and samples to run it on."""

    workshop: Workshop
    model: Model
    machine: Machine
    samples: Samples


Route = Callable[[Case], Results]


def by_make(*arguments: str) -> Route:
    """C, built into a static library by the artifact's own Makefile."""

    def run(case: Case) -> Results:
        folder = case.workshop.built_by_make(case.model, case.machine, *arguments)
        program = case.workshop.program(case.model, case.machine)
        files = [folder / f"lib{case.model}.a"]
        return build_and_run(program, case.machine, files, list(case.samples), include=folder)

    return run


def by_c_with(*flags: str) -> Route:
    """C, compiled together with the driver and ``flags``: no library, no Makefile."""

    def run(case: Case) -> Results:
        folder = case.workshop.c_sources(case.model, case.machine)
        program = case.workshop.program(case.model, case.machine)
        files = sorted(folder.glob("*.c"))
        how = Build(flags=flags)
        return build_and_run(program, case.machine, files, list(case.samples), include=folder, how=how)

    return run


by_c_sources = by_c_with()


def by_llvm(kind: str) -> Route:
    """What LLVM makes: objects (``o``), a static library (``a``) or a shared library (``so``)."""

    def run(case: Case) -> Results:
        folder = case.workshop.machine_code(case.model, case.machine)
        program = case.workshop.program(case.model, case.machine)
        files = sorted(folder.glob(f"*.{kind}"))
        return build_and_run(program, case.machine, files, list(case.samples), include=folder)

    return run


def in_process(case: Case) -> Results:
    """Compiled by LLVM into this process."""
    jit = JitModel(case.workshop.program(case.model, case.machine), case.machine)
    return [jit.run(sample) for sample in case.samples]
