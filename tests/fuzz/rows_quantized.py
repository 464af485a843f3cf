"""Rows of quantized operators: of ONNX, and of ONNX Runtime's own domain."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.fuzz.build import FLOATS, NARROW, Builder, Tensor, number
from tests.fuzz.row import Row, allowed
from tests.fuzz.rows_contraction import kernel_of, matmul_shapes, spatial_shape, window_attributes
from tests.fuzz.rows_movement import some_axis

BYTES = ("uint8", "int8")
_STORED = tuple(name for name in NARROW if name != "bfloat16")
_ASYMMETRIC = (*BYTES, "uint16", "int16", *(name for name in NARROW if "int" in name))


def scale(b: Builder, count: int | None = None, dtype: str = "float32") -> Tensor:
    """One positive number, or one an element."""
    shape = () if count is None else (count,)
    return b.param(b.values(dtype, shape, 0.01, 0.2) + np.asarray(0.005, dtype))


def zero_point(b: Builder, dtype: str, count: int | None = None) -> Tensor:
    shape = () if count is None else (count,)
    if dtype == "int32":
        return b.param(np.zeros(shape, dtype))
    if dtype in _STORED:
        return b.param(b.values(dtype, shape, 0, 0 if dtype.startswith("float") else 3))
    return b.param(b.values(dtype, shape, -20 if dtype.startswith("int") else 100, 140 if dtype[0] == "u" else 20))


def byte(b: Builder) -> str:
    return b.dtype(BYTES)


def weights_of(b: Builder, kind: str, shape: tuple[int, ...]) -> Tensor:
    """Weights of bytes for kernels of which ONNX Runtime alone has a meaning: on x86 without VNNI its sums of two
    products of unsigned and signed bytes saturate at 16 bits."""
    return b.param(b.values(kind, shape, -64, 64) if kind == "int8" else b.values(kind, shape, 0, 255))


def stored(b: Builder, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A quantized operand."""
    info = np.iinfo(dtype)
    return b.data(dtype, shape, max(info.min, -128), min(info.max, 255))


