"""Small QDQ graphs, and the check that integers give what the floats between them define."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, Value
from ccml.ir.types import DType, TensorType
from ccml.ir.verify import verify_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.integerize import integerize
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph


class Qdq:
    """Builds a graph whose inputs are integers with their quantization."""

    def __init__(self) -> None:
        self.builder = GraphBuilder(infer_types)
        self.inputs: list[Value] = []

    def input(
        self, shape: Sequence[int], scale: float = 0.05, zero_point: int = 3, dtype: DType = DType.I8, name: str = "x"
    ) -> Value:
        """The real value of a new integer input."""
        value = Value(self.builder.names.fresh(name), TensorType(dtype, tuple(shape)))
        self.inputs.append(value)
        return self.dequantize(value, [scale], [zero_point])

    def dequantize(self, x: Value, scale: Sequence[float], zero_point: Sequence[int] = (0,), axis: int = 0) -> Value:
        attrs = {"scale": float32s(scale), "zero_point": tuple(map(int, zero_point)), "axis": axis}
        return self.op("dequantize", x, **attrs)

    def weights(
        self, array: np.ndarray, scale: Sequence[float], zero_point: Sequence[int] = (), axis: int = 0
    ) -> Value:
        """The real value of constant integers."""
        return self.dequantize(self.builder.constant(array), scale, zero_point or (0,) * len(scale), axis)

    def quantize(self, x: Value, scale: float = 0.1, zero_point: int = -5, to: DType = DType.I8) -> Value:
        return self.op("quantize", x, scale=float32s([scale]), zero_point=(zero_point,), axis=0, to=to)

    def requantized(self, x: Value, scale: float = 0.1, zero_point: int = -5, dtype: DType = DType.I8) -> Value:
        """``x`` rounded to what integers can hold."""
        return self.dequantize(self.quantize(x, scale, zero_point, dtype), [scale], [zero_point])

    def constant(self, array: np.ndarray | float) -> Value:
        return self.builder.constant(np.asarray(array, np.float32))

    def op(self, op: str, *inputs: Value | None, **attrs: AttrValue) -> Value:
        return self.builder.emit1(op, *inputs, loc=f"{op}_{len(self.builder.nodes)}", **attrs)

    def conv(self, x: Value, w: Value, bias: Value | None = None, **attrs: AttrValue) -> Value:
        spatial = len(x.shape) - 2
        geometry = {"stride": (1,) * spatial, "pad": (0,) * 2 * spatial, "dilation": (1,) * spatial, "group": 1}
        return self.op("conv", x, w, bias, **{**geometry, "layout": "channels_first", **attrs})

    def graph(self, *outputs: Value) -> Graph:
        return Graph("g", tuple(self.inputs), outputs, tuple(self.builder.nodes), self.builder.constants)


def float32s(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(np.float32(value)) for value in values)


def random_bytes(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Integers of all sizes for every input; floats around zero."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in graph.inputs:
        if value.dtype.is_float:
            arrays[value.name] = rng.standard_normal(value.shape).astype(value.dtype.numpy)
        else:
            limits = np.iinfo(value.dtype.numpy)
            arrays[value.name] = rng.integers(limits.min, limits.max + 1, value.shape).astype(value.dtype.numpy)
    return arrays


def operators(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def check(graph: Graph, expected: Sequence[str] | None = None, *, same: bool = True, seeds: int = 3) -> Graph:
    """Integerizes ``graph``: it has the ``expected`` operators, gives the ``same`` outputs and compiles to the same.

    Returns the integerized graph.
    """
    verify_graph(graph)
    result = integerize(graph)
    verify_graph(result)
    if expected is not None:
        assert operators(result) == list(expected), operators(result)
    for seed in range(seeds if same else 0):
        feeds = random_bytes(graph, seed)
        for wanted, integers in zip(outputs(graph, feeds), outputs(result, feeds), strict=True):
            np.testing.assert_array_equal(integers, wanted)
    if "gather" not in operators(graph):
        check_compiled(graph, result, seeds)
    return result


def check_compiled(graph: Graph, result: Graph, seeds: int) -> None:
    """The machine code of the optimized graph gives what the integerized graph defines."""
    optimized = optimize(graph)
    model = JitModel(lower_graph(optimized, host_machine()), host_machine())
    for seed in range(seeds):
        feeds = random_bytes(graph, seed)
        results = zip(outputs(result, feeds), outputs(optimized, feeds), model.run(feeds).values(), strict=True)
        for defined, lowered, compiled in results:
            np.testing.assert_array_equal(lowered, defined)
            assert_alike(compiled, defined)


def outputs(graph: Graph, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    values = evaluate_graph(graph, feeds)
    return [values[value.name] for value in graph.outputs]


def assert_alike(compiled: np.ndarray, defined: np.ndarray) -> None:
    """The same bytes; floats come from functions that two libraries round differently."""
    if defined.dtype.kind == "f":
        np.testing.assert_allclose(compiled, defined, rtol=2e-6, atol=1e-7)
    else:
        np.testing.assert_array_equal(compiled, defined)
