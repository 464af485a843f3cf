"""Operators as the operator sets 1 to 6 define them, rewritten to their form in operator set 7.

Differences in where a parameter stands are settled by ``NodeContext.parameter``; here are those in what it means:
broadcasting along an axis that an attribute names, attributes of other names and types, operands that became
attributes.
Attributes of training and of memory reuse (``is_test``, ``consumed_inputs``) are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import onnx
from onnx import AttributeProto, helper

from .context import NodeContext

NEW_FORMS = 7
"""The first operator set whose operators the rules know."""

Attributes = dict[str, AttributeProto]
_Rewrite = Callable[[NodeContext, Attributes], NodeContext]


def modern(ctx: NodeContext) -> NodeContext:
    """The node as operator set 7 would have it."""
    kept = {name: value for name, value in ctx.attributes.items() if name not in ("consumed_inputs", "is_test")}
    rewrite = _REWRITES.get(ctx.op_type, _with_attributes)
    return replace(rewrite(ctx, kept), opset=NEW_FORMS)


def _with_attributes(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    return replace(ctx, attributes=attributes)


def _set(attributes: Attributes, name: str, value: object) -> None:
    attributes[name] = helper.make_attribute(name, value)


# ---------------------------------------------------------------- broadcasting


def _binary(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """With ``broadcast`` the second operand's dimensions lie along those of the first from ``axis`` on, by default
    along the last ones; without, the shapes are equal."""
    x, y = ctx.input(0), ctx.input(1)
    attributes.pop("broadcast", None)
    attributes.pop("axis", None)
    if not ctx.integer("broadcast", 0):
        if x.shape != y.shape:
            raise ctx.invalid(f"{ctx.op_type} of {x.type} and {y.type} without broadcast")
    elif ctx.has("axis"):
        start = ctx.axis(ctx.integer("axis"), len(x.shape)) if x.shape else 0
        if start + len(y.shape) > len(x.shape):
            raise ctx.invalid(f"{y.type} does not fit {x.type} from axis {start} on")
        y = ctx.reshape(y, (*y.shape, *[1] * (len(x.shape) - start - len(y.shape))))
    return replace(ctx, inputs=(x, y), attributes=attributes)


def _gemm(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """C is broadcast as in later versions; that it may be is an attribute."""
    attributes.pop("broadcast", None)
    return _with_attributes(ctx, attributes)


def _prelu(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """One slope for all elements, or one a channel."""
    x, slope = ctx.input(0), ctx.input(1)
    if len(slope.shape) == 1 and slope.type.size > 1 and len(x.shape) > 1:
        slope = ctx.reshape(slope, (*slope.shape, *[1] * (len(x.shape) - 2)))
    return replace(ctx, inputs=(x, slope), attributes=attributes)


# ---------------------------------------------------------------- training


def _batch_normalization(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """Without ``is_test`` it is training, also where no more than the result is wanted."""
    if ctx.integer("is_test", 0):
        return _with_attributes(ctx, attributes)
    return replace(ctx, output_count=5, attributes=attributes)


# ---------------------------------------------------------------- attributes of other names, types and defaults


def _cast(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """Up to operator set 5 the element type is a name."""
    if ctx.opset < 6:
        name = ctx.string("to")
        element = _ELEMENT_TYPES.get(name)
        if element is None:
            raise ctx.invalid(f"{name} is no element type")
        _set(attributes, "to", element)
    return _with_attributes(ctx, attributes)


def _concat(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    attributes.setdefault("axis", helper.make_attribute("axis", 1))
    return _with_attributes(ctx, attributes)


def _lp(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """In operator set 1 the exponent is a float."""
    if ctx.opset < 2 and ctx.has("p"):
        p = ctx.number("p")
        if p != int(p):
            raise ctx.unsupported(f"the exponent {p} is not a whole number")
        _set(attributes, "p", int(p))
    return _with_attributes(ctx, attributes)


def _pad(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    if "paddings" in attributes:
        _set(attributes, "pads", list(ctx.integers("paddings")))
        del attributes["paddings"]
    return _with_attributes(ctx, attributes)


def _selu(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """Operator set 1 has the constants with fewer digits."""
    if ctx.opset < 6:
        for name, value in (("alpha", 1.6732), ("gamma", 1.0507)):
            attributes.setdefault(name, helper.make_attribute(name, value))
    return _with_attributes(ctx, attributes)


def _tile(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """In operator set 1 one axis is repeated; both it and the count are operands."""
    if ctx.opset >= 6:
        return _with_attributes(ctx, attributes)
    x = ctx.input(0)
    count, axis = (int(ctx.static(position, what).reshape(-1)[0]) for position, what in ((1, "tiles"), (2, "axis")))
    repeats = [1] * len(x.shape)
    repeats[ctx.axis(axis, len(x.shape))] = count
    _set(attributes, "repeats", repeats)
    return replace(ctx, inputs=(x,), attributes=attributes)


def _upsample(ctx: NodeContext, attributes: Attributes) -> NodeContext:
    """Scales of height and width of [n, c, h, w]."""
    if "height_scale" in attributes:
        _set(attributes, "scales", [1.0, 1.0, ctx.number("height_scale"), ctx.number("width_scale")])
        del attributes["height_scale"], attributes["width_scale"]
    return _with_attributes(ctx, attributes)


_ELEMENT_TYPES: Mapping[str, int] = dict(onnx.TensorProto.DataType.items())
_BINARY = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
_REWRITES: Mapping[str, _Rewrite] = {
    **dict.fromkeys(_BINARY, _binary),
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "Concat": _concat,
    "Gemm": _gemm,
    "GlobalLpPool": _lp,
    "LpPool": _lp,
    "PRelu": _prelu,
    "Pad": _pad,
    "Selu": _selu,
    "Tile": _tile,
    "Upsample": _upsample,
}
