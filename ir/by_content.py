"""Values for the contents of arrays."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

Value = TypeVar("Value")

_Head = tuple[str, tuple[int, ...], bytes]

_SAMPLED = 64


class ByContent(Generic[Value]):
    """A mapping from arrays to values. Arrays are the same key where element type, shape and all bytes are equal, so
    that 0.0 is not -0.0.

    Neither copies nor digests of large arrays are made: only arrays that agree in type, shape and some bytes are
    compared. Those that were given are kept, and must not change.
    """

    def __init__(self) -> None:
        self._known: dict[_Head, list[tuple[np.ndarray, Value]]] = {}

    def get(self, array: np.ndarray) -> Value | None:
        """The value that was set last for an equal array, if there is one."""
        head, content = _parts(array)
        return next((value for other, value in self._known.get(head, ()) if _equal(other, content)), None)

    def set(self, array: np.ndarray, value: Value) -> None:
        """Gives an array a value."""
        head, content = _parts(array)
        self._known.setdefault(head, []).insert(0, (content, value))


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of an array in the order of its elements, as one dimension: its own memory, where that is dense."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one is other or np.array_equal(one, other)


def _parts(array: np.ndarray) -> tuple[_Head, np.ndarray]:
    """What equal arrays have in common, and the bytes of ``array``."""
    content = bytes_of(array)
    step = max(content.size // _SAMPLED, 1) | 1
    return (array.dtype.str, array.shape, content[:_SAMPLED].tobytes() + content[::step].tobytes()), content
