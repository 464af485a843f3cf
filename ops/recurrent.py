"""Recurrent operators (lstm, gru, rnn): types, meaning and multiply-accumulates.

Layouts and gate order are those of ONNX with ``layout=0``::

    x[seq, batch, input]   w[dirs, gates * hidden, input]   r[dirs, gates * hidden, hidden]
    b[dirs, 2 * gates * hidden]   h0, c0[dirs, batch, hidden]   p[dirs, 3 * hidden]
    y[seq, dirs, batch, hidden]   y_h, y_c[dirs, batch, hidden]   lengths[batch]: i32 or i64

Lengths, if there are any, are the last operand: a sequence ends with its length, backwards it begins there, and behind
it y is 0. Lengths beyond those of x are those of x.
Gates: lstm i o f c, gru z r h. ``activations`` names one function a gate kind for each direction, as in ONNX.
``clip`` bounds the argument of every activation; ONNX says no more (ONNX Runtime leaves out the h of lstm).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir.graph import Node
from ..ir.types import DType, TensorType
from .attributes import integer, number, text, texts
from .infer import check_dtype, operand, optional
from .opdef import Arrays, Attrs, Types
from .pointwise import sigmoid

Step = Callable[[np.ndarray, tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]

RECURRENCES = ("lstm", "gru", "rnn")
"""The recurrent operators of floats."""

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0.0),
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0.0, 1.0),
    "Softsign": lambda x: x / (1.0 + np.abs(x)),
    "Softplus": lambda x: np.logaddexp(x, 0.0),
}


def infer_lstm(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _infer(types, attrs, gates=4, activations=3, states=2, peepholes=True)


def infer_gru(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _infer(types, attrs, gates=3, activations=2, states=1)


def infer_rnn(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _infer(types, attrs, gates=1, activations=1, states=1)


def _infer(
    types: Types, attrs: Attrs, gates: int, activations: int, states: int, peepholes: bool = False
) -> tuple[TensorType, ...]:
    x, hidden, dirs = operand(types, 0), integer(attrs, "hidden"), DIRECTIONS[text(attrs, "direction")]
    names = texts(attrs, "activations")
    if x.rank != 3 or not x.dtype.is_float:
        raise ValueError(f"no recurrence over {x}; it needs floats [sequence, batch, input]")
    if len(names) != activations * dirs:
        raise ValueError(f"activations {names} are not {activations * dirs}")
    seq, batch, features = x.shape
    shapes = [
        ("weights w", (dirs, gates * hidden, features)),
        ("weights r", (dirs, gates * hidden, hidden)),
        ("bias", (dirs, 2 * gates * hidden)),
        *[("initial state", (dirs, batch, hidden))] * states,
        *[("peepholes", (dirs, 3 * hidden))] * peepholes,
    ]
    lengths = optional(types, len(shapes) + 1)
    if lengths is not None and (lengths.shape != (batch,) or lengths.dtype not in (DType.I32, DType.I64)):
        raise ValueError(f"lengths {lengths} do not fit {x}")
    for position, (what, shape) in enumerate(shapes, start=1):
        type_ = operand(types, position) if position < 3 else optional(types, position)
        if type_ is not None:
            check_dtype(type_, x)
            if type_.shape != shape:
                raise ValueError(f"{what} {type_} should be {shape} for {x} and {hidden} hidden units")
    state = TensorType(x.dtype, (dirs, batch, hidden))
    return (TensorType(x.dtype, (seq, dirs, batch, hidden)), *[state] * states)


def evaluate_lstm(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return _evaluate(arrays, attrs, _lstm_step, states=2)


def evaluate_gru(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return _evaluate(arrays, attrs, _gru_step, states=1)


def evaluate_rnn(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    return _evaluate(arrays, attrs, _rnn_step, states=1)


def lengths_position(states: int) -> int:
    """Where the lengths stand among the operands, of which those of lstm (with two states) include peepholes."""
    return 7 if states == 2 else 5


def _evaluate(arrays: Arrays, attrs: Attrs, make_step: Callable[..., Step], states: int) -> tuple[np.ndarray, ...]:
    """Runs every direction in float64; the step maps (x_t, (h, c)) to the new (h, c)."""
    wide = [None if array is None else array.astype(np.float64) for array in arrays[: lengths_position(states)]]
    wide += [None] * (7 - len(wide))
    x, hidden, direction = wide[0], integer(attrs, "hidden"), text(attrs, "direction")
    assert x is not None
    dirs = DIRECTIONS[direction]
    lengths = arrays[lengths_position(states)] if len(arrays) > lengths_position(states) else None
    y = np.zeros((x.shape[0], dirs, x.shape[1], hidden))
    finals = np.zeros((states, dirs, x.shape[1], hidden))
    for d in range(dirs):
        own = [None if array is None else array[d] for array in wide[1:]]
        step = make_step(own, attrs, d, dirs)
        state = tuple(np.zeros((x.shape[1], hidden)) if s is None else s for s in own[3 : 3 + states])
        order = range(x.shape[0])
        for t in reversed(order) if direction == "reverse" or d == 1 else order:
            runs = np.full((x.shape[1], 1), True) if lengths is None else (t < lengths)[:, None]
            state = tuple(np.where(runs, new, old) for new, old in zip(step(x[t], state), state))
            y[t, d] = np.where(runs, state[0], 0.0)
        for position, final in enumerate(state):
            finals[position, d] = final
    dtype = arrays[0].dtype  # type: ignore[union-attr]
    return (y.astype(dtype), *(final.astype(dtype) for final in finals))


def _activations(attrs: Attrs, direction: int, dirs: int) -> list[Callable[[np.ndarray], np.ndarray]]:
    """The functions of one direction, each behind the clip of its argument."""
    names, bound = texts(attrs, "activations"), number(attrs, "clip")
    count = len(names) // dirs
    own = [ACTIVATIONS[name] for name in names[direction * count : (direction + 1) * count]]
    return [lambda x, function=function: function(np.clip(x, -bound, bound)) for function in own]  # type: ignore[misc]


def _biases(b: np.ndarray | None, count: int, hidden: int) -> tuple[np.ndarray, np.ndarray]:
    """Input and recurrence biases."""
    if b is None:
        return np.zeros(count * hidden), np.zeros(count * hidden)
    return b[: count * hidden], b[count * hidden :]


def _lstm_step(own: list[np.ndarray | None], attrs: Attrs, direction: int, dirs: int) -> Step:
    w, r, b, _, _, p = own
    hidden = integer(attrs, "hidden")
    assert w is not None and r is not None
    f, g, h = _activations(attrs, direction, dirs)
    bias = sum(_biases(b, 4, hidden))
    pi, po, pf = np.split(np.zeros(3 * hidden) if p is None else p, 3)

    def step(x: np.ndarray, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        ht, ct = state
        i, o, forget, c = np.split(x @ w.T + ht @ r.T + bias, 4, axis=-1)
        i = f(i + pi * ct)
        forget = 1.0 - i if attrs["input_forget"] else f(forget + pf * ct)
        ct = forget * ct + i * g(c)
        return f(o + po * ct) * h(ct), ct

    return step


def _gru_step(own: list[np.ndarray | None], attrs: Attrs, direction: int, dirs: int) -> Step:
    w, r, b = own[:3]
    hidden = integer(attrs, "hidden")
    assert w is not None and r is not None
    f, g = _activations(attrs, direction, dirs)
    wb, rb = _biases(b, 3, hidden)

    def step(x: np.ndarray, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        (ht,) = state
        xz, xr, xh = np.split(x @ w.T + wb, 3, axis=-1)
        hz, hr = np.split(ht @ r[: 2 * hidden].T + rb[: 2 * hidden], 2, axis=-1)
        z, reset = f(xz + hz), f(xr + hr)
        if attrs["linear_before_reset"]:
            candidate = reset * (ht @ r[2 * hidden :].T + rb[2 * hidden :])
        else:
            candidate = (reset * ht) @ r[2 * hidden :].T + rb[2 * hidden :]
        return ((1.0 - z) * g(xh + candidate) + z * ht,)

    return step


def _rnn_step(own: list[np.ndarray | None], attrs: Attrs, direction: int, dirs: int) -> Step:
    w, r, b = own[:3]
    hidden = integer(attrs, "hidden")
    assert w is not None and r is not None
    (f,) = _activations(attrs, direction, dirs)
    bias = sum(_biases(b, 1, hidden))

    def step(x: np.ndarray, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return (f(x @ w.T + state[0] @ r.T + bias),)

    return step


def recurrent_macs(node: Node) -> int:
    """Both weight matrices once for each time step and batch."""
    x, w, r = node.inputs[:3]
    assert x is not None and w is not None and r is not None
    return x.shape[0] * x.shape[1] * (w.type.size + r.type.size)
