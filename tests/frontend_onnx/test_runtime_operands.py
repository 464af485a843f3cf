"""Operands that decide about a result's shape and are computed at run time, compiled, where the shape is declared."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from onnx import helper

from tests.frontend_onnx.compiled import check_compiled, compiled, crossed, onnxruntime, reference
from tests.frontend_onnx.graphs import model, one_node, value
from tests.frontend_onnx.runtime import check_runtime, declared, with_outputs


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    found = np.random.default_rng(list(shape)).standard_normal(shape) * 3
    return found.astype(dtype)


X = numbers(2, 3, 4)
INTS = numbers(2, 3, 4, dtype=np.int32)


def i64(*entries: int) -> np.ndarray:
    return np.array(entries, np.int64)


# ---------------------------------------------------------------- values that the shape tells


@pytest.mark.parametrize(
    ("op_type", "opset", "arrays", "attrs"),
    [
        ("Reshape", 21, [X, i64(-1, 6)], {}),
        ("Reshape", 21, [INTS, i64(0, 2, -1)], {}),
        ("Reshape", 21, [np.zeros((0, 3), np.float32), i64(3, 0)], {"allowzero": 1}),
        ("Reshape", 21, [np.zeros((0, 3), np.float32), i64(0, 5)], {}),
        ("Expand", 13, [X, i64(5, 1, 3, 4)], {}),
        ("Expand", 13, [numbers(3, 1), i64(1, 4)], {}),
        ("Tile", 13, [X, i64(2, 1, 3)], {}),
        ("Tile", 13, [X, i64(2, 0, 3)], {}),
        ("Unsqueeze", 13, [X, i64(-1, 1)], {}),
        ("Squeeze", 13, [numbers(1, 3, 1, 2), i64(2, 0)], {}),
        ("Squeeze", 13, [numbers(1, 3, 1, 2), i64(-2)], {}),
        ("Split", 18, [X, i64(1, 0, 3)], {"axis": 2, "outputs": 3}),
        ("TopK", 11, [X, i64(2)], {"axis": 1, "outputs": 2}),
        ("OneHot", 11, [i64(1, -1, 7), np.int64(5), np.float32([2, 3])], {}),
        ("ReduceSum", 13, [X, i64(-1, 0)], {}),
        ("ReduceSum", 13, [INTS, i64(1)], {}),
        ("ReduceMean", 18, [X, i64(1, 2)], {}),
        ("ReduceLogSum", 18, [np.abs(numbers(1, 3, 4)), i64(1)], {}),
        ("ReduceL2", 18, [numbers(1, 3, 1), i64(0)], {}),
        ("ReduceProd", 18, [numbers(2, 0, 4), i64(1)], {}),
    ],
)
def test_values_that_the_shape_tells(op_type: str, opset: int, arrays: list[np.ndarray], attrs: dict[str, Any]) -> None:
    proto, feeds = one_node(op_type, arrays, opset, **attrs)
    check_compiled(declared(proto, feeds), feeds)


def test_between_others() -> None:
    check_runtime("ReduceSum", [numbers(3, 4, 3), i64(-2)], 13)
    check_runtime("Tile", [numbers(3, 3), i64(2, 3)], 13)
    check_runtime("Expand", [numbers(3, 3), i64(2, 3, 3)], 13)


def test_constant_of_shape_and_windows() -> None:
    fill = helper.make_tensor("value", 7, [1], [9])
    for op_type, operand, attrs in (
        ("ConstantOfShape", i64(2, 3), {"value": fill}),
        ("HannWindow", np.int64(7), {}),
        ("HammingWindow", np.int64(6), {"periodic": 0}),
    ):
        proto, feeds = one_node(op_type, [operand], 20, **attrs)
        check_compiled(declared(proto, feeds), feeds)


def test_what_is_not_read_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    proto, feeds = one_node("Reshape", [X, i64(6, 4)], 21)
    with caplog.at_level(logging.INFO, "ccml"):
        import_model(declared(proto, feeds))
    assert "x1 is [6, 4] by the declared shape of the output; it is not read" in caplog.text


# ---------------------------------------------------------------- few candidates


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (-1,), (-3,)])
def test_reduce_without_kept_dimensions(axes: tuple[int, ...]) -> None:
    """All dimensions are equal: only the operand's value tells the axis."""
    for op_type, opset in (("ReduceSum", 13), ("ReduceMax", 18), ("ReduceLogSumExp", 18)):
        check_runtime(op_type, [numbers(3, 3, 3), i64(*axes)], opset, keepdims=0)
    check_runtime("ReduceMin", [numbers(3, 3, 3, dtype=np.int32), i64(*axes)], 18, keepdims=0)


