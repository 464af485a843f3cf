"""What is constant is computed at import, and what the graph keeps is named and placed as the model has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.driver import compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError
from ccml.passes.fold_constants import MAX_CONSTANT_BYTES
from ccml.passes.pipeline import optimize
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import Operand, checked_import, model, one_node, run, value

X = np.arange(6, dtype=np.float32).reshape(2, 3)
IN = [value("x", [2, 3])]


def test_shape_arithmetic_folds() -> None:
    """reshape(x, concat(shape(x)[0:1], [-1, 1]))"""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "one"], ["first"]),
        helper.make_node("Concat", ["first", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants: dict[str, Operand] = {"zero": np.array([0]), "one": np.array([1]), "rest": np.array([-1, 1])}
    graph = checked_import(model(nodes, IN, ["y"], constants))
    (node,) = graph.nodes
    assert (node.op, node.output.shape, node.loc) == ("reshape", (2, 3, 1), "Reshape_3")
    assert not graph.constants


def test_folded_constants_are_outputs_and_operands() -> None:
    """k, the same under another name, and under another shape; each is read by a node as well."""
    nodes = [
        helper.make_node("Add", ["c", "c"], ["k"]),
        helper.make_node("Identity", ["k"], ["alias"]),
        helper.make_node("Unsqueeze", ["k", "zero"], ["row"]),
        helper.make_node("Add", ["x", "k"], ["y"]),
        helper.make_node("Mul", ["y", "row"], ["z"]),
        helper.make_node("Sub", ["z", "alias"], ["last"]),
    ]
    c = np.array([1, 2, 3], np.float32)
    constants: dict[str, Operand] = {"c": c, "zero": np.array([0])}
    proto = model(nodes, IN, ["last", "k", "row", "alias", "y"], constants)
    expected = {"k": 2 * c, "alias": 2 * c, "row": 2 * c[None], "y": X + 2 * c, "last": (X + 2 * c) * 2 * c - 2 * c}
    program = compile_source(import_source(Path("constants.onnx"), proto), host_machine()).program
    evaluated = dict(zip(["last", "k", "row", "alias", "y"], run(proto, {"x": X}), strict=True))
    compiled = JitModel(program, host_machine()).run({"x": X})
    for name, wanted in expected.items():
        np.testing.assert_array_equal(evaluated[name], wanted, name)
        np.testing.assert_array_equal(compiled[name], wanted, name)


def test_operators_without_a_rule_fold_through_the_reference() -> None:
    """Also in versions that the reference has only newer ones of."""
    nodes = [
        helper.make_node("NonZero", ["mask"], ["where"]),
        helper.make_node("Scatter", ["base", "index", "update"], ["spread"], axis=1),
        helper.make_node("Cast", ["where"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Sum", ["x", "f", "spread"], ["y"]),
    ]
    constants: dict[str, Operand] = {
        "mask": np.array([1, 0, 1, 1], np.float32), "base": np.zeros((1, 3), np.float32),
        "index": np.array([[2]]), "update": np.array([[5]], np.float32),
    }  # fmt: skip
    (y,) = run(model(nodes, IN, ["y"], constants, opset=10), {"x": X})
    np.testing.assert_array_equal(y, X + np.array([0, 2, 8], np.float32))


def test_dequantized_constants_stay_and_quantized_ones_fold() -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["w", "s", "z"], ["wq"]),
        helper.make_node("DequantizeLinear", ["wq", "s", "z"], ["wf"]),
        helper.make_node("Gemm", ["x", "wf"], ["y"], transB=1),
    ]
    constants: dict[str, Operand] = {
        "w": np.array([[1, 2, 3], [4, 5, 60]], np.float32),
        "s": np.float32(0.5),
        "z": np.array(0, np.int8),
    }
    graph = checked_import(model(nodes, IN, ["y"], constants))
    assert [node.op for node in graph.nodes] == ["dequantize", "matmul"]
    (stored,) = graph.constants.values()
    np.testing.assert_array_equal(stored, np.array([[2, 8], [4, 10], [6, 120]], np.int8))


def test_numbers_of_shapes_that_are_quantized_fold() -> None:
    """As ONNX Runtime's quantizer writes a rounded up extent."""
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["extent"]),
        helper.make_node("DequantizeLinear", ["t", "s", "z"], ["two"]),
        helper.make_node("Mul", ["extent", "two"], ["m"]),
        helper.make_node("Cast", ["m"], ["i"], to=onnx.TensorProto.INT64),
        helper.make_node("Concat", ["i", "minus"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants: dict[str, Operand] = {
        "q": np.array([6], np.int8), "t": np.array([2], np.int8), "s": np.float32(0.5), "z": np.array(0, np.int8),
        "minus": np.array([-1]),
    }  # fmt: skip
    graph = checked_import(model(nodes, IN, ["y"], constants))
    assert [value.shape for value in graph.outputs] == [(3, X.size // 3)]


def test_large_results_are_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccml.frontend_onnx.folding.MAX_FOLDED_BYTES", 1000)
    proto, _ = one_node("Expand", [np.array([1], np.float32), np.array([30, 30])], 21, [0, 1])
    assert [node.op for node in checked_import(proto).nodes] == ["expand"]
    proto, _ = one_node("Expand", [np.array([1], np.float32), np.array([3, 30])], 21, [0, 1])
    assert [node.op for node in checked_import(proto).nodes] == ["reshape"]  # of the constant, to be an output


def test_batch_normalization_is_one_multiplication_and_one_addition() -> None:
    """The factors are computed in float64, also where the parameters are stored quantized."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 3)).astype(np.float32)
    scale, bias, mean, var = rng.random((4, 2)).astype(np.float32)
    proto, feeds = one_node("BatchNormalization", [x, scale, bias, mean, var], 15, [1, 2, 3, 4])
    graph = checked_import(proto)
    assert [node.op for node in graph.nodes] == ["mul", "add"]
    (y,) = run(proto, feeds)
    s, b, m, v = (array[:, None].astype(np.float64) for array in (scale, bias, mean, var))
    np.testing.assert_allclose(y, (x - m) / np.sqrt(v + 1e-5) * s + b, rtol=1e-6)


def test_outputs_have_their_onnx_names() -> None:
    """Through aliases, where one is an input or a constant, and where two are the same value."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Dropout", ["b"], ["c"]),
        helper.make_node("Identity", ["x"], ["d"]),
        helper.make_node("Identity", ["k"], ["e"]),
    ]
    proto = model(nodes, IN, ["c", "a", "d", "e"], {"k": np.array([7], np.float32)})
    graph = checked_import(proto)
    assert [output.name for output in graph.outputs] == ["c", "a", "d", "e"]
    np.testing.assert_array_equal(run(proto, {"x": X})[3], [7])
    for result, expected in zip(run(proto, {"x": X}), [X, X, X]):
        np.testing.assert_array_equal(result, expected)


def test_names_need_not_be_plain() -> None:
    nodes = [helper.make_node("Relu", ["x:0"], ["a b/c;d"]), helper.make_node("Neg", ["a b/c;d"], ["π"])]
    graph = checked_import(model(nodes, [value("x:0", [2])], ["π"]))
    assert [value.name for value in graph.values()] == ["x:0", "a b/c;d", "π"]


def test_what_no_output_needs_is_left_out() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Exp", ["x"], ["unused"])]
    graph = checked_import(model(nodes, IN, ["y"], {"k": np.zeros(1000)}))
    assert [node.op for node in graph.nodes] == ["relu"] and not graph.constants


def test_tensors_without_elements_are_constants() -> None:
    """An empty cache at the front of a concatenation, and an empty input."""
    nodes = [helper.make_node("Concat", ["empty", "x"], ["y"], axis=0)]
    proto = model(nodes, [*IN, value("empty", [0, 3])], ["y"])
    graph = checked_import(proto)
    assert [node.op for node in graph.nodes] == ["reshape"] and len(graph.inputs) == 2
    np.testing.assert_array_equal(run(proto, {"x": X, "empty": np.zeros((0, 3), np.float32)})[0], X)


def test_shapes_are_checked_against_those_that_onnx_infers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They agree; if a rule were wrong, it would be an error and no wrong output."""
    from ccml.errors import ErrorCode
    from ccml.frontend_onnx.context import NodeContext

    def wrong(ctx: NodeContext) -> list[object]:
        return [ctx.emit("transpose", ctx.input(0), perm=(1, 0))]

    proto = model([helper.make_node("Relu", ["x"], ["m"]), helper.make_node("Neg", ["m"], ["y"])], IN, ["y"])
    checked_import(proto)
    monkeypatch.setattr("ccml.frontend_onnx.walk.RULES", {"Relu": wrong, "Neg": wrong})
    with pytest.raises(CcmlError) as caught:
        checked_import(proto)
    assert caught.value.kind is ErrorCode.INVALID_MODEL and caught.value.loc == "m"
    assert "[3, 2]" in caught.value.reason and "[2, 3]" in caught.value.reason


def test_16_bit_quantization_as_onnxruntime_writes_it() -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], domain="com.microsoft"),
    ]
    constants: dict[str, Operand] = {"s": np.float32(0.001), "z": np.array(100, np.uint16)}
    proto = model(nodes, IN, ["y"], constants, opset=17, domains={"com.microsoft": 1})
    np.testing.assert_allclose(run(proto, {"x": X})[0], X, atol=5e-4)
    assert str(checked_import(proto).nodes[0].output.type) == "u16[2,3]"


@pytest.mark.parametrize("signed", [True, False])
def test_packed_weights_are_widened(signed: bool) -> None:
    """4-bit weights in blocks of two along axis 1."""
    levels = np.array([[-8, 7, 3], [0, 1, -1]]) + (0 if signed else 8)
    scale = np.array([[0.5, 2], [1, 4]], np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=1, block_size=2),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    proto = model(nodes, IN, ["y"], {"s": scale})
    packed = helper.make_tensor("w", TensorProto.INT4 if signed else TensorProto.UINT4, [2, 3], levels.reshape(-1))
    proto.graph.initializer.append(packed)
    (y,) = run(proto, {"x": X})
    np.testing.assert_array_equal(y, X + levels * np.repeat(scale, 2, axis=1)[:, :3])


def repeated(count: int) -> tuple[list[onnx.NodeProto], dict[str, Operand]]:
    """Constants of 4 MB, of which each is summed up."""
    nodes = [helper.make_node("Expand", [f"v{n}", "s"], [f"c{n}"]) for n in range(count)]
    nodes += [helper.make_node("ReduceSum", [f"c{n}"], [f"r{n}"], keepdims=0) for n in range(count)]
    nodes.append(helper.make_node("Sum", ["x", *(f"r{n}" for n in range(count))], ["y"]))
    return nodes, {**{f"v{n}": np.float32(n) for n in range(count)}, "s": np.array([1_000_000])}


def test_constants_have_a_budget_in_all() -> None:
    """Each is small enough to be computed, but not all of them together; what there is no room for stays."""
    nodes, constants = repeated(4)
    assert [node.op for node in checked_import(model(nodes, IN, ["y"], constants)).nodes] == ["add"] * 4
    nodes, constants = repeated(40)
    graph = checked_import(model(nodes, IN, ["y"], constants))
    assert 0 < sum(node.op == "expand" for node in graph.nodes) < 40
    assert sum(array.nbytes for array in optimize(graph).constants.values()) <= MAX_CONSTANT_BYTES
    (y,) = run(model(nodes, IN, ["y"], constants), {"x": X})
    np.testing.assert_allclose(y, X + sum(range(40)) * 1e6, rtol=1e-6)


def test_equal_nodes_of_constants_are_computed_once() -> None:
    """Cells of an unrolled layer, each of which transposes the weights for itself: as many constants as there are
    weights."""
    weights = np.ones((600, 600), np.float32)
    nodes = [helper.make_node("Gemm", ["x0" if n == 0 else f"h{n - 1}", "w"], [f"h{n}"], transB=1) for n in range(40)]
    graph = checked_import(model(nodes, [value("x0", [1, 600])], ["h39"], {"w": weights}))
    assert sum(array.nbytes for array in graph.constants.values()) == weights.nbytes


def test_stored_weights_have_a_budget_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large weights a few constants may be computed."""
    monkeypatch.setattr("ccml.frontend_onnx.folding.MAX_CONSTANT_BYTES", 1000)
    weights = {"w": np.ones((3, 3000), np.float32)}
    nodes = [helper.make_node("Exp", ["w"], ["e"]), helper.make_node("MatMul", ["x", "e"], ["y"])]
    assert [node.op for node in checked_import(model(nodes, IN, ["y"], weights)).nodes] == ["matmul"]


def test_work_that_takes_long_stays_in_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccml.frontend_onnx.folding.MAX_FOLDED_WORK", 1000)
    nodes = [helper.make_node("MatMul", ["a", "a"], ["p"]), helper.make_node("Add", ["x", "p"], ["y"])]
    graph = checked_import(model(nodes, [value("x", [20, 20])], ["y"], {"a": np.ones((20, 20), np.float32)}))
    assert [node.op for node in graph.nodes] == ["matmul", "add"]
