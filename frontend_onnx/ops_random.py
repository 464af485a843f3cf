"""Rules of operators that draw random numbers.

Numbers are drawn where the model is imported, and so are constants of the artifact: the same in each run, on each
machine, and in each pass through a loop. ``seed`` chooses them; without it, the name of the node does. They come from
Philox4x64-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011) as NumPy has it, whose stream is
fixed, and become normally distributed by the transform of Box and Muller.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import pi, prod
from zlib import crc32

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule, RunExtents
from .places import filled_beyond
from .tensors import dtype_of

_LOG = logging.getLogger(__name__)


def uniform(ctx: NodeContext, shape: Sequence[int], draw: int = 0) -> np.ndarray:
    """Numbers from 0 up to, but without, 1, in float64; another ``draw`` of the same node is independent."""
    ctx.guard_constant(prod(shape))
    if not draw:
        _LOG.warning("%s: random numbers are drawn once, when the model is compiled", ctx.loc)
    raw = np.random.Philox(key=[_seed(ctx), draw]).random_raw(prod(shape))
    return (raw >> np.uint64(11)).reshape(shape) * 2.0**-53


def _seed(ctx: NodeContext) -> int:
    if not ctx.has("seed"):
        return crc32(ctx.loc.encode())
    if ctx.op_type == "Dropout":
        return ctx.integer("seed") & (1 << 64) - 1
    return int(np.float32(ctx.number("seed")).view(np.uint32))


def normal(ctx: NodeContext, shape: Sequence[int]) -> np.ndarray:
    """Of mean 0 and deviation 1, in float64."""
    radius = np.sqrt(-2 * np.log1p(-uniform(ctx, shape)))
    return radius * np.cos(2 * pi * uniform(ctx, shape, draw=1))


def _for_elements(ctx: NodeContext, numbers: np.ndarray, extents: RunExtents) -> Value:
    """Numbers that were drawn for all elements within the bounds, of which a run has those within the extents."""
    if not extents:
        return ctx.constant(numbers)
    whole = replace(ctx, over_bounds=True)
    return ctx.with_extents(filled_beyond(whole, whole.constant(numbers), extents), extents)


def _type_of(ctx: NodeContext, default: DType) -> DType:
    dtype = dtype_of(ctx.integer("dtype"), ctx.loc) if ctx.has("dtype") else default
    if not dtype.is_float:
        raise ctx.invalid(f"random numbers of the type {dtype.value}")
    return dtype


def _spread(ctx: NodeContext, shape: Sequence[int], dtype: DType) -> np.ndarray:
    """As the operator's name says: between ``low`` and ``high``, or around ``mean``."""
    if ctx.op_type.startswith("RandomUniform"):
        low, high = ctx.number("low", 0.0), ctx.number("high", 1.0)
        numbers = low + uniform(ctx, shape) * (high - low)
    else:
        numbers = ctx.number("mean", 0.0) + normal(ctx, shape) * ctx.number("scale", 1.0)
    return np.asarray(numbers.astype(dtype.numpy))


def random_of_shape(ctx: NodeContext) -> Sequence[Value]:
    shape = ctx.integers("shape")
    if min(shape, default=0) < 0:
        raise ctx.invalid(f"shape {list(shape)}")
    return [ctx.constant(_spread(ctx, shape, _type_of(ctx, DType.F32)))]


def random_like(ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    return [_for_elements(ctx, _spread(ctx, x.shape, _type_of(ctx, x.dtype)), ctx.extents(x))]


def bernoulli(ctx: NodeContext) -> Sequence[Value]:
    """1 with the probability that the operand says, else 0."""
    p = ctx.input(0)
    dtype = dtype_of(ctx.integer("dtype"), ctx.loc) if ctx.has("dtype") else p.dtype
    wide = p if p.dtype is DType.F64 else ctx.cast(p, DType.F32)
    numbers = _for_elements(ctx, uniform(ctx, p.shape).astype(wide.dtype.numpy), ctx.extents(p))
    return [ctx.cast(ctx.emit("lt", numbers, wide), dtype)]


def multinomial(ctx: NodeContext) -> Sequence[Value]:
    """``sample_size`` classes for each row of logarithms of probabilities: where the sums of these pass a number."""
    x = ctx.input(0)
    count = ctx.integer("sample_size", 1)
    dtype = dtype_of(ctx.integer("dtype"), ctx.loc) if ctx.has("dtype") else DType.I32
    if len(x.shape) != 2 or not x.shape[1] or count < 0 or dtype not in (DType.I32, DType.I64):
        raise ctx.invalid(f"{count} samples of the type {dtype.value} of {x.type}")
    wide = x if x.dtype is DType.F64 else ctx.cast(x, DType.F32)
    sums = ctx.emit("cumsum", ctx.emit("softmax", wide, axis=1), axis=1, exclusive=False, reverse=False)
    # The last sum may be below 1 by rounding; what passes all others is of the last class.
    others = ctx.emit("slice", sums, starts=(0, 0), steps=(1, 1), sizes=(x.shape[0], x.shape[1] - 1))
    numbers = ctx.constant(uniform(ctx, (x.shape[0], count, 1)).astype(wide.dtype.numpy))
    passed = ctx.emit("le", ctx.reshape(others, (x.shape[0], 1, x.shape[1] - 1)), numbers)
    return [ctx.emit("reduce", ctx.cast(passed, dtype), kind="sum", axes=(2,), keepdims=False)]


def dropout(ctx: NodeContext) -> Sequence[Value]:
    """In inference the input and a mask of ones; in training, from operator set 12 on, what the mask leaves, times
    1 / (1 - ratio). Of earlier ones, ``ratio`` and ``is_test`` are of training alone."""
    x, ratio, training = ctx.input(0), ctx.optional(1), ctx.optional(2)
    flag = np.zeros((), bool) if training is None else ctx.array(training)
    if training is None or (flag is not None and not flag.any()):
        one = ctx.constant(np.ones((), bool if ctx.opset >= 10 else x.dtype.numpy))
        return [x] if ctx.output_count < 2 else [x, ctx.emit("expand", one, shape=x.shape)]
    wide = x if x.dtype is DType.F64 else ctx.cast(x, DType.F32)
    share = ctx.constant(np.asarray(0.5)) if ratio is None else ctx.reshape(ratio, ())
    share = ctx.cast(share, wide.dtype)
    numbers = _for_elements(ctx, uniform(ctx, x.shape).astype(wide.dtype.numpy), ctx.extents(x))
    mask = ctx.emit("ge", numbers, share)
    if flag is None:
        inference = ctx.emit("not", ctx.reshape(training, ()))
        mask = ctx.emit("or", mask, inference)
        share = ctx.emit("where", inference, ctx.scalar(0, share), share)
    left = ctx.emit("div", wide, ctx.emit("sub", ctx.scalar(1, share), share))
    y = ctx.cast(ctx.emit("where", mask, left, ctx.scalar(0, left)), x.dtype)
    return [y, mask][: ctx.output_count]


RULES: Mapping[str, Rule] = {
    "Bernoulli": bernoulli,
    "Dropout": dropout,
    "Multinomial": multinomial,
    "RandomNormal": random_of_shape,
    "RandomNormalLike": random_like,
    "RandomUniform": random_of_shape,
    "RandomUniformLike": random_like,
}
