"""Rules of normalizations: the statistics are a core operator, scale and bias follow as mul and add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from .context import NodeContext, Rule


def _per_channel(ctx: NodeContext, value: Value, rank: int) -> Value:
    """[channels] -> [channels, 1, ...], to broadcast over the spatial dimensions."""
    return ctx.reshape(value, (value.type.size, *[1] * (rank - 2)))


def _in_float32(ctx: NodeContext, x: Value, compute: Callable[[Value], Value]) -> Value:
    """``compute``, in float32 where the operand is of half floats: their squares and sums overflow."""
    if x.dtype is DType.F16:
        return ctx.cast(compute(ctx.cast(x, DType.F32)), DType.F16)
    return compute(x)


def _stashed(ctx: NodeContext, x: Value, compute: Callable[[Value], Value]) -> Value:
    """Computes half floats in float32 where ``stash_type`` asks for it (the default)."""
    return _in_float32(ctx, x, compute) if ctx.integer("stash_type", 1) == 1 else compute(x)


def batch_normalization(ctx: NodeContext) -> Sequence[Value]:
    """x * f + (bias - mean * f) with f = scale / sqrt(variance + epsilon), f computed in float64 where constant.

    In training, which before opset 14 is a matter of the outputs, the statistics are those of the batch. Without
    ``spatial``, up to opset 8, each element of an image has parameters of its own.
    """
    x, rank = ctx.input(0), len(ctx.input(0).shape)
    training = bool(ctx.integer("training_mode", 0)) if ctx.opset >= 14 else ctx.output_count > 1
    if rank < 2:
        raise ctx.unsupported(str(x.type))
    parameters = [ctx.input(position) for position in range(1, 5)]
    if any(value.shape != _of_parameters(ctx, x) for value in parameters):
        raise ctx.invalid(f"parameters {', '.join(str(v.type) for v in parameters)} do not fit {x.type}")
    epsilon = ctx.number("epsilon", 1e-5)
    momentum = ctx.number("momentum", 0.9)
    if training:
        return _batch_statistics(ctx, parameters, epsilon, momentum)
    arrays = [ctx.known(value) for value in parameters]
    if all(array is not None for array in arrays):
        scale, bias, mean, variance = (array.astype(np.float64) for array in arrays if array is not None)
        with np.errstate(all="ignore"):
            factor64 = scale / np.sqrt(variance + epsilon)
            offset64 = bias - mean * factor64
        factor = ctx.constant(factor64.astype(x.dtype.numpy))
        offset = ctx.constant(offset64.astype(x.dtype.numpy))
    else:
        s, b, m, v = (ctx.cast(value, x.dtype) for value in parameters)
        factor = ctx.emit("div", s, ctx.emit("sqrt", ctx.emit("add", v, ctx.scalar(epsilon, v))))
        offset = ctx.emit("sub", b, ctx.emit("mul", m, factor))
    return [_scaled(ctx, x, *(_along(ctx, value, rank) for value in (factor, offset)))]


def _of_parameters(ctx: NodeContext, x: Value) -> tuple[int, ...]:
    """The shape of each parameter of a batch normalization."""
    return x.shape[1:2] if ctx.integer("spatial", 1) else x.shape[1:]


def _along(ctx: NodeContext, parameter: Value, rank: int) -> Value:
    """A parameter of a batch normalization, to broadcast over images of ``rank`` dimensions."""
    return _per_channel(ctx, parameter, rank) if len(parameter.shape) == 1 else parameter


def _batch_statistics(
    ctx: NodeContext, parameters: Sequence[Value], epsilon: float, momentum: float
) -> Sequence[Value]:
    """The batch normalized by its own mean and variance; then the running ones, and from opset 7 to 13 its own.

    running = given * momentum + own * (1 - momentum)
    """
    x, rank = ctx.input(0), len(ctx.input(0).shape)
    axes = tuple(axis for axis in range(rank) if axis != 1) if len(parameters[0].shape) == 1 else (0,)
    scale, bias = (_along(ctx, ctx.cast(value, x.dtype), rank) for value in parameters[:2])
    y = _scaled(ctx, ctx.emit("normalize", x, axes=axes, epsilon=epsilon), scale, bias)
    wide = ctx.cast(x, parameters[2].dtype)
    mean = ctx.emit("reduce", wide, kind="mean", axes=axes, keepdims=True)
    centred = ctx.emit("sub", wide, mean)
    variance = ctx.emit("reduce", ctx.emit("mul", centred, centred), kind="mean", axes=axes, keepdims=False)
    own = [ctx.reshape(mean, variance.shape), variance]
    running = [
        ctx.emit("add", ctx.emit("mul", old, ctx.scalar(momentum, old)),
                 ctx.emit("mul", new, ctx.scalar(1.0 - momentum, new)))
        for old, new in zip(parameters[2:], own)
    ]  # fmt: skip
    return [y, *running, *own][: ctx.output_count]


def instance_normalization(ctx: NodeContext) -> Sequence[Value]:
    x, scale, bias = (ctx.input(position) for position in range(3))
    rank = len(x.shape)
    if rank < 3 or scale.shape != (x.shape[1],) or bias.shape != (x.shape[1],):
        raise ctx.invalid(f"scale {scale.type} and bias {bias.type} do not fit {x.type}")
    normal = ctx.emit("normalize", x, axes=tuple(range(2, rank)), epsilon=ctx.number("epsilon", 1e-5))
    return [_scaled(ctx, normal, _per_channel(ctx, scale, rank), _per_channel(ctx, bias, rank))]


def mean_variance_normalization(ctx: NodeContext) -> Sequence[Value]:
    """(x - mean) / sqrt(mean((x - mean)^2)); as in ONNX's function body, 10^-9 is added to a deviation of 0.

    That body squares before it subtracts, and is written for float32 only.
    """
    x, rank = ctx.input(0), len(ctx.input(0).shape)
    axes = ctx.axes(ctx.integers("axes", (0, 2, 3)), rank)
    wide = ctx.cast(x, DType.F32) if x.dtype is DType.F16 else x
    return [ctx.cast(ctx.emit("normalize", wide, axes=tuple(sorted(axes)), epsilon=1e-18), x.dtype)]


def _scaled(ctx: NodeContext, x: Value, scale: Value, bias: Value | None) -> Value:
    y = ctx.emit("mul", x, scale)
    return y if bias is None else ctx.emit("add", y, bias)


def group_normalization(ctx: NodeContext) -> Sequence[Value]:
    """Scale and bias are one a group in opset 18, one a channel from opset 21 on."""
    x, scale, bias, groups = ctx.input(0), ctx.input(1), ctx.input(2), ctx.integer("num_groups")
    rank = len(x.shape)
    if rank < 3 or groups < 1 or x.shape[1] % groups or scale.shape != bias.shape or len(scale.shape) != 1:
        raise ctx.invalid(f"{groups} groups, scale {scale.type} and bias {bias.type} do not fit {x.type}")
    if scale.type.size != (x.shape[1] if ctx.opset >= 21 else groups):
        raise ctx.invalid(f"scale {scale.type} does not fit {x.type} in {groups} groups")

    def compute(x: Value) -> Value:
        inside = (x.shape[1] // groups, *x.shape[2:])
        if not ctx.builder.ranged:
            inside = (prod(inside),)
        grouped = ctx.reshape(x, (x.shape[0], groups, *inside))
        axes = tuple(range(2, len(grouped.shape)))
        y = ctx.emit("normalize", grouped, axes=axes, epsilon=ctx.number("epsilon", 1e-5))
        s, b = ctx.cast(scale, x.dtype), ctx.cast(bias, x.dtype)
        if ctx.opset >= 21:
            return _scaled(ctx, ctx.reshape(y, x.shape), _per_channel(ctx, s, rank), _per_channel(ctx, b, rank))
        wide = len(grouped.shape)
        return ctx.reshape(_scaled(ctx, y, _per_channel(ctx, s, wide), _per_channel(ctx, b, wide)), x.shape)

    return [_stashed(ctx, x, compute)]


def _trailing_axes(ctx: NodeContext, x: Value) -> tuple[int, ...]:
    return tuple(range(ctx.axis(ctx.integer("axis", -1), len(x.shape)), len(x.shape)))


def layer_normalization(ctx: NodeContext) -> Sequence[Value]:
    """The optional outputs are the mean and 1 / sqrt(variance + epsilon)."""
    x, scale, bias = ctx.input(0), ctx.input(1), ctx.optional(2)
    axes, epsilon = _trailing_axes(ctx, x), ctx.number("epsilon", 1e-5)

    def compute(x: Value) -> Value:
        return ctx.emit("normalize", x, axes=axes, epsilon=epsilon)

    y = _scaled(ctx, _stashed(ctx, x, compute), scale, bias)
    if not any(ctx.wanted[1:]):
        return [y]
    wide = ctx.cast(x, DType.F32) if ctx.integer("stash_type", 1) == 1 else x
    mean = ctx.emit("reduce", wide, kind="mean", axes=axes, keepdims=True)
    centred = ctx.emit("sub", wide, mean)
    variance = ctx.emit("reduce", ctx.emit("mul", centred, centred), kind="mean", axes=axes, keepdims=True)
    deviation = ctx.emit("sqrt", ctx.emit("add", variance, ctx.scalar(epsilon, variance)))
    return [y, mean, ctx.emit("reciprocal", deviation)]


def rms_normalization(ctx: NodeContext) -> Sequence[Value]:
    x, scale = ctx.input(0), ctx.input(1)
    axes, epsilon = _trailing_axes(ctx, x), ctx.number("epsilon", 1e-5)
    y = _stashed(ctx, x, lambda x: ctx.emit("rms_normalize", x, axes=axes, epsilon=epsilon))
    return [ctx.emit("mul", y, scale)]


def lp_normalization(ctx: NodeContext) -> Sequence[Value]:
    """x / norm, and 0 where the norm is 0."""
    p, axis = ctx.integer("p", 2), ctx.axis(ctx.integer("axis", -1), len(ctx.input(0).shape))
    if p not in (1, 2):
        raise ctx.invalid(f"p is {p}, neither 1 nor 2")

    def divided(x: Value) -> Value:
        powers = ctx.emit("abs", x) if p == 1 else ctx.emit("mul", x, x)
        norm = ctx.emit("reduce", powers, kind="sum", axes=(axis,), keepdims=True)
        norm = norm if p == 1 else ctx.emit("sqrt", norm)
        zero = ctx.scalar(0, x)
        return ctx.emit("where", ctx.emit("eq", norm, zero), zero, ctx.emit("div", x, norm))

    return [_in_float32(ctx, ctx.input(0), divided)]


def _lrn_power(ctx: NodeContext, base: Value, beta: float) -> Value:
    """``base ^ beta``; the usual 0.75 by two roots, which is off by 1.8 ULP at most and takes a tenth of the time."""
    if beta != 0.75:
        return ctx.emit("pow", base, ctx.scalar(beta, base))
    root = ctx.emit("sqrt", base)
    return ctx.emit("mul", root, ctx.emit("sqrt", root))


def lrn(ctx: NodeContext) -> Sequence[Value]:
    """x / (bias + alpha * m)^beta; m, the mean square over ``size`` channels, is an average pool along the channels."""
    shape, size = ctx.input(0).shape, ctx.integer("size")
    if len(shape) < 2 or size < 1:
        raise ctx.invalid(f"LRN of size {size} over {ctx.input(0).type}")
    if not ctx.input(0).type.size:
        return [ctx.input(0)]
    before = (size - 1) // 2
    window: dict[str, AttrValue] = {
        "kernel": (size, 1), "stride": (1, 1), "dilation": (1, 1), "pad": (before, 0, size - 1 - before, 0)
    }  # fmt: skip

    def scaled(x: Value) -> Value:
        squares = ctx.reshape(ctx.emit("mul", x, x), (shape[0], shape[1], 1, prod(shape[2:])))
        mean = ctx.emit(
            "pool", squares, kind="avg", ceil_mode=False, count_include_pad=True, layout="channels_last", **window
        )
        share = ctx.emit("mul", ctx.reshape(mean, shape), ctx.scalar(ctx.number("alpha", 1e-4), x))
        base = ctx.emit("add", share, ctx.scalar(ctx.number("bias", 1.0), x))
        return ctx.emit("div", x, _lrn_power(ctx, base, ctx.number("beta", 0.75)))

    return [_in_float32(ctx, ctx.input(0), scaled)]


RULES: Mapping[str, Rule] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": lrn,
    "LayerNormalization": layer_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
}
