"""Rules of reductions, softmax and running sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .runtime_choices import over_any_axes, over_any_axis


def _reduce(ctx: NodeContext, kind: str, x: Value, keepdims: bool | None = None) -> Value:
    """Over the node's axes. No axes means all, or none with ``noop_with_empty_axes``."""
    axes, none_if_empty = ctx.parameter("axes", 1), ctx.integer("noop_with_empty_axes", 0)
    if not axes:
        axes = () if none_if_empty else tuple(range(len(x.shape)))
    axes = ctx.axes(axes, len(x.shape))
    if not axes:
        return x
    keep = bool(ctx.integer("keepdims", 1)) if keepdims is None else keepdims
    return ctx.emit("reduce", x, kind=kind, axes=axes, keepdims=keep)


def reduce(kind: str, ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    if x.dtype is DType.BOOL:
        return [ctx.cast(_reduce(ctx, kind, ctx.cast(x, DType.U8)), DType.BOOL)]
    return [_reduce(ctx, kind, x)]


def reduce_l1(ctx: NodeContext) -> Sequence[Value]:
    return [_reduce(ctx, "sum", ctx.emit("abs", ctx.input(0)))]


def reduce_l2(ctx: NodeContext) -> Sequence[Value]:
    """The root of a sum of squares, which neither half floats nor integers could hold."""
    x = ctx.input(0)
    wide = x if x.dtype in (DType.F32, DType.F64) else ctx.cast(x, DType.F32 if x.dtype is DType.F16 else DType.F64)
    return [ctx.cast(ctx.emit("sqrt", _reduce(ctx, "sum", ctx.emit("mul", wide, wide))), x.dtype)]


def reduce_sum_square(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    return [_reduce(ctx, "sum", ctx.emit("mul", x, x))]


def reduce_log_sum(ctx: NodeContext) -> Sequence[Value]:
    return [_in_float(ctx, "log", _reduce(ctx, "sum", ctx.input(0)))]


def reduce_log_sum_exp(ctx: NodeContext) -> Sequence[Value]:
    """m + log(sum(e^(x - m))) with m the maximum, so that nothing overflows; an infinite one is not subtracted."""
    given = ctx.input(0)
    x = given if given.dtype.is_float else ctx.cast(given, DType.F64)
    top = _reduce(ctx, "max", x, keepdims=True)
    top = ctx.emit("where", ctx.emit("isinf", top, negative=True, positive=True), ctx.scalar(0, top), top)
    total = _reduce(ctx, "sum", ctx.emit("exp", ctx.emit("sub", x, top)))
    return [ctx.cast(ctx.emit("add", ctx.reshape(top, total.shape), ctx.emit("log", total)), given.dtype)]


def _in_float(ctx: NodeContext, op: str, x: Value) -> Value:
    """A float function of a value that may be an integer."""
    wide = x if x.dtype.is_float else ctx.cast(x, DType.F64)
    return ctx.cast(ctx.emit(op, wide), x.dtype)


def arg_reduce(kind: str, ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    axis, keepdims = ctx.axis(ctx.integer("axis", 0), len(x.shape)), bool(ctx.integer("keepdims", 1))
    last = bool(ctx.integer("select_last_index", 0))
    return [ctx.emit("arg_reduce", x, kind=kind, axis=axis, keepdims=keepdims, last=last)]


def along_axis(apply: Callable[[NodeContext, Value, int], Value], ctx: NodeContext) -> Sequence[Value]:
    """Softmax and its like. Before opset 13 they work on all dimensions from ``axis`` on, taken as one."""
    x = ctx.input(0)
    if ctx.opset >= 13:
        return [apply(ctx, x, ctx.axis(ctx.integer("axis", -1), len(x.shape)))]
    axis = ctx.axis(ctx.integer("axis", 1), len(x.shape))
    if axis == len(x.shape) - 1:
        return [apply(ctx, x, axis)]
    flat = ctx.reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    return [ctx.reshape(apply(ctx, flat, 1), x.shape)]


def _softmax(op: str, ctx: NodeContext, x: Value, axis: int) -> Value:
    return ctx.emit(op, x, axis=axis)


def _hardmax(ctx: NodeContext, x: Value, axis: int) -> Value:
    """1 at the first maximum along the axis, 0 elsewhere."""
    if x.type.size == 0:
        return x
    first = ctx.emit("arg_reduce", x, kind="max", axis=axis, keepdims=True, last=False)
    ctx.guard_constant(x.shape[axis])
    places = np.arange(x.shape[axis], dtype=np.int64).reshape(-1, *[1] * (len(x.shape) - axis - 1))
    return ctx.cast(ctx.emit("eq", first, ctx.constant(places)), x.dtype)


def cumulative(op: str, ctx: NodeContext) -> Sequence[Value]:
    x, axes = ctx.input(0), ctx.static(1, "the axis").reshape(-1)
    if axes.size != 1:
        raise ctx.invalid(f"{ctx.op_type} has one axis")
    flags = {name: bool(ctx.integer(name, 0)) for name in ("exclusive", "reverse")}
    return [ctx.emit(op, x, axis=ctx.axis(int(axes[0]), len(x.shape)), **flags)]


RULES: Mapping[str, Rule] = {
    "ArgMax": partial(arg_reduce, "max"),
    "ArgMin": partial(arg_reduce, "min"),
    "CumProd": over_any_axis(partial(cumulative, "cumprod"), 1),
    "CumSum": over_any_axis(partial(cumulative, "cumsum"), 1),
    "Hardmax": partial(along_axis, _hardmax),
    "LogSoftmax": partial(along_axis, partial(_softmax, "log_softmax")),
    "ReduceL1": over_any_axes(reduce_l1),
    "ReduceL2": over_any_axes(reduce_l2),
    "ReduceLogSum": over_any_axes(reduce_log_sum),
    "ReduceLogSumExp": over_any_axes(reduce_log_sum_exp),
    "ReduceMax": over_any_axes(partial(reduce, "max")),
    "ReduceMean": over_any_axes(partial(reduce, "mean")),
    "ReduceMin": over_any_axes(partial(reduce, "min")),
    "ReduceProd": over_any_axes(partial(reduce, "prod")),
    "ReduceSum": over_any_axes(partial(reduce, "sum")),
    "ReduceSumSquare": over_any_axes(reduce_sum_square),
    "Softmax": partial(along_axis, partial(_softmax, "softmax")),
}
