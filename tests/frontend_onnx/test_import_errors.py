"""What is wrong with a model is said once, for all nodes, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.context import NodeContext
from ccml.frontend_onnx.dims import Range
from ccml.frontend_onnx.problems import Problems
from ccml.ir.graph import Value
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import Operand, model, one_node, value

X = [value("x", [2, 3])]


def import_error(proto: onnx.ModelProto, **options: Any) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        import_model(proto, **options)
    return caught.value


def test_all_unsupported_operators_are_named_with_their_nodes() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("ImageDecoder", ["a"], ["b"], name="photo"),
        helper.make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("DictVectorizer", ["c"], ["d"], domain="ai.onnx.ml"),
        helper.make_node("ImageDecoder", ["d"], ["e"], name="more photos"),
        helper.make_node("Frobnicate", ["e"], ["y"], domain="com.example"),
    ]
    error = import_error(model(nodes, X, ["y"], domains={"com.example": 1, "ai.onnx.ml": 1}))
    assert error.kind is ErrorCode.UNSUPPORTED_OPERATOR
    for text in ("ImageDecoder (photo, more photos)", "ai.onnx.ml.DictVectorizer (DictVectorizer_3)"):
        assert text in error.reason
    assert "com.example.Frobnicate (Frobnicate_5)" in error.reason and "Relu" not in error.reason
    assert error.hint is not None and "ccml ops" in error.hint


@pytest.mark.parametrize("domain", ["com.microsoft.nchwc", "com.ms.internal.nhwc"])
def test_operators_that_onnxruntime_chose_for_a_machine(domain: str) -> None:
    """A model that was optimized for one machine and saved; the error says how to get one without them."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="first", domain=domain)
    error = import_error(model([node], X, ["y"], {"w": np.zeros((1, 1))}, domains={domain: 1}))
    assert error.kind is ErrorCode.UNSUPPORTED_OPERATOR and f"{domain}.Conv (first)" in error.reason
    assert error.hint is not None and "ORT_ENABLE_EXTENDED" in error.hint


def test_unsupported_operators_inside_of_branches() -> None:
    """Of an If that depends on the input, and of both of its branches."""
    branches = {}
    for name, op in (("then", "ImageDecoder"), ("else", "Relu")):
        node = helper.make_node(op, ["x"], ["r"], name=f"in {name}")
        branches[f"{name}_branch"] = helper.make_graph([node], name, [], [value("r", [])])
    nodes = [helper.make_node("ImageDecoder", ["x"], ["i"]), helper.make_node("If", ["i"], ["y"], **branches)]
    assert "in then" in import_error(model(nodes, X, ["y"])).reason


def test_features_are_collected_too() -> None:
    nodes = [
        helper.make_node("Expand", ["x", "s"], ["a"], name="wide"),
        helper.make_node("OneHot", ["x", "d", "v"], ["b"], name="hot"),
    ]
    constants: dict[str, Operand] = {"v": np.zeros(2)}
    inputs = [*X, value("s", [3], TensorProto.INT64), value("d", [1], TensorProto.INT64)]
    error = import_error(model(nodes, inputs, ["a", "b"], constants))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE
    assert "wide: Expand: shape is computed" in error.reason and "hot: OneHot: depth is computed" in error.reason


def test_what_is_said_of_several_passes_is_said_once() -> None:
    """A node of a loop whose passes are taken apart is met in each of them."""
    problems = Problems()
    for place in ("first", "pass", "pass", "pass"):
        problems.add_feature(CcmlError(ErrorCode.UNSUPPORTED_FEATURE, "no way", loc=place))
    with pytest.raises(CcmlError) as caught:
        problems.raise_any()
    assert caught.value.reason.splitlines()[1:] == ["  first: no way", "  pass: no way"]


