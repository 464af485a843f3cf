"""No undefined behaviour and no access outside of any buffer, as far as the compilers' sanitizers can see.

Without optimization, as an optimizer may drop what it would be wrong to execute (and needs minutes for such code).
"""

from __future__ import annotations

import pytest
from ccml.targets import Machine

from tests.artifacts.built import SANITIZED
from tests.artifacts.machines import GENERIC, V3, runs_here
from tests.artifacts.routes import assert_same_bits, by_c_with, in_process, make_case, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

pytestmark = needs_models


@pytest.mark.check
@pytest.mark.parametrize(
    ("compiler", "machine"),
    [
        pytest.param("gcc", GENERIC, marks=[needs("gcc"), runs_here(GENERIC)], id="gcc-generic"),
        pytest.param("clang", V3, marks=[needs("clang"), runs_here(V3)], id="clang-v3"),
    ],
)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_clean(model: Model, compiler: str, machine: Machine, workshop: Workshop) -> None:
    """And the outputs are the same bits as ever."""
    case = make_case(workshop, model, machine, 2)
    found = by_c_with(*SANITIZED.flags, compiler=compiler)(case)
    assert_same_bits(stacked(found), stacked(in_process(case)))
