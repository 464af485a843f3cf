"""Packages are built by their tools, or by stubs of these, and their applications find the right result."""

from __future__ import annotations

import json
import re
import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.packages.ecosystem import ECOSYSTEMS, NAMES, Ecosystem
from onnx import save

from tests.packaging.odd_models import ODD_MODELS, often_or_in_check
from tests.packaging.packages import HOSTILE_OUTPUT, STUBS, Packages, make_packages, write_model
from tests.packaging.run import run
from tests.tools import needs

ARM_KINDS = tuple(set(NAMES) - {"esp-idf", "aar", "xcframework"})
HOST_KINDS = ("cmake", "make", "arduino", "platformio", "zephyr", "esp-idf")
ARM_FLAGS = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-O1", "-ffp-contract=off")
QEMU = (
    "qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none", "-nic", "none",
    "-semihosting-config", "enable=on,target=native", "-kernel",
)  # fmt: skip


def assert_right(said: str, packages: Packages) -> None:
    """The application says so, and its bytes are the model's output; floats of another compiler to the last digits."""
    assert "net: the result is right" in said
    lines = [line.removeprefix("ccml: ") for line in said.splitlines() if line.startswith("ccml: ")]
    content = bytes.fromhex("".join(line.split()[2] for line in lines if line.startswith("output 0 ")))
    np.testing.assert_allclose(np.frombuffer(content, np.float32), packages.scores[0], rtol=1e-5)
    assert "status 0" in lines


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return make_packages(tmp_path_factory.mktemp("host"), "generic", HOST_KINDS)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return make_packages(tmp_path_factory.mktemp("arm"), "cortex-m4", ARM_KINDS)


@pytest.fixture(scope="module")
def riscv(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return make_packages(tmp_path_factory.mktemp("riscv"), "riscv32", ("esp-idf", "make"))


# ---------------------------------------------------------------- CMake and make


@needs("gcc")
def test_cmake_builds_installs_and_is_found(host: Packages, tmp_path: Path) -> None:
    build, prefix, user = tmp_path / "build", tmp_path / "prefix", tmp_path / "user"
    run("cmake", "-G", "Ninja", "-S", host / "cmake", "-B", build, cwd=tmp_path)
    run("cmake", "--build", build, cwd=tmp_path)
    said = run("ctest", "--test-dir", build, "--verbose", cwd=tmp_path)
    assert_right("\n".join(line.removeprefix("1: ") for line in said.splitlines()), host)
    assert re.search(r"net: \d+\.\d{3} ms", said)
    run("cmake", "--install", build, "--prefix", prefix, cwd=tmp_path)
    user.mkdir()
    (user / "main.c").write_text('#include <net.h>\nint main(void) { return net_run(0, 0, 0, 0) != NET_ERROR_NULL; }\n')
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(net 1.0 REQUIRED)\n"
        "add_executable(user main.c)\ntarget_link_libraries(user net::net)\n"
    )
    run("cmake", "-G", "Ninja", "-S", user, "-B", user / "b", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=tmp_path)
    run("cmake", "--build", user / "b", cwd=tmp_path)
    run(user / "b" / "user", cwd=tmp_path)
    pc = next(prefix.rglob("net.pc")).read_text()
    assert "Libs: -L${libdir} -lnet" in pc and "@" not in pc


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_cmake_cross_compiles(arm: Packages, tmp_path: Path) -> None:
    toolchain = arm / "cmake" / "toolchain.cmake"
    toolchain_option = f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"
    run("cmake", "-G", "Ninja", "-S", arm / "cmake", "-B", tmp_path, toolchain_option, cwd=tmp_path)
    run("cmake", "--build", tmp_path, cwd=tmp_path)
    said = run("ctest", "--verbose", cwd=tmp_path)
    assert_right("\n".join(line.removeprefix("1: ") for line in said.splitlines()), arm)


WARNINGS = "-Werror -Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion"


