"""Recurrent layers whose input and weights are quantized: int_lstm, int_gru and int_rnn.

States are stored in steps that the operators fix (``ops/int_recurrent.py``), whatever a model quantizes its outputs to:
that comes behind them. What the gates read is never stored, so that the result is not that of the float definition to
the bit; it is as near as 16 bits are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import DType, QuantParams
from ...ops.attributes import texts
from ...ops.int_recurrent import (
    ACTIVATIONS,
    CELL_QUANT,
    HIDDEN_BITS,
    HIDDEN_QUANT,
    LIMIT,
    recurrent_constants,
    tanh_table,
)
from ...ops.integer import NARROW
from ...ops.recurrent import lengths_position
from ...record import record
from .forms import Accumulated, Stacked, State, Stored
from .ranges import value_range
from .tables import as_stored

_FLAGS = ("input_forget", "linear_before_reset")


@record
class _Rows:
    """Weights ``[dirs, rows, k]`` without zero points, and the scale of each row."""

    integers: np.ndarray
    scale: np.ndarray


def recurrent(state: State, node: Node) -> Sequence[Value] | None:
    """``node`` on integers, its results read as floats; ``None`` where it stays in float, with the reason noted."""
    x = as_stored(state, node.operands[0], node)
    w, r = (_rows(state, value) for value in node.inputs[1:3])
    if x is None or w is None or r is None:
        state.keep_float(node, "its input and weights are not all quantized; its gates are computed in float")
        return None
    bias = _bias(state, node, w)
    reason = _reason(node, x)
    if reason is None and bias is None:
        reason = "its bias is computed"
    if reason is not None or bias is None:
        state.keep_float(node, reason or "")
        return None
    zero = int(x.zero_point[0])
    reach = max(abs(end - zero) for end in value_range(state.rewriter, x.value))
    reaches = tuple(np.abs(each.integers).sum(axis=-1) * most for each, most in ((w, reach), (r, 1 << HIDDEN_BITS)))
    scales = float(x.scale[0]) * w.scale.astype(np.float64), 2.0**-HIDDEN_BITS * r.scale.astype(np.float64)
    constants = recurrent_constants(scales, (reaches[0], reaches[1]), bias)
    if constants is None:
        state.keep_float(node, "its sums of products or the arguments of its gates need more than 32 bits")
        return None
    attrs: dict[str, AttrValue] = {name: node.attrs[name] for name in ("hidden", "direction", "activations")}
    attrs |= {name: node.attrs[name] for name in _FLAGS if name in node.attrs}
    attrs |= {"x_zero_point": zero, **constants.attrs}
    operands = [x.value, *_constants(state, node, w, r), *_states(state, node)]
    arrays = ((constants.b, "bias"), (constants.multipliers, "multipliers"), (tanh_table(), "tanh"))
    operands[3:3] = [state.rewriter.constant(array, f"{node.outputs[0].name}.{stem}") for array, stem in arrays]
    names = [f"{value.name}.stored" for value in node.outputs]
    made = state.rewriter.emit(f"int_{node.op}", operands, attrs, loc=node.loc, names=names)
    return [_real(state, node, number, value) for number, value in enumerate(made)]


def _reason(node: Node, x: Stored) -> str | None:
    """Why the layer has no integer form, whatever its weights are."""
    names = texts(node.attrs, "activations")
    peepholes = node.op == "lstm" and len(node.inputs) > 6 and node.inputs[6] is not None
    if x.value.dtype not in NARROW or not x.per_tensor:
        return "its input is not quantized to one scale and 8 or 16 bits"
    wanted = ACTIVATIONS.get(f"int_{node.op}", names[:1]) * (len(names) // len(ACTIVATIONS.get(f"int_{node.op}", "x")))
    if names != wanted or not {"Sigmoid", "Tanh"}.issuperset(names):
        return f"its activation functions are {', '.join(names)}"
    if node.attrs["clip"] != float("inf"):
        return "the arguments of its gates are clipped"
    return "it has peepholes" if peepholes else None


# ---------------------------------------------------------------- constants


def _rows(state: State, value: Value | None) -> _Rows | None:
    """Constant weights with one scale, or one for each row, of which 8 or 16 bits are left without zero points."""
    form = state.form(value)
    parts = form.parts if isinstance(form, Stacked) else (form,) if isinstance(form, Stored) else ()
    found = [_of_direction(state, part) for part in parts]
    if not found or any(each is None for each in found):
        return None
    rows = [each for each in found if each is not None]
    integers = np.concatenate([each.integers for each in rows])
    wide = next((dtype for dtype in (np.int8, np.int16) if _holds(dtype, integers)), None)
    scale = np.concatenate([each.scale for each in rows])
    return None if wide is None or not np.all(scale > 0) else _Rows(integers.astype(np.int64), scale)


def _of_direction(state: State, stored: Stored) -> _Rows | None:
    array = state.rewriter.array(stored.value)
    if array is None or stored.axis not in (None, 0, 1) or array.dtype.kind not in "iu":
        return None
    centred = array.astype(np.int64) - stored.along_axis(stored.zero_point)
    scale = np.broadcast_to(stored.along_axis(stored.scale), (*array.shape[:2], 1))[..., 0]
    return _Rows(centred, scale)


def _holds(dtype: type[np.integer], integers: np.ndarray) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= integers.min(initial=0) and integers.max(initial=0) <= limits.max)


def _constants(state: State, node: Node, w: _Rows, r: _Rows) -> list[Value | None]:
    out: list[Value | None] = []
    for position, rows in ((1, w), (2, r)):
        dtype = np.int8 if _holds(np.int8, rows.integers) else np.int16
        value = node.inputs[position]
        assert value is not None
        out.append(state.rewriter.constant(rows.integers.astype(dtype), f"{value.name}.stored"))
    return out


def _bias(state: State, node: Node, w: _Rows) -> np.ndarray | None:
    value = node.inputs[3] if len(node.inputs) > 3 else None
    if value is None:
        return np.zeros((len(w.scale), 2 * w.scale.shape[1]))
    return state.constant(value)


# ---------------------------------------------------------------- states


def _states(state: State, node: Node) -> list[Value | None]:
    """Initial states as integers, and the lengths."""
    count = 2 if node.op == "lstm" else 1
    given = [*node.inputs, *[None] * 8]
    quants = ((HIDDEN_QUANT, DType.I16), (CELL_QUANT, DType.I32))
    states = [_stored_state(state, node, value, *quant) for value, quant in zip(given[4 : 4 + count], quants)]
    return [*states, given[lengths_position(count)]]


def _stored_state(
    state: State, node: Node, value: Value | None, quant: QuantParams, dtype: DType
) -> Value | None:
    if value is None or not np.any(state.constant(value) if state.constant(value) is not None else 1):
        return None
    stored = state.stored(value)
    if stored is not None and stored.value.dtype is dtype and stored.quant == quant:
        return stored.value
    attrs: dict[str, AttrValue] = {"scale": quant.scale, "zero_point": (0,), "axis": 0, "to": dtype}
    return state.rewriter.emit("quantize", [value], attrs, loc=node.loc, names=[f"{value.name}.stored"])[0]


def _real(state: State, node: Node, number: int, value: Value) -> Value:
    """A result as floats, and how it follows from integers."""
    quant = CELL_QUANT if number == 2 else HIDDEN_QUANT
    attrs: dict[str, AttrValue] = {"scale": quant.scale, "zero_point": (0,), "axis": 0}
    (real,) = state.rewriter.emit("dequantize", [value], attrs, loc=node.loc, names=[node.outputs[number].name])
    scale = np.asarray(quant.scale, np.float32)
    if number == 2:
        state.forms[real.name] = Accumulated(value, scale.reshape(()), (1 - LIMIT, LIMIT - 1))
    else:
        state.forms[real.name] = Stored(value, scale, np.zeros(1, np.int64))
    return real
