"""Libraries for Windows, macOS and iOS: what their headers say, and that their code runs.

No such system is here, so the code of a library runs out of an image of it in memory: x86-64 by itself, with the
convention of its system, Arm in QEMU. Windows' own loader is tried by Wine.
"""

from __future__ import annotations

import re
from pathlib import Path

import ccml
import lief
import numpy as np
import pytest
from ccml.artifact.emit import Emit, emit
from ccml.driver import Goal, compile_source, read
from ccml.emit_llvm.jit import host_features
from ccml.emit_llvm.object_file import allocated, defined_symbols, undefined_symbols
from ccml.emulation import Build, build_and_run
from ccml.program import chunking
from ccml.targets import Machine, select

from tests.artifacts.commands import run
from tests.artifacts.flat_image import run_flat
from tests.emit_llvm.programs import kernel, program_of
from tests.tools import needs

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
WINDOWS = [select("windows", abi) for abi in ("x64", "arm64")]
APPLE = [select("apple", abi) for abi in ("macos-arm64", "macos-x86_64", "ios-arm64", "ios-arm64-simulator")]
BASELINE = (
    select("windows", "x64", "x86-64-v2"), select("windows", "arm64"), select("apple", "macos-x86_64", "x86-64-v2"),
    select("apple", "macos-arm64"), select("apple", "ios-arm64"),
)  # fmt: skip
each = pytest.mark.parametrize("machine", [*WINDOWS, *APPLE], ids=lambda machine: f"{machine.name}-{machine.abi.name}")


def compiled(machine: Machine, folder: Path, *kinds: Emit, cpu: str | None = None) -> Path:
    options = {"abi": machine.abi.name, "cpu": cpu or machine.cpu.name, "emit": kinds or [Emit.LIBRARY]}
    ccml.compile(DIGITS, machine.name, folder, **options)
    return folder


def sample() -> np.ndarray:
    return np.random.default_rng(3).random((1, 1, 8, 8), np.float32)


def library_of(machine: Machine) -> str:
    assert machine.target.library is not None
    return machine.target.library.file.format(name="digits")


@needs("gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64", "lld-link")
@pytest.mark.parametrize("machine", BASELINE, ids=lambda machine: f"{machine.name}-{machine.abi.name}")
def test_the_code_of_a_library_computes_what_the_model_does(machine: Machine, tmp_path: Path) -> None:
    compiled(machine, tmp_path)
    arena = int(re.findall(r"DIGITS_ARENA_SIZE (\d+)", (tmp_path / "digits.h").read_text())[0])
    found = run_flat(machine, tmp_path / library_of(machine), arena, sample())
    wanted = ccml.load(DIGITS).run(sample())
    np.testing.assert_allclose(found, next(iter(wanted.values())).ravel(), rtol=1e-4, atol=1e-5)


@needs("gcc", "lld-link")
def test_code_for_every_cpu_asks_the_processor(tmp_path: Path) -> None:
    """CPUID is asked with the convention of another system than that of the code around it."""
    machine = compiled(WINDOWS[0], tmp_path, cpu="all") and WINDOWS[0]
    arena = int(re.findall(r"DIGITS_ARENA_SIZE (\d+)", (tmp_path / "digits.h").read_text())[0])
    found = run_flat(machine, tmp_path / "digits.dll", arena, sample())
    wanted = ccml.load(DIGITS).run(sample())
    np.testing.assert_allclose(found, next(iter(wanted.values())).ravel(), rtol=1e-4, atol=1e-5)


