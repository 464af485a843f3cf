"""The ways from a program to outputs, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import Build, build_and_run
from ccml.ir.program import Program
from ccml.samples import Samples
from ccml.targets import Machine

from tests.artifacts.workshop import Workshop, error
from tests.artifacts.zoo import Model

Results = list[dict[str, np.ndarray]]


@dataclass(frozen=True)
class Case:
    """A model, compiled for a machine, and samples to run it on."""

    workshop: Workshop
    model: Model
    machine: Machine
    samples: Samples

    @property
    def program(self) -> Program:
        return self.workshop.program(self.model, self.machine)


Route = Callable[[Case], Results]


def make_case(workshop: Workshop, model: Model, machine: Machine, samples: int | None = None) -> Case:
    """With all samples of the model's data, or the first few."""
    return Case(workshop, model, machine, workshop.samples(model, machine, samples))


def by_make(*arguments: str) -> Route:
    """C, built into a static library by the artifact's own Makefile."""

    def run(case: Case) -> Results:
        folder = case.workshop.built_by_make(case.model, case.machine, *arguments)
        files = [folder / f"lib{case.model}.a"]
        return build_and_run(case.program, case.machine, files, list(case.samples), include=folder)

    return run


def by_c_with(*flags: str, compiler: str | None = None) -> Route:
    """C, compiled together with the driver and with ``flags``: no library, no Makefile."""

    def run(case: Case) -> Results:
        folder = case.workshop.c_sources(case.model, case.machine)
        files, how = sorted(folder.glob("*.c")), Build(compiler, flags)
        return build_and_run(case.program, case.machine, files, list(case.samples), include=folder, how=how)

    return run


by_c_sources = by_c_with()


def by_llvm(kind: str) -> Route:
    """What LLVM makes: objects (``o``), a static library (``a``) or a shared library (``so``)."""

    def run(case: Case) -> Results:
        folder = case.workshop.machine_code(case.model, case.machine)
        files = sorted(folder.glob(f"*.{kind}"))
        return build_and_run(case.program, case.machine, files, list(case.samples), include=folder)

    return run


def in_process(case: Case) -> Results:
    """Compiled by LLVM into this process."""
    jit = JitModel(case.program, case.machine)
    return [jit.run(sample) for sample in case.samples]


def assert_expected(case: Case, results: Results, record_property: Callable[[str, Any], None]) -> None:
    """The outputs are as close to the expected ones as the model's bound wants it. The error goes into the log."""
    worst = error(case.samples, results)
    record_property("relative L2 error", f"{worst:.2e}")
    assert worst <= case.model.bound


def stacked(results: Results) -> dict[str, np.ndarray]:
    """All samples of each output in one array."""
    return {name: np.stack([result[name] for result in results]) for name in results[0]}


def assert_same_bits(found: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> None:
    assert found.keys() == reference.keys()
    differing = [name for name, array in found.items() if array.tobytes() != reference[name].tobytes()]
    assert differing == []
