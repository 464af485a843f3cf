"""Rows of reductions and normalizations."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.fuzz.build import FLOATS, Builder, Tensor, UnfitError
from tests.fuzz.row import Row, allowed
from tests.fuzz.rows_movement import any_data, some_axes, some_axis

# ---- reductions


def reduce(op: str, b: Builder) -> list[Tensor]:
    positive = op in ("ReduceLogSum",)
    kinds = allowed(op, 0, b.opset)
    if op in ("ReduceLogSum", "ReduceLogSumExp"):  # of integers the result hangs on the last bit of a logarithm
        kinds = tuple(kind for kind in kinds if kind in FLOATS)
    dtype, shape = b.dtype(kinds), b.shape()
    x = b.data(dtype, shape, *((0.5, 3) if positive else (-3, 3)), exact=positive and dtype not in FLOATS)
    more = b.some(keepdims=b.between(0, 1))
    axes = some_axes(b, len(shape)) if b.flip(0.8) else []
    since = 13 if op == "ReduceSum" else 18
    if b.opset < since:
        return b.node(op, [x], **more, **({"axes": axes} if axes else {}))
    more |= b.some(noop_with_empty_axes=b.between(0, 1)) if b.flip(0.4) else {}
    if not axes and b.flip():
        return b.node(op, [x], **more)
    return b.node(op, [x, b.ints(axes)], **more)


def arg_reduce(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 1)
    if not x.shape or 0 in x.shape:
        raise UnfitError("nothing to choose from")
    more = b.some(axis=some_axis(b, len(x.shape)), keepdims=b.between(0, 1))
    if b.opset >= 12:
        more |= b.some(select_last_index=b.between(0, 1))
    return b.node(op, [x], **more)


def cumulate(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 1, 4)
    axis = b.param(some_axis(b, len(x.shape)), b.pick(["int64", "int32"]))
    return b.node(op, [x, axis], **b.some(exclusive=b.between(0, 1), reverse=b.between(0, 1)))


def along_axis(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 2 if b.opset < 13 else 1)
    return b.node(op, [x], **b.some(axis=some_axis(b, len(x.shape))))


def lp_normalization(b: Builder) -> list[Tensor]:
    x = any_data(b, "LpNormalization", 1, 4)
    return b.node("LpNormalization", [x], **b.some(axis=some_axis(b, len(x.shape)), p=b.between(1, 2)))


# ---- normalizations


def conditioned(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """``x``, unless its elements hardly differ along ``axes``: behind the mean rounding alone would be left of them."""
    array = x.array.astype(np.float64).reshape(*x.shape)
    if array.size and float(np.abs(array).max()) > 1e3 * float(np.sqrt(array.var(axis=axes) + 1e-3).min()):
        raise UnfitError("nearly equal elements")
    return x


def batch_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("BatchNormalization", 0, b.opset)), b.shape(2, 5)
    x = b.data(dtype, shape)
    frozen = b.flip(0.7)

    def channel(low: float, high: float) -> Tensor:
        if frozen:
            return b.param(b.values(dtype, (shape[1],), low, high))
        return b.data(dtype, (shape[1],), low, high, exact=low >= 0)

    parameters = [channel(0.5, 2), channel(-1, 1), channel(-1, 1), channel(0.5, 2)]
    more = b.some(epsilon=b.uniform(0.001, 0.1), momentum=0.8)
    if b.opset >= 14:
        more |= b.some(training_mode=0)
    return b.node("BatchNormalization", [x, *parameters], **more)


def instance_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("InstanceNormalization", 0, b.opset)), b.shape(3, 5)
    x = conditioned(b.data(dtype, shape), tuple(range(2, len(shape))))
    parameters = [b.weight(dtype, (shape[1],), 0.5, 2), b.weight(dtype, (shape[1],))]
    return b.node("InstanceNormalization", [x, *parameters], **b.some(epsilon=b.uniform(0.001, 0.1)))


def group_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("GroupNormalization", 0, b.opset)), b.shape(3, 5)
    x = conditioned(b.data(dtype, shape), tuple(range(2, len(shape))))
    groups = b.pick([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    size = shape[1] if b.opset >= 21 else groups
    stash = b.some(stash_type=1) if b.opset >= 21 else {}
    parameters = [b.weight(dtype, (size,), 0.5, 2), b.weight(dtype, (size,))]
    return b.node("GroupNormalization", [x, *parameters], num_groups=groups, **stash, **b.some(
        epsilon=b.uniform(0.001, 0.1)))  # fmt: skip


def layer_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("LayerNormalization", 0, b.opset)), b.shape(1, 4)
    axis = some_axis(b, len(shape))
    x, inner = conditioned(b.data(dtype, shape), tuple(range(axis % len(shape), len(shape)))), shape[axis:]
    operands: list[Tensor | None] = [x, b.weight(dtype, inner, 0.5, 2)]
    operands.append(b.weight(dtype, inner) if b.flip() else None)
    more = b.some(epsilon=b.uniform(0.001, 0.1), stash_type=1)
    if axis not in (-1, len(shape) - 1) or b.flip():
        more["axis"] = axis
    else:
        operands = [x, b.weight(dtype, shape[-1:], 0.5, 2)]
    return b.node("LayerNormalization", operands, b.between(1, 3), **more)


def rms_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("RMSNormalization", 0, b.opset)), b.shape(1, 4)
    x, axis = b.data(dtype, shape), some_axis(b, len(shape))
    more = b.some(epsilon=b.uniform(0.001, 0.1), stash_type=1)
    return b.node("RMSNormalization", [x, b.weight(dtype, shape[axis:], 0.5, 2)], axis=axis, **more)


def mean_variance_normalization(b: Builder) -> list[Tensor]:
    x = any_data(b, "MeanVarianceNormalization", 4, 4)
    axes = sorted(axis % 3 for axis in some_axes(b, 3, 1)) if b.flip() else [0, 2, 3]
    spread = x.array.astype(np.float64).std(axis=tuple(axes))
    if not x.array.size or spread.min() < 1e-3 * np.abs(x.array).max():  # of equal elements rounding alone is left
        raise UnfitError
    return b.node("MeanVarianceNormalization", [x], **b.some(axes=axes) if axes == [0, 2, 3] else {"axes": axes})


_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip

ROWS: dict[str, Row] = {
    **{op: Row(partial(reduce, op)) for op in _REDUCTIONS},
    **{op: Row(partial(arg_reduce, op)) for op in ("ArgMax", "ArgMin")},
    **{op: Row(partial(along_axis, op)) for op in ("Hardmax", "LogSoftmax", "Softmax")},
    "BatchNormalization": Row(batch_normalization), "CumProd": Row(partial(cumulate, "CumProd")),
    "CumSum": Row(partial(cumulate, "CumSum")), "GroupNormalization": Row(group_normalization),
    "InstanceNormalization": Row(instance_normalization), "LayerNormalization": Row(layer_normalization),
    "LpNormalization": Row(lp_normalization), "MeanVarianceNormalization": Row(mean_variance_normalization),
    "RMSNormalization": Row(rms_normalization),
}  # fmt: skip
