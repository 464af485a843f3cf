"""Rules of pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from ..ops.windows import window_counts
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
    """sum(|x|^p)^(1/p): an average that counts the padding, times the elements of the window.

    What ``ceil_mode`` reaches beyond the padding is padding too: zeros add nothing.
    """
    if len(ctx.input(0).shape) < 3:
        raise ctx.invalid(f"LpPool of {ctx.input(0).type}, which has no spatial dimensions")
    return [_lp_norm(ctx, partial(_window_sum, ctx))]


def global_lp_pool(ctx: NodeContext) -> Sequence[Value]:
    def total(x: Value) -> Value:
        return ctx.emit("reduce", x, kind="sum", axes=tuple(range(2, len(x.shape))), keepdims=True)

    return [_lp_norm(ctx, total)]


def _lp_norm(ctx: NodeContext, total: Callable[[Value], Value]) -> Value:
    """total(|x|^p)^(1/p), in float32 at least: half floats could not hold the powers."""
    given, p = ctx.input(0), ctx.integer("p", 2)
    if p < 1:
        raise ctx.invalid(f"p is {p}")
    x = ctx.cast(given, DType.F32) if given.dtype is DType.F16 else given
    return ctx.cast(_power(ctx, total(_power(ctx, ctx.emit("abs", x), p)), 1.0 / p), given.dtype)


def _window_sum(ctx: NodeContext, x: Value) -> Value:
    """The sum over each window of LpPool."""
    window = window_attributes(ctx, x.shape[2:], ctx.integers("kernel_shape"))
    spatial, pad = len(window.kernel), window.pad
    if ctx.integer("ceil_mode", 0) and not window.same:
        try:
            counts = window_counts(x.shape[2:], window.kernel, window.stride, pad, window.dilation, ceil_mode=True)
        except ValueError as problem:
            raise ctx.invalid(str(problem)) from problem
        beyond = [
            max((count - 1) * step + span - extent - pad[d] - pad[spatial + d], 0)
            for d, (count, step, span, extent) in enumerate(zip(counts, window.stride, window.reach, x.shape[2:]))
        ]
        x = ctx.emit("pad", x, before=(0,) * len(x.shape), after=(0, 0, *beyond), mode="constant", value=0.0)
    mean = ctx.emit(
        "pool", x, kind="avg", kernel=window.kernel, stride=window.stride, pad=pad, dilation=window.dilation,
        ceil_mode=False, count_include_pad=True, layout="channels_first",
    )  # fmt: skip
    return ctx.emit("mul", mean, ctx.scalar(prod(window.kernel), x))


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
