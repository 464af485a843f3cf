"""``block_fft`` as a function of ONNX operators, and calls of that function as ``block_fft``.

The body says in integers of 64 bits what ``ops/fourier.py`` defines: any runtime of ONNX computes the same bits. A
function of a model is taken for it only where it is that function, node by node; any other is expanded as usual.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.fourier import BLOCK_LENGTHS, GUARD, ONE, fixed_roots, is_length, radices
from .context import NodeContext
from .feature_function import DOMAIN, OPSET, same_function
from .node_writer import NodeWriter

_NAME = re.compile(r"BlockFFT_(\d{1,4})_(\d{1,4})_(\d{1,4})")
_BIAS = 1 << 24
"""Multiples of a power of two that make a number positive, so that a division that truncates rounds down."""


def function_name(frame: int, n: int, count: int) -> str:
    return f"BlockFFT_{frame}_{n}_{count}"


def block_fft_function(frame: int, n: int, count: int) -> onnx.FunctionProto:
    """``(x int16[batch, frame], window int16[frame]) -> (spectrum int16[batch, count, 2], exponent int32[batch])``.

    The transform of length ``n`` of ``x * window / 2^15`` begins with the elements ``spectrum * 2^exponent``.
    """
    writer = _Writer(n)
    spectrum, exponent = writer.transform("x", "window", frame, count)
    outputs = [writer.cast(spectrum, np.int16), writer.cast(exponent, np.int32)]
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_function(DOMAIN, function_name(frame, n, count), ["x", "window"], outputs, writer.nodes, opsets)


def block_fft_call(ctx: NodeContext, function: onnx.FunctionProto) -> Sequence[Value] | None:
    """The results of a call of ``function`` where it is that of :func:`block_fft_function`, else ``None``."""
    name = _NAME.fullmatch(function.name) if function.domain == DOMAIN else None
    if name is None or len(ctx.inputs) != 2:
        return None
    frame, n, count = (int(number) for number in name.groups())
    x, window = ctx.input(0), ctx.array(ctx.input(1))
    if not is_length(n, BLOCK_LENGTHS) or not 1 <= frame <= n or not 1 <= count <= n // 2 + 1:
        return None
    if x.dtype is not DType.I16 or len(x.shape) != 2 or x.shape[1] != frame:
        return None
    if window is None or window.dtype != np.int16 or window.shape != (frame,) or window.min() <= -ONE:
        return None
    if not same_function(function, block_fft_function(frame, n, count)):
        return None
    return ctx.emit_all("block_fft", x, ctx.input(1), ctx.constant(fixed_roots(n)), n=n, count=count)


class _Writer(NodeWriter):
    """Numbers are int64[batch, length, rest], real and imaginary parts apart; shifts are powers of two [batch]."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.roots = fixed_roots(n).astype(np.int64)

    def number(self, value: int) -> str:
        return self.constant(np.array(value, np.int64))

    def transform(self, x: str, window: str, frame: int, count: int) -> tuple[str, str]:
        wide = self.cast(x, np.int64)
        bits = self.bits(wide)
        left = self.emit("Sub", self.number(15), bits)
        scaled = self.emit("Mul", self.emit("Mul", wide, self.over(self.power(left), 1)), self.cast(window, np.int64))
        scaled = self.halved(scaled, self.number(ONE))
        if frame < self.n:
            scaled = self.emit("Pad", scaled, self.integers(0, 0, 0, self.n - frame))
        pairs = self.reshape(scaled, -1, 1, self.n // 2, 2)
        re, im = (self.emit("Gather", pairs, self.number(part), axis=3) for part in range(2))
        exponent = self.emit("Neg", left)
        length = 1
        for radix in radices(self.n // 2):
            right = self.shift(re, im, 12 if radix == 4 else 13)
            re, im = self.stage(re, im, radix, length, right)
            exponent = self.emit("Add", exponent, right)
            length *= radix
        right = self.shift(re, im, 13)
        return self.apart(re, im, count, right), self.emit("Add", exponent, right)

    # ---- shifts

    def bits(self, *parts: str) -> str:
        """The least b for each transform with -2^b <= x < 2^b."""
        found = [self.reshape(self.magnitude(part), 0, -1) for part in parts]
        joined = found[0] if len(found) == 1 else self.emit("Concat", *found, axis=1)
        greatest = self.emit("ReduceMax", joined, self.integers(1), keepdims=1)
        reached = self.emit("GreaterOrEqual", greatest, self.constant(1 << np.arange(15, dtype=np.int64)))
        return self.emit("ReduceSum", self.cast(reached, np.int64), self.integers(1), keepdims=0)

    def magnitude(self, x: str) -> str:
        return self.emit("Max", x, self.emit("Sub", self.number(-1), x))

    def shift(self, re: str, im: str, room: int) -> str:
        return self.emit("Max", self.emit("Sub", self.bits(re, im), self.number(room)), self.number(0))

    def power(self, exponent: str) -> str:
        return self.emit("Gather", self.constant(1 << np.arange(16, dtype=np.int64)), exponent)

    def over(self, x: str, rank: int) -> str:
        """An entry of each transform, for what has ``rank`` dimensions more."""
        return self.reshape(x, -1, *(1,) * rank)

    def halved(self, x: str, divisor: str) -> str:
        """x / divisor, a power of two, halves upwards."""
        half = self.emit("Div", divisor, self.number(2))
        positive = self.emit("Add", self.emit("Add", x, half), self.emit("Mul", divisor, self.number(_BIAS)))
        return self.emit("Sub", self.emit("Div", positive, divisor), self.number(_BIAS))

    # ---- stages

    def product(self, re: str, im: str, factors: np.ndarray) -> tuple[str, str]:
        """Complex products with ``factors[..., 2]`` of 15 fractional bits, of which 3 are kept."""
        c, s = (self.constant(factors[..., part]) for part in range(2))
        real = self.emit("Sub", self.emit("Mul", re, c), self.emit("Mul", im, s))
        imaginary = self.emit("Add", self.emit("Mul", re, s), self.emit("Mul", im, c))
        divisor = self.number(1 << 15 - GUARD)
        return self.halved(real, divisor), self.halved(imaginary, divisor)

    def stage(self, re: str, im: str, radix: int, length: int, right: str) -> tuple[str, str]:
        columns = self.n // 2 // (radix * length)
        step = self.n // (radix * length)
        parts = [self.reshape(part, -1, length, radix, columns) for part in (re, im)]
        terms = []
        for v in range(radix):
            real, imaginary = (self.emit("Gather", part, self.number(v), axis=2) for part in parts)
            exact = np.tile(np.array([ONE, 0], np.int64), (length, 1, 1))
            factors = self.roots[np.arange(length) * v * step][:, None] if v and length > 1 else exact
            terms.append(self.product(real, imaginary, factors))
        divisor = self.over(self.power(self.emit("Add", right, self.number(GUARD))), 3)
        found = []
        for numbers in zip(*self.combined(terms)):
            rows = [self.reshape(number, -1, 1, length, columns) for number in numbers]
            joined = self.halved(self.emit("Concat", *rows, axis=1), divisor)
            found.append(self.reshape(joined, -1, radix * length, columns))
        return found[0], found[1]

    def combined(self, terms: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The transform of two or four numbers."""

        def both(op_type: str, x: tuple[str, str], y: tuple[str, str]) -> tuple[str, str]:
            return self.emit(op_type, x[0], y[0]), self.emit(op_type, x[1], y[1])

        if len(terms) == 2:
            return [both("Add", *terms), both("Sub", *terms)]
        a, b = both("Add", terms[0], terms[2]), both("Sub", terms[0], terms[2])
        c, d = both("Add", terms[1], terms[3]), both("Sub", terms[1], terms[3])
        return [
            both("Add", a, c), (self.emit("Add", b[0], d[1]), self.emit("Sub", b[1], d[0])),
            both("Sub", a, c), (self.emit("Sub", b[0], d[1]), self.emit("Add", b[1], d[0])),
        ]  # fmt: skip

    def apart(self, re: str, im: str, count: int, right: str) -> str:
        m = self.n // 2
        k = np.arange(count)
        rows = [self.reshape(part, -1, m) for part in (re, im)]
        (re1, im1), (re2, im2) = (
            tuple(self.emit("Gather", row, self.constant(places), axis=1) for row in rows)
            for places in (k % m, (m - k) % m)
        )
        factors = self.roots[k].copy()
        factors[k == 0], factors[k == m] = (ONE, 0), (-ONE, 0)
        odd = self.product(self.emit("Sub", re1, re2), self.emit("Add", im1, im2), factors)
        wide = self.number(1 << GUARD)
        real = self.emit("Add", self.emit("Mul", self.emit("Add", re1, re2), wide), odd[1])
        imaginary = self.emit("Sub", self.emit("Mul", self.emit("Sub", im1, im2), wide), odd[0])
        divisor = self.over(self.power(self.emit("Add", right, self.number(GUARD + 1))), 1)
        columns = [self.reshape(self.halved(part, divisor), 0, count, 1) for part in (real, imaginary)]
        return self.emit("Concat", *columns, axis=2)
