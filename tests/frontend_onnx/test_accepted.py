"""Valid models that are easily refused: attributes without effect, unused results, unusual orders and shapes."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import ccml.frontend_onnx
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from ccml.frontend_onnx import node_check
from ccml.frontend_onnx.rules import RULES
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import model, run, run_compiled, value

RNG = np.random.default_rng(9)
NO_AXES = np.zeros(0, np.int64)


def onnxruntime(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(proto.SerializeToString(), options).run(None, feeds)


def check(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> None:
    """By the meaning of the operators and compiled, against ONNX Runtime."""
    for results in (run(proto, feeds), run_compiled(proto, feeds)):
        for result, expected in zip(results, onnxruntime(proto, feeds), strict=True):
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
def test_reductions_of_scalars_have_nothing_to_keep(op: str) -> None:
    node = helper.make_node(op, ["x"], ["y"], keepdims=0)
    check(model([node], [value("x", [])], ["y"], opset=13), {"x": np.asarray(1.5, np.float32)})


def test_no_axes_and_no_operation() -> None:
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0, noop_with_empty_axes=1)
    proto = model([node], [value("x", [2, 3])], ["y"], {"axes": NO_AXES})
    check(proto, {"x": RNG.normal(size=(2, 3)).astype(np.float32)})


def test_extrapolation_where_nothing_is_extrapolated() -> None:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", extrapolation_value=3.0)
    proto = model([node], [value("x", [1, 1, 4, 4])], ["y"], {"scales": np.array([1, 1, 2, 2], np.float32)})
    check(proto, {"x": RNG.normal(size=(1, 1, 4, 4)).astype(np.float32)})


@pytest.mark.parametrize(
    ("shape", "wanted", "expected"),
    [([0, 1, 3], [0, 0, -1], (0, 1, 3)), ([0, 2, 3], [0, -1], (0, 6)), ([2, 0, 3], [0, 0, 3, -1], (2, 0, 3, 1))],
)
def test_what_is_left_over_beside_a_copied_zero(shape: list[int], wanted: list[int], expected: tuple[int, ...]) -> None:
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    proto = model([node], [value("x", shape)], ["y"], {"shape": np.array(wanted)})
    feeds = {"x": np.zeros(shape, np.float32)}
    for (result,) in (run(proto, feeds), run_compiled(proto, feeds)):
        assert result.shape == expected


def test_normalization_over_no_channels() -> None:
    node = helper.make_node("LRN", ["x"], ["y"], size=5)
    (result,) = run_compiled(model([node], [value("x", [2, 0, 3])], ["y"]), {"x": np.zeros((2, 0, 3), np.float32)})
    assert result.shape == (2, 0, 3)


def test_the_mean_loss_of_nothing_is_no_number() -> None:
    node = helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss"], reduction="mean")
    inputs = [value("scores", [0, 3]), value("labels", [0], TensorProto.INT64)]
    feeds = {"scores": np.zeros((0, 3), np.float32), "labels": np.zeros(0, np.int64)}
    (loss,) = run_compiled(model([node], inputs, ["loss"], opset=13), feeds)
    assert loss.shape == () and np.isnan(loss)


@pytest.mark.parametrize("x", [np.float32(-3.5), np.zeros(4, np.float32), RNG.normal(size=5).astype(np.float32)])
def test_dynamic_quantization(x: np.ndarray) -> None:
    """Of a scalar; of zeros, which have no range; of numbers."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    check(model([node], [value("x", x.shape)], ["y", "scale", "zero"]), {"x": np.asarray(x)})


