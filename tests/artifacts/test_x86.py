"""Every fp32 model on this machine, by every route from program to machine code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ccml.targets import Machine

from tests.artifacts.machines import X86, machine_id, runs_here
from tests.artifacts.routes import (
    Case,
    Route,
    assert_expected,
    assert_same_bits,
    by_llvm,
    by_make,
    in_process,
    make_case,
    stacked,
)
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

MACHINES = [pytest.param(machine, marks=runs_here(machine), id=machine_id(machine)) for machine in X86]
ROUTES = [
    pytest.param(by_make("CC=gcc"), marks=needs("make", "gcc"), id="gcc"),
    pytest.param(by_make("CC=clang"), marks=needs("make", "gcc", "clang"), id="clang"),
    pytest.param(by_llvm("a"), marks=needs("gcc"), id="llvm"),
    pytest.param(in_process, id="jit"),
]


@needs_models
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_gives_the_expected_outputs(
    model: Model, machine: Machine, route: Route, workshop: Workshop, record_property: Any
) -> None:
    """On all samples; and all routes print the same loop IR, so they give the same bits."""
    case = make_case(workshop, model, machine)
    results = route(case)
    assert_expected(case, results, record_property)
    assert_same_bits(stacked(results), in_process_once(case))


def in_process_once(case: Case) -> dict[str, np.ndarray]:
    """What the in-process route gives."""

    def build(path: Path) -> None:
        with path.open("wb") as stream:
            np.savez(stream, **stacked(in_process(case)))

    with np.load(case.workshop.once(f"{case.model.key()}-{case.machine.cpu.name}.outputs", build)) as stored:
        return dict(stored)
