"""Sort keys: integers of 32 bits in the order of the elements of a tensor, NaN among them."""

from __future__ import annotations

from ..ir.build import bits, convert, ne, select
from ..ir.loops import Expr
from ..ir.types import DType
from ..ops.float_keys import key_of

NAN_KEY = (1 << 31) - 2
"""The key of every NaN, above those of all numbers."""

SHORT_KEYED = frozenset({DType.F32, DType.I8, DType.U8, DType.I16, DType.U16})
"""Element types whose keys leave both ends of 32 bits free."""

KEYED = SHORT_KEYED | {DType.F16, DType.I32, DType.U32}


def sort_key(value: Expr) -> Expr:
    """The key of a value, or of each lane, whose type is in :data:`KEYED`. -0.0 has that of 0.0."""
    dtype = value.type.dtype
    if dtype is DType.U32:
        return bits(value ^ (1 << 31), DType.I32)
    if not dtype.is_float:
        return convert(value, DType.I32)
    single = convert(value, DType.F32)
    return select(ne(single, single), NAN_KEY, key_of(bits(single + 0.0, DType.I32)))


def key_range(dtype: DType) -> tuple[int, int]:
    """The least key that an element type has or may have, and the number of bits of the range that begins there."""
    if dtype.is_float or dtype.size == 4:
        return -(1 << 31), 32
    width = 8 * dtype.size
    return (-(1 << (width - 1)) if dtype.is_signed else 0), width
