"""Bytes of one sign become bytes of the other, 128 more or less, for machines whose byte instructions want these.

    %y : u8 = requantize(%acc, %s) {zero_point=128, lo=0, hi=255}     %y : i8 = requantize(%acc, %s) {zero_point=0, ...}
    %z : i32 = conv(%y, %w) {zero_point=128}                    ->    %z : i32 = conv(%y, %w) {zero_point=0}

A tensor and its zero point move together, so that every difference between them, and every result, stays what it was.
Weights stay as they are: instructions for unsigned activations take signed ones. What has no rule here, and the inputs
and outputs of the model, keep their bytes: between the two forms stand a ``cast`` and the flip of the sign bit, which
become a part of the neighbouring kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..ir.graph import AttrValue, Graph, Node, Value
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..ops.integer import WIDE_BITS
from ..record import record
from .rewrite import Rewriter, rewrite

HALF = 128
"""What the same bits mean more without a sign."""
_SIGN = np.array(HALF, np.uint8)
_LIMITS = (-(1 << 31), (1 << 31) - 1)
_WIDE = {DType.I16: 1 << 15, DType.I32: 1 << WIDE_BITS}
"""The greatest operand of ``rescale_channels``, of those that are no bytes."""


@record
class _Change:
    """Tensors of type ``old`` become such of type ``new``, their values ``offset`` more."""

    old: DType
    new: DType

    @property
    def offset(self) -> int:
        return -HALF if self.new is DType.I8 else HALF

    # ---- between the two forms

    def changed(self, rewriter: Rewriter, value: Value, loc: str) -> Value:
        """``value`` in the new form; the tensor that it was made of, where it was made by :meth:`restored`."""
        known = self.known(rewriter, value)
        return _flipped(rewriter, value, self.new, loc) if known is None else known

    def known(self, rewriter: Rewriter, value: Value) -> Value | None:
        """The new form of ``value``, where nothing has to be computed for it."""
        array = rewriter.array(value)
        if array is not None:
            moved = (array.astype(np.int16) + self.offset).astype(self.new.numpy)
            return rewriter.constant(moved, value.name)
        source = _source_of_flip(rewriter, value)
        return source if source is not None and source.dtype is self.new else None

    def emit(
        self, rewriter: Rewriter, node: Node, operands: Sequence[Value | None], attrs: dict[str, AttrValue]
    ) -> Value:
        """The node on other operands; where it made old bytes, it makes new ones, which are turned back."""
        (made,) = rewriter.emit(node.op, operands, attrs, loc=node.loc, names=[node.output.name])
        return made if made.dtype is node.output.dtype else _flipped(rewriter, made, self.old, node.loc)

    def move(self, attrs: dict[str, AttrValue], *names: str) -> None:
        """Adds the offset to attributes that are values of the tensor."""
        for name in names:
            if name in attrs:
                attrs[name] = integer(attrs, name) + self.offset

    def result(self, attrs: dict[str, AttrValue]) -> dict[str, AttrValue]:
        """Attributes of an operator that says by ``to``, ``zero_point``, ``lo`` and ``hi`` what its result is."""
        if attrs.get("to") is self.old:
            attrs["to"] = self.new
            self.move(attrs, "zero_point", "lo", "hi")
        return attrs


_SIGNED, _UNSIGNED = _Change(DType.U8, DType.I8), _Change(DType.I8, DType.U8)


def signed_bytes(graph: Graph) -> Graph:
    """``graph`` with signed bytes inside wherever its operators have rules."""
    return _with_change(graph, _SIGNED)


def unsigned_bytes(graph: Graph) -> Graph:
    """``graph`` with unsigned bytes inside wherever its operators have rules, but for weights."""
    return _with_change(graph, _UNSIGNED)


def _with_change(graph: Graph, change: _Change) -> Graph:
    if all(value.dtype is not change.old for value in graph.values()):
        return graph
    return rewrite(graph, partial(_rule, change))


def _rule(change: _Change, rewriter: Rewriter, node: Node) -> Value | Sequence[Value] | None:
    rule = _RULES.get(node.op)
    if rule is None or all(value.dtype is not change.old for value in (*node.operands, *node.outputs)):
        return None
    return rule(change, rewriter, node)


def _flipped(rewriter: Rewriter, value: Value, to: DType, loc: str) -> Value:
    """``value`` with its sign bit flipped, in the other type."""
    sign = rewriter.constant(_SIGN, "sign")
    if to is DType.U8:
        return rewriter.emit1("bitxor", rewriter.emit1("cast", value, loc=loc, to=to), sign, loc=loc)
    return rewriter.emit1("cast", rewriter.emit1("bitxor", value, sign, loc=loc), loc=loc, to=to)


def _source_of_flip(rewriter: Rewriter, value: Value) -> Value | None:
    """What :func:`_flipped` made ``value`` of."""
    last = rewriter.producer(value)
    if last is None or last.op not in ("bitxor", "cast") or value.dtype not in (DType.I8, DType.U8):
        return None
    first = rewriter.producer(last.operands[0])
    flip, cast = (last, first) if last.op == "bitxor" else (first, last)
    if first is None or flip is None or cast is None or flip.op != "bitxor" or cast.op != "cast":
        return None
    bit, source = rewriter.array(flip.operands[1]), first.operands[0]
    is_sign = bit is not None and not bit.shape and bit.item() == HALF
    return source if is_sign and {source.dtype, value.dtype} == {DType.I8, DType.U8} else None


# ---------------------------------------------------------------- rules

_Rule = Callable[[_Change, Rewriter, Node], Value | Sequence[Value] | None]


def _difference(*zero_points: str) -> Callable[[_Change, Rewriter, Node], Value | None]:
    """Operators of ``operand - zero point``, with an attribute for each of the first operands."""

    def rule(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
        attrs, operands = dict(node.attrs), list(node.inputs)
        for position, name in enumerate(zero_points):
            value = operands[position]
            if value is not None and value.dtype is change.old and _may_change(change, position):
                operands[position] = change.changed(rewriter, value, node.loc)
                attrs[name] = (integer(attrs, name) if name in attrs else 0) + change.offset
        changed = any(one is not other for one, other in zip(operands, node.inputs, strict=True))
        attrs = change.result(attrs)
        return change.emit(rewriter, node, operands, attrs) if changed or attrs != dict(node.attrs) else None

    return rule


def _may_change(change: _Change, position: int) -> bool:
    """Whether an operand may: the second factor of products of unsigned bytes is signed."""
    return position == 0 or change is _SIGNED


def _summed(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """Pools and reductions: sums of differences, or what commutes with the offset."""
    if node.attrs["kind"] in ("max", "min"):
        moved = change.changed(rewriter, node.operands[0], node.loc)
        return change.emit(rewriter, node, [moved], dict(node.attrs))
    return _difference("zero_point")(change, rewriter, node) if "zero_point" in node.attrs else None


def _stepped(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """``requantize``, whose operand is an accumulator."""
    return change.emit(rewriter, node, node.inputs, change.result(dict(node.attrs)))


def _looked_up(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """The table begins at the least value of either type."""
    x, table = node.operands
    attrs, array = dict(node.attrs), rewriter.array(table)
    if x.dtype is change.old:
        x = change.changed(rewriter, x, node.loc)
    if table.dtype is change.old and array is not None:
        table = change.changed(rewriter, table, node.loc)
        change.move(attrs, "zero_point")
    return change.emit(rewriter, node, [x, table], attrs)


def _rescaled(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """``(x1 * m1 + x2 * m2 + bias) >> shift``: offsets of operands and of the result are in the bias, if that fits."""
    attrs, operands = dict(node.attrs), list(node.operands)
    bias = integer(attrs, "bias")
    for position, name in enumerate(("m1", "m2")):
        if operands[position].dtype is change.old:
            operands[position] = change.changed(rewriter, operands[position], node.loc)
            bias -= change.offset * integer(attrs, name)
    if attrs["to"] is change.old:
        bias += change.offset << integer(attrs, "shift")
    attrs["bias"] = bias
    ends = [_multiples(value.dtype, integer(attrs, name)) for value, name in zip(operands, ("m1", "m2"), strict=True)]
    if not _fit(bias + sum(low for low, _ in ends), bias + sum(high for _, high in ends)):
        return None
    return change.emit(rewriter, node, operands, change.result(attrs))


def _rescaled_product(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """``((x1 - z1) * (x2 - z2) * m + bias) >> shift``"""
    attrs, operands = dict(node.attrs), list(node.operands)
    for position, name in enumerate(("z1", "z2")):
        if operands[position].dtype is change.old:
            operands[position] = change.changed(rewriter, operands[position], node.loc)
            change.move(attrs, name)
    if attrs["to"] is change.old:
        attrs["bias"] = integer(attrs, "bias") + (change.offset << integer(attrs, "shift"))
    ends = [
        [end - integer(attrs, name) for end in _ends(value.dtype)]
        for value, name in zip(operands, ("z1", "z2"), strict=True)
    ]
    products = [a * b * integer(attrs, "m") + integer(attrs, "bias") for a in ends[0] for b in ends[1]]
    if not _fit(min(products), max(products)):
        return None
    return change.emit(rewriter, node, operands, change.result(attrs))


def _rescaled_channels(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """``(x * factor + bias) >> shift``, with an element of both for each channel."""
    x, factor, bias = node.operands
    factors, start = rewriter.array(factor), rewriter.array(bias)
    if factors is None or start is None:
        return None
    wide, total = factors.astype(np.int64), start.astype(np.int64)
    if x.dtype is change.old:
        x, total = change.changed(rewriter, x, node.loc), total - change.offset * wide
    if node.attrs["to"] is change.old:
        total = total + (change.offset << integer(node.attrs, "shift"))
    low, high = _ends(x.dtype) if x.dtype in (DType.I8, DType.U8) else (-_WIDE[x.dtype], _WIDE[x.dtype])
    unused = 32 if x.dtype is DType.I32 else 0
    products = (total + (low * wide >> unused), total + (high * wide >> unused))
    if not _fit(min(int(p.min(initial=0)) for p in products), max(int(p.max(initial=0)) for p in products)):
        return None
    operands = [x, factor, rewriter.constant(total.astype(np.int32), bias.name)]
    return change.emit(rewriter, node, operands, change.result(dict(node.attrs)))


def _softmax(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """Looks up differences to the greatest element."""
    x, table = node.operands
    x = change.changed(rewriter, x, node.loc) if x.dtype is change.old else x
    return change.emit(rewriter, node, [x, table], change.result(dict(node.attrs)))


def _ends(dtype: DType) -> tuple[int, int]:
    """The least and the greatest byte."""
    return (-HALF, HALF - 1) if dtype is DType.I8 else (0, 2 * HALF - 1)


def _multiples(dtype: DType, factor: int) -> tuple[int, int]:
    """The least and the greatest product of a byte and ``factor``."""
    low, high = sorted(end * factor for end in _ends(dtype))
    return low, high


def _fit(low: int, high: int) -> bool:
    return _LIMITS[0] <= low and high <= _LIMITS[1]


def _clipped(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    known = change.known(rewriter, node.operands[0])
    attrs = dict(node.attrs)
    change.move(attrs, "lo", "hi")
    return None if known is None else change.emit(rewriter, node, [known], attrs)


def _moved(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """Operators that pass bytes on as they are, all from operands of the same type; where any is known already."""
    moved = [value for value in node.operands if value.dtype is node.output.dtype]
    known = {value.name: change.known(rewriter, value) for value in moved if value.dtype is change.old}
    if not any(known.values()):
        return None
    new = {value.name: known[value.name] or change.changed(rewriter, value, node.loc) for value in moved}
    operands = [None if value is None else new.get(value.name, value) for value in node.inputs]
    attrs = dict(node.attrs)
    if node.op == "pad" and attrs["mode"] == "constant":
        change.move(attrs, "value")
    return change.emit(rewriter, node, operands, attrs)


def _recurrent(change: _Change, rewriter: Rewriter, node: Node) -> Sequence[Value] | None:
    """Recurrent layers, which have several results, none of them bytes, and whose weights stay signed."""
    x, *rest = node.inputs
    if x is None or x.dtype is not change.old:
        return None
    attrs = {**node.attrs, "x_zero_point": integer(node.attrs, "x_zero_point") + change.offset}
    operands = [change.changed(rewriter, x, node.loc), *rest]
    return rewriter.emit(node.op, operands, attrs, loc=node.loc, names=[value.name for value in node.outputs])


def _quantized(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    """``quantize`` of a float, which saturates to either type."""
    if node.output.dtype is not change.old:
        return None
    moved = tuple(point + change.offset for point in ints(node.attrs, "zero_point"))
    return change.emit(rewriter, node, node.inputs, {**node.attrs, "to": change.new, "zero_point": moved})


def _dequantized(change: _Change, rewriter: Rewriter, node: Node) -> Value | None:
    known = change.known(rewriter, node.operands[0]) if node.operands[0].dtype is change.old else None
    moved = tuple(point + change.offset for point in ints(node.attrs, "zero_point"))
    return None if known is None else change.emit(rewriter, node, [known], {**node.attrs, "zero_point": moved})


_RULES: dict[str, _Rule] = {
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
    **dict.fromkeys(("int_lstm", "int_gru", "int_rnn"), _recurrent),
    "clip": _clipped,
    "quantize": _quantized,
    "dequantize": _dequantized,
    **dict.fromkeys(
        ("reshape", "transpose", "slice", "expand", "concat", "pad", "gather", "where", "min", "max"), _moved
    ),
}
