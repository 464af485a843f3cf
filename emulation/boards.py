"""The boards that QEMU emulates, one for each core: which machine, and where its memory is.

Addresses are those of QEMU 7.2 (hw/arm/mps2.c and hw/arm/mps2-tz.c), which implements Arm's application notes AN385,
AN386, AN500, AN505 and AN547. Cores with TrustZone start in secure state, so their memory is at the secure aliases.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import CcmlError, ErrorCode
from ..targets import Machine

_MIB = 1 << 20
_VECTORS_SIZE = 0x400


@dataclass(frozen=True)
class Region:
    """``size`` bytes from address ``origin``."""

    origin: int
    size: int


@dataclass(frozen=True)
class Board:
    """``machine`` is QEMU's name; the core starts by the vector table at ``vectors``."""

    machine: str
    vectors: int
    code: Region
    ram: Region


def _board(machine: str, code: int, ram: int) -> Board:
    """A board with 4 MiB for code, which begins with the vectors, and 4 MiB of memory."""
    return Board(machine, code, Region(code + _VECTORS_SIZE, 4 * _MIB - _VECTORS_SIZE), Region(ram, 4 * _MIB))


_AN385 = _board("mps2-an385", 0x0000_0000, 0x2000_0000)
_AN547 = Board("mps3-an547", 0x0000_0000, Region(0x1100_0000, 2 * _MIB), Region(0x3100_0000, 4 * _MIB))
BOARDS = {
    # QEMU has no board with a Cortex-M0 and much memory. A Cortex-M3 executes Armv6-M code unchanged.
    "cortex-m0": _AN385,
    "cortex-m0plus": _AN385,
    "cortex-m3": _AN385,
    "cortex-m4": _board("mps2-an386", 0x0000_0000, 0x2000_0000),
    "cortex-m7": _board("mps2-an500", 0x0000_0000, 0x2000_0000),
    "cortex-m33": _board("mps2-an505", 0x1000_0000, 0x3800_0000),
    "cortex-m55": _AN547,
    # Nor one with a Cortex-M85, whose instructions a Cortex-M55 has as well.
    "cortex-m85": _AN547,
}
"""By the name of the CPU."""


def board_of(machine: Machine) -> Board:
    """The board that emulates ``machine``. Raises ``BAD_OPTION`` for a core that QEMU has not."""
    board = BOARDS.get(machine.cpu.name)
    if board is None:
        raise CcmlError(
            ErrorCode.BAD_OPTION, f"no emulated board has a {machine.cpu.name}", hint=f"there are: {', '.join(BOARDS)}"
        )
    return board
