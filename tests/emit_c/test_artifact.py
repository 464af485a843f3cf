"""The files of an artifact: the contract in the header, and what compilers make of the sources."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_c.artifact import write_c
from ccml.errors import CcmlError, ErrorCode
from ccml.instructions import INSTRUCTIONS
from ccml.ir.interpret import run_kernel
from ccml.ir.program import MemoryPlan, Pool, Program
from ccml.targets import select
from pycparser import c_ast, c_parser

from tests.emit_c.harness import WARNINGS, compile_c
from tests.emit_c.programs import COLUMNS, ROWS, matrix_program
from tests.tools import needs

X86 = select("x86", cpu="x86-64-v2")
FAKE_HEADERS = {
    "stddef.h": "typedef long ptrdiff_t; typedef unsigned long size_t;\n#define NULL ((void *)0)\n",
    "stdint.h": "".join(f"typedef {c} int{n}_t; typedef unsigned {c} uint{n}_t;\n" for n, c in
                        ((8, "char"), (16, "short"), (32, "int"), (64, "long")))
    + "typedef unsigned long uintptr_t;\n#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n",
}  # fmt: skip


def expected(program: Program, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and codes, by the interpreter."""
    hidden, scores, codes = np.zeros(ROWS, np.float32), np.zeros(ROWS, np.float32), np.zeros(COLUMNS, np.int8)
    constants = dict(program.constants)
    first = {"x": x, "y": hidden, "weights": constants["weights"], "bias": constants["bias"]}
    run_kernel(program.kernels[0], first, instructions=INSTRUCTIONS)
    run_kernel(program.kernels[1], {"x": hidden, "y": scores}, instructions=INSTRUCTIONS)
    run_kernel(program.kernels[2], {"x": x, "y": codes}, instructions=INSTRUCTIONS)
    return scores, codes


def library(folder: Path, *command: str, name: str = "kws") -> ctypes.CDLL:
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    compile_c([*command, *WARNINGS, "-fPIC", "-shared", f"-I{folder}", *sources, "-o", str(folder / f"lib{name}.so")])
    return ctypes.CDLL(str(folder / f"lib{name}.so"))


def run(model: ctypes.CDLL, x: np.ndarray, name: str = "kws") -> tuple[np.ndarray, np.ndarray]:
    arena = np.zeros(128 + 16, np.uint8)
    start = -arena.ctypes.data % 16
    scores, codes = np.full(ROWS, np.nan, np.float32), np.zeros(COLUMNS, np.int8)
    function = getattr(model, f"{name}_run")
    pointers = (arena[start:], x, scores, codes)
    assert function(*(ctypes.c_void_p(array.ctypes.data) for array in pointers)) == 0
    return scores, codes


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(9).uniform(-100, 100, COLUMNS).astype(np.float32)


def test_exactly_these_files(tmp_path: Path) -> None:
    written = write_c(matrix_program(4), X86, tmp_path / "out")
    names = ["Makefile", "kws.c", "kws.h", "kws_internal.h", "kws_runtime.h", "kws_weights.c"]
    assert sorted(path.name for path in written) == names
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names


def test_the_header_is_the_contract(tmp_path: Path) -> None:
    write_c(matrix_program(1), X86, tmp_path)
    header = (tmp_path / "kws.h").read_text()
    for line in (
        "#define KWS_ARENA_SIZE 128",
        "#define KWS_ARENA_ALIGN 16",
        f"#define KWS_WEIGHTS_SIZE {4 * (ROWS * COLUMNS + ROWS)}",
        f"#define KWS_MACS {ROWS * COLUMNS}",
        '#define KWS_INPUT_NAME "serving/input:0"',
        "#define KWS_INPUT_ELEMENTS 48",
        "#define KWS_INPUT_DIMS {1, 48}",
        "#define KWS_SCORES_TYPE float",
        r'#define KWS_V_INT_NAME "codes\303\251"',
        "#define KWS_V_INT_SCALE 0.25f",
        "#define KWS_V_INT_ZERO_POINT (-3)",
        "#define KWS_OK 0",
        "#define KWS_ERROR_NULL 1 /* a pointer is NULL that must not be */",
        "KWS_API int kws_run(void *arena, const float *input, float *scores, int8_t *v_int);",
    ):
        assert line in header.splitlines(), line


