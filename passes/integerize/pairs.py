"""``quantize`` of a function of two byte tensors: integer arithmetic proven to give the same for all 65536 pairs."""

from __future__ import annotations

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import DType
from ...ops.integer import evaluate_requantize
from ...ops.quantization import evaluate_quantize
from .forms import State, Stored, Tabled, Target
from .proofs import FLOAT_LIMIT, Scaling, find_even_sum, find_product, find_sum

_NEIGHBOURS = (0, 1, -1, 2, -2, 3, -3)
"""Scales to try: so many float32 numbers beside the computed one."""
MOST_PAIRS = 256
"""Functions of two tensors in a model. Each takes about a tenth of a second, and a model may hold thousands."""


def rescaled_pair(state: State, node: Node, table: Tabled, target: Target, name: str) -> Value | None:
    """A sum or product of two tensors with scales of their own, perhaps clipped."""
    lhs, rhs = table.sources
    if table.table.dtype != np.float32:
        return None
    state.pairs += 1
    if state.pairs > MOST_PAIRS:
        state.keep_float(node, f"it is one of more than {MOST_PAIRS} functions of two tensors")
        return None
    shape = (len(lhs.codes), len(rhs.codes))
    codes = evaluate_quantize([table.table], target.quantize_attrs)[0].reshape(shape)
    reals = table.table.reshape(shape).astype(np.float64) / float(target.scale) + target.zero_point
    bounds: dict[str, AttrValue] = {**target.attrs, "lo": int(codes.min()), "hi": int(codes.max()), "to": target.to}
    scaling = find_sum(codes, reals, lhs.codes, rhs.codes)
    if scaling is not None:
        (m1, m2), attrs = scaling.multipliers, {"bias": scaling.bias, "shift": scaling.shift}
        return _emit(state, node, "rescale", table, {**bounds, **attrs, "m1": m1, "m2": m2}, name)
    scaling = find_even_sum(codes.astype(np.int64) - target.zero_point, reals - target.zero_point, lhs.codes, rhs.codes)
    if scaling is not None:
        return _even_sum(state, node, table, scaling, bounds, name)
    a, b = (source.codes - int(source.zero_point[0]) for source in table.sources)
    if not _is_product(reals, a, b):
        state.keep_float(node, "no integer arithmetic was found that gives the same for every pair of operands")
        return None
    scaling = find_product(codes, reals, a, b)
    if scaling is not None:
        z1, z2 = int(lhs.zero_point[0]), int(rhs.zero_point[0])
        attrs = {"bias": scaling.bias, "shift": scaling.shift, "m": scaling.multipliers[0], "z1": z1, "z2": z2}
        return _emit(state, node, "rescale_product", table, {**bounds, **attrs}, name)
    return _requantized_product(state, node, table, codes, bounds, target, name)


def _emit(state: State, node: Node, op: str, table: Tabled, attrs: dict[str, AttrValue], name: str) -> Value:
    operands = [source.value for source in table.sources]
    return state.rewriter.emit(op, operands, attrs, loc=node.loc, names=[name])[0]


def _even_sum(
    state: State, node: Node, table: Tabled, scaling: Scaling, bounds: dict[str, AttrValue], name: str
) -> Value:
    """x1 * m1 + x2 * m2 + bias in i32, requantized by 2^-shift: both are exact in float32, and halves go to even."""
    emit = state.rewriter.emit1

    def literal(number: int) -> Value:
        return state.rewriter.constant(np.asarray(number, np.int32), f"{name}.factor")

    wide = [emit("cast", source.value, loc=node.loc, name=f"{name}.wide", to=DType.I32) for source in table.sources]
    terms = [emit("mul", x, literal(m), loc=node.loc) for x, m in zip(wide, scaling.multipliers)]
    acc = emit("add", emit("add", *terms, loc=node.loc), literal(scaling.bias), loc=node.loc, name=f"{name}.acc")
    scale = state.rewriter.constant(np.asarray(2.0**-scaling.shift, np.float32), f"{name}.scale")
    attrs = {**bounds, "acc_lo": -FLOAT_LIMIT, "acc_hi": FLOAT_LIMIT}
    return state.rewriter.emit("requantize", [acc, scale], attrs, loc=node.loc, names=[name])[0]


def _is_product(reals: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
    """Whether ``reals`` grow with a * b, but for where they are clipped."""
    products = np.outer(a, b)
    inside = (reals > reals.min()) & (reals < reals.max()) & (products != 0)
    if not np.any(inside):
        return False
    solution = np.polyfit(products[inside].astype(float), reals[inside], 1)
    return bool(np.max(np.abs(np.polyval(solution, products[inside]) - reals[inside])) < 0.5)


def _requantized_product(
    state: State,
    node: Node,
    table: Tabled,
    codes: np.ndarray,
    bounds: dict[str, AttrValue],
    target: Target,
    name: str,
) -> Value | None:
    """The product in i32, times a float32 scale: where 32 bits are too few for a fixed-point multiplier."""
    lhs, rhs = table.sources
    products = np.outer(*(source.codes - int(source.zero_point[0]) for source in table.sources)).astype(np.int32)
    computed = np.float32(lhs.scale[0]) * np.float32(rhs.scale[0]) / target.scale
    for step in _NEIGHBOURS:
        scale = (np.asarray(computed, np.float32).view(np.int32) + np.int32(step)).view(np.float32)
        if np.array_equal(evaluate_requantize([products, scale], bounds)[0], codes):
            break
    else:
        state.keep_float(node, "no integer arithmetic was found that gives the same for every pair of operands")
        return None
    emit = state.rewriter.emit1
    acc = emit("mul", *(_centred(state, node, s, name) for s in table.sources), loc=node.loc, name=f"{name}.acc")
    attrs = {**bounds, "acc_lo": int(products.min()), "acc_hi": int(products.max())}
    constant = state.rewriter.constant(scale, f"{name}.scale")
    return state.rewriter.emit("requantize", [acc, constant], attrs, loc=node.loc, names=[name])[0]


def _centred(state: State, node: Node, source: Stored, name: str) -> Value:
    """x - zero_point in i32."""
    wide = state.rewriter.emit1("cast", source.value, loc=node.loc, name=f"{name}.wide", to=DType.I32)
    zero = state.rewriter.constant(np.asarray(int(source.zero_point[0]), np.int32), f"{name}.zero")
    return state.rewriter.emit1("sub", wide, zero, loc=node.loc, name=f"{name}.centred")
