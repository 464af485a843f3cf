"""Pointwise operators between dequantize and quantize: lookups, rescaling, clips."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ccml.ir.graph import AttrValue, Value
from ccml.ir.types import DType, QuantParams
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize, integerize_with_report

from tests.integerize.building import Qdq, check, operators

SHAPE = (2, 3, 5, 7)


@pytest.mark.parametrize("op", ["sigmoid", "tanh", "erf", "exp", "sqrt", "abs", "neg", "floor"])
@pytest.mark.parametrize("dtype", [DType.I8, DType.U8])
def test_any_function_of_one_tensor_is_a_lookup(op: str, dtype: DType) -> None:
    q = Qdq()
    x = q.input(SHAPE, 0.03, 7, dtype)
    check(q.graph(q.quantize(q.op(op, x), 0.02, 4, dtype)), ["lookup"])


def test_a_chain_is_one_lookup() -> None:
    """Hard swish, with the operand used twice."""
    q = Qdq()
    x = q.input(SHAPE)
    gate = q.op("clip", q.op("add", x, q.constant(3.0)), lo=0.0, hi=6.0)
    y = q.op("mul", q.op("mul", x, gate), q.constant(1 / 6))
    check(q.graph(q.quantize(y, 0.04)), ["lookup"])


def test_a_choice_between_two_branches_is_a_lookup() -> None:
    q = Qdq()
    x = q.input(SHAPE)
    leaky = q.op("where", q.op("lt", x, q.constant(0.0)), q.op("mul", x, q.constant(0.1)), x)
    check(q.graph(q.quantize(leaky, 0.04)), ["lookup"])


def test_functions_stored_in_between_are_seen_through() -> None:
    """GELU with every step quantized: x * f(x) is a function of x, and one lookup."""
    q = Qdq()
    x = q.input(SHAPE)
    half = q.requantized(q.op("erf", q.op("mul", x, q.constant(0.7))), 1 / 128, 0)
    gate = q.requantized(q.op("add", half, q.constant(1.0)), 1 / 64, -128)
    product = q.requantized(q.op("mul", q.op("reshape", x, shape=(6, 35)), q.op("reshape", gate, shape=(6, 35))), 0.1)
    graph = q.graph(q.quantize(q.op("mul", product, q.constant(0.5)), 0.05))
    result = check(graph)
    assert sorted(operators(result)) == ["lookup", "reshape"]


def test_a_float_that_is_costly_to_compute_is_looked_up() -> None:
    q = Qdq()
    x = q.input(SHAPE)
    graph = q.graph(q.op("sigmoid", q.op("mul", x, q.constant(0.5))), q.op("relu", q.input(SHAPE)))
    result = check(graph)
    assert operators(result) == ["lookup", "dequantize", "relu"]
    assert result.nodes[0].output.dtype is DType.F32


def test_another_scale_is_a_lookup_and_the_same_scale_is_nothing() -> None:
    q = Qdq()
    x = q.input(SHAPE, 0.05, 3)
    graph = q.graph(q.quantize(x, 0.06, 3), q.quantize(q.op("sigmoid", q.requantized(x, 0.05, 3)), 0.05, 3))
    assert operators(check(graph)) == ["lookup", "lookup"]
    assert evaluate_graph(graph, {"x": np.zeros(SHAPE, np.int8)})


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
def test_relu_in_the_same_scale_is_a_clip_at_the_zero_point(dtype: DType) -> None:
    q = Qdq()
    y = q.op("clip", q.op("relu", q.input(SHAPE, 0.05, 7, dtype)), lo=0.0, hi=5.0)
    result = check(q.graph(q.quantize(y, 0.05, 7, dtype)), ["clip"])
    assert (result.nodes[0].attrs["lo"], result.nodes[0].attrs["hi"]) == (7, 107)
    assert result.outputs[0].type.quant == QuantParams((float(np.float32(0.05)),), (7,))


def test_relu_at_the_least_integer_is_nothing() -> None:
    q = Qdq()
    y = q.quantize(q.op("relu", q.input(SHAPE, 0.05, -128)), 0.05, -128)
    result = integerize(q.graph(q.op("reshape", y, shape=(210,))))
    assert operators(result) == ["reshape"]


@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize("types", [(DType.I8, DType.I8), (DType.U8, DType.U8), (DType.U8, DType.I8)])
def test_sums_of_two_tensors_are_rescaled(op: str, types: tuple[DType, DType]) -> None:
    q = Qdq()
    x1, x2 = q.input(SHAPE, 0.0173, 20, types[0]), q.input(SHAPE, 0.0391, -3 if types[1] is DType.I8 else 77, types[1])
    result = check(q.graph(q.quantize(q.op("relu", q.op(op, x1, x2)), 0.0307, 12, types[0])), ["rescale"])
    assert result.nodes[0].attrs["lo"] == 12


@pytest.mark.parametrize("scale", [0.0121, 0.5])
def test_products_of_two_tensors(scale: float) -> None:
    """A gate per channel broadcasts. Where 32 bits are too few for a multiplier the product meets a float32 scale."""
    q = Qdq()
    x1, x2 = q.input(SHAPE, 0.05, 9), q.input((2, 3, 1, 1), 0.00392, 0, DType.U8)
    result = check(q.graph(q.quantize(q.op("mul", x1, x2), scale)))
    assert operators(result)[-1] in ("rescale_product", "requantize")
    assert "dequantize" not in operators(result)


def test_all_pairs_of_operands() -> None:
    """The rescaled sum, over the whole table."""
    q = Qdq()
    x1, x2 = q.input((256, 1), 0.0213, 100), q.input((1, 256), 0.0571, -90)
    graph = q.graph(q.quantize(q.op("add", x1, x2), 0.0613, 17))
    codes = np.arange(-128, 128).astype(np.int8)
    feeds = {graph.inputs[0].name: codes.reshape(-1, 1), graph.inputs[1].name: codes.reshape(1, -1)}
    wanted, got = (evaluate_graph(g, feeds)[g.outputs[0].name] for g in (graph, integerize(graph)))
    np.testing.assert_array_equal(got, wanted)


def test_a_sum_that_hits_halves_rounds_them_to_even() -> None:
    """With scales that are powers of two."""
    q = Qdq()
    graph = q.graph(q.quantize(q.op("add", q.input(SHAPE, 0.5, 4), q.input(SHAPE, 0.25, -9)), 1.0, 3))
    assert operators(check(graph))[-1] == "requantize"


def test_a_sum_without_integer_form_stays_in_float() -> None:
    """(50 a + 31 b) / 70 would hit halves; but for the rounding of 0.05, 0.031 and 0.07, which decides."""
    q = Qdq()
    graph = q.graph(q.quantize(q.op("add", q.input(SHAPE, 0.05), q.input(SHAPE, 0.031)), 0.07))
    check(graph, ["dequantize", "dequantize", "add", "quantize"])
    _, kept = integerize_with_report(graph)
    assert [(k.op, k.reason) for k in kept] == [
        ("add", "no integer arithmetic was found that gives the same for every pair of operands")
    ]


def test_constants_per_channel_are_rescaled_per_channel() -> None:
    """A batch normalization that could not be folded."""
    q = Qdq()
    rng = np.random.default_rng(3)
    scale, shift = rng.uniform(0.5, 2, (3, 1, 1)), rng.normal(0, 1, (3, 1, 1))
    y = q.op("add", q.op("mul", q.input(SHAPE), q.constant(scale)), q.constant(shift))
    result = check(q.graph(q.quantize(q.op("relu", y), 0.06)), ["rescale_channels"])
    assert result.nodes[0].operands[1].shape == (1, 3, 1, 1)


def test_stored_constants_are_operands() -> None:
    """A constant of bytes is added as it is stored; one number is part of the table."""
    q = Qdq()
    position = q.weights(np.random.default_rng(0).integers(-128, 128, (5, 7)).astype(np.int8), [0.031], [5])
    one = q.weights(np.array(40, np.int8), [0.031], [5])
    y = q.requantized(q.op("add", q.input(SHAPE), position), 0.0713)
    check(q.graph(q.quantize(q.op("add", y, one), 0.08)), ["rescale", "lookup"])


def three_tensors(q: Qdq) -> Value:
    return q.op("add", q.op("add", q.input(SHAPE), q.input(SHAPE)), q.input(SHAPE))


def wide_function(q: Qdq) -> Value:
    return q.op("sigmoid", q.input(SHAPE, 0.001, 0, DType.I16))


@pytest.mark.parametrize(
    ("make", "op", "reason"),
    [
        (three_tensors, "add", "it is not a function of one or two quantized tensors of 8 bits"),
        (wide_function, "sigmoid", "a function of 16-bit integers would need a table of 65536"),
    ],
)
def test_what_stays_in_float_says_why(make: Callable[[Qdq], Value], op: str, reason: str) -> None:
    q = Qdq()
    result, kept = integerize_with_report(q.graph(q.quantize(make(q), 0.05, 0, DType.I16)))
    assert (op, reason) in [(k.op, k.reason) for k in kept]
    assert op in operators(result)


def test_parameters_along_an_axis_are_spelled_out() -> None:
    """Activations with a scale for each channel: not integerized, but compiled."""
    q = Qdq()
    axis: dict[str, AttrValue] = {"scale": (0.5, 0.25, 0.125), "zero_point": (1, -2, 3), "axis": 1}
    x = q.op("dequantize", q.builder.constant(np.zeros((1, 3, 4), np.int8)), **axis)
    real = q.op("add", q.input((1, 3, 4), 0.07), x)
    stored = q.op("quantize", real, **axis, to=DType.I8)
    check(q.graph(q.op("dequantize", stored, **axis)))
