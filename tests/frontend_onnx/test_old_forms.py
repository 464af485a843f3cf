"""Operators of the operator sets 1 to 6, compiled: against NumPy where later sets say it otherwise.

``onnx.version_converter`` is a second opinion where it knows the form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from onnx import version_converter

from tests.frontend_onnx.compiled import compiled, onnxruntime
from tests.frontend_onnx.graphs import Operand, one_node


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check(op: str, opset: int, arrays: Sequence[Operand], expected: np.ndarray, **attrs: object) -> None:
    proto, feeds = one_node(op, arrays, opset, **attrs)
    (result, *_) = compiled(proto, feeds)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


X = floats(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("shape", "attrs", "wide"),
    [
        ((5,), {"broadcast": 1}, (5,)),
        ((3,), {"broadcast": 1, "axis": 1}, (3, 1, 1)),
        ((3, 4), {"broadcast": 1, "axis": 1}, (3, 4, 1)),
        ((3, 4), {"broadcast": 1, "axis": -3}, (3, 4, 1)),
        ((2,), {"broadcast": 1, "axis": 0}, (2, 1, 1, 1)),
        ((1,), {"broadcast": 1}, (1,)),
        ((), {"broadcast": 1}, ()),
        ((2, 3, 4, 5), {}, (2, 3, 4, 5)),
    ],
)
@pytest.mark.parametrize("opset", [1, 6])
def test_broadcasting_along_an_axis(
    shape: tuple[int, ...], attrs: dict[str, int], wide: tuple[int, ...], opset: int
) -> None:
    y = floats(*shape, seed=1)
    check("Sub", opset, [X, y], X - y.reshape(wide), **attrs)
    proto, feeds = one_node("Greater", [X, y], opset, **attrs)
    np.testing.assert_array_equal(compiled(proto, feeds)[0], y.reshape(wide) < X)


def test_different_shapes_need_broadcast() -> None:
    with pytest.raises(CcmlError, match="without broadcast"):
        compiled(*one_node("Add", [X, floats(5)], 6))
    with pytest.raises(CcmlError, match="from axis 3 on"):
        compiled(*one_node("Add", [X, floats(4, 5)], 6, broadcast=1, axis=3))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("opset", [1, 6])
def test_prelu_has_a_slope_for_each_channel(shape: tuple[int, ...], opset: int) -> None:
    x, slope = floats(*shape), floats(3, seed=1)
    wide = slope.reshape(-1, *[1] * (len(shape) - 2))
    check("PRelu", opset, [x, slope], np.where(x < 0, wide * x, x))
    check("PRelu", opset, [x, slope[:1]], np.where(x < 0, slope[0] * x, x))


def test_gemm_broadcasts_where_an_attribute_says_so() -> None:
    a, b, c = floats(4, 3), floats(3, 5, seed=1), floats(5, seed=2)
    check("Gemm", 6, [a, b, c], 0.5 * a @ b + c, broadcast=1, alpha=0.5)
    check("Gemm", 1, [a.T.copy(), b, c], a @ b + 2 * c, broadcast=1, transA=1, beta=2.0)


def test_batch_normalization_is_training_unless_it_says_test() -> None:
    x, scale, bias, mean, variance = X, floats(3), floats(3, seed=1), floats(3, seed=2), np.abs(floats(3, seed=3))
    wide = lambda v: v.reshape(3, 1, 1)  # noqa: E731
    of_test = (x - wide(mean)) / np.sqrt(wide(variance) + 1e-5) * wide(scale) + wide(bias)
    check("BatchNormalization", 6, [x, scale, bias, mean, variance], of_test, is_test=1)
    check("BatchNormalization", 1, [x, scale, bias, mean, variance], of_test, is_test=1, consumed_inputs=[0] * 5)
    own = (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
    check("BatchNormalization", 6, [x, scale, bias, mean, variance], own * wide(scale) + wide(bias))


def test_batch_normalization_of_each_element() -> None:
    """``spatial=0``, which operator set 9 no longer has: all but the batch have statistics of their own."""
    shape = X.shape[1:]
    scale, bias, mean, variance = (floats(*shape, seed=seed) for seed in range(1, 5))
    variance = np.abs(variance)
    of_test = (X - mean) / np.sqrt(variance + 1e-5) * scale + bias
    for opset, attrs in ((1, {"is_test": 1, "consumed_inputs": [0] * 5}), (6, {"is_test": 1}), (7, {}), (8, {})):
        check("BatchNormalization", opset, [X, scale, bias, mean, variance], of_test, spatial=0, **attrs)
    y, running_mean, running_variance, *own = compiled(
        *one_node("BatchNormalization", [X, scale, bias, mean, variance], 7, outputs=5, spatial=0)
    )
    wanted = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5) * scale + bias
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(running_mean, mean * 0.9 + X.mean(0) * 0.1, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(running_variance, variance * 0.9 + X.var(0) * 0.1, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own, [X.mean(0), X.var(0)], rtol=1e-5, atol=1e-6)


def test_batch_normalization_returns_its_statistics() -> None:
    """Before operator set 14 five results mean training."""
    operands = [X, floats(3), floats(3, seed=1), floats(3, seed=2), np.abs(floats(3, seed=3))]
    for opset, count, attrs in ((6, 5, {}), (7, 5, {}), (9, 5, {"momentum": 0.5}), (15, 3, {"training_mode": 1})):
        results = compiled(*one_node("BatchNormalization", operands, opset, outputs=count, **attrs))
        momentum = attrs.get("momentum", 0.9)
        own = [X.mean((0, 2, 3)), X.var((0, 2, 3))]
        running = [old * momentum + new * (1 - momentum) for old, new in zip(operands[3:], own)]
        for result, wanted in zip(results[1:], [*running, *own]):
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_attributes_of_other_names_and_types() -> None:
    check("Cast", 1, [X * 10], (X * 10).astype(np.int32), to="INT32")
    check("Cast", 6, [X * 10], (X * 10).astype(np.int32), to=6)
    check("Pad", 1, [X[0, 0]], np.pad(X[0, 0], ((1, 0), (2, 3)), constant_values=1.5), paddings=[1, 2, 0, 3], value=1.5)
    check("Pad", 2, [X[0, 0]], np.pad(X[0, 0], ((1, 0), (2, 3)), mode="edge"), pads=[1, 2, 0, 3], mode="edge")
    check("Reshape", 1, [X], X.reshape(6, 20), shape=[6, -1])
    check("Upsample", 1, [X], X.repeat(2, 2).repeat(3, 3), height_scale=2.0, width_scale=3.0)
    check("GlobalLpPool", 1, [X], np.sqrt((X * X).sum((2, 3), keepdims=True)), p=2.0)
    check("Concat", 1, [X, X], np.concatenate([X, X], 1))
    check("Clip", 1, [X], X.clip(-0.5, 0.25), min=-0.5, max=0.25, consumed_inputs=[0])
    check("Selu", 1, [X], np.where(X > 0, X, 1.6732 * np.expm1(X)) * 1.0507)
    check("Dropout", 1, [X], X, is_test=1, ratio=0.5)
    check("Sum", 1, [X, X, X], 3 * X)
    check("Relu", 1, [X], np.maximum(X, 0), consumed_inputs=[0])


def test_operands_that_became_attributes() -> None:
    proto, feeds = one_node("Tile", [X[0, 0], np.int64(3), np.int64(1)], 1, [1, 2])
    np.testing.assert_array_equal(compiled(proto, feeds)[0], np.tile(X[0, 0], (1, 3)))
    proto, feeds = one_node("Split", [X, np.array([1, 3], np.int64)], 1, [1], axis=2, outputs=2)
    for result, wanted in zip(compiled(proto, feeds), np.split(X, [1], 2), strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("op", "arrays", "attrs"),
    [
        ("Mul", [X, floats(4, 5, seed=1)], {"broadcast": 1}),
        ("Pow", [np.abs(X), floats(2, 3, 4, 5, seed=1)], {}),
        ("Gemm", [floats(4, 3), floats(3, 5), floats(5)], {"broadcast": 1, "beta": 0.5}),
        ("AveragePool", [X], {"kernel_shape": [2, 2], "strides": [2, 1], "auto_pad": "SAME_UPPER"}),
        ("MaxPool", [X], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1]}),
        ("Dropout", [X], {"is_test": 1}),
    ],
)
def test_agrees_with_the_version_converter(op: str, arrays: Sequence[np.ndarray], attrs: dict[str, object]) -> None:
    proto, feeds = one_node(op, arrays, 6, **attrs)
    later = version_converter.convert_version(_with_types(proto, feeds), 13)
    np.testing.assert_allclose(compiled(proto, feeds)[0], onnxruntime(later, feeds)[0], rtol=1e-5, atol=1e-6)


def _with_types(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The converter asks for the type of outputs."""
    (result,) = compiled(proto, feeds)
    output = proto.graph.output[0].type.tensor_type
    output.elem_type = 1
    for extent in result.shape:
        output.shape.dim.add().dim_value = extent
    return proto
