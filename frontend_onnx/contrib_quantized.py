"""Quantized operators of ONNX Runtime's own domain, as functions of ONNX operators.

ONNX Runtime's static quantization writes them in QOperator format, its dynamic quantization and its weight-only
quantization too. Each is ``dequantize -> operator -> quantize`` (or part of that), and so is its body here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import onnx
from onnx import helper

from .contrib_body import Body, Rule, Unsupported
from .tensors import MAX_ELEMENTS

# ---------------------------------------------------------------- one operator between dequantize and quantize


def _binary(op_type: str, body: Body) -> str:
    return body.stored(body.emit(op_type, body.real(0), body.real(3)), 6)


def _unary(op_type: str, names: Sequence[str], body: Body) -> str:
    """With those attributes that the operator of ONNX has."""
    attributes = {name: body.attributes.get(name) for name in names}
    x = body.real(0)
    last = bool(body.attributes.get("channels_last", 0))
    y = body.emit(op_type, body.channels_first(x, 0) if last else x, **attributes)
    return body.stored(body.channels_last(y, 0) if last else y, 3)


def _conv(body: Body) -> str:
    """QLinearConv of ONNX, whose channels may be last."""
    last = bool(body.attributes.pop("channels_last", 0))
    names = [body.input(place) for place in range(9)]
    if last:
        names[0] = body.channels_first(names[0], 0)
    y = body.emit("QLinearConv", *names, **body.attributes)
    return body.channels_last(y, 0) if last else y


def _max_pool(body: Body) -> str:
    y = body.emit("MaxPool", body.channels_first(body.input(0), 0), **body.attributes)
    return body.channels_last(y, 0)


def _softmax(body: Body) -> str:
    """Before operator set 13 the dimensions from the axis on are one."""
    body.opset = 13 if body.attributes["opset"] >= 13 else 11
    return body.stored(body.emit("Softmax", body.real(0), axis=body.attributes.get("axis", -1)), 3)


def _reduce_mean(body: Body) -> str:
    body.opset = 13
    attributes = {name: body.attributes.get(name) for name in ("axes", "keepdims")}
    return body.stored(body.emit("ReduceMean", body.real(0), **attributes), 3)


def _concat(body: Body) -> str:
    parts = [body.real(first) for first in range(2, len(body.inputs), 3)]
    return body.stored(body.emit("Concat", *parts, axis=body.attributes["axis"]), 0)


def _where(body: Body) -> str:
    return body.stored(body.emit("Where", body.input(0), body.real(1), body.real(4)), 7)


def _gemm(body: Body) -> str:
    """A, B with parameters, C of int32 in steps of alpha * A's scale * B's; a float result without a scale."""
    transposed = body.attributes.get("transB", 0)
    alpha = body.attributes.get("alpha", 1.0)
    a, b = body.real(0), body.real(3, axis=0 if transposed else 1)
    c = ""
    if body.input(6):
        steps = body.emit("Mul", body.input(1), body.input(4))
        steps = steps if alpha == 1.0 else body.emit("Mul", steps, body.constant(np.asarray(alpha, np.float32)))
        c = body.emit("Mul", body.emit("Cast", body.input(6), to=onnx.TensorProto.FLOAT), steps)
        if alpha == 1.0:
            c = body.emit("DequantizeLinear", body.input(6), steps, axis=0)
    attributes = {name: body.attributes.get(name) for name in ("transA", "transB", "alpha")}
    y = body.emit("Gemm", a, b, c, **attributes)
    return body.stored(y, 7) if body.input(7) else y


# ---------------------------------------------------------------- integers to floats, weights alone


def _matmul_to_float(body: Body) -> str:
    """A, B, scales of both, zero points of both, bias."""
    zeros = [body.input(4), body.input(5)]
    acc = body.emit("MatMulInteger", body.input(0), body.input(1), *zeros)
    return _scaled(body, acc, body.emit("Mul", body.input(2), body.input(3)), body.input(6))


def _dynamic_matmul(body: Body) -> str:
    """A of floats, B, B's scale and zero point, bias."""
    names = [f"dynamic{place}" for place in range(3)]
    body.nodes.append(helper.make_node("DynamicQuantizeLinear", [body.input(0)], names))
    acc = body.emit("MatMulInteger", names[0], body.input(1), names[2], body.input(3))
    return _scaled(body, acc, body.emit("Mul", names[1], body.input(2)), body.input(4))


