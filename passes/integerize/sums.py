"""Pooling and reductions of integers: extremes as they are, means through sums in i32."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ops.attributes import ints, text
from ...ops.integer import NARROW
from ...ops.window import window_sizes
from .contractions import dequantized, plain
from .forms import Accumulated, State, Stored, Tabled
from .ranges import check_bounds, value_range
from .tables import as_stored, as_table

_SUMMED = ("sum", "mean", "avg")


def reduction(state: State, node: Node) -> Value | None:
    """A pool or reduce node on integers."""
    kind = text(node.attrs, "kind")
    if kind in ("max", "min"):
        _note_extreme(state, node)
        return None
    stored = as_stored(state, node.operands[0], node)
    if kind not in _SUMMED or stored is None or not stored.per_tensor or stored.value.dtype not in NARROW:
        state.keep_float(node, f"no integer form of {node.op} {kind} of this operand")
        return None
    return _sum(state, node, stored)


def _note_extreme(state: State, node: Node) -> None:
    """The greatest of f(x) is f of the greatest x, as f does not fall: the form moves on to the integer node."""
    table = as_table(state.form(node.operands[0]))
    stored = state.stored(node.operands[0])
    if table is None or not table.single or len(table.sources) != 1 or np.any(np.diff(table.table.reshape(-1)) < 0):
        state.keep_float(node, "its operand is not a monotone function of one integer tensor")
        return
    source = table.sources[0]
    name = f"{node.output.name}.stored"
    (value,) = state.rewriter.emit(node.op, [source.value], node.attrs, loc=node.loc, names=[name])
    moved = Stored(value, source.scale, source.zero_point)
    state.forms[node.output.name] = moved if stored is not None else Tabled((moved,), table.table, table.costly)


def _sum(state: State, node: Node, stored: Stored) -> Value:
    """sum((x - zero_point) * scale) / count = sum(x - zero_point) * (scale / count)."""
    counts = _counts(node)
    zero_point = int(stored.zero_point[0])
    low, high = (end - zero_point for end in value_range(state.rewriter, stored.value))
    most = _most_terms(node)
    low, high = most * min(low, 0), most * max(high, 0)
    check_bounds(node, low, high)
    attrs: dict[str, AttrValue] = {**node.attrs, "kind": "sum", "zero_point": zero_point, "acc_lo": low, "acc_hi": high}
    name = f"{node.output.name}.acc"
    (acc,) = state.rewriter.emit(node.op, [stored.value], attrs, loc=node.loc, names=[name])
    scale = plain(stored.scale.astype(np.float64).reshape(()) / counts)
    return dequantized(state, node, Accumulated(acc, scale, (low, high)))


def _most_terms(node: Node) -> int:
    if node.op == "pool":
        return prod(ints(node.attrs, "kernel"))
    return node.operands[0].type.size // node.output.type.size


def _counts(node: Node) -> np.ndarray:
    """What each sum is divided by, shaped to broadcast to the result."""
    if node.attrs["kind"] == "sum":
        return np.ones(())
    if node.op == "reduce":
        return np.asarray(float(_most_terms(node)))
    return window_sizes(node.operands[0].shape[2:], node.attrs)
