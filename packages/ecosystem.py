"""What a package for a build system consists of, as data: where a model's files go, and which others are written."""

from __future__ import annotations

from ..record import record
from ..targets import Machine


@record
class Template:
    """A file of a package: ``source`` is its template, ``path`` its place; ``{name}`` is the model's name in both.

    ``needs`` names the fact (``Facts`` in ``context.py``) without which the file is not written.
    """

    source: str
    path: str
    needs: str = ""


@record
class Ecosystem:
    """A build system and its packages.

    ``headers`` is the folder of the public header, ``sources`` that of everything else which is compiled,
    ``application`` that of what runs the model on a sample, ``library`` that of object code where the package has some.
    ``archive`` is the file that its tools install packages from, with the package in it below ``archive_root``.
    A package for ``every_abi`` has libraries for all of a target's, and its files are the business of a module of its
    own, ``aar.py`` or ``xcframework.py``.
    ``families`` are those of the targets that it builds for, and ``library_targets`` those whose object code it takes.
    """

    name: str
    title: str
    headers: str
    sources: str
    application: str
    templates: tuple[Template, ...]
    families: tuple[str, ...]
    library: str = ""
    library_targets: tuple[str, ...] = ()
    archive: str = ""
    archive_root: str = ""
    every_abi: bool = False

    def __str__(self) -> str:
        return self.name

    def builds_for(self, machine: Machine) -> bool:
        """Whether its projects can be for ``machine``; C of the generic target is for every machine."""
        return (machine.name == GENERIC and not self.every_abi) or machine.target.family in self.families


GENERIC = "generic"
CORTEX_M = "Cortex-M"
RISCV = "32-bit RISC-V"
_MICROCONTROLLERS = (CORTEX_M, RISCV)
_LINUX = ("x86", "64-bit Arm Linux")
_ANDROID = "Android"
_DESKTOPS = (*_LINUX, "Windows", "Apple")
TARGET_OF = {_ANDROID: "android", "Apple": "apple"}
"""The target of those families that packages for every ABI are for."""


def _readme(folder: str) -> Template:
    return Template(f"{folder}/README.md", "README.md")


_BARE = (
    Template("common/main_hosted.c", "check/main.c", "hosted"),
    Template("common/main_cortex_m.c", "check/main.c", "cortex_m"),
    Template("common/main_riscv.c", "check/main.c", "riscv"),
    Template("common/linker.ld", "check/linker.ld", "memory_map"),
)
"""The application without a framework: as a program of an operating system, or by itself on a core."""