@needs("make", "gcc")
def test_make_builds_without_a_warning_and_sanitizers_say_nothing(host: Packages) -> None:
    sanitizers = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"
    assert_right(run("make", "run", "CC=gcc", f"CFLAGS={WARNINGS} -pedantic {sanitizers}", cwd=host / "make"), host)


@needs("make", "arm-none-eabi-gcc", "qemu-system-arm")
def test_make_for_a_board(arm: Packages) -> None:
    assert_right(run("make", "run", f"CFLAGS={WARNINGS}", cwd=arm / "make"), arm)


@needs("make", "riscv64-unknown-elf-gcc", "qemu-riscv32")
def test_make_for_risc_v_measures_layers(riscv: Packages) -> None:
    said = run("make", "run", cwd=riscv / "make")
    assert_right(said, riscv)
    ticks = [int(line.split()[3]) for line in said.splitlines() if line.startswith("ccml: layer ")]
    (total,) = (int(line.split()[2]) for line in said.splitlines() if line.startswith("ccml: run "))
    assert len(ticks) > 1 and 0 < sum(ticks) <= total


@needs("make", "gcc")
@pytest.mark.parametrize("name", often_or_in_check(ODD_MODELS, "ranged", "texts"))
def test_every_kind_of_interface_has_an_application(name: str, tmp_path: Path) -> None:
    """Strings, states, extents, no elements at all: without a warning, under sanitizers."""
    model, options = ODD_MODELS[name]
    save(model, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "generic", tmp_path / "out", emit=["c"], options=options, packages=["make"])
    flags = f"CFLAGS={WARNINGS} -pedantic -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    assert "odd: the result is right" in run("make", "run", "CC=gcc", flags, cwd=tmp_path / "out" / "make" / "odd")


# ---------------------------------------------------------------- Arduino and PlatformIO


@needs("arduino-builder", "g++", "gcc")
def test_arduino_finds_builds_and_runs_the_library(host: Packages, tmp_path: Path) -> None:
    """By Arduino's own build tool, from the archive that its library manager takes, on this computer as a board."""
    zipfile.ZipFile(host.folder / "arduino" / "net.zip").extractall(tmp_path / "libraries")
    sketch = tmp_path / "libraries" / "net" / "examples" / "net_check" / "net_check.ino"
    (tmp_path / "build").mkdir()
    places = ["-hardware", STUBS / "arduino" / "hardware", "-tools", tmp_path, "-libraries", tmp_path / "libraries"]
    options = ["-fqbn", "ccml:host:pc", "-build-path", tmp_path / "build"]
    run("arduino-builder", "-compile", *places, *options, sketch, cwd=tmp_path)
    assert_right(run(tmp_path / "build" / "net_check.ino.elf", cwd=tmp_path), host)


def test_an_arduino_library_says_what_its_specification_asks_for(arm: Packages) -> None:
    """Arduino's "Library specification": the fields of library.properties, layout 1.5, and the folder in the zip."""
    lines = (arm / "arduino" / "library.properties").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    wanted = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert wanted <= fields.keys() and all(fields[key] for key in wanted)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,62}", fields["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    assert fields["includes"] == "net.h" and (arm / "arduino" / "src" / "net.h").is_file()
    names = zipfile.ZipFile(arm.folder / "arduino" / "net.zip").namelist()
    assert "net/library.properties" in names and "net/examples/net_check/net_check.ino" in names


def test_platformio_accepts_the_library(arm: Packages, tmp_path: Path) -> None:
    """By PlatformIO's own parser and schema, for both of the manifests that it reads."""
    pytest.importorskip("platformio", reason="needs platformio: pip install platformio")
    from platformio.package.manifest.parser import ManifestParserFactory
    from platformio.package.manifest.schema import ManifestSchema

    for path in (arm / "platformio" / "library.json", arm / "arduino" / "library.properties"):
        found = ManifestSchema().load_manifest(ManifestParserFactory.new_from_file(str(path)).as_dict())
        assert found["name"] == "net" and found["version"] == "1.0.0"


