"""Pointwise operators on values that follow from one or two integer tensors: tables of all their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...ir.graph import Node, Value
from ...ir.types import DType
from ...ops.infer import broadcast_shapes
from ...ops.integer import BYTES
from ...ops.opdef import Kind
from ...ops.table import OPS
from .forms import Form, State, Stored, Tabled

ENTRIES = 1 << 21
"""Of the largest table that is tried."""
_CHEAP = frozenset(
    ["add", "sub", "mul", "neg", "abs", "relu", "clip", "min", "max", "where", "not", "and", "or", "cast"]
)


def is_pointwise(node: Node) -> bool:
    return OPS[node.op].kind is Kind.POINTWISE and node.op not in ("quantize", "dequantize")


def tabulate(state: State, node: Node) -> Tabled | None:
    """``node`` as a function of the integer tensors behind its operands."""
    parts: list[Tabled | np.ndarray] = []
    for value in node.operands:
        part = _part(state, value)
        if part is None:
            return None
        parts.append(part)
    if len(_sources(parts)) > 1:
        rooted = [_at_root(state, part) if isinstance(part, Tabled) else part for part in parts]
        parts = rooted if len(_sources(rooted)) < len(_sources(parts)) else parts
    ordered = _sources(parts)
    if not 1 <= len(ordered) <= 2:
        return None
    if not _shapes_fit(node, ordered, parts):
        return None
    arrays = [_aligned(part, ordered, len(node.output.shape)) for part in parts]
    if math.prod(broadcast_shapes(*(array.shape for array in arrays))) > ENTRIES:
        return None
    with np.errstate(all="ignore"):
        (table,) = OPS[node.op].evaluate(arrays, node.attrs)
    costly = node.op not in _CHEAP or any(part.costly for part in parts if isinstance(part, Tabled))
    return Tabled(ordered, table, costly)


def _part(state: State, value: Value) -> Tabled | np.ndarray | None:
    """An operand as a function of integers, or as a constant. A large constant of bytes counts as a tensor of them."""
    form, array = as_table(state.form(value)), state.constant(value)
    return form if array is None or (form is not None and array.size > 1) else array


def _sources(parts: Sequence[Tabled | np.ndarray]) -> tuple[Stored, ...]:
    """The different tensors that the operands are functions of."""
    return tuple({s.value.name: s for part in parts if isinstance(part, Tabled) for s in part.sources}.values())


def _at_root(state: State, part: Tabled) -> Tabled:
    """``part`` as a function of the tensors that its sources were looked up from.

    So x * f(x) is one table, although f(x) was stored as integers in between.
    """
    roots = [state.origins.get(source.value.name) for source in part.sources]
    sources = [source if root is None else root.source for source, root in zip(part.sources, roots)]
    places = [
        np.arange(len(source.codes)) if root is None else root.codes - source.least
        for source, root in zip(part.sources, roots)
    ]
    if len(sources) == 2 and sources[0].value != sources[1].value:
        return replace(part, sources=tuple(sources), table=part.table[..., places[0][:, np.newaxis], places[1]])
    return replace(part, sources=(sources[0],), table=part.table[(..., *places)])


def as_table(form: Form | None) -> Tabled | None:
    if isinstance(form, Stored):
        known = form.value.dtype in (DType.I8, DType.U8, DType.I16, DType.U16) and form.per_tensor
        return Tabled.of(form) if known else None
    return form if isinstance(form, Tabled) else None


def as_stored(state: State, value: Value, node: Node) -> Stored | None:
    """``value`` as integers times a scale, for its user ``node``; a clip of such becomes a clip of the integers."""
    form = state.form(value)
    if not isinstance(form, Tabled) or len(form.sources) != 1 or not form.single:
        return form if isinstance(form, Stored) else None
    (source,), table = form.sources, form.table.reshape(-1)
    reals = Tabled.of(source).table
    inside = np.flatnonzero(table == reals)
    if not inside.size or not np.array_equal(table, np.clip(reals, reals[inside[0]], reals[inside[-1]])):
        return None
    lo, hi = (int(source.codes[place]) for place in (inside[0], inside[-1]))
    (result,) = state.rewriter.emit("clip", [source.value], {"lo": lo, "hi": hi}, loc=node.loc, names=[value.name])
    return Stored(result, source.scale, source.zero_point)


def _shapes_fit(node: Node, sources: Sequence[Stored], parts: Sequence[Tabled | np.ndarray]) -> bool:
    """One source has the shape of the result; or two, of 8 bits, broadcast to it, with no constants but numbers."""
    if len(sources) == 1:
        return sources[0].value.shape == node.output.shape
    numbers = all(part.single if isinstance(part, Tabled) else part.size == 1 for part in parts)
    shape = broadcast_shapes(*(source.value.shape for source in sources))
    return numbers and shape == node.output.shape and all(source.value.dtype in BYTES for source in sources)


def _aligned(part: Tabled | np.ndarray, sources: Sequence[Stored], rank: int) -> np.ndarray:
    """The operand with ``rank`` dimensions of the result and one of each source behind them."""
    if isinstance(part, np.ndarray):
        shape = part.shape if part.size > 1 else ()
        return part.reshape((1,) * (rank - len(shape)) + shape + (1,) * len(sources))
    outer = part.table.shape[: part.table.ndim - len(part.sources)]
    own = [source.value.name for source in part.sources]
    order = [own.index(source.value.name) for source in sources if source.value.name in own]
    moved = np.moveaxis(part.table, [len(outer) + place for place in order], range(len(outer), part.table.ndim))
    codes = tuple(len(source.codes) if source.value.name in own else 1 for source in sources)
    return moved.reshape((1,) * (rank - len(outer)) + outer + codes)
