"""QDQ models of single operators, as other tools write them: integer, and what the operators' definitions give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import import_model
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize_with_report
from ccml.passes.pipeline import optimize
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

KINDS = {"int8": (TensorProto.INT8, 3), "uint8": (TensorProto.UINT8, 120)}
SCALE, RESULT = 0.0517, 0.0731


@dataclass
class Qdq:
    """An ONNX model with QuantizeLinear and DequantizeLinear, in the types of ``kind``."""

    kind: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def parameters(self) -> tuple[int, np.ndarray]:
        kind, zero_point = KINDS[self.kind]
        return kind, np.asarray(zero_point, self.kind)

    def op(self, op_type: str, *operands: str, **attrs: Any) -> str:
        name = f"{op_type}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(operands), [name], name=name, **attrs))
        return name

    def constant(self, array: Any) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def real(self, *shape: int) -> str:
        """A new input, as floats."""
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, self.parameters[0], shape))
        return self.op("DequantizeLinear", name, self.constant(np.float32(SCALE)), self.constant(self.parameters[1]))

    def weights(self, *shape: int, axis: int = 0) -> str:
        integers = self.rng.integers(-127, 128, shape).astype(np.int8)
        scale = self.rng.uniform(0.004, 0.009, shape[axis]).astype(np.float32)
        zero_point = np.zeros(shape[axis], np.int8)
        return self.op("DequantizeLinear", *map(self.constant, (integers, scale, zero_point)), axis=axis)

    def floats(self, *shape: int) -> str:
        return self.constant(self.rng.uniform(0.2, 0.9, shape).astype(np.float32))

    def model(self, y: str) -> onnx.ModelProto:
        y = self.op("QuantizeLinear", y, self.constant(np.float32(RESULT)), self.constant(self.parameters[1]))
        output = helper.make_tensor_value_info(y, self.parameters[0], None)
        graph = helper.make_graph(self.nodes, "g", self.inputs, [output], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


IMAGE = (1, 4, 6, 6)
BORDER = np.array([0, 0, 1, 1, 0, 0, 2, 1])
OPERATORS: dict[str, Callable[[Qdq], str]] = {
    "Conv": lambda q: q.op("Conv", q.real(*IMAGE), q.weights(5, 4, 3, 3), pads=[1] * 4),
    "Conv 1D": lambda q: q.op("Conv", q.real(1, 4, 9), q.weights(5, 4, 3), dilations=[2]),
    "Conv depthwise": lambda q: q.op("Conv", q.real(*IMAGE), q.weights(4, 1, 3, 3), group=4, strides=[2, 2]),
    "Conv groups": lambda q: q.op("Conv", q.real(*IMAGE), q.weights(6, 2, 3, 3), group=2),
    "ConvTranspose": lambda q: q.op("ConvTranspose", q.real(*IMAGE), q.weights(4, 5, 3, 3, axis=1), strides=[2, 2]),
    "MatMul": lambda q: q.op("MatMul", q.real(2, 3, 16), q.weights(16, 5, axis=1)),
    "MatMul of activations": lambda q: q.op("MatMul", q.real(2, 3, 16), q.real(2, 16, 5)),
    "attention scores": lambda q: q.op(
        "MatMul", q.real(2, 3, 8), q.op("Transpose", q.real(2, 5, 8), perm=[0, 2, 1])
    ),
    "Gemm": lambda q: q.op("Gemm", q.real(3, 16), q.weights(5, 16), q.floats(5), transB=1),
    "Gemm with factors": lambda q: q.op("Gemm", q.real(3, 16), q.weights(16, 5, axis=1), q.floats(5), alpha=0.31),
    "Add": lambda q: q.op("Add", q.real(*IMAGE), q.real(*IMAGE)),
    "Add of a row": lambda q: q.op("Add", q.real(*IMAGE), q.real(1, 4, 1, 1)),
    "Sub": lambda q: q.op("Sub", q.real(*IMAGE), q.real(*IMAGE)),
    "Mul": lambda q: q.op("Mul", q.real(*IMAGE), q.real(1, 4, 1, 1)),
    "Max": lambda q: q.op("Max", q.real(*IMAGE), q.real(*IMAGE)),
    "Concat": lambda q: q.op("Concat", q.real(*IMAGE), q.real(1, 2, 6, 6), axis=1),
    "MaxPool": lambda q: q.op("MaxPool", q.real(*IMAGE), kernel_shape=[3, 3], pads=[1] * 4),
    "AveragePool": lambda q: q.op("AveragePool", q.real(*IMAGE), kernel_shape=[3, 3], pads=[1] * 4),
    "GlobalAveragePool": lambda q: q.op("GlobalAveragePool", q.real(*IMAGE)),
    "GlobalMaxPool": lambda q: q.op("GlobalMaxPool", q.real(*IMAGE)),
    "ReduceMean": lambda q: q.op("ReduceMean", q.real(*IMAGE), q.constant(np.array([2, 3])), keepdims=0),
    "Pad": lambda q: q.op("Pad", q.real(*IMAGE), q.constant(BORDER)),
    "Pad reflect": lambda q: q.op("Pad", q.real(*IMAGE), q.constant(BORDER), mode="reflect"),
    "Resize nearest": lambda q: q.op(
        "Resize", q.real(*IMAGE), "", q.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest"
    ),
    "Resize linear": lambda q: q.op(
        "Resize", q.real(*IMAGE), "", q.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear"
    ),
    "DepthToSpace": lambda q: q.op("DepthToSpace", q.real(*IMAGE), blocksize=2),
    "Relu": lambda q: q.op("Relu", q.real(*IMAGE)),
    "Clip": lambda q: q.op("Clip", q.real(*IMAGE), q.constant(np.float32(0)), q.constant(np.float32(6))),
    "LeakyRelu": lambda q: q.op("LeakyRelu", q.real(*IMAGE), alpha=0.1),
    "PRelu": lambda q: q.op("PRelu", q.real(*IMAGE), q.floats(4, 1, 1)),
    "Sigmoid": lambda q: q.op("Sigmoid", q.real(*IMAGE)),
    "Tanh": lambda q: q.op("Tanh", q.real(*IMAGE)),
    "Gelu": lambda q: q.op("Gelu", q.real(*IMAGE)),
    "HardSwish": lambda q: q.op("HardSwish", q.real(*IMAGE)),
    "HardSigmoid": lambda q: q.op("HardSigmoid", q.real(*IMAGE)),
    "Elu": lambda q: q.op("Elu", q.real(*IMAGE)),
    "Softmax": lambda q: q.op("Softmax", q.real(3, 10), axis=-1),
    "LayerNormalization": lambda q: q.op("LayerNormalization", q.real(3, 32), q.floats(32), q.floats(32)),
    "InstanceNormalization": lambda q: q.op("InstanceNormalization", q.real(*IMAGE), q.floats(4), q.floats(4)),
    "BatchNormalization": lambda q: q.op("BatchNormalization", q.real(*IMAGE), *(q.floats(4) for _ in range(4))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str, kind: str) -> None:
    """At most one step from the ONNX reference, which rounds every float on its way, and that seldom."""
    q = Qdq(kind)
    model = q.model(OPERATORS[name](q))
    graph = import_model(model)
    integers, kept = integerize_with_report(graph)
    assert kept == ()
    assert not {node.op for node in integers.nodes} & {"quantize", "dequantize"}
    optimized, reference = optimize(graph), ReferenceEvaluator(model)
    limits = np.iinfo(kind)
    shapes = {value.name: value.shape for value in graph.inputs}
    apart = []
    for _ in range(3):
        feeds = {n: q.rng.integers(limits.min, limits.max + 1, s).astype(kind) for n, s in shapes.items()}
        (wanted,) = reference.run(None, feeds)
        apart.append(np.abs(evaluate_graph(optimized, feeds)[optimized.outputs[0].name].astype(int) - wanted))
    found = np.concatenate([each.ravel() for each in apart])
    assert found.max() <= 1
    assert np.count_nonzero(found) <= max(2, 0.02 * found.size)


def test_rows_of_a_table_stay_integers() -> None:
    """An embedding: indices are known at run time, and a float result is wanted."""
    q = Qdq("int8")
    table = q.rng.integers(-127, 128, (50, 16)).astype(np.int8)
    rows = q.op("DequantizeLinear", q.constant(table), q.constant(np.float32(0.02)), q.constant(np.int8(0)))
    y = q.op("Gather", rows, "indices")
    indices = helper.make_tensor_value_info("indices", TensorProto.INT64, (7,))
    output = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
    graph = helper.make_graph(q.nodes, "g", [indices], [output], q.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    optimized = optimize(import_model(model))
    assert max(array.nbytes for array in optimized.constants.values()) == table.nbytes
    feeds = {"indices": np.array([3, 0, 49, 7, 7, 12, 1])}
    got = evaluate_graph(optimized, feeds)[optimized.outputs[0].name]
    np.testing.assert_array_equal(got, ReferenceEvaluator(model).run(None, feeds)[0])
