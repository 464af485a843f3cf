"""Functions, branches and loops: expanded in place, with names and attributes resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import check_compiled, onnxruntime
from tests.frontend_onnx.graphs import Operand, checked_import, model, run, untyped, value

X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
IN = [value("x", [2, 3])]
DOMAIN = {"local": 1}


def function(
    name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[onnx.NodeProto],
    attributes: Sequence[str] = (),
) -> onnx.FunctionProto:  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, inputs, outputs, nodes, opsets, attributes)


def call(name: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(name, inputs, outputs, domain="local", name=f"make {outputs[0]}", **attrs)


def leaky(name: str = "Leaky") -> onnx.FunctionProto:
    """Has an attribute ``slope`` that its node refers to."""
    node = helper.make_node("LeakyRelu", ["a"], ["b"], name="inner")
    attribute = node.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT)
    attribute.ref_attr_name = "slope"
    return function(name, ["a"], ["b"], [node], ["slope"])


def agrees(proto: onnx.ModelProto) -> None:
    """With ONNX Runtime, on X."""
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": X})
    for result, wanted in zip(run(proto, {"x": X}), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_a_function_gets_its_attributes() -> None:
    nodes = [call("Leaky", ["x"], ["m"], slope=0.25), call("Leaky", ["m"], ["y"], slope=0.5)]
    proto = model(nodes, IN, ["y"], functions=[leaky()], domains=DOMAIN)
    agrees(proto)
    graph = checked_import(proto)
    assert {node.loc for node in graph.nodes} == {"make m/inner", "make y/inner"}
    assert [node.output.name for node in graph.nodes if node.op == "where"] == ["m", "y"]


def test_functions_in_functions() -> None:
    inner = call("Leaky", ["p"], ["q"])
    attribute = inner.attribute.add(name="slope", type=onnx.AttributeProto.FLOAT)
    attribute.ref_attr_name = "steepness"
    outer = function("Twice", ["p"], ["r"], [inner, helper.make_node("Add", ["q", "q"], ["r"])], ["steepness"])
    agrees(model([call("Twice", ["x"], ["y"], steepness=0.125)], IN, ["y"], functions=[leaky(), outer], domains=DOMAIN))


def test_a_function_of_another_operator_set() -> None:
    """Its nodes mean what the function's own operator set says: here Softmax over all dimensions from 1 on."""
    body = [helper.make_node("Softmax", ["a"], ["b"])]
    old = helper.make_function("local", "Old", ["a"], ["b"], body, [helper.make_opsetid("", 11)])
    proto = model([call("Old", ["x"], ["y"])], [value("x", [2, 3, 1])], ["y"], functions=[old], domains=DOMAIN)
    (y,) = run(proto, {"x": X[..., None]})
    np.testing.assert_allclose(y.sum(axis=(1, 2)), [1, 1], rtol=1e-6)


def test_an_output_that_is_an_operand() -> None:
    passing = function("Same", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])])
    nodes = [call("Same", ["x"], ["m"]), call("Same", ["m"], ["y"])]
    proto = model(nodes, IN, ["m", "y"], functions=[passing], domains=DOMAIN)
    assert [output.name for output in checked_import(proto).outputs] == ["m", "y"]
    agrees(proto)


def test_functions_that_call_themselves_are_refused() -> None:
    endless = function("Loop", ["a"], ["b"], [call("Loop", ["a"], ["b"])])
    with pytest.raises(CcmlError) as caught:
        import_model(model([call("Loop", ["x"], ["y"])], IN, ["y"], functions=[endless], domains=DOMAIN))
    assert caught.value.kind is ErrorCode.INVALID_MODEL and "nested" in caught.value.reason


def test_functions_that_double_at_every_level_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccml.frontend_onnx.walk.MAX_EXPANDED", 1000)
    levels = [function("F0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])])]
    for level in range(1, 40):
        calls = [call(f"F{level - 1}", ["a"], ["m"]), call(f"F{level - 1}", ["m"], ["b"])]
        levels.append(function(f"F{level}", ["a"], ["b"], calls))
    with pytest.raises(CcmlError) as caught:
        import_model(model([call("F39", ["x"], ["y"])], IN, ["y"], functions=levels, domains=DOMAIN))
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE and "more than 1000 nodes" in caught.value.reason


def graph(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], inputs: Sequence[onnx.ValueInfoProto] = ()
) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), "body", list(inputs), untyped(*outputs))


LOOPING = [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("c", [2, 3])]


def loop(body: onnx.GraphProto, inputs: Sequence[str], outputs: Sequence[str], **constants: Operand) -> onnx.ModelProto:
    node = helper.make_node("Loop", inputs, outputs, body=body, name="loop")
    return model([node], IN, outputs, constants)


