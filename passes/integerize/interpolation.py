"""Sums of neighbours with constant weights along an axis, as Resize writes linear and cubic interpolation, in i32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ir.graph import Node, Value
from ...ir.types import DType
from ...ops.attributes import integer
from ...ops.integer import NARROW
from .contractions import dequantized
from .forms import Accumulated, State
from .tables import as_stored

_BITS = 10
"""Of the fraction of weights; fewer where fewer are exact."""
_I32 = 2**31 - 1


@dataclass(frozen=True)
class _Tap:
    """``gather(x, indices) * weights``, along one axis."""

    gather: Node
    weights: np.ndarray


def interpolated(state: State, node: Node) -> Value | None:
    """``node``, the last addition of such a sum, on integers: its float result; ``None`` where it is something else."""
    taps = _taps(state, node)
    if taps is None or len({(tap.gather.operands[0].name, integer(tap.gather.attrs, "axis")) for tap in taps}) != 1:
        return None
    base = _base(state, taps[0].gather)
    if base is None:
        return None
    bits = next((b for b in range(_BITS) if all(_whole(tap.weights * 2**b) for tap in taps)), _BITS)
    integers = [np.rint(tap.weights * 2.0**bits).astype(np.int64) for tap in taps]
    growth = int(np.sum([np.abs(weights) for weights in integers], axis=0).max())
    low, high = -growth * max(map(abs, base.bounds)), growth * max(map(abs, base.bounds))
    if high > _I32:
        return None
    emit, constant = state.rewriter.emit1, state.rewriter.constant
    parts = []
    for tap, weights in zip(taps, integers):
        moved = emit("gather", base.acc, tap.gather.operands[1], loc=node.loc, axis=integer(tap.gather.attrs, "axis"))
        factor = constant(weights.astype(np.int32), f"{node.output.name}.weights")
        parts.append(emit("mul", moved, factor, loc=node.loc))
    acc = parts[0]
    for part in parts[1:]:
        acc = emit("add", acc, part, loc=node.loc, name=f"{node.output.name}.acc")
    return dequantized(state, node, Accumulated(acc, base.scale * 2.0**-bits, (low, high)))


def _whole(array: np.ndarray) -> bool:
    return bool(np.all(array == np.rint(array)))


def _taps(state: State, node: Node) -> list[_Tap] | None:
    """Of a chain of additions, the taps."""
    if node.op == "add":
        parts = [state.rewriter.producer(value) for value in node.operands]
        found = [None if part is None else _taps(state, part) for part in parts]
        return None if None in found or len(found) != 2 else [tap for taps in found if taps for tap in taps]
    weights = state.constant(node.operands[1]) if node.op == "mul" else None
    gather = state.rewriter.producer(node.operands[0])
    if weights is None or gather is None or gather.op != "gather" or gather.output.shape != node.output.shape:
        return None
    axis = integer(gather.attrs, "axis")
    along = weights.ndim > 0 and weights.shape[0] == weights.size == gather.output.shape[axis]
    return [_Tap(gather, weights)] if along and weights.ndim == len(gather.output.shape) - axis else None


def _base(state: State, gather: Node) -> Accumulated | None:
    """What is gathered from, as an accumulator: stored integers lose their zero point."""
    x = gather.operands[0]
    form = state.form(x)
    if isinstance(form, Accumulated):
        return form if form.scale.size == 1 and form.low == -np.inf and form.high == np.inf else None
    stored = as_stored(state, x, gather)
    if stored is None or not stored.per_tensor or stored.value.dtype not in NARROW:
        return None
    zero = int(stored.zero_point[0])
    wide = state.rewriter.emit1("cast", stored.value, loc=gather.loc, to=DType.I32)
    if zero:
        wide = state.rewriter.emit1("sub", wide, state.rewriter.constant(np.asarray(zero, np.int32)), loc=gather.loc)
    bounds = int(stored.codes[0]) - zero, int(stored.codes[-1]) - zero
    return Accumulated(wide, stored.scale.astype(np.float64).reshape(()), bounds)
