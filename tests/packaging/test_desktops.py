"""Packages for Windows and Apple's systems: what is in them, and their applications where they can run."""

from __future__ import annotations

import plistlib
from pathlib import Path

import ccml
import lief
import pytest
from ccml.errors import CcmlError

from tests.packaging.packages import make_packages, write_model
from tests.packaging.run import run
from tests.tools import needs


@needs("x86_64-w64-mingw32-gcc", "wine", "lld-link")
def test_cmake_cross_compiles_for_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINEDEBUG", "-all")
    package = make_packages(tmp_path, "windows", ("cmake",)) / "cmake"
    build = tmp_path / "build"
    run("cmake", "-S", package, "-B", build, "-G", "Ninja", "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake",
        "-DBUILD_SHARED_LIBS=ON", cwd=package)  # fmt: skip
    run("cmake", "--build", build, cwd=package)
    assert "net: the result is right" in run("wine", build / "net_check.exe", cwd=build)


@needs("clang")
def test_an_xcframework_has_a_library_for_every_abi(tmp_path: Path) -> None:
    root = make_packages(tmp_path, "apple", ("xcframework",)) / "xcframework"
    framework = root / "net.xcframework"
    libraries = plistlib.loads((framework / "Info.plist").read_bytes())["AvailableLibraries"]
    found = {entry["LibraryIdentifier"]: entry["SupportedArchitectures"] for entry in libraries}
    assert found == {
        "ios-arm64": ["arm64"], "ios-arm64-simulator": ["arm64"], "macos-arm64_x86_64": ["arm64", "x86_64"],
    }  # fmt: skip
    both = (framework / "macos-arm64_x86_64" / "libnet.a").read_bytes()
    assert both.startswith(bytes.fromhex("cafebabe 00000002"))
    for folder in found:
        headers = framework / folder / "Headers" / "net"
        assert (headers / "module.modulemap").is_file()
        triples = {"ios-arm64": ["arm64-apple-ios12.0"], "ios-arm64-simulator": ["arm64-apple-ios14.0-simulator"]}
        for triple in triples.get(folder, ["arm64-apple-macosx11.0", "x86_64-apple-macosx10.13"]):
            run("clang", f"--target={triple}", "-ffreestanding", "-fsyntax-only", "-Wall",
                "-Wno-unused-function", "-Werror", "-std=c99",
                "-x", "c", headers / "net.h", cwd=headers)  # fmt: skip
            assert (headers / "net.hpp").is_file()
    check = root / "check"
    for source in check.glob("net_*.c"):
        include = framework / "ios-arm64" / "Headers" / "net"
        run("clang", "--target=arm64-apple-ios12.0", "-ffreestanding", "-fsyntax-only", "-Wall", "-Werror",
            f"-I{include}", source, cwd=check)  # fmt: skip


@needs("llvm-ar")
def test_both_parts_of_a_universal_library_are_whole(tmp_path: Path) -> None:
    root = make_packages(tmp_path, "apple", ("xcframework",)) / "xcframework"
    both = (root / "net.xcframework" / "macos-arm64_x86_64" / "libnet.a").read_bytes()
    for number, cpu in enumerate(("ARM64", "X86_64")):
        entry = both[8 + 20 * number :][:20]
        start, size = int.from_bytes(entry[8:12], "big"), int.from_bytes(entry[12:16], "big")
        folder = tmp_path / cpu
        folder.mkdir()
        (folder / "lib.a").write_bytes(both[start : start + size])
        run("llvm-ar", "x", "lib.a", cwd=folder)
        assert lief.MachO.parse(str(folder / "net.o")).at(0).header.cpu_type.name == cpu


def test_python_takes_the_library_of_its_system(tmp_path: Path) -> None:
    write_model(tmp_path / "net.onnx")
    for target, library in (("windows", "net.dll"), ("apple", "libnet.dylib")):
        out = tmp_path / target
        ccml.compile(tmp_path / "net.onnx", target, out, bindings=["python"])
        package = out / "python" / "net" / "net"
        assert (package / library).read_bytes() == (out / library).read_bytes()
        assert f'_LIBRARY = "{library}"' in (package / "__init__.py").read_text()


def test_what_an_xcframework_cannot_be_for(tmp_path: Path) -> None:
    write_model(tmp_path / "net.onnx")
    with pytest.raises(CcmlError, match="cannot be for the target windows") as caught:
        ccml.compile(tmp_path / "net.onnx", "windows", tmp_path / "out", packages=["xcframework"])
    assert caught.value.hint == "--target apple"
