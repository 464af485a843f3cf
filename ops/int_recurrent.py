"""``int_lstm``, ``int_gru`` and ``int_rnn``: recurrent layers in fixed point; types, meaning, constants.

Layouts, gate order and formulas are those of ``ops/recurrent.py`` (ONNX, ``layout=0``). Operands are::

    x[seq, batch, input]: i8, u8 or i16     w[dirs, gates * hidden, input], r[dirs, gates * hidden, hidden]: i8 or i16
    b, multipliers[dirs, 2 * gates * hidden]: i32      table: u16[513], hyperbolic tangents, see :func:`tanh_table`
    h0[dirs, batch, hidden]: i16   c0 (int_lstm alone): i32   lengths[batch]: i32 or i64; the last three may be missing

A hidden state is an i16 in steps of 2^-15, a cell state an i32 in steps of 2^-20, both symmetric. With
``high(a, b) = a * b >> 32`` and F = ``fraction``, the argument of a gate is, in steps of 2^-F, row by row::

    u = high(sum((x - x_zero_point) * w) << x_shift, multiplier of w) + bias of w
      + high(sum(h * r) << h_shift, multiplier of r) + bias of r

The hyperbolic tangent is interpolated between 512 places of [0, 8), and the logistic function is (1 + tanh(u / 2)) / 2
(:func:`tanh16`, :func:`sigmoid17`): both are off by at most 2^-15. A product with a gate is one :func:`times`. All is
integer arithmetic that fits 32 bits but for the double word of ``high``, so that every machine gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..ir.types import DType, QuantParams, TensorType
from ..record import record
from .attributes import flag, integer, text, texts
from .infer import operand, optional
from .integer import NARROW
from .opdef import Arrays, Attrs, Types
from .recurrent import DIRECTIONS, Step

HIDDEN_BITS = 15
"""Of the fraction of a hidden state."""
CELL_BITS = 20
"""Of the fraction of a cell state, which is within 2^10."""
MOST_FRACTION, LEAST_FRACTION = 20, 12
"""Bits of the fraction of a gate's argument."""
TABLE_BITS = 6
"""Places of the table in an interval of one, as a power of two."""
TABLE_REACH = 8
"""Beyond it the hyperbolic tangent is 1."""
LIMIT = 1 << 30
"""Arguments of gates and cell states are below it."""
ONE = 1 << 17
"""What the logistic function tends to."""
TABLE, INITIAL = 5, 6
"""Positions of operands: the table, and the first of the initial states, behind which the lengths are."""
ACTIVATIONS = {"int_lstm": ("Sigmoid", "Tanh", "Tanh"), "int_gru": ("Sigmoid", "Tanh")}
"""Of a direction; int_rnn has one of these two."""
GATES = {"int_lstm": 4, "int_gru": 3, "int_rnn": 1}
STATES = {"int_lstm": 2, "int_gru": 1, "int_rnn": 1}
TOLERANCE = 1e-3
"""Relative L2 error against a layer of floats beyond which a mistake is suspected: hidden states are rounded to 2^-15,
gates are off by as much, states of a tenth are usual, and steps and layers behind each other add to that."""
HIDDEN_QUANT = QuantParams((2.0**-HIDDEN_BITS,), (0,))
CELL_QUANT = QuantParams((2.0**-CELL_BITS,), (0,))


def tanh_table() -> np.ndarray:
    """``tanh(i / 64)`` for i of 0..512 in steps of 2^-16.

    The line between two places is below a concave function; each place is moved up by half of what it is below there,
    ``h^2 / 16 * tanh''``, so that the error is as large on either side.
    """
    step = 2.0**-TABLE_BITS
    t = np.tanh(np.arange((TABLE_REACH << TABLE_BITS) + 1) * step)
    return np.minimum(np.rint(65536 * (t + step**2 / 8 * t * (1 - t * t))), 65535).astype(np.uint16)


# ---------------------------------------------------------------- types


