"""``quantize`` of a value that follows from integers: the integer operator that gives the same bytes."""

from __future__ import annotations

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ops.attributes import integer, number
from ...ops.integer import BYTES, NARROW
from ...ops.quantization import evaluate_quantize
from .contractions import plain
from .forms import Accumulated, Origin, State, Stored, Tabled, Target
from .moves import PURE, emit_view, is_view
from .normalization import normalization_behind, normalized
from .pairs import rescaled_pair
from .proofs import find_scalings
from .selections import selected
from .softmax import exponentials
from .tables import as_stored, as_table
from .wide import multiple, wide_pair


def quantized(state: State, node: Node) -> Value | None:
    """The integers of a ``quantize`` node; ``None`` where they are computed from floats."""
    target = Target.of(node)
    if target is None:
        state.keep_float(node, "its parameters differ along an axis")
        return None
    return _integers(state, node, node.operands[0], target, node.output.name)


def _integers(state: State, node: Node, x: Value, target: Target, name: str) -> Value | None:
    """``x`` as integers, for the ``quantize`` ``node``; they are ascribed to the operator that computes ``x``."""
    form, producer = state.form(x), state.rewriter.producer(x)
    if isinstance(form, Accumulated):
        if target.to not in NARROW:
            state.keep_float(producer or node, f"its result is {target.to.value}, not i8, u8 or i16")
            return None
        return _requantized(state, producer or node, form, target, name)
    table = as_table(form)
    if table is not None:
        find = _looked_up if len(table.sources) == 1 else rescaled_pair
        found = find(state, producer or node, table, target, name)
        if found is not None:
            return found
    return None if producer is None else _by_operator(state, producer, target, name)


def _by_operator(state: State, node: Node, target: Target, name: str) -> Value | None:
    """The integers of what ``node`` computes, where no table has them."""
    if node.op == "softmax":
        return _softmax(state, node, target, name)
    if is_view(node):
        return _viewed(state, node, target, name)
    normalization = normalization_behind(state, node)
    if normalization is not None:
        return normalized(state, normalization, target, name)
    pair = wide_pair(state, node, target, name)
    if pair is not None:
        return pair
    return selected(state, node, target, name, lambda x, stem: _integers(state, node, x, target, stem))


# ---------------------------------------------------------------- accumulators


def _requantized(state: State, node: Node, form: Accumulated, target: Target, name: str) -> Value:
    """The scale is divided by that of the result in the type that it has: float32 for contractions."""
    scale = plain((form.scale / form.scale.dtype.type(target.scale)).astype(np.float32))
    lo, hi = (_code(bound, target) for bound in (form.low, form.high))
    attrs: dict[str, AttrValue] = {
        **target.attrs, "lo": lo, "hi": hi, "to": target.to, "acc_lo": form.bounds[0], "acc_hi": form.bounds[1],
    }  # fmt: skip
    constant = state.rewriter.constant(scale, f"{name}.scale")
    return state.rewriter.emit("requantize", [form.acc, constant], attrs, loc=node.loc, names=[name])[0]


def _code(bound: float, target: Target) -> int:
    """A bound as an integer of the target; rounding never changes an order, so it bounds the rounded results."""
    return int(evaluate_quantize([np.asarray(bound, np.float32)], target.quantize_attrs)[0])


# ---------------------------------------------------------------- functions of one tensor


def _looked_up(state: State, node: Node, table: Tabled, target: Target, name: str) -> Value | None:
    (source,) = table.sources
    if table.table.dtype != np.float32:
        return None
    (codes,) = evaluate_quantize([table.table], target.quantize_attrs)
    if not table.single:
        return _per_channel(state, node, source, table, codes, target, name)
    codes = codes.reshape(-1)
    lo, hi = int(codes.min()), int(codes.max())
    same = source.value.dtype is target.to and source.quant == target.quant
    if same and np.array_equal(codes, source.codes):
        return source.value
    if same and np.array_equal(codes, np.clip(source.codes, lo, hi)):
        result = state.rewriter.emit1("clip", source.value, loc=node.loc, name=name, lo=lo, hi=hi)
    elif len(codes) > 256:
        product = multiple(state, node, source, codes, table.table.reshape(-1), target, name)
        if product is None:
            state.keep_float(node, "a function of 16-bit integers would need a table of 65536")
        return product
    else:
        constant = state.rewriter.constant(codes, f"{name}.table")
        (result,) = state.rewriter.emit("lookup", [source.value, constant], target.attrs, loc=node.loc, names=[name])
    _note_origin(state, source, codes, result)
    return result


