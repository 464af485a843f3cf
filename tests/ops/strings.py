"""Rows of bytes for tests of the operators on strings."""

from __future__ import annotations

import numpy as np


def text(*texts: str) -> np.ndarray:
    """Strings as u8[rows, bytes] of the longest."""
    rows = [each.encode() for each in texts]
    most = max(1, *map(len, rows))
    return np.frombuffer(b"".join(row.ljust(most, b"\0") for row in rows), np.uint8).reshape(-1, most)


def texts(rows: np.ndarray) -> list[str]:
    """The strings in rows of bytes."""
    return [row.tobytes().rstrip(b"\0").decode() for row in rows.reshape(-1, rows.shape[-1])]