def infer_int_lstm(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _infer("int_lstm", types, attrs)


def infer_int_gru(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _infer("int_gru", types, attrs)


def infer_int_rnn(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _infer("int_rnn", types, attrs)


def _infer(op: str, types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, hidden, dirs = operand(types, 0), integer(attrs, "hidden"), DIRECTIONS[text(attrs, "direction")]
    if x.rank != 3 or x.dtype not in NARROW:
        raise ValueError(f"no integer recurrence over {x}; it needs i8, u8 or i16 [sequence, batch, input]")
    names, states = texts(attrs, "activations"), STATES[op]
    if names != ACTIVATIONS.get(op, names[:1]) * dirs or not {"Sigmoid", "Tanh"}.issuperset(names):
        raise ValueError(f"{op} has no activations {names}")
    if not LEAST_FRACTION <= integer(attrs, "fraction") <= MOST_FRACTION:
        raise ValueError(f"a fraction of {attrs['fraction']} bits")
    seq, batch, features = x.shape
    rows, state = GATES[op] * hidden, (dirs, batch, hidden)
    wanted = [
        ("weights w", (dirs, rows, features), (DType.I8, DType.I16)),
        ("weights r", (dirs, rows, hidden), (DType.I8, DType.I16)),
        ("bias", (dirs, 2 * rows), (DType.I32,)),
        ("multipliers", (dirs, 2 * rows), (DType.I32,)),
        ("table", ((TABLE_REACH << TABLE_BITS) + 1,), (DType.U16,)),
        ("initial state", state, (DType.I16,)),
        *[("cell state", state, (DType.I32,))] * (states - 1),
        ("lengths", (batch,), (DType.I32, DType.I64)),
    ]
    for position, (what, shape, dtypes) in enumerate(wanted, start=1):
        type_ = operand(types, position) if position < INITIAL else optional(types, position)
        if type_ is not None and (type_.shape != shape or type_.dtype not in dtypes):
            raise ValueError(f"{what} {type_} should be {shape} for {x} and {hidden} hidden units")
    y, y_h = (TensorType(DType.I16, each, HIDDEN_QUANT) for each in ((seq, dirs, batch, hidden), state))
    return (y, y_h, TensorType(DType.I32, state, CELL_QUANT))[: states + 1]


# ---------------------------------------------------------------- meaning


def high(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper word of a product of two words."""
    return a.astype(np.int64) * b >> 32


def times(x: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """``x`` of less than 2^30 times a gate in steps of 2^-17, rounded down."""
    return high(x << 1, gate << 14)


def tanh16(u: np.ndarray, fraction: int, table: np.ndarray) -> np.ndarray:
    """The hyperbolic tangent of an argument in steps of 2^-fraction, in steps of 2^-16."""
    wide = table.astype(np.int64)
    shift = fraction - TABLE_BITS
    a = np.minimum(np.abs(u), (TABLE_REACH << fraction) - 1)
    place, part = a >> shift, a & (1 << shift) - 1
    value = wide[place] + ((wide[place + 1] - wide[place]) * part + (1 << shift - 1) >> shift)
    return np.where(u < 0, -value, value)


def sigmoid17(u: np.ndarray, fraction: int, table: np.ndarray) -> np.ndarray:
    """The logistic function of an argument in steps of 2^-fraction, in steps of 2^-17."""
    return tanh16(u, fraction + 1, table) + (ONE >> 1)


def _rounded(x: np.ndarray, shift: int) -> np.ndarray:
    return x + (1 << shift - 1) >> shift


def _hidden(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -32767, 32767)


@record
class _Direction:
    """One direction's operands as int64."""

    attrs: Attrs
    w: np.ndarray
    r: np.ndarray
    b: np.ndarray
    multipliers: np.ndarray
    table: np.ndarray

    def of_input(self, x: np.ndarray) -> np.ndarray:
        rows = len(self.w)
        acc = _word((x - integer(self.attrs, "x_zero_point")) @ self.w.T)
        return high(acc << integer(self.attrs, "x_shift"), self.multipliers[:rows]) + self.b[:rows]

    def of_state(self, h: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        every = len(self.w)
        acc = _word(h @ self.r[rows].T)
        return high(acc << integer(self.attrs, "h_shift"), self.multipliers[every:][rows]) + self.b[every:][rows]

    def sigmoid(self, u: np.ndarray) -> np.ndarray:
        return sigmoid17(u, integer(self.attrs, "fraction"), self.table)

    def tanh(self, u: np.ndarray, fraction: int | None = None) -> np.ndarray:
        return tanh16(u, fraction or integer(self.attrs, "fraction"), self.table)


def _word(x: np.ndarray) -> np.ndarray:
    """Sums as words, as kernels hold them; operands whose sums are more are not made (:func:`recurrent_constants`)."""
    return x.astype(np.int32).astype(np.int64)


def _lstm_step(own: _Direction) -> Step:
    def step(x: np.ndarray, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        h, c = state
        i, o, f, g = np.split(own.of_input(x) + own.of_state(h), 4, axis=-1)
        i = own.sigmoid(i)
        f = ONE - i if flag(own.attrs, "input_forget") else own.sigmoid(f)
        new = times(c, f) + _rounded(times(own.tanh(g) << 13, i), 9)
        c = np.clip(new, 1 - LIMIT, LIMIT - 1)
        return _hidden(_rounded(times(own.tanh(c, CELL_BITS) << 13, own.sigmoid(o)), 14)), c

    return step


def _gru_step(own: _Direction) -> Step:
    hidden = integer(own.attrs, "hidden")

    def step(x: np.ndarray, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        (h,) = state
        xz, xr, xn = np.split(own.of_input(x), 3, axis=-1)
        hz, hr = np.split(own.of_state(h, slice(2 * hidden)), 2, axis=-1)
        z, r, last = own.sigmoid(xz + hz), own.sigmoid(xr + hr), slice(2 * hidden, 3 * hidden)
        if flag(own.attrs, "linear_before_reset"):
            past = times(own.of_state(h, last), r)
        else:
            past = own.of_state(_rounded(times(h << 14, r), 14), last)
        n = own.tanh(xn + past)
        return (_hidden(_rounded((n << 11) + times((h << 1) - n << 11, z), 12)),)

    return step


def _rnn_step(own: _Direction) -> Step:
    def step(x: np.ndarray, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        u = own.of_input(x) + own.of_state(state[0])
        logistic = texts(own.attrs, "activations")[0] == "Sigmoid"
        return (_hidden(_rounded(own.sigmoid(u), 2) if logistic else _rounded(own.tanh(u), 1)),)

    return step


def evaluate_int_lstm(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return _evaluate("int_lstm", arrays, attrs, _lstm_step)


def evaluate_int_gru(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return _evaluate("int_gru", arrays, attrs, _gru_step)


def evaluate_int_rnn(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return _evaluate("int_rnn", arrays, attrs, _rnn_step)


def _evaluate(
    op: str, arrays: Arrays, attrs: Attrs, make_step: Callable[[_Direction], Step]
) -> tuple[np.ndarray, ...]:
    states, hidden, direction = STATES[op], integer(attrs, "hidden"), text(attrs, "direction")
    wide = [None if array is None else array.astype(np.int64) for array in arrays]
    wide += [None] * (INITIAL + states + 1 - len(wide))
    x, w, r, b, multipliers, table = wide[:INITIAL]
    assert x is not None and w is not None and r is not None
    assert b is not None and multipliers is not None and table is not None
    seq, batch, _ = x.shape
    lengths = wide[INITIAL + states]
    y = np.zeros((seq, len(w), batch, hidden), np.int64)
    finals = np.zeros((states, len(w), batch, hidden), np.int64)
    for d in range(len(w)):
        step = make_step(_Direction(attrs, w[d], r[d], b[d], multipliers[d], table))
        initial = wide[INITIAL : INITIAL + states]
        state = tuple(np.zeros((batch, hidden), np.int64) if s is None else s[d] for s in initial)
        order: Sequence[int] = range(seq)
        for t in reversed(order) if direction == "reverse" or d == 1 else order:
            runs = np.full((batch, 1), True) if lengths is None else (t < lengths)[:, None]
            state = tuple(np.where(runs, new, old) for new, old in zip(step(x[t], state), state))
            y[t, d] = np.where(runs, state[0], 0)
        finals[:, d] = state
    types = (np.int16, np.int16, np.int32)
    return tuple(array.astype(dtype) for array, dtype in zip((y, *finals), types))


# ---------------------------------------------------------------- constants


@record
class RecurrentConstants:
    """``b`` and ``multipliers`` of an operator, and its attributes ``fraction``, ``x_shift`` and ``h_shift``."""

    b: np.ndarray
    multipliers: np.ndarray
    attrs: dict[str, int]


def recurrent_constants(
    scales: tuple[np.ndarray, np.ndarray], reaches: tuple[np.ndarray, np.ndarray], bias: np.ndarray
) -> RecurrentConstants | None:
    """Constants for sums of products that have the ``scales`` and are at most the ``reaches``, ``[dirs, rows]`` each of
    w and of r, and biases ``[dirs, 2 * rows]`` in real numbers; ``None`` where 32 bits are too few."""
    most = [max(1, int(reach.max(initial=0))) for reach in reaches]
    if max(most) >= 1 << 31:
        return None
    largest = sum(float((s * reach).max(initial=0.0)) for s, reach in zip(scales, reaches))
    largest += float(np.abs(bias).max(initial=0.0)) * 2 + 2.0**-LEAST_FRACTION
    top = min(MOST_FRACTION, math.floor(math.log2(LIMIT / 2 / largest)))
    for fraction in range(top, LEAST_FRACTION - 1, -1):
        found = [_multipliers(s, reach, fraction) for s, reach in zip(scales, most)]
        if all(each is not None for each in found):
            (mx, x_shift), (mr, h_shift) = (each for each in found if each is not None)
            attrs = {"fraction": fraction, "x_shift": x_shift, "h_shift": h_shift}
            steps = np.rint(bias.astype(np.float64) * 2**fraction).astype(np.int32)
            return RecurrentConstants(steps, np.concatenate([mx, mr], axis=1), attrs)
    return None


def _multipliers(scales: np.ndarray, most: int, fraction: int) -> tuple[np.ndarray, int] | None:
    """``scale * 2^(fraction + 32 - shift)`` with the least shift for which all fit, if sums of ``most`` allow it."""
    largest = float(scales.max(initial=0.0))
    if largest == 0:
        return np.zeros(scales.shape, np.int32), 0
    shift = max(0, math.frexp(largest)[1] + fraction + 32 - 31)
    factors = np.rint(scales.astype(np.float64) * 2.0 ** (fraction + 32 - shift))
    if factors.max() > 2**31 - 1:
        shift, factors = shift + 1, np.rint(factors / 2)
    return (factors.astype(np.int32), shift) if most << shift < 1 << 31 else None
