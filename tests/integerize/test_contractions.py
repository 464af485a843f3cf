"""Contractions: conv, conv_transpose, matmul, and what belongs to their accumulators."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.integerize import integerize
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

from tests.integerize.building import Qdq, check, operators, random_bytes

RNG = np.random.default_rng(7)
F32 = np.float32


def random_weights(*shape: int, dtype: type = np.int8) -> np.ndarray:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def scales(count: int) -> list[float]:
    return RNG.uniform(0.001, 0.01, count).tolist()


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8])
@pytest.mark.parametrize("group", [1, 2, 4])
def test_conv_is_the_definition_of_requantization(dtype: DType, group: int) -> None:
    """clamp(zp + round_half_even(float32(sum (x - zp_x) * w + bias) * ((x_scale * w_scale) / y_scale)))"""
    q, w_scales = Qdq(), scales(8)
    w, zero, bias = random_weights(8, 4 // group, 3, 3), 100, RNG.integers(-3000, 3000, 8).astype(np.int32)
    x = q.input((2, 4, 6, 5), 0.02, zero, dtype)
    steps = (F32(0.02) * np.array(w_scales, F32)).tolist()
    y = q.conv(x, q.weights(w, w_scales), q.weights(bias, steps), stride=(2, 1), pad=(1, 1, 0, 1), group=group)
    graph = q.graph(q.quantize(q.op("relu", y), 0.07, 11, dtype))
    result = check(graph, ["conv", "requantize"], same=False)

    feeds = random_bytes(graph)
    real = np.pad(feeds["x"].astype(int) - zero, [(0, 0), (0, 0), (1, 0), (1, 1)])
    acc = np.zeros((2, 8, 3, 5), int)
    for n, oc, oh, ow in np.ndindex(*acc.shape):
        first = oc // (8 // group) * (4 // group)
        window = real[n, first : first + 4 // group, 2 * oh : 2 * oh + 3, ow : ow + 3]
        acc[n, oc, oh, ow] = np.sum(window * w[oc]) + bias[oc]
    scale = ((F32(0.02) * np.array(w_scales, F32)) / F32(0.07)).reshape(-1, 1, 1)
    wanted = np.clip(np.rint(acc.astype(F32) * scale) + 11, 11, np.iinfo(dtype.numpy).max)
    np.testing.assert_array_equal(evaluate_graph(result, feeds)[result.outputs[0].name], wanted)


@pytest.mark.parametrize("op", ["conv", "matmul", "add"])
def test_a_bias_between_steps_of_few_products(op: str) -> None:
    """All 256 bytes times one weight, in steps of a quarter of the result's: a rounded bias moves some results."""
    q = Qdq()
    bias = q.builder.constant(np.array([0.0137], np.float32))
    x = q.input((256, 1, 1), 0.01, 0)
    if op == "conv":
        y = q.conv(x, q.weights(np.array([[[3]]], np.int8), [1.0]), bias)
    else:
        w = q.weights(np.array([[3]], np.int8), [1.0])
        y = q.op("matmul", x, w, bias) if op == "matmul" else q.op("add", q.op("matmul", x, w), bias)
    graph = q.graph(q.quantize(q.op("relu", y), 0.037, -128))
    feeds = {"x": np.arange(-128, 128, dtype=np.int8).reshape(256, 1, 1)}
    wanted = evaluate_graph(graph, feeds)[graph.outputs[0].name]
    np.testing.assert_array_equal(evaluate_graph(integerize(graph), feeds)[graph.outputs[0].name], wanted)
    program = lower_graph(optimize(graph), host_machine())
    np.testing.assert_array_equal(JitModel(program, host_machine()).run(feeds)[graph.outputs[0].name], wanted)


def test_the_sum_is_bounded_by_the_weights_and_what_its_input_can_be() -> None:
    q = Qdq()
    w = np.array([[[3, -1]], [[2, 2]]], np.int8)
    x = q.requantized(q.op("relu", q.input((1, 1, 8), 0.1, 0)), 0.1, -28)
    graph = q.graph(q.quantize(q.conv(x, q.weights(w, [0.5]), q.weights(np.array([7, 0], np.int32), [0.05]))))
    conv = next(node for node in integerize(graph).nodes if node.op == "conv")
    # x is stored as -28..127 with zero point -28, so x - zero_point is 0..127 (relu of at most 12.7).
    assert (conv.attrs["acc_lo"], conv.attrs["acc_hi"]) == (7 - 127, 4 * 127)


