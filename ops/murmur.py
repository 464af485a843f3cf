"""MurmurHash3 of rows of bytes (A. Appleby, https://github.com/aappleby/smhasher, x86, 32 bits): type and meaning."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import flag, integer
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays
from .strings import text_of

MIX = 0xCC9E2D51, 15, 0x1B873593
"""A word is multiplied, rotated to the left and multiplied before it goes into the hash,"""
STEP = 13, 5, 0xE6546B64
"""which then is rotated, multiplied, and has a number added."""
END = (16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)
"""At the end what is shifted to the right goes into the hash, which then is multiplied."""


def infer_murmur3(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = operand(types, 0)
    if x.rank != 2 or x.dtype is not DType.U8 or not x.shape[1]:
        raise ValueError(f"no rows of bytes: {x}")
    return (TensorType(DType.U32, x.shape[:1]),)


def evaluate_murmur3(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The hash of each row: of the string in it where it is a ``text``, else of all its bytes."""
    (x,) = present_arrays(arrays)
    keys = [text_of(row) if flag(attrs, "text") else row.tobytes() for row in x]
    return (np.array([_hash(key, integer(attrs, "seed")) for key in keys], np.uint32),)


def _hash(key: bytes, seed: int) -> int:
    """Words are little-endian; the last one, if it has less than four bytes, is only mixed in."""
    state = seed & 0xFFFFFFFF
    for start in range(0, len(key), 4):
        word = int.from_bytes(key[start : start + 4], "little")
        state ^= _rotated(word * MIX[0], MIX[1]) * MIX[2] & 0xFFFFFFFF
        if len(key) - start >= 4:
            state = (_rotated(state, STEP[0]) * STEP[1] + STEP[2]) & 0xFFFFFFFF
    state ^= len(key)
    for shift, factor in END:
        state = (state ^ state >> shift) * factor & 0xFFFFFFFF
    return state


def _rotated(word: int, by: int) -> int:
    word &= 0xFFFFFFFF
    return (word << by | word >> (32 - by)) & 0xFFFFFFFF
