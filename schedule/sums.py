"""How the sums of a contraction with constant weights are added up: the accumulators, and what they start with.

Integers whose sums need more than 32 bits (``shift`` of the operator) have two ways. A multiply-accumulate may add up
in 64 bits. Where the CPU has vectors that add up in 32, weights are taken apart into two digits, each of which has sums
that 32 bits hold::

    w = 256 * high + low,   -128 <= low < 128
    sum(x * w) + start = 256 * (sum(x * high) + start_high) + (sum(x * low) + start_low)

With ``start = 256 * start_high + start_low`` and both sums known, the shift by s is exact in 32 bits:

    s <= 8:  (high_sum << 8 - s) + (low_sum >> s)
    s > 8:   high_sum + (low_sum >> 8) >> s - 8
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir.graph import Node
from ..ir.loops import I32, Buffer, Const, Expr, Load, LoopKind, Splat, Type, Var, as_expr
from ..ir.types import DType
from ..ops.integer import sum_shift, zero_point
from ..record import record
from ..targets.target import Dot
from .blocking import Axis, Blocking, Product, Region
from .dots import activation_shift, usable_dots
from .kernel import KernelContext

DIGIT = 8
_LIMIT = 1 << 31
Weigh = Callable[[Region, Expr, int, Expr], Expr]


@record
class Starts:
    """What the accumulators of ``columns`` start with: constants, or the floats of an operand."""

    type: DType
    buffer: Buffer | None
    first: tuple[Expr, ...] = ()

    def load(self, column: Expr, lanes: int, active: int) -> Expr:
        if self.buffer is None:
            return Const(0.0, Type(self.type, lanes))
        loaded = Load(self.buffer, (*self.first, column), lanes, None if active == lanes else as_expr(active))
        return Type(self.type, lanes)(loaded)


class Sums:
    """Sums of products with ``weights[g, k..., column]`` of a node: its multiply-accumulates (``dots``), the weights
    that they take, with as many ``outer`` axes of k in front of those that there are, and what becomes of the sums."""

    outer: tuple[Axis, ...] = ()
    weigh: Weigh | None = None

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.weights = ctx, node, weights

    @property
    def dots(self) -> tuple[Dot, ...]:
        return usable_dots(self.ctx.cpu, self.node.operands[0].dtype, self.weights.dtype)

    @property
    def packed(self) -> np.ndarray:
        """The weights ``[g, outer..., k..., column]``."""
        return self.weights

    def product(self, rows: int, times: int, pitch: int) -> Product:
        """By so many rows, ``pitch`` bytes apart, so many ``times``."""
        _, *k, columns = self.packed.shape
        return Product(self.dots, rows, columns, tuple(k), times, sums=self.weigh is not None, pitch=pitch)

    @property
    def columns(self) -> int:
        """Of all groups."""
        return int(self.weights.shape[0] * self.weights.shape[-1])

    def starts(self, blocking: Blocking) -> Starts:
        """For the columns of all groups. For integers the zero point of the activations is folded in:
        ``sum((x - z) * w) = sum(x * w) - z * sum(w)``."""
        dtype = DType(blocking.dot.accumulator.value)
        value = self.node.inputs[2] if len(self.node.inputs) > 2 else None
        if not dtype.is_float:
            start = self._integers(zero_point(self.node.attrs) + activation_shift(blocking.dot))
            return Starts(dtype, self.ctx.pack("bias", start.astype(dtype.numpy)))
        given = self.ctx.constant(value)
        if given is not None and given.size != self.columns:
            return Starts(dtype, self.ctx.pack("bias", np.broadcast_to(given.reshape(-1), (self.columns,))))
        return Starts(dtype, None if value is None else self.ctx.refs[value.name].reshaped((self.columns,)).buffer)

    def result(self, value: Expr) -> Expr:
        """What the operator has of a sum."""
        return self.ctx.rounded(value)

    def _integers(self, zero: int) -> np.ndarray:
        given = self.ctx.constant(self.node.inputs[2]) if len(self.node.inputs) > 2 else None
        weights = self.weights.astype(np.int64)
        sums = weights.sum(axis=tuple(range(1, weights.ndim - 1))).reshape(self.columns)
        start = (0 if given is None else given.astype(np.int64).reshape(-1)) - zero * sums
        return np.broadcast_to(start, (self.columns,))


class LongSums(Sums):
    """In 64 bits."""

    @property
    def dots(self) -> tuple[Dot, ...]:
        return usable_dots(self.ctx.cpu, self.node.operands[0].dtype, self.weights.dtype, wide=True)

    def result(self, value: Expr) -> Expr:
        return self.ctx.rounded(value >> value.type(sum_shift(self.node.attrs)))

    def _integers(self, zero: int) -> np.ndarray:
        return super()._integers(zero) + (1 << sum_shift(self.node.attrs) - 1)


class DigitSums(LongSums):
    """In 32 bits, of digits of the weights."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        super().__init__(ctx, node, weights)
        low = (weights.astype(np.int64) + 128 & 255) - 128
        self.start = self._integers(zero_point(node.attrs))
        self.digits = np.stack([weights.astype(np.int64) - low >> DIGIT, low], axis=1).astype(np.int16)
        self.digit = Var(ctx.names.fresh("digit"))
        self.outer = (Axis(self.digit, 2, LoopKind.UNROLL),)
        self.shift = sum_shift(node.attrs)

    @property
    def dots(self) -> tuple[Dot, ...]:
        found = usable_dots(self.ctx.cpu, self.node.operands[0].dtype, self.digits.dtype)
        return tuple(dot for dot in found if dot.lanes > 1 and not activation_shift(dot))

    @property
    def packed(self) -> np.ndarray:
        return self.digits

    @property
    def exact(self) -> bool:
        """Whether 32 bits hold the sums of both digits, and what is made of them, for all activations."""
        limits = np.iinfo(self.node.operands[0].dtype.numpy)
        inner = tuple(range(2, self.digits.ndim - 1))
        reach = np.abs(self.digits.astype(np.int64)).sum(axis=inner) * max(-int(limits.min), int(limits.max))
        high, low = np.moveaxis(reach, 1, 0).reshape(2, -1)
        high = high + np.abs(self.start >> DIGIT) + (low >> DIGIT) + 1
        return bool(np.all(high < _LIMIT) and np.all(low + 255 < _LIMIT))

    def starts(self, blocking: Blocking) -> Starts:
        both = np.stack([self.start >> DIGIT, self.start & 255]).astype(np.int32)
        return Starts(DType.I32, self.ctx.pack("bias", both), (self.digit,))

    def weigh(self, region: Region, block: Expr, vector: int, value: Expr) -> Expr:
        return weighed_digit(value, self.digit, self.shift)

    def result(self, value: Expr) -> Expr:
        return self.ctx.rounded(without_dropped_bits(value, self.shift))


def weighed_digit(value: Expr, digit: Expr, shift: int) -> Expr:
    """What the sum of ``digit`` (0: the high one) adds, but for the bits that a shift of more than 8 drops of both."""
    lanes = value.type.lanes

    def bits(number: Expr) -> Expr:
        return number if lanes == 1 else Splat(number, lanes)

    upwards, down = max(DIGIT - shift, 0), min(DIGIT, shift)
    return (value << bits(I32((1 - digit) * upwards))) >> bits(I32(digit * down))


def without_dropped_bits(value: Expr, shift: int) -> Expr:
    """The result of both digits."""
    more = max(shift - DIGIT, 0)
    return value >> more if more else value


def sums_of(ctx: KernelContext, node: Node, weights: np.ndarray) -> Sums:
    """How the products with ``weights[g, k..., column]`` are added up."""
    if not sum_shift(node.attrs):
        return Sums(ctx, node, weights)
    digits = DigitSums(ctx, node, weights)
    return digits if digits.dots and digits.exact else LongSums(ctx, node, weights)
