"""Operands that do not fit are refused with their actual types, and quantization goes where the values go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Graph, Node, Value
from ccml.ir.types import DType, QuantParams, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import OPS, infer_types


def t(*shape: int, dtype: DType = DType.F32) -> TensorType:
    return TensorType(dtype, shape)


BYTES = t(3, 5, dtype=DType.U8)
SUM = {"kind": "sum", "missing": "above"}
TREES = [t(*shape, dtype=DType.I32) for shape in ((3, 2), (4,), (4,), (4, 2), (1,), (1,))]
CONV = {"stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1), "group": 1, "layout": "channels_first"}
POOL: dict[str, Any] = {
    "kind": "max", "kernel": (2, 2), "stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1), "ceil_mode": False,
    "count_include_pad": False, "layout": "channels_first",
}  # fmt: skip
LSTM: dict[str, Any] = {
    "hidden": 4, "direction": "forward", "activations": ("Sigmoid", "Tanh", "Tanh"), "clip": float("inf"),
    "input_forget": False,
}  # fmt: skip

REFUSED: list[tuple[str, list[TensorType | None], dict[str, Any], str]] = [
    ("add", [t(2, 3), t(4, 3)], {}, "shapes (2, 3) and (4, 3) do not broadcast"),
    ("add", [t(2), t(2, dtype=DType.I32)], {}, "operands have types f32[2] and i32[2]"),
    ("add", [t(2), None], {}, "operand 1 is missing"),
    ("add", [t(2, dtype=DType.BOOL)] * 2, {}, "bool[2]"),
    ("exp", [t(2, dtype=DType.I8)], {}, "i8[2]"),
    ("not", [t(2)], {}, "must be one of bool"),
    ("where", [t(2), t(2), t(2)], {}, "the condition is f32[2], not bool"),
    ("quantize", [t(2, dtype=DType.F16)], {"scale": (1.0,), "zero_point": (0,), "axis": 0, "to": DType.I8}, "f16[2]"),
    ("quantize", [t(2)], {"scale": (1.0,), "zero_point": (0,), "axis": 0, "to": DType.F16}, "not to f16"),
    ("quantize", [t(2)], {"scale": (1.0,) * 3, "zero_point": (0,) * 3, "axis": 0, "to": DType.I8}, "3 scales along"),
    ("dequantize", [t(2, dtype=DType.I8)], {"scale": (1.0,), "zero_point": (0, 0), "axis": 0}, "1 scales but 2 zero"),
    ("reshape", [t(2, 3)], {"shape": (4,)}, "f32[2,3] has 6 elements"),
    ("transpose", [t(2, 3)], {"perm": (0, 0)}, "(0, 0) does not permute"),
    ("expand", [t(2, 3)], {"shape": (2, 4)}, "do not broadcast"),
    ("expand", [t(2, 3)], {"shape": (3,)}, "f32[2,3] does not expand to (3,)"),
    ("slice", [t(4)], {"starts": (2,), "steps": (1,), "sizes": (3,)}, "reach outside f32[4]"),
    ("slice", [t(4)], {"starts": (0,), "steps": (0,), "sizes": (1,)}, "reach outside f32[4]"),
    ("concat", [t(2, 3), t(3, 3)], {"axis": 1}, "f32[2,3], f32[3,3] do not concatenate along axis 1"),
    ("pad", [t(0)], {"before": (1,), "after": (0,), "mode": "reflect", "value": 0.0}, "nothing to take from"),
    ("pad", [t(3)], {"before": (-1,), "after": (0,), "mode": "constant", "value": 0.0}, "'before' is (-1,)"),
    ("gather", [t(3), t(2)], {"axis": 0}, "indices are f32[2]"),
    ("scatter", [t(3, 2), t(4), t(4, 2)], {"reduction": "none"}, "places are f32[4]"),
    ("scatter", [t(3, 2), t(4, dtype=DType.I32), t(4, 3)], {"reduction": "none"}, "updates f32[4,3] do not fit"),
    ("scatter", [t(3), t(4, dtype=DType.I32), t(4)], {"reduction": "sub"}, "'reduction' is 'sub', expected none"),
    ("top_k", [t(3, 2)], {"axis": 0, "k": 4, "largest": True}, "k is 4, but f32[3,2] has 3 elements"),
    ("bitcast", [t(3)], {"to": DType.I64}, "elements of 32 bits, i64 has 64"),
    (
        "sample", [t(1, 4, 4, 2), t(1, 9, 3)], {"mode": "linear", "border": "edge", "align_corners": True},
        "points f32[1,9,3] do not fit",
    ),
    ("det", [t(3, 2)], {}, "no determinant of f32[3,2]"),
    (
        "col2im", [t(1, 1, 2, 2, 3, 4)], {"image": (4, 4), "stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1)},
        "has not (3, 3) blocks",
    ),
    ("string_concat", [BYTES, t(4, 3, dtype=DType.U8)], {}, "u8[3,5] and u8[4,3] have different numbers of rows"),
    ("string_find", [BYTES, t(3, 3)], {}, "no rows of bytes: f32[3,3]"),
    ("murmur3", [t(2, 3)], {"seed": 0, "text": True}, "no rows of bytes"),
    ("string_match", [BYTES, t(255, dtype=DType.U8), t(1, 1, dtype=DType.U8)], {}, "operand 1 is u8[255]"),
    ("string_map", [BYTES, *[t(n, dtype=DType.I32) for n in (2, 2, 3, 2)]], {"bytes": 3}, "operand 3 is i32[3]"),
    ("string_split", [BYTES, BYTES], {"limit": 1, "merge": True, "each": True}, "1 parts of"),
    ("string_split", [BYTES, t(0, 1, dtype=DType.U8)], {"limit": 2, "merge": True}, "2 parts at most, by u8[0,1]"),
    ("cast", [t(3, dtype=DType.CHAR)], {"to": DType.F32}, "no cast of char[3] to f32"),
    ("count_ngrams", [t(3, 2), t(3, 2)], {"skips": 0}, "no count of f32[3,2]"),
    ("square_distance", [t(3, 2), t(4, 3)], {}, "no distances between f32[3,2] and f32[4,3]"),
    ("couple_probabilities", [t(3, 2, 4)], {}, "no probabilities of pairs of classes: f32[3,2,4]"),
    ("trees", [*TREES, t(5, 1), t(1, dtype=DType.I32)], SUM, "leaves f32[5,1] have no sum i32[1]"),
    ("trees", [*TREES, t(5, 2), t(1)], SUM, "no trees for i32[3,2]"),
    ("gather", [t(3), t(2, dtype=DType.I64)], {"axis": 1}, "axes (1,) do not fit f32[3]"),
    ("conv", [t(1, 3, 8, 8), t(4, 2, 3, 3)], CONV, "f32[4,2,3,3] in 1 groups do not fit the 3 channels of f32"),
    ("conv", [t(1, 3, 8, 8), t(4, 3, 3)], CONV, "do not fit the rank"),
    ("conv", [t(1, 3, 2, 8), t(4, 3, 3, 3)], CONV, "a window of 3 does not fit 2 elements"),
    ("conv", [t(1, 3, 8, 8), t(4, 3, 3, 3), t(3)], CONV, "bias f32[3] does not fit 4 output channels"),
    ("conv", [t(1, 3, 8, 8), t(4, 3, 3, 3)], {**CONV, "stride": (1,)}, "stride (1,) does not fit 2 spatial dimensions"),
    ("conv", [t(1, 1, 8, 8), t(1, 1, 3, 3)], {**CONV, "pad": (2**20, 0, 2**20, 2**20)}, "pad"),
    ("matmul", [t(2, 3), t(4, 5)], {}, "f32[2,3] and f32[4,5] do not multiply"),
    ("matmul", [t(2, 3), t(3, 5), t(2, 2, 5)], {}, "bias f32[2,2,5] does not fit 5 output channels of f32"),
    ("conv", [t(1, 3, 8, 8), t(4, 3, 3, 3)], {**CONV, "stride": (0, 1)}, "'stride' is (0, 1), expected ints >= 1"),
    ("conv", [t(1, 3, 8, 8), t(4, 3, 0, 3)], CONV, "kernel (0, 3) does not fit 2 spatial dimensions"),
    ("pool", [t(1, 1, 4, 4)], {**POOL, "pad": (2, 0, 0, 0)}, "is not smaller than the window"),
    ("pool", [t(1, 1, 4, 4, dtype=DType.I8)], {**POOL, "kind": "avg"}, "no avg pooling of i8[1,1,4,4]"),
    ("reduce", [t(2, 3)], {"kind": "sum", "axes": (2,), "keepdims": True}, "axes (2,) do not fit f32[2,3]"),
    ("reduce", [t(2, 3)], {"kind": "median", "axes": (0,), "keepdims": True}, "'kind' is 'median', expected sum"),
    ("softmax", [t(2, dtype=DType.I8)], {"axis": 0}, "i8[2]"),
    ("lstm", [t(5, 1, 3), t(1, 16, 3), t(1, 16, 5)], LSTM, "weights r f32[1,16,5] should be (1, 16, 4)"),
    ("lstm", [t(5, 1, 3), t(1, 16, 3), t(1, 16, 4)], {**LSTM, "activations": ("Sine",) * 3}, "activations"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "types", "attrs", "text"), REFUSED, ids=[f"{op}-{text}" for op, _, _, text in REFUSED])
def test_what_does_not_fit_is_quoted(op: str, types: list[TensorType | None], attrs: dict[str, Any], text: str) -> None:
    with pytest.raises(CcmlError) as caught:
        infer_types(op, [None if type_ is None else Value("x", type_) for type_ in types], attrs)
    assert text in str(caught.value)


def test_the_error_names_the_node() -> None:
    operands = [Value("x", t(2)), Value("y", t(3))]
    with pytest.raises(CcmlError) as caught:
        infer_types("add", operands, {}, "layer1/Add")
    assert caught.value.kind is ErrorCode.SHAPE_MISMATCH and caught.value.loc == "layer1/Add"


def quantized(*shape: int, axis: int | None = None) -> TensorType:
    count = 1 if axis is None else shape[axis]
    return TensorType(DType.I8, shape, QuantParams((0.5,) * count, (1,) * count, axis))


def test_quantization_passes_through_what_moves_values() -> None:
    x = quantized(2, 3)
    moves: list[tuple[str, dict[str, Any]]] = [
        ("reshape", {"shape": (6,)}), ("transpose", {"perm": (1, 0)}), ("expand", {"shape": (4, 2, 3)}),
        ("slice", {"starts": (0, 0), "steps": (1, 1), "sizes": (1, 1)}),
    ]  # fmt: skip
    for op, attrs in moves:
        (result,) = OPS[op].infer([x], attrs)
        assert result.quant == x.quant
    assert OPS["concat"].infer([x, x], {"axis": 0})[0].quant == x.quant
    assert OPS["concat"].infer([x, t(2, 3, dtype=DType.I8)], {"axis": 0})[0].quant is None
    assert OPS["pool"].infer([quantized(1, 1, 4, 4)], POOL)[0].quant == x.quant


def test_quantization_along_an_axis_moves_with_it() -> None:
    x = quantized(2, 3, axis=1)
    (moved,) = OPS["transpose"].infer([x], {"perm": (1, 0)})
    assert moved.quant is not None and moved.quant.axis == 0
    assert OPS["reshape"].infer([x], {"shape": (6,)})[0].quant is None
    attrs = {"scale": (1.0,) * 2, "zero_point": (0,) * 2, "axis": 0, "to": DType.I8}
    (stored,) = OPS["quantize"].infer([t(2, 3)], attrs)
    assert stored.quant == QuantParams((1.0,) * 2, (0,) * 2, 0)


def graph() -> Graph:
    x, k, y = Value("x", t(2)), Value("k", t(2)), Value("y", t(2))
    return Graph("g", (x,), (y,), (Node("add", (x, k), (y,)),), {"k": np.array([1, 2], np.float32)})


def test_evaluate_graph_returns_every_value() -> None:
    values = evaluate_graph(graph(), {"x": np.array([3, 4], np.float32)})
    assert values.keys() == {"x", "k", "y"}
    np.testing.assert_array_equal(values["y"], [4, 6])


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({}, "x: input is missing"),
        ({"x": np.zeros(2, np.float32), "z": np.zeros(1)}, "z: input is not one of the inputs x"),
        ({"x": np.zeros(3, np.float32)}, "x: the array is f32[3], the model wants f32[2]"),
        ({"x": np.zeros(2)}, "x: the array is f64[2], the model wants f32[2]"),
        ({"x": np.zeros(2, np.complex64)}, "complex64"),
    ],
)
def test_inputs_that_do_not_fit(inputs: dict[str, np.ndarray], text: str) -> None:
    with pytest.raises(CcmlError) as caught:
        evaluate_graph(graph(), inputs)
    assert caught.value.kind is ErrorCode.BAD_INPUT and text in str(caught.value)
