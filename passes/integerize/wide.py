"""Functions of 16-bit tensors: a multiple by ``requantize``, sums and products of two by multiplications in 64 bits.

A table of all results would be too large. What is computed here is within one step of the float definition, and equal
to it but where that is next to a half: the definition rounds the real numbers to float32 before they are added.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import DType
from ...ops.integer import NARROW, evaluate_requantize
from .forms import State, Stored, Tabled, Target

_NEIGHBOURS = (0, 1, -1, 2, -2, 3, -3)
"""Scales to try: so many float32 numbers beside the computed one."""
_MOST_APART = 0.01
"""Part of the codes that may be one step off."""
_MULTIPLIER_BITS = 30


def multiple(
    state: State, node: Node, source: Stored, codes: np.ndarray, reals: np.ndarray, target: Target, name: str
) -> Value | None:
    """``codes`` of all integers of ``source``, which are those of the real numbers ``reals``, as a multiple of the
    integers without their zero point, bounded; ``None`` where they are something else."""
    lo, hi = int(codes.min()), int(codes.max())
    centred = source.codes - int(source.zero_point[0])
    inside = (codes > lo) & (codes < hi) & (np.abs(centred) > 256)
    if target.to not in NARROW or not np.any(inside):
        return None
    slope = float(np.median(reals[inside].astype(np.float64) / centred[inside])) / float(target.scale)
    if not math.isfinite(slope) or slope <= 0:
        return None
    attrs: dict[str, AttrValue] = {
        **target.attrs, "lo": lo, "hi": hi, "to": target.to, "acc_lo": int(centred.min()), "acc_hi": int(centred.max())
    }  # fmt: skip
    scale, apart = _best_scale(np.float32(slope), centred.astype(np.int32), codes, attrs)
    if apart > _MOST_APART:
        return None
    emit, zero = state.rewriter.emit1, int(source.zero_point[0])
    acc = emit("cast", source.value, loc=node.loc, name=f"{name}.wide", to=DType.I32)
    if zero:
        acc = emit("sub", acc, state.rewriter.constant(np.asarray(zero, np.int32), f"{name}.zero"), loc=node.loc)
    constant = state.rewriter.constant(np.asarray(scale, np.float32), f"{name}.scale")
    return state.rewriter.emit("requantize", [acc, constant], attrs, loc=node.loc, names=[name])[0]


def _best_scale(
    computed: np.float32, centred: np.ndarray, codes: np.ndarray, attrs: dict[str, AttrValue]
) -> tuple[np.float32, float]:
    """The scale that gives most of the codes, and the part that is one step off (1 where any is further)."""
    best, least = computed, 1.0
    for step in _NEIGHBOURS:
        scale = np.float32((np.asarray(computed).view(np.int32) + np.int32(step)).view(np.float32))
        apart = np.abs(evaluate_requantize([centred, np.asarray(scale)], attrs)[0].astype(np.int64) - codes)
        part = float(np.mean(apart)) if apart.max() <= 1 else 1.0
        if part < least:
            best, least = scale, part
    return best, least


def wide_pair(state: State, node: Node, target: Target, name: str) -> Value | None:
    """The integers of a sum, difference or product of two stored tensors, of which one at least has 16 bits."""
    if node.op not in ("add", "sub", "mul") or target.to not in NARROW:
        return None
    forms = [state.form(value) for value in node.operands]
    sources = [_stored(form) for form in forms]
    if any(s is None or not s.per_tensor or s.value.dtype not in NARROW for s in sources):
        return None
    lhs, rhs = (source for source in sources if source is not None)
    if DType.I16 not in (lhs.value.dtype, rhs.value.dtype):
        return None
    lo, hi = target.limits
    attrs: dict[str, AttrValue] = {**target.attrs, "lo": lo, "hi": hi, "to": target.to}
    scales, zeros = zip(*((float(source.scale[0]), int(source.zero_point[0])) for source in (lhs, rhs)))
    if node.op == "mul":
        factors = [scales[0] * scales[1] / float(target.scale)]
    else:
        factors = [scales[0] / float(target.scale), scales[1] / float(target.scale) * (1 if node.op == "add" else -1)]
    shift = _MULTIPLIER_BITS - math.frexp(max(map(abs, factors)))[1]
    if not 1 <= shift <= 45:
        return None
    multipliers = [round(factor * 2**shift) for factor in factors]
    bias = (target.zero_point << shift) + (1 << shift - 1)
    operands = [lhs.value, rhs.value]
    if node.op == "mul":
        attrs |= {"m": multipliers[0], "z1": zeros[0], "z2": zeros[1], "bias": bias, "shift": shift}
        return state.rewriter.emit("rescale_product", operands, attrs, loc=node.loc, names=[name])[0]
    bias -= sum(m * zero for m, zero in zip(multipliers, zeros))
    attrs |= {"m1": multipliers[0], "m2": multipliers[1], "bias": bias, "shift": shift}
    return state.rewriter.emit("rescale", operands, attrs, loc=node.loc, names=[name])[0]


def _stored(form: object) -> Stored | None:
    """The tensor behind a form that is nothing but its real numbers."""
    if isinstance(form, Tabled) and len(form.sources) == 1 and form.single:
        source = form.sources[0]
        plain = source.per_tensor and source.value.dtype in NARROW
        return source if plain and np.array_equal(form.table.reshape(-1), Tabled.of(source).table) else None
    return form if isinstance(form, Stored) else None
