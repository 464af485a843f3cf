"""fp32 models on emulated Arm Linux: the libraries for Android, loaded as they are, and C by GCC."""

from __future__ import annotations

from typing import Any

import pytest
from ccml.targets import Machine

from tests.artifacts.machines import ANDROID, ARM64_LINUX, machine_id
from tests.artifacts.routes import Route, assert_expected, by_llvm, by_make, make_case
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import CLASSIC, Model
from tests.models import needs_models
from tests.tools import needs

SAMPLES = 3
NEEDS = {
    "arm64-v8a": needs("ld.lld", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armeabi-v7a": needs("ld.lld", "arm-linux-gnueabihf-gcc", "qemu-arm"),
    "x86_64": needs("ld.lld", "gcc"),
}
pytestmark = needs_models


@pytest.mark.parametrize(
    "machine", [pytest.param(machine, marks=NEEDS[machine.abi.name], id=machine_id(machine)) for machine in ANDROID]
)
@pytest.mark.parametrize("model", CLASSIC, ids=str)
def test_android_library(model: Model, machine: Machine, workshop: Workshop, record_property: Any) -> None:
    case = make_case(workshop, model, machine, SAMPLES)
    assert_expected(case, by_llvm("so")(case), record_property)


@needs("make", "aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("route", [by_make(), by_llvm("a")], ids=["gcc", "llvm"])
@pytest.mark.parametrize("model", CLASSIC, ids=str)
def test_linux_arm64(model: Model, route: Route, workshop: Workshop, record_property: Any) -> None:
    case = make_case(workshop, model, ARM64_LINUX, SAMPLES)
    assert_expected(case, route(case), record_property)