def test_weights_with_zero_points_are_centred() -> None:
    for zero_points, stored in (((128,) * 4, DType.I8), ((10, 128, 200, 0), DType.I16)):
        q = Qdq()
        w = q.weights(random_weights(4, 3, 2, dtype=np.uint8), scales(4), zero_points)
        result = check(q.graph(q.quantize(q.conv(q.input((1, 3, 7), 0.02), w))), ["conv", "requantize"], same=False)
        assert result.nodes[0].operands[1].dtype is stored


@pytest.mark.parametrize("group", [1, 2])
def test_transposed_convolution(group: int) -> None:
    q = Qdq()
    geometry = {"stride": (2,), "pad": (1, 0), "dilation": (1,), "group": group, "output_padding": (1,)}
    w = q.weights(random_weights(4, 3, 3), scales(3), axis=1)
    y = q.op("conv_transpose", q.input((1, 4, 5), 0.02, -9), w, None, **geometry, layout="channels_first")
    result = check(q.graph(q.quantize(y)), ["conv_transpose", "requantize"], same=False)
    assert result.constants[result.nodes[1].operands[1].name].size == 3 * group


def test_weights_behind_views() -> None:
    """A Gemm's transposed weights, and a kernel that was reshaped: the axis of the scales moves along."""
    q = Qdq()
    w = q.op("transpose", q.weights(random_weights(6, 5), scales(6)), perm=(1, 0))
    check(q.graph(q.quantize(q.op("matmul", q.input((2, 5)), w))), ["matmul", "requantize"], same=False)
    q = Qdq()
    w = q.op("reshape", q.weights(random_weights(6, 10), scales(6)), shape=(6, 5, 2))
    check(q.graph(q.quantize(q.conv(q.input((1, 5, 4)), w))), ["conv", "requantize"], same=False)


def test_products_of_two_computed_tensors() -> None:
    q = Qdq()
    a, b = q.input((2, 3, 5), 0.02, 100, DType.U8, "a"), q.input((2, 5, 4), 0.03, -7, DType.I8, "b")
    result = check(q.graph(q.quantize(q.op("matmul", a, b), 0.2)), ["matmul", "requantize"], same=False)
    assert result.nodes[0].attrs["rhs_zero_point"] == -7


def test_constant_on_the_left() -> None:
    q = Qdq()
    w = q.weights(random_weights(4, 5), scales(4), axis=0)
    y = q.op("matmul", w, q.input((5, 3), 0.02, 9))
    check(q.graph(q.quantize(y)), ["matmul", "requantize"], same=False)


def test_a_bias_in_other_steps_is_rounded_to_those_of_the_sum() -> None:
    """A float bias, or one added behind: at most half a step of the accumulator is lost."""
    bias = np.linspace(-1, 1, 6).astype(F32)
    for added in (False, True):
        q = Qdq()
        x, w = q.input((2, 5), 0.02), q.weights(random_weights(5, 6), scales(6), axis=1)
        y = q.op("matmul", x, w, None if added else q.constant(bias))
        y = q.op("add", y, q.constant(bias)) if added else y
        result = check(q.graph(q.quantize(y, 0.05)), ["matmul", "requantize"], same=False)
        steps = result.constants[result.nodes[0].operands[2].name]
        scale = result.constants[result.nodes[1].operands[1].name] * F32(0.05)
        np.testing.assert_allclose(steps * scale, bias, atol=float(scale.max()) / 2)


def test_a_float_result_is_the_sum_times_its_scale() -> None:
    q = Qdq()
    w_scales = scales(6)
    y = q.op("matmul", q.input((2, 5), 0.02), q.weights(random_weights(5, 6), w_scales, axis=1))
    graph = q.graph(q.op("softmax", y, axis=1))
    result = check(graph, ["matmul", "cast", "mul", "softmax"], same=False)
    values, reals = evaluate_graph(result, random_bytes(graph)), evaluate_graph(graph, random_bytes(graph))
    np.testing.assert_allclose(values[result.outputs[0].name], reals[graph.outputs[0].name], rtol=1e-5)


