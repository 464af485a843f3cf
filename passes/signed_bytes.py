"""Unsigned bytes become signed ones, 128 less, for machines whose byte instructions are signed.

    %y : u8 = requantize(%acc, %s) {zero_point=128, lo=0, hi=255}     %y : i8 = requantize(%acc, %s) {zero_point=0, ...}
    %z : i32 = conv(%y, %w) {zero_point=128}                    ->    %z : i32 = conv(%y, %w) {zero_point=0}

A tensor and its zero point move together, so that every difference between them, and every result, stays what it was.
What has no rule here, and the inputs and outputs of the model, keep unsigned bytes: between the two forms stand a
``cast`` and the flip of the sign bit, which become a part of the neighbouring kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..ir.graph import AttrValue, Graph, Node, Value
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..ops.integer import LOW_BITS, WIDE_BITS
from .rewrite import Rewriter, rewrite

OFFSET = 128
_LIMITS = (-(1 << 31), (1 << 31) - 1)
_PRODUCT = {DType.I8: OFFSET, DType.I16: 1 << 15, DType.I32: 1 << WIDE_BITS - LOW_BITS}
"""How many times a factor the product of ``rescale_channels`` may be."""


def signed_bytes(graph: Graph) -> Graph:
    """``graph`` with signed bytes inside wherever its operators have rules."""
    if all(value.dtype is not DType.U8 for value in graph.values()):
        return graph
    return rewrite(graph, _rule)


def _rule(rewriter: Rewriter, node: Node) -> Value | None:
    rule = _RULES.get(node.op)
    if rule is None or all(value.dtype is not DType.U8 for value in (*node.operands, *node.outputs)):
        return None
    return rule(rewriter, node)


# ---------------------------------------------------------------- between the two forms


def _as_signed(rewriter: Rewriter, value: Value, loc: str) -> Value:
    """``value`` less 128; the tensor that it was made of, where it was made by :func:`_as_unsigned`."""
    known = _known_signed(rewriter, value)
    if known is not None:
        return known
    flipped = rewriter.emit1("bitxor", value, _sign_bit(rewriter), loc=loc)
    return rewriter.emit1("cast", flipped, loc=loc, to=DType.I8)


def _known_signed(rewriter: Rewriter, value: Value) -> Value | None:
    """The signed form of ``value``, where nothing has to be computed for it."""
    array = rewriter.array(value)
    if array is not None:
        return rewriter.constant((array.astype(np.int16) - OFFSET).astype(np.int8), value.name)
    flip = rewriter.producer(value)
    if flip is None or flip.op != "bitxor":
        return None
    cast, bit = rewriter.producer(flip.operands[0]), rewriter.array(flip.operands[1])
    if cast is None or cast.op != "cast" or bit is None or bit.shape or bit.item() != OFFSET:
        return None
    return cast.operands[0] if cast.operands[0].dtype is DType.I8 else None


def _as_unsigned(rewriter: Rewriter, signed: Value, node: Node) -> Value:
    bytes_ = rewriter.emit1("cast", signed, loc=node.loc, to=DType.U8)
    return rewriter.emit1("bitxor", bytes_, _sign_bit(rewriter), loc=node.loc)


def _sign_bit(rewriter: Rewriter) -> Value:
    return rewriter.constant(np.array(OFFSET, np.uint8), "sign")


def _emit(rewriter: Rewriter, node: Node, operands: Sequence[Value | None], attrs: dict[str, AttrValue]) -> Value:
    """The node on other operands; where it made unsigned bytes, it makes signed ones, which are turned back."""
    (made,) = rewriter.emit(node.op, operands, attrs, loc=node.loc, names=[node.output.name])
    return made if made.dtype is node.output.dtype else _as_unsigned(rewriter, made, node)


def _lowered(attrs: dict[str, AttrValue], *names: str) -> None:
    """Takes 128 off attributes that are values of the tensor."""
    for name in names:
        if name in attrs:
            attrs[name] = integer(attrs, name) - OFFSET


# ---------------------------------------------------------------- rules


def _difference(*zero_points: str) -> Callable[[Rewriter, Node], Value | None]:
    """Operators of ``operand - zero point``, with an attribute for each of the first operands."""

    def rule(rewriter: Rewriter, node: Node) -> Value | None:
        attrs, operands = dict(node.attrs), list(node.inputs)
        for position, name in enumerate(zero_points):
            value = operands[position]
            if value is not None and value.dtype is DType.U8:
                operands[position] = _as_signed(rewriter, value, node.loc)
                attrs[name] = (integer(attrs, name) if name in attrs else 0) - OFFSET
        return _emit(rewriter, node, operands, _result(node, attrs))

    return rule


def _result(node: Node, attrs: dict[str, AttrValue]) -> dict[str, AttrValue]:
    """Attributes of an operator that says by ``to``, ``zero_point``, ``lo`` and ``hi`` what its result is."""
    if attrs.get("to") is DType.U8:
        attrs["to"] = DType.I8
        _lowered(attrs, "zero_point", "lo", "hi")
    return attrs


def _summed(rewriter: Rewriter, node: Node) -> Value | None:
    """Pools and reductions: sums of differences, or what commutes with the offset."""
    if node.attrs["kind"] in ("max", "min"):
        return _emit(rewriter, node, [_as_signed(rewriter, node.operands[0], node.loc)], dict(node.attrs))
    return _difference("zero_point")(rewriter, node) if "zero_point" in node.attrs else None


def _stepped(rewriter: Rewriter, node: Node) -> Value | None:
    """``requantize``, whose operand is an accumulator."""
    return _emit(rewriter, node, node.inputs, _result(node, dict(node.attrs)))


def _looked_up(rewriter: Rewriter, node: Node) -> Value | None:
    """The table begins at the least value of either type."""
    x, table = node.operands
    attrs, array = dict(node.attrs), rewriter.array(table)
    if x.dtype is DType.U8:
        x = _as_signed(rewriter, x, node.loc)
    if table.dtype is DType.U8 and array is not None:
        table = rewriter.constant((array.astype(np.int16) - OFFSET).astype(np.int8), table.name)
        _lowered(attrs, "zero_point")
    return _emit(rewriter, node, [x, table], attrs)


def _rescaled(rewriter: Rewriter, node: Node) -> Value | None:
    """``(x1 * m1 + x2 * m2 + bias) >> shift``: offsets of operands and of the result are in the bias, if that fits."""
    attrs, operands = dict(node.attrs), list(node.operands)
    bias, shift = integer(attrs, "bias"), integer(attrs, "shift")
    for position, name in enumerate(("m1", "m2")):
        if operands[position].dtype is DType.U8:
            operands[position] = _as_signed(rewriter, operands[position], node.loc)
            bias += OFFSET * integer(attrs, name)
    if attrs["to"] is DType.U8:
        bias -= OFFSET << shift
    attrs["bias"] = bias
    if all(value.dtype is DType.I8 for value in operands):
        spread = OFFSET * (abs(integer(attrs, "m1")) + abs(integer(attrs, "m2")))
        if bias - spread < _LIMITS[0] or bias + spread > _LIMITS[1]:
            return None
    return _emit(rewriter, node, operands, _result(node, attrs))


def _rescaled_product(rewriter: Rewriter, node: Node) -> Value | None:
    """``((x1 - z1) * (x2 - z2) * m + bias) >> shift``"""
    attrs, operands = dict(node.attrs), list(node.operands)
    for position, name in enumerate(("z1", "z2")):
        if operands[position].dtype is DType.U8:
            operands[position] = _as_signed(rewriter, operands[position], node.loc)
            _lowered(attrs, name)
    if attrs["to"] is DType.U8:
        attrs["bias"] = integer(attrs, "bias") - (OFFSET << integer(attrs, "shift"))
        ends = [(-OFFSET - integer(attrs, name), OFFSET - 1 - integer(attrs, name)) for name in ("z1", "z2")]
        products = [a * b * integer(attrs, "m") + integer(attrs, "bias") for a in ends[0] for b in ends[1]]
        if all(value.dtype is DType.I8 for value in operands) and not _fit(min(products), max(products)):
            return None
    return _emit(rewriter, node, operands, _result(node, attrs))


def _rescaled_channels(rewriter: Rewriter, node: Node) -> Value | None:
    """``(x * factor + bias) >> shift``, with an element of both for each channel."""
    x, factor, bias = node.operands
    factors, start = rewriter.array(factor), rewriter.array(bias)
    if factors is None or start is None:
        return None
    total = start.astype(np.int64)
    if x.dtype is DType.U8:
        x, total = _as_signed(rewriter, x, node.loc), total + OFFSET * factors.astype(np.int64)
    if node.attrs["to"] is DType.U8:
        total = total - (OFFSET << integer(node.attrs, "shift"))
    spread = _PRODUCT[x.dtype] * np.abs(factors.astype(np.int64))
    if not _fit(int((total - spread).min(initial=0)), int((total + spread).max(initial=0))):
        return None
    operands = [x, factor, rewriter.constant(total.astype(np.int32), bias.name)]
    return _emit(rewriter, node, operands, _result(node, dict(node.attrs)))


def _softmax(rewriter: Rewriter, node: Node) -> Value | None:
    """Looks up differences to the greatest element."""
    x, table = node.operands
    x = _as_signed(rewriter, x, node.loc) if x.dtype is DType.U8 else x
    return _emit(rewriter, node, [x, table], _result(node, dict(node.attrs)))


def _fit(low: int, high: int) -> bool:
    return _LIMITS[0] <= low and high <= _LIMITS[1]


def _clipped(rewriter: Rewriter, node: Node) -> Value | None:
    signed = _known_signed(rewriter, node.operands[0])
    attrs = dict(node.attrs)
    _lowered(attrs, "lo", "hi")
    return None if signed is None else _emit(rewriter, node, [signed], attrs)


def _moved(rewriter: Rewriter, node: Node) -> Value | None:
    """Operators that pass bytes on as they are, all from operands of the same type; where all are signed already."""
    moved = [value for value in node.operands if value.dtype is node.output.dtype]
    known = {value.name: _known_signed(rewriter, value) for value in moved}
    if not any(known.values()):
        return None
    signed = {value.name: known[value.name] or _as_signed(rewriter, value, node.loc) for value in moved}
    operands = [None if value is None else signed.get(value.name, value) for value in node.inputs]
    attrs = dict(node.attrs)
    if node.op == "pad" and attrs["mode"] == "constant":
        _lowered(attrs, "value")
    return _emit(rewriter, node, operands, attrs)


def _quantized(rewriter: Rewriter, node: Node) -> Value | None:
    """``quantize`` of a float, which saturates to either type."""
    lowered = tuple(point - OFFSET for point in ints(node.attrs, "zero_point"))
    return _emit(rewriter, node, node.inputs, {**node.attrs, "to": DType.I8, "zero_point": lowered})


def _dequantized(rewriter: Rewriter, node: Node) -> Value | None:
    signed = _known_signed(rewriter, node.operands[0])
    lowered = tuple(point - OFFSET for point in ints(node.attrs, "zero_point"))
    return None if signed is None else _emit(rewriter, node, [signed], {**node.attrs, "zero_point": lowered})


_RULES: dict[str, Callable[[Rewriter, Node], Value | None]] = {
    "conv": _difference("zero_point"),
    "conv_transpose": _difference("zero_point"),
    "matmul": _difference("zero_point", "rhs_zero_point"),
    "interpolate": _difference("zero_point"),
    "pool": _summed,
    "reduce": _summed,
    "requantize": _stepped,
    "lookup": _looked_up,
    "rescale": _rescaled,
    "rescale_product": _rescaled_product,
    "rescale_channels": _rescaled_channels,
    "int_softmax": _softmax,
    "int_normalize": _difference("x_zero_point"),
    "clip": _clipped,
    "quantize": _quantized,
    "dequantize": _dequantized,
    **dict.fromkeys(
        ("reshape", "transpose", "slice", "expand", "concat", "pad", "gather", "where", "min", "max"), _moved
    ),
}
