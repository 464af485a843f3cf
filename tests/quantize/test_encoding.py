"""Scales and zero points, by hand."""

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.quantization.encoding import activation_encoding, weight_encoding


def test_asymmetric_int8_has_255_steps() -> None:
    encoding = activation_encoding(-1.0, 1.55, DType.I8, symmetric=False)
    assert encoding.scale == (float(np.float32(0.01)),)
    assert encoding.zero_point == (-28,)
    assert encoding.quantize(np.array([-1.0, 0.0, 1.55, 9.0, -9.0])).tolist() == [-128, -28, 127, 127, -128]


def test_uint8_differs_by_128() -> None:
    signed = activation_encoding(-1.0, 1.55, DType.I8, symmetric=False)
    unsigned = activation_encoding(-1.0, 1.55, DType.U8, symmetric=False)
    assert unsigned.scale == signed.scale
    assert unsigned.zero_point[0] == signed.zero_point[0] + 128


@pytest.mark.parametrize(("low", "high"), [(0.3, 5.0), (-5.0, -0.3), (-0.001, 7.0), (-1e-20, 1e-20), (0.0, 0.0)])
@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
@pytest.mark.parametrize("symmetric", [False, True])
def test_zero_is_exact(low: float, high: float, dtype: DType, symmetric: bool) -> None:
    encoding = activation_encoding(low, high, dtype, symmetric)
    assert encoding.round_trip(np.zeros(3, np.float32)).tolist() == [0.0] * 3
    assert encoding.scale[0] == np.float32(encoding.scale[0]) > 0


def test_symmetric_has_the_zero_point_in_the_middle() -> None:
    assert activation_encoding(-2.54, 1.0, DType.I8, True).zero_point == (0,)
    assert activation_encoding(-2.54, 1.0, DType.I8, True).scale == (float(np.float32(0.02)),)
    assert activation_encoding(-2.54, 1.0, DType.U8, True).zero_point == (128,)
    assert activation_encoding(-2.0, 32767.0, DType.I16, True).scale == (1.0,)


def test_real_range_is_what_can_be_stored() -> None:
    encoding = activation_encoding(0.0, 2.55, DType.I8, symmetric=False)
    assert encoding.real_range == pytest.approx((0.0, 2.55))


def test_weights_use_127_to_either_side_of_each_channel() -> None:
    weights = np.array([[127.0, -127.0, 1.0], [0.0, 0.0, 0.0], [-0.5, 0.25, 0.0]], np.float32)
    encoding = weight_encoding(np.abs(weights).max(axis=1), axis=0)
    assert encoding.zero_point == (0, 0, 0)
    assert encoding.quantize(weights).tolist() == [[127, -127, 1], [0, 0, 0], [-127, 64, 0]]
