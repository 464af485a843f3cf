"""Damaged TensorFlow Lite files: valid ones of one operator, with bits, words and ranges of bytes changed."""

from __future__ import annotations

import random
import struct

from tests.frontend_tflite.table import CASES

_WORDS = [0, 1, 2, 3, 4, 5, 8, 12, 16, 65, 255, 1000, 70000, 2**16 - 1, 2**24, 2**30, 2**31 - 1, 2**31, 2**32 - 1]
_REALS = [0.0, -1.0, 1e-45, 1e38, float("nan"), float("inf")]


def tflite_mutant(seed: int) -> bytes:
    """A damaged file."""
    rng = random.Random(seed)
    content = bytearray(rng.choice(CASES).content)
    if rng.random() < 0.05:
        return bytes(content[: rng.randrange(len(content))])
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        rng.choice((_bit, _word, _word, _real, _number, _number, _copied, _moved))(content, rng)
    content[4:8] = b"TFL3"
    return bytes(content)


def _place(content: bytearray, rng: random.Random) -> int:
    """The place of an aligned word."""
    return 4 * rng.randrange(len(content) // 4)


def _bit(content: bytearray, rng: random.Random) -> None:
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _word(content: bytearray, rng: random.Random) -> None:
    struct.pack_into("<I", content, _place(content, rng), rng.choice(_WORDS))


def _real(content: bytearray, rng: random.Random) -> None:
    struct.pack_into("<f", content, _place(content, rng), rng.choice(_REALS))


def _number(content: bytearray, rng: random.Random) -> None:
    """A small number (an extent, an index, a type, an offset) becomes one next to it."""
    place = _place(content, rng)
    (number,) = struct.unpack_from("<I", content, place)
    if number < 1 << 12:
        struct.pack_into("<I", content, place, max(number + rng.choice([-4, -2, -1, 1, 2, 4]), 0))


def _copied(content: bytearray, rng: random.Random) -> None:
    source, target = _place(content, rng), _place(content, rng)
    content[target : target + 4] = content[source : source + 4]


def _moved(content: bytearray, rng: random.Random) -> None:
    """An offset leads to where another table or vector is."""
    place, target = _place(content, rng), _place(content, rng)
    if target > place:
        struct.pack_into("<I", content, place, target - place)