@needs("g++", "gcc")
def test_a_platformio_library_builds_as_its_manifest_says(host: Packages, tmp_path: Path) -> None:
    """Sources, include folders and flags are those of library.json; defines those of platformio.ini."""
    library, example = host / "platformio", host / "platformio" / "examples" / "net_check"
    manifest = json.loads((library / "library.json").read_text())
    build = manifest["build"]
    include, sources = library / build["includeDir"], sorted((library / build["srcDir"]).glob("*.c"))
    assert (include / manifest["headers"][0]).is_file()
    (listed,) = manifest["examples"]
    assert all((library / listed["base"] / file).is_file() for file in listed["files"])
    (define,) = set(re.findall(r"^build_flags = (.*)$", (example / "platformio.ini").read_text(), re.MULTILINE))
    run("gcc", "-c", *build["flags"], define, f"-I{include}", *sources, *(example / "src").glob("*.c"), cwd=tmp_path)
    run("g++", f"-I{include}", example / "src" / "main.cpp", *tmp_path.glob("*.o"), "-o", "app", cwd=tmp_path)
    assert_right(run(tmp_path / "app", cwd=tmp_path), host)


# ---------------------------------------------------------------- Zephyr and ESP-IDF


@needs("gcc")
def test_a_zephyr_module_is_built_by_its_sample(host: Packages, tmp_path: Path) -> None:
    sample = host / "zephyr" / "samples" / "net_check"
    run("cmake", "-G", "Ninja", "-S", sample, "-B", tmp_path, f"-DZephyr_DIR={STUBS / 'zephyr'}", cwd=tmp_path)
    run("cmake", "--build", tmp_path, cwd=tmp_path)
    said = run(tmp_path / "app", cwd=tmp_path)
    assert_right(said, host)
    assert "ccml: layer 0 " in said
    kconfig = (host / "zephyr" / "zephyr" / "Kconfig").read_text()
    asked = re.findall(r"^CONFIG_(CCML_NET\w*)=", (sample / "prj.conf").read_text(), re.MULTILINE)
    assert set(asked) <= set(re.findall(r"^config (\w+)$", kconfig, re.MULTILINE))


def configure_esp_idf(example: Path, build: Path, *arguments: str) -> None:
    idf = str(STUBS / "esp-idf")
    run("cmake", "-G", "Ninja", "-S", example, "-B", build, *arguments, cwd=build, IDF_PATH=idf)


@needs("gcc")
def test_an_esp_idf_component_compiles_its_sources_for_xtensa(host: Packages, tmp_path: Path) -> None:
    component = host / "esp-idf"
    arguments = (f"-DMODEL_COMPONENT={component}", "-DIDF_TARGET=esp32s3", "-DCONFIG_NET_LAYERS=1")
    example = component / "examples" / "net_check"
    configure_esp_idf(example, tmp_path, *arguments)
    run("cmake", "--build", tmp_path, cwd=tmp_path)
    said = run(tmp_path / "net_check", cwd=tmp_path)
    assert_right(said, host)
    assert "ccml: layer 0 " in said


def test_the_component_manager_of_esp_idf_accepts_the_manifests(riscv: Packages) -> None:
    """By its own parser and schema, which refuse versions and dependencies that they cannot read."""
    manager = pytest.importorskip("idf_component_tools.manager", reason="needs idf-component-manager: pip install it")
    component = riscv / "esp-idf"
    for folder in (component, component / "examples" / "net_check" / "main"):
        assert manager.ManifestManager(str(folder), "net").load().dependencies