def test_a_branch_of_a_condition_on_shapes() -> None:
    """Nested, reading names of the graph around it; the branch not taken may be anything."""
    inner = helper.make_node(
        "If", ["wide"], ["r"], name="inner",
        then_branch=graph([helper.make_node("Neg", ["x"], ["t"])], ["t"]),
        else_branch=graph([helper.make_node("Multinomial", ["x"], ["e"])], ["e"]),
    )  # fmt: skip
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["width"]),
        helper.make_node("Greater", ["width", "one"], ["wide"]),
        helper.make_node(
            "If", ["wide"], ["y"], name="outer",
            then_branch=graph([inner], ["r"]), else_branch=graph([helper.make_node("Relu", ["x"], ["u"])], ["u"]),
        ),
    ]  # fmt: skip
    proto = model(nodes, IN, ["y"], {"one": np.array(1)})
    (node,) = checked_import(proto).nodes
    assert (node.op, node.output.name, node.loc) == ("neg", "y", "inner/Neg_0")
    np.testing.assert_array_equal(run(proto, {"x": X})[0], -X)


def test_a_loop_of_constant_count_is_unrolled() -> None:
    """x = x * 2 + number, three times, all of them stacked."""
    body = graph(
        [
            helper.make_node("Add", ["c", "c"], ["d"]),
            helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["d", "f"], ["n"]),
            helper.make_node("Identity", ["going"], ["go on"]),
            helper.make_node("Identity", ["n"], ["row"]),
        ],
        ["go on", "n", "row"],
        LOOPING,
    )
    agrees(loop(body, ["k", "", "x"], ["y", "rows"], k=np.array(3)))


def test_a_loop_until_a_constant_condition() -> None:
    """The condition depends on the number of the iteration only, so it folds."""
    body = graph(
        [
            helper.make_node("Relu", ["c"], ["n"]),
            helper.make_node("Less", ["i", "two"], ["go on"]),
        ],
        ["go on", "n"],
        LOOPING,
    )
    proto = loop(body, ["", "t", "x"], ["y"], t=np.array(True), two=np.array(2))
    agrees(proto)
    assert [node.op for node in checked_import(proto).nodes] == ["relu"] * 3


def test_a_loop_that_never_ends() -> None:
    nodes = [helper.make_node("Relu", ["c"], ["n"]), helper.make_node("Identity", ["going"], ["go on"])]
    with pytest.raises(CcmlError) as caught:
        import_model(loop(graph(nodes, ["go on", "n"], LOOPING), ["", "", "x"], ["y"]))
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE and caught.value.loc == "loop"
    assert "condition stays true" in caught.value.reason


@pytest.mark.parametrize("direction", [0, 1])
def test_a_scan_is_unrolled(direction: int) -> None:
    body = graph(
        [helper.make_node("Add", ["s", "e"], ["n"]), helper.make_node("Mul", ["n", "n"], ["row"])],
        ["n", "row"],
        [value("s", [2]), value("e", [2])],
    )
    node = helper.make_node(
        "Scan", ["zero", "x"], ["last", "rows"], body=body, num_scan_inputs=1, scan_input_axes=[1],
        scan_input_directions=[direction], scan_output_axes=[1], scan_output_directions=[direction],
    )  # fmt: skip
    agrees(model([node], IN, ["last", "rows"], {"zero": np.zeros(2, np.float32)}))


@pytest.mark.parametrize("lengths", [None, [4, 2, 1]])
@pytest.mark.parametrize("direction", [0, 1])
def test_a_scan_of_operator_set_8_is_one_for_each_sequence(direction: int, lengths: list[int] | None) -> None:
    """Sequences of different lengths: zeros follow the rows of the shorter ones."""
    body = graph(
        [helper.make_node("Add", ["s", "e"], ["n"]), helper.make_node("Mul", ["n", "n"], ["row"])],
        ["n", "row"],
        [value("s", [2]), value("e", [2])],
    )
    operands = ["lengths" if lengths else "", "start", "x"]
    node = helper.make_node("Scan", operands, ["last", "rows"], body=body, num_scan_inputs=1, directions=[direction])
    feeds = {
        name: np.random.default_rng(n).standard_normal(shape).astype(np.float32)
        for n, (name, shape) in enumerate({"start": (3, 2), "x": (3, 4, 2)}.items())
    }
    constants = {"lengths": np.array(lengths)} if lengths else {}
    inputs = [value(name, array.shape) for name, array in feeds.items()]
    check_compiled(model([node], inputs, ["last", "rows"], constants, opset=8), feeds, onnxruntime)


def test_operators_with_a_function_body() -> None:
    """ONNX itself says what CenterCropPad and SoftmaxCrossEntropyLoss consist of."""
    nodes = [
        helper.make_node("Constant", [], ["shape"], value_ints=[4, 2]),
        helper.make_node("Constant", [], ["labels"], value_ints=[1, 0, 0, 1]),
        helper.make_node("CenterCropPad", ["x", "shape"], ["c"], name="crop"),
        helper.make_node("SoftmaxCrossEntropyLoss", ["c", "labels"], ["y"], name="loss"),
    ]
    proto = model(nodes, IN, ["c", "y"])
    agrees(proto)
    locs = {node.loc.split("/")[0] for node in checked_import(proto).nodes}
    assert locs == {"crop", "loss"}