@pytest.mark.parametrize("axes", [(0, 1), (2, 0), (-1, 1), (-1, 0)])
def test_reduce_over_two_axes(axes: tuple[int, int]) -> None:
    check_runtime("ReduceSum", [numbers(3, 3, 3), i64(*axes)], 13, keepdims=0)
    proto, feeds = one_node("ReduceSum", [numbers(3, 1, 3, 1), i64(*axes)], 13, keepdims=0)
    check_compiled(declared(proto, feeds), feeds)


@pytest.mark.parametrize("op_type", ["CumSum", "CumProd"])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_cumulative(op_type: str, axis: int) -> None:
    opset, x = 14 if op_type == "CumSum" else 26, numbers(3, 3)
    check_runtime(op_type, [x, np.int32(axis)], opset, exclusive=1)
    check_runtime(op_type, [x.astype(np.int64), np.int64(axis)], opset, reverse=1)


@pytest.mark.parametrize("axes", [7, -9, 2**62])
def test_axes_out_of_range_read_nothing_outside(axes: int) -> None:
    x = numbers(3, 3)
    proto, feeds = one_node("ReduceSum", [x, i64(0)], 13, keepdims=0)
    (result,) = compiled(declared(proto, feeds), {"x0": x, "x1": i64(axes)})
    assert any(np.allclose(result, x.sum(axis)) for axis in (0, 1))


@pytest.mark.parametrize("axis", [1, -2, 2])
def test_dft(axis: int) -> None:
    x = numbers(1, 6, 6, 1)
    proto, feeds = one_node("DFT", [x, None, np.int64(axis)], 20)
    check_compiled(declared(proto, feeds), feeds, atol=1e-4)
    for length in (6, 7):
        proto, feeds = one_node("DFT", [x, np.int64(length), np.int64(1)], 20, [2], onesided=1)
        check_compiled(declared(proto, feeds), feeds, atol=1e-4)


@pytest.mark.parametrize("length", [8, 9])
def test_stft(length: int) -> None:
    x = numbers(1, 40, 1)
    proto, feeds = one_node("STFT", [x, np.int64(7), None, np.int64(length)], 17)
    check_compiled(declared(proto, feeds), feeds, atol=1e-4)
    proto, feeds = one_node("STFT", [x, np.int64(7), numbers(length), None], 17)
    check_compiled(declared(proto, feeds), feeds, atol=1e-4)


@pytest.mark.parametrize("block", [(1, 4), (2, 2), (4, 1)])
def test_col2im(block: tuple[int, int]) -> None:
    """Blocks of four elements, of which nine lie in the image."""
    pads = {"pads": [0, 0, 0, 0]}
    image = (3 + block[0] - 1, 3 + block[1] - 1)
    proto, feeds = one_node("Col2Im", [numbers(1, 8, 9), i64(*image), i64(*block)], 18, **pads)
    check_compiled(declared(proto, feeds), feeds)


# ---------------------------------------------------------------- arithmetic on the value


@pytest.mark.parametrize(
    ("start", "limit", "delta"),
    [
        (np.int64(3), np.int64(10), np.int64(2)),
        (np.int32(3), np.int32(-10), np.int32(-4)),
        (np.float32(0.5), np.float32(4.2), np.float32(0.75)),
        (np.float64(1), np.float64(1), np.float64(0.75)),
    ],
)
def test_range(start: np.generic, limit: np.generic, delta: np.generic) -> None:
    proto, feeds = one_node("Range", [start, limit, delta], 11)
    check_compiled(declared(proto, feeds), feeds, onnxruntime)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [0, 1, -2, 3, 9, -9, 2**62, -(2**63)])
