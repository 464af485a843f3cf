"""Corners of operators where runtimes differ or arithmetic breaks: what the text says, evaluated and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import model, run, run_compiled, value

INF = np.inf
HALF = TensorProto.FLOAT16


def both(proto: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The first output, evaluated and compiled."""
    return [run(proto, feeds)[0], run_compiled(proto, feeds)[0]]  # type: ignore[arg-type]


def resize(x: np.ndarray, scale: float, **attributes: object) -> list[np.ndarray]:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    proto = model([node], [value("x", [1, 1, x.size])], ["y"], {"scales": np.array([1, 1, scale], np.float32)})
    return [result.reshape(-1) for result in both(proto, {"x": x.astype(np.float32).reshape(1, 1, -1)})]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_aligned_corners_map_the_last_onto_the_last(mode: str) -> None:
    """Where extent * scale = 6.75 is no whole number."""
    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    for result in resize(x, 1.35, mode=mode, coordinate_transformation_mode="align_corners"):
        assert (result.size, result[0], result[-1]) == (6, 3.0, 5.0)


def test_one_element_by_cubic_interpolation_is_the_first() -> None:
    """pytorch_half_pixel: x_original = length_resized > 1 ? ... : 0."""
    for result in resize(
        np.array([3.0, 1.0, 4.0, 1.0]), 0.4, mode="cubic", coordinate_transformation_mode="pytorch_half_pixel"
    ):
        np.testing.assert_allclose(result, [3.0], rtol=1e-6)


def test_log_of_sums_of_infinities() -> None:
    node = helper.make_node("ReduceLogSumExp", ["x"], ["y"], axes=[1], keepdims=0)
    x = np.array([[INF, 1], [-INF, -INF], [-INF, 2], [INF, -INF], [np.nan, 0]], np.float32)
    for result in both(model([node], [value("x", [5, 2])], ["y"], opset=13), {"x": x}):
        np.testing.assert_allclose(result, [INF, -INF, 2, INF, np.nan], rtol=1e-6)


@pytest.mark.parametrize("op, attributes", [
    ("GlobalLpPool", {}), ("LpPool", {"kernel_shape": [4]}), ("LpPool", {"kernel_shape": [4], "p": 3}),
    ("ReduceL2", {}),
])  # fmt: skip
def test_norms_of_half_floats_do_not_overflow(op: str, attributes: dict[str, object]) -> None:
    """The squares of 1000 do."""
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    norm = 1000 * 4 ** (1 / int(attributes.get("p", 2)))  # type: ignore[call-overload]
    proto = model([node], [value("x", [1, 1, 4], HALF)], ["y"])
    for result in both(proto, {"x": np.full((1, 1, 4), 1000, np.float16)}):
        assert result.dtype == np.float16
        np.testing.assert_allclose(result.reshape(-1), [norm], rtol=1e-3)


def test_lp_pool_beyond_the_padding() -> None:
    """What ceil_mode adds is padding, of zeros."""
    node = helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[3], strides=[2], ceil_mode=1, p=1)
    for result in both(model([node], [value("x", [1, 1, 6])], ["y"]), {"x": np.ones((1, 1, 6), np.float32)}):
        assert result.reshape(-1).tolist() == [3, 3, 2]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_any_count(dtype: type, direction: str) -> None:
    """By a negative count, or all bits and more, the fill of sign bits is left."""
    bits, limits = np.dtype(dtype).itemsize * 8, np.iinfo(dtype)
    counts = [c for c in (-128, -bits, -1, 0, 1, bits - 1, bits, bits + 1, 100) if limits.min <= c <= limits.max]
    grid = np.meshgrid(np.array([limits.min, 0, 5, limits.max], dtype), np.array(counts, dtype))
    x, y = (axis.reshape(-1) for axis in grid)
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("BitShift", ["x", "n"], ["y"], direction=direction)
    proto = model([node], [value("x", x.shape, elem), value("n", y.shape, elem)], ["y"], opset=28)
    wrap = 1 << bits
    exact = [_shifted(int(a), int(n), bits, direction) % wrap for a, n in zip(x, y)]
    expected = [code - wrap if limits.min < 0 and code >= wrap // 2 else code for code in exact]
    for result in both(proto, {"x": x, "n": y}):
        assert result.tolist() == expected


def _shifted(x: int, count: int, bits: int, direction: str) -> int:
    if not 0 <= count < bits:
        return -1 if x < 0 and direction == "RIGHT" else 0
    return x << count if direction == "LEFT" else x >> count


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_sign_of_a_remainder_of_zero(fmod: int, dtype: type) -> None:
    """fmod: that of the dividend, as in C; otherwise that of the divisor, as in Python."""
    x, y = np.array([-4, 4, -4, 4, -0.0, 0.0, -5], dtype), np.array([2, 2, -2, -2, 2, -2, 3], dtype)
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("Mod", ["x", "d"], ["y"], fmod=fmod)
    proto = model([node], [value("x", [7], elem), value("d", [7], elem)], ["y"], opset=28)
    negative = np.signbit(x if fmod else y)
    for result in both(proto, {"x": x, "d": y}):
        assert (np.signbit(result) == negative).all()
