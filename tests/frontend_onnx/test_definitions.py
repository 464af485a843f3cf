"""Corners of operators where runtimes differ or arithmetic breaks: what the text says, evaluated and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import Range, import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import model, run, run_compiled, value

INF = np.inf
HALF = TensorProto.FLOAT16


def both(proto: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The first output, evaluated and compiled."""
    return [run(proto, feeds)[0], run_compiled(proto, feeds)[0]]  # type: ignore[arg-type]


def resize(x: np.ndarray, scale: float, **attributes: object) -> list[np.ndarray]:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    proto = model([node], [value("x", [1, 1, x.size])], ["y"], {"scales": np.array([1, 1, scale], np.float32)})
    return [result.reshape(-1) for result in both(proto, {"x": x.astype(np.float32).reshape(1, 1, -1)})]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_aligned_corners_map_the_last_onto_the_last(mode: str) -> None:
    """Where extent * scale = 6.75 is no whole number."""
    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    for result in resize(x, 1.35, mode=mode, coordinate_transformation_mode="align_corners"):
        assert (result.size, result[0], result[-1]) == (6, 3.0, 5.0)


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("known", ["scales", "shape", "range"])
def test_the_nearest_is_that_of_float32(mode: str, known: str) -> None:
    """As ONNX Runtime and PyTorch have it, also by scales that float32 has not: a tenth makes element 10 the second."""
    extent, factors = 60, value("scales", [1])
    for scale in (1 / 3, 0.1, 0.2, 0.3, 0.6, 0.7, 1.4, 1.8):
        node = helper.make_node("Resize", ["x", "", "scales"], ["y"], coordinate_transformation_mode=mode, axes=[0])
        node.attribute.append(helper.make_attribute("nearest_mode", "floor"))
        x, scales = np.arange(extent, dtype=np.float32), np.array([scale], np.float32)
        if known == "shape":
            proto, feeds = model([node], [value("x", [extent]), factors], ["y"]), {"x": x, "scales": scales}
            proto.graph.output[0].CopyFrom(value("y", [int(np.float32(extent) * scales[0])]))
        else:
            proto, feeds = model([node], [value("x", ["n"])], ["y"], {"scales": scales}), {"x": x}
        dims = {"n": Range(extent - 1, extent)} if known == "range" else {"n": extent} if known == "scales" else {}
        compiled = JitModel(lower_graph(optimize(import_model(proto, dims)), host_machine()))
        np.testing.assert_array_equal(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0])


def test_one_element_by_cubic_interpolation_is_the_first() -> None:
    """pytorch_half_pixel: x_original = length_resized > 1 ? ... : 0."""
    for result in resize(
        np.array([3.0, 1.0, 4.0, 1.0]), 0.4, mode="cubic", coordinate_transformation_mode="pytorch_half_pixel"
    ):
        np.testing.assert_allclose(result, [3.0], rtol=1e-6)


@pytest.mark.parametrize("scales", ["initializer", "input"])
def test_interpolation_of_half_floats_rounds_once(scales: str) -> None:
    """The weights in the middle of two elements are -3/32, 19/32, 19/32 and -3/32; the first element counts twice."""
    x = np.array([2.45, -2.646, -1.895], np.float16)
    wanted = np.float16(np.array([-3, 19, 19, -3]) / 32 @ x.astype(float)[[0, 0, 1, 2]])
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="cubic")
    factors = np.array([0.5], np.float32)
    node.attribute.append(helper.make_attribute("axes", [0]))
    if scales == "initializer":
        proto, feeds = model([node], [value("x", [3], HALF)], ["y"], {"scales": factors}), {"x": x}
    else:
        inputs = [value("x", [3], HALF), value("scales", [1])]
        proto, feeds = model([node], inputs, ["y"]), {"x": x, "scales": factors}
        proto.graph.output[0].CopyFrom(value("y", [1], HALF))
    for (result,) in both(proto, feeds):
        assert result == wanted


def test_log_of_sums_of_infinities() -> None:
    node = helper.make_node("ReduceLogSumExp", ["x"], ["y"], axes=[1], keepdims=0)
    x = np.array([[INF, 1], [-INF, -INF], [-INF, 2], [INF, -INF], [np.nan, 0]], np.float32)
    for result in both(model([node], [value("x", [5, 2])], ["y"], opset=13), {"x": x}):
        np.testing.assert_allclose(result, [INF, -INF, 2, INF, np.nan], rtol=1e-6)


