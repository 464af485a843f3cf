"""Casts between numbers and strings, in operators on the bytes of strings.

Which bytes belong to a number is found by running sums along a string: whether a digit, a point or an exponent has come
before. Up to 18 significant digits are an integer, of which a float is made by one power of ten (W. D. Clinger, How to
read floating point numbers accurately, 1990: exact rounding for up to 15 digits and exponents to 22).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext
from .string_tables import by_row, in_order
from .tensors import dtype_of

_SIGNIFICANT = 18
_EXPONENTS = {DType.F64: 300}
"""Powers of ten in the table, by type; two of them are multiplied. Others are 0 or infinite beyond ``_FEW``."""

_FEW = 80


def cast_strings(ctx: NodeContext) -> Sequence[Value]:
    """Strings to numbers, each row of the table once. Behind a number, and where there is none, bytes are ignored."""
    x, to = ctx.input(0), dtype_of(ctx.integer("to"), ctx.loc)
    if to is DType.CHAR:
        return [x]
    return [by_row(ctx.builder, x, lambda rows: _Parser(ctx, rows).number(to), ctx.loc)]


class _Parser:
    """Numbers of rows of bytes, u8[rows, bytes]."""

    def __init__(self, ctx: NodeContext, rows: Value) -> None:
        self.ctx, self.byte = ctx, ctx.cast(rows, DType.I32)
        self.digit = self._and(self._at_least("0"), ctx.emit("not", self._at_least(":")))
        self.lower = ctx.emit("bitor", self.byte, self._of(32))

    def number(self, to: DType) -> Value:
        begun = self._seen(self.digit)
        if not to.is_float:
            ended = self._seen(self._and(begun, self.ctx.emit("not", self.digit)))
            whole = self._signed(self._and(self.digit, self.ctx.emit("not", ended)), self.ctx.emit("not", begun))
            none = self.ctx.emit("eq", whole, self.ctx.scalar(0, whole))
            return self.ctx.emit("not", none) if to is DType.BOOL else self.ctx.cast(whole, to)
        return self.ctx.cast(self._real(begun, to), to)

    def _real(self, begun: Value, to: DType) -> Value:
        ctx = self.ctx
        exponent = self._seen(self._and(begun, ctx.emit("eq", self.lower, self._of(ord("e")))))
        before = ctx.emit("not", exponent)
        mantissa = self._and(self.digit, before)
        zero = ctx.emit("eq", self.byte, self._of(ord("0")))
        counted = self._and(mantissa, self._seen(self._and(mantissa, ctx.emit("not", zero))))
        kept = self._and(counted, ctx.emit("le", self._running(counted), self._of(_SIGNIFICANT)))
        left_out = self._and(counted, ctx.emit("not", kept))
        behind_point = self._seen(ctx.emit("eq", self.byte, self._of(ord("."))))
        more = self._count(self._and(left_out, ctx.emit("not", behind_point)))
        fewer = self._count(self._and(self._and(mantissa, ctx.emit("not", left_out)), behind_point))
        at_point = ctx.emit("sub", more, fewer)
        given = self._signed(self._and(self.digit, exponent), exponent)
        power = ctx.emit("add", ctx.cast(at_point, DType.I64), given)
        size = self._scaled(ctx.cast(self._whole(kept), DType.F64), power, _EXPONENTS.get(to, _FEW))
        size = ctx.emit("where", self._has("i"), ctx.scalar(np.inf, size), size)
        size = ctx.emit("where", self._has("a"), ctx.scalar(np.nan, size), size)
        negative = self._any(self._and(before, ctx.emit("eq", self.byte, self._of(ord("-")))))
        return ctx.emit("where", negative, ctx.emit("neg", size), size)

    def _scaled(self, mantissa: Value, power: Value, most: int) -> Value:
        """``mantissa * 10^power``; division by a power is exact where multiplication by its inverse is not."""
        ctx, table = self.ctx, self.ctx.constant(10.0 ** np.arange(most + 1))
        size = ctx.emit("min", ctx.emit("abs", power), ctx.scalar(2 * most, power))
        first = ctx.emit("min", size, ctx.scalar(most, size))
        factors = [ctx.emit("gather", table, part, axis=0) for part in (first, ctx.emit("sub", size, first))]
        up = down = mantissa
        for factor in factors:
            up, down = ctx.emit("mul", up, factor), ctx.emit("div", down, factor)
        scaled = ctx.emit("where", ctx.emit("lt", power, ctx.scalar(0, power)), down, up)
        nothing = ctx.emit("eq", mantissa, ctx.scalar(0, mantissa))
        return ctx.emit("where", nothing, ctx.scalar(0, mantissa), scaled)

    def _signed(self, digits: Value, signs: Value) -> Value:
        """The integer of ``digits``, negative where there is a minus among ``signs``."""
        whole, minus = self._whole(digits), self._and(signs, self.ctx.emit("eq", self.byte, self._of(ord("-"))))
        return self.ctx.emit("where", self._any(minus), self.ctx.emit("neg", whole), whole)

    def _whole(self, digits: Value) -> Value:
        """Of at most 19 digits, i64."""
        ctx = self.ctx
        count = ctx.emit("reduce", ctx.cast(digits, DType.I32), kind="sum", axes=(1,), keepdims=True)
        behind = ctx.emit("sub", count, self._running(digits))
        place = ctx.emit("max", ctx.emit("min", behind, self._of(18)), self._of(0))
        powers = ctx.emit("gather", ctx.constant(10 ** np.arange(19, dtype=np.int64)), place, axis=0)
        value = ctx.cast(ctx.emit("sub", self.byte, self._of(ord("0"))), DType.I64)
        entries = ctx.emit("where", digits, ctx.emit("mul", value, powers), ctx.scalar(0, powers))
        return ctx.emit("reduce", entries, kind="sum", axes=(1,), keepdims=False)

    def _of(self, number: int) -> Value:
        return self.ctx.scalar(number, self.byte)

    def _at_least(self, character: str) -> Value:
        return self.ctx.emit("ge", self.byte, self._of(ord(character)))

    def _and(self, a: Value, b: Value) -> Value:
        return self.ctx.emit("and", a, b)

    def _running(self, flags: Value) -> Value:
        counted = self.ctx.cast(flags, DType.I32)
        return self.ctx.emit("cumsum", counted, axis=1, exclusive=False, reverse=False)

    def _seen(self, flags: Value) -> Value:
        return self.ctx.emit("gt", self._running(flags), self._of(0))

    def _count(self, flags: Value) -> Value:
        return self.ctx.emit("reduce", self.ctx.cast(flags, DType.I32), kind="sum", axes=(1,), keepdims=False)

    def _any(self, flags: Value) -> Value:
        return self.ctx.emit("gt", self._count(flags), self._of(0))

    def _has(self, letter: str) -> Value:
        return self._any(self.ctx.emit("eq", self.lower, self._of(ord(letter))))


def cast_to_strings(ctx: NodeContext, x: Value) -> Value:
    """Integers in decimal, bool as 1 and 0."""
    if x.dtype.is_float:
        reason, hint = "casts of floats to strings are not supported", "end the model before it, or cast to integers"
        raise ctx.unsupported(reason, hint=hint)
    if x.name in ctx.builder.extents:
        raise ctx.unsupported("strings of a dimension whose extent is only known in a run", hint="fix the dimension")
    count, bits = prod(x.shape), max(8 * x.dtype.numpy.itemsize, 8)
    signed = x.dtype.numpy.kind == "i"
    wide = DType.U64 if bits > 32 else DType.U32
    digits = len(str(2**bits - 1))
    flat = ctx.reshape(ctx.cast(x, DType.U8) if x.dtype is DType.BOOL else x, (count, 1))
    negative = ctx.emit("lt", flat, ctx.scalar(0, flat)) if signed else ctx.constant(np.zeros((1, 1), bool))
    plain = ctx.cast(flat, wide)
    size = ctx.emit("where", negative, ctx.emit("sub", ctx.scalar(0, plain), plain), plain)
    powers = 10 ** np.arange(digits, dtype=np.uint64)
    above = ctx.emit("ge", size, ctx.constant(powers[None, 1:].astype(wide.numpy)))
    more = ctx.emit("reduce", ctx.cast(above, DType.I32), kind="sum", axes=(1,), keepdims=True)
    sign = ctx.cast(negative, DType.I32)
    columns = ctx.constant(np.arange(digits + signed, dtype=np.int32)[None])
    power = ctx.emit("add", ctx.emit("sub", more, columns), sign)
    zero = ctx.scalar(0, power)
    place = ctx.emit("max", ctx.emit("min", power, ctx.scalar(digits - 1, power)), zero)
    divided = ctx.emit("div", size, ctx.emit("gather", ctx.constant(powers.astype(wide.numpy)), place, axis=0))
    ten = ctx.scalar(10, divided)
    digit = ctx.emit("sub", divided, ctx.emit("mul", ctx.emit("div", divided, ten), ten))
    byte = ctx.cast(ctx.emit("add", digit, ctx.scalar(ord("0"), digit)), DType.U8)
    byte = ctx.emit("where", ctx.emit("lt", power, zero), ctx.scalar(0, byte), byte)
    byte = ctx.emit("where", ctx.emit("lt", columns, sign), ctx.scalar(ord("-"), byte), byte)
    return in_order(ctx.builder, byte, x.shape, f"{ctx.stem}.numbers")
