"""fp32 models on emulated Cortex-M boards, from C by GCC and from LLVM's objects."""

from __future__ import annotations

from typing import Any

import pytest
from ccml.emulation import build_and_run
from ccml.targets import Machine, select

from tests.artifacts.machines import BOARDS, GENERIC, M4, machine_id, runs_here
from tests.artifacts.routes import (
    Route,
    assert_expected,
    assert_same_bits,
    by_c_sources,
    by_llvm,
    by_make,
    in_process,
    make_case,
    stacked,
)
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import CLASSIC, DIGITS, Model
from tests.models import needs_models
from tests.tools import needs

pytestmark = [needs_models, needs("make", "arm-none-eabi-gcc", "qemu-system-arm")]

SAMPLES = 8
M55 = select("cortex-m55")


@pytest.mark.parametrize("machine", [M4, M55], ids=machine_id)
@pytest.mark.parametrize("model", CLASSIC, ids=str)
def test_both_routes(model: Model, machine: Machine, workshop: Workshop, record_property: Any) -> None:
    """The same bits from both: they print the same loop IR, and no number on the way is denormal."""
    case = make_case(workshop, model, machine, SAMPLES)
    by_gcc, by_llvms = by_make("CROSS_COMPILE=arm-none-eabi-")(case), by_llvm("o")(case)
    assert_expected(case, by_gcc, record_property)
    assert_expected(case, by_llvms, record_property)
    assert_same_bits(stacked(by_gcc), stacked(by_llvms))


@needs("clang", "ld.lld")
@pytest.mark.parametrize("machine", [M4, M55], ids=machine_id)
def test_by_clang(machine: Machine, workshop: Workshop, record_property: Any) -> None:
    case = make_case(workshop, DIGITS, machine, SAMPLES)
    assert_expected(case, by_make("CC=clang")(case), record_property)


@pytest.mark.parametrize("route", [by_c_sources, by_llvm("a")], ids=["gcc", "llvm"])
@pytest.mark.parametrize("machine", BOARDS, ids=machine_id)
def test_every_core(machine: Machine, route: Route, workshop: Workshop, record_property: Any) -> None:
    case = make_case(workshop, DIGITS, machine, 2)
    assert_expected(case, route(case), record_property)


@runs_here(GENERIC)
def test_portable_c_gives_the_same_bits_as_on_the_host(workshop: Workshop) -> None:
    """The target ``generic`` knows no instruction set. Its C, compiled for a Cortex-M4, computes what the host does."""
    case = make_case(workshop, DIGITS, GENERIC, 2)
    folder = workshop.c_sources(DIGITS, GENERIC)
    found = build_and_run(case.program, M4, sorted(folder.glob("*.c")), list(case.samples), include=folder)
    assert_same_bits(stacked(found), stacked(in_process(case)))
