"""Windows and iOS on 64-bit Arm: libraries ask the system whether its processor has dot products.

The emulated processors have them (``cortex-a76``) or die of them (``cortex-a72``), and the system says so or not.
"""

from __future__ import annotations

import re
from pathlib import Path

import ccml
import lief
import numpy as np
import pytest

from tests.artifacts.commands import run
from tests.artifacts.flat_image import bindings, flat_run
from tests.artifacts.test_cpu_guard import ERROR_CPU, OK, SIZE, expected, network
from tests.tools import needs

# KUSER_SHARED_DATA.ProcessorFeatures[PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE], and a name of sysctl(3).
BYTE, NAME = "0x7FFE029F", "hw.optional.arm.FEAT_DotProd"
SYSTEMS = {"windows": ("arm64", "net.dll"), "apple": ("ios-arm64", "libnet.dylib")}
WITH, WITHOUT = "cortex-a76", "cortex-a72"
ILLEGAL = -4
INPUT = (np.arange(SIZE) - 20).astype(np.int8).tobytes()
both = pytest.mark.parametrize("system", SYSTEMS)


def told(system: str, library: Path, has: int | None) -> list[str]:
    """The arguments of ``flat_image`` that say whether there are dot products; ``None``: an old system knows no such
    name, and has a 0 where later ones have something."""
    if system == "windows":
        return [f"page:{BYTE}:{has or 0}"]
    known = [] if has is None else [f"value:{NAME}:{has}"]
    return [*known, *(f"bind:{place}" for place in bindings(library, "sysctlbyname"))]


def compiled(system: str, cpu: str, folder: Path, kind: str = "lib") -> Path:
    abi, file = SYSTEMS[system]
    ccml.compile(network(folder), system, folder, abi=abi, cpu=cpu, emit=[kind])
    return folder / file


def dot_level(system: str) -> str:
    return {"windows": "armv8.2-a-dotprod", "apple": "apple-a13"}[system]


def arena(folder: Path) -> int:
    return int(re.findall(r"NET_ARENA_SIZE (\d+)", (folder / "net.h").read_text())[0])


def machine(system: str) -> ccml.targets.Machine:
    return ccml.targets.select(system, SYSTEMS[system][0])


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64", "lld-link")
@both
def test_libraries_choose_by_what_the_system_says(system: str, tmp_path: Path) -> None:
    library, wanted = compiled(system, "all", tmp_path), expected(network(tmp_path))
    ran = {}
    for cpu, has in ((WITH, 1), (WITHOUT, 0), (WITHOUT, None), (WITHOUT, 1)):
        given = told(system, library, has)
        image = (arena(tmp_path), INPUT, SIZE, "net_run", cpu, given)
        try:
            code, output = flat_run(machine(system), library, *image)
        except AssertionError as error:
            code, output = error.args[0][0], b""
        ran[cpu, has] = code, list(np.frombuffer(output, np.int8))
    good = (OK, wanted)
    assert ran == {(WITH, 1): good, (WITHOUT, 0): good, (WITHOUT, None): good, (WITHOUT, 1): (ILLEGAL, [])}


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64", "lld-link")
@both
def test_an_error_code_where_the_processor_has_no_dot_products(system: str, tmp_path: Path) -> None:
    library, wanted = compiled(system, dot_level(system), tmp_path), expected(network(tmp_path))
    for has, code in ((1, OK), (0, ERROR_CPU)):
        given = told(system, library, has)
        found, output = flat_run(machine(system), library, arena(tmp_path), INPUT, SIZE, "net_run", WITH, given)
        assert found == code
        assert code != OK or list(np.frombuffer(output, np.int8)) == wanted


@needs("lld-link")
def test_only_ios_is_asked_by_a_function(tmp_path: Path) -> None:
    assert not list(lief.parse(str(compiled("windows", "all", tmp_path))).imports)
    library = lief.parse(str(compiled("apple", "all", tmp_path)))
    assert {symbol.name for symbol in library.imported_symbols} == {"_sysctlbyname", "dyld_stub_binder"}
    assert [item.name for item in library.libraries] == ["@rpath/libnet.dylib", "/usr/lib/libSystem.B.dylib"]


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@both
def test_c_asks_the_system(system: str, tmp_path: Path) -> None:
    """The macros by which compilers tell the system are defined by hand: no compiler for it is here that links."""
    compiled(system, dot_level(system), tmp_path, "c")
    wanted = expected(network(tmp_path))
    main = Path(__file__).with_name("system_says.c")
    macro = {"windows": "_WIN32", "apple": "__APPLE__"}[system]
    flags = {main: [f"-DBYTE={BYTE}", f'-DNAME="{NAME}"', f"-I{tmp_path}"]}
    flags |= {source: [f"-D{macro}", "-U__linux__"] for source in sorted(tmp_path.glob("*.c"))}
    objects = [tmp_path / f"{source.stem}.o" for source in flags]
    for (source, own), path in zip(flags.items(), objects, strict=True):
        run("aarch64-linux-gnu-gcc", "-O1", "-march=armv8.2-a+dotprod", *own, "-c", source, "-o", path)
    run("aarch64-linux-gnu-gcc", "-static", *objects, "-o", tmp_path / "program")
    for has, code in ((1, OK), (0, ERROR_CPU)):
        first, values = run("qemu-aarch64", tmp_path / "program", str(has)).splitlines()
        assert int(first) == code
        assert code != OK or [int(value) for value in values.split()] == wanted
