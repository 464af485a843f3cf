"""fp32 models on emulated Arm Linux: the libraries for Android, loaded as they are, and C by GCC."""

from __future__ import annotations

from typing import Any

import pytest
from ccml.targets import Machine

from tests.artifacts.machines import ANDROID, ARM64_LINUX, machine_id
from tests.artifacts.routes import assert_expected, assert_same_bits, by_llvm, by_make, make_case, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import CLASSIC, Model
from tests.models import needs_models
from tests.tools import needs

SAMPLES = 8
NEEDS = {
    "arm64-v8a": needs("ld.lld", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armeabi-v7a": needs("ld.lld", "arm-linux-gnueabihf-gcc", "qemu-arm"),
    "x86_64": needs("ld.lld", "gcc"),
    "x86": needs("ld.lld", "i686-linux-gnu-gcc", "qemu-i386"),
}
pytestmark = needs_models


@pytest.mark.parametrize(
    "machine", [pytest.param(machine, marks=NEEDS[machine.abi.name], id=machine_id(machine)) for machine in ANDROID]
)
@pytest.mark.parametrize("model", CLASSIC, ids=str)
def test_android_library(model: Model, machine: Machine, workshop: Workshop, record_property: Any) -> None:
    case = make_case(workshop, model, machine, SAMPLES)
    assert_expected(case, by_llvm("so")(case), record_property)


@needs("make", "clang", "aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("model", CLASSIC, ids=str)
def test_linux_arm64(model: Model, workshop: Workshop, record_property: Any) -> None:
    """From C by both compilers, and from LLVM's library: the same bits."""
    case = make_case(workshop, model, ARM64_LINUX, SAMPLES)
    by_gcc = by_make()(case)
    assert_expected(case, by_gcc, record_property)
    assert_same_bits(stacked(by_gcc), stacked(by_make("CC=clang")(case)))
    assert_same_bits(stacked(by_gcc), stacked(by_llvm("a")(case)))
