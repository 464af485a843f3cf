"""Where the code for a target is built and tried on a developer's machine: compilers, emulators, boards."""

from __future__ import annotations

from ..record import record


@record
class Tool:
    """A program outside ccml, and the command that installs it."""

    command: str
    install: str


@record
class Region:
    """``size`` bytes from address ``origin``."""

    origin: int
    size: int


@record
class Board:
    """A machine that QEMU emulates, by its name there; the core starts by the vector table at ``vectors``.
    ``constants`` is the largest of its memories, which has the weights."""

    machine: str
    vectors: int
    code: Region
    constants: Region
    ram: Region


@record
class Environment:
    """How a program around a model is built and run.

    ``compiler`` builds it from the model, the common part of ``emulation/c`` and ``driver``, the parts there that are
    for this environment, with ``flags`` and, behind the files, ``link``. ``emulator`` runs it, on ``board`` where there
    is no operating system; without one, nothing does here. On the processors ``native``, as Python's
    ``platform.machine()`` has them, programs run by themselves and ``gcc`` builds them. ``sysroot`` holds the libraries
    of the emulated system. ``loader`` is a file of ``emulation/c`` that the emulator runs and that loads the program.
    ``refused_flags`` of the ELF header are those that the loader of the emulated system does not accept. ``suffix``
    ends the names of programs.
    """

    compiler: Tool
    emulator: Tool | None
    driver: tuple[str, ...]
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    custom_link: tuple[str, ...] = ()
    board: Board | None = None
    native: tuple[str, ...] = ()
    sysroot: str = ""
    loader: str = ""
    refused_flags: int = 0
    suffix: str = ""


def linux(
    compiler: str, install: str, emulator: str, sysroot: str, native: tuple[str, ...] = (), refused_flags: int = 0
) -> Environment:
    """Linux, of this machine or in QEMU's user mode."""
    return Environment(
        Tool(compiler, f"apt install {install}"), Tool(emulator, "apt install qemu-user"), ("io_posix.c",),
        link=("-ldl",), custom_link=("-lm",), native=native, sysroot=sysroot, refused_flags=refused_flags,
    )  # fmt: skip
