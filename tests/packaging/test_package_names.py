"""Names of models that an ecosystem has another meaning for, or that are longer than it takes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import ccml
import pytest

from tests.packaging.packages import write_model
from tests.packaging.run import run
from tests.tools import needs

LONG = "person_detection_on_grayscale_images_of_96x96_pixels_of_a_camera"
"""As long as a name may be: 64 characters."""


def package(folder: Path, name: str, target: str, kind: str) -> Path:
    """The package of that kind, written for the small model under that name."""
    write_model(folder / f"{name}.onnx")
    ccml.compile(folder / f"{name}.onnx", target, folder / "out", emit=["c"], packages=[kind])
    return folder / "out" / kind / name


@needs("gcc", "make")
@pytest.mark.parametrize("generator, name", [("Unix Makefiles", "test"), ("Ninja", "all")])
def test_cmake_has_a_target_of_that_name_itself(tmp_path: Path, generator: str, name: str) -> None:
    """The package builds, and other projects find the model under its own name."""
    folder, user = package(tmp_path, name, "generic", "cmake"), tmp_path / "user"
    run("cmake", "-G", generator, "-S", folder, "-B", "build", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'p'}", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    run("ctest", "--test-dir", "build", cwd=tmp_path)
    run("cmake", "--install", "build", cwd=tmp_path)
    user.mkdir()
    (user / "main.c").write_text(f"#include <{name}.h>\nint main(void) {{ return {name}_run(0, 0, 0, 0) == 0; }}\n")
    (user / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package({name} REQUIRED)\n"
        f"add_executable(user main.c)\ntarget_link_libraries(user {name}::{name})\n"
    )
    run("cmake", "-G", generator, "-S", user, "-B", user / "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'p'}", cwd=tmp_path)
    run("cmake", "--build", user / "b", cwd=tmp_path)
    run(user / "b" / "user", cwd=tmp_path)


def test_a_zephyr_module_switches_on_nothing_of_zephyr(tmp_path: Path) -> None:
    """CONFIG_SENSOR and CONFIG_NET are subsystems of Zephyr: what a module defines is called after ccml."""
    folder = package(tmp_path, "sensor", "cortex-m4", "zephyr")
    defined = re.findall(r"^config (\w+)$", (folder / "zephyr" / "Kconfig").read_text(), re.MULTILINE)
    assert defined == ["CCML_SENSOR", "CCML_SENSOR_LAYERS"]
    asked = re.findall(r"^CONFIG_(\w*SENSOR\w*)=", (folder / "samples" / "sensor_check" / "prj.conf").read_text(), re.M)
    assert asked == defined
    assert "name: ccml_sensor\n" in (folder / "zephyr" / "module.yml").read_text()


def test_a_long_name_is_shortened_where_an_ecosystem_takes_fewer_characters(tmp_path: Path) -> None:
    """``name`` of library.properties has at most 63 characters, ``Csub`` of PACK.xsd 32; other names stay others."""
    names, components = set(), set()
    for model in (LONG, f"{LONG[:-1]}x"):
        properties = (package(tmp_path, model, "cortex-m4", "arduino") / "library.properties").read_text()
        names.add(properties.splitlines()[0].removeprefix("name="))
        description = package(tmp_path, model, "cortex-m4", "cmsis-pack") / f"ccml.{model}.pdsc"
        (component,) = ElementTree.parse(description).getroot().iter("component")
        components.add(component.get("Csub"))
    assert len(names) == len(components) == 2
    assert all(re.fullmatch(r"person_detection\w{1,47}", name) for name in names)
    assert all(re.fullmatch(r"person_detection\w{1,16}", str(name)) for name in components)
