"""Instructions said in other operations of the loop IR, for machines that lack them."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.loops import I32, Binary, Call, Const, Convert, Expr, Type
from ..ir.types import DType
from ..ops.scale_exprs import expand_mul_high

I64 = Type(DType.I64)
_NARROW = {8: DType.I8, 16: DType.I16}


def root_in_single(call: Call) -> Expr | None:
    """A square root of halves in single precision: rounding twice changes nothing, as 24 >= 2 * 11 + 2 digits."""
    if call.type.dtype is not DType.F16:
        return None
    single = Type(DType.F32, call.type.lanes)
    return Convert(call.type, Call(call.function, (Convert(single, call.args[0]),), single))


def dot_of_halves(call: Call) -> Expr | None:
    """``acc`` and both products of the halfwords of two words; vectors are not expanded."""
    if call.type != I32:
        return None
    acc, x, w = call.args
    for bit in (0, 16):
        acc = Binary("add", acc, Binary("mul", part(x, bit, 16), part(w, bit, 16)))
    return acc


def widened(bit: int) -> Callable[[Call], Expr]:
    """Two signed bytes, 16 bits apart, from ``bit`` on, as halfwords."""

    def expand(call: Call) -> Expr:
        (word,) = call.args
        low = Binary("and", part(word, bit, 8), Const(0xFFFF, I32))
        return Binary("or", low, Binary("shl", part(word, bit + 16, 8), Const(16, I32)))

    return expand


def saturated(call: Call) -> Expr:
    """A clamp."""
    return Binary("min", Binary("max", call.args[0], Const(-128, I32)), Const(127, I32))


def high_of_short_products(call: Call) -> Expr:
    """The upper word of a product from four products of halfwords."""
    return expand_mul_high(*call.args)


def high_of_wide_product(call: Call) -> Expr:
    """The upper word of a product of 64 bits."""
    x, y = (Convert(I64, arg) for arg in call.args)
    return Convert(I32, Binary("shr", Binary("mul", x, y), Const(32, I64)))


def part(word: Expr, bit: int, bits: int) -> Expr:
    """The signed integer of ``bits`` from ``bit`` on."""
    moved = Binary("shr", word, Const(bit, I32)) if bit else word
    return Convert(I32, Convert(Type(_NARROW[bits]), moved))
