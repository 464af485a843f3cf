"""Static libraries, as linkers see them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ccml.emit_llvm.archive import static_library
from ccml.emit_llvm.objects import INLINE_CONSTANTS, emit_objects
from ccml.targets import select

from tests.emit_llvm.programs import MAIN, scale_and_shift, scale_and_shift_reference
from tests.tools import needs

LONG = "a_model_with_a_rather_long_name"


def library(name: str, target: str, folder: Path, pad: int) -> Path:
    program, _ = scale_and_shift(name, pad)
    path = folder / f"lib{name}.a"
    path.write_bytes(static_library(emit_objects(program, select(target))))
    return path


@needs("gcc", "ar", "ranlib")
@pytest.mark.parametrize("pad", [0, INLINE_CONSTANTS])
@pytest.mark.parametrize("name", ["small", LONG])
def test_gcc_links_and_the_program_runs(name: str, pad: int, tmp_path: Path) -> None:
    path = library(name, "generic", tmp_path, pad)
    main = tmp_path / "main.c"
    main.write_text(MAIN % (name, name))
    subprocess.run(["gcc", main, f"-L{tmp_path}", f"-l{name}", "-o", tmp_path / "main"], check=True)
    program, inputs = scale_and_shift(name)
    done = subprocess.run([tmp_path / "main"], input=inputs["data:0"].tobytes(), capture_output=True, check=True)
    assert done.stdout == scale_and_shift_reference(program, inputs).tobytes()
    listed = subprocess.run(["ar", "t", path], capture_output=True, text=True, check=True).stdout.split()
    assert listed == ([f"{name}.o", f"{name}_data.o"] if pad else [f"{name}.o"])


@needs("arm-none-eabi-gcc")
def test_arm_gcc_links(tmp_path: Path) -> None:
    library(LONG, "cortex-m4", tmp_path, INLINE_CONSTANTS)
    main = tmp_path / "main.c"
    main.write_text(f"int {LONG}_run(void *, const float *, float *);\nvoid _start(void) {{ {LONG}_run(0, 0, 0); }}\n")
    flags = [*select("cortex-m4").cpu.c_flags, "-nostartfiles", "-Wl,--fatal-warnings"]
    subprocess.run(["arm-none-eabi-gcc", *flags, main, f"-L{tmp_path}", f"-l{LONG}", "-o", tmp_path / "a"], check=True)


@needs("ar", "ranlib", "nm")
def test_the_index_is_the_one_that_ranlib_writes(tmp_path: Path) -> None:
    path = library("small", "x86", tmp_path, INLINE_CONSTANTS)
    before = path.read_bytes()

    def index() -> str:
        return subprocess.run(["nm", "-s", path], capture_output=True, text=True, check=True).stdout.split("\n\n")[1]

    ours = index()
    subprocess.run(["ranlib", "-D", path], check=True)
    assert ours == index()
    assert before == library("small", "x86", tmp_path, INLINE_CONSTANTS).read_bytes()


def test_same_bytes_twice_and_no_times() -> None:
    objects = emit_objects(scale_and_shift()[0], select("cortex-m4"))
    first = static_library(objects)
    assert first == static_library(objects)
    assert first.startswith(b"!<arch>\n/               0           0     0     ")