def quantize_linear(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("QuantizeLinear", 0, b.opset)), b.shape(1, 4)
    kinds = list(allowed("QuantizeLinear", 2, b.opset, more=_STORED))
    to, parameter = b.pick(kinds), "float32" if b.opset < 19 else dtype if dtype in FLOATS else "float32"
    x = b.data(dtype, shape, -8, 8)
    more: dict[str, Any] = {}
    count = None
    if b.opset >= 13 and b.flip(0.4):
        more["axis"] = some_axis(b, len(shape))
        count = shape[more["axis"]]
    if b.opset >= 21 and b.flip(0.3):
        axis = b.between(0, len(shape) - 1)
        block = b.between(1, max(shape[axis], 1))
        blocks = tuple(-(-e // block) if d == axis else e for d, e in enumerate(shape))
        steps = b.param(b.values(parameter, blocks, 0.01, 0.2) + np.asarray(0.005, parameter))
        zeros = b.param(b.values(to, blocks, 0, 0 if to.startswith("float") else 3))
        return b.node("QuantizeLinear", [x, steps, zeros], axis=axis, block_size=block)
    if b.opset >= 21 and b.flip(0.2):
        return b.node("QuantizeLinear", [x, scale(b, count, parameter)], output_dtype=number(to), **more)
    zero = zero_point(b, to, count) if to != "uint8" or b.flip(0.8) else None
    more |= b.some(saturate=1) if b.opset >= 19 else {}
    return b.node("QuantizeLinear", [x, scale(b, count, parameter), zero], **more)


def dequantize_linear(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("DequantizeLinear", 0, b.opset, more=_STORED)), b.shape(1, 4)
    x = b.data(dtype, shape)
    parameter = "float32" if b.opset < 19 else b.dtype(("float32", "float16"))
    more: dict[str, Any] = {}
    count = None
    if b.opset >= 13 and b.flip(0.4):
        more["axis"] = some_axis(b, len(shape))
        count = shape[more["axis"]]
    if b.opset >= 21 and b.flip(0.3):
        axis = b.between(0, len(shape) - 1)
        block = b.between(1, max(shape[axis], 1))
        blocks = tuple(-(-e // block) if d == axis else e for d, e in enumerate(shape))
        steps = b.param(b.values(parameter, blocks, 0.01, 0.2))
        zeros = b.param(b.values(dtype, blocks, 0, 3)) if dtype in _ASYMMETRIC and b.flip() else None
        return b.node("DequantizeLinear", [x, steps, zeros], axis=axis, block_size=block)
    zero = zero_point(b, dtype, count) if b.flip(0.7) else None
    return b.node("DequantizeLinear", [x, scale(b, count, parameter), zero], **more)


def dynamic_quantize(b: Builder) -> list[Tensor]:
    return b.node("DynamicQuantizeLinear", [b.data("float32", b.shape())], 3)


def qlinear_conv(b: Builder) -> list[Tensor]:
    shape, dtype = spatial_shape(b), byte(b)
    weights = dtype if dtype == "int8" else byte(b)
    group = shape[1] if b.flip(0.3) else 1
    out, kernel = group * b.between(1, 3), kernel_of(b, shape[2:])
    more = window_attributes(b, shape[2:], kernel)
    channels = out if b.flip(0.4) else None
    x = stored(b, dtype, shape)
    w = b.param(b.values(weights, (out, shape[1] // group, *kernel), -128, 255))
    zero = b.param(np.zeros((out,), weights)) if channels else zero_point(b, weights)
    bias = b.param(b.values("int32", (out,), -500, 500)) if b.flip() else None
    operands = [x, scale(b), zero_point(b, dtype), w, scale(b, channels), zero, scale(b), zero_point(b, dtype), bias]
    return b.node("QLinearConv", operands, group=group, **more, **b.some(kernel_shape=list(kernel)))


def qlinear_matmul(b: Builder) -> list[Tensor]:
    lhs, rhs = matmul_shapes(b)
    dtype = byte(b)
    weights = "int8" if dtype == "int8" else byte(b)
    x = stored(b, dtype, lhs)
    y = b.param(b.values(weights, rhs, -128, 255)) if b.flip(0.7) else stored(b, weights, rhs)
    operands = [x, scale(b), zero_point(b, dtype), y, scale(b), zero_point(b, weights), scale(b), zero_point(b, dtype)]
    return b.node("QLinearMatMul", operands)


def conv_integer(b: Builder) -> list[Tensor]:
    shape, kernel_type = spatial_shape(b), byte(b)
    dtype = byte(b)
    group = shape[1] if b.flip(0.3) else 1
    out, kernel = group * b.between(1, 3), kernel_of(b, shape[2:])
    more = window_attributes(b, shape[2:], kernel)
    x, w = stored(b, dtype, shape), b.param(b.values(kernel_type, (out, shape[1] // group, *kernel), -128, 255))
    zeros = [zero_point(b, dtype) if b.flip(0.7) else None, zero_point(b, kernel_type) if b.flip() else None]
    return b.node("ConvInteger", [x, w, *zeros], group=group, **more, **b.some(kernel_shape=list(kernel)))


def matmul_integer(b: Builder) -> list[Tensor]:
    lhs, rhs = matmul_shapes(b)
    kinds = byte(b), byte(b)
    x = stored(b, kinds[0], lhs)
    y = b.param(b.values(kinds[1], rhs, -128, 255)) if b.flip(0.7) else stored(b, kinds[1], rhs)
    columns = rhs[-1] if len(rhs) == 2 and b.flip(0.4) else None
    zeros = [zero_point(b, kinds[0]) if b.flip(0.7) else None, zero_point(b, kinds[1], columns) if b.flip() else None]
    return b.node("MatMulInteger", [x, y, *zeros])


# ---- com.microsoft

MICROSOFT = "com.microsoft"


def q_binary(op: str, b: Builder) -> list[Tensor]:
    dtype, shape = byte(b), b.shape(1, 4)
    other = shape if b.flip(0.7) else tuple(1 if b.flip() else extent for extent in shape)
    x, y = stored(b, dtype, shape), stored(b, dtype, other)
    operands = [x, scale(b), zero_point(b, dtype), y, scale(b), zero_point(b, dtype), scale(b), zero_point(b, dtype)]
    return b.node(op, operands, domain=MICROSOFT)


def q_unary(op: str, b: Builder) -> list[Tensor]:
    dtype, more = byte(b), {}
    shape = b.shape(1, 4)
    if op == "QLinearAveragePool":
        shape = b.shape(4, 4, (1, 2, 3, 4, 5))
        kernel = kernel_of(b, shape[2:])
        more = window_attributes(b, shape[2:], kernel, dilated=False, same=False) | {"kernel_shape": list(kernel)}
        more |= b.some(count_include_pad=b.between(0, 1))
    elif op == "QLinearGlobalAveragePool":
        shape = b.shape(4, 4)
    elif op == "QLinearLeakyRelu":
        more = b.some(alpha=b.uniform(0.01, 0.5))
    elif op == "QLinearSoftmax":
        if shape[-1] < 2:  # 1.0 does not fit into a byte, which ONNX Runtime forgets
            shape = (*shape[:-1], 3)
        more = {"axis": len(shape) - 1, "opset": 13}
    elif op == "QLinearReduceMean":
        more = {"axes": [some_axis(b, len(shape))]} | b.some(keepdims=b.between(0, 1))
    x = stored(b, dtype, shape)
    result = scale(b)
    zero = zero_point(b, dtype)
    if op in ("QLinearSigmoid", "QLinearSoftmax"):
        result, zero = b.param(np.float32(1 / 256)), b.param(np.asarray(0 if dtype == "uint8" else -128, dtype))
    return b.node(op, [x, scale(b), zero_point(b, dtype), result, zero], domain=MICROSOFT, **more)


def q_concat(b: Builder) -> list[Tensor]:
    dtype, shape = byte(b), b.shape(1, 4)
    axis = b.between(0, len(shape) - 1)
    operands: list[Tensor] = [scale(b), zero_point(b, dtype)]
    for _ in range(b.between(2, 3)):
        operands += [stored(b, dtype, shape), scale(b), zero_point(b, dtype)]
    return b.node("QLinearConcat", operands, domain=MICROSOFT, axis=axis)


def q_where(b: Builder) -> list[Tensor]:
    dtype, shape = byte(b), b.shape(1, 4)
    condition = b.data("bool", shape)
    operands = [condition]
    for _ in range(2):
        operands += [stored(b, dtype, shape), scale(b), zero_point(b, dtype)]
    return b.node("QLinearWhere", [*operands, scale(b), zero_point(b, dtype)], domain=MICROSOFT)


def q_gemm(b: Builder) -> list[Tensor]:
    dtype, (m, k), n = byte(b), b.shape(2, 2), b.between(1, 5)
    weights = "int8" if dtype == "int8" else byte(b)
    transposed = b.between(0, 1)
    x = stored(b, dtype, (m, k))
    w = weights_of(b, weights, (n, k) if transposed else (k, n))
    bias = b.param(b.values("int32", (n,), -500, 500)) if b.flip() else None
    operands: list[Tensor | None] = [x, scale(b), zero_point(b, dtype), w, scale(b), zero_point(b, weights), bias]
    if b.flip(0.7):
        operands += [scale(b), zero_point(b, dtype)]
    return b.node("QGemm", operands, domain=MICROSOFT, transB=transposed, **b.some(alpha=1.0))


def dynamic_matmul(b: Builder) -> list[Tensor]:
    (m, k), n, weights = b.shape(2, 2), b.between(1, 5), byte(b)
    x, w = b.data("float32", (m, k)), weights_of(b, weights, (k, n))
    zero = zero_point(b, weights) if b.flip() else None
    bias = b.param(b.values("float32", (n,))) if b.flip() else None
    return b.node("DynamicQuantizeMatMul", [x, w, scale(b), zero, bias], domain=MICROSOFT)


def matmul_to_float(b: Builder) -> list[Tensor]:
    (m, k), n, dtype, weights = b.shape(2, 2), b.between(1, 5), byte(b), byte(b)
    x, w = stored(b, dtype, (m, k)), weights_of(b, weights, (k, n))
    zeros = [zero_point(b, dtype) if b.flip() else None, zero_point(b, weights) if b.flip() else None]
    bias = b.param(b.values("float32", (n,))) if b.flip() else None
    return b.node("MatMulIntegerToFloat", [x, w, scale(b), scale(b), *zeros, bias], domain=MICROSOFT)


def matmul_of_bits(b: Builder) -> list[Tensor]:
    n, k, block = b.between(1, 6), b.between(3, 40), b.pick([16, 32])
    blocks = -(-k // block)
    x = b.data("float32", (*b.shape(0, 1), b.between(1, 3), k), -1, 1)
    w = b.param(b.values("uint8", (n, blocks, block // 2), 0, 255))
    scales = b.param(b.values("float32", (n * blocks,), 0.01, 0.1))
    zero = b.param(b.values("uint8", (n * (-(-blocks // 2)),), 0, 255)) if b.flip() else None
    return b.node("MatMulNBits", [x, w, scales, zero], domain=MICROSOFT, N=n, K=k, bits=4, block_size=block)



def matmul_of_bnb4(b: Builder) -> list[Tensor]:
    n, k, block = b.between(1, 6), b.pick([16, 32, 48]), 16
    x = b.data("float32", (*b.shape(0, 1), b.between(1, 3), k), -1, 1)
    w = b.param(b.values("uint8", (n * k // 2,), 0, 255))
    sizes = b.param(b.values("float32", (n * k // block,), 0.01, 0.1))
    kind = b.pick([0, 1])
    return b.node("MatMulBnb4", [x, w, sizes], domain=MICROSOFT, N=n, K=k, block_size=block, quant_type=kind)


_UNARY = (
    "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearReduceMean", "QLinearSigmoid",
    "QLinearSoftmax",
)  # fmt: skip

ROWS: dict[str, Row] = {
    "ConvInteger": Row(conv_integer), "DequantizeLinear": Row(dequantize_linear),
    "DynamicQuantizeLinear": Row(dynamic_quantize), "MatMulInteger": Row(matmul_integer),
    "QLinearConv": Row(qlinear_conv), "QLinearMatMul": Row(qlinear_matmul), "QuantizeLinear": Row(quantize_linear),
    **{f"{MICROSOFT}.{op}": Row(partial(q_unary, op)) for op in _UNARY},
    **{f"{MICROSOFT}.{op}": Row(partial(q_binary, op)) for op in ("QLinearAdd", "QLinearMul")},
    f"{MICROSOFT}.DynamicQuantizeMatMul": Row(dynamic_matmul),
    f"{MICROSOFT}.MatMulIntegerToFloat": Row(matmul_to_float),
    f"{MICROSOFT}.MatMulBnb4": Row(matmul_of_bnb4),
    f"{MICROSOFT}.MatMulNBits": Row(matmul_of_bits),
    f"{MICROSOFT}.QGemm": Row(q_gemm),
    f"{MICROSOFT}.QLinearConcat": Row(q_concat),
    f"{MICROSOFT}.QLinearWhere": Row(q_where),
}  # fmt: skip