@pytest.mark.parametrize("scale", [np.inf, np.nan, 0.0, -0.5])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint16])
def test_scales_that_make_no_grid(kind: type, scale: float) -> None:
    """As quantizers write them for a mask of infinities: numbers go to the zero point, what is none to the least."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    proto = model(nodes, [value("x", [7])], ["q", "y"], {"s": np.float32(scale), "z": kind(3)})
    feeds = {"x": np.array([0, -1.3, 40, -3e38, -np.inf, np.inf, np.nan], np.float32)}
    expected = onnxruntime(proto, feeds)
    for results in (run(proto, feeds), run_compiled(proto, feeds)):
        for result, wanted in zip(results, expected):
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("op", ["Conv", "MatMul", "Resize"])
def test_results_of_16_bits_without_sign(op: str) -> None:
    """Of operands of 8 bits; the float operator decides, so that results may be one step off."""
    constants: dict[str, np.ndarray | np.generic] = {
        "xs": np.float32(0.02), "xz": np.uint8(3), "ws": np.float32(0.01), "ys": np.float32(0.001),
        "yz": np.uint16(30000), "scales": np.array([1, 1, 2, 2], np.float32),
        "w": RNG.integers(-99, 99, (5, 2, 3, 3) if op == "Conv" else (6, 5)).astype(np.int8),
    }  # fmt: skip
    weights = helper.make_node("DequantizeLinear", ["w", "ws"], ["wr"])
    middle = helper.make_node(op, ["xr", "", "scales"] if op == "Resize" else ["xr", "wr"], ["yr"])
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xr"]),
        *([] if op == "Resize" else [weights]),
        middle,
        helper.make_node("QuantizeLinear", ["yr", "ys", "yz"], ["y"]),
    ]
    proto = model(nodes, [value("x", [1, 2, 6, 6], TensorProto.UINT8)], ["y"], constants)
    feeds = {"x": RNG.integers(0, 256, (1, 2, 6, 6)).astype(np.uint8)}
    (expected,) = onnxruntime(proto, feeds)
    for (result,) in (run(proto, feeds), run_compiled(proto, feeds)):
        assert result.dtype == np.uint16
        assert np.abs(result.astype(int) - expected.astype(int)).max() <= 1


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_pools_ignore_windows_that_begin_in_the_padding(op: str, caplog: pytest.LogCaptureFixture) -> None:
    """ONNX's shape inference counts them, ONNX Runtime and the operator's text do not."""
    pool = helper.make_node(op, ["x"], ["p"], kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1)
    proto = model([pool, helper.make_node("Relu", ["p"], ["y"])], [value("x", [1, 1, 6])], ["y"])
    with caplog.at_level(logging.WARNING):
        check(proto, {"x": RNG.normal(size=(1, 1, 6)).astype(np.float32)})
    assert "onnx.shape_inference counts otherwise: [1, 1, 3]" in caplog.text


def test_transposed_convolution_with_same_padding_and_large_steps(caplog: pytest.LogCaptureFixture) -> None:
    """The text says output = input * stride; padding is never negative, so zeros stand at the end."""
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["t"], strides=[4], auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["t"], ["y"]),
    ]
    proto = model(nodes, [value("x", [1, 1, 3])], ["y"], {"w": np.array([[[1, 2]]], np.float32)})
    with caplog.at_level(logging.WARNING):
        (result,) = run_compiled(proto, {"x": np.array([[[1, 2, 3]]], np.float32)})
    assert result.reshape(-1).tolist() == [1, 2, 0, 0, 2, 4, 0, 0, 3, 6, 0, 0]
    assert "onnx.shape_inference counts otherwise" in caplog.text


@pytest.mark.parametrize("op", ["Resize", "Upsample"])
def test_scales_whose_product_with_an_extent_is_whole(op: str, caplog: pytest.LogCaptureFixture) -> None:
    """6 by float32(7/6) is 7 in float32 and less in float64, which ONNX's shape inference multiplies in."""
    inputs = ["x", "", "scales"] if op == "Resize" else ["x", "scales"]
    nodes = [helper.make_node(op, inputs, ["r"], mode="nearest"), helper.make_node("Relu", ["r"], ["y"])]
    scales = {"scales": np.array([1, 1, 7 / 6], np.float32)}
    proto = model(nodes, [value("x", [1, 1, 6])], ["y"], scales, opset=18 if op == "Resize" else 9)
    with caplog.at_level(logging.WARNING):
        check(proto, {"x": RNG.normal(size=(1, 1, 6)).astype(np.float32)})
    assert "onnx.shape_inference counts otherwise: [1, 1, 6]" in caplog.text


