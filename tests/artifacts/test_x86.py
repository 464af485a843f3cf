"""Every fp32 model on this machine, by every route from program to machine code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ccml.targets import Machine

from tests.artifacts.machines import X86, machine_id
from tests.artifacts.routes import Case, Route, by_llvm, by_make, in_process
from tests.artifacts.workshop import Workshop, error
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

ROUTES = [
    pytest.param(by_make("CC=gcc"), marks=needs("make", "gcc"), id="gcc"),
    pytest.param(by_make("CC=clang"), marks=needs("make", "gcc", "clang"), id="clang"),
    pytest.param(by_llvm("a"), marks=needs("gcc"), id="llvm"),
    pytest.param(in_process, id="jit"),
]
pytestmark = needs_models


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("machine", X86, ids=machine_id)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_gives_the_expected_outputs(
    model: Model, machine: Machine, route: Route, workshop: Workshop, record_property: Any
) -> None:
    """On all samples; and all routes print the same loop IR, so they give the same bits."""
    case = Case(workshop, model, machine, workshop.samples(model, machine))
    results = route(case)
    worst = error(case.samples, results)
    record_property("relative L2", f"{worst:.2e}")
    assert worst <= model.bound
    for name, reference in in_process_once(case).items():
        assert np.stack([result[name] for result in results]).tobytes() == reference.tobytes(), name


def in_process_once(case: Case) -> dict[str, np.ndarray]:
    """What the in-process route gives, by output."""

    def build(path: Path) -> None:
        results = in_process(case)
        with path.open("wb") as stream:
            np.savez(stream, **{name: np.stack([result[name] for result in results]) for name in results[0]})

    with np.load(case.workshop.once(f"{case.model.key()}-{case.machine.cpu.name}.outputs", build)) as stored:
        return dict(stored)