def test_trilu(k: int, upper: int) -> None:
    """onnx.reference passes k to NumPy, which is slow beyond the matrix."""
    near = int(np.clip(k, -9, 9))
    proto, feeds = crossed("Trilu", [numbers(4, 4), np.int64(k)], 14, upper=upper)
    named = declared(proto, {**feeds, "x1": np.asarray(np.int64(near))})
    check_compiled(named, feeds, lambda proto, feeds: reference(proto, {**feeds, "x1": np.asarray(np.int64(near))}))
    proto, feeds = one_node("Trilu", [numbers(2, 3, 4) > 0, np.int64(near)], 14, upper=upper)
    check_compiled(declared(proto, feeds), feeds)


SLICES = [
    ((0, 1), (2, 3), None, None),
    ((-2, -100), (100, 2), None, None),
    ((1, 0), (4, 3), (2, 0), None),
    ((-1,), (-100,), (1,), (-1,)),
    ((100, 1), (-100, 4), (-1, -2), (-2, 3)),
    ((1,), (1,), (0,), None),
    ((0, 0), (2**62, 2**62), None, (2**40, 2**62)),
]


@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
def test_slice(starts: Any, ends: Any, axes: Any, steps: Any) -> None:
    operands = [None if entries is None else i64(*entries) for entries in (starts, ends, axes, steps)]
    while operands[-1] is None:
        operands.pop()
    for x in (numbers(4, 3, 4), numbers(4, 3, 4, dtype=np.int32)):
        for frozen in ((), (3, 4)):
            proto, feeds = one_node("Slice", [x, *operands], 13, frozen)
            check_compiled(declared(proto, feeds), feeds, onnxruntime)


def test_slice_between_others() -> None:
    check_runtime("Slice", [numbers(4, 4), i64(1), i64(3), i64(0)], 13, oracle=onnxruntime)
    check_runtime("Slice", [numbers(4, 4), i64(1), i64(3), i64(0)], 13, [3], oracle=onnxruntime)


@pytest.mark.parametrize("start", [99, -99, -(2**63), 2**63 - 1])
def test_slices_stay_within_the_tensor(start: int) -> None:
    x = numbers(4, 3)
    proto, feeds = one_node("Slice", [x, i64(0), i64(2), i64(0)], 13, [3])
    (result,) = compiled(declared(proto, feeds), {"x0": x, "x1": i64(start), "x2": i64(2)})
    assert all(any((row == other).all() for other in x) for row in result)


PADS = [
    (0, 1, 2, 0),
    (1, 0, 1, 2),
    (-1, 2, 1, -1),
    (-1, -1, 0, 0),
    (2, -1, -1, 1),
]


@pytest.mark.parametrize("pads", PADS)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad(pads: tuple[int, ...], mode: str) -> None:
    fill = np.float32(1.5) if mode == "constant" else None
    check_runtime("Pad", [numbers(4, 4), i64(*pads), fill], 19, oracle=onnxruntime, mode=mode)
    value = np.int32(7) if mode == "constant" else None
    proto, feeds = one_node("Pad", [numbers(4, 5, dtype=np.int32), i64(*pads), value], 19, mode=mode)
    check_compiled(declared(proto, feeds, onnxruntime), feeds, onnxruntime)


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_pad_of_some_axes(mode: str) -> None:
    arrays = [X, i64(1, 2, 0, 1), None, i64(2, -2)]
    for frozen in ((), (3,), (1,)):
        proto, feeds = one_node("Pad", arrays, 19, frozen, mode=mode)
        check_compiled(declared(proto, feeds), feeds)


def test_pad_of_nothing_and_with_a_value_only() -> None:
    proto, feeds = one_node("Pad", [np.zeros((0, 2), np.float32), i64(1, 0, 1, 1), np.float32(4)], 19)
    check_compiled(declared(proto, feeds), feeds)
    proto, feeds = one_node("Pad", [X, i64(0, 1, 0, 0, 0, 2), np.float32(4)], 19, [1])
    check_compiled(declared(proto, feeds), feeds)


