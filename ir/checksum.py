"""The table by which code computes CRC-32, that of IEEE 802.3 and zlib, half a byte at a time."""

from __future__ import annotations

_POLYNOMIAL = 0xEDB88320


def crc_table() -> list[int]:
    """What each value of half a byte does to the checksum."""
    return [_shifted(value) for value in range(16)]


def _shifted(value: int) -> int:
    for _ in range(4):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value