def _scaled(body: Body, acc: str, scale: str, bias: str) -> str:
    real = body.emit("Mul", body.emit("Cast", acc, to=onnx.TensorProto.FLOAT), scale)
    return body.emit("Add", real, bias) if bias else real


def _matmul_of_bits(body: Body) -> str:
    """A of floats; B ``[N, blocks, bytes]``, scales and zero points for each block of each of the N columns."""
    n, k, bits = (body.attributes.get(name, default) for name, default in (("N", 0), ("K", 0), ("bits", 4)))
    block = body.attributes["block_size"]
    if bits not in (2, 4, 8) or block < 16 or n < 1 or k < 1 or n * k > MAX_ELEMENTS:
        raise Unsupported(f"bits {bits}, block_size {block}, N {n}, K {k}")
    blocks = -(-k // block)
    integers = unpacked(body, body.input(1), bits, (n, blocks * block), (n, k))
    scale = body.reshape(body.input(2), n, blocks)
    floats = bool(body.input(3)) and body.dtype(3).kind == "f"
    if body.input(3) and not floats:
        row = -(-blocks * bits // 8) * 8 // bits
        zero = unpacked(body, body.input(3), bits, (n, row), (n, blocks))
    elif floats:
        zero = body.reshape(body.input(3), n, blocks)
    else:
        zero = body.constant(np.full((n, blocks), 1 << bits - 1, np.uint8))
    if floats or body.input(4):
        real = _in_groups(body, integers, scale, zero, block, k)
    else:
        real = body.emit("DequantizeLinear", integers, scale, zero, axis=1, block_size=block)
    y = body.emit("MatMul", body.input(0), body.transpose(real, 1, 0))
    return body.emit("Add", y, body.input(5)) if body.input(5) else y


_FP4 = (0.0, 5.208333333e-03, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
FOUR_BITS = (
    (*_FP4, *(-number for number in _FP4)),
    (
        -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
        -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
        0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
    ),
)  # fmt: skip
"""The numbers that 4 bits stand for, FP4 and NF4 (Dettmers et al., QLoRA, 2023, appendix E), by ``quant_type``."""


def _matmul_of_bnb4(body: Body) -> str:
    """A of floats; B a list of bytes with two numbers of ``[N, K]`` each, the first in the high bits; the greatest size
    in each block of that list."""
    n, k, block, kind = (body.attributes[name] for name in ("N", "K", "block_size", "quant_type"))
    if kind not in (0, 1) or block < 1 or n < 1 or k < 1 or n * k > MAX_ELEMENTS or n * k % block or n * k % 2:
        raise Unsupported(f"quant_type {kind}, block_size {block}, N {n}, K {k}")
    if not body.attributes.get("transB", 1):
        raise Unsupported("transB 0")
    data = body.reshape(body.input(1), -1)
    four, mask = (body.constant(np.asarray(number, np.uint8)) for number in (4, 15))
    parts = body.emit("BitShift", data, four, direction="RIGHT"), body.emit("BitwiseAnd", data, mask)
    codes = body.emit("Concat", *(body.reshape(part, -1, 1) for part in parts), axis=1)
    numbers = body.emit("Gather", body.constant(np.array(FOUR_BITS[kind], body.dtype(2))), body.cast(codes, np.int32))
    real = body.emit("Mul", body.reshape(numbers, -1, block), body.reshape(body.input(2), -1, 1))
    return body.emit("MatMul", body.input(0), body.transpose(body.reshape(real, n, k), 1, 0))


def _in_groups(body: Body, integers: str, scale: str, zero: str, block: int, k: int) -> str:
    """Weights whose scales the group of each row tells, or whose zero points are floats."""
    group = body.input(4) or body.constant(np.arange(k) // block)
    numbers = [body.emit("CastLike", part, scale) for part in (integers, zero)]
    whole, offset, factor = numbers[0], *(body.emit("Gather", part, group, axis=1) for part in (numbers[1], scale))
    return body.emit("Mul", body.emit("Sub", whole, offset), factor)


def _gather_of_blocks(body: Body) -> str:
    """Rows of data, scales and zero points that the indices choose; then these rows alone become floats."""
    rank, bits = len(body.shape(0)), body.attributes.get("bits", 4)
    packed = body.dtype(0) == np.uint8 and bits < 8
    axis = body.attributes.get("quantize_axis", 1) % rank
    chosen = body.attributes.get("gather_axis", 0) % rank
    if axis == chosen or (packed and axis != rank - 1):
        raise Unsupported("data gathered along the axis of its blocks")
    data, scale, zero = (
        body.emit("Gather", body.input(place), body.input(1), axis=chosen) if body.input(place) else ""
        for place in (0, 2, 3)
    )
    more = len(body.shape(1)) - 1
    axis += more if axis > chosen else 0
    shape = [*body.shape(0)[:chosen], *body.shape(1), *body.shape(0)[chosen + 1 :]]
    if packed:
        per, width = 8 // bits, body.shape(2)[-1]
        data = unpacked(body, data, bits, (-1, shape[-1] * per), (-1, shape[-1] * per))
        data = body.reshape(data, *shape[:-1], shape[-1] * per)
        if zero:
            row = -(-width // per) * per
            zero = body.reshape(unpacked(body, zero, bits, (-1, row), (-1, width)), *shape[:-1], width)
    if not zero and body.dtype(0) == np.uint8:
        zero = body.emit("Expand", body.constant(np.asarray(1 << bits - 1, np.uint8)), body.emit("Shape", scale))
    return body.emit("DequantizeLinear", data, scale, zero, axis=axis, block_size=body.attributes["block_size"])


def unpacked(body: Body, x: str, bits: int, shape: tuple[int, int], kept: tuple[int, int]) -> str:
    """Bytes, or several integers of 2 or 4 bits in each, the first in the low bits, as ``shape``; the first columns."""
    if bits < 8:
        shifted = [x] + [
            body.emit("BitShift", x, body.constant(np.asarray(shift, np.uint8)), direction="RIGHT")
            for shift in range(bits, 8, bits)
        ]
        mask, last = body.constant(np.asarray((1 << bits) - 1, np.uint8)), body.constant(np.array([-1], np.int64))
        parts = [body.emit("BitwiseAnd", part, mask) for part in shifted]
        x = body.emit("Concat", *(body.emit("Unsqueeze", part, last) for part in parts), axis=-1)
    whole = body.emit("Reshape", x, body.constant(np.array(shape, np.int64)))
    if shape == kept:
        return whole
    start, end, axis = (body.constant(np.array([number], np.int64)) for number in (0, kept[1], 1))
    return body.emit("Slice", whole, start, end, axis)


_POOL = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
RULES: Mapping[str, Rule] = {
    "GatherBlockQuantized": _gather_of_blocks,
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "MatMulIntegerToFloat": _matmul_to_float,
    "MatMulBnb4": _matmul_of_bnb4,
    "MatMulNBits": _matmul_of_bits,
    "NhwcMaxPool": _max_pool,
    "QGemm": _gemm,
    "QLinearAdd": partial(_binary, "Add"),
    "QLinearAveragePool": partial(_unary, "AveragePool", _POOL),
    "QLinearConcat": _concat,
    "QLinearConv": _conv,
    "QLinearGlobalAveragePool": partial(_unary, "GlobalAveragePool", ()),
    "QLinearLeakyRelu": partial(_unary, "LeakyRelu", ("alpha",)),
    "QLinearMul": partial(_binary, "Mul"),
    "QLinearReduceMean": _reduce_mean,
    "QLinearSigmoid": partial(_unary, "Sigmoid", ()),
    "QLinearSoftmax": _softmax,
    "QLinearWhere": _where,
}
