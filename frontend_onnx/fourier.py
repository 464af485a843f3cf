"""The discrete Fourier transform in core operators: ``fft`` for powers of two, else products with constant matrices.

A transform of length ``n1 * n2`` is n2 of length n1, a twist, and n1 of length n2 (Cooley and Tukey 1965)::

    j = j1 * n2 + j2, k = k1 + n1 * k2, w = e^(-2 pi i / n)
    X[k] = sum over j2 of  w^(n1 * j2 * k2) * (w^(j2 * k1) * (sum over j1 of  w^(n2 * j1 * k1) * x[j]))

so that the constants of a length with small factors grow with the length, not with its square. Complex numbers are
pairs in the last dimension; a matrix for complex operands has a row for each of the two.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt

import numpy as np

from ..ir.graph import Value
from ..ops.fourier import is_length, root_count, roots
from .context import NodeContext

_PASS = 32
"""What reading and writing a complex number once more costs, in multiply-accumulates."""


def fourier(ctx: NodeContext, x: Value, count: int, inverse: bool) -> Value:
    """The first ``count`` elements of the transform of ``x[batch, n, 1 or 2]``, ``[batch, count, 2]``.

    The inverse is divided by n.
    """
    n = x.shape[1]
    if is_length(n):
        return _inverse(ctx, x, count) if inverse else _fast(ctx, x, count)
    return _transform(ctx, x, count, 1.0 if inverse else -1.0, 1.0 / n if inverse else 1.0)


def inverse_of_half(ctx: NodeContext, x: Value, n: int) -> Value:
    """The n real elements ``[batch, n, 1]`` whose transform begins with ``x[batch, n // 2 + 1, 2]``.

    The other half of it is the conjugate of the first; imaginary parts of the elements that have no partner do not
    matter.
    """
    batch, half, _ = x.shape
    rest = n - half
    if not is_length(n) and _direct_cost(half, 2, n) <= _cost(n, 2, n)[0]:
        return _product(ctx, x, _half_matrix(n), n, 1)
    tail = ctx.emit("slice", x, starts=(0, rest, 0), steps=(1, -1, 1), sizes=(batch, rest, 2))
    whole = fourier(ctx, ctx.emit("concat", x, _scaled(ctx, tail, 1, -1), axis=1), n, True)
    return ctx.emit("slice", whole, starts=(0, 0, 0), steps=(1, 1, 1), sizes=(batch, n, 1))


# ---------------------------------------------------------------- powers of two


def _fast(ctx: NodeContext, x: Value, count: int) -> Value:
    """Of real numbers the other half is the conjugate of the first, backwards."""
    batch, n, parts = x.shape
    half = min(count, n // 2 + 1) if parts == 1 else count
    y = ctx.emit("fft", x, ctx.constant(roots(n, root_count(n)).astype(x.dtype.numpy)), count=half)
    if half == count:
        return y
    tail = ctx.emit("slice", y, starts=(0, n - half, 0), steps=(1, -1, 1), sizes=(batch, count - half, 2))
    return ctx.emit("concat", y, _scaled(ctx, tail, 1, -1), axis=1)


def _inverse(ctx: NodeContext, x: Value, count: int) -> Value:
    """The transform of what has real and imaginary parts exchanged, exchanged again; of real numbers the conjugate."""
    _, n, parts = x.shape
    if parts == 1:
        return _scaled(ctx, _fast(ctx, x, count), 1 / n, -1 / n)
    return _scaled(ctx, _exchanged(ctx, _fast(ctx, _exchanged(ctx, x), count)), 1 / n, 1 / n)


def _exchanged(ctx: NodeContext, x: Value) -> Value:
    outer = len(x.shape) - 1
    return ctx.emit("slice", x, starts=(*(0,) * outer, 1), steps=(*(1,) * outer, -1), sizes=x.shape)


def _scaled(ctx: NodeContext, x: Value, *factors: float) -> Value:
    """Real and imaginary parts times a factor of their own."""
    return ctx.emit("mul", x, ctx.constant(np.array(factors, x.dtype.numpy)))


# ---------------------------------------------------------------- matrices


def _angles(rows: int, columns: int, n: int) -> np.ndarray:
    """2 pi j k / n, with j * k reduced before it is a float."""
    products = np.outer(np.arange(rows, dtype=np.int64), np.arange(columns, dtype=np.int64)) % n
    return products * (2.0 * np.pi / n)


def _matrix(n: int, parts: int, count: int, sign: float, scale: float) -> np.ndarray:
    """[n * parts, count * 2]: rows are real and imaginary parts of the operand, columns those of the result."""
    angle = _angles(n, count, n)
    cos, sin = np.cos(angle) * scale, np.sin(angle) * (sign * scale)
    rows = [np.stack([cos, sin], -1), np.stack([-sin, cos], -1)][:parts]
    return np.stack(rows, 1).reshape(n * parts, count * 2)


def _half_matrix(n: int) -> np.ndarray:
    """[(n // 2 + 1) * 2, n]: elements with a conjugate partner count twice."""
    half = n // 2 + 1
    angle = _angles(half, n, n)
    weight = np.full((half, 1), 2.0 / n)
    weight[0] = 1.0 / n
    if n % 2 == 0:
        weight[-1] = 1.0 / n
    return np.stack([np.cos(angle) * weight, -np.sin(angle) * weight], 1).reshape(half * 2, n)


def _product(ctx: NodeContext, x: Value, matrix: np.ndarray, count: int, parts: int) -> Value:
    """``x[batch, n, parts]`` as rows, times the matrix."""
    ctx.guard_constant(matrix.size)
    rows = ctx.reshape(x, (x.shape[0], matrix.shape[0]))
    y = ctx.emit("matmul", rows, ctx.constant(matrix.astype(x.dtype.numpy)))
    return ctx.reshape(y, (x.shape[0], count, parts))


# ---------------------------------------------------------------- factors


def _direct_cost(n: int, parts: int, count: int) -> int:
    return n * parts * count * 2


@lru_cache(maxsize=1024)
def _cost(n: int, parts: int, count: int) -> tuple[int, int]:
    """Multiply-accumulates of the cheapest way, and the factor that it takes off first (1: none)."""
    best = (_direct_cost(n, parts, count), 1)
    small = [d for d in range(2, isqrt(n) + 1) if n % d == 0]
    for first in {*small, *(n // d for d in small)}:
        second = n // first
        rest, _ = _cost(second, 2, -(-count // first))
        best = min(best, (second * _direct_cost(first, parts, first) + 3 * _PASS * n + first * rest, first))
    return best


def _transform(ctx: NodeContext, x: Value, count: int, sign: float, scale: float) -> Value:
    batch, n, parts = x.shape
    ctx.guard_constant(n)
    _, first = _cost(n, parts, count)
    if first == 1:
        ctx.guard_constant(n * parts * count * 2)
        return _product(ctx, x, _matrix(n, parts, count, sign, scale), count, 2)
    second = n // first
    apart = ctx.reshape(x, (batch, first, second, parts))
    columns = ctx.reshape(ctx.emit("transpose", apart, perm=(0, 2, 1, 3)), (batch * second, first, parts))
    inner = _product(ctx, columns, _matrix(first, parts, first, sign, 1.0), first, 2)
    twisted = _twisted(ctx, ctx.reshape(inner, (batch, second, first, 2)), n, sign)
    rows = ctx.reshape(ctx.emit("transpose", twisted, perm=(0, 2, 1, 3)), (batch * first, second, 2))
    needed = -(-count // first)
    outer = ctx.reshape(_transform(ctx, rows, needed, sign, scale), (batch, first, needed, 2))
    y = ctx.reshape(ctx.emit("transpose", outer, perm=(0, 2, 1, 3)), (batch, needed * first, 2))
    if needed * first == count:
        return y
    return ctx.emit("slice", y, starts=(0, 0, 0), steps=(1, 1, 1), sizes=(batch, count, 2))


def _twisted(ctx: NodeContext, x: Value, n: int, sign: float) -> Value:
    """``x[batch, j2, k1, 2]`` times e^(sign * 2 pi i * j2 * k1 / n): x * cos + (its parts exchanged) * (-sin, sin)."""
    _, second, first, _ = x.shape
    angle = _angles(second, first, n)
    cos, sin = np.cos(angle), sign * np.sin(angle)
    exchanged = _exchanged(ctx, x)
    factors = (np.stack([cos, cos], -1), np.stack([-sin, sin], -1))
    terms = [
        ctx.emit("mul", part, ctx.constant(factor.astype(x.dtype.numpy)))
        for part, factor in zip((x, exchanged), factors)
    ]
    return ctx.emit("add", *terms)