@pytest.mark.parametrize("op, attributes", [
    ("GlobalLpPool", {}), ("LpPool", {"kernel_shape": [4]}), ("LpPool", {"kernel_shape": [4], "p": 3}),
    ("ReduceL2", {}),
])  # fmt: skip
def test_norms_of_half_floats_do_not_overflow(op: str, attributes: dict[str, object]) -> None:
    """The squares of 1000 do."""
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    norm = 1000 * 4 ** (1 / int(attributes.get("p", 2)))  # type: ignore[call-overload]
    proto = model([node], [value("x", [1, 1, 4], HALF)], ["y"])
    for result in both(proto, {"x": np.full((1, 1, 4), 1000, np.float16)}):
        assert result.dtype == np.float16
        np.testing.assert_allclose(result.reshape(-1), [norm], rtol=1e-3)


def test_lp_pool_beyond_the_padding() -> None:
    """What ceil_mode adds is padding, of zeros."""
    node = helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[3], strides=[2], ceil_mode=1, p=1)
    for result in both(model([node], [value("x", [1, 1, 6])], ["y"]), {"x": np.ones((1, 1, 6), np.float32)}):
        assert result.reshape(-1).tolist() == [3, 3, 2]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_any_count(dtype: type, direction: str) -> None:
    """By a negative count, or all bits and more, the fill of sign bits is left."""
    bits, limits = np.dtype(dtype).itemsize * 8, np.iinfo(dtype)
    counts = [c for c in (-128, -bits, -1, 0, 1, bits - 1, bits, bits + 1, 100) if limits.min <= c <= limits.max]
    grid = np.meshgrid(np.array([limits.min, 0, 5, limits.max], dtype), np.array(counts, dtype))
    x, y = (axis.reshape(-1) for axis in grid)
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("BitShift", ["x", "n"], ["y"], direction=direction)
    proto = model([node], [value("x", x.shape, elem), value("n", y.shape, elem)], ["y"], opset=28)
    wrap = 1 << bits
    exact = [_shifted(int(a), int(n), bits, direction) % wrap for a, n in zip(x, y)]
    expected = [code - wrap if limits.min < 0 and code >= wrap // 2 else code for code in exact]
    for result in both(proto, {"x": x, "n": y}):
        assert result.tolist() == expected


def _shifted(x: int, count: int, bits: int, direction: str) -> int:
    if not 0 <= count < bits:
        return -1 if x < 0 and direction == "RIGHT" else 0
    return x << count if direction == "LEFT" else x >> count


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_sign_of_a_remainder_of_zero(fmod: int, dtype: type) -> None:
    """fmod: that of the dividend, as in C; otherwise that of the divisor, as in Python."""
    x, y = np.array([-4, 4, -4, 4, -0.0, 0.0, -5], dtype), np.array([2, 2, -2, -2, 2, -2, 3], dtype)
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("Mod", ["x", "d"], ["y"], fmod=fmod)
    proto = model([node], [value("x", [7], elem), value("d", [7], elem)], ["y"], opset=28)
    negative = np.signbit(x if fmod else y)
    for result in both(proto, {"x": x, "d": y}):
        assert (np.signbit(result) == negative).all()


def test_softplus_of_what_is_far_below_zero() -> None:
    """log(1 + e^x) loses the last digits of e^x where 1 + e^x is rounded."""
    x = np.array([-9, -12, -20, -80, 0, 3, 60], np.float32)
    proto = model([helper.make_node("Softplus", ["x"], ["y"])], [value("x", [7])], ["y"])
    for result in both(proto, {"x": x}):
        np.testing.assert_allclose(result, np.log1p(np.exp(x.astype(np.float64))), rtol=4e-7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,ij->i", "ij,jk->"])
def test_contractions_of_integers_keep_their_type(dtype: type, equation: str) -> None:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = np.arange(9).reshape(3, 3).astype(dtype)
    node = helper.make_node("Einsum", ["x", "y"], ["z"], equation=equation)
    for result in both(model([node], [value("x", [3, 3], kind), value("y", [3, 3], kind)], ["z"]), {"x": x, "y": x}):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.einsum(equation, x, x))


def test_norm_of_integers_whose_squares_overflow() -> None:
    node = helper.make_node("ReduceL2", ["x"], ["y"], axes=[0], keepdims=0)
    proto = model([node], [value("x", [2], TensorProto.INT32)], ["y"], opset=13)
    for result in both(proto, {"x": np.array([300_000, 400_000], np.int32)}):
        assert result == 500_000


@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 2e-3), (np.float32, 1e-6), (np.float64, 1e-12)])
def test_mean_variance_normalization_of_all_floats(dtype: type, tolerance: float) -> None:
    """Squares of these, subtracted from each other, would lose all of the variance in float32."""
    x = (100 + np.random.default_rng(0).standard_normal((2, 3, 4, 4))).astype(dtype)
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    exact = x.astype(np.float64)
    wanted = (exact - exact.mean((0, 2, 3), keepdims=True)) / exact.std((0, 2, 3), keepdims=True)
    for result in both(model([node], [value("x", x.shape, kind)], ["y"]), {"x": x}):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, wanted, atol=max(tolerance, 100 * float(np.finfo(dtype).eps)))


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("size", [(1, 2, 3, 4), (2, 1, 3, 2), (1, 1, 2, 3, 4)])
def test_affine_grid_of_a_batch_of_one(size: tuple[int, ...], align: int) -> None:
    spatial = len(size) - 2
    theta = np.random.default_rng(1).standard_normal((size[0], spatial, spatial + 1)).astype(np.float32)
    node = helper.make_node("AffineGrid", ["theta", "size"], ["y"], align_corners=align)
    proto = model([node], [value("theta", theta.shape)], ["y"], {"size": np.array(size)}, 20)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"theta": theta})
    for result in both(proto, {"theta": theta}):
        np.testing.assert_allclose(result, wanted, atol=2e-6)


