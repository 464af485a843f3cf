"""Shared libraries: what they export, what they need, and that they run."""

from __future__ import annotations

import ctypes
import io
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm import shared
from ccml.emit_llvm.objects import INLINE_CONSTANTS, emit_objects
from ccml.emit_llvm.shared import link_library
from ccml.errors import CcmlError, ErrorCode
from ccml.targets import Machine, select
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from tests.emit_llvm.programs import HOSTED, MAIN, asks_system, machine_id, scale_and_shift, scale_and_shift_reference
from tests.tools import needs

PAGES = {"generic": 4096, "x86": 4096, "android": 16384, "linux-arm64": 65536}
"""The largest pages that systems of the target have."""


def linked(machine: Machine, folder: Path, pad: int = 0) -> Path:
    program, _ = scale_and_shift(pad=pad)
    path = folder / "libsmall.so"
    link_library(emit_objects(program, machine), machine, "small", ["small_run"], path)
    return path


@needs("ld.lld")
@pytest.mark.parametrize("machine", HOSTED, ids=machine_id)
def test_exports_pages_and_dependencies(machine: Machine, tmp_path: Path) -> None:
    elf = ELFFile(io.BytesIO(linked(machine, tmp_path).read_bytes()))
    table = elf.get_section_by_name(".dynsym")
    assert [symbol.name for symbol in table.iter_symbols() if symbol.name] == [*asks_system(machine), "small_run"]
    dynamic = elf.get_section_by_name(".dynamic")
    assert isinstance(dynamic, DynamicSection)
    tags = {tag.entry.d_tag: tag for tag in dynamic.iter_tags()}
    assert ("DT_NEEDED" in tags) == bool(asks_system(machine))
    assert tags["DT_SONAME"].soname == "libsmall.so"
    for segment in elf.iter_segments():
        kind, flags = segment["p_type"], segment["p_flags"]
        assert flags & 3 != 3, "writable and executable"
        if kind == "PT_LOAD":
            page = PAGES[machine.name]
            assert segment["p_align"] == page
            assert segment["p_vaddr"] % page == segment["p_offset"] % page
    assert elf.get_section_by_name(".note.gnu.build-id") is not None


def build_id(library: Path) -> str:
    with library.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".note.gnu.build-id")
        assert isinstance(section, NoteSection)
        (note,) = section.iter_notes()
        return str(note["n_desc"])


@needs("ld.lld")
def test_the_build_id_tells_contents_apart(tmp_path: Path) -> None:
    """40 digits, the same for the same objects, others where a weight or the linker's input differs."""
    folders = [tmp_path / name for name in ("first", "again", "padded")]
    for folder in folders:
        folder.mkdir()
    first, again, padded = (
        build_id(linked(select("linux-arm64"), folder, pad)) for folder, pad in zip(folders, (0, 0, 64), strict=True)
    )
    assert len(first) == 40 and first == again != padded


@pytest.mark.parametrize("pad", [0, INLINE_CONSTANTS])
@needs("cc")
def test_the_library_runs(pad: int, tmp_path: Path) -> None:
    library = ctypes.CDLL(str(linked(select("generic"), tmp_path, pad)))
    program, inputs = scale_and_shift()
    arena, y = np.zeros(160, np.uint8), np.zeros((4, 8), np.float32)
    address = arena.ctypes.data + -arena.ctypes.data % 16
    x = inputs["data:0"].ctypes.data
    assert library.small_run(ctypes.c_void_p(address), ctypes.c_void_p(x), ctypes.c_void_p(y.ctypes.data)) == 0
    np.testing.assert_array_equal(y, scale_and_shift_reference(program, inputs))


@needs("ld.lld")
@pytest.mark.parametrize("machine", HOSTED, ids=machine_id)
def test_same_bytes_twice(machine: Machine, tmp_path: Path) -> None:
    assert linked(machine, tmp_path).read_bytes() == linked(machine, tmp_path).read_bytes()


def test_no_linker_says_what_would_help(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shared.shutil, "which", lambda name: None)
    monkeypatch.setattr(shared.importlib.util, "find_spec", lambda name: None)
    for target, help_text in (("x86", "install a C compiler, or install lld"), ("android", "install lld .*ziglang")):
        with pytest.raises(CcmlError, match=help_text) as caught:
            linked(select(target), tmp_path)
        assert caught.value.kind is ErrorCode.TOOLCHAIN


@needs("cc")
def test_a_failing_linker_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match="linking failed: ") as caught:
        link_library([("broken.o", b"not an object")], select("x86"), "broken", ["f"], tmp_path / "lib.so")
    assert caught.value.kind is ErrorCode.TOOLCHAIN


def test_bare_metal_has_no_shared_libraries(tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match="cortex-m4 has no libraries that are loaded"):
        link_library([], select("cortex-m4"), "none", ["f"], tmp_path / "lib.so")


@needs("ld.lld", "aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("pad", [0, INLINE_CONSTANTS])
def test_arm64_library_runs_under_emulation(pad: int, tmp_path: Path) -> None:
    linked(select("linux-arm64"), tmp_path, pad)
    main = tmp_path / "main.c"
    main.write_text(MAIN % ("small", "small"))
    flags = [f"-L{tmp_path}", "-lsmall", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["aarch64-linux-gnu-gcc", main, *flags, "-o", tmp_path / "main"], check=True)
    program, inputs = scale_and_shift()
    command = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", tmp_path / "main"]
    done = subprocess.run(command, input=inputs["data:0"].tobytes(), capture_output=True, check=True)
    assert done.stdout == scale_and_shift_reference(program, inputs).tobytes()
