"""Weights in a file of their own: where each constant stands in it, and what the file looks like.

The file is mapped, or lies in a flash of its own; code reads it in place. Numbers are little endian::

    offset  bytes
         0      4  the letters CCMW
         4      4  1, the version of this format
         8      4  the identity of the model that the constants fit (``identity.model_id``)
        12      4  CRC-32 (that of IEEE 802.3 and zlib) of all bytes from 16 on
        16      8  length of the file in bytes
        24     40  zero
        64         constants, each at its offset, with zeros between them

The identity is that of the code and of the layout, without the values of the constants: the file of a model that was
trained again fits as long as the code would be the same.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import numpy as np

from ..record import record

MAGIC = int.from_bytes(b"CCMW", "little")
FORMAT = 1
CONTENT = 64
"""Where constants begin."""
CHECKED = 16
"""Where the bytes begin that the checksum is of."""
LEAST_ALIGN = 4
"""Of the address of the file, whose head is read in words. Uncompressed files in an Android package begin there."""


@record
class ExternalWeights:
    """The file of a program's constants: ``offsets`` by the names of buffers, ``size`` of all of it in bytes, and
    ``align``, what its address must be a multiple of."""

    offsets: Mapping[str, int]
    size: int
    align: int


@record
class Item:
    """A constant to be laid out: ``align`` is what the code needs, ``natural`` what is good for speed."""

    name: str
    array: np.ndarray
    align: int
    natural: int


def lay_out(programs: Sequence[Sequence[Item]]) -> list[ExternalWeights]:
    """One file for all constants of several programs; a constant of the same name and bytes in two of them is there
    once. Equal constants of one program stay apart, for they may differ in the next training."""
    known: dict[tuple[str, bytes], int] = {}
    end, base = CONTENT, LEAST_ALIGN
    found: list[dict[str, int]] = []
    for items in programs:
        offsets = {}
        for item in items:
            key = (item.name, sha256(_bytes(item.array)).digest())
            base = max(base, item.align)
            align = max(item.align, item.natural)
            offset = known.get(key)
            if offset is None or offset % align:
                offset = end + -end % align
                end = offset + item.array.nbytes
                known[key] = offset
            offsets[item.name] = offset
        found.append(offsets)
    return [ExternalWeights(offsets, end, base) for offsets in found]


def file_content(model: int, size: int, placed: Iterable[tuple[int, np.ndarray]]) -> bytes:
    """The file of ``size`` bytes for the model with the identity ``model``; ``placed`` are arrays at offsets."""
    content = bytearray(size)
    for offset, array in placed:
        data = _bytes(array)
        content[offset : offset + len(data)] = data
    struct.pack_into("<Q", content, CHECKED, size)
    checksum = zlib.crc32(memoryview(content)[CHECKED:])
    struct.pack_into("<IIII", content, 0, MAGIC, FORMAT, model, checksum)
    return bytes(content)


def _bytes(array: np.ndarray) -> bytes:
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C").tobytes()