@pytest.mark.parametrize("amount", [2**62, -(2**62)])
def test_pads_that_contradict_the_shape_stay_within_the_tensor(amount: int) -> None:
    for mode in ("constant", "edge", "reflect", "wrap"):
        proto, feeds = one_node("Pad", [X[0], i64(1, 0, 0, 1)], 19, mode=mode)
        (result,) = compiled(declared(proto, feeds), {"x0": X[0], "x1": i64(amount, amount, amount, amount)})
        assert np.isin(result, [*X[0].reshape(-1), 0]).all()


# ---------------------------------------------------------------- where shapes come from


def test_shape_behind_operators_that_keep_it() -> None:
    """Only the model's output is declared, three nodes further on."""
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("ReduceSum", ["a", "axes"], ["b"], keepdims=0),
        helper.make_node("Sqrt", ["b"], ["c"]),
        helper.make_node("Mul", ["two", "c"], ["y"]),
    ]
    proto = model(nodes, [value("x", (3, 3)), value("axes", (1,), 7)], ["y"], {"two": np.float32(2)}, 13)
    proto.graph.output[0].CopyFrom(value("y", (3,)))
    for axis in (0, -1):
        check_compiled(proto, {"x": numbers(3, 3), "axes": i64(axis)})


def test_shape_by_a_symbolic_dimension() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    proto = model(nodes, [value("x", ("batch", 4)), value("shape", (2,), 7)], ["y"])
    proto.graph.output[0].CopyFrom(value("y", ("batch", None)))
    assert import_model(proto, dims={"batch": 2}).outputs[0].shape == (2, 4)


def test_shape_of_a_function_result() -> None:
    """The result of a call has a declared shape; inside, its name is another."""
    body = [helper.make_node("Reshape", ["a", "b"], ["c"]), helper.make_node("Neg", ["c"], ["d"])]
    function = helper.make_function("own", "F", ["a", "b"], ["d"], body, [helper.make_opsetid("", 21)])
    nodes = [helper.make_node("F", ["x", "shape"], ["y"], domain="own")]
    inputs = [value("x", (2, 6)), value("shape", (2,), 7)]
    proto = model(nodes, inputs, ["y"], functions=[function], domains={"own": 1})
    proto.graph.output[0].CopyFrom(value("y", (3, 4)))
    check_compiled(proto, {"x": numbers(2, 6), "shape": i64(3, 4)})


# ---------------------------------------------------------------- errors


def test_unknown_shapes_are_refused_with_a_way_out() -> None:
    for op_type, arrays in (("Reshape", [X, i64(4, 6)]), ("Pad", [X, i64(*[1] * 6)]), ("ReduceSum", [X, i64(1)])):
        proto, _ = one_node(op_type, arrays, 13)
        with pytest.raises(CcmlError) as caught:
            import_model(proto)
        error = caught.value
        assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and error.loc == f"{op_type}_0"
        assert "is computed at run time (operand x1), and the shape of y0 is not known" in error.reason
        assert error.hint is not None and "--dim" in error.hint and "value_info" in error.hint


@pytest.mark.parametrize(
    ("op_type", "arrays", "shape"),
    [
        ("Reshape", [X, i64(4, 6)], (5, 5)),
        ("Tile", [X, i64(1, 1, 1)], (3, 3, 4)),
        ("Squeeze", [numbers(1, 3), i64(0)], (4,)),
        ("Unsqueeze", [X, i64(0)], (1, 1, 2, 3, 4)),
        ("Slice", [X, i64(0), i64(1)], (3, 3, 4)),
        ("Slice", [X, i64(0), i64(1), i64(0)], (2, 3)),
        ("Pad", [X, i64(*[1] * 6)], (3, 3)),
        ("ReduceSum", [X, i64(0)], (2, 3, 4)),
    ],
)
def test_shapes_that_cannot_be_are_refused(op_type: str, arrays: list[np.ndarray], shape: tuple[int, ...]) -> None:
    proto, _ = one_node(op_type, arrays, 13)
    proto.graph.output[0].CopyFrom(value("y0", shape))
    with pytest.raises(CcmlError) as caught:
        import_model(proto)
    assert caught.value.kind in (ErrorCode.INVALID_MODEL, ErrorCode.SHAPE_MISMATCH, ErrorCode.UNSUPPORTED_FEATURE)


