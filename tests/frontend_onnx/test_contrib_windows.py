"""Maxima of windows of ONNX Runtime's own domain: against its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from ccml.frontend_onnx import import_model
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import run_compiled

RNG = np.random.default_rng(7)
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}


def _model(op: str, feeds: dict[str, np.ndarray], **attrs: Any) -> onnx.ModelProto:
    node = helper.make_node(op, list(feeds), ["y"], domain="com.microsoft", name="node", **attrs)
    inputs = [helper.make_tensor_value_info(n, KINDS[array.dtype], array.shape) for n, array in feeds.items()]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _agrees(op: str, feeds: dict[str, np.ndarray], **attrs: Any) -> None:
    proto = _model(op, feeds, **attrs)
    (found,), (wanted,) = run_compiled(proto, feeds), onnxruntime(proto, feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "masks", "attrs"),
    [
        ((1, 1, 7), (1, 1), {"kernel_shape": [3]}),
        ((1, 3, 8), (1, 3), {"kernel_shape": [2], "strides": [2], "pads": [1, 0]}),
        ((2, 2, 5, 7), (1, 1), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
        ((1, 4, 5, 7), (1, 4), {"kernel_shape": [2, 3], "strides": [1, 2]}),
        ((1, 2, 6, 5), (1, 2), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 3, 4, 5), (1, 2), {"kernel_shape": [2, 2, 3]}),
    ],
)
def test_pooling_that_a_mask_ends(shape: tuple[int, ...], masks: tuple[int, int], attrs: dict[str, Any]) -> None:
    mask = (RNG.random((*masks, *shape[2:])) < 0.75).astype(np.int32)
    _agrees("MaxpoolWithMask", {"x": RNG.standard_normal(shape).astype(np.float32), "m": mask}, **attrs)


def test_masks_of_other_sizes_are_refused() -> None:
    feeds = {"x": np.ones((1, 1, 4, 4), np.float32), "m": np.ones((1, 1, 4, 3), np.int32)}
    with pytest.raises(CcmlError, match=r"a mask \[1, 1, 4, 3\] for \[1, 1, 4, 4\]"):
        import_model(_model("MaxpoolWithMask", feeds, kernel_shape=[2, 2]))


WORDS = np.array([[3, 1, 4, 1, 5, 0], [2, 0, 0, 0, 0, 0], [6, 5, 3, 5, 2, 1], [1, 2, 3, 0, 0, 0]], np.int32)


@pytest.mark.parametrize("window", [1, 2, 4, 6])
def test_words_of_letters(window: int) -> None:
    """Short and long ones, of as many letters as a window has, or fewer."""
    weights = {"w": (3, 1, window, 5), "b": (3,), "c": (7, 5)}
    _agrees("WordConvEmbedding", {"s": WORDS, **_normal(weights)}, embedding_size=3, conv_window_size=window)


def test_words_without_letters_are_zero() -> None:
    """So that what they are does not depend on memory; the others do not change."""
    feeds = {"s": WORDS, **_normal({"w": (3, 1, 2, 5), "b": (3,), "c": (7, 5)})}
    few = {**feeds, "s": WORDS * np.array([[1], [0], [1], [0]], np.int32)}
    (found,), (wanted,) = run_compiled(_model("WordConvEmbedding", few), few), onnxruntime(
        _model("WordConvEmbedding", feeds), feeds
    )
    np.testing.assert_allclose(found, wanted * np.array([[1], [0], [1], [0]]), rtol=1e-5, atol=1e-6)


def test_words_that_are_shorter_than_the_window_are_refused() -> None:
    feeds = {"s": WORDS, **_normal({"w": (3, 1, 7, 5), "b": (3,), "c": (7, 5)})}
    with pytest.raises(CcmlError, match="words of 6 letters"):
        import_model(_model("WordConvEmbedding", feeds))


def _normal(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    return {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