@needs("gcc")
@pytest.mark.parametrize("lanes", [1, 8])
def test_runs_as_the_interpreter(lanes: int, x: np.ndarray, tmp_path: Path) -> None:
    program = matrix_program(lanes)
    write_c(program, X86, tmp_path)
    for got, want in zip(run(library(tmp_path, "gcc", "-O2"), x), expected(program, x)):
        assert got.tobytes() == want.tobytes()


@needs("gcc")
def test_pointers_are_checked(tmp_path: Path) -> None:
    write_c(matrix_program(1), X86, tmp_path)
    function = library(tmp_path, "gcc").kws_run
    memory = ctypes.create_string_buffer(512)
    good = ctypes.addressof(memory) + -ctypes.addressof(memory) % 16
    for arguments, code in (
        ((None, good, good, good), 1),
        ((good, None, good, good), 1),
        ((good, good, good, None), 1),
        ((good + 8, good, good, good), 2),
    ):
        assert function(*(ctypes.c_void_p(address) for address in arguments)) == code


@needs("gcc")
def test_any_number_of_tensors(tmp_path: Path) -> None:
    """300 inputs besides x; a missing one is found wherever it is."""
    program = matrix_program(1)
    x = program.inputs[0]
    others = tuple(replace(x, name=f"x{n}", c_name=f"x{n}", buffer=f"x{n}") for n in range(300))
    buffers = {**program.buffers, **{o.buffer: replace(program.buffers[x.buffer], name=o.buffer) for o in others}}
    write_c(replace(program, inputs=(x, *others), buffers=buffers), X86, tmp_path)
    function = library(tmp_path, "gcc").kws_run
    memory = ctypes.create_string_buffer(512)
    good = ctypes.addressof(memory) + -ctypes.addressof(memory) % 16
    for missing in (1, 17, 150, 301):
        addresses = [None if n == missing else good for n in range(1 + 301 + 2)]
        assert function(*map(ctypes.c_void_p, addresses)) == 1


@needs("gcc")
def test_without_an_arena_its_pointer_may_be_null(x: np.ndarray, tmp_path: Path) -> None:
    program = matrix_program(1)
    program = replace(program, body=program.body[2:], plan=MemoryPlan((Pool("arena", {}, 0, 16),)))
    write_c(program, X86, tmp_path)
    scores, codes = np.zeros(ROWS, np.float32), np.zeros(COLUMNS, np.int8)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (x, scores, codes))
    assert library(tmp_path, "gcc").kws_run(None, *pointers) == 0
    assert (codes == expected(program, x)[1]).all()


@needs("gcc", "clang")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_binary_file_gives_the_same_bytes(compiler: str, x: np.ndarray, tmp_path: Path) -> None:
    """It is found by -I; every constant is at its place, whatever comes before it."""
    extra = {"odd": np.arange(3, dtype=np.int8), "none": np.zeros(0, np.float32), "half": np.ones(5, np.float16)}
    extra["last"] = np.array([np.inf, -np.inf, -0.0, 1e-300], np.float64)
    write_c(matrix_program(4, "text", extra), X86, tmp_path, incbin_threshold=None)
    written = write_c(matrix_program(4, "binary", extra), X86, tmp_path, incbin_threshold=100)
    assert written[-1].name == "binary_weights.bin"
    names = [*matrix_program(4, extra=extra).constants]
    differs = " || ".join(f"memcmp(text_{name}, binary_{name}, sizeof text_{name})" for name in names if name != "none")
    (tmp_path / "same.c").write_text(
        '#include "text_internal.h"\n#include "binary_internal.h"\n#include <string.h>\n'
        f"int differs(void);\nint differs(void) {{ return {differs}; }}\n"
    )
    model = library(tmp_path, compiler, "-O1")
    assert model.differs() == 0
    for got, want in zip(run(model, x, "binary"), run(model, x, "text")):
        assert got.tobytes() == want.tobytes()


