"""Weights that stay integers beside float activations: imported, compiled, and written as ONNX again."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph import Graph
from ccml.passes.integerize import integerize, integerize_with_report
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.graphs import checked_import
from tests.integerize.building import Qdq, operators, outputs

RNG = np.random.default_rng(5)


def packed_tensor(name: str, array: np.ndarray, kind: str) -> onnx.TensorProto:
    return helper.make_tensor(name, getattr(TensorProto, kind), array.shape, array.reshape(-1).tolist())


def model(
    kind: str,
    shape: tuple[int, int, int],
    block: int | None,
    *,
    zero_point: bool = False,
    transposed: bool = False,
    rows: tuple[int, ...] = (),
) -> onnx.ModelProto:
    """y = x @ dequantize(w) + bias, x[..., m, k], with parameters for each column or for blocks of k."""
    m, k, n = shape
    least, greatest = {"INT8": (-127, 128), "UINT8": (0, 256), "INT4": (-8, 8), "UINT4": (0, 16)}[kind]
    w = RNG.integers(least, greatest, (k, n))
    along = (n,) if block is None else (-(-k // block), n)
    scale = RNG.uniform(0.01, 0.1, along).astype(np.float32)
    zero = RNG.integers(least, greatest, along)
    axis = 1 if block is None else 0
    if transposed:
        w, axis = w.T, 1 - axis
        scale, zero = (array if block is None else array.T for array in (scale, zero))
    initializers = [packed_tensor("w", w, kind), numpy_helper.from_array(np.ascontiguousarray(scale), "s")]
    initializers.append(numpy_helper.from_array(RNG.normal(size=n).astype(np.float32), "bias"))
    operands = ["w", "s"]
    if zero_point:
        initializers.append(packed_tensor("z", zero, kind))
        operands.append("z")
    attrs = {"axis": axis} | ({} if block is None else {"block_size": block})
    nodes = [helper.make_node("DequantizeLinear", operands, ["real"], **attrs)]
    if transposed:
        nodes.append(helper.make_node("Gemm", ["x", "real", "bias"], ["y"], transB=1))
    else:
        nodes += [helper.make_node("MatMul", ["x", "real"], ["t"]), helper.make_node("Add", ["t", "bias"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (*rows, m, k))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (*rows, m, n))
    graph = helper.make_graph(nodes, "g", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


CASES = [
    pytest.param(model("INT8", (1, 64, 40), None), 64 * 40, id="int8"),
    pytest.param(model("INT8", (3, 64, 41), None, zero_point=True), 64 * 41, id="int8-asymmetric"),
    pytest.param(model("UINT8", (3, 30, 7), None, zero_point=True, transposed=True), 210, id="uint8-transposed"),
    pytest.param(model("INT4", (1, 64, 48), 32), 64 * 24, id="int4"),
    pytest.param(model("UINT4", (2, 64, 33), 16, zero_point=True, rows=(2, 3)), 64 * 33 // 2, id="uint4"),
    pytest.param(model("INT4", (5, 64, 33), 32, transposed=True), 32 * 33, id="int4-transposed"),
    pytest.param(model("INT4", (5, 36, 16), 32), 18 * 16, id="int4-short-block"),
    pytest.param(model("INT8", (5, 50, 16), 16, zero_point=True), 50 * 16, id="int8-blocks"),
    pytest.param(model("INT4", (2, 33, 16), 11), 33 * 16, id="int4-odd-blocks"),
    pytest.param(model("INT4", (1, 64, 16), None), 32 * 16, id="int4-columns"),
]


@pytest.mark.parametrize(("proto", "size"), CASES)
def test_imported_weights_stay_integers(proto: onnx.ModelProto, size: int) -> None:
    """The result is that of the reference, and the machine code holds no more than the integers and their scales."""
    graph = checked_import(proto)
    (x,) = graph.inputs
    feeds = {"x": RNG.normal(size=x.shape).astype(np.float32)}
    (wanted,) = ReferenceEvaluator(proto).run(None, feeds)
    program = lower_graph(optimize(graph), host_machine())
    (got,) = JitModel(program, host_machine()).run(feeds).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=2e-5)
    weights = [array for array in program.constants.values() if array.dtype == np.int8]
    assert sum(array.size for array in weights) <= 2 * size
    largest_float = max(array.size for array in program.constants.values() if array.dtype == np.float32)
    assert largest_float <= size / 2


@pytest.mark.parametrize(("proto", "size"), CASES)
def test_written_as_onnx_again(proto: onnx.ModelProto, size: int) -> None:
    graph = checked_import(proto)
    written = export_model(graph)
    onnx.checker.check_model(written, full_check=True)
    again = checked_import(written)
    feeds = {"x": RNG.normal(size=graph.inputs[0].shape).astype(np.float32)}
    np.testing.assert_array_equal(outputs(again, feeds)[0], outputs(graph, feeds)[0])
    (wanted,) = ReferenceEvaluator(written).run(None, feeds)
    np.testing.assert_allclose(outputs(again, feeds)[0], wanted, rtol=1e-5, atol=2e-5)


def test_blocks_of_4_bits_are_written_with_4_bits() -> None:
    written = export_model(checked_import(model("INT4", (1, 64, 48), 32)))
    kinds = {tensor.data_type for tensor in written.graph.initializer}
    assert TensorProto.INT4 in kinds
    assert TensorProto.INT8 not in kinds


def stored(axis: int, zero_point: int = 0) -> Graph:
    q = Qdq()
    w = q.weights(RNG.integers(-127, 128, (12, 7)).astype(np.int8), RNG.uniform(0.1, 1, (12, 7)[axis]), axis=axis)
    x = q.dequantize(q.builder.constant(np.zeros((), np.int8)), [1.0], [0])
    return q.graph(q.op("matmul", q.op("exp", q.op("add", q.input((3, 12), 0.1, zero_point), x)), w))


def test_scales_along_the_sum_become_floats() -> None:
    """There is no scale for a column: the matrix is folded."""
    assert "weight_matmul" not in operators(integerize(stored(axis=0)))


def test_quantized_activations_take_the_integers() -> None:
    q = Qdq()
    w = q.weights(RNG.integers(-127, 128, (12, 7)).astype(np.int8), RNG.uniform(0.1, 1, 7), axis=1)
    graph = q.graph(q.quantize(q.op("matmul", q.input((3, 12)), w)))
    assert operators(integerize(graph)) == ["matmul", "requantize"]


def test_the_report_says_why_a_product_is_float() -> None:
    _, kept = integerize_with_report(checked_import(model("INT8", (1, 64, 40), None)))
    assert [(each.op, each.reason) for each in kept if each.op != "add"] == [
        ("weight_matmul", "its operand is not quantized; its weights are stored as integers")
    ]


