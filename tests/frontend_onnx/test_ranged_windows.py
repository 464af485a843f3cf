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
from ccml.ir.steps import walk_calls
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule import tap_products
from ccml.targets import select
from onnx import helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import Operand, model, value
from tests.schedule.test_winograd import prefer_tiles

N = helper.make_node
RNG = np.random.default_rng(11)
C: dict[str, Operand] = {
    "w": RNG.standard_normal((8, 4, 3)).astype(np.float32), "v": RNG.standard_normal((8, 8, 3)).astype(np.float32),
    "b": RNG.standard_normal(8).astype(np.float32), "one": np.ones(4, np.float32), "none": np.zeros(4, np.float32),
    "causal": np.array([0, 0, 4, 0, 0, 0]), "around": np.array([0, 0, 1, 0, 0, 3]), "two": np.float32(2),
    "one around": np.array([0, 0, 1, 0, 0, 1]), "all around": np.array([0, 1, 2, 0, 2, 1]),
    "token": RNG.standard_normal((1, 4, 2)).astype(np.float32), "last": np.array([2]),
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
    "windows that may be longer than the input": [
        N("MaxPool", ["x"], ["m"], kernel_shape=[5], strides=[4], ceil_mode=1),
        N("AveragePool", ["x"], ["a"], kernel_shape=[5], strides=[4], ceil_mode=1),
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


RESIZES: Mapping[str, tuple[list[onnx.NodeProto], int]] = {
    "nearest, twice": ([N("Resize", ["x", "", "twice"], ["y"])], 13),
    "nearest as before 10": ([N("Upsample", ["x", "twice"], ["y"])], 9),
    "linear, by three halves": ([N("Resize", ["x", "", "more"], ["y"], mode="linear")], 13),
    "linear, aligned": (
        [N("Resize", ["x", "", "more"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")], 13,
    ),
    "cubic, half": (
        [N("Resize", ["x", "", "half"], ["y"], mode="cubic", coordinate_transformation_mode="asymmetric")], 13,
    ),
    "cubic without what is outside": (
        [N("Resize", ["x", "", "more"], ["y"], mode="cubic", exclude_outside=1)], 13,
    ),
    "symmetric": (
        [N("Resize", ["x", "", "more"], ["y"], mode="linear",
           coordinate_transformation_mode="half_pixel_symmetric")], 19,
    ),
    "to the size of another, and a fixed one": (
        [
            N("Conv", ["x", "k"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]), N("Shape", ["x"], ["s"]),
            N("Slice", ["s", "first", "second"], ["outer"]), N("Slice", ["s", "third", "fourth"], ["columns"]),
            N("Concat", ["outer", "four", "ten", "columns"], ["sizes"], axis=0),
            N("Resize", ["c", "", "", "sizes"], ["y"], mode="linear",
              coordinate_transformation_mode="pytorch_half_pixel"),
        ], 13,
    ),
    "to a size that is fixed": ([N("Resize", ["x", "", "", "fixed"], ["y"], mode="linear")], 18),
    "and a convolution": (
        [N("Resize", ["x", "", "twice"], ["r"]), N("Conv", ["r", "k"], ["y"], pads=[1, 1, 1, 1])], 13,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESIZES)
def test_resized_extents(name: str) -> None:
    nodes, opset = RESIZES[name]
    ones = np.ones(4, np.float32)
    constants: dict[str, Operand] = {
        "twice": ones * [1, 1, 2, 2], "more": ones * [1, 1, 1.5, 2.3], "half": ones * [1, 1, 0.5, 0.75],
        "k": RNG.standard_normal((4, 4, 3, 3)).astype(np.float32) / 6, "first": np.array([0]), "second": np.array([1]),
        "third": np.array([3]), "fourth": np.array([4]), "four": np.array([4]), "ten": np.array([10]),
        "fixed": np.array([1, 4, 6, 9]),
    }  # fmt: skip
    constants = {key: np.float32(a) if a.dtype.kind == "f" else a for key, a in constants.items()}
    read = {operand for made in nodes for operand in made.input}
    used = {key: array for key, array in constants.items() if key in read}
    made = model(nodes, [value("x", [1, 4, "h", "w"])], ["y"], used, opset=opset)
    graph = import_model(made, {"h": Range(1, 9), "w": Range(2, 7)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for rows, columns in ((1, 2), (4, 5), (3, 7), (9, 7), (8, 3)):
        feeds = {"x": RNG.standard_normal((1, 4, rows, columns)).astype(np.float32)}
        for pool in compiled._pools:
            pool.fill(0xFF)
        (wanted,), found = onnxruntime(made, feeds), compiled.run(feeds)["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_mask_of_the_image_is_resized_for_each_of_the_batch() -> None:
    """As DETR makes one of ones, and its positions of that: a constant, of which two extents change."""
    nodes = [
        N("Shape", ["x"], ["s"]), N("ConstantOfShape", ["s"], ["zeros"]), N("Exp", ["zeros"], ["mask"]),
        N("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), N("Shape", ["p"], ["sizes"]),
        N("Resize", ["mask", "", "", "sizes"], ["small"], coordinate_transformation_mode="asymmetric"),
        N("CumSum", ["small", "two"], ["rows"]), N("Add", ["p", "rows"], ["y"]),
    ]  # fmt: skip
    made = model(nodes, [value("x", ["n", 1, "h", 4])], ["y"], {"two": np.array(2)})
    graph = import_model(made, {"n": Range(1, 3), "h": Range(2, 8, 2)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for batch, rows in ((1, 2), (3, 4), (2, 8)):
        feeds = {"x": RNG.standard_normal((batch, 1, rows, 4)).astype(np.float32)}
        np.testing.assert_allclose(compiled.run(feeds)["y"], onnxruntime(made, feeds)[0], rtol=1e-6)


TRANSPOSED: Mapping[str, list[onnx.NodeProto]] = {
    "overlapping": [N("ConvTranspose", ["x", "t"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])],
    "side by side": [N("ConvTranspose", ["x", "t"], ["y"], strides=[3, 3])],
    "with gaps": [N("ConvTranspose", ["x", "t"], ["y"], strides=[4, 2], dilations=[1, 2])],
    "as wide as the operand": [N("ConvTranspose", ["x", "t"], ["y"], strides=[2, 2], auto_pad="SAME_UPPER")],
    "a channel for each group": [
        N("ConvTranspose", ["x", "g"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1], group=4)
    ],
    "behind a convolution, and joined": [
        N("Conv", ["x", "k"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        N("ConvTranspose", ["c", "t"], ["d"], strides=[1, 1], pads=[1, 1, 1, 1]), N("Add", ["c", "d"], ["a"]),
        N("ConvTranspose", ["a", "t"], ["y"], strides=[2, 2]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("worth", [0.0, np.inf], ids=["phases", "products of taps"])
@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions(name: str, worth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tap_products, "WORTH", worth)
    monkeypatch.setattr(tap_products, "BAND", 1)
    weights = RNG.standard_normal((2, 4, 4, 3, 3)).astype(np.float32) / 6
    nodes = TRANSPOSED[name]
    constants = {"t": weights[0], "k": weights[1], "g": weights[0, :, :1]}
    used = {key: array for key, array in constants.items() if any(key in made.input for made in nodes)}
    made = model(nodes, [value("x", ["b", 4, "h", "w"])], ["y"], used)
    graph = import_model(made, {"b": Range(1, 2), "h": Range(1, 9), "w": Range(2, 7)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for images, rows, columns in ((1, 1, 2), (2, 4, 5), (1, 3, 7), (2, 9, 7), (1, 8, 3)):
        feeds = {"x": RNG.standard_normal((images, 4, rows, columns)).astype(np.float32)}
        for pool in compiled._pools:
            pool.fill(0xFF)
        (wanted,), found = onnxruntime(made, feeds), compiled.run(feeds)["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_output_shape_beside_an_extent_is_refused() -> None:
    weights = {"t": np.ones((4, 4, 3, 3), np.float32)}
    nodes = [N("ConvTranspose", ["x", "t"], ["y"], strides=[2, 2], output_shape=[8, 8])]
    with pytest.raises(CcmlError, match="output_shape"):
        import_model(model(nodes, [value("x", [1, 4, "h", 4])], ["y"], weights), {"h": Range(1, 9)})


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_scales_that_are_quotients_of_extents(mode: str) -> None:
    """As operator set 9 makes them of sizes: at some extents, as at these bounds, they are 2. Positions up to 41 are
    rounded to 4e-6 of an element, and neighbours differ by 4."""
    nodes = [
        N("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1]),
        N("Shape", ["x"], ["sx"]), N("Shape", ["p"], ["sp"]), N("Cast", ["sx"], ["fx"], to=1),
        N("Cast", ["sp"], ["fp"], to=1), N("Div", ["fx", "fp"], ["scales"]),
        N("Upsample", ["p", "scales"], ["u"], mode=mode), N("Add", ["u", "x"], ["y"]),
    ]  # fmt: skip
    made = model(nodes, [value("x", [1, 4, "h", "w"])], ["y"], {}, opset=9)
    graph = import_model(made, {"h": Range(1, 8), "w": Range(1, 41)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for rows, columns in ((1, 1), (2, 41), (3, 40), (5, 14), (8, 29)):
        feeds = {"x": RNG.standard_normal((1, 4, rows, columns)).astype(np.float32)}
        for pool in compiled._pools:
            pool.fill(0xFF)
        np.testing.assert_allclose(compiled.run(feeds)["y"], onnxruntime(made, feeds)[0], rtol=1e-5, atol=1.6e-5)


def test_scales_that_are_quotients_of_other_extents_are_refused() -> None:
    nodes = [
        N("Shape", ["x"], ["sx"]), N("Shape", ["z"], ["sz"]), N("Cast", ["sx"], ["fx"], to=1),
        N("Cast", ["sz"], ["fz"], to=1), N("Div", ["fz", "fx"], ["scales"]), N("Upsample", ["x", "scales"], ["y"]),
    ]  # fmt: skip
    made = model(nodes, [value("x", [1, 4, "h", 4]), value("z", [1, 4, "w", 4])], ["y"], {}, opset=9)
    with pytest.raises(CcmlError, match="operator set 11"):
        import_model(made, {"h": Range(1, 8), "w": Range(1, 41)})


def test_integers_have_the_zero_point_beyond_an_extent() -> None:
    """As dynamic quantizers write convolutions: the border, and what lies behind the end, stand for 0."""
    weights = {"w": RNG.integers(-99, 99, (5, 4, 3)).astype(np.int8)}
    nodes = [
        N("DynamicQuantizeLinear", ["x"], ["q", "scale", "point"]),
        N("ConvInteger", ["q", "w", "point"], ["i"], pads=[1, 1]), N("Cast", ["i"], ["f"], to=1),
        N("Mul", ["f", "scale"], ["y"]),
    ]  # fmt: skip
    made = model(nodes, [value("x", [1, 4, "n"])], ["y"], weights)
    compiled = JitModel(lower_graph(optimize(import_model(made, {"n": Range(1, 9)})), host_machine()))
    for extent in (1, 4, 9, 5):
        feeds = {"x": RNG.standard_normal((1, 4, extent)).astype(np.float32)}
        for pool in compiled._pools:
            pool.fill(0xFF)
        (wanted,), found = onnxruntime(made, feeds), compiled.run(feeds)["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def _quantized(node: onnx.NodeProto, shape: tuple[int, ...]) -> tuple[list[onnx.NodeProto], dict[str, Operand]]:
    """A convolution of bytes with weights of bytes, and its result as bytes."""
    x, w = node.input
    (y,) = node.output
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    made = [
        N("DequantizeLinear", [x, "step", "zero"], [f"{x}_{y}"]), N("DequantizeLinear", [w, "weight"], [f"{w}_f"]),
        N("Conv", [f"{x}_{y}", f"{w}_f"], [f"{y}_f"], **attributes),
        N("QuantizeLinear", [f"{y}_f", "step", "zero"], [y]),
    ]  # fmt: skip
    return made, {w: RNG.integers(-127, 128, shape).astype(np.int8)}


@pytest.mark.parametrize("outputs", [2, 4])
@pytest.mark.parametrize("name", IMAGES)
def test_tiles_of_bytes(name: str, outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes of a model of that size alone, whatever is in memory before."""
    prefer_tiles(outputs, monkeypatch)
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, Operand] = {"step": np.float32(0.02), "zero": np.uint8(117), "weight": np.float32(1 / 127)}
    for node, shape in zip(IMAGES[name], ((8, 1, 5, 5), (8, 8, 3, 3), (9, 8, 3, 3)), strict=True):
        added, weights = _quantized(node, shape)
        nodes += added
        constants |= weights
    made = model(nodes, [value("x", [1, 1, "h", "w"], onnx.TensorProto.UINT8)], ["y"], constants)
    machine = select("x86", cpu="x86-64-v3") if host_machine().name == "x86" else host_machine()
    program = lower_graph(optimize(import_model(made, {"h": Range(1, 16), "w": Range(1, 12)})), machine)
    assert any(call.generator == f"winograd F({outputs}x{outputs},3x3)" for call in walk_calls(program.body))
    compiled = JitModel(program, machine)
    for rows, columns in ((1, 1), (5, 7), (3, 12), (16, 12), (13, 6)):
        feeds = {"x": RNG.integers(0, 256, (1, 1, rows, columns)).astype(np.uint8)}
        for pool in compiled._pools:
            pool.fill(0xA5)
        alone = optimize(import_model(made, {"h": rows, "w": columns}))
        np.testing.assert_array_equal(compiled.run(feeds)["y"], evaluate_graph(alone, feeds)["y"])
