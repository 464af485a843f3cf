"""Boards that people own, as their makers' data sheets describe them: core, clock, memory.

``clock`` is the fastest that the board runs at, ``wait_states`` are those of its flash at that clock, before caches and
prefetch buffers; ``None`` where code runs from a serial flash through a cache. RAM is listed fastest first, without
what the core cannot use for data. Sizes are those of the chip: boot loaders and radio stacks take their part.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..record import record
from .environment import Region

_KIB, _MIB, _MHZ = 1 << 10, 1 << 20, 1_000_000


@record
class Ram:
    """A block of RAM by its name."""

    name: str
    region: Region


@record
class DevelopmentBoard:
    """A board: ``target`` is what ccml compiles for, ``clock`` in Hz.

    ``bare``: a program may begin with its vector table at the start of the flash, and fill it from there on.
    """

    name: str
    title: str
    chip: str
    target: str
    clock: int
    flash: Region
    ram: tuple[Ram, ...]
    wait_states: int | None
    bare: bool = True

    @property
    def largest_ram(self) -> Ram:
        """The largest block."""
        return max(self.ram, key=lambda block: block.region.size)

    @property
    def pools(self) -> dict[str, int]:
        """All blocks as ``--pool`` takes them."""
        return {block.name: block.region.size for block in self.ram}


def _ram(**blocks: tuple[int, int]) -> tuple[Ram, ...]:
    """Blocks as name = (origin, KiB)."""
    return tuple(Ram(name, Region(origin, kib * _KIB)) for name, (origin, kib) in blocks.items())


def _stm32(
    name: str, chip: str, target: str, mhz: int, flash: int, ram: tuple[Ram, ...], wait_states: int, title: str = ""
) -> DevelopmentBoard:
    region = Region(0x0800_0000, flash * _KIB)
    return DevelopmentBoard(name, title or name.upper(), chip, target, mhz * _MHZ, region, ram, wait_states)


def _nrf(name: str, title: str, chip: str, target: str, mhz: int, flash: int, ram: int, wait: int) -> DevelopmentBoard:
    blocks = _ram(sram=(0x2000_0000, ram))
    return DevelopmentBoard(name, title, chip, target, mhz * _MHZ, Region(0, flash * _KIB), blocks, wait)


def _esp32(name: str, title: str, chip: str, mhz: int, ram: tuple[Ram, ...]) -> DevelopmentBoard:
    flash = Region(0x4200_0000, 4 * _MIB)
    return DevelopmentBoard(name, title, chip, "riscv32", mhz * _MHZ, flash, ram, None, bare=False)


DEVELOPMENT_BOARDS: tuple[DevelopmentBoard, ...] = (
    _stm32("bluepill", "STM32F103C8", "cortex-m3", 72, 64, _ram(sram=(0x2000_0000, 20)), 2, "Blue Pill"),
    _stm32("nucleo-f103rb", "STM32F103RB", "cortex-m3", 72, 128, _ram(sram=(0x2000_0000, 20)), 2),
    _stm32("nucleo-g071rb", "STM32G071RB", "cortex-m0plus", 64, 128, _ram(sram=(0x2000_0000, 36)), 2),
    _stm32("nucleo-l073rz", "STM32L073RZ", "cortex-m0plus", 32, 192, _ram(sram=(0x2000_0000, 20)), 1),
    _stm32("nucleo-f401re", "STM32F401RE", "cortex-m4", 84, 512, _ram(sram=(0x2000_0000, 96)), 2),
    _stm32("nucleo-f411re", "STM32F411RE", "cortex-m4", 100, 512, _ram(sram=(0x2000_0000, 128)), 3),
    _stm32("nucleo-f446re", "STM32F446RE", "cortex-m4", 180, 512, _ram(sram=(0x2000_0000, 128)), 5),
    _stm32("nucleo-l476rg", "STM32L476RG", "cortex-m4", 80, 1024,
           _ram(sram=(0x2000_0000, 96), sram2=(0x1000_0000, 32)), 4),
    _stm32("b-l475e-iot01a", "STM32L475VG", "cortex-m4", 80, 1024,
           _ram(sram=(0x2000_0000, 96), sram2=(0x1000_0000, 32)), 4),
    _stm32("stm32f4-discovery", "STM32F407VG", "cortex-m4", 168, 1024,
           _ram(ccm=(0x1000_0000, 64), sram=(0x2000_0000, 128)), 5),
    _stm32("nucleo-u575zi", "STM32U575ZI", "cortex-m33", 160, 2048, _ram(sram=(0x2000_0000, 768)), 4),
    _stm32("nucleo-f746zg", "STM32F746ZG", "cortex-m7", 216, 1024,
           _ram(dtcm=(0x2000_0000, 64), sram=(0x2001_0000, 256)), 7),
    _stm32("nucleo-h743zi", "STM32H743ZI", "cortex-m7", 480, 2048,
           _ram(dtcm=(0x2000_0000, 128), sram=(0x2400_0000, 512)), 4),
    _nrf("microbit", "BBC micro:bit", "nRF51822", "cortex-m0", 16, 256, 16, 0),
    _nrf("microbit-v2", "BBC micro:bit V2", "nRF52833", "cortex-m4", 64, 512, 128, 2),
    _nrf("nrf52-dk", "nRF52 DK", "nRF52832", "cortex-m4", 64, 512, 64, 2),
    _nrf("nrf52840-dk", "nRF52840 DK", "nRF52840", "cortex-m4", 64, 1024, 256, 2),
    _nrf("arduino-nano33-ble", "Arduino Nano 33 BLE (Sense)", "nRF52840", "cortex-m4", 64, 1024, 256, 2),
    _nrf("nrf5340-dk", "nRF5340 DK", "nRF5340", "cortex-m33", 128, 1024, 512, 4),
    DevelopmentBoard(
        "arduino-zero", "Arduino Zero", "SAMD21G18", "cortex-m0plus", 48 * _MHZ, Region(0, 256 * _KIB),
        _ram(sram=(0x2000_0000, 32)), 1,
    ),
    DevelopmentBoard(
        "arduino-due", "Arduino Due", "SAM3X8E", "cortex-m3", 84 * _MHZ, Region(0x0008_0000, 512 * _KIB),
        _ram(sram=(0x2007_0000, 96)), 4,
    ),
    DevelopmentBoard(
        "arduino-uno-r4", "Arduino UNO R4", "RA4M1", "cortex-m4", 48 * _MHZ, Region(0, 256 * _KIB),
        _ram(sram=(0x2000_0000, 32)), 1, bare=False,
    ),
    DevelopmentBoard(
        "arduino-portenta-h7", "Arduino Portenta H7", "STM32H747XI", "cortex-m7", 480 * _MHZ,
        Region(0x0800_0000, 2 * _MIB), _ram(dtcm=(0x2000_0000, 128), sram=(0x2400_0000, 512)), 4,
    ),
    DevelopmentBoard(
        "raspberry-pi-pico", "Raspberry Pi Pico", "RP2040", "cortex-m0plus", 133 * _MHZ,
        Region(0x1000_0000, 2 * _MIB), _ram(sram=(0x2000_0000, 264)), None, bare=False,
    ),
    DevelopmentBoard(
        "raspberry-pi-pico2", "Raspberry Pi Pico 2", "RP2350", "cortex-m33", 150 * _MHZ,
        Region(0x1000_0000, 4 * _MIB), _ram(sram=(0x2000_0000, 520)), None, bare=False,
    ),
    DevelopmentBoard(
        "frdm-k64f", "FRDM-K64F", "MK64FN1M0", "cortex-m4", 120 * _MHZ, Region(0, 1024 * _KIB),
        _ram(sram_u=(0x2000_0000, 192), sram_l=(0x1FFF_0000, 64)), 4, bare=False,
    ),
    DevelopmentBoard(
        "teensy-4.1", "Teensy 4.1", "i.MX RT1062", "cortex-m7", 600 * _MHZ, Region(0x6000_0000, 8 * _MIB),
        _ram(dtcm=(0x2000_0000, 512), ocram=(0x2020_0000, 512)), None, bare=False,
    ),
    DevelopmentBoard(
        "ek-ra8m1", "EK-RA8M1", "RA8M1", "cortex-m85", 480 * _MHZ, Region(0x0200_0000, 2016 * _KIB),
        _ram(dtcm=(0x2000_0000, 64), sram=(0x2200_0000, 896)), 3, bare=False,
    ),
    _esp32("esp32-c3-devkitm-1", "ESP32-C3-DevKitM-1", "ESP32-C3", 160, _ram(sram=(0x3FC8_0000, 384))),
    _esp32("esp32-c6-devkitc-1", "ESP32-C6-DevKitC-1", "ESP32-C6", 160, _ram(sram=(0x4080_0000, 512))),
    _esp32("esp32-h2-devkitm-1", "ESP32-H2-DevKitM-1", "ESP32-H2", 96, _ram(sram=(0x4080_0000, 320))),
)  # fmt: skip


def find_board(name: str) -> DevelopmentBoard:
    """The board called ``name``. Raises ``KeyError`` whose message names ones that are similar."""
    board = next((each for each in DEVELOPMENT_BOARDS if each.name == name.lower()), None)
    if board is None:
        close = similar_boards(name)
        raise KeyError(f"no board '{name}'" + (f"; did you mean {' or '.join(close)}?" if close else ""))
    return board


def similar_boards(name: str) -> Sequence[str]:
    """At most three names that are like ``name``, or contain it."""
    names = [board.name for board in DEVELOPMENT_BOARDS]
    inside = [known for known in names if name and name.lower() in known]
    return (inside or difflib.get_close_matches(name.lower(), names, 3, 0.5))[:3]
