"""Instructions said in other operations of the loop IR, for machines that lack them."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.build import convert, lt, maximum, minimum, select
from ..ir.loops import I8, I16, I32, I64, U16, Bitcast, Call, Expr, Type
from ..ir.types import DType
from ..ops.narrow_exprs import narrow
from ..ops.scale_exprs import expand_mul_high

_NARROW = {8: I8, 16: I16}


def product_and_sum(call: Call) -> Expr:
    x, y, z = call.args
    return x * y + z


def root_in_single(call: Call) -> Expr | None:
    """A square root of halves in single precision: rounding twice changes nothing, as 24 >= 2 * 11 + 2 digits."""
    if call.type.dtype is not DType.F16:
        return None
    single = Type(DType.F32, call.type.lanes)
    return call.type(Call(call.function, (single(call.args[0]),), single))


def dot_of_halves(call: Call) -> Expr | None:
    """``acc`` and both products of the halfwords of two words; vectors are not expanded."""
    if call.type != I32:
        return None
    acc, x, w = call.args
    for bit in (0, 16):
        acc = acc + part(x, bit, 16) * part(w, bit, 16)
    return acc


def long_dot_of_halves(call: Call) -> Expr | None:
    """Both products of the halfwords of two words added to ``acc`` in 64 bits; vectors are not expanded."""
    if call.type != I64:
        return None
    acc, x, w = call.args
    for bit in (0, 16):
        acc = acc + I64(part(x, bit, 16) * part(w, bit, 16))
    return acc


def rounded_to_bfloat(call: Call) -> Expr:
    """The bits of the float with the rounding added, or those of a NaN; the operand is repeated."""
    return narrow(call.args[0], DType.BF16, saturate=True, rounding="up", bind=lambda stem, value: value)


def widened(bit: int) -> Callable[[Call], Expr]:
    """Two signed bytes, 16 bits apart, from ``bit`` on, as halfwords."""

    def expand(call: Call) -> Expr:
        (word,) = call.args
        low = part(word, bit, 8) & 0xFFFF
        return low | (part(word, bit + 16, 8) << 16)

    return expand


def signed_bytes_of_halfwords(bit: int) -> Callable[[Call], Expr]:
    """The same in arithmetic of halfwords."""

    def expand(call: Call) -> Expr:
        (word,) = call.args
        halfwords: Expr = Bitcast(I16.with_lanes(2 * word.type.lanes), word)
        return Bitcast(word.type, (halfwords if bit else halfwords << 8) >> 8)

    return expand


def bytes_apart(bit: int) -> Callable[[Call], Expr]:
    """Two bytes, 16 bits apart, from ``bit`` on, as unsigned halfwords."""

    def expand(call: Call) -> Expr:
        (word,) = call.args
        return (word >> bit if bit else word) & 0x00FF00FF

    return expand


def bytes_of_halfwords(bit: int) -> Callable[[Call], Expr]:
    """What :func:`bytes_apart` gives in arithmetic of halfwords, which takes no mask for the upper bytes."""

    def expand(call: Call) -> Expr:
        (word,) = call.args
        halfwords: Expr = Bitcast(U16.with_lanes(2 * word.type.lanes), word)
        return Bitcast(word.type, halfwords >> bit if bit else halfwords & 0xFF)

    return expand


def widened_and_added(bit: int) -> Callable[[Call], Expr]:
    """The same, added to the halfwords of the first operand."""

    def expand(call: Call) -> Expr:
        acc, word = call.args
        low = (acc + part(word, bit, 8)) & 0xFFFF
        return low | (((acc >> 16) + part(word, bit + 16, 8)) << 16)

    return expand


def saturated(call: Call) -> Expr:
    """A clamp."""
    return minimum(maximum(call.args[0], -128), 127)


def high_of_short_products(call: Call) -> Expr:
    """The upper word of a product from four products of halfwords."""
    return expand_mul_high(*call.args)


def high_of_wide_product(call: Call) -> Expr:
    """The upper word of a product of 64 bits."""
    x, y = (convert(arg, DType.I64) for arg in call.args)
    return convert((x * y) >> 32, DType.I32)


def leading_zeros(call: Call) -> Expr:
    """By the exponent of the word as a float; the bit below the leading one is cleared, so that no rounding carries
    (Warren, "Hacker's Delight", 5-3)."""
    x = call.args[0]
    exponent = Bitcast(call.type, convert(x & ((x >> 1) ^ -1), DType.F32)) >> 23
    return select(lt(x, 0), 0, minimum(158 - exponent, 32))


def part(word: Expr, bit: int, bits: int) -> Expr:
    """The signed integer of ``bits`` from ``bit`` on."""
    moved = word >> bit if bit else word
    return I32(_NARROW[bits](moved))
