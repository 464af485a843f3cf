"""No undefined behaviour and no access outside of any buffer, as far as the compilers' sanitizers can see.

Without optimization, as an optimizer may drop what it would be wrong to execute (and needs minutes for such code).
"""

from __future__ import annotations

import pytest
from ccml.emulation import Build, build_and_run
from ccml.targets import Machine

from tests.artifacts.machines import GENERIC, V3
from tests.artifacts.routes import Case, in_process
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

# The guard behind the arena would hide what an access behind the arena does.
FLAGS = ("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DMODEL_GUARD=1")
pytestmark = needs_models


@pytest.mark.parametrize(
    ("compiler", "machine"),
    [pytest.param("gcc", GENERIC, marks=needs("gcc")), pytest.param("clang", V3, marks=needs("clang"))],
    ids=["gcc-generic", "clang-v3"],
)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_clean(model: Model, compiler: str, machine: Machine, workshop: Workshop) -> None:
    """And the outputs are the same bits as ever."""
    program, folder = workshop.program(model, machine), workshop.c_sources(model, machine)
    case = Case(workshop, model, machine, workshop.samples(model, machine, 2))
    sources, how = sorted(folder.glob("*.c")), Build(compiler, FLAGS)
    found = build_and_run(program, machine, sources, list(case.samples), include=folder, how=how)
    for result, reference in zip(found, in_process(case), strict=True):
        assert {name: array.tobytes() for name, array in result.items()} == {
            name: array.tobytes() for name, array in reference.items()
        }
