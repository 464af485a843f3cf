"""Rules of pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

from ..ir.graph import AttrValue, Value
from .context import NodeContext, Rule
from .padding import window_attributes


def pool(kind: str, ctx: NodeContext) -> Sequence[Value]:
    """SAME padding leaves nothing over for ``ceil_mode``. The second result of MaxPool are indices."""
    x = ctx.input(0)
    if len(x.shape) < 3:
        raise ctx.invalid(f"{ctx.op_type} of {x.type}, which has no spatial dimensions")
    window = window_attributes(ctx, x.shape[2:], ctx.integers("kernel_shape"))
    ceil_mode = bool(ctx.integer("ceil_mode", 0))
    attrs: dict[str, AttrValue] = {
        "kernel": window.kernel, "stride": window.stride, "pad": window.pad, "dilation": window.dilation,
        "ceil_mode": ceil_mode and not window.same,
    }  # fmt: skip
    include = bool(ctx.integer("count_include_pad", 0))
    y = ctx.emit("pool", x, kind=kind, count_include_pad=include, layout="channels_first", **attrs)
    column_major = bool(ctx.integer("storage_order", 0))
    if not any(ctx.wanted[1:]):
        return [y]
    return [y, ctx.emit("max_pool_index", x, column_major=column_major, **attrs)]


def lp_pool(ctx: NodeContext) -> Sequence[Value]:
    """sum(|x|^p)^(1/p): an average that counts the padding, times the elements of the window."""
    x, p = ctx.input(0), float(ctx.integer("p", 2))
    if len(x.shape) < 3:
        raise ctx.invalid(f"LpPool of {x.type}, which has no spatial dimensions")
    if ctx.integer("ceil_mode", 0):
        raise ctx.unsupported("ceil_mode")
    window = window_attributes(ctx, x.shape[2:], ctx.integers("kernel_shape"))
    mean = ctx.emit(
        "pool", _power(ctx, ctx.emit("abs", x), p), kind="avg", kernel=window.kernel, stride=window.stride,
        pad=window.pad, dilation=window.dilation, ceil_mode=False, count_include_pad=True, layout="channels_first",
    )  # fmt: skip
    total = ctx.emit("mul", mean, ctx.scalar(prod(window.kernel), x))
    return [_power(ctx, total, 1.0 / p)]


def global_lp_pool(ctx: NodeContext) -> Sequence[Value]:
    x, p = ctx.input(0), float(ctx.integer("p", 2))
    powers = _power(ctx, ctx.emit("abs", x), p)
    total = ctx.emit("reduce", powers, kind="sum", axes=tuple(range(2, len(x.shape))), keepdims=True)
    return [_power(ctx, total, 1.0 / p)]


def _power(ctx: NodeContext, x: Value, exponent: float) -> Value:
    if exponent == 2.0:
        return ctx.emit("mul", x, x)
    if exponent == 0.5:
        return ctx.emit("sqrt", x)
    return x if exponent == 1.0 else ctx.emit("pow", x, ctx.scalar(exponent, x))


def global_pool(kind: str, ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    return [ctx.emit("reduce", x, kind=kind, axes=tuple(range(2, len(x.shape))), keepdims=True)]


RULES: Mapping[str, Rule] = {
    "AveragePool": partial(pool, "avg"),
    "GlobalLpPool": global_lp_pool,
    "LpPool": lp_pool,
    "GlobalAveragePool": partial(global_pool, "mean"),
    "GlobalMaxPool": partial(global_pool, "max"),
    "MaxPool": partial(pool, "max"),
}
