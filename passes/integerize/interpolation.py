"""Sums of neighbours with constant weights along an axis, as Resize writes linear and cubic interpolation, in i32."""

from __future__ import annotations

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ops.attributes import integer, ints
from ...ops.integer import NARROW
from ...record import record
from .contractions import dequantized
from .forms import Accumulated, State
from .tables import as_stored

_BITS = 10
"""Of the fraction of weights; fewer where fewer are exact."""
_I32 = 2**31 - 1


@record
class _Tap:
    """``gather(x, indices) * weights``, along one axis."""

    gather: Node
    indices: np.ndarray
    weights: np.ndarray


@record
class _Base:
    """What is gathered from: integers less their zero point, or an accumulator."""

    value: Value
    zero_point: int
    scale: np.ndarray
    bounds: tuple[int, int]


def interpolated(state: State, node: Node) -> Value | None:
    """``node``, the last addition of such a sum, on integers: its float result; ``None`` where it is something else."""
    taps = _taps(state, node)
    if taps is None or len({(tap.gather.operands[0].name, integer(tap.gather.attrs, "axis")) for tap in taps}) != 1:
        return None
    base = _base(state, taps[0].gather)
    if base is None:
        return None
    bits = next((b for b in range(_BITS) if all(_whole(tap.weights * 2**b) for tap in taps)), _BITS)
    indices = np.stack([tap.indices for tap in taps], axis=1)
    weights = np.stack([np.rint(tap.weights * 2.0**bits).astype(np.int64) for tap in taps], axis=1)
    high = int(np.abs(weights).sum(axis=1).max()) * max(map(abs, base.bounds))
    if high > _I32:
        return None
    acc = _along(state, node, base, integer(taps[0].gather.attrs, "axis"), [indices, weights])
    return dequantized(state, node, Accumulated(acc, base.scale * 2.0**-bits, (-high, high)))


def _along(state: State, node: Node, base: _Base, axis: int, arrays: list[np.ndarray]) -> Value:
    """The sums along ``axis``; with those along another axis that ``base`` consists of, in one node: they commute."""
    x, zero_point = base.value, base.zero_point
    stems = (f"{node.output.name}.indices", f"{node.output.name}.weights")
    tables = [state.rewriter.constant(a.astype(np.int32), stem) for a, stem in zip(arrays, stems, strict=True)]
    sides = {axis: tables}
    before = state.rewriter.producer(x)
    if before is not None and before.op == "interpolate" and len(before.operands) == 3 and zero_point == 0:
        (other,) = ints(before.attrs, "axes")
        if other != axis:
            x, zero_point = before.operands[0], integer(before.attrs, "zero_point")
            sides[other] = list(before.operands[1:])
    axes = tuple(sorted(sides))
    attrs: dict[str, AttrValue] = {"axes": axes, "zero_point": zero_point}
    operands = [x, *(table for each in axes for table in sides[each])]
    return state.rewriter.emit("interpolate", operands, attrs, loc=node.loc, names=[f"{node.output.name}.acc"])[0]


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
    indices = state.constant(gather.operands[1])
    if indices is None or indices.ndim != 1:
        return None
    axis = integer(gather.attrs, "axis")
    along = weights.ndim > 0 and weights.shape[0] == weights.size == gather.output.shape[axis]
    if not along or weights.ndim != len(gather.output.shape) - axis:
        return None
    return [_Tap(gather, indices, weights.reshape(-1))]


def _base(state: State, gather: Node) -> _Base | None:
    x = gather.operands[0]
    form = state.form(x)
    if isinstance(form, Accumulated):
        whole = form.scale.size == 1 and form.low == -np.inf and form.high == np.inf
        return _Base(form.acc, 0, form.scale, form.bounds) if whole else None
    stored = as_stored(state, x, gather)
    if stored is None or not stored.per_tensor or stored.value.dtype not in NARROW:
        return None
    zero = int(stored.zero_point[0])
    bounds = int(stored.codes[0]) - zero, int(stored.codes[-1]) - zero
    return _Base(stored.value, zero, stored.scale.astype(np.float64).reshape(()), bounds)
