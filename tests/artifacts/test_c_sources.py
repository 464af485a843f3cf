"""The emitted C as text: no warnings anywhere, a header for C++ as well, and a portable form that any parser reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.targets import Machine, select
from pycparser import c_ast, c_parser

from tests.artifacts.commands import WARNINGS, run
from tests.artifacts.machines import ARM64_LINUX, GENERIC, M4, NATIVE, RISCV, V3, WASM, machine_id
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import DIGITS, FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

COMPILERS = [
    pytest.param(compiler, machine, marks=needs(compiler), id=f"{compiler}-{machine_id(machine)}")
    for compiler, machine in (
        ("gcc", GENERIC),
        ("clang", GENERIC),
        ("gcc", V3),
        ("clang", NATIVE),
        ("arm-none-eabi-gcc", M4),
        ("arm-none-eabi-gcc", select("cortex-m55")),
        ("aarch64-linux-gnu-gcc", ARM64_LINUX),
        ("riscv64-unknown-elf-gcc", RISCV),
        ("clang", WASM),
    )
]
CPP_WARNINGS = ("-std=c++11", *(flag for flag in WARNINGS if not flag.startswith("-std")))
STANDARD_HEADERS = {
    "stddef.h": "typedef long ptrdiff_t; typedef unsigned long size_t;\n#define NULL ((void *)0)\n",
    "stdint.h": "".join(
        f"typedef {c} int{n}_t; typedef unsigned {c} uint{n}_t;\n"
        for n, c in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
    )
    + "typedef unsigned long uintptr_t;\n",
}
pytestmark = needs_models


@pytest.mark.check
@pytest.mark.parametrize(("compiler", "machine"), COMPILERS)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_no_warning(model: Model, compiler: str, machine: Machine, workshop: Workshop) -> None:
    """Not from the parser; the optimizers' warnings are errors wherever a Makefile builds a model in these tests."""
    folder = workshop.c_sources(model, machine)
    sources = sorted(folder.glob("*.c"))
    flags = [*machine.cpu.c_flags, *machine.target.c_flags, *machine.abi.environment.flags]
    run(compiler, *WARNINGS, *flags, f"-I{folder}", "-fsyntax-only", *sources)


@pytest.mark.parametrize("compiler", [pytest.param(name, marks=needs(name)) for name in ("g++", "clang++")])
def test_headers_of_all_models_in_one_cpp_file(compiler: str, workshop: Workshop, tmp_path: Path) -> None:
    user = tmp_path / "user.cpp"
    names = [model.name for model in FLOAT]
    lines = [f'#include "{name}.h"' for name in names]
    lines += [f"auto *{name}_function = &{name}_run;" for name in names]
    lines += [f'static_assert({name.upper()}_OK == 0, "{name}");' for name in names]
    user.write_text("\n".join(lines) + "\n")
    folders = [f"-I{workshop.c_sources(model, V3)}" for model in FLOAT]
    run(compiler, *CPP_WARNINGS, *folders, "-c", user, "-o", tmp_path / "user.o")
    symbols = run("nm", "-u", tmp_path / "user.o").split()[1::2]
    assert sorted(symbols) == sorted(f"{name}_{function}" for name in names for function in ("run", "model_id"))


@needs("gcc")
@pytest.mark.parametrize("machine", [GENERIC, V3], ids=machine_id)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_pycparser_reads_the_portable_form(model: Model, machine: Machine, workshop: Workshop, tmp_path: Path) -> None:
    folder = workshop.c_sources(model, machine)
    tree = parse(folder / f"{model}.c", folder, tmp_path)
    defined = [node.decl.name for node in tree.ext if isinstance(node, c_ast.FuncDef)]
    assert defined[-1] == f"{model}_run"
    kernels = {kernel.name for kernel in workshop.program(model, machine).kernels}
    assert {f"{model}_{name}" for name in kernels} <= set(defined)


@needs("gcc")
def test_pycparser_reads_the_weights(workshop: Workshop, tmp_path: Path) -> None:
    folder = workshop.c_sources(DIGITS, GENERIC)
    tree = parse(folder / "digits_weights.c", folder, tmp_path)
    arrays = [node for node in tree.ext if isinstance(node, c_ast.Decl) and isinstance(node.init, c_ast.InitList)]
    assert len(arrays) == len(workshop.program(DIGITS, GENERIC).constants)


def parse(source: Path, include: Path, folder: Path) -> c_ast.FileAST:
    """C99 without extensions: preprocessed without the compiler's macros and with plain standard headers."""
    for name, text in STANDARD_HEADERS.items():
        (folder / name).write_text(text)
    flags = ["-E", "-P", "-nostdinc", "-U__GNUC__", "-DCCML_PORTABLE=1", f"-I{folder}", f"-I{include}"]
    return c_parser.CParser().parse(run("gcc", *flags, source))
