"""The Makefile of an artifact: compilers, libraries, nothing built twice; and what objects for bare metal ask for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ccml.emit_c.artifact import write_c
from ccml.ir.loops import Type
from ccml.ir.types import DType
from ccml.targets import Machine, select

from tests.emit_c.cases import arithmetic, conversions
from tests.emit_c.harness import WARNINGS, compile_c, kernels_source
from tests.emit_c.programs import matrix_program
from tests.tools import needs


def make(folder: Path, *arguments: str, cwd: Path | None = None) -> str:
    """What ``make`` prints. A warning is an error."""
    where = ["-f", str(folder / "Makefile")] if cwd else ["-C", str(folder)]
    command = ["make", *where, "CFLAGS=-Werror", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def undefined(path: Path) -> set[str]:
    listed = subprocess.run(["nm", "-u", str(path)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if line.strip() and not line.endswith(":")}


@needs("make", "gcc", "clang")
@pytest.mark.parametrize("threshold", [None, 0])
def test_hosted(threshold: int | None, tmp_path: Path) -> None:
    write_c(matrix_program(8), select("x86"), tmp_path, incbin_threshold=threshold)
    before = sorted(path.name for path in tmp_path.iterdir())
    make(tmp_path)
    assert (tmp_path / "libkws.a").exists()
    assert (tmp_path / "libkws.so").exists()
    assert "gcc" not in make(tmp_path)
    (tmp_path / "kws_weights.c").touch()
    assert make(tmp_path).count(" -c ") == 1
    make(tmp_path, "clean")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "clang" in make(tmp_path, "CC=clang", cwd=elsewhere)
    assert not list(elsewhere.iterdir())
    assert undefined(tmp_path / "libkws.a") == {"kws_weights", "kws_bias"}


@pytest.mark.parametrize(
    ("machine", "compiler"),
    [
        pytest.param(
            select(name), compiler, marks=needs("make", "arm-none-eabi-gcc", compiler), id=f"{name}-{compiler}"
        )
        for name, compiler in (
            ("cortex-m0plus", "arm-none-eabi-gcc"),
            ("cortex-m4", "arm-none-eabi-gcc"),
            ("cortex-m4", "clang"),
            ("cortex-m55", "arm-none-eabi-gcc"),
        )
    ],
)
def test_bare_metal(machine: Machine, compiler: str, tmp_path: Path) -> None:
    write_c(matrix_program(1), machine, tmp_path, incbin_threshold=0 if compiler == "clang" else None)
    make(tmp_path, *([] if compiler != "clang" else ["CC=clang"]))
    foreign = {name for name in undefined(tmp_path / "libkws.a") if not name.startswith(("kws_", "__aeabi_"))}
    assert not foreign
    assert not (tmp_path / "libkws.so").exists()


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize("level", ["-O0", "-O3", "-Os"])
@pytest.mark.parametrize(
    "cpu",
    [("-mcpu=cortex-m0plus",), ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")],
    ids=["m0plus", "m4"],
)
def test_every_scalar_operation_without_a_library(cpu: tuple[str, ...], level: str, tmp_path: Path) -> None:
    """Nothing but the compiler's own run-time arithmetic: no libm, no memcpy."""
    dtypes = [DType.F32, DType.F64, DType.F16, DType.I8, DType.I32, DType.U32, DType.I64]
    cases = [arithmetic(Type(dtype)) for dtype in dtypes] + [conversions(dtype, 1) for dtype in (DType.F32, DType.U8)]
    header, code = kernels_source([case.kernel for case in cases])
    (tmp_path / "runtime.h").write_text(header)
    (tmp_path / "code.c").write_text(code.replace("static void kernel", "void kernel"))
    flags = ["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-mthumb", *cpu, level]
    command = ["arm-none-eabi-gcc", *WARNINGS, *flags, "-c", str(tmp_path / "code.c"), "-o", str(tmp_path / "code.o")]
    compile_c(command)
    assert {name for name in undefined(tmp_path / "code.o") if not name.startswith("__aeabi_")} == set()


@needs("make", "aarch64-linux-gnu-gcc")
def test_cross_hosted(tmp_path: Path) -> None:
    write_c(matrix_program(4), select("linux-arm64"), tmp_path)
    make(tmp_path)
    assert (tmp_path / "libkws.so").exists()
