"""Where a machine's code is built and run: compiler, flags, the driver's parts, and the command that runs it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..emit_llvm.elf import MACHINES
from ..errors import CcmlError, ErrorCode
from ..targets import Machine
from .boards import Board, board_of
from .driver import DRIVER_FOLDER
from .toolchain import build, find_tool

_STACK_SIZE = 64 << 10
_EF_ARM_ABI_FLOAT_SOFT = 0x200


@dataclass(frozen=True)
class Platform:
    """``driver`` are the parts of the driver for this platform.

    ``link`` makes what the linker needs in a folder and returns its options; ``command`` is what runs a program, and
    ``loadable`` gives the bytes of a shared library in the form that the driver can load.
    """

    compiler: str
    driver: tuple[str, ...]
    link: Callable[[Path], Sequence[str]]
    command: Callable[[Path], Sequence[str]]
    loadable: Callable[[bytes], bytes] = bytes


@dataclass(frozen=True)
class _System:
    """Linux on a processor, and for other processors: the compiler, the emulator and where its libraries are."""

    processors: tuple[str, ...]
    compiler: str
    emulator: str
    sysroot: str


# Android's libraries need nothing of Android, so a program for Linux on the same processor can load them.
_SYSTEMS = {
    "x86_64": _System(("x86_64", "AMD64"), "x86_64-linux-gnu-gcc", "qemu-x86_64", "/usr/x86_64-linux-gnu"),
    "aarch64": _System(("aarch64", "arm64"), "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
    "armv7": _System((), "arm-linux-gnueabihf-gcc", "qemu-arm", "/usr/arm-linux-gnueabihf"),
}
"""By the first part of the triple."""


def platform_of(machine: Machine) -> Platform:
    """Where to run code for ``machine``. Raises ``BAD_OPTION`` where nothing here can."""
    if not machine.target.hosted:
        return _bare_metal(machine, board_of(machine))
    system = _SYSTEMS.get(machine.abi.triple.split("-")[0])
    if system is None:
        raise CcmlError(ErrorCode.BAD_OPTION, f"nothing here runs code for {machine.abi.triple}")
    return _linux(machine, system)


def _bare_metal(machine: Machine, board: Board) -> Platform:
    compiler = f"{machine.abi.cross_compile}gcc"
    regions = {
        "VECTORS": board.vectors,
        "CODE": board.code.origin,
        "CODE_SIZE": board.code.size,
        "RAM": board.ram.origin,
        "RAM_SIZE": board.ram.size,
        "STACK_SIZE": _STACK_SIZE,
    }

    def link(folder: Path) -> list[str]:
        """A linker script cannot take addresses from the command line, so the preprocessor puts them in."""
        macros = [f"-DBOARD_{name}={value:#x}" for name, value in regions.items()]
        template = str(DRIVER_FOLDER / "board.ld")
        build([find_tool(compiler), "-E", "-P", "-x", "c", *macros, template, "-o", "board.ld"], folder)
        return ["-nostdlib", "-lgcc", "-Wl,-T,board.ld", "-Wl,--gc-sections"]

    def command(program: Path) -> list[str]:
        semihosting = ["-semihosting-config", "enable=on,target=native"]
        quiet = ["-display", "none", "-monitor", "none", "-serial", "none", "-nic", "none"]
        return [find_tool("qemu-system-arm"), "-M", board.machine, *quiet, *semihosting, "-kernel", str(program)]

    return Platform(compiler, ("startup.c", "io_semihosting.c"), link, command)


def _linux(machine: Machine, system: _System) -> Platform:
    native = platform.machine() in system.processors

    def command(program: Path) -> list[str]:
        if native:
            return [str(program)]
        prefix = os.environ.get("QEMU_LD_PREFIX", system.sysroot)
        return [find_tool(system.emulator), "-L", prefix, str(program)]

    compiler = "gcc" if native else system.compiler
    return Platform(compiler, ("io_posix.c",), lambda _: ["-ldl"], command, _unmarked)


def _unmarked(image: bytes) -> bytes:
    """A shared library without the mark of the soft-float calling convention, with which Android's are compiled.

    Linux's loader for hard-float programs refuses it. Here both agree: only pointers and integers pass the API.
    """
    machine, flags = int.from_bytes(image[18:20], "little"), int.from_bytes(image[36:40], "little")
    if machine != MACHINES["arm"]:
        return image
    return image[:36] + (flags & ~_EF_ARM_ABI_FLOAT_SOFT).to_bytes(4, "little") + image[40:]