def test_ranks_that_branches_declare_falsely() -> None:
    """PyTorch's exporter writes scatter with a branch for scalars, whose rank it declares for the other as well."""
    scalar, other = (
        helper.make_graph([node], "branch", [], [value(node.output[0], ["n"])])
        for node in (helper.make_node("Reshape", ["x", "flat"], ["t"]), helper.make_node("Identity", ["x"], ["e"]))
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Size", ["shape"], ["rank"]),
        helper.make_node("Equal", ["rank", "zero"], ["is_scalar"]),
        helper.make_node("If", ["is_scalar"], ["b"], then_branch=scalar, else_branch=other),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    proto = model(nodes, [value("x", [2, 3])], ["y"], {"flat": np.array([-1]), "zero": np.array(0)})
    check(proto, {"x": RNG.normal(size=(2, 3)).astype(np.float32)})


def test_nodes_in_any_order(caplog: pytest.LogCaptureFixture) -> None:
    nodes = [helper.make_node("Add", ["b", "a"], ["y"]), helper.make_node("Neg", ["a"], ["b"])]
    nodes.append(helper.make_node("Abs", ["x"], ["a"]))
    with caplog.at_level(logging.WARNING):
        check(model(nodes, [value("x", [3])], ["y"]), {"x": np.array([1, -2, 3], np.float32)})
    assert "not in topological order" in caplog.text


def test_order_counts_what_subgraphs_read() -> None:
    """The branch reads ``late``, which is defined behind the If."""
    branch = helper.make_graph([helper.make_node("Neg", ["late"], ["r"])], "b", [], [value("r", [2])])
    nodes = [
        helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("Abs", ["x"], ["late"]),
    ]
    proto = model(nodes, [value("x", [2])], ["y"], {"yes": np.asarray(True)})
    (result,) = run_compiled(proto, {"x": np.array([1, -2], np.float32)})
    assert result.tolist() == [-1, -2]


def test_an_output_that_is_listed_twice(caplog: pytest.LogCaptureFixture) -> None:
    """As exporters write results that are in a tuple and alone; there is one of this name."""
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"])]
    with caplog.at_level(logging.WARNING):
        a, b = run_compiled(model(nodes, [value("x", [3])], ["a", "b", "a"]), {"x": np.array([-1, 0, 2], np.float32)})
    assert "more than once" in caplog.text and a.tolist() == [0, 0, 2] and b.tolist() == [0, 0, -2]


def test_results_that_nobody_reads_are_not_computed() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "indices"], kernel_shape=[2])
    check(model([node], [value("x", [1, 1, 6])], ["y"]), {"x": RNG.normal(size=(1, 1, 6)).astype(np.float32)})


@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Mean", "Concat"])
def test_hundreds_of_operands(op: str) -> None:
    names = [f"x{number}" for number in range(300)]
    node = helper.make_node(op, names, ["y"], **({"axis": 0} if op == "Concat" else {}))
    feeds = {name: RNG.normal(size=3).astype(np.float32) for name in names}
    check(model([node], [value(name, [3]) for name in names], ["y"]), feeds)


MEANINGLESS = {
    "consumed_inputs", "is_test", "output_sequence", "ratio", "round_mode", "saturate", "seed", "storage_order",
}  # fmt: skip
"""Attributes of training, of memory reuse, of types that are not supported, or that repeat what the node says."""


def test_rules_know_every_attribute() -> None:
    """An attribute whose name stands nowhere in the rules would be ignored silently."""
    folder = Path(ccml.frontend_onnx.__file__).parent
    trees = [ast.parse(path.read_text()) for path in folder.glob("*.py")]
    known = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    known |= {"detect_negative", "detect_positive", "sparse_value"} | MEANINGLESS
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""]
    attributes = {(s.name, a) for s in schemas for a in s.attributes if s.name in RULES}
    assert {(op, name) for op, name in attributes if name not in known} == set()


def test_attributes_of_newer_operator_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the rules had been written before Gelu, or before AveragePool had dilations."""
    monkeypatch.setattr(node_check, "RULES_OPSET", 18)
    plain = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2])
    dilated = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2], dilations=[2])
    x = RNG.normal(size=(1, 1, 6)).astype(np.float32)
    run(model([plain], [value("x", [1, 1, 6])], ["y"]), {"x": x})
    with pytest.raises(ccml.errors.CcmlError, match="attribute dilations of opset 19 is not supported"):
        run(model([dilated], [value("x", [1, 1, 6])], ["y"]), {"x": x})
