"""ONNX's backend suite through ``ccml.onnx_backend``, compiled as C by GCC. Libraries are kept, by what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.ir.program import Program
from ccml.onnx_backend import CBackend, Run
from ccml.targets import Machine
from ccml.verification.c_model import CModel

from tests.c_batch import compiled_library
from tests.onnx_suite.suite import suite_cases
from tests.tools import needs

CACHE = Path(__file__).parents[2] / "build" / "c_suite"


class KeptC(CBackend):
    """What differs from :class:`CBackend` is that libraries are kept, and compiled with a precompiled header."""

    @classmethod
    def build(cls, program: Program, machine: Machine) -> Run:
        return CModel.of_library(program, compiled_library([program], machine, CACHE)).run


globals().update(
    {name: pytest.mark.check(needs("gcc")(case)) for name, case in suite_cases(KeptC, __name__).items()}
)
