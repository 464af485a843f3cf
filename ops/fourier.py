"""Fast Fourier transforms of lengths that are powers of two: types and meaning of ``fft`` and ``block_fft``.

Both are Stockham's form of the algorithm of Cooley and Tukey (Van Loan, Computational Frameworks for the Fast Fourier
Transform, 1992, 1.7): each stage reads one buffer and writes another, so that no reordering of bits is needed and
neighbours in the innermost loop are neighbours in memory. With F[j, k] the element j of the transform of length L of
every R-th number from k on, a stage of radix r makes those of length r L::

    F'[j + L u, k] = sum over v < r of  e^(-2 pi i u v / r) * (e^(-2 pi i j v / (r L)) * F[j, k + R / r * v])

n real numbers are n / 2 complex ones, z[k] = x[2 k] + i x[2 k + 1], whose transform Z is taken apart at the end::

    X[k] = (Z[k] + conj Z[n/2 - k]) / 2 - i e^(-2 pi i k / n) (Z[k] - conj Z[n/2 - k]) / 2

*Block floating point.* ``block_fft`` keeps 16-bit integers and an exponent for each transform. A frame is shifted left
as far as it goes, so that it fills 15 bits, and multiplied by the window; before each stage the number of bits b of the
greatest magnitude tells by how many bits the stage shifts right, with rounding, so that nothing overflows: a stage of
radix 4 makes at most 4 sqrt(2) 2^b, and its shift max(0, b - 12) leaves at most 2^14.5 of that, also as the magnitude
of a complex number; that is what lets products be summed in 32 bits. Factors have 15 fractional bits, products keep 3
of them until the shift.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import integer
from .infer import operand
from .opdef import Arrays, Attrs, Types
from .pointwise import present_arrays

LENGTHS = range(8, (1 << 16) + 1)
"""Of transforms; powers of two."""
BLOCK_LENGTHS = range(8, (1 << 12) + 1)
ONE = 1 << 15
"""The number 1 of windows and factors in fixed point."""
GUARD = 3
"""Bits below the unit that sums of a stage keep until they are shifted."""


def is_length(n: int, lengths: range = LENGTHS) -> bool:
    return n in lengths and n & (n - 1) == 0


def roots(n: int, count: int) -> np.ndarray:
    """e^(-2 pi i k / n) for k < count, [count, 2] in float64; multiples of a quarter are exact."""
    k = np.arange(count)
    angle = k * (2 * np.pi / n)
    table = np.stack([np.cos(angle), -np.sin(angle)], -1)
    return np.where(((4 * k) % n == 0)[:, None], np.rint(table), table)


def root_count(n: int) -> int:
    """How many roots of unity a transform of n real or complex numbers needs."""
    return 3 * n // 4


def fixed_roots(n: int) -> np.ndarray:
    """The table of ``block_fft``: i16, 1 as 2^15 - 1."""
    return np.clip(np.rint(roots(n, root_count(n)) * ONE), -ONE, ONE - 1).astype(np.int16)


def radices(m: int) -> list[int]:
    """The stages of a transform of m complex numbers."""
    bits = m.bit_length() - 1
    return [2] * (bits % 2) + [4] * (bits // 2)


# ---------------------------------------------------------------- fft


def infer_fft(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, table = operand(types, 0), operand(types, 1)
    count = integer(attrs, "count")
    if x.rank != 3 or x.shape[-1] not in (1, 2) or not is_length(x.shape[1]) or x.dtype not in (DType.F32, DType.F64):
        raise ValueError(f"no fast transform of {x}")
    n = x.shape[1]
    if table != TensorType(x.dtype, (root_count(n), 2)):
        raise ValueError(f"the roots {table} are not those of {x}")
    if not 1 <= count <= (n // 2 + 1 if x.shape[-1] == 1 else n):
        raise ValueError(f"{count} elements of the transform of {x}")
    return (TensorType(x.dtype, (x.shape[0], count, 2)),)


def evaluate_fft(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    x, _ = present_arrays(arrays)
    wide = x.astype(np.float64)
    numbers = wide[..., 0] + (1j * wide[..., 1] if x.shape[-1] == 2 else 0)
    y = np.fft.fft(numbers, axis=1)[:, : integer(attrs, "count")]
    return (np.stack([y.real, y.imag], -1).astype(x.dtype),)


# ---------------------------------------------------------------- block_fft


def infer_block_fft(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, window, table = (operand(types, position) for position in range(3))
    n, count = integer(attrs, "n"), integer(attrs, "count")
    if not is_length(n, BLOCK_LENGTHS) or not 1 <= count <= n // 2 + 1:
        raise ValueError(f"{count} elements of a transform of length {n}")
    if x.dtype is not DType.I16 or x.rank != 2 or not 1 <= x.shape[1] <= n:
        raise ValueError(f"no transform of length {n} of {x}")
    if window != TensorType(DType.I16, x.shape[1:]) or table != TensorType(DType.I16, (root_count(n), 2)):
        raise ValueError(f"window {window} and roots {table} do not fit {x}")
    return TensorType(DType.I16, (x.shape[0], count, 2)), TensorType(DType.I32, x.shape[:1])


def evaluate_block_fft(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The spectrum of ``x * window / 2^15`` continued by zeros, and the exponents: times 2^exponent.

    Windows are above -2^15, so that products fit.
    """
    x, window, table = present_arrays(arrays)
    n, count, batch = integer(attrs, "n"), integer(attrs, "count"), x.shape[0]
    m, w = n // 2, table.astype(np.int64)
    wide = x.astype(np.int64)
    left = 15 - _bits(wide)
    scaled = ((wide << left[:, None]) * window + ONE // 2) >> 15
    z = np.pad(scaled, ((0, 0), (0, n - x.shape[1]))).reshape(batch, 1, m, 2)
    exponent = -left
    length, rest = 1, m
    for radix in radices(m):
        right = np.maximum(_bits(z) - (12 if radix == 4 else 13), 0)
        z = _stage(z, w, radix, n // (radix * length), right)
        exponent, length, rest = exponent + right, length * radix, rest // radix
    right = np.maximum(_bits(z) - 13, 0)
    return _apart(z[:, :, 0], w, count, right).astype(np.int16), (exponent + right).astype(np.int32)


def _bits(z: np.ndarray) -> np.ndarray:
    """For each transform the least b with -2^b <= z < 2^b."""
    greatest = np.where(z < 0, -1 - z, z).reshape(len(z), -1).max(axis=1)
    return (greatest[:, None] >= 1 << np.arange(15)).sum(axis=1)


def _shifted(z: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Divided by 2^right (an entry for each transform), halves upwards."""
    count = right.reshape(-1, *(1,) * (z.ndim - 1))
    return (z + ((1 << count) >> 1)) >> count


def _product(z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Complex products with factors of 15 fractional bits; of these 3 are kept."""
    re = z[..., 0] * w[..., 0] - z[..., 1] * w[..., 1]
    im = z[..., 0] * w[..., 1] + z[..., 1] * w[..., 0]
    return (np.stack([re, im], -1) + (1 << 14 - GUARD)) >> 15 - GUARD


def _stage(z: np.ndarray, w: np.ndarray, radix: int, step: int, right: np.ndarray) -> np.ndarray:
    """``z[batch, L, R, 2]`` to ``[batch, radix L, R / radix, 2]``; ``step``: roots from one j to the next."""
    batch, length, rest, _ = z.shape
    parts = z.reshape(batch, length, radix, rest // radix, 2)
    j = np.arange(length)
    terms = [parts[:, :, 0] << GUARD]
    for v in range(1, radix):
        turned = parts[:, :, v] << GUARD if length == 1 else _product(parts[:, :, v], w[j * v * step][:, None])
        terms.append(turned)
    if radix == 2:
        sums = [terms[0] + terms[1], terms[0] - terms[1]]
    else:
        a, b, c, d = terms[0] + terms[2], terms[0] - terms[2], terms[1] + terms[3], terms[1] - terms[3]
        turned = np.stack([d[..., 1], -d[..., 0]], -1)
        sums = [a + c, b + turned, a - c, b - turned]
    return _shifted(np.stack(sums, 1), right + GUARD).reshape(batch, radix * length, rest // radix, 2)


def _apart(z: np.ndarray, w: np.ndarray, count: int, right: np.ndarray) -> np.ndarray:
    """The transform of the real numbers, [batch, count, 2]."""
    m = z.shape[1]
    k = np.arange(count)
    z1, z2 = z[:, k % m], z[:, (m - k) % m] * np.array([1, -1])
    factors = w[k]
    factors[k == 0], factors[k == m] = (ONE, 0), (-ONE, 0)
    odd = _product(z1 - z2, factors)
    turned = np.stack([odd[..., 1], -odd[..., 0]], -1)
    return _shifted(((z1 + z2) << GUARD) + turned, right + GUARD + 1)