def test_int16_activations() -> None:
    q = Qdq()
    w = q.weights(random_weights(4, 8), scales(8), axis=1)
    y = q.op("matmul", q.input((3, 4), 0.0004, 0, DType.I16), w)
    check(q.graph(q.quantize(y, 0.002, 0, DType.I16)), ["matmul", "requantize"], same=False)


def overflowing() -> Graph:
    q = Qdq()
    w = q.weights(np.full((140_000, 1), 127, np.int8), [0.1], axis=1)
    y = q.op("matmul", q.input((1, 140_000), 0.0004, 0), w)
    return q.graph(q.quantize(y, 0.002, 0))


def test_an_overflowing_sum_of_bytes_is_refused() -> None:
    with pytest.raises(CcmlError, match=r"matmul_2: the sum that gives %matmul could reach -2275840000") as caught:
        integerize(overflowing())
    assert caught.value.kind is ErrorCode.ACCUMULATOR_OVERFLOW


def wide(bias: float | None = None) -> Graph:
    """Two halfwords by two: products of up to 2^15 * 32767."""
    q = Qdq()
    w = q.weights(np.array([[32767, 1], [32767, -2], [-32767, 3]], np.int16), [2.0**-15, 2.0**-16], axis=1)
    y = q.op("matmul", q.input((4, 3), 2.0**-12, 0, DType.I16), w)
    if bias is not None:
        y = q.op("add", y, q.constant(np.array([bias, -bias], np.float32)))
    return q.graph(q.quantize(y, 2.0**-10, 0, DType.I16))


@pytest.mark.parametrize("bias", [None, 3.25])
def test_halfwords_by_halfwords_keep_what_32_bits_hold(bias: float | None) -> None:
    graph, x = wide(bias), np.array([[-32768, -32768, 32767], [1, 2, 3], [0, 0, 0], [-5, 700, -9000]], np.int16)
    result = integerize(graph)
    (product,) = (node for node in result.nodes if node.op == "matmul")
    assert [node.op for node in result.nodes] == ["matmul", "requantize"]
    assert product.attrs["shift"] == 1
    weights = np.array([[32767, 1], [32767, -2], [-32767, 3]], object)
    real = (x.astype(object) @ weights).astype(np.float64) * [2.0**-27, 2.0**-28]
    wanted = np.clip((real + np.array([bias or 0, -(bias or 0)])) * 2**10, -32768, 32767)
    found = evaluate_graph(result, {graph.inputs[0].name: x})[result.outputs[0].name]
    assert np.abs(found - wanted).max() <= 0.5 + 1e-3


def test_two_computed_tensors_of_halfwords() -> None:
    q = Qdq()
    x, w = (q.input(shape, 2.0**-12, zero, DType.I16) for shape, zero in (((2, 40), 5), ((40, 3), -7)))
    graph = q.graph(q.quantize(q.op("matmul", x, w), 2.0**-8, 0, DType.I16))
    result = integerize(graph)
    assert [node.op for node in result.nodes] == ["matmul", "requantize"]
    rng = np.random.default_rng(0)
    arrays = {v.name: rng.integers(-32768, 32768, v.shape).astype(np.int16) for v in graph.inputs}
    a, b = (array.astype(object) for array in arrays.values())
    wanted = ((a - 5) @ (b + 7)).astype(np.float64) * 2.0**-16
    found = evaluate_graph(result, arrays)[result.outputs[0].name]
    assert np.abs(found - np.clip(wanted, -32768, 32767)).max() <= 0.5 + 1e-2


def test_a_clip_before_a_contraction_clips_the_integers() -> None:
    q = Qdq()
    x = q.op("relu", q.input((1, 3, 8), 0.05, -20))
    w = q.weights(random_weights(4, 3, 3), scales(4))
    result = check(q.graph(q.quantize(q.conv(x, w))), ["clip", "conv", "requantize"], same=False)
    assert (result.nodes[0].attrs["lo"], result.nodes[0].attrs["hi"]) == (-20, 127)
    mean = q.op("reduce", x, kind="mean", axes=(2,), keepdims=True)
    check(q.graph(q.quantize(mean)), ["clip", "reduce", "requantize"], same=False)


def test_what_is_not_quantized_stays_in_float() -> None:
    q = Qdq()
    x = q.input((1, 3, 8))
    graph = q.graph(q.quantize(q.conv(x, q.constant(RNG.standard_normal((4, 3, 3))))))
    assert operators(integerize(graph)) == ["dequantize", "conv", "quantize"]
