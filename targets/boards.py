"""The boards that QEMU emulates, one for each Cortex-M core: which machine, and where its memory is.

Addresses are those of QEMU 7.2 (hw/arm/mps2.c and hw/arm/mps2-tz.c), which implements Arm's application notes AN385,
AN386, AN500, AN505 and AN547. Cores with TrustZone start in secure state, so their memory is at the secure aliases.
"""

from __future__ import annotations

from .environment import Board, Environment, Region, Tool

CORTEX_M_GCC = Tool("arm-none-eabi-gcc", "apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")
_QEMU = Tool("qemu-system-arm", "apt install qemu-system-arm")
_MIB = 1 << 20
_VECTORS_SIZE = 0x400


def _board(machine: str, code: int, ram: int, psram: int) -> Board:
    """A board with 4 MiB for code, which begins with the vectors, 4 MiB of memory and 16 MiB of PSRAM."""
    whole = Region(code + _VECTORS_SIZE, 4 * _MIB - _VECTORS_SIZE)
    return Board(machine, code, whole, Region(psram, 16 * _MIB), Region(ram, 4 * _MIB))


_AN385 = _board("mps2-an385", 0x0000_0000, 0x2000_0000, 0x2100_0000)
_AN547 = Board(
    "mps3-an547", 0x0000_0000, Region(0x1100_0000, 2 * _MIB), Region(0x7000_0000, 512 * _MIB),
    Region(0x3100_0000, 4 * _MIB),
)  # fmt: skip
_BOARDS = {
    # QEMU has no board with a Cortex-M0 and much memory. A Cortex-M3 executes Armv6-M code unchanged.
    "cortex-m0": _AN385,
    "cortex-m0plus": _AN385,
    "cortex-m3": _AN385,
    "cortex-m4": _board("mps2-an386", 0x0000_0000, 0x2000_0000, 0x2100_0000),
    "cortex-m7": _board("mps2-an500", 0x0000_0000, 0x2000_0000, 0x6000_0000),
    "cortex-m33": _board("mps2-an505", 0x1000_0000, 0x3800_0000, 0x8000_0000),
    "cortex-m55": _AN547,
    # Nor one with a Cortex-M85, whose instructions a Cortex-M55 has as well.
    "cortex-m85": _AN547,
}


def board_environment(cpu: str) -> Environment:
    """Programs without an operating system on the board that has the core ``cpu``."""
    return Environment(
        CORTEX_M_GCC, _QEMU, ("startup.c", "io_semihosting.c"), link=("-nostdlib", "-lgcc", "-Wl,--gc-sections"),
        custom_link=("-lm", "-lc"), board=_BOARDS[cpu],
    )  # fmt: skip
