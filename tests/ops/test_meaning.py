"""What the core operators mean where it is easy to get wrong, by hand-computed values and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.ops.table import OPS


def f32(entries: list[Any]) -> np.ndarray:
    return np.array(entries, np.float32)


def i32(entries: list[Any]) -> np.ndarray:
    return np.array(entries, np.int32)


def u8(entries: list[Any]) -> np.ndarray:
    return np.array(entries, np.uint8)


def meaning(op: str, *arrays: np.ndarray | np.generic, **attrs: Any) -> np.ndarray:
    (result,) = OPS[op].evaluate([np.asarray(array) for array in arrays], attrs)
    return result


def test_integer_division_truncates() -> None:
    x, y = i32([7, -7, 7, -7, 6]), i32([2, 2, -2, -2, 3])
    np.testing.assert_array_equal(meaning("div", x, y), [3, -3, -3, 3, 2])


def test_remainders() -> None:
    x, y = i32([7, -7, 7, -7]), i32([3, 3, -3, -3])
    np.testing.assert_array_equal(meaning("mod", x, y, fmod=False), [1, 2, -2, -1])
    np.testing.assert_array_equal(meaning("mod", x, y, fmod=True), [1, -1, 1, -1])


def test_casts_saturate() -> None:
    x = f32([1.9, -1.9, 300, -300, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(meaning("cast", x, to=DType.I8), [1, -1, 127, -128, 127, -128, 0])
    np.testing.assert_array_equal(meaning("cast", x, to=DType.U8), [1, 0, 255, 0, 255, 0, 0])
    large = f32([2**31, -(2**31), 2**63, 1e30])
    np.testing.assert_array_equal(meaning("cast", large, to=DType.I32), [2**31 - 1, -(2**31), 2**31 - 1, 2**31 - 1])
    np.testing.assert_array_equal(meaning("cast", large, to=DType.I64), [2**31, -(2**31), 2**63 - 1, 2**63 - 1])
    np.testing.assert_array_equal(meaning("cast", i32([257, -1]), to=DType.U8), [1, 255])


def test_rounding_halves_to_even() -> None:
    np.testing.assert_array_equal(meaning("round", f32([0.5, 1.5, 2.5, -0.5])), [0, 2, 2, -0.0])


@pytest.mark.filterwarnings("error")
def test_dequantization_overflows_to_infinity() -> None:
    """Quantizers give masks of -3.4e38 a scale whose products leave float32."""
    x = np.array([127, -128, 0], np.int8)
    attrs = {"scale": (3e38,), "zero_point": (0,), "axis": 0}
    np.testing.assert_array_equal(meaning("dequantize", x, **attrs), [np.inf, -np.inf, 0])


def test_quantization_rounds_halves_to_even_and_saturates() -> None:
    attrs = {"scale": (0.5,), "zero_point": (-1,), "axis": 0, "to": DType.I8}
    x = f32([0.25, 0.75, 1.25, -0.25, 100, -100, np.inf, -np.inf])
    np.testing.assert_array_equal(meaning("quantize", x, **attrs), [-1, 1, 1, -1, 127, -128, 127, -128])


def test_quantization_divides_in_float32() -> None:
    """The quotient rounds to 55.5, and that to 56; in float64, or by a product with 1 / scale, it would be 55."""
    x, scale = np.float32(35.55286), np.float32(0.6405921)
    assert x / scale == 55.5 and float(x) / float(scale) < 55.5 and x * (1 / scale) < 55.5
    attrs = {"scale": (float(scale),), "zero_point": (0,), "axis": 0, "to": DType.I8}
    assert meaning("quantize", x, **attrs) == 56


def test_quantization_along_an_axis() -> None:
    attrs: dict[str, Any] = {"scale": (1.0, 0.5), "zero_point": (0, 10), "axis": 1}
    x = f32([[1, 1], [2, 2]])
    stored = meaning("quantize", x, **attrs, to=DType.U8)
    np.testing.assert_array_equal(stored, [[1, 12], [2, 14]])
    np.testing.assert_array_equal(meaning("dequantize", stored, **attrs), x)


def test_clip_lets_the_upper_bound_win() -> None:
    np.testing.assert_array_equal(meaning("clip", f32([0, 3]), lo=2.0, hi=1.0), [1, 1])
    np.testing.assert_array_equal(meaning("clip", u8([0, 9]), lo=-5, hi=1000), [0, 9])


def test_slices_backwards() -> None:
    np.testing.assert_array_equal(meaning("slice", np.arange(6), starts=(4,), steps=(-2,), sizes=(3,)), [4, 2, 0])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [9, 9, 1, 2, 3, 9]),
        ("edge", [1, 1, 1, 2, 3, 3]),
        ("reflect", [3, 2, 1, 2, 3, 2]),
        ("wrap", [2, 3, 1, 2, 3, 1]),
    ],
)
def test_borders(mode: str, expected: list[int]) -> None:
    x = i32([1, 2, 3])
    np.testing.assert_array_equal(meaning("pad", x, before=(2,), after=(1,), mode=mode, value=9), expected)


def naive_conv(x: np.ndarray, w: np.ndarray, b: np.ndarray, attrs: dict[str, Any]) -> np.ndarray:
    """One output element at a time, channels first."""
    (sh, sw), (top, left, bottom, right), (dh, dw), group = (attrs[k] for k in ("stride", "pad", "dilation", "group"))
    n, _, height, width = x.shape
    oc, ic, kh, kw = w.shape
    oh = (height + top + bottom - (kh - 1) * dh - 1) // sh + 1
    ow = (width + left + right - (kw - 1) * dw - 1) // sw + 1
    y = np.zeros((n, oc, oh, ow))
    for index in np.ndindex(n, oc, oh, ow, ic, kh, kw):
        batch, o, row, column, i, p, q = index
        h, v = row * sh + p * dh - top, column * sw + q * dw - left
        if 0 <= h < height and 0 <= v < width:
            y[batch, o, row, column] += x[batch, o // (oc // group) * ic + i, h, v] * w[o, i, p, q]
    return y + b[:, None, None]


@pytest.mark.parametrize("group", [1, 2, 4])
def test_convolution_in_both_layouts(group: int) -> None:
    rng = np.random.default_rng(group)
    x, w = rng.standard_normal((2, 4, 6, 5)), rng.standard_normal((8, 4 // group, 3, 2))
    b = rng.standard_normal(8)
    attrs = {"stride": (2, 1), "pad": (1, 2, 0, 1), "dilation": (1, 2), "group": group}
    expected = naive_conv(x, w, b, attrs)
    np.testing.assert_allclose(meaning("conv", x, w, b, **attrs, layout="channels_first"), expected)
    last = meaning("conv", np.moveaxis(x, 1, -1), np.moveaxis(w, 1, -1), b, **attrs, layout="channels_last")
    np.testing.assert_allclose(last, np.moveaxis(expected, 1, -1))


@pytest.mark.parametrize("group", [1, 3])
def test_a_transposed_convolution_without_input_channels_is_zero(group: int) -> None:
    x, w = np.zeros((2, 0, 3), np.float32), np.zeros((0, 4, 2), np.float32)
    attrs = {"stride": (2,), "pad": (0, 0), "dilation": (1,), "output_padding": (0,), "layout": "channels_first"}
    y = meaning("conv_transpose", x, w, group=group, **attrs)
    np.testing.assert_array_equal(y, np.zeros((2, 4 * group, 6)))


def test_convolution_of_integers_is_exact() -> None:
    x, w = np.full((1, 3, 1, 1), 2**20 + 1, np.int32), np.full((1, 3, 1, 1), 2**9 + 1, np.int32)
    attrs = {"stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1), "group": 1, "layout": "channels_first"}
    assert meaning("conv", x, w, **attrs) == 3 * (2**20 + 1) * (2**9 + 1)


@pytest.mark.parametrize("group", [1, 2])
def test_transposed_convolution_is_the_adjoint_of_convolution(group: int) -> None:
    """<conv(x, w), y> = <x, conv_transpose(y, w)>: the same weights and the same attributes."""
    rng = np.random.default_rng(group)
    attrs: dict[str, Any] = {"stride": (2, 3), "pad": (1, 0, 1, 2), "dilation": (1, 2), "group": group}
    attrs["layout"] = "channels_first"
    x, w = rng.standard_normal((2, 4, 7, 9)), rng.standard_normal((6, 4 // group, 3, 2))
    forward = meaning("conv", x, w, **attrs)
    y = rng.standard_normal(forward.shape)
    back = meaning("conv_transpose", y, w, **attrs, output_padding=(0, 0))
    extra = tuple(have - got for have, got in zip(x.shape[2:], back.shape[2:]))
    back = meaning("conv_transpose", y, w, **attrs, output_padding=extra)
    np.testing.assert_allclose((forward * y).sum(), (x * back).sum())


POOL = {"kernel": (2,), "stride": (2,), "dilation": (1,), "layout": "channels_first"}


def pooled(x: list[float], **attrs: Any) -> list[float]:
    return meaning("pool", f32(x).reshape(1, 1, -1), **{**POOL, **attrs}).reshape(-1).tolist()


def test_average_pools_count_what_is_there() -> None:
    attrs: dict[str, Any] = {"kind": "avg", "pad": (1, 0), "ceil_mode": False}
    assert pooled([1, 2, 3], **attrs, count_include_pad=False) == [1, 2.5]
    assert pooled([1, 2, 3], **attrs, count_include_pad=True) == [0.5, 2.5]


def test_windows_beyond_the_end() -> None:
    """With ceil_mode a last window starts inside; what it reaches beyond never counts."""
    attrs: dict[str, Any] = {"kind": "avg", "pad": (0, 0), "count_include_pad": True}
    assert pooled([1, 2, 3], **attrs, ceil_mode=False) == [1.5]
    assert pooled([1, 2, 3], **attrs, ceil_mode=True) == [1.5, 3]
    assert pooled([1, 2], **{**attrs, "pad": (0, 1)}, ceil_mode=True) == [1.5]
    assert pooled([-1, -2, -3], **{**attrs, "kind": "max"}, ceil_mode=True) == [-1, -3]


def test_a_window_longer_than_the_input() -> None:
    """With ceil_mode it is one, if the next would begin behind it."""
    attrs: dict[str, Any] = {"kernel": (5,), "stride": (3,), "pad": (0, 0), "count_include_pad": True}
    assert pooled([1, 2, 6], kind="avg", **attrs, ceil_mode=True) == [3]
    assert pooled([-4, -2, -3], kind="max", **attrs, ceil_mode=True) == [-2]
    for extent, ceil_mode in ((3, False), (2, True)):
        with pytest.raises(ValueError, match="a window of 5 does not fit"):
            pooled([1.0] * extent, kind="avg", **attrs, ceil_mode=ceil_mode)


def test_reductions_of_nothing() -> None:
    empty = np.zeros((2, 0), np.float32)
    attrs = {"axes": (1,), "keepdims": False}
    for kind, expected in (("sum", 0), ("prod", 1), ("max", -np.inf), ("min", np.inf)):
        np.testing.assert_array_equal(meaning("reduce", empty, kind=kind, **attrs), [expected] * 2)
    assert meaning("reduce", empty.astype(np.int8), kind="max", **attrs).tolist() == [-128, -128]


def test_means_of_integers_truncate() -> None:
    assert meaning("reduce", i32([-1, -2, -2]), kind="mean", axes=(0,), keepdims=False) == -1


def test_ties_of_extremes() -> None:
    x = f32([1, 3, 3, 0])
    assert meaning("arg_reduce", x, kind="max", axis=0, keepdims=False, last=False) == 1
    assert meaning("arg_reduce", x, kind="max", axis=0, keepdims=False, last=True) == 2


def test_softmax_does_not_overflow() -> None:
    np.testing.assert_allclose(meaning("softmax", f32([1000, 1000]), axis=0), [0.5, 0.5])
    np.testing.assert_allclose(meaning("log_softmax", f32([1000, 0]), axis=0), [0, -1000])
    assert meaning("softmax", f32([-np.inf, 0]), axis=0).tolist() == [0, 1]


def test_running_sums() -> None:
    x = i32([1, 2, 3])
    for exclusive, reverse, expected in (
        (False, False, [1, 3, 6]), (True, False, [0, 1, 3]), (False, True, [6, 5, 3]), (True, True, [5, 3, 0]),
    ):  # fmt: skip
        assert meaning("cumsum", x, axis=0, exclusive=exclusive, reverse=reverse).tolist() == expected


def test_sums_round_once() -> None:
    """1 + 2^24 ones in float32 would stop at 2^24; the meaning sums in float64."""
    x = np.concatenate([f32([2**24]), np.ones(8, np.float32)])
    assert meaning("reduce", x, kind="sum", axes=(0,), keepdims=False) == 2**24 + 8
