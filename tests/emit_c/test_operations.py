"""Every operation on every type, compiled by C compilers for several machines: the bits of the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit_c.cases import all_cases
from tests.emit_c.harness import Arrays, Case, assert_same_bits, compile_cases, run_cases
from tests.tools import needs

CPU_FLAGS = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
ALL = ("all",)
ON_ARM = (
    "f16", "f32", "f64", "i8", "u16", "i32", "u64", "i32x4", "u32x4", "i32x8", "u32x8", "i8x4", "u16x4", "u8x8",
    "i16x8",
)  # fmt: skip
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def cpu(*flags: str) -> pytest.MarkDecorator:
    missing = [flag for flag in flags if flag not in CPU_FLAGS]
    return pytest.mark.skipif(bool(missing), reason=f"needs a CPU with {', '.join(missing)}")


def compiler(name: str, *flags: str, marks: tuple[pytest.MarkDecorator, ...] = ()) -> object:
    return pytest.param([name, *flags], marks=(needs(name), *marks), id=" ".join([name, *flags[:3]]))


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return all_cases()


@pytest.fixture(scope="module")
def expected(cases: list[Case]) -> list[Arrays]:
    return [case.expected() for case in cases]


def check(
    cases: list[Case], expected: list[Arrays], folder: Path, command: list[str], types: tuple[str, ...], *runner: str
) -> None:
    """Cases about ``types`` (all: about everything) give the bits of the interpreter."""
    names = {f"{kind}_{type_}" for kind in ("arithmetic", "partial", "lane_factors") for type_ in types}
    names |= {
        "masks_4", "masks_8", "masks_16", "dots_1", "dots_4", "dots_8", "dots_16", "halfword_products",
        "wrapping_trees", "index", "conversions_i8x4", "conversions_i8x8", "conversions_u16x8", "conversions_i32x8",
        "conversions_i32x16", "partial_boolx8",
    }  # fmt: skip
    chosen = [pair for pair in zip(cases, expected) if types == ALL or pair[0].kernel.name in names]
    some = [case for case, _ in chosen]
    actual = run_cases(some, compile_cases(some, folder, command), runner)
    for (case, want), got in zip(chosen, actual):
        assert_same_bits(got, want, case.kernel.name)


@pytest.mark.check
@pytest.mark.parametrize(
    "command",
    [
        compiler("gcc", "-O1"),
        compiler("gcc", "-O1", "-DCCML_PORTABLE=1"),
        compiler("gcc", "-O0", "-mavx512f", "-mavx2", "-mfma", marks=(cpu("avx512f"),)),
        compiler("gcc", "-O0", "-mavx2", "-mfma", *SANITIZE, marks=(cpu("avx2", "fma"),)),
        compiler("clang", "-O1", "-mavx2", "-mfma", marks=(cpu("avx2", "fma"),)),
        compiler("clang", "-O0", "-mavx512f", marks=(cpu("avx512f"),)),
    ],
)
def test_all_bits(command: list[str], cases: list[Case], expected: list[Arrays], tmp_path: Path) -> None:
    check(cases, expected, tmp_path, command, ALL)


@cpu("avx512vl", "avx512_vnni")
@needs("gcc")
def test_bits_with_all_optimizations(cases: list[Case], expected: list[Arrays], tmp_path: Path) -> None:
    """As the Makefile of an artifact compiles them."""
    types = ("f32", "f32x4", "f32x8", "f32x16", "i32x16", "u32x8", "i8x16", "u8x8", "i16x16")
    flags = ["-O3", "-march=x86-64-v4", "-mavx512vnni", "-fno-math-errno", "-ffp-contract=off"]
    check(cases, expected, tmp_path, ["gcc", *flags], types)


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize(
    "command",
    [
        compiler("aarch64-linux-gnu-gcc", "-O1", "-march=armv8.2-a+dotprod"),
        compiler("aarch64-linux-gnu-gcc", "-O0", "-march=armv8-a"),
        compiler("clang", "--target=aarch64-linux-gnu", "-O1", "-march=armv8.2-a+dotprod"),
    ],
)
def test_bits_on_arm64(command: list[str], cases: list[Case], expected: list[Arrays], tmp_path: Path) -> None:
    check(cases, expected, tmp_path, [*command, "-static"], (*ON_ARM, "f32x4", "f32x8"), "qemu-aarch64")


@needs("arm-linux-gnueabihf-gcc", "qemu-arm")
@pytest.mark.parametrize("fpu", ["neon-vfpv4", "vfpv3-d16"])
def test_bits_on_arm32(fpu: str, cases: list[Case], expected: list[Arrays], tmp_path: Path) -> None:
    """NEON of 32-bit Arm flushes denormal numbers, so f32x4 is compared only where there is no NEON."""
    command = ["arm-linux-gnueabihf-gcc", "-O1", "-march=armv7-a", f"-mfpu={fpu}", "-mthumb", "-static"]
    types = ON_ARM if fpu == "neon-vfpv4" else (*ON_ARM, "f32x4", "f32x8")
    check(cases, expected, tmp_path, command, types, "qemu-arm")
