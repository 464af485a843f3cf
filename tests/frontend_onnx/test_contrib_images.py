"""Operators of ONNX Runtime's domain on images whose channels are last, which its kernels for CPUs do not have: against
their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from onnx import helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import run_compiled, value

RNG = np.random.default_rng(7)
IMAGE = RNG.standard_normal((2, 3, 4, 6)).astype(np.float32)
GAMMA, BETA = RNG.standard_normal((2, 6)).astype(np.float32)


def _model(op: str, names: list[str], feeds: dict[str, np.ndarray], results: int, **attrs: Any) -> onnx.ModelProto:
    outputs = [f"y{n}" for n in range(results)]
    node = helper.make_node(op, names, outputs, domain="com.microsoft", name="node", **attrs)
    inputs = [value(name, array.shape) for name, array in feeds.items()]
    graph = helper.make_graph([node], "g", inputs, [value(name, None) for name in outputs])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _normalized(image: np.ndarray, groups: int, epsilon: float, activation: int) -> np.ndarray:
    """Of [N, H, W, C], by float64."""
    parts = image.astype(np.float64).reshape(*image.shape[:3], groups, -1)
    mean, square = (each.mean(axis=(1, 2, 4), keepdims=True) for each in (parts, parts**2))
    y = ((parts - mean) / np.sqrt(square - mean**2 + epsilon)).reshape(image.shape) * GAMMA + BETA
    return y / (1 + np.exp(-y)) if activation else y


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_group_normalization(activation: int, last: int) -> None:
    feeds = {"x": IMAGE if last else IMAGE.transpose(0, 3, 1, 2), "g": GAMMA, "b": BETA}
    attrs = {"groups": 3, "epsilon": 1e-3, "activation": activation, "channels_last": last}
    (found,) = run_compiled(_model("GroupNorm", ["x", "g", "b"], feeds, 1, **attrs), feeds)
    wanted = _normalized(IMAGE, 3, 1e-3, activation)
    np.testing.assert_allclose(found if last else found.transpose(0, 2, 3, 1), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (2, 1, 1, 6), (2, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_group_normalization_of_a_sum(shape: tuple[int, ...], bias: bool) -> None:
    feeds = {"x": IMAGE, "g": GAMMA, "b": BETA, "s": RNG.standard_normal(shape).astype(np.float32)}
    feeds |= {"o": RNG.standard_normal(6).astype(np.float32)} if bias else {}
    model = _model("SkipGroupNorm", list(feeds), feeds, 2, groups=2, activation=1)
    y, added = run_compiled(model, feeds)
    skip = feeds["s"].reshape(2, 1, 1, 6) if len(shape) == 2 else feeds["s"]
    total = IMAGE + skip + feeds.get("o", np.float32(0))
    np.testing.assert_allclose(added, total, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(y, _normalized(total, 2, 1e-5, 1), rtol=1e-4, atol=1e-5)


def test_activations_without_a_definition_are_refused() -> None:
    feeds = {"x": IMAGE, "g": GAMMA, "b": BETA}
    with pytest.raises(CcmlError, match="activation 2"):
        run_compiled(_model("GroupNorm", ["x", "g", "b"], feeds, 1, groups=2, activation=2), feeds)


def test_convolution() -> None:
    weights, bias = RNG.standard_normal((4, 3, 3, 3)).astype(np.float32), RNG.standard_normal(4).astype(np.float32)
    attrs = {"group": 2, "pads": [1, 0, 1, 2], "strides": [2, 1], "kernel_shape": [3, 3]}
    feeds = {"x": IMAGE, "w": weights, "b": bias}
    (found,) = run_compiled(_model("NhwcConv", list(feeds), feeds, 1, **attrs), feeds)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attrs)
    first = {"x": IMAGE.transpose(0, 3, 1, 2), "w": weights.transpose(0, 3, 1, 2), "b": bias}
    inputs = [value(name, array.shape) for name, array in first.items()]
    graph = helper.make_graph([node], "g", inputs, [value("y", None)])
    same = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (wanted,) = onnxruntime(same, first)
    np.testing.assert_allclose(found, wanted.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)
