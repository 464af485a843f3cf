"""Every operation on every type, compiled by C compilers for several machines: the bits of the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit_c.cases import all_cases
from tests.emit_c.harness import Arrays, Case, assert_same_bits, compile_cases, run_cases
from tests.tools import needs

CPU_FLAGS = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
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


@pytest.mark.parametrize(
    "command",
    [
        compiler("gcc", "-O2"),
        compiler("gcc", "-O1", "-DCCML_PORTABLE=1"),
        compiler("gcc", "-O0", "-mavx512f", "-mavx2", "-mfma", marks=(cpu("avx512f"),)),
        compiler("gcc", "-O3", "-march=x86-64-v4", "-fno-math-errno", marks=(cpu("avx512vl"),)),
        compiler("gcc", "-O1", "-mavx2", "-mfma", *SANITIZE, marks=(cpu("avx2", "fma"),)),
        compiler("clang", "-O2", "-mavx2", "-mfma", marks=(cpu("avx2", "fma"),)),
        compiler("clang", "-O0", "-mavx512f", marks=(cpu("avx512f"),)),
    ],
)
def test_bits_are_those_of_the_interpreter(
    command: list[str], cases: list[Case], expected: list[Arrays], tmp_path: Path
) -> None:
    actual = run_cases(cases, compile_cases(cases, tmp_path, command))
    for case, got, want in zip(cases, actual, expected):
        assert_same_bits(got, want, case.kernel.name)