@pytest.mark.parametrize(
    "chip, prebuilt", [("esp32c3", True), ("esp32c6", True), ("esp32h2", True), ("esp32s3", False)]
)
def test_an_esp_idf_component_links_objects_where_they_fit(
    riscv: Packages, tmp_path: Path, chip: str, prebuilt: bool
) -> None:
    component = riscv / "esp-idf"
    arguments = (f"-DMODEL_COMPONENT={component}", f"-DIDF_TARGET={chip}")
    example = component / "examples" / "net_check"
    configure_esp_idf(example, tmp_path, *arguments)
    rules = (tmp_path / "build.ninja").read_text()
    assert ("esp-idf/net/lib/libnet.a" in rules) == prebuilt
    assert ("src/net_weights.c" in rules) != prebuilt


# ---------------------------------------------------------------- CMSIS-Pack and STM32Cube


def test_a_cmsis_pack_describes_files_that_it_has(arm: Packages) -> None:
    """Names, order and values as PACK.xsd 1.7.7 has them."""
    pack = zipfile.ZipFile(arm.folder / "cmsis-pack" / "ccml.net.1.0.0.pack")
    root = ElementTree.fromstring(pack.read("ccml.net.pdsc"))
    order = [child.tag for child in root]
    assert order == [
        "vendor", "name", "description", "url", "license", "releases", "keywords", "conditions", "components",
    ]  # fmt: skip
    listed = [file.get("name") or "" for file in root.iter("file")]
    assert all(name in pack.namelist() or name.endswith("/") for name in [*listed, root.findtext("license") or ""])
    categories = {file.get("category") for file in root.iter("file")}
    assert categories <= {"doc", "include", "header", "source", "other", "library"}
    assert {file.get("attr") for file in root.iter("file")} <= {None, "template", "config"}
    (component,) = root.iter("component")
    assert {"Cclass", "Cgroup", "Cversion"} <= set(component.keys())
    assert component.get("condition") in {condition.get("id") for condition in root.iter("condition")}
    (release,) = root.iter("release")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", release.get("date") or "") and release.get("version") == "1.0.0"


def link_for_board(arm: Packages, sources: list[Path], includes: list[Path], tmp_path: Path, *flags: str) -> str:
    """An application with newlib on the board that QEMU emulates."""
    board = arm / "make" / "check"
    command = [*ARM_FLAGS, *flags, *(f"-I{folder}" for folder in [*includes, board]), *sources]
    link = ["--specs=nano.specs", "--specs=nosys.specs", "-nostartfiles", f"-Wl,-T,{board / 'linker.ld'}"]
    run("arm-none-eabi-gcc", *command, STUBS / "board.c", board / "startup.c", *link, "-Wl,--defsym=end=bss_end",
        "-o", "app", cwd=tmp_path)  # fmt: skip
    return run(*QEMU, tmp_path / "app", cwd=tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_the_sources_of_a_cmsis_pack_make_a_program(arm: Packages, tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    zipfile.ZipFile(arm.folder / "cmsis-pack" / "ccml.net.1.0.0.pack").extractall(folder)
    root = ElementTree.parse(folder / "ccml.net.pdsc").getroot()
    files = [(file.get("category"), folder / str(file.get("name"))) for file in root.iter("file")]
    sources = [path for category, path in files if category == "source"]
    includes = [path for category, path in files if category == "include"]
    said = link_for_board(arm, sources, [*includes, folder / "check", STUBS / "cmsis"], tmp_path)
    assert_right(said, arm)


@needs("make", "arm-none-eabi-gcc", "qemu-system-arm")
def test_the_files_for_stm32cube_make_a_program(arm: Packages, tmp_path: Path) -> None:
    """Sources and include paths are what the Makefile of STM32CubeMX gets."""
    project = arm / "cube"
    (project / "probe.mk").write_text(
        "include Middlewares/ccml/net/net.mk\nall:\n\t@echo $(C_SOURCES)\n\t@echo $(C_INCLUDES:-I%=%)\n"
    )
    sources, includes = run("make", "-s", "-f", "probe.mk", cwd=project).splitlines()
    core = project / "Core"
    files = [*(project / name for name in sources.split()), *(core / "Src").glob("*.c")]
    folders = [*(project / name for name in includes.split()), core / "Inc", core / "Src", STUBS / "cube"]
    said = link_for_board(arm, files, folders, tmp_path, "-DPROCESS=MX_net_Process")
    assert_right(said, arm)


# ---------------------------------------------------------------- every package


@pytest.mark.parametrize("ecosystem", [each for each in ECOSYSTEMS if each.name in ARM_KINDS], ids=str)
def test_every_package_tells_its_budget(arm: Packages, ecosystem: Ecosystem) -> None:
    folder = arm / ecosystem.name
    report = json.loads((arm.folder / "report.json").read_text())
    wanted = f"flash         {report['totals']['flash_bytes']:,} bytes"
    assert wanted in (folder / "README.md").read_text()
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".md", ".bin")]
    assert any(wanted in path.read_text(encoding="utf-8") for path in files)


