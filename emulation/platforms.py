"""Where a machine's code is built and run: the commands for the environment that a target's data describe."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from ..emit_c.compiler_flags import all_flags
from ..errors import CcmlError, ErrorCode
from ..targets import Board, Environment, Machine, Tool
from .driver import DRIVER_FOLDER
from .toolchain import build, find_tool, run_tool

_STACK_SIZE = 64 << 10


def is_native(environment: Environment) -> bool:
    """Whether programs for it run on this computer by themselves."""
    return platform.machine() in environment.native


def compiler_of(machine: Machine) -> str:
    """The compiler that builds programs for ``machine``."""
    environment = machine.abi.environment
    return "gcc" if is_native(environment) else environment.compiler.command


def link_options(machine: Machine, folder: Path) -> Sequence[str]:
    """The options of the linker, with what they need written into ``folder``."""
    environment = machine.abi.environment
    if environment.board is None:
        return environment.link
    _write_script(environment.board, compiler_of(machine), folder)
    return (*environment.link, "-Wl,-T,board.ld")


def _write_script(board: Board, compiler: str, folder: Path) -> None:
    """A linker script cannot take addresses from the command line, so the preprocessor puts them in."""
    regions = {
        "VECTORS": board.vectors,
        "CODE": board.code.origin,
        "CODE_SIZE": board.code.size,
        "CONSTANTS": board.constants.origin,
        "CONSTANTS_SIZE": board.constants.size,
        "RAM": board.ram.origin,
        "RAM_SIZE": board.ram.size,
        "STACK_SIZE": _STACK_SIZE,
    }
    macros = [f"-DBOARD_{name}={value:#x}" for name, value in regions.items()]
    template = str(DRIVER_FOLDER / "board.ld")
    build([find_tool(compiler), "-E", "-P", "-x", "c", *macros, template, "-o", "board.ld"], folder)


def emulator_of(machine: Machine) -> Tool:
    """What runs programs for ``machine``. Raises ``TOOLCHAIN`` where nothing does."""
    emulator = machine.abi.environment.emulator
    if emulator is None:
        reason = f"nothing here runs programs for {machine.name} ({machine.abi.name})"
        raise CcmlError(ErrorCode.TOOLCHAIN, reason, hint="try it on such a machine")
    return emulator


_OWN_C_LIBRARY = "libc.so.6"


def c_library_options(machine: Machine, compiler: str, folder: Path) -> list[str]:
    """Options of the linker by which the driver finds this system's C library under the name that shared libraries of
    the machine's need it: Android's is ``libc.so``. It is put into ``folder`` under that name."""
    library = machine.target.library
    if library is None or not library.c_library.startswith("libc.so") or library.c_library == _OWN_C_LIBRARY:
        return []
    path = run_tool([find_tool(compiler), *all_flags(machine, compiler), f"-print-file-name={_OWN_C_LIBRARY}"], folder)
    (folder / library.c_library).symlink_to(path.stdout.strip())
    return ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{folder}"]


def run_command(machine: Machine, program: Path) -> list[str]:
    """What runs ``program``."""
    environment = machine.abi.environment
    if is_native(environment):
        return [str(program)]
    command = [find_tool(emulator_of(machine).command)]
    if environment.board is not None:
        return [*command, *_board_options(environment.board), str(program)]
    if environment.sysroot:
        command += ["-L", os.environ.get("QEMU_LD_PREFIX", environment.sysroot)]
    if environment.loader:
        command.append(str(DRIVER_FOLDER / environment.loader))
    return [*command, str(program)]


def emulator_command(machine: Machine) -> list[str]:
    """What stands before a program for ``machine`` to run it on another computer; nothing for those of operating
    systems."""
    environment = machine.abi.environment
    if machine.target.hosted or environment.loader:
        return []
    options = [] if environment.board is None else _board_options(environment.board)
    return [] if environment.emulator is None else [environment.emulator.command, *options]


def _board_options(board: Board) -> list[str]:
    """Those of QEMU's system emulation, the last of which takes the program."""
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    quiet = ["-display", "none", "-monitor", "none", "-serial", "none", "-nic", "none"]
    return ["-M", board.machine, *quiet, *semihosting, "-kernel"]


def loadable(machine: Machine, image: bytes) -> bytes:
    """A shared library in the form that the driver can load: without the flags that its system's loader refuses."""
    refused = machine.abi.environment.refused_flags
    if not refused:
        return image
    flags = int.from_bytes(image[36:40], "little")
    return image[:36] + (flags & ~refused).to_bytes(4, "little") + image[40:]
