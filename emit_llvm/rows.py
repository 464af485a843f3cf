"""Inputs that a program fetches row by row, brought from arrays by a function of this process."""

from __future__ import annotations

import ctypes

import numpy as np

from ..ir.program import Interface

Row = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class RowSource(ctypes.Structure):
    """What the run function takes in the place of an input: the function that brings a row, and its context."""

    _fields_ = (("row", Row), ("context", ctypes.c_void_p))


def row_source(side: Interface, array: np.ndarray) -> np.ndarray:
    """The bytes of a :class:`RowSource` for the input ``side``, which comes by rows, of ``array``. They hold what they
    refer to. A row out of order is an error, as it would be of a sensor; the first one begins anew."""
    rows = side.rows_of(array)
    size, start, following = rows.nbytes // len(rows), rows.ctypes.data, 0

    def bring(_context: int | None, row: int, target: int) -> int:
        nonlocal following
        if row not in (0, following) or row == len(rows):
            return 1
        following = row + 1
        ctypes.memmove(target, start + row * size, size)
        return 0

    bring.rows = rows  # type: ignore[attr-defined]  # lives as long as the function does
    return np.frombuffer(memoryview(RowSource(Row(bring), None)), np.uint8)