@each
def test_the_library_exports_the_header_and_imports_nothing(machine: Machine, tmp_path: Path) -> None:
    compiled(machine, tmp_path)
    library = lief.parse(str(tmp_path / library_of(machine)))
    if isinstance(library, lief.PE.Binary):
        assert [item.name for item in library.get_export().entries] == ["digits_model_id", "digits_run"]
        assert not list(library.imports)
        assert library.header.machine.name == {"x64": "AMD64", "arm64": "ARM64"}[machine.abi.name]
        assert lief.PE.OptionalHeader.DLL_CHARACTERISTICS.NX_COMPAT in library.optional_header.dll_characteristics_lists
        assert (tmp_path / "digits.dll.lib").is_file()
        return
    exported = {symbol.name for symbol in library.exported_symbols} - {"___dso_handle", "__mh_dylib_header"}
    assert exported == {"_digits_run", "_digits_model_id"}
    assert {item.name for item in library.libraries} <= {"@rpath/libdigits.dylib", "/usr/lib/libSystem.B.dylib"}
    assert not set(library.imported_symbols) - {s for s in library.imported_symbols if s.name == "dyld_stub_binder"}
    signed = machine.abi.name == "macos-arm64"
    assert not signed or library.has_code_signature, "Apple's processors run nothing else"


@pytest.mark.parametrize("machine", [WINDOWS[0], APPLE[0]], ids=lambda machine: machine.name)
def test_the_same_model_gives_the_same_bytes(machine: Machine, tmp_path: Path) -> None:
    one, other = (compiled(machine, tmp_path / name) for name in ("one", "other"))
    for path in sorted(one.iterdir()):
        assert path.read_bytes() == (other / path.name).read_bytes(), path.name


@each
def test_objects_say_what_they_define_and_need(machine: Machine, tmp_path: Path) -> None:
    """The readers of objects against LIEF, and each function has a section or symbols of its own."""
    compiled(machine, tmp_path, Emit.OBJECT)
    (path,) = (path for path in tmp_path.iterdir() if path.suffix in (".o", ".obj"))
    assert path.suffix == (".obj" if machine.name == "windows" else ".o")
    image = path.read_bytes()
    assert {"digits_run", "digits_model_id", "digits_conv_0"} <= set(defined_symbols(image))
    assert undefined_symbols(image) == []
    sizes = {name: size for name, size, code in allocated(image) if code and size}
    assert {".text.digits_run", ".text.digits_conv_0"} <= set(sizes)
    if machine.name == "apple":
        fat = lief.MachO.parse(str(path))
        binary = fat.at(0)
        assert sum(sizes.values()) == sum(s.size for s in binary.sections if s.name == "__text")
    else:
        text = run("llvm-objdump", "-h", path)
        listed = {name: int(size, 16) for name, size in re.findall(r"(\.text\S*) +([0-9a-f]{8})", text)}
        assert {name.replace("$", "."): size for name, size in listed.items() if size} == sizes


@needs("llvm-nm")
@each
def test_static_libraries_are_what_linkers_of_the_system_read(machine: Machine, tmp_path: Path) -> None:
    compiled(machine, tmp_path)
    path = tmp_path / machine.abi.objects.library.format(name="digits")
    index = run("llvm-nm", "--print-armap", path)
    assert re.search(r"_?digits_run in digits\.(o|obj)", index)
    assert path.read_bytes()[8:].startswith(b"#1/" if machine.name == "apple" else b"/ ")



@needs("gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64", "lld-link")
@pytest.mark.parametrize("machine", [BASELINE[0], BASELINE[1]], ids=lambda machine: machine.abi.name)
def test_large_frames_touch_every_page_of_the_stack(machine: Machine, tmp_path: Path) -> None:
    """Windows makes the pages of a stack one after the other, so a function may not step over one; what sees to it is
    the library's own."""
    made = kernel("""
        kernel deep(x: f32[10] const, y: f32[10] out)
          stack t: f32[5000]
          for i:5000
            t[i] = x[i % 10]
          for i:10
            y[i] = t[4990 + i] + t[i]
    """)
    program = program_of(made)
    emit(program, machine, [Emit.LIBRARY], tmp_path)
    library = tmp_path / "model.dll"
    assert not list(lief.parse(str(library)).imports)
    x = np.arange(10, dtype=np.float32)
    np.testing.assert_array_equal(run_flat(machine, library, 64, x, "model_run"), x * 2)