def test_writing_again_removes_a_stale_binary_file(tmp_path: Path) -> None:
    write_c(matrix_program(1), X86, tmp_path, incbin_threshold=0)
    assert (tmp_path / "kws_weights.bin").exists()
    write_c(matrix_program(1), X86, tmp_path)
    assert not (tmp_path / "kws_weights.bin").exists()


def test_same_program_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_c(matrix_program(8), X86, tmp_path / folder, incbin_threshold=10)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@needs("gcc", "g++", "clang", "clang++")
@pytest.mark.parametrize("compiler", ["g++", "clang++", "gcc", "clang"])
def test_the_header_is_clean_in_c_and_cpp(compiler: str, tmp_path: Path) -> None:
    write_c(matrix_program(1), X86, tmp_path)
    cpp = compiler.endswith("++")
    user = tmp_path / ("user.cpp" if cpp else "user.c")
    user.write_text('#include "kws.h"\n#include "kws.h"\nint f(const float *x, float *y, int8_t *z);\n'
                    "int f(const float *x, float *y, int8_t *z) { return kws_run(0, x, y, z); }\n")  # fmt: skip
    flags = [flag for flag in WARNINGS if not cpp or not flag.startswith("-std")]
    compile_c([compiler, *flags, *(["-std=c++11"] if cpp else []), "-c", str(user), "-o", str(tmp_path / "user.o")])


@needs("gcc")
def test_two_models_in_one_translation_unit(x: np.ndarray, tmp_path: Path) -> None:
    for name, lanes in (("first", 4), ("second", 8)):
        write_c(matrix_program(lanes, name), X86, tmp_path)
    parts = sorted(path.name for path in tmp_path.glob("*.c"))
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "both.c").write_text("".join(f'#include "../{part}"\n' for part in parts))
    model = library(tmp_path / "all", "gcc", name="both")
    for name in ("first", "second"):
        assert run(model, x, name)[1].tobytes() == expected(matrix_program(1), x)[1].tobytes()


@needs("gcc")
def test_only_the_prefix_is_visible(tmp_path: Path) -> None:
    write_c(matrix_program(8), X86, tmp_path)
    library(tmp_path, "gcc", "-O1", "-fvisibility=hidden")
    dynamic = ["nm", "-D", "--defined-only", str(tmp_path / "libkws.so")]
    listed = subprocess.run(dynamic, capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == ["kws_model_id", "kws_run"]


@needs("gcc")
@pytest.mark.parametrize("lanes", [1, 16])
def test_pycparser_reads_the_sources_with_the_portable_runtime(lanes: int, tmp_path: Path) -> None:
    write_c(matrix_program(lanes), X86, tmp_path)
    for name, text in FAKE_HEADERS.items():
        (tmp_path / name).write_text(text)
    flags = ["-E", "-P", "-nostdinc", "-U__GNUC__", "-DCCML_PORTABLE=1", f"-I{tmp_path}"]
    done = subprocess.run(["gcc", *flags, str(tmp_path / "kws.c")], capture_output=True, text=True, check=True)
    parsed = c_parser.CParser().parse(done.stdout)
    functions = [node.decl.name for node in parsed.ext if isinstance(node, c_ast.FuncDef)]
    kernels, checks = ["kws_dense", "kws_relu", "kws_codes"], ["kws_cpu_fits", "kws_model_id"]
    assert functions[-7:] == [*kernels, *checks, "kws_run_checked", "kws_run"]


def test_a_folder_that_cannot_be_written_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CcmlError) as caught:
        write_c(matrix_program(1), X86, tmp_path / "file")
    assert caught.value.kind is ErrorCode.OUTPUT_FOLDER