def test_division_by_scales_in_half_floats() -> None:
    """-2.182 / 0.03436 is -63.488 in float32, and -63.5 in float16: a tie, which goes to -64."""
    constants = {"s": np.array(0.03436, np.float16), "z": np.array(131, np.uint8)}
    for opset, wanted in ((21, 68), (23, 67)):
        proto = model([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])], [value("x", [1], HALF)], ["y"],
                      constants, opset)  # fmt: skip
        for result in both(proto, {"x": np.array([-2.182], np.float16)}):
            assert result == wanted


def test_erf_of_integers() -> None:
    """Operator set 9 allows them; results are cut off towards 0."""
    proto = model([helper.make_node("Erf", ["x"], ["y"])], [value("x", [3], TensorProto.INT32)], ["y"], opset=9)
    for result in both(proto, {"x": np.array([-9, 0, 1], np.int32)}):
        np.testing.assert_array_equal(result, [-1, 0, 0])


def test_an_output_without_elements_that_is_quantized_along_an_axis() -> None:
    constants = {"s": np.array([0.5, 0.25], np.float32), "z": np.array([1, 2], np.int8)}
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=1)
    for result in both(model([node], [value("x", [0, 2])], ["y"], constants), {"x": np.zeros((0, 2), np.float32)}):
        assert (result.dtype, result.shape) == (np.int8, (0, 2))


def test_a_transposed_constant_without_dimensions_is_an_output() -> None:
    node = helper.make_node("Transpose", ["c"], ["y"])
    for result in both(model([node], [value("x", [1])], ["y"], {"c": np.array(3.0, np.float32)}),
                       {"x": np.zeros(1, np.float32)}):  # fmt: skip
        assert (result.shape, float(result.reshape(()))) == ((), 3.0)


def test_blocks_of_a_vector() -> None:
    constants = {"s": np.array([0.5, 2.0], np.float32), "z": np.array([1, -1], np.int8)}
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=0, block_size=2)
    for result in both(model([node], [value("x", [3])], ["y"], constants), {"x": np.array([1, 2, 6], np.float32)}):
        np.testing.assert_array_equal(result, [3, 5, 2])


def test_local_response_of_half_floats_does_not_overflow() -> None:
    """300 / (1 + 1 * 300^2 / 1)^0.5, whose square is above 65504."""
    node = helper.make_node("LRN", ["x"], ["y"], size=1, alpha=1.0, beta=0.5, bias=1.0)
    proto = model([node], [value("x", [1, 1, 2], HALF)], ["y"])
    for result in both(proto, {"x": np.array([[[300, -2]]], np.float16)}):
        np.testing.assert_allclose(result, [[[1.0, -2 / 5**0.5]]], rtol=2e-3)


@pytest.mark.parametrize("p, expected", [(1, 0.25), (2, 0.5)])
def test_normalization_of_half_floats_by_their_norm_does_not_overflow(p: int, expected: float) -> None:
    node = helper.make_node("LpNormalization", ["x"], ["y"], p=p)
    for result in both(model([node], [value("x", [4], HALF)], ["y"]), {"x": np.full(4, 3e4, np.float16)}):
        np.testing.assert_allclose(result, np.full(4, expected), rtol=2e-3)


