"""ONNX models with an image for an input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save_image(path: Path, height: int = 12) -> Path:
    """Two convolutions over ``image`` [1, 3, height, 10], then the mean of four maps."""
    rng = np.random.default_rng(0)
    weights = {"w1": rng.standard_normal((4, 3, 3, 3)) / 5, "w2": rng.standard_normal((4, 4, 3, 3)) / 6}
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], name="first", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Conv", ["b", "w2"], ["c"], name="second", pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["c"], ["scores"], name="mean"),
    ]
    return _save(path, nodes, weights, ("image", [1, 3, height, 10]), ("scores", [1, 4, 1, 1]))


def save_flat(path: Path, outputs: int = 64) -> Path:
    """A layer of which each output depends on all of ``x``."""
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], name="flatten"),
        helper.make_node("MatMul", ["flat", "w"], ["y"], name="classify"),
    ]
    return _save(path, nodes, {"w": np.ones((90, outputs))}, ("x", [1, 1, 9, 10]), ("y", [1, outputs]))


def _save(
    path: Path, nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], x: tuple[str, list[int]],
    y: tuple[str, list[int]],
) -> Path:  # fmt: skip
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in (x, y)
    )
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
