"""Rules for views and casts. A view copies elements, so all rules but those on casts keep every bit by nature."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import prod

import numpy as np

from ..ir.graph import Node, Value
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..ops.infer import broadcast_shapes
from ..ops.narrow import narrowed, widened
from ..ops.opdef import Kind
from ..ops.table import OPS
from .rewrite import Rewriter, Rule
from .views import groups, identity, is_reshape, quantized_along_axis, reshape, transpose

_FEW_BITS = 16
"""Of types whose values are few enough to try all."""


def _source(rewriter: Rewriter, node: Node, op: str) -> tuple[Node, Value] | None:
    """The node before ``node`` and its operand, if it is an ``op``."""
    producer = rewriter.producer(node.inputs[0])
    if producer is None or producer.op != op or producer.inputs[0] is None:
        return None
    return producer, producer.inputs[0]


def unchanged(rewriter: Rewriter, node: Node) -> Value | None:
    """A view that shows its operand as it is: reshape, transpose, slice, expand, pad or concat of one."""
    x = node.inputs[0]
    if x is None or len(node.operands) != 1 or [x.type] != [value.type for value in node.outputs]:
        return None
    same = {
        "reshape": True,
        "expand": True,
        "pad": True,
        "concat": True,
        "transpose": node.attrs.get("perm") == identity(len(x.shape)),
        "slice": all(step == 1 for step in node.attrs.get("steps", ())),  # type: ignore[union-attr]
    }
    return x if same.get(node.op, False) else None


def merged_reshapes(rewriter: Rewriter, node: Node) -> Value | None:
    """reshape(reshape(x)) = reshape(x)"""
    if node.op != "reshape" or _source(rewriter, node, "reshape") is None:
        return None
    return reshape(rewriter, node.operands[0], node.output.shape, loc=node.loc, name=node.output.name)


def merged_transposes(rewriter: Rewriter, node: Node) -> Value | None:
    """transpose(transpose(x)) = transpose(x); one that moves only unit dimensions is a reshape."""
    if node.op != "transpose":
        return None
    (x,), perm = node.operands, ints(node.attrs, "perm")
    if (not is_reshape(x.shape, perm) or quantized_along_axis(x)) and _source(rewriter, node, "transpose") is None:
        return None
    return transpose(rewriter, x, perm, loc=node.loc, name=node.output.name)


def merged_slices(rewriter: Rewriter, node: Node) -> Value | None:
    """x[a + s*i][b + t*j] = x[a + s*b + s*t*j]"""
    source = _source(rewriter, node, "slice") if node.op == "slice" else None
    if source is None:
        return None
    inner, x = source
    starts, steps = ints(inner.attrs, "starts"), ints(inner.attrs, "steps")
    return rewriter.like(
        node,
        x,
        starts=tuple(a + s * b for a, s, b in zip(starts, steps, ints(node.attrs, "starts"))),
        steps=tuple(s * t for s, t in zip(steps, ints(node.attrs, "steps"))),
    )


def slice_after_split(rewriter: Rewriter, node: Node) -> Value | None:
    """reshape(slice(x)) = slice(reshape(x)) where the slice takes whole parts of the dimension that is split.

    Example, the heads of an attention: [32,192] -slice-> [32,64] -reshape-> [32,4,16] becomes
    [32,192] -reshape-> [32,12,16] -slice-> [32,4,16]; the reshape is free and the slice meets what follows.
    """
    source = _source(rewriter, node, "slice") if node.op == "reshape" else None
    if source is None or not rewriter.used_once(source[0].output) or node.output.type.size == 0:
        return None
    starts, full = [], []
    for old, new in groups(source[0].output.shape, node.output.shape):
        split = _split_slice(*source, old, [node.output.shape[axis] for axis in new])
        if split is None:
            return None
        starts += split[0]
        full += split[1]
    whole = reshape(rewriter, source[1], tuple(full), loc=node.loc)
    attrs = {"starts": tuple(starts), "steps": (1,) * len(starts), "sizes": node.output.shape}
    return rewriter.emit("slice", [whole], attrs, loc=source[0].loc, names=[node.output.name])[0]


def _split_slice(part: Node, x: Value, old: list[int], new: list[int]) -> tuple[list[int], list[int]] | None:
    """Starts and full extents in the ``new`` dimensions for the slice ``part`` of the ``old`` dimensions of ``x``."""
    if all(x.shape[axis] == part.output.shape[axis] and ints(part.attrs, "steps")[axis] == 1 for axis in old):
        return [0] * len(new), new
    real = [axis for axis in old if x.shape[axis] != 1]
    lead = next((position for position, extent in enumerate(new) if extent != 1), None)
    if len(real) != 1 or lead is None or ints(part.attrs, "steps")[real[0]] != 1:
        return None
    start, extent, inner = ints(part.attrs, "starts")[real[0]], x.shape[real[0]], prod(new[lead + 1 :])
    if start % inner or extent % inner:
        return None
    starts = [start // inner if position == lead else 0 for position in range(len(new))]
    return starts, [*new[:lead], extent // inner, *new[lead + 1 :]]


def merged_expands(rewriter: Rewriter, node: Node) -> Value | None:
    """expand(expand(x)) = expand(x)"""
    source = _source(rewriter, node, "expand") if node.op == "expand" else None
    return None if source is None else rewriter.like(node, source[1])


def implicit_expand(rewriter: Rewriter, node: Node) -> Value | None:
    """x + expand(y) = x + y where broadcasting does the same."""
    if OPS[node.op].kind is not Kind.POINTWISE or "axis" in node.attrs:
        return None
    operands = [_unexpanded(rewriter, value) for value in node.operands]
    if operands == list(node.operands):
        return None
    for position, plain in enumerate(operands):
        # One at a time: of two expanded operands one may have to stay, to give the result its shape.
        attempt = [*node.operands[:position], plain, *node.operands[position + 1 :]]
        shape = broadcast_shapes(*(value.shape for at, value in enumerate(attempt) if at not in OPS[node.op].tables))
        if plain != node.operands[position] and shape == node.output.shape:
            return rewriter.like(node, *attempt)
    return None


def _unexpanded(rewriter: Rewriter, value: Value) -> Value:
    producer = rewriter.producer(value)
    return producer.operands[0] if producer is not None and producer.op == "expand" else value


def without_empty_parts(rewriter: Rewriter, node: Node) -> Value | None:
    """concat(x, nothing, y) = concat(x, y)"""
    if node.op != "concat":
        return None
    parts = [value for value in node.operands if value.type.size] or list(node.operands[:1])
    return rewriter.like(node, *parts) if len(parts) < len(node.operands) else None


def adjacent_slices(rewriter: Rewriter, node: Node) -> Value | None:
    """concat(x[a:b], x[b:c], y) = concat(x[a:c], y)"""
    if node.op != "concat":
        return None
    axis = integer(node.attrs, "axis")
    runs: list[list[Value]] = []
    for part in node.operands:
        if runs and _goes_on(rewriter, runs[-1][-1], part, axis):
            runs[-1].append(part)
        else:
            runs.append([part])
    if len(runs) == len(node.operands):
        return None
    return rewriter.like(node, *(_joined(rewriter, run, axis) for run in runs))


def _goes_on(rewriter: Rewriter, part: Value, following: Value, axis: int) -> bool:
    """Whether ``following`` is what lies behind ``part`` along ``axis`` in the same tensor."""
    first, second = rewriter.producer(part), rewriter.producer(following)
    if first is None or second is None or (first.op, second.op) != ("slice", "slice"):
        return False
    starts, step = ints(first.attrs, "starts"), ints(first.attrs, "steps")[axis]
    behind = tuple(n + step * part.shape[axis] if d == axis else n for d, n in enumerate(starts))
    return (
        first.operands == second.operands
        and ints(second.attrs, "starts") == behind
        and ints(first.attrs, "steps") == ints(second.attrs, "steps")
    )


def _joined(rewriter: Rewriter, run: list[Value], axis: int) -> Value:
    """The slice that shows what the slices of ``run`` show together."""
    if len(run) == 1:
        return run[0]
    first = rewriter.producer(run[0])
    assert first is not None
    extent = sum(part.shape[axis] for part in run)
    sizes = tuple(extent if d == axis else n for d, n in enumerate(run[0].shape))
    return rewriter.like(first, *first.operands, sizes=sizes)


def regular_gather(rewriter: Rewriter, node: Node) -> Value | None:
    """x[c], x[c + s*i] with constant indices at equal distances are slices."""
    indices = rewriter.array(node.inputs[1]) if node.op == "gather" else None
    if indices is None or indices.ndim > 1 or indices.size == 0:
        return None
    (x, _), axis = node.operands, integer(node.attrs, "axis")
    flat = [int(index) for index in indices.reshape(-1)]
    step = flat[1] - flat[0] if len(flat) > 1 else 1
    if step == 0 or any(b - a != step for a, b in pairwise(flat)):
        return None
    attrs = {
        "starts": tuple(flat[0] if d == axis else 0 for d in range(len(x.shape))),
        "steps": tuple(step if d == axis else 1 for d in range(len(x.shape))),
        "sizes": tuple(len(flat) if d == axis else extent for d, extent in enumerate(x.shape)),
    }
    (part,) = rewriter.emit("slice", [x], attrs, loc=node.loc, names=[node.output.name])
    return reshape(rewriter, part, node.output.shape, loc=node.loc, name=node.output.name)


def needless_cast(rewriter: Rewriter, node: Node) -> Value | None:
    """cast(x) to its own type is x; cast(cast(x)) = cast(x) where the type between holds every value of x."""
    if node.op != "cast":
        return None
    (x,) = node.operands
    if x.type == node.output.type:
        return x
    source = _source(rewriter, node, "cast")
    if source is None or not _holds(x.dtype, source[1].dtype) or source[1].type.quant is not None:
        return None
    return source[1] if source[1].dtype is node.output.dtype else rewriter.like(node, source[1])


@cache
def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of ``narrow`` is one of ``wide``: where these are few, each is taken there and back. Of the
    others NumPy knows; only that it calls 64-bit integers to float64 safe, which round."""
    if wide is DType.BOOL or DType.CHAR in (wide, narrow):
        return False
    if narrow.bits > _FEW_BITS:
        rounds = wide.is_float and narrow.is_integer and narrow.size == 8
        return not wide.is_narrow and not rounds and np.can_cast(narrow.numpy, wide.numpy, "safe")
    values = widened(_every(narrow))
    with np.errstate(invalid="ignore", over="ignore"):
        there = widened(narrowed(values, wide, False, "up")) if wide.is_narrow else values.astype(wide.numpy)
        before, behind = values.astype(np.float64), there.astype(np.float64)
    return np.array_equal(before, behind, equal_nan=True) and np.array_equal(np.signbit(before), np.signbit(behind))


def _every(dtype: DType) -> np.ndarray:
    """All values of a type of few bits."""
    if dtype is DType.BOOL:
        return np.array([False, True])
    return np.arange(1 << dtype.bits).astype(f"u{dtype.size}").view(dtype.numpy)


VIEW_RULES: tuple[Rule, ...] = (
    unchanged,
    merged_reshapes,
    merged_transposes,
    merged_slices,
    slice_after_split,
    merged_expands,
    implicit_expand,
    without_empty_parts,
    adjacent_slices,
    regular_gather,
    needless_cast,
)
