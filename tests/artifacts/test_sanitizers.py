"""No undefined behaviour and no access outside of any buffer, as far as the compilers' sanitizers can see."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emulation import Build, build_and_run
from ccml.targets import Machine

from tests.artifacts.machines import GENERIC, V3
from tests.artifacts.workshop import Workshop, error
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

# The guard behind the arena would hide what an access behind the arena does.
FLAGS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DMODEL_GUARD=1")
pytestmark = needs_models


@pytest.mark.parametrize(
    ("compiler", "machine"),
    [pytest.param("gcc", GENERIC, marks=needs("gcc")), pytest.param("clang", V3, marks=needs("clang"))],
    ids=["gcc-generic", "clang-v3"],
)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_clean(model: Model, compiler: str, machine: Machine, workshop: Workshop) -> None:
    folder = workshop.c_sources(model, machine)
    samples = workshop.samples(model, machine, 2)
    sources = sorted(folder.glob("*.c"))
    how = Build(compiler, FLAGS)
    results = build_and_run(workshop.program(model, machine), machine, sources, list(samples), include=folder, how=how)
    assert np.isfinite([error(samples, results)]).all()
    assert error(samples, results) <= model.bound