def test_names_of_the_model_stay_text(arm: Packages, host: Packages) -> None:
    """Comments, strings, XML and templates hold whatever a model is called inside."""
    for packages in (arm, host):
        for path in packages.folder.rglob("*"):
            if path.suffix in (".c", ".h", ".md", ".txt", ".pdsc", ".json", ".ini") and path.is_file():
                text = path.read_text(encoding="utf-8")
                assert "\n#include \"y\"" not in text and "49 {%" not in text, path
                assert f"\n{HOSTILE_OUTPUT.splitlines()[1]}" not in text, path


def test_the_same_compilation_gives_the_same_packages(arm: Packages, tmp_path: Path) -> None:
    again = make_packages(tmp_path, "cortex-m4", ("arduino", "cmsis-pack"))
    for archive in ("arduino/net.zip", "cmsis-pack/ccml.net.1.0.0.pack"):
        assert (again.folder / archive).read_bytes() == (arm.folder / archive).read_bytes()


def test_packages_that_are_not_wanted_any_more_go(tmp_path: Path) -> None:
    write_model(tmp_path / "net.onnx")
    for wanted in (("make", "zephyr"), ("make",)):
        ccml.compile(tmp_path / "net.onnx", "generic", tmp_path / "out", emit=["c"], packages=wanted)
    assert (tmp_path / "out" / "make" / "net" / "Makefile").is_file()
    assert not (tmp_path / "out" / "zephyr").exists()


@pytest.mark.parametrize(
    "packages, target, said",
    [
        (("cube",), "x86", "a package for STM32Cube cannot be for the target x86"),
        (("esp-idf",), "cortex-m4", "a package for ESP-IDF cannot be for the target cortex-m4"),
        (("cmake",), "wasm32", "a package for CMake cannot be for the target wasm32"),
        (("aar",), "generic", "a package for Android cannot be for the target generic"),
        (("nix",), "x86", "no package 'nix'"),
    ],
)
def test_a_target_that_an_ecosystem_does_not_know(
    tmp_path: Path, packages: tuple[str, ...], target: str, said: str
) -> None:
    write_model(tmp_path / "net.onnx")
    with pytest.raises(ccml.CcmlError, match=re.escape(said)) as problem:
        ccml.compile(tmp_path / "net.onnx", target, tmp_path / "out", packages=packages)
    assert all(len(line) <= 80 for line in str(problem.value).splitlines())
    assert not (tmp_path / "out").exists()


def test_one_abi_at_a_time(tmp_path: Path) -> None:
    write_model(tmp_path / "net.onnx")
    with pytest.raises(ccml.CcmlError, match="a package is for one ABI"):
        ccml.compile(tmp_path / "net.onnx", "android", tmp_path / "out", abi="all", packages=["cmake"])


def test_the_wheel_has_every_template() -> None:
    """What pyproject.toml lists as data of the package."""
    root = Path(__file__).resolve().parents[2]
    data = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    (pattern,) = data["ccml.packages"]
    templates = {path.relative_to(root / "packages").as_posix() for path in (root / "packages").glob(pattern)}
    named = {f"templates/{template.source}.j2" for each in ECOSYSTEMS for template in each.templates}
    assert named <= templates