ECOSYSTEMS: tuple[Ecosystem, ...] = (
    Ecosystem(
        name="cmake", title="CMake", headers="include", sources="src", application="check",
        families=(*_MICROCONTROLLERS, *_DESKTOPS, _ANDROID),
        templates=(
            Template("cmake/CMakeLists.txt", "CMakeLists.txt"),
            Template("cmake/Config.cmake.in", "cmake/{name}Config.cmake.in"),
            Template("cmake/pc.in", "cmake/{name}.pc.in"),
            Template("cmake/toolchain.cmake", "toolchain.cmake", "cross_compile"),
            _readme("cmake"),
            *_BARE,
        ),
    ),
    Ecosystem(
        name="arduino", title="Arduino", headers="src", sources="src", application="examples/{name}_check",
        families=_MICROCONTROLLERS, archive="{name}.zip", archive_root="{name}/",
        templates=(
            Template("arduino/library.properties", "library.properties"),
            Template("arduino/keywords.txt", "keywords.txt"),
            Template("arduino/check.ino", "examples/{name}_check/{name}_check.ino"),
            _readme("arduino"),
        ),
    ),
    Ecosystem(
        name="platformio", title="PlatformIO", headers="include", sources="src",
        application="examples/{name}_check/src", families=(*_MICROCONTROLLERS, *_LINUX),
        templates=(
            Template("platformio/library.json", "library.json"),
            Template("platformio/platformio.ini", "examples/{name}_check/platformio.ini"),
            Template("platformio/main.cpp", "examples/{name}_check/src/main.cpp"),
            _readme("platformio"),
        ),
    ),
    Ecosystem(
        name="zephyr", title="Zephyr", headers="include", sources="src", application="samples/{name}_check/src",
        families=(*_MICROCONTROLLERS, "x86"),
        templates=(
            Template("zephyr/module.yml", "zephyr/module.yml"),
            Template("zephyr/CMakeLists.txt", "zephyr/CMakeLists.txt"),
            Template("zephyr/Kconfig", "zephyr/Kconfig"),
            Template("zephyr/sample_CMakeLists.txt", "samples/{name}_check/CMakeLists.txt"),
            Template("zephyr/prj.conf", "samples/{name}_check/prj.conf"),
            Template("zephyr/sample.yaml", "samples/{name}_check/sample.yaml"),
            Template("zephyr/main.c", "samples/{name}_check/src/main.c"),
            _readme("zephyr"),
        ),
    ),
    Ecosystem(
        name="esp-idf", title="ESP-IDF", headers="include", sources="src", application="examples/{name}_check/main",
        families=(RISCV,), library="lib", library_targets=("riscv32",),
        templates=(
            Template("esp-idf/CMakeLists.txt", "CMakeLists.txt"),
            Template("esp-idf/Kconfig", "Kconfig"),
            Template("esp-idf/idf_component.yml", "idf_component.yml"),
            Template("esp-idf/example_CMakeLists.txt", "examples/{name}_check/CMakeLists.txt"),
            Template("esp-idf/main_CMakeLists.txt", "examples/{name}_check/main/CMakeLists.txt"),
            Template("esp-idf/main_idf_component.yml", "examples/{name}_check/main/idf_component.yml"),
            Template("esp-idf/sdkconfig.defaults", "examples/{name}_check/sdkconfig.defaults"),
            Template("esp-idf/main.c", "examples/{name}_check/main/main.c"),
            _readme("esp-idf"),
        ),
    ),
    Ecosystem(
        name="cmsis-pack", title="CMSIS-Pack", headers="include", sources="src", application="check",
        families=(CORTEX_M,), archive="ccml.{name}.{version}.pack",
        templates=(
            Template("cmsis-pack/pack.pdsc", "ccml.{name}.pdsc"),
            Template("cmsis-pack/LICENSE.txt", "LICENSE.txt"),
            Template("cmsis-pack/main.c", "check/main.c"),
            _readme("cmsis-pack"),
        ),
    ),
    Ecosystem(
        name="cube", title="STM32Cube", headers="Middlewares/ccml/{name}/Inc", sources="Middlewares/ccml/{name}/Src",
        application="Core/Src", families=(CORTEX_M,),
        templates=(
            Template("cube/CMakeLists.txt", "Middlewares/ccml/{name}/CMakeLists.txt"),
            Template("cube/model.mk", "Middlewares/ccml/{name}/{name}.mk"),
            Template("cube/app.h", "Core/Inc/app_{name}.h"),
            Template("cube/app.c", "Core/Src/app_{name}.c"),
            _readme("cube"),
        ),
    ),
    Ecosystem(
        name="make", title="make", headers="include", sources="src", application="check",
        families=(*_MICROCONTROLLERS, *_LINUX),
        templates=(Template("make/Makefile", "Makefile"), _readme("make"), *_BARE),
    ),
    Ecosystem(
        name="aar", title="Android", headers="", sources="", application="", families=(_ANDROID,),
        templates=(), every_abi=True,
    ),
    Ecosystem(
        name="xcframework", title="Apple", headers="", sources="", application="", families=("Apple",),
        templates=(), every_abi=True,
    ),
)  # fmt: skip

NAMES = tuple(ecosystem.name for ecosystem in ECOSYSTEMS)
