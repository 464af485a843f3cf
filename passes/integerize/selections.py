"""``quantize`` of operators that choose among values, or bound them: the choice is among integers.

Quantization never falls, so it may come before ``max``, ``min``, ``relu`` and ``clip`` as well as behind them; that it
may come before ``where`` needs no reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...ir.graph import Node, Value
from ...ir.types import DType
from ...ops.integer import NARROW
from ...ops.quantization import evaluate_quantize
from .forms import State, Target
from .tables import as_table

Integers = Callable[[Value, str], "Value | None"]
"""The integers of a value, under a name."""


def selected(state: State, node: Node, target: Target, name: str, integers: Integers) -> Value | None:
    """``None`` where ``node`` is no such operator, or something that it takes does not follow from integers."""
    if target.to not in NARROW:
        return None
    if node.op in ("relu", "clip"):
        return _bounded(state, node, target, name, integers)
    if node.op not in ("max", "min", "where") or len(node.operands) != 2 + (node.op == "where"):
        return None
    condition = [_condition(state, node, name)] if node.op == "where" else []
    branches = node.operands[len(condition) :]
    parts = [_branch(state, value, target, f"{name}.{position}", integers) for position, value in enumerate(branches)]
    known = [value for value in (*condition, *parts) if value is not None]
    if len(known) < len(node.operands):
        return None
    return state.rewriter.emit(node.op, known, loc=node.loc, names=[name])[0]


def _bounded(state: State, node: Node, target: Target, name: str, integers: Integers) -> Value | None:
    x = integers(node.operands[0], f"{name}.inner")
    if x is None:
        return None
    low, high = (0.0, math.inf) if node.op == "relu" else (node.attrs["lo"], node.attrs["hi"])
    bounds = np.asarray([low, high], np.float32)
    lo, hi = evaluate_quantize([bounds], target.quantize_attrs)[0].tolist()
    return state.rewriter.emit("clip", [x], {"lo": lo, "hi": hi}, loc=node.loc, names=[name])[0]


def _branch(state: State, value: Value, target: Target, name: str, integers: Integers) -> Value | None:
    array = state.constant(value)
    if array is None:
        return integers(value, name)
    if array.dtype != np.float32:
        return None
    return state.rewriter.constant(evaluate_quantize([array], target.quantize_attrs)[0], name)


def _condition(state: State, node: Node, name: str) -> Value | None:
    """As a comparison of integers with a number, if it is a function of one tensor that changes once."""
    condition = node.operands[0]
    table = as_table(state.form(condition))
    if table is None:
        producer = state.rewriter.producer(condition)
        floats = producer is not None and any(value.dtype.is_float for value in producer.operands)
        return None if floats else condition
    if condition.dtype is not DType.BOOL or len(table.sources) != 1 or not table.single:
        return None
    (source,), holds = table.sources, table.table.reshape(-1)
    changes = np.flatnonzero(holds[1:] != holds[:-1])
    if changes.size != 1:
        return None
    first = np.asarray(int(source.codes[changes[0]]) + 1, source.value.dtype.numpy)
    op = "ge" if holds[-1] else "lt"
    return state.rewriter.emit1(op, source.value, state.rewriter.constant(first, f"{name}.first"), loc=node.loc)
