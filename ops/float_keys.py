"""Keys of floats: signed integers of the same size in the order of the floats.

The key of a float is its bits, of negative numbers with all bits but the sign inverted; -0.0 is at -1 below 0.0 at 0
(Warren, Hacker's Delight, 17-3). Neighbouring floats have neighbouring keys. NaN of either sign lies beyond the
infinities. Adding or subtracting how far from the end of the integers an infinity is, modulo their number, brings the
NaN of the one side over to the other: so all NaN are below, or all above, what is a number.
"""

from __future__ import annotations

import numpy as np

from ..ir.loops import Expr
from ..ir.types import DType

KEYS = {DType.F32: DType.I32, DType.F64: DType.I64}
"""The integers that keys of floats are."""


def keys_of(x: np.ndarray) -> np.ndarray:
    """The keys of f32 or f64 that are not NaN, that of -0.0 as for 0.0; in int64."""
    return bit_keys(x + 0.0).astype(np.int64)


def bit_keys(x: np.ndarray) -> np.ndarray:
    """The keys of f32 or f64 as they are, NaN among them, in integers of their size."""
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def floats_of(keys: np.ndarray, dtype: DType) -> np.ndarray:
    """The floats of the keys of numbers; what is beyond an infinity becomes that infinity."""
    end = np.iinfo(KEYS[dtype].numpy).max - spare_keys(dtype)
    bits = np.clip(keys.astype(np.int64), -1 - end, end).astype(KEYS[dtype].numpy)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits).view(dtype.numpy)


def spare_keys(dtype: DType) -> int:
    """How many keys are beyond each infinity: those of NaN, which ``keys + spare_keys`` brings below all numbers and
    ``keys - spare_keys`` above them."""
    return 2 ** {DType.F32: 23, DType.F64: 52}[dtype] - 1


def key_of(bits_of_float: Expr) -> Expr:
    """The key of a float by its bits, in compiled code."""
    last = 8 * bits_of_float.type.dtype.size - 1
    return bits_of_float ^ ((bits_of_float >> last) & (2**last - 1))
