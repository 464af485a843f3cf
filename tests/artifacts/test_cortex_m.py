"""fp32 models on emulated Cortex-M boards, from C by GCC and from LLVM's objects."""

from __future__ import annotations

from typing import Any

import pytest
from ccml.emulation.boards import BOARDS
from ccml.targets import Machine, select

from tests.artifacts.machines import M4, machine_id
from tests.artifacts.routes import Case, Route, by_c_sources, by_llvm, by_make
from tests.artifacts.workshop import Workshop, error
from tests.artifacts.zoo import CLASSIC, DIGITS, Model
from tests.models import needs_models
from tests.tools import needs

pytestmark = [needs_models, needs("make", "arm-none-eabi-gcc", "qemu-system-arm")]

SAMPLES = 3
"""Of each model: QEMU executes some 200 million instructions a second."""


def check(case: Case, route: Route, record_property: Any) -> None:
    worst = error(case.samples, route(case))
    record_property("relative L2", f"{worst:.2e}")
    assert worst <= case.model.bound


@pytest.mark.parametrize("route", [by_make(), by_llvm("o")], ids=["gcc", "llvm"])
@pytest.mark.parametrize("model", CLASSIC, ids=str)
def test_cortex_m4(model: Model, route: Route, workshop: Workshop, record_property: Any) -> None:
    check(Case(workshop, model, M4, workshop.samples(model, M4, SAMPLES)), route, record_property)


@needs("clang", "ld.lld")
def test_cortex_m4_by_clang(workshop: Workshop, record_property: Any) -> None:
    case = Case(workshop, DIGITS, M4, workshop.samples(DIGITS, M4, SAMPLES))
    check(case, by_make("CC=clang"), record_property)


@pytest.mark.parametrize("route", [by_c_sources, by_llvm("a")], ids=["gcc", "llvm"])
@pytest.mark.parametrize("machine", [select(name) for name in BOARDS], ids=machine_id)
def test_every_core(machine: Machine, route: Route, workshop: Workshop, record_property: Any) -> None:
    check(Case(workshop, DIGITS, machine, workshop.samples(DIGITS, machine, 2)), route, record_property)
