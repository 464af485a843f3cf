"""Tensors of strings at the interface: a last dimension of bytes, UTF-8, filled up with zeros.

A tensor of strings of shape S is one of type ``char`` and shape S + [bound]. A string of ``bound`` bytes has no zero at
its end; one with U+0000 in it cannot be told from a shorter one and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from ..errors import CcmlError, ErrorCode
from .types import DType, TensorType

_KINDS = "UOST"
"""Kinds of NumPy's arrays of strings: fixed width, objects, bytes, variable width."""


def is_text(array: np.ndarray) -> bool:
    """Whether the elements are strings as Python has them, not bytes of strings."""
    return array.dtype.kind in _KINDS and array.dtype != DType.CHAR.numpy


def utf8(text: object, name: str) -> bytes:
    """The bytes of one string. Raises ``BAD_INPUT`` for what is none, or contains U+0000."""
    if isinstance(text, str):
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as problem:
            raise CcmlError(ErrorCode.BAD_INPUT, f"a string is no valid Unicode: {problem}", loc=name) from problem
    elif isinstance(text, bytes):
        data = text
    else:
        raise CcmlError(ErrorCode.BAD_INPUT, f"expected strings, got a {type(text).__name__}", loc=name)
    if b"\0" in data:
        raise CcmlError(ErrorCode.BAD_INPUT, "a string contains U+0000, which ends strings here", loc=name)
    return data


def longest(array: np.ndarray, name: str) -> int:
    """The bytes of the longest string."""
    return max((len(utf8(text, name)) for text in array.reshape(-1).tolist()), default=0)


def encoded(array: np.ndarray, bound: int, name: str) -> np.ndarray:
    """Strings of shape S as ``char`` of shape S + [bound]. Raises ``BAD_INPUT`` where one is longer."""
    rows = [utf8(text, name) for text in array.reshape(-1).tolist()]
    most = max(map(len, rows), default=0)
    if most > bound:
        reason = f"a string has {most} bytes, the model takes at most {bound}"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=name, hint=f"--max {name}={most} compiles it for longer ones")
    data = b"".join(row.ljust(bound, b"\0") for row in rows)
    return np.frombuffer(data, np.uint8).view(DType.CHAR.numpy).reshape(*array.shape, bound)


def decoded(array: np.ndarray) -> np.ndarray:
    """``char`` of shape S + [bound] as strings of shape S; bytes that are no UTF-8 become U+FFFD."""
    *shape, bound = array.shape
    data = np.ascontiguousarray(array).tobytes()
    rows = (data[start : start + bound].split(b"\0")[0] for start in range(0, prod(shape) * bound, bound or 1))
    texts = [row.decode("utf-8", "replace") for row in rows]
    return np.array(texts, np.str_).reshape(shape)


def encoded_inputs(types: Mapping[str, TensorType], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """``arrays`` with those of strings as the interface has them; ones that are bytes already stay."""
    found = dict(arrays)
    for name, type_ in types.items():
        if type_.dtype is not DType.CHAR or name not in arrays:
            continue
        array = np.asarray(arrays[name])
        if array.ndim == type_.rank and array.dtype in (np.dtype(np.uint8), DType.CHAR.numpy):
            found[name] = np.ascontiguousarray(array).view(DType.CHAR.numpy)
        elif array.dtype.kind in _KINDS:
            found[name] = encoded(array, type_.shape[-1], name)
    return found
