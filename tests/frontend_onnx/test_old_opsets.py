"""Operators as older operator sets define them, against ONNX Runtime, which still runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.frontend_onnx.graphs import Operand, one_node, run

ort = pytest.importorskip("onnxruntime")


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Case:
    """One node of one opset; operands with the ``frozen`` numbers are initializers."""

    op: str
    opset: int
    arrays: Sequence[Operand | None]
    frozen: Sequence[int] = ()
    attrs: dict[str, object] = field(default_factory=dict)


X = floats(2, 3, 4, 6)
IMAGE = floats(1, 2, 5, 7)

CASES = {
    "softmax takes all dimensions from its axis on": Case("Softmax", 11, [X], attrs={"axis": 1}),
    "softmax of the last axis alone": Case("Softmax", 11, [X], attrs={"axis": -1}),
    "softmax with its old default axis": Case("Softmax", 7, [floats(3, 5)]),
    "log softmax over two dimensions": Case("LogSoftmax", 11, [X], attrs={"axis": 2}),
    "hardmax over two dimensions": Case("Hardmax", 11, [X], attrs={"axis": 2}),
    "slice by attributes": Case("Slice", 9, [X], attrs={"axes": [1, 3], "starts": [1, -4], "ends": [9, -1]}),
    "slice by inputs": Case("Slice", 10, [X, ints(3, 5), ints(0, -99), ints(2, 3), ints(-2, -1)], [1, 2, 3, 4]),
    "squeeze by attribute": Case("Squeeze", 11, [floats(1, 3, 1)], attrs={"axes": [0]}),
    "squeeze of all": Case("Squeeze", 11, [floats(1, 3, 1)]),
    "unsqueeze by attribute": Case("Unsqueeze", 11, [floats(3, 4)], attrs={"axes": [0, -1]}),
    "clip by attributes": Case("Clip", 10, [X], attrs={"min": -0.5, "max": 0.25}),
    "clip with one bound": Case("Clip", 11, [X, None, np.float32(0.5)], [2]),
    "clip by bounds computed at run time": Case("Clip", 13, [X, np.float32(-0.25), np.float32(0.5)]),
    "upsample by attribute": Case("Upsample", 7, [IMAGE], attrs={"scales": [1.0, 1.0, 2.0, 3.0]}),
    "upsample by input": Case("Upsample", 9, [IMAGE, np.array([1, 1, 2, 2], np.float32)], [1], {"mode": "linear"}),
    "resize of opset 10": Case("Resize", 10, [IMAGE, np.array([1, 1, 2.5, 0.5], np.float32)], [1]),
    "resize of opset 10, linear": Case(
        "Resize", 10, [IMAGE, np.array([1, 1, 2.5, 1.5], np.float32)], [1], {"mode": "linear"}
    ),
    "resize of opset 11": Case(
        "Resize", 11, [IMAGE, np.array([], np.float32), np.array([], np.float32), ints(1, 2, 8, 3)], [1, 2, 3],
        {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
    ),
    "split by attribute": Case("Split", 11, [X], attrs={"axis": 3, "split": [1, 3, 2], "outputs": 3}),
    "split in equal parts": Case("Split", 11, [X], attrs={"axis": -1, "outputs": 3}),
    "pad by attribute": Case("Pad", 10, [IMAGE], attrs={"pads": [0, 0, 1, -2, 0, 0, 2, 1], "value": 1.5}),
    "pad by input, reflecting": Case("Pad", 11, [IMAGE, ints(0, 0, 2, 3, 0, 0, 4, 0)], [1], {"mode": "reflect"}),
    "batch normalization of opset 7": Case(
        "BatchNormalization", 7, [IMAGE, floats(2), floats(2), floats(2), np.abs(floats(2))], [1, 2, 3, 4],
        {"epsilon": 1e-2, "momentum": 0.5},
    ),
    "batch normalization with computed parameters": Case(
        "BatchNormalization", 15, [IMAGE, floats(2), floats(2), floats(2), np.abs(floats(2))]
    ),
    "dropout with its ratio as an attribute": Case("Dropout", 7, [X], attrs={"ratio": 0.5}),
    "reduce by attribute": Case("ReduceSum", 11, [X], attrs={"axes": [1, -1], "keepdims": 0}),
    "reduce over all": Case("ReduceMean", 13, [X], attrs={"keepdims": 0}),
    "reduce by input over nothing": Case("ReduceSum", 13, [X, ints()], [1], {"noop_with_empty_axes": 1}),
    "reduce by input over something": Case("ReduceSum", 13, [X, ints(1)], [1], {"noop_with_empty_axes": 1}),
    "top of a reduction": Case("ReduceL2", 11, [X], attrs={"axes": [2]}),
    "gemm of opset 7": Case(
        "Gemm", 7, [floats(4, 3), floats(5, 4), floats(5)], [1, 2],
        {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0},
    ),
    "gemm of computed operands": Case("Gemm", 13, [floats(3, 4), floats(4, 5), floats(3, 1)], [], {"alpha": 0.5}),
    "group normalization with one scale a group": Case(
        "GroupNormalization", 18, [floats(2, 4, 3, 3), floats(2), floats(2, seed=1)], [1, 2], {"num_groups": 2}
    ),
    "average pool, upper padding": Case(
        "AveragePool", 7, [IMAGE], attrs={"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}
    ),
    "average pool, rounding up": Case(
        "AveragePool", 19, [IMAGE],
        attrs={"kernel_shape": [3, 3], "strides": [3, 2], "pads": [1, 1, 0, 1], "ceil_mode": 1, "count_include_pad": 1},
    ),
    "max pool, rounding up, dilated": Case(
        "MaxPool", 12, [IMAGE], attrs={"kernel_shape": [2, 2], "strides": [2, 2], "dilations": [2, 1], "ceil_mode": 1}
    ),
    "local response normalization": Case("LRN", 13, [floats(1, 6, 3, 3)], attrs={"size": 5, "bias": 1.5, "alpha": 0.1}),
    "transposed convolution to a given shape": Case(
        "ConvTranspose", 11, [floats(1, 2, 4, 4), floats(2, 3, 3, 3), floats(3)], [1, 2],
        {"strides": [2, 3], "output_shape": [9, 11]},
    ),
    "transposed convolution, same": Case(
        "ConvTranspose", 11, [floats(1, 4, 5, 4), floats(4, 1, 3, 4)], [1],
        {"strides": [2, 2], "auto_pad": "SAME_UPPER", "group": 2},
    ),
    "convolution in groups over one dimension": Case(
        "Conv", 11, [floats(2, 4, 9), floats(6, 2, 3), floats(6)], [1, 2],
        {"group": 2, "dilations": [2], "pads": [1, 3]},
    ),
    "gather of negative indices": Case("Gather", 11, [X, np.array([[-1, 0], [2, -3]])], [], {"axis": 1}),
    "range of floats": Case("Range", 11, [np.float32(1), np.float32(4), np.float32(0.7)], [0, 1, 2]),
    "one hot of negative indices": Case(
        "OneHot", 11, [ints(1, -1, 7), ints(4), np.array([-1, 5], np.float32)], [1], {"axis": 0}
    ),
    "einsum over a diagonal": Case("Einsum", 12, [floats(3, 3, 4), floats(4, 5)], attrs={"equation": "iij,jk->ik"}),
    "einsum with hidden dimensions": Case(
        "Einsum", 12, [floats(2, 1, 3, 4), floats(1, 5, 4, 3)], attrs={"equation": "...ij,...ji"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_with_onnxruntime(case: Case) -> None:
    model, feeds = one_node(case.op, case.arrays, case.opset, case.frozen, **case.attrs)
    expected = _onnxruntime(model, feeds)
    for result, wanted in zip(run(model, feeds), expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def _onnxruntime(model: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])  # type: ignore[attr-defined]
    return list(session.run(None, feeds))


RECURRENT = [("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "gates", "outputs"), RECURRENT)
def test_recurrences_agree_with_onnxruntime(op: str, gates: int, outputs: int, direction: str) -> None:
    """With bias, initial states, peepholes or clip, and sequence lengths that are all full."""
    seq, batch, features, hidden, dirs = 5, 2, 3, 4, 2 if direction == "bidirectional" else 1
    state = floats(dirs, batch, hidden, seed=4)
    arrays: list[np.ndarray | None] = [
        floats(seq, batch, features), floats(dirs, gates * hidden, features, seed=1),
        floats(dirs, gates * hidden, hidden, seed=2), floats(dirs, 2 * gates * hidden, seed=3),
        np.full(batch, seq, np.int32), state,
    ]  # fmt: skip
    if op == "LSTM":
        arrays += [floats(dirs, batch, hidden, seed=5), floats(dirs, 3 * hidden, seed=6)]
    attrs: dict[str, object] = {"direction": direction, "hidden_size": hidden, "outputs": outputs}
    if op == "GRU":
        attrs |= {"linear_before_reset": 1, "clip": 1.0}
    model, feeds = one_node(op, arrays, 14, range(1, len(arrays)), **attrs)
    for result, wanted in zip(run(model, feeds), _onnxruntime(model, feeds), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [10, 13, 21])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_quantization_agrees_with_onnxruntime(dtype: type, opset: int) -> None:
    x = np.concatenate([floats(500) * 20, np.arange(-140, 140, 0.5, dtype=np.float32) * np.float32(0.1)])
    operands = [x, np.float32(0.1), np.asarray(3, dtype)]
    model, feeds = one_node("QuantizeLinear", [np.asarray(a) for a in operands], opset, [1, 2])
    (stored,), (expected,) = run(model, feeds), _onnxruntime(model, feeds)
    np.testing.assert_array_equal(stored, expected)
    model, feeds = one_node("DequantizeLinear", [stored, *(np.asarray(a) for a in operands[1:])], opset, [1, 2])
    np.testing.assert_array_equal(run(model, feeds)[0], _onnxruntime(model, feeds)[0])