@pytest.mark.parametrize(
    ("op", "arrays", "attrs", "text"),
    [
        ("Conv", [np.zeros((1, 1, 4, 4)), np.zeros((1, 1, 3, 3))], {"auto_pad": "SAME"}, "auto_pad is SAME"),
        ("Transpose", [np.zeros((2, 3))], {"perm": [0, 2]}, "axis 2"),
        ("GlobalLpPool", [np.zeros((1, 2, 3))], {"p": 0}, "p is 0"),
        ("LpPool", [np.zeros((1, 1, 3))], {"kernel_shape": [2**62], "ceil_mode": 1}, "does not fit 3 elements"),
        ("Reshape", [np.zeros((2, 3)), np.array([4, -1])], {}, "cannot take the shape"),
        ("Squeeze", [np.zeros((2, 3)), np.array([0])], {}, "not all of extent 1"),
        ("Gather", [np.zeros((2, 3)), np.array([2])], {}, "outside"),
        ("Softmax", [np.zeros((2, 3))], {"axis": 2}, "axis 2 is outside of rank 2"),
        ("Split", [np.zeros((2, 3)), np.array([1, 3])], {"outputs": 2}, "does not split"),
        ("Relu", [np.zeros(3)], {"alpha": 1.0}, "no attribute alpha"),
        ("Crop", [np.zeros((1, 1, 4, 4))], {"border": [1, 1, 3, 0]}, "is no part of 4 x 4"),
        ("Softmax", [np.zeros(3)], {"axis": 0.5}, "attribute axis of Softmax (opset 21) is not of type int"),
        ("Concat", [np.zeros(3)], {}, "attribute axis of Concat (opset 21) is missing"),
        ("Relu", [np.zeros(3), np.zeros(3)], {}, "takes 1 to 1 inputs"),
        ("Resize", [np.zeros((1, 1, 4, 4)), None, np.ones(4)], {"mode": "area"}, "mode is area"),
        ("Resize", [np.zeros((1, 1, 4, 4)), None, np.array([1, 1, 1, np.inf])], {}, "scales (1.0, 1.0, 1.0, inf)"),
        ("Resize", [np.zeros((1, 1, 4, 4)), None, np.array([1, 1, np.nan, 1])], {}, "scales (1.0, 1.0, nan, 1.0)"),
        (
            "ConvInteger",
            [np.zeros((1, 2, 4), np.uint8), np.ones((3, 2, 1), np.uint8), np.uint8(0), np.ones((3, 2, 1), np.uint8)],
            {}, "a zero point u8[3,2,1]",
        ),
    ],
)
def test_invalid_nodes(op: str, arrays: list[np.ndarray | None], attrs: dict[str, Any], text: str) -> None:
    prepared = [
        None if a is None else np.asarray(a, np.float32 if np.asarray(a).dtype == np.float64 else None) for a in arrays
    ]
    proto, _ = one_node(op, prepared, 21, range(1, len(arrays)), **attrs)
    error = import_error(proto)
    assert error.kind is ErrorCode.INVALID_MODEL and error.loc == f"{op}_0"
    assert text in error.reason


def test_an_attribute_of_a_later_operator_set_says_which() -> None:
    """Quantizers write per-channel parameters into models of opset 11: symbolic dimensions have no part in that."""
    arrays = [np.zeros((2, 3), np.int8), np.ones(3, np.float32), np.zeros(3, np.int8)]
    proto, _ = one_node("DequantizeLinear", arrays, 11, (1, 2), axis=1)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    error = import_error(proto, dims={"batch": 2})
    assert error.hint is not None and "opset 13" in error.hint and "--dim" not in error.hint


@pytest.mark.parametrize("version", [0, -1, 2**31, 2**62])
def test_versions_that_no_domain_has(version: int) -> None:
    node = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", scale=[1.0], offset=[0.0])
    error = import_error(model([node], [value("x", [1, 3])], ["y"], domains={"ai.onnx.ml": version}))
    assert error.kind is ErrorCode.UNSUPPORTED_OPERATOR and "Scaler" in error.reason


def test_shapes_that_do_not_fit_are_quoted() -> None:
    proto, _ = one_node("Add", [np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)], 21)
    error = import_error(proto)
    assert error.kind is ErrorCode.SHAPE_MISMATCH and error.loc == "Add_0"
    assert "(2, 3)" in error.reason and "(4, 3)" in error.reason


def test_operator_sets_out_of_range() -> None:
    error = import_error(model([helper.make_node("Relu", ["x"], ["y"])], X, ["y"], opset=1000))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE
    assert error.hint is not None and "newer version of the onnx package" in error.hint
    error = import_error(model([helper.make_node("Relu", ["x"], ["y"])], X, ["y"], opset=0))
    assert error.kind is ErrorCode.INVALID_MODEL and "no operator set 0" in error.reason


def test_parameters_computed_at_run_time() -> None:
    proto, _ = one_node("Reshape", [np.zeros((2, 3), np.float32), np.array([3, 2])], 21)
    error = import_error(proto)
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and "shape is computed at run time" in error.reason


def faulty(ctx: NodeContext) -> Sequence[Value]:
    raise ZeroDivisionError("division by zero")


def test_a_fault_of_a_rule_is_none_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccml.frontend_onnx.walk.RULES", {"Relu": faulty})
    with pytest.raises(ZeroDivisionError):
        import_model(one_node("Relu", [np.zeros(3, np.float32)], 21)[0])


def test_a_fault_of_the_model_that_no_rule_foresaw_names_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's own inference has a say in whose fault it is."""
    monkeypatch.setattr("ccml.frontend_onnx.walk.RULES", {"MatMul": faulty})
    error = import_error(one_node("MatMul", [np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)], 21)[0])
    assert error.kind is ErrorCode.INVALID_MODEL and error.loc == "MatMul_0" and "ncompatible dim" in error.reason


