"""What values an integer expression can have, as far as the clamps in it tell."""

from __future__ import annotations

from ..ir.build import clamped, convert
from ..ir.loops import I32, Binary, Bitcast, Const, Convert, Expr
from ..ir.types import DType
from .float_exprs import float_format
from .integer_exprs import dtype_limits

Limits = tuple[float, float]


def widened(x: Expr, dtype: DType) -> Expr:
    """``x`` as the wider integer type ``dtype``, without the way through a narrow one that its value fits anyway."""
    if isinstance(x, Convert) and x.x.type == I32.with_lanes(x.type.lanes) and x.type.dtype.is_integer:
        found, (least, most) = limits(x.x), dtype_limits(x.type.dtype)
        if found is not None and least <= found[0] and found[1] <= most:
            x = x.x
    return convert(x, dtype)


def limits(x: Expr) -> Limits | None:
    """The least and the greatest value of ``x``: a number that is clamped, or one that
    :func:`~ccml.ops.rounding_exprs.round_to_integer` makes of such a number; ``None`` of all other expressions."""
    if not isinstance(x, Binary):
        return None
    if x.op == "sub" and isinstance(x.x, Bitcast) and isinstance(x.y, Const):
        return _rounded(x.x.x, x.y)
    return _clamped(x)


def _clamped(x: Expr) -> Limits | None:
    """Of ``min(max(.., least), most)``."""
    found = clamped(x)
    if found is None:
        return None
    _, least, most = found
    return None if least.value > most.value else (least.value, most.value)


def _rounded(total: Expr, subtracted: Const) -> Limits | None:
    """Of ``bits(x + magic) - subtracted`` with a clamped ``x``."""
    if not isinstance(total, Binary) or total.op != "add" or not isinstance(total.y, Const):
        return None
    found = _clamped(total.x)
    if found is None or total.type.dtype is not DType.F32:
        return None
    fmt = float_format(total)
    highest = 2 ** (fmt.mantissa - 1)
    sums = [end + total.y.value - fmt.round_magic for end in found]
    if any(end % 1 or abs(end) >= highest for end in sums):
        return None
    offset = int(fmt.dtype.numpy.type(fmt.round_magic).view(fmt.signed.numpy)) - subtracted.value
    return sums[0] + offset, sums[1] + offset
