"""ConvInteger and MatMulInteger by zero points of every kind, against ONNX Runtime: constant weights are signed bytes
behind the import, which machines have instructions for, and no operand is widened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.types import DType
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import Operand, checked_import, model, value

RNG = np.random.default_rng(8)


def weights(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """With the extremes among them."""
    info = np.iinfo(dtype)
    array = RNG.integers(info.min, info.max, shape, dtype, endpoint=True)
    array.reshape(-1)[:2] = info.min, info.max
    return array


ZERO_POINTS: Mapping[str, tuple[type, Operand | None]] = {
    "none": (np.int8, None), "none of unsigned ones": (np.uint8, None), "zero": (np.uint8, np.uint8(0)),
    "the middle": (np.uint8, np.uint8(128)), "odd": (np.uint8, np.uint8(119)), "of signed ones": (np.int8, np.int8(-7)),
    "one a result": (np.uint8, np.arange(100, 106, dtype=np.uint8)),
}  # fmt: skip
KERNELS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "padded": ((1, 4, 7, 5), (6, 4, 3, 3), {"pads": [1, 0, 2, 1]}),
    "strides": ((2, 3, 9, 7), (6, 3, 3, 2), {"strides": [2, 3], "auto_pad": "SAME_LOWER"}),
    "groups": ((1, 6, 5, 6), (6, 3, 2, 3), {"group": 2, "dilations": [2, 1], "pads": [1, 1, 1, 1]}),
    "depthwise": ((1, 6, 6, 6), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    "no padding": ((1, 8, 1, 9), (6, 8, 1, 1), {}),
    "one dimension": ((1, 4, 11), (6, 4, 3), {"pads": [2, 0]}),
}


def made(
    op: str, shape: tuple[int, ...], w: np.ndarray, zero: Operand | None, dynamic: bool, attrs: dict[str, Any]
) -> onnx.ModelProto:
    """What is quantized while the model runs, or has a constant zero point."""
    quantize = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    if not dynamic:
        quantize = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"])
    zeros = ["z"] + (["wz"] if zero is not None else [])
    product = helper.make_node(op, ["q", "w", *zeros], ["y"], **attrs)
    constants: dict[str, Operand] = {"w": w} | ({} if zero is None else {"wz": zero})
    constants |= {} if dynamic else {"s": np.float32(0.02), "z": np.uint8(93)}
    return model([quantize, product], [value("x", shape)], ["y"], constants, opset=21)


def check(op: str, shape: tuple[int, ...], w: np.ndarray, zero: Operand | None, *more: Any) -> None:
    """ONNX Runtime convolves by one zero point alone: where each channel has its own, these are computed by it one by
    one."""
    proto = made(op, shape, w, zero, *more)
    feeds = {"x": np.random.default_rng(5).uniform(-1.5, 3, shape).astype(np.float32)}
    if op == "ConvInteger" and isinstance(zero, np.ndarray) and zero.ndim:
        each = [onnxruntime(made(op, shape, w, zero[c], *more), feeds)[0][:, c] for c in range(zero.size)]
        wanted = np.stack(each, axis=1)
    else:
        (wanted,) = onnxruntime(proto, feeds)
    graph = checked_import(proto)
    found = JitModel(lower_graph(optimize(graph), host_machine())).run(feeds)
    np.testing.assert_array_equal(found["y"], wanted)
    products = [node for node in graph.nodes if node.op in ("conv", "matmul")]
    assert any(v.dtype is DType.I8 and v.shape == w.shape for node in products for v in node.operands)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("zero", ZERO_POINTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_convolutions(kernel: str, zero: str, dynamic: bool) -> None:
    shape, kernel_shape, attrs = KERNELS[kernel]
    dtype, point = ZERO_POINTS[zero]
    check("ConvInteger", shape, weights(kernel_shape, dtype), point, dynamic, attrs)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("zero", ZERO_POINTS)
@pytest.mark.parametrize("shape", [(5, 9), (2, 3, 9), (1, 9)])
def test_products(shape: tuple[int, ...], zero: str, dynamic: bool) -> None:
    dtype, point = ZERO_POINTS[zero]
    check("MatMulInteger", shape, weights((9, 6), dtype), point, dynamic, {})