def test_names_that_nothing_defines() -> None:
    error = import_error(model([helper.make_node("Add", ["x", "q"], ["y"], name="sum")], X, ["y"]))
    assert error.kind is ErrorCode.INVALID_MODEL and error.loc == "sum" and "'q'" in error.reason
    error = import_error(model([helper.make_node("Relu", ["x"], ["y"])], X, ["z"]))
    assert error.kind is ErrorCode.INVALID_MODEL and "'z'" in error.reason


def test_names_that_are_defined_twice() -> None:
    twice = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]
    assert "defined twice" in import_error(model(twice, X, ["y"])).reason
    assert "defined twice" in import_error(model(twice[:1], [*X, *X], ["y"])).reason
    assert "initializer" in import_error(model(twice[:1], X, ["y"], {"y": np.zeros(3)})).reason


def test_nodes_in_a_circle() -> None:
    nodes = [helper.make_node("Add", ["a", "x"], ["y"]), helper.make_node("Neg", ["y"], ["a"])]
    assert import_error(model(nodes, X, ["y"])).kind is ErrorCode.INVALID_MODEL


def test_values_beyond_all_memory() -> None:
    proto, _ = one_node("Expand", [np.zeros((1,), np.float32), np.array([2**20, 2**20])], 21, [1])
    assert import_error(proto).kind is ErrorCode.UNSUPPORTED_FEATURE


def test_text_that_is_not_text() -> None:
    content = model([helper.make_node("Relu", ["x"], ["y"], name="QQQQ")], X, ["y"]).SerializeToString()
    proto = onnx.ModelProto.FromString(content.replace(b"QQQQ", b"\xff\xfe\xf9\xf8"))
    assert import_error(proto).kind is ErrorCode.INVALID_MODEL


@pytest.mark.parametrize("numbers", [(np.inf, 8, 3), (0, np.nan, 1)])
def test_ranges_without_end(numbers: tuple[float, float, float]) -> None:
    node = helper.make_node("Range", ["start", "limit", "delta"], ["y"])
    constants: dict[str, Operand] = dict(zip(("start", "limit", "delta"), map(np.float32, numbers)))
    error = import_error(model([node, helper.make_node("Relu", ["x"], ["z"])], X, ["y", "z"], constants))
    assert error.kind is ErrorCode.INVALID_MODEL and "a range from" in error.reason


@pytest.mark.parametrize("alpha", [0.5, np.nan, 1e38])
def test_factors_that_integers_cannot_hold(alpha: float) -> None:
    arrays: list[Operand | None] = [np.ones((2, 2), np.int32), np.ones((2, 2), np.int32)]
    proto, _ = one_node("Gemm", arrays, 13, alpha=alpha)
    error = import_error(proto)
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and "with integers (i32)" in error.reason


@pytest.mark.parametrize("shape", [[0, 2**62, 4], [2] * 4 + [1] * 61, [0] + [1] * 64])
def test_inputs_of_no_possible_shape(shape: list[int]) -> None:
    error = import_error(model([helper.make_node("Relu", ["x"], ["y"])], [value("x", shape)], ["y"]))
    assert error.kind is ErrorCode.BAD_OPTION and "no tensor has the shape" in error.reason


def test_a_shape_is_a_vector() -> None:
    node = helper.make_node("ConstantOfShape", ["s"], ["y"])
    constants: dict[str, Operand] = {"s": np.ones((5, 1), np.int64)}
    error = import_error(model([node, helper.make_node("Relu", ["x"], ["z"])], X, ["y", "z"], constants))
    assert error.kind is ErrorCode.INVALID_MODEL and "a shape of 2 dimensions" in error.reason


def test_a_window_is_no_single_number() -> None:
    node = helper.make_node("HannWindow", ["n"], ["y"])
    proto = model([node], [value("n", [], TensorProto.INT32)], ["y"])
    proto.graph.output[0].CopyFrom(value("y", []))
    assert "a result of shape []" in import_error(proto).reason


def test_scales_whose_products_overflow() -> None:
    arrays: list[Operand | None] = [np.zeros((1, 1, 4, 4), np.float32), None, np.array([1, 1, 3e38, 1], np.float32)]
    proto, _ = one_node("Resize", arrays, 21, [2])
    assert import_error(proto).kind in (ErrorCode.UNSUPPORTED_FEATURE, ErrorCode.INVALID_MODEL)


@pytest.mark.parametrize("extent", [7, Range(1, 8)])
def test_extents_that_an_exporter_wrote_into_a_model(extent: int | Range) -> None:
    """A shape of the example's 6 rows: other extents are refused with what to do."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    proto = model(nodes, [value("x", ["rows", 4])], ["y"], {"shape": np.array([3, 8])})
    with pytest.raises(CcmlError, match="E107") as caught:
        import_model(proto, {"rows": extent})
    assert f"with rows = {8 if isinstance(extent, Range) else 7}: exporters write" in (caught.value.hint or "")
    assert import_model(proto, {"rows": 6}).outputs[0].shape == (3, 8)