def _note_origin(state: State, source: Stored, codes: np.ndarray, result: Value) -> None:
    """Lookups of lookups count from the first tensor."""
    before = state.origins.get(source.value.name)
    if before is not None:
        source, codes = before.source, codes[before.codes - source.least]
    state.origins[result.name] = Origin(source, codes.astype(np.int64))


def _per_channel(
    state: State, node: Node, source: Stored, table: Tabled, codes: np.ndarray, target: Target, name: str
) -> Value | None:
    """A table for each channel is too much; where they are linear, multiplication, addition and shift give the same."""
    outer = codes.shape[:-1]
    rows = codes.reshape(-1, codes.shape[-1])
    reals = table.table.reshape(rows.shape) / target.scale + target.zero_point
    found = find_scalings(rows, reals, source.codes) if len(source.codes) == 256 else None
    if found is None:
        state.keep_float(node, "no integer arithmetic was found that gives the same for every channel and operand")
        return None
    factor = np.array([scaling.multipliers[0] for scaling in found], np.int32).reshape(outer)
    bias = np.array([scaling.bias for scaling in found], np.int32).reshape(outer)
    operands = [
        source.value,
        state.rewriter.constant(factor, f"{name}.factor"),
        state.rewriter.constant(bias, f"{name}.bias"),
    ]
    attrs = {**target.attrs, "shift": found[0].shift, "lo": found[0].lo, "hi": found[0].hi, "to": target.to}
    return state.rewriter.emit("rescale_channels", operands, attrs, loc=node.loc, names=[name])[0]


# ---------------------------------------------------------------- softmax, views


def _softmax(state: State, softmax: Node, target: Target, name: str) -> Value | None:
    stored, axis = as_stored(state, softmax.operands[0], softmax), integer(softmax.attrs, "axis")
    if stored is None or not stored.per_tensor or stored.value.dtype not in BYTES:
        state.keep_float(softmax, "its operand is not of 8 bits")
        return None
    constants = exponentials(float(stored.scale[0]), stored.value.shape[axis], target)
    if constants is None:
        state.keep_float(softmax, f"its result in steps of {target.scale} would not be accurate in integers")
        return None
    table, numbers = constants
    attrs = {**target.attrs, **numbers, "axis": axis, "to": target.to}
    operands = [stored.value, state.rewriter.constant(table, f"{name}.table")]
    return state.rewriter.emit("int_softmax", operands, attrs, loc=softmax.loc, names=[name])[0]


def _viewed(state: State, view: Node, target: Target, name: str) -> Value | None:
    """quantize(view(x)) = view(quantize(x)): what is moved has 8 bits then."""
    moved = view.operands if view.op == "concat" else view.operands[:1]
    if view.op in PURE and moved[0].type.size > view.output.type.size and moved[0].name not in state.forms:
        return None
    attrs: dict[str, AttrValue] = {}
    if view.op == "pad" and view.attrs["mode"] == "constant":
        attrs["value"] = _code(number(view.attrs, "value"), target)
    parts = []
    for x in moved:
        stem = f"{x.name}.{target.to.value}"
        part = _integers(state, view, x, target, stem)
        if part is None:
            (part,) = state.rewriter.emit("quantize", [x], target.quantize_attrs, loc=view.loc, names=[stem])
        parts.append(part)
    return emit_view(state, view, [*parts, *view.operands[len(moved) :]], name, attrs)
