"""Writes sensor.onnx: two channels of a sensor, freed from outliers by a median filter, then a convolution and a class.

The weights are random: this is about the operator.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LENGTH, CHANNELS, FEATURES, CLASSES = 64, 2, 4, 3


def sensor() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((FEATURES, CHANNELS, 5)), "b": rng.standard_normal(FEATURES),
        "v": rng.standard_normal((FEATURES, CLASSES)),
    }  # fmt: skip
    nodes = [
        helper.make_node("Median", ["x"], ["clean"], domain="com.example", name="median"),
        helper.make_node("Conv", ["clean", "w", "b"], ["features"], pads=[2, 2], name="conv"),
        helper.make_node("Relu", ["features"], ["positive"], name="relu"),
        helper.make_node("Median", ["positive"], ["smooth"], domain="com.example", window=3, name="median2"),
        helper.make_node("ReduceMax", ["smooth", "axes"], ["greatest"], keepdims=0, name="max"),
        helper.make_node("MatMul", ["greatest", "v"], ["scores"], name="classes"),
    ]
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    constants.append(numpy_helper.from_array(np.array([2]), "axes"))
    graph = helper.make_graph(
        nodes, "sensor", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, LENGTH])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES])], constants,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


if __name__ == "__main__":
    onnx.save(sensor(), Path(__file__).parent / "sensor.onnx")