@pytest.mark.skipif("fma" not in host_features(), reason="needs a CPU with fma")
@needs("wine", "x86_64-w64-mingw32-gcc", "lld-link")
@pytest.mark.parametrize("route", ["c", "static", "dll"])
def test_windows_programs_run_in_wine(route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINEDEBUG", "-all")
    machine = select("windows")
    program = compile_source(read(DIGITS), machine).program
    emit(program, machine, [Emit.C if route == "c" else Emit.LIBRARY], tmp_path)
    files = {"c": sorted(tmp_path.glob("*.c")), "static": [tmp_path / "digits.lib"], "dll": [tmp_path / "digits.dll"]}
    name = program.inputs[0].name
    (outputs,) = build_and_run(program, machine, files[route], [{name: sample()}], include=tmp_path)
    wanted = ccml.load(DIGITS).run(sample())
    for key, value in wanted.items():
        np.testing.assert_allclose(outputs[key], value, rtol=1e-4, atol=1e-5)


@pytest.fixture
def every_layer_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "SMALLEST_PHASE", 1)
    monkeypatch.setattr(chunking, "SMALLEST_CHUNK", 1)


@pytest.mark.skipif("fma" not in host_features(), reason="needs a CPU with fma")
@needs("wine", "x86_64-w64-mingw32-gcc", "lld-link")
@pytest.mark.parametrize("route", ["c", "static", "dll"])
def test_threads_of_windows_in_wine(
    route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_layer_in_chunks: None
) -> None:
    """The same bits by the library's own threads, more of them than there are chunks, and by none."""
    monkeypatch.setenv("WINEDEBUG", "-all")
    machine = select("windows")
    program = compile_source(read(DIGITS), machine, goal=Goal(threads=2)).program
    assert any(kernel.chunked for kernel in program.kernels)
    emit(program, machine, [Emit.C if route == "c" else Emit.LIBRARY], tmp_path)
    files = {"c": sorted(tmp_path.glob("*.c")), "static": [tmp_path / "digits.lib"], "dll": [tmp_path / "digits.dll"]}
    samples = [{program.inputs[0].name: sample()}] * 3
    found = [
        build_and_run(program, machine, files[route], samples, include=tmp_path, how=Build(flags=(flag,)))
        for flag in ("-DMODEL_THREADS=0", "-DMODEL_THREADS=9")
    ]
    for alone, together in zip(*found, strict=True):
        for name, value in alone.items():
            assert value.tobytes() == together[name].tobytes()
    wanted = ccml.load(DIGITS).run(sample())
    for name, value in wanted.items():
        np.testing.assert_allclose(found[0][0][name], value, rtol=1e-4, atol=1e-5)


@needs("lld-link")
@pytest.mark.parametrize("machine", [*WINDOWS, *APPLE], ids=lambda machine: machine.abi.name)
def test_threads_import_what_the_system_has_of_them(
    machine: Machine, tmp_path: Path, every_layer_in_chunks: None
) -> None:
    assert machine.target.threads is not None
    ccml.compile(DIGITS, machine.name, tmp_path, abi=machine.abi.name, cpu=machine.cpu.name, emit=["lib"],
                 goal=Goal(threads=2))  # fmt: skip
    library = lief.parse(str(tmp_path / library_of(machine)))
    wanted = set(machine.target.threads.declarations)
    if isinstance(library, lief.PE.Binary):
        (system,) = library.imports
        assert system.name == "kernel32.dll" and {entry.name for entry in system.entries} == wanted
        assert {"digits_workers_start", "digits_workers_stop"} < {item.name for item in library.get_export().entries}
    else:
        imported = {symbol.name for symbol in library.imported_symbols} - {"dyld_stub_binder"}
        assert imported == {f"_{name}" for name in wanted}
        assert "/usr/lib/libSystem.B.dylib" in {item.name for item in library.libraries}


def test_what_nothing_runs_is_told_at_once(tmp_path: Path) -> None:
    program = compile_source(read(DIGITS), APPLE[0]).program
    with pytest.raises(ccml.CcmlError, match=r"nothing here runs programs for apple \(macos-arm64\)"):
        build_and_run(program, APPLE[0], [], [{program.inputs[0].name: sample()}], include=tmp_path)
