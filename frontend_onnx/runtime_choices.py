"""Operands computed at run time that have few possible values: each result is computed, and the value selects one.

The candidates are those with which the output has its declared shape. A value that is none of them, which ONNX
forbids, selects the last candidate.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..record import record
from .context import NodeContext, Rule

log = logging.getLogger(__name__)

MAX_CANDIDATES = 64
MAX_RANK = 16


@record
class Choice:
    """A node with constant operands, and the condition under which it is the one that is meant."""

    chosen: Value | None
    node: NodeContext


def with_operands(ctx: NodeContext, values: dict[int, Sequence[int]]) -> NodeContext:
    """The node with these integers as constant operands, of the shape and the type that the operands have."""
    inputs = list(ctx.inputs)
    for position, entries in values.items():
        given = ctx.input(position)
        inputs[position] = ctx.constant(np.asarray(entries, given.dtype.numpy).reshape(given.shape))
    return replace(ctx, inputs=tuple(inputs))


def select(ctx: NodeContext, choices: Sequence[Choice], rule: Rule) -> Sequence[Value]:
    """The results of the first choice whose condition holds, or of the last."""
    if not 1 <= len(choices) <= MAX_CANDIDATES:
        reason = f"{len(choices)} values of operands computed at run time give the declared shape"
        raise ctx.unsupported(reason, hint="make the operands constant")
    results = rule(choices[-1].node)
    for choice in reversed(choices[:-1]):
        others = rule(choice.node)
        results = [ctx.emit("where", choice.chosen, own, other) for own, other in zip(others, results, strict=True)]
    return results


def counted_from_start(ctx: NodeContext, axes: Value, rank: int) -> Value:
    """Axes as i32 that are not negative, kept within ``rank``."""
    within = ctx.cast(ctx.emit("clip", axes, lo=-rank, hi=rank - 1), DType.I32)
    below = ctx.emit("lt", within, ctx.scalar(0, within))
    return ctx.emit("where", below, ctx.emit("add", within, ctx.scalar(rank, within)), within)


def one_axis(ctx: NodeContext, position: int, axes: Sequence[int], rank: int) -> list[Choice]:
    """A choice for each of ``axes`` that the operand can be."""
    if ctx.input(position).type.size != 1:
        raise ctx.invalid(f"{ctx.op_type} has one axis, not {ctx.input(position).type.size}")
    axis = ctx.reshape(counted_from_start(ctx, ctx.input(position), rank), ())
    return [
        Choice(ctx.emit("eq", axis, ctx.scalar(each, axis)), with_operands(ctx, {position: [each]})) for each in axes
    ]


def over_any_axis(rule: Rule, position: int) -> Rule:
    """A rule with a constant axis, extended to one computed at run time; the result has the shape of the operand."""

    def extended(ctx: NodeContext) -> Sequence[Value]:
        rank = len(ctx.input(0).shape)
        if not ctx.runtime(position) or not rank:
            return rule(ctx)
        return select(ctx, one_axis(ctx, position, range(rank), rank), rule)

    return extended


def over_any_axes(rule: Rule) -> Rule:
    """A rule of a reduction over constant axes, extended to axes that are computed at run time.

    Along an axis of extent 1 it is the same to reduce and not to; so with ``keepdims`` the declared shape tells the
    axes, and else axes that differ in such dimensions alone are one choice.
    """

    def extended(ctx: NodeContext) -> Sequence[Value]:
        if ctx.has("axes") or not ctx.runtime(1):
            return rule(ctx)
        x, shape, count = ctx.input(0), ctx.declared_shape("axes", (1,)), ctx.input(1).type.size
        rank = len(x.shape)
        if not ctx.integer("keepdims", 1):
            return select(ctx, _axes_choices(ctx, shape, count), rule)
        axes = [axis for axis, extent in enumerate(shape) if extent == 1]
        if len(shape) != rank or not axes or any(a not in axes and shape[a] != x.shape[a] for a in range(rank)):
            raise ctx.invalid(f"no {count} axes reduce {x.type} to the declared shape {list(shape)}")
        log.info("%s: %s is %s by the declared shape of the output; it is not read", ctx.loc, ctx.input(1).name, axes)
        return rule(replace(ctx, inputs=(x, ctx.constant(np.asarray(axes)))))

    return extended


def _axes_choices(ctx: NodeContext, shape: Sequence[int], count: int) -> list[Choice]:
    """Sets of axes that leave ``shape``, known by the sum of 2^axis over their dimensions of other extents than 1."""
    x = ctx.input(0)
    rank = len(x.shape)
    if rank > MAX_RANK or comb(rank, count) > 1 << 12:
        raise ctx.unsupported(f"{count} of {rank} axes, computed at run time", hint="make the axes constant")
    found: dict[int, tuple[int, ...]] = {}
    for axes in combinations(range(rank), count):
        if tuple(e for axis, e in enumerate(x.shape) if axis not in axes) == tuple(shape):
            found.setdefault(sum(1 << axis for axis in axes if x.shape[axis] != 1), axes)
    if not found:
        raise ctx.invalid(f"no {count} axes reduce {x.type} to the declared shape {list(shape)}")
    given = counted_from_start(ctx, ctx.reshape(ctx.input(1), (count,)), rank)
    bits = ctx.emit("shl", ctx.scalar(1, given), given)
    total = ctx.emit("reduce", bits, kind="sum", axes=(0,), keepdims=False)
    total = ctx.emit("bitand", total, ctx.scalar(sum(1 << axis for axis in range(rank) if x.shape[axis] != 1), total))
    return [
        Choice(ctx.emit("eq", total, ctx.scalar(key, total)), with_operands(ctx, {1: axes}))
        for key, axes in found.items()
    ]
