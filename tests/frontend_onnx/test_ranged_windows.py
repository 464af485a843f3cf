"""Convolutions, pools, borders, joints and normalizations along a dimension whose extent is an argument, compiled for
its bound and run at several extents, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.dims import Range
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import Operand, model, value

N = helper.make_node
RNG = np.random.default_rng(11)
C: dict[str, Operand] = {
    "w": RNG.standard_normal((8, 4, 3)).astype(np.float32), "v": RNG.standard_normal((8, 8, 3)).astype(np.float32),
    "b": RNG.standard_normal(8).astype(np.float32), "one": np.ones(4, np.float32), "none": np.zeros(4, np.float32),
    "causal": np.array([0, 0, 4, 0, 0, 0]), "around": np.array([0, 0, 1, 0, 0, 3]), "two": np.float32(2),
    "one around": np.array([0, 0, 1, 0, 0, 1]), "all around": np.array([0, 1, 2, 0, 2, 1]),
    "token": RNG.standard_normal((1, 4, 2)).astype(np.float32), "last": np.array([2]),
    "cut": np.array([0, 0, 1, 0, 0, -1]),
}  # fmt: skip
MODELS: Mapping[str, list[onnx.NodeProto]] = {
    "strided convolutions": [
        N("Conv", ["x", "w"], ["c"], pads=[1, 1], strides=[2]), N("Relu", ["c"], ["r"]),
        N("Conv", ["r", "v", "b"], ["y"], pads=[2, 2], dilations=[2]),
    ],
    "causal convolution": [N("Pad", ["x", "causal"], ["p"]), N("Conv", ["p", "w"], ["y"], dilations=[2])],
    "greatest": [N("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2], pads=[1, 1])],
    "average": [N("AveragePool", ["x"], ["y"], kernel_shape=[2], strides=[2])],
    "average over a border": [N("AveragePool", ["x"], ["y"], kernel_shape=[3], strides=[2], pads=[1, 1])],
    "average with a border": [
        N("AveragePool", ["x"], ["y"], kernel_shape=[3], strides=[2], pads=[1, 1], count_include_pad=1)
    ],
    "parts of windows": [
        N("MaxPool", ["x"], ["m"], kernel_shape=[3], strides=[2], pads=[1, 0], ceil_mode=1),
        N("AveragePool", ["x"], ["a"], kernel_shape=[3], strides=[2], pads=[1, 0], ceil_mode=1),
        N("Add", ["m", "a"], ["y"]),
    ],
    "repeated edge": [N("Pad", ["x", "around"], ["p"], mode="edge"), N("Conv", ["p", "w"], ["y"])],
    "mirrored": [N("Pad", ["x", "one around"], ["p"], mode="reflect"), N("ReduceSum", ["p", "last"], ["y"])],
    "periodic, and of channels": [N("Pad", ["x", "all around"], ["y"], mode="wrap")],
    "normalization of groups": [
        N("GroupNormalization", ["x", "one", "none"], ["g"], num_groups=2), N("Conv", ["g", "w"], ["y"], pads=[1, 1]),
    ],
    "border": [N("Pad", ["x", "around", "two"], ["p"]), N("ReduceSum", ["p", "last"], ["y"])],
    "token before": [N("Concat", ["token", "x"], ["j"], axis=2), N("Softmax", ["j"], ["y"])],
    "token behind": [N("Concat", ["x", "token", "x"], ["j"], axis=2), N("Softmax", ["j"], ["y"])],
    "normalization": [N("InstanceNormalization", ["x", "one", "none"], ["y"])],
    "convolution beside the argument": [
        N("Conv", ["x", "w"], ["c"], pads=[1, 1]), N("Conv", ["c", "v"], ["d"], pads=[1, 1]),
        N("Add", ["c", "d"], ["y"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_onnx_runtime(name: str) -> None:
    nodes = MODELS[name]
    read = {operand for made in nodes for operand in made.input}
    made = model(nodes, [value("x", [1, 4, "n"])], ["y"], {key: array for key, array in C.items() if key in read})
    graph = import_model(made, {"n": Range(2, 11)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for extent in (2, 3, 8, 11):
        feeds = {"x": np.random.default_rng(extent).standard_normal((1, 4, extent)).astype(np.float32)}
        (wanted,), found = onnxruntime(made, feeds), compiled.run(feeds)["y"]
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (N("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[2], pads=[0, 1], ceil_mode=1), "beyond the end"),
        (N("Pad", ["x", "cut"], ["y"], mode="edge"), "takes a part of"),
    ],
)  # fmt: skip
def test_what_depends_on_the_end_in_another_way_is_refused(made: onnx.NodeProto, reason: str) -> None:
    constants = {name: C[name] for name in made.input if name in C}
    with pytest.raises(CcmlError) as caught:
        import_model(model([made], [value("x", [1, 4, "n"])], ["y"], constants), {"n": Range(2, 11)})
    assert reason in caught.value.reason and caught.value.hint is not None


IMAGES: Mapping[str, list[onnx.NodeProto]] = {
    "with borders": [
        N("Conv", ["x", "k"], ["c"], pads=[2, 2, 2, 2]), N("Conv", ["c", "l"], ["d"], pads=[1, 1, 1, 1]),
        N("Conv", ["d", "m"], ["y"], pads=[1, 1, 1, 1]),
    ],
    "without a border": [
        N("Conv", ["x", "k"], ["c"], pads=[3, 3, 3, 3]), N("Conv", ["c", "l"], ["d"], pads=[0, 1, 0, 1]),
        N("Conv", ["d", "m"], ["y"], pads=[1, 0, 1, 0]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_tiles_at_the_end_of_an_image_hold_numbers(name: str) -> None:
    """3x3 convolutions are computed in tiles, of sums over all inputs of one: memory that holds no numbers yet is not
    among them."""
    shapes = {"k": (8, 1, 5, 5), "l": (8, 8, 3, 3), "m": (9, 8, 3, 3)}
    constants: dict[str, Operand] = {
        key: RNG.standard_normal(shape).astype(np.float32) / 9 for key, shape in shapes.items()
    }
    made = model(IMAGES[name], [value("x", [1, 1, "h", "w"])], ["y"], constants)
    graph = import_model(made, {"h": Range(1, 16), "w": Range(1, 12)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for rows, columns in ((1, 1), (5, 7), (3, 12), (16, 12), (13, 6)):
        feeds = {"x": RNG.standard_normal((1, 1, rows, columns)).astype(np.float32)}
        for pool in compiled._pools:
            pool.fill(0xFF)  # not a number, as float32
        (wanted,), found = onnxruntime(made, feeds), compiled.run(feeds)["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
