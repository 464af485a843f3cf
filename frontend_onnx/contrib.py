"""Quantized operators of ONNX Runtime's own domain, as functions of ONNX operators.

ONNX Runtime's static quantization writes them in QOperator format, its dynamic quantization and its weight-only
quantization too. Each is ``dequantize -> operator -> quantize`` (or part of that), and so is its body here; it is
written for one node, because some are variadic and operands may be left out. The definitions are those of
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .tensors import MAX_ELEMENTS

DOMAIN = "com.microsoft"
_OPSET = 21


class _Body:
    """The function under construction. Operands of the node have their position as name, absent ones none."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self.node = node
        self.inputs = [f"in{place}" for place in range(len(node.input))]
        self.present = [bool(name) for name in node.input]
        self.attributes: dict[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.nodes: list[onnx.NodeProto] = []
        self.opset = _OPSET

    def input(self, place: int) -> str:
        """Its name; empty where it is absent."""
        return self.inputs[place] if place < len(self.inputs) and self.present[place] else ""

    def emit(self, op_type: str, *operands: str, **attributes: Any) -> str:
        names = list(operands)
        while names and not names[-1]:
            names.pop()
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op_type, names, [f"t{len(self.nodes)}"], **given))
        return self.nodes[-1].output[0]

    def constant(self, array: np.ndarray | float) -> str:
        return self.emit("Constant", value=numpy_helper.from_array(np.asarray(array)))

    def real(self, first: int, axis: int | None = None) -> str:
        """The operand at ``first``, whose scale and zero point follow it."""
        return self.emit("DequantizeLinear", *(self.input(first + place) for place in range(3)), axis=axis)

    def stored(self, value: str, first: int) -> str:
        """``value`` in the scale and with the zero point that begin at ``first``."""
        return self.emit("QuantizeLinear", value, self.input(first), self.input(first + 1))

    def function(self, result: str) -> onnx.FunctionProto:
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_function(DOMAIN, self.node.op_type, self.inputs, [result], self.nodes, opsets)


def contrib_function(node: onnx.NodeProto) -> onnx.FunctionProto | None:
    """The body of an operator for ``node``; ``None`` where there is none, for these attributes.

    Raises :class:`ValueError` where an attribute is missing or of the wrong kind.
    """
    rule = RULES.get(node.op_type) if node.domain == DOMAIN else None
    if rule is None or any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    body = _Body(node)
    try:
        result = rule(body)
    except KeyError as problem:
        raise ValueError(f"the attribute {problem.args[0]} is missing") from problem
    except TypeError as problem:
        raise ValueError(f"an attribute has the wrong type: {problem}") from problem
    return None if result is None else body.function(result)


_Rule = Callable[[_Body], "str | None"]


# ---------------------------------------------------------------- one operator between dequantize and quantize


def _binary(op_type: str, body: _Body) -> str:
    return body.stored(body.emit(op_type, body.real(0), body.real(3)), 6)


def _unary(op_type: str, names: Sequence[str], body: _Body) -> str | None:
    """With those attributes that the operator of ONNX has; of tensors in the order of ONNX only."""
    if body.attributes.pop("channels_last", 0):
        return None
    attributes = {name: body.attributes.get(name) for name in names}
    return body.stored(body.emit(op_type, body.real(0), **attributes), 3)


def _softmax(body: _Body) -> str:
    """Before operator set 13 the dimensions from the axis on are one."""
    body.opset = 13 if body.attributes["opset"] >= 13 else 11
    return body.stored(body.emit("Softmax", body.real(0), axis=body.attributes.get("axis", -1)), 3)


def _reduce_mean(body: _Body) -> str:
    body.opset = 13
    attributes = {name: body.attributes.get(name) for name in ("axes", "keepdims")}
    return body.stored(body.emit("ReduceMean", body.real(0), **attributes), 3)


def _concat(body: _Body) -> str:
    parts = [body.real(first) for first in range(2, len(body.inputs), 3)]
    return body.stored(body.emit("Concat", *parts, axis=body.attributes["axis"]), 0)


def _where(body: _Body) -> str:
    return body.stored(body.emit("Where", body.input(0), body.real(1), body.real(4)), 7)