# ---------------------------------------------------------------- Resize


@pytest.mark.parametrize(
    ("scales", "attrs"),
    [
        ((1.0, 2.6), {"mode": "nearest"}),
        ((0.6, 1.5), {"mode": "nearest", "nearest_mode": "ceil", "coordinate_transformation_mode": "asymmetric"}),
        ((1.5, 0.7), {"mode": "linear"}),
        ((2.0, 0.6), {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}),
        ((0.6, 0.8), {"mode": "linear", "antialias": 1}),
        ((1.7, 0.8), {"mode": "cubic", "exclude_outside": 1}),
        ((2.0, 3.0), {"mode": "cubic", "coordinate_transformation_mode": "align_corners", "cubic_coeff_a": -0.5}),
    ],
)
def test_resize_by_scales(scales: tuple[float, float], attrs: dict[str, Any]) -> None:
    """As with the same scales as constants, which other tests compare with the definition."""
    arrays = [numbers(4, 4), None, np.float32(scales)]
    proto, feeds = crossed("Resize", arrays, 19, **attrs)
    constant, fed = crossed("Resize", arrays, 19, [2], **attrs)
    by_constants = lambda proto, feeds: compiled(with_outputs(constant, proto.graph.output), fed)  # noqa: E731
    check_compiled(declared(proto, feeds, by_constants), feeds, by_constants)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_resize_to_sizes(policy: str) -> None:
    for mode in ("nearest", "linear"):
        arrays = [numbers(1, 2, 4, 5), None, None, i64(6, 9)]
        attrs = {"mode": mode, "axes": [2, 3], "keep_aspect_ratio_policy": policy}
        proto, feeds = one_node("Resize", arrays, 19, **attrs)
        check_compiled(declared(proto, feeds), feeds)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_of_a_region(mode: str) -> None:
    roi = np.float32([0.2, -0.3, 0.7, 1.4])
    attrs = {"mode": mode, "axes": [2, 3], "coordinate_transformation_mode": "tf_crop_and_resize"}
    attrs |= {"extrapolation_value": 9.0}
    for frozen in ((), (3,)):
        proto, feeds = one_node("Resize", [numbers(1, 2, 4, 5), roi, None, i64(3, 6)], 19, frozen, **attrs)
        check_compiled(declared(proto, feeds), feeds)


def test_upsample() -> None:
    proto, feeds = one_node("Upsample", [numbers(1, 1, 2, 3), np.float32([1, 1, 2, 3])], 9)
    check_compiled(declared(proto, feeds), feeds)


@pytest.mark.parametrize("scale", [0.0, np.nan, np.inf, -3.0])
def test_scales_that_are_none_read_nothing_outside(scale: float) -> None:
    x = numbers(4, 4)
    for mode in ("nearest", "linear"):
        proto, feeds = one_node("Resize", [x, None, np.float32([2, 2])], 19, mode=mode)
        (result,) = compiled(declared(proto, feeds), {"x0": x, "x2": np.float32([scale, scale])})
        assert result.shape == (8, 8)
        assert mode == "linear" or np.isin(result, x).all()


def test_too_many_candidates_are_refused_at_once() -> None:
    nodes = [helper.make_node("STFT", ["x", "step", "", "length"], ["y"])]
    inputs = [value("x", (1, 1 << 28, 1)), value("step", (), 7)]
    stft = model(nodes, inputs, ["y"], {"length": np.int64(2)}, 17)
    stft.graph.output[0].CopyFrom(value("y", (1, 2, 2, 2)))
    nodes = [helper.make_node("Col2Im", ["x", "image", "block"], ["y"])]
    inputs = [value("x", (1, 1 << 28, 1)), value("image", (2,), 7), value("block", (2,), 7)]
    col2im = model(nodes, inputs, ["y"], None, 18)
    col2im.graph.output[0].CopyFrom(value("y", (1, 1, 1 << 14, 1 << 14)))
    for proto in (stft, col2im):
        with pytest.raises(CcmlError) as caught:
            import_model(proto)
        assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE
