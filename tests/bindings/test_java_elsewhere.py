"""Java on Windows and macOS: the libraries of the class, called as a virtual machine does where they can be run."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import ccml
import numpy as np
import pytest

from tests.cli.command_line import ccml as command
from tests.packaging.packages import HOSTILE_OUTPUT, write_model
from tests.packaging.run import run
from tests.packaging.test_aar import FEATURES, HARNESS, MISUSE, SIZES
from tests.tools import needs

lief = pytest.importorskip("lief")

SYSTEMS = [("windows", "x64", "net_jni.dll"), ("windows", "arm64", "net_jni.dll"),
           ("apple", "macos-arm64", "libnet_jni.dylib"), ("apple", "macos-x86_64", "libnet_jni.dylib")]  # fmt: skip


def jar_of(target: str, abi: str, folder: Path) -> tuple[Path, dict[str, bytes]]:
    """The model's folder, and what is in its jar."""
    write_model(folder / "net.onnx")
    ccml.compile(folder / "net.onnx", target, folder / "out", abi=abi, bindings=["java"])
    with zipfile.ZipFile(folder / "out" / "java" / "net" / "net.jar") as jar:
        return folder / "out", {name: jar.read(name) for name in jar.namelist()}


@needs("javac", "lld-link")
@pytest.mark.parametrize(("target", "abi", "file"), SYSTEMS)
def test_the_jar_holds_the_library_of_the_system(target: str, abi: str, file: str, tmp_path: Path) -> None:
    """Under the name by which the class asks for it; it exports the native methods, and needs the system alone."""
    out, content = jar_of(target, abi, tmp_path)
    source = (out / "java/net/src/main/java/ccml/net/Net.java").read_text()
    assert f'getResourceAsStream("{file}")' in source and f"ccml/net/{file}" in content
    binary = lief.parse(io.BytesIO(content[f"ccml/net/{file}"]))
    exported = {getattr(function, "name", function) for function in binary.exported_functions}
    assert {f"Java_ccml_net_Net_{method}" for method in ("nativeBytes", "nativeRun")} <= {
        name.removeprefix("_") for name in exported
    }
    needed = {str(getattr(library, "name", library)) for library in binary.libraries}
    assert needed <= {"@rpath/libnet_jni.dylib", "/usr/lib/libSystem.B.dylib"}


@needs("javac", "wine", "x86_64-w64-mingw32-gcc", "lld-link")
def test_native_methods_of_windows_in_wine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the convention of calls that Windows has, the outputs of this machine, and misuse noticed."""
    monkeypatch.setenv("WINEDEBUG", "-all")
    out, content = jar_of("windows", "x64", tmp_path)
    (tmp_path / "net_jni.dll").write_bytes(content["ccml/net/net_jni.dll"])
    (tmp_path / "input.bin").write_bytes(FEATURES.tobytes())
    source = (out / "java/net/src/main/java/ccml/net/Net.java").read_text()
    (digest,) = re.findall(r"nativeBytes\((-?\d+)L\)", source)
    run("x86_64-w64-mingw32-gcc", "-std=c99", "-O1", HARNESS, "-o", "harness.exe", cwd=tmp_path)
    words = ("net_jni.dll", "Java_ccml_net_Net", digest, "input.bin", *map(str, SIZES))
    said = run("wine", tmp_path / "harness.exe", *words, cwd=tmp_path).splitlines()
    wrong, ran, scores, number, *misuse = (line for line in said if not line.startswith("wine: "))
    assert (wrong, ran, misuse) == ("wrong contract -1", "run 0", MISUSE)
    wanted = ccml.load(tmp_path / "net.onnx").run(FEATURES)
    found = np.frombuffer(bytes.fromhex(scores.removeprefix("output ")), np.float32)
    np.testing.assert_allclose(found, np.ravel(wanted[HOSTILE_OUTPUT]), rtol=1e-5)
    assert bytes.fromhex(number.removeprefix("output ")) == wanted["class"].tobytes()


def test_ios_has_no_java(tmp_path: Path) -> None:
    write_model(tmp_path / "net.onnx")
    done = command("compile", tmp_path / "net.onnx", "-t", "apple", "--abi", "ios-arm64", "--bindings", "java",
                   "-o", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 2 and "do not go with the target apple (ios-arm64)" in done.stderr