def _gemm(body: _Body) -> str:
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


def _matmul_to_float(body: _Body) -> str:
    """A, B, scales of both, zero points of both, bias."""
    zeros = [body.input(4), body.input(5)]
    acc = body.emit("MatMulInteger", body.input(0), body.input(1), *zeros)
    return _scaled(body, acc, body.emit("Mul", body.input(2), body.input(3)), body.input(6))


def _dynamic_matmul(body: _Body) -> str:
    """A of floats, B, B's scale and zero point, bias."""
    names = [f"dynamic{place}" for place in range(3)]
    body.nodes.append(helper.make_node("DynamicQuantizeLinear", [body.input(0)], names))
    acc = body.emit("MatMulInteger", names[0], body.input(1), names[2], body.input(3))
    return _scaled(body, acc, body.emit("Mul", names[1], body.input(2)), body.input(4))


def _scaled(body: _Body, acc: str, scale: str, bias: str) -> str:
    real = body.emit("Mul", body.emit("Cast", acc, to=onnx.TensorProto.FLOAT), scale)
    return body.emit("Add", real, bias) if bias else real


def _matmul_of_bits(body: _Body) -> str | None:
    """A of floats; B ``[N, blocks, bytes]``, scales and zero points for each block of each of the N columns."""
    n, k, bits = (body.attributes.get(name, default) for name, default in (("N", 0), ("K", 0), ("bits", 4)))
    block = body.attributes["block_size"]
    if bits not in (4, 8) or block < 16 or n < 1 or k < 1 or n * k > MAX_ELEMENTS or body.input(4):
        return None
    blocks = -(-k // block)
    integers = _unpacked(body, body.input(1), bits, (n, blocks * block), (n, k))
    if body.input(3):
        row = blocks + blocks % 2 if bits == 4 else blocks
        zero = _unpacked(body, body.input(3), bits, (n, row), (n, blocks))
    else:
        zero = body.constant(np.full((n, blocks), 1 << bits - 1, np.uint8))
    scale = body.emit("Reshape", body.input(2), body.constant(np.array([n, blocks], np.int64)))
    real = body.emit("DequantizeLinear", integers, scale, zero, axis=1, block_size=block)
    y = body.emit("MatMul", body.input(0), body.emit("Transpose", real, perm=[1, 0]))
    return body.emit("Add", y, body.input(5)) if body.input(5) else y


def _unpacked(body: _Body, x: str, bits: int, shape: tuple[int, int], kept: tuple[int, int]) -> str:
    """Bytes, or two integers of 4 bits in each, the first in the low bits, as ``shape``; the first columns of it."""
    if bits == 4:
        low = body.emit("BitwiseAnd", x, body.constant(np.asarray(15, np.uint8)))
        high = body.emit("BitShift", x, body.constant(np.asarray(4, np.uint8)), direction="RIGHT")
        last = body.constant(np.array([-1], np.int64))
        x = body.emit("Concat", *(body.emit("Unsqueeze", part, last) for part in (low, high)), axis=-1)
    whole = body.emit("Reshape", x, body.constant(np.array(shape, np.int64)))
    if shape == kept:
        return whole
    start, end, axis = (body.constant(np.array([number], np.int64)) for number in (0, kept[1], 1))
    return body.emit("Slice", whole, start, end, axis)


_POOL = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
RULES: Mapping[str, _Rule] = {
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "MatMulIntegerToFloat": _matmul_to_float,
    "MatMulNBits": _matmul_of_bits,
    "QGemm": _gemm,
    "QLinearAdd": partial(_binary, "Add"),
    "QLinearAveragePool": partial(_unary, "AveragePool", _POOL),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": partial(_unary, "GlobalAveragePool", ()),
    "QLinearLeakyRelu": partial(_unary, "LeakyRelu", ("alpha",)),
    "QLinearMul": partial(_binary, "Mul"),
    "QLinearReduceMean": _reduce_mean,
    "QLinearSigmoid": partial(_unary, "Sigmoid", ()),
    "QLinearSoftmax": _softmax,
    "QLinearWhere": _where,
}
