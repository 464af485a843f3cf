"""Casts to and from narrow types: meaning and expression, against ml_dtypes and ONNX for every pattern of bits, and
against the nearest code that a search finds."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.ops.narrow import MINIFLOATS, NARROW_FLOATS, ROUNDINGS
from onnx.numpy_helper import saturate_cast, to_float8e8m0

from tests.ops.test_lowering_pointwise import run

NARROW = [dtype for dtype in DType if dtype.is_narrow]
FLOATS = [dtype for dtype in NARROW if dtype in NARROW_FLOATS]
INTEGERS = [dtype for dtype in NARROW if dtype not in NARROW_FLOATS]
EIGHT = [dtype for dtype in MINIFLOATS if dtype.bits == 8]


def codes(dtype: DType) -> np.ndarray:
    """Every pattern of the stored integer; bits that do not count take all values, too."""
    count = 1 << 8 * dtype.size
    return np.arange(count).astype(f"uint{8 * dtype.size}").view(dtype.numpy)


def values(dtype: DType) -> np.ndarray:
    """Every half float; of the numbers of ``dtype`` each one, what lies half-way, and the float32 beside these."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    own = np.unique(codes(dtype).astype(np.float32))
    own = own[np.isfinite(own)]
    with np.errstate(over="ignore"):
        ties = (own[1:].astype(np.float64) + own[:-1].astype(np.float64)).astype(np.float32) / 2
        beyond = own[[0, -1]] * np.float32(1.5)
        exact = np.concatenate([own, ties, beyond, own * np.float32(1.0625)])
        near = [np.nextafter(exact, np.float32(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([halves, exact, *near]).astype(np.float32)


def stored(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint8 if array.itemsize == 1 else np.uint16)


@pytest.mark.parametrize("dtype", NARROW)
def test_every_pattern_is_read_as_ml_dtypes_reads_it(dtype: DType) -> None:
    to = DType.F32 if dtype in NARROW_FLOATS else DType.I32
    counting = (stored(codes(dtype)) & (1 << dtype.bits) - 1).view(dtype.numpy)
    np.testing.assert_array_equal(run("cast", codes(dtype), to=to), counting.astype(to.numpy))


def test_signs_of_zeros_and_numbers_are_read() -> None:
    for dtype in MINIFLOATS:
        plain = codes(dtype)[: 1 << dtype.bits]
        read, expected = run("cast", plain, to=DType.F32), plain.astype(np.float32)
        kept = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(read[kept]), np.signbit(expected[kept]), err_msg=dtype.value)


@pytest.mark.parametrize("dtype", MINIFLOATS)
def test_rounding_is_that_of_ml_dtypes(dtype: DType) -> None:
    """ml_dtypes does not saturate; its formats of less than 8 bits have nothing beyond the greatest number."""
    x = values(dtype)
    x = x if dtype.bits >= 8 else x[~np.isnan(x)]
    written = run("cast", x, to=dtype, saturate=False)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(stored(written), stored(x.astype(dtype.numpy)))


def test_formats_without_nan_have_zero_for_it() -> None:
    for dtype in (DType.F4E2M1, DType.F6E2M3, DType.F6E3M2):
        assert run("cast", np.array([np.nan, -np.nan], np.float32), to=dtype).tolist() == [0, 1 << dtype.bits - 1]


@pytest.mark.parametrize("dtype", EIGHT)
def test_saturation_is_that_of_onnx(dtype: DType) -> None:
    x = values(dtype)
    written = run("cast", x, to=dtype, saturate=True)
    np.testing.assert_array_equal(stored(written), stored(saturate_cast(x, dtype.numpy)))


@pytest.mark.parametrize("dtype", MINIFLOATS)
def test_doubles_are_rounded_once(dtype: DType) -> None:
    """Half-way between two numbers, and by less than float32 can tell above and below; the oracle is a search."""
    own = np.unique(codes(dtype).astype(np.float32)).astype(np.float64)
    own = own[np.isfinite(own)]
    ties = (own[1:] + own[:-1]) / 2
    for x, chosen in ((ties * (1 + 2**-50), np.abs(own[1:]) > np.abs(own[:-1])),
                      (ties * (1 - 2**-50), np.abs(own[1:]) < np.abs(own[:-1]))):  # fmt: skip
        apart = ties != 0
        expected = np.where(chosen, own[1:], own[:-1])[apart]
        np.testing.assert_array_equal(run("cast", x[apart], to=dtype).view(dtype.numpy).astype(np.float64), expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("saturate", [False, True])
def test_powers_of_two_are_those_of_onnx(rounding: str, saturate: bool) -> None:
    """From the least normal float32 up; below, and of infinity, ONNX's text says what its function does not."""
    x = np.abs(values(DType.F8E8M0))
    x = x[(x >= 2.0**-126) & np.isfinite(x)]
    written = run("cast", x, to=DType.F8E8M0, saturate=saturate, rounding=rounding)
    np.testing.assert_array_equal(stored(written), stored(to_float8e8m0(x, saturate, rounding)))


def test_ends_of_powers_of_two() -> None:
    """The table of ONNX's Cast: zero, NaN, infinity, above and below the powers that there are."""
    x = np.array([0.0, np.nan, np.inf, 3e38, 2.0**-127, 2.0**-128, 1.5 * 2.0**-127], np.float32)
    for saturate, rounding, expected in (
        (True, "up", [0, 255, 254, 254, 0, 0, 1]),
        (False, "nearest", [255, 255, 255, 255, 0, 255, 1]),
        (True, "down", [0, 255, 254, 254, 0, 0, 0]),
    ):
        written = run("cast", x, to=DType.F8E8M0, saturate=saturate, rounding=rounding)
        np.testing.assert_array_equal(stored(written), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float32])
def test_integers_keep_their_low_bits(dtype: DType, source: type) -> None:
    x = np.arange(-128, 128).astype(source) if np.dtype(source).kind in "if" else np.arange(256).astype(source)
    count = 1 << dtype.bits
    low = np.mod(x.astype(np.int64), count)
    expected = np.where(low >= count // 2, low - count, low) if dtype.is_signed else low
    np.testing.assert_array_equal(run("cast", x, to=dtype).view(dtype.numpy).astype(np.int64), expected)


def test_fractions_are_cut_off() -> None:
    x = np.array([1.9, -1.9, -0.5, 7.999, np.nan], np.float32)
    np.testing.assert_array_equal(run("cast", x, to=DType.I4).view(ml_dtypes.int4).astype(int), [1, -1, 0, 7, 0])


@pytest.mark.parametrize("source", [DType.BF16, DType.F8E5M2, DType.I4])
@pytest.mark.parametrize("to", [DType.BF16, DType.F8E4M3FN, DType.F4E2M1, DType.U2, DType.F64, DType.I64, DType.BOOL])
def test_expressions_are_the_meaning_among_narrow_types(source: DType, to: DType) -> None:
    from ccml.ops.table import OPS

    (expected,) = OPS["cast"].evaluate([codes(source)], {"to": to})
    result = run("cast", codes(source), to=to)
    wide = to.stored.numpy if to.is_narrow and to in NARROW_FLOATS else to.numpy
    if to in INTEGERS:
        result, expected, wide = result.view(to.numpy).astype(int), expected.astype(int), np.dtype(int)
    np.testing.assert_array_equal(result.view(wide), expected.view(wide))
