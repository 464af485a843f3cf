"""Packages of several models in one library: one application runs a sample of each."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import ccml
import pytest
from onnx import save

from tests.cli.command_line import ccml as command
from tests.packaging.odd_models import ODD_MODELS
from tests.packaging.packages import STUBS, write_model
from tests.packaging.run import run
from tests.tools import needs

SAID = ("net: the result is right", "odd: the result is right", "pair: all results are right")


def link(folder: Path, target: str, packages: tuple[str, ...], **options: object) -> Path:
    """The library ``pair`` of a network, and of a model with a state."""
    write_model(folder / "net.onnx")
    proto, own = ODD_MODELS["state"]
    save(proto, folder / "odd.onnx")
    out = folder / target
    ccml.link([folder / "net.onnx", (folder / "odd.onnx", own)], target, out, name="pair", packages=packages, **options)  # type: ignore[arg-type]
    return out


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packages = ("cmake", "make", "arduino", "platformio", "zephyr")
    return link(tmp_path_factory.mktemp("host"), "generic", (*packages, "esp-idf", "cmsis-pack", "cube"))


@needs("gcc")
def test_cmake_builds_installs_and_is_found(host: Path, tmp_path: Path) -> None:
    """With the headers of all models."""
    build, prefix, user = tmp_path / "build", tmp_path / "prefix", tmp_path / "user"
    run("cmake", "-G", "Ninja", "-S", host / "cmake" / "pair", "-B", build, cwd=tmp_path)
    run("cmake", "--build", build, cwd=tmp_path)
    said = run(build / "pair_check", cwd=tmp_path)
    assert all(line in said.splitlines() for line in SAID)
    assert {line.split()[2] for line in said.splitlines() if line.startswith("ccml: layer ")} >= {"0", "1"}
    run("cmake", "--install", build, "--prefix", prefix, cwd=tmp_path)
    user.mkdir()
    (user / "main.c").write_text(
        "#include <pair.h>\nint main(void) { return net_run(0, 0, 0, 0) != NET_ERROR_NULL || "
        "odd_run(0, 0, 0, 0) != ODD_ERROR_NULL; }\n"
    )
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(pair 1.0 REQUIRED)\n"
        "add_executable(user main.c)\ntarget_link_libraries(user pair::pair)\n"
    )
    run("cmake", "-G", "Ninja", "-S", user, "-B", user / "b", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=tmp_path)
    run("cmake", "--build", user / "b", cwd=tmp_path)
    run(user / "b" / "user", cwd=tmp_path)


@needs("make", "arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("external", [False, True], ids=["inside", "external"])
def test_make_for_a_board(external: bool, tmp_path: Path) -> None:
    out = link(tmp_path, "cortex-m4", ("make",), external_weights=external)
    flags = "CFLAGS=-Werror -Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion"
    said = run("make", "run", flags, cwd=out / "make" / "pair")
    assert all(line in said.splitlines() for line in SAID)


def test_zephyr_and_esp_idf_compile_all_of_it(host: Path, tmp_path: Path) -> None:
    sample = host / "zephyr" / "pair" / "samples" / "pair_check"
    run("cmake", "-G", "Ninja", "-S", sample, "-B", tmp_path, f"-DZephyr_DIR={STUBS / 'zephyr'}", cwd=tmp_path)
    run("cmake", "--build", tmp_path, cwd=tmp_path)
    assert SAID[2] in run(tmp_path / "app", cwd=tmp_path)
    component, build = host / "esp-idf" / "pair", tmp_path / "idf"
    build.mkdir()
    given = (f"-DMODEL_COMPONENT={component}", "-DIDF_TARGET=esp32s3", "-DCONFIG_PAIR_LAYERS=1")
    example = component / "examples" / "pair_check"
    run("cmake", "-G", "Ninja", "-S", example, "-B", build, *given, cwd=build, IDF_PATH=str(STUBS / "esp-idf"))
    run("cmake", "--build", build, cwd=build)
    assert SAID[2] in run(build / "pair_check", cwd=build)


def test_a_cmsis_pack_lists_the_files_of_all_models(host: Path) -> None:
    pack = zipfile.ZipFile(host / "cmsis-pack" / "ccml.pair.1.0.0.pack")
    root = ElementTree.fromstring(pack.read("ccml.pair.pdsc"))
    listed = [file.get("name") or "" for file in root.iter("file")]
    assert all(name in pack.namelist() or name.endswith("/") for name in listed)
    assert {f"check/{name}_check.c" for name in ("pair", "net", "odd")} <= set(listed)
    assert {f"include/{name}.h" for name in ("pair", "net", "odd")} <= set(listed)


@pytest.mark.parametrize("ecosystem", ["arduino", "platformio", "cube", "make"])
def test_every_source_is_there_and_readme_tells_of_each_model(host: Path, ecosystem: str) -> None:
    folder = host / ecosystem / "pair"
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert {"pair_kernels.c", "net.c", "odd.c", "pair.h", "net_check.c", "odd_sample.h", "pair_check.c"} <= names
    text = (folder / "README.md").read_text()
    assert re.findall(r"^## The model (\w+)$", text, re.MULTILINE) == ["net", "odd"]
    assert "NET_LAYER_DONE" in "".join(
        path.read_text() for path in folder.rglob("*") if path.suffix in (".md", ".ini", ".txt", "")
        and path.is_file()
    ) or ecosystem == "make"


def test_what_holds_one_model_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    done = command("link", "a=net.onnx", "b=net.onnx", "-t", "android", "--package", "aar", "-o", "out")
    assert done.exit_code == 2 and "a package for Android is for one model" in done.stderr
    assert not (tmp_path / "out").exists()