def test_hardmax_of_nothing_is_nothing() -> None:
    proto = model([helper.make_node("Hardmax", ["x"], ["y"], axis=0)], [value("x", [0, 3])], ["y"])
    for result in both(proto, {"x": np.zeros((0, 3), np.float32)}):
        assert result.shape == (0, 3)


@pytest.mark.parametrize("mode", ["wrap", "reflect"])
@pytest.mark.parametrize("extent", [1, 2, 3])
@pytest.mark.parametrize("pads", [[1, 0], [0, 1], [2, 2], [5, 7], [0, 9]])
def test_padding_may_go_round_several_times(mode: str, extent: int, pads: list[int]) -> None:
    node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
    proto = model([node], [value("x", [extent])], ["y"], {"pads": np.array(pads)}, opset=19)
    x = np.arange(1, extent + 1, dtype=np.float32)
    for result in both(proto, {"x": x}):
        np.testing.assert_array_equal(result, np.pad(x, pads, mode=mode))  # type: ignore[call-overload]


def test_one_row_of_wrapped_padding() -> None:
    """Only an element of the padding is left, at an index that is known when the kernel is made."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["padded"], mode="wrap"),
        helper.make_node("Slice", ["padded", "zero", "one"], ["y"]),
    ]
    constants = {"pads": np.array([1, 0]), "zero": np.array([0]), "one": np.array([1])}
    for result in both(model(nodes, [value("x", [2])], ["y"], constants, opset=19), {"x": np.array([3, 8], "f")}):
        np.testing.assert_array_equal(result, [8])


def test_mean_of_integers_whose_sum_overflows() -> None:
    node = helper.make_node("ReduceMean", ["x"], ["y"], keepdims=0)
    proto = model([node], [value("x", [2], TensorProto.UINT32)], ["y"])
    for result in both(proto, {"x": np.array([2**32 - 1, 2**32 - 3], np.uint32)}):
        assert result == 2**32 - 2


@pytest.mark.parametrize("output_shape", [[2, 1], [5, 2]])
def test_transposed_convolution_to_less_than_its_input(output_shape: list[int]) -> None:
    """Where ONNX's shape inference stops in the middle of the dimensions."""
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], output_shape=output_shape, strides=[1, 1])
    weights = {"w": np.ones((1, 1, 3, 3), np.float32)}
    proto = model([node], [value("x", [1, 1, 4, 3])], ["y"], weights)
    for result in both(proto, {"x": np.ones((1, 1, 4, 3), np.float32)}):
        assert result.shape == (1, 1, *output_shape)


def test_many_operands_of_a_concat_that_another_view_reads() -> None:
    """A choice among 300 operands at each element would be an expression 300 deep."""
    count = 300
    nodes = [
        helper.make_node("Concat", ["x"] * count, ["c"], axis=0),
        helper.make_node("Reshape", ["c", "shape"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
        helper.make_node("Exp", ["t"], ["y"]),
    ]
    proto = model(nodes, [value("x", [2])], ["y"], {"shape": np.array([count, 2])})
    for result in both(proto, {"x": np.array([0, 1], np.float32)}):
        np.testing.assert_allclose(result, np.repeat([[1.0], [np.e]], count, axis=1), rtol=1e-6)


@pytest.mark.parametrize("op, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_a_sequence_without_steps_leaves_the_state_as_it_is(op: str, gates: int) -> None:
    names = ["y", "y_h", "y_c"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(op, ["x", "w", "r", "", "", "h"], names, hidden_size=2)
    weights = {"w": np.ones((1, 2 * gates, 3), np.float32), "r": np.ones((1, 2 * gates, 2), np.float32)}
    proto = model([node], [value("x", [0, 1, 3]), value("h", [1, 1, 2])], names, weights)
    feeds = {"x": np.zeros((0, 1, 3), np.float32), "h": np.array([[[0.25, -1]]], np.float32)}
    for found in (run(proto, feeds), run_compiled(proto, feeds)):
        assert found[0].shape == (0, 1, 1, 2)
        np.testing.assert_array_equal(found[1], feeds["h"])
        assert all(not state.any() for state in found[2:])


def test_a_condition_longer_than_what_is_compressed_ends_with_false() -> None:
    node = helper.make_node("Compress", ["v", "c"], ["y"], axis=0)
    constants = {"v": np.array([3.0, 4.0], np.float32), "c": np.array([False, True, False])}
    add = helper.make_node("Add", ["x", "y"], ["z"])
    for result in both(model([node, add], [value("x", [1])], ["z"], constants), {"x": np.ones(1, np.float32)}):
        np.testing.assert_array_equal(result, [5])
