"""Narrow element types: their formats, and what a cast to or from one means, in NumPy.

Sources: the tables of ONNX's Cast operator; IEEE 754 for the fields of bfloat16; OCP Microscaling Formats (MX) v1.0 for
the formats of 4 and 6 bits and the scale E8M0; "FP8 Formats for Deep Learning" (Micikevicius et al.) for E4M3FN and
E5M2; "8-bit Numerical Formats for Deep Neural Networks" (Noune et al.) for the FNUZ formats.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType
from ..record import record

ROUNDINGS = ("up", "down", "nearest")
"""Of casts to E8M0: away from zero, toward zero, to the nearest with halves up."""


@record
class MiniFloat:
    """A sign bit, exponent bits and ``mantissa`` bits, with subnormal numbers, in the low bits of an integer.

    ``greatest`` is the code of the greatest finite magnitude. Codes above it up to the sign bit are infinity (one code,
    if ``infinity`` is it) and NaN (``nan`` and all others). A ``nan`` that is the sign bit alone is the only NaN of a
    format without negative zero. Formats of less than 8 bits have no NaN; what is none becomes zero.
    """

    bits: int
    mantissa: int
    bias: int
    greatest: int
    nan: int
    infinity: int | None = None
    saturates: bool = True

    @property
    def sign_mask(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def unsigned_zero(self) -> bool:
        """Whether the code of a negative zero stands for NaN."""
        return self.nan == self.sign_mask

    def overflow(self, saturate: bool) -> int:
        """The code of magnitudes that round to more than ``greatest``, infinity among them."""
        if (self.saturates and saturate) or self.bits < 8:
            return self.greatest
        return self.nan if self.infinity is None else self.infinity


MINIFLOATS = {
    DType.BF16: MiniFloat(16, 7, 127, 0x7F7F, 0x7FC0, 0x7F80, saturates=False),
    DType.F8E4M3FN: MiniFloat(8, 3, 7, 0x7E, 0x7F),
    DType.F8E4M3FNUZ: MiniFloat(8, 3, 8, 0x7F, 0x80),
    DType.F8E5M2: MiniFloat(8, 2, 15, 0x7B, 0x7E, 0x7C),
    DType.F8E5M2FNUZ: MiniFloat(8, 2, 16, 0x7F, 0x80),
    DType.F6E2M3: MiniFloat(6, 3, 1, 0x1F, 0),
    DType.F6E3M2: MiniFloat(6, 2, 3, 0x1F, 0),
    DType.F4E2M1: MiniFloat(4, 1, 1, 0x7, 0),
}

NARROW_FLOATS = frozenset({*MINIFLOATS, DType.F8E8M0})


def computed(dtype: DType) -> DType:
    """The type in which elements of a narrow type are computed with; it holds all of their values."""
    if dtype in NARROW_FLOATS:
        return DType.F32
    return dtype.stored


def stored_value(value: float, dtype: DType) -> float:
    """``value`` as an element of ``dtype`` in memory: for a narrow type the integer with its bits."""
    if not dtype.is_narrow:
        return value
    return int(np.asarray(value).astype(dtype.numpy).reshape(1).view(dtype.stored.numpy)[0])


def widened(x: np.ndarray) -> np.ndarray:
    """Elements of a narrow type in the type in which they are computed with; others as they are."""
    dtype = DType.from_numpy(x.dtype)
    return x.astype(computed(dtype).numpy) if dtype.is_narrow else x


def narrowed(x: np.ndarray, to: DType, saturate: bool, rounding: str) -> np.ndarray:
    """Elements as a narrow type.

    Integers keep their low bits; floats become integers of 32 bits first (toward zero, within their range). Floats are
    rounded once, to the nearest, halves to even. What rounds to more than the greatest number is that with
    ``saturate``, and infinity or NaN without; bfloat16 has always infinity, formats of less than 8 bits always the
    greatest number.
    """
    if to not in NARROW_FLOATS:
        bounded = np.clip(np.nan_to_num(x.astype(np.float64)), -(2.0**31), 2.0**31 - 1)
        whole = np.trunc(bounded) if x.dtype.kind == "f" else x
        return (whole.astype(np.int64) & ((1 << to.bits) - 1)).astype(np.uint8).view(to.numpy)
    if to is DType.F8E8M0:
        return _scale_codes(x.astype(np.float32), saturate, rounding).view(to.numpy)
    single, form = _single_to_odd(x), MINIFLOATS[to]
    codes = single.astype(to.numpy).view(to.stored.numpy)
    if form.bits < 16:
        codes = _overflowed(single, codes, to, saturate)
    return codes.view(to.numpy)


def _overflowed(x: np.ndarray, codes: np.ndarray, to: DType, saturate: bool) -> np.ndarray:
    """``codes`` with those of magnitudes beyond the greatest number put in: half a step above it they round away."""
    form = MINIFLOATS[to]
    greatest, below = (
        float(np.array([code], to.stored.numpy).view(to.numpy)[0]) for code in (form.greatest, form.greatest - 1)
    )
    tie = greatest + (greatest - below) / 2
    rounds_away = np.abs(x) >= tie if form.greatest & 1 else np.abs(x) > tie
    code = form.overflow(saturate)
    sign = np.where(np.signbit(x), 0 if code == form.sign_mask else form.sign_mask, 0)
    codes = np.where(np.isnan(x) & (form.nan == 0), sign, codes)
    return np.where(rounds_away, code | sign, codes).astype(to.stored.numpy)


def _single_to_odd(x: np.ndarray) -> np.ndarray:
    """As float32; what is not exact becomes the neighbour whose last bit is 1, so that another rounding to fewer bits
    is that of ``x`` itself (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008)."""
    wide = x.astype(np.float64)
    with np.errstate(over="ignore"):
        near = wide.astype(np.float32)
    bits = near.view(np.uint32)
    inexact = np.isfinite(wide) & (near.astype(np.float64) != wide) & (bits & 1 == 0)
    outward = np.abs(near.astype(np.float64)) < np.abs(wide)
    moved = np.where(inexact, np.where(outward, bits + np.uint32(1), bits - np.uint32(1)), bits)
    return moved.astype(np.uint32).view(np.float32)


def _scale_codes(x: np.ndarray, saturate: bool, rounding: str) -> np.ndarray:
    """Exponents of powers of two, 2^(code - 127), of the magnitudes of float32; 255 is NaN."""
    magnitude = np.abs(x.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        mantissa, exponent = np.frexp(magnitude)  # in [0.5, 1)
        down = exponent - 1 + 127
        moved = {"up": mantissa > 0.5, "down": mantissa > 1, "nearest": mantissa >= 0.75}[rounding]
        code = np.where(np.isfinite(magnitude), down + moved, 255)
    low = magnitude < 2.0**-127
    code = np.where(low, 0 if saturate else 255, code)
    code = np.where(code > 254, 254 if saturate else 255, code)
    return np.where(np.isnan(x), 255, code).astype(np.uint8)
