"""Integer recurrent layers as the page on integers defines them, number by number in Python's integers; operands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ccml.ops.int_recurrent import GATES, STATES, RecurrentConstants, recurrent_constants, tanh_table

ONE = 1 << 17


def upper(a: int, b: int) -> int:
    """The upper word of the product of two words, which these have to be."""
    assert -(2**31) <= a < 2**31 and -(2**31) <= b < 2**31, (a, b)
    return (a * b) >> 32


def interpolated(table: np.ndarray, u: int, fraction: int) -> int:
    """tanh in steps of 2^-16 between the neighbours in the table, which has 64 places for each 1."""
    step = 2**fraction // 64
    place, part = divmod(min(abs(u), 512 * step - 1), step)
    low, above = int(table[place]), int(table[place + 1])
    value = low + math.floor(((above - low) * part + step // 2) / step)
    return -value if u < 0 else value


def gated(value: int, gate: int) -> int:
    assert 0 < gate < ONE and abs(value) < 2**30
    return (value * gate) >> 17


def halves_up(value: int, bits: int) -> int:
    return (value + 2 ** (bits - 1)) // 2**bits


def clamped(value: int) -> int:
    return max(-32767, min(32767, value))


class Layer:
    """One direction and one sequence of ``op`` by its operands and attributes."""

    def __init__(self, op: str, arrays: list[np.ndarray | None], attrs: dict[str, Any], direction: int) -> None:
        self.op, self.attrs, self.hidden = op, attrs, attrs["hidden"]
        self.w, self.r, self.b, self.m = ([row.tolist() for row in a[direction]] for a in arrays[1:5] if a is not None)
        assert arrays[5] is not None
        self.table = arrays[5]
        self.rows = GATES[op] * self.hidden

    def of_input(self, x: list[int], row: int) -> int:
        acc = sum((value - self.attrs["x_zero_point"]) * weight for value, weight in zip(x, self.w[row]))
        return upper(acc << self.attrs["x_shift"], self.m[row]) + self.b[row]

    def of_state(self, h: list[int], row: int) -> int:
        acc = sum(value * weight for value, weight in zip(h, self.r[row]))
        return upper(acc << self.attrs["h_shift"], self.m[self.rows + row]) + self.b[self.rows + row]

    def tanh(self, u: int) -> int:
        return interpolated(self.table, u, self.attrs["fraction"])

    def sigmoid(self, u: int) -> int:
        return ONE // 2 + interpolated(self.table, u, self.attrs["fraction"] + 1)

    def step(self, x: list[int], h: list[int], c: list[int]) -> tuple[list[int], list[int]]:
        units = [getattr(self, self.op)(x, h, c, k) for k in range(self.hidden)]
        return [unit[0] for unit in units], [unit[1] for unit in units]

    def sums(self, x: list[int], h: list[int], k: int, gate: int) -> int:
        row = gate * self.hidden + k
        return self.of_input(x, row) + self.of_state(h, row)

    def int_lstm(self, x: list[int], h: list[int], c: list[int], k: int) -> tuple[int, int]:
        i, o, f = (self.sigmoid(self.sums(x, h, k, gate)) for gate in range(3))
        if self.attrs["input_forget"]:
            f = ONE - i
        g = self.tanh(self.sums(x, h, k, 3))
        new = gated(c[k], f) + halves_up(gated(g * 2**13, i), 9)
        new = max(1 - 2**30, min(2**30 - 1, new))
        return clamped(halves_up(gated(interpolated(self.table, new, 20) * 2**13, o), 14)), new

    def int_gru(self, x: list[int], h: list[int], c: list[int], k: int) -> tuple[int, int]:
        z = self.sigmoid(self.sums(x, h, k, 0))
        row = 2 * self.hidden + k
        if self.attrs["linear_before_reset"]:
            past = gated(self.of_state(h, row), self.sigmoid(self.sums(x, h, k, 1)))
        else:
            resets = [self.sigmoid(self.sums(x, h, n, 1)) for n in range(self.hidden)]
            past = self.of_state([halves_up(gated(v * 2**14, r), 14) for v, r in zip(h, resets)], row)
        n = self.tanh(self.of_input(x, row) + past)
        return clamped(halves_up(n * 2**11 + gated((2 * h[k] - n) * 2**11, z), 12)), 0

    def int_rnn(self, x: list[int], h: list[int], c: list[int], k: int) -> tuple[int, int]:
        u = self.sums(x, h, k, 0)
        logistic = self.attrs["activations"][0] == "Sigmoid"
        return clamped(halves_up(self.sigmoid(u), 2) if logistic else halves_up(self.tanh(u), 1)), 0


def reference(op: str, arrays: list[np.ndarray | None], attrs: dict[str, Any]) -> list[np.ndarray]:
    x, w = arrays[0], arrays[1]
    assert x is not None and w is not None
    seq, batch, _ = x.shape
    shape, states = (len(w), batch, attrs["hidden"]), STATES[op]
    rest = [*arrays[6:], None, None, None]
    h0, c0, lengths = rest[0], rest[1] if states == 2 else None, rest[states]
    y = np.zeros((seq, *shape), np.int16)
    y_h, y_c = np.zeros(shape, np.int16), np.zeros(shape, np.int32)
    for d in range(len(w)):
        layer = Layer(op, arrays, attrs, d)
        for n in range(batch):
            h, c = ([0] * shape[2] if a is None else a[d, n].tolist() for a in (h0, c0))
            count = seq if lengths is None else max(0, min(seq, int(lengths[n])))
            backward = attrs["direction"] == "reverse" or d == 1
            for t in reversed(range(count)) if backward else range(count):
                h, c = layer.step(x[t, n].tolist(), h, c)
                y[t, d, n] = h
            y_h[d, n], y_c[d, n] = h, c
    return [y, y_h, y_c][: states + 1]


# ---------------------------------------------------------------- operands


def attributes(op: str, hidden: int, direction: str, **changes: Any) -> dict[str, Any]:
    dirs = 2 if direction == "bidirectional" else 1
    names = {"int_lstm": ("Sigmoid", "Tanh", "Tanh"), "int_gru": ("Sigmoid", "Tanh"), "int_rnn": ("Tanh",)}[op]
    flags = {"int_lstm": {"input_forget": False}, "int_gru": {"linear_before_reset": False}, "int_rnn": {}}[op]
    return {"hidden": hidden, "direction": direction, "activations": names * dirs, **flags, **changes}


def operands(
    op: str, x: np.dtype | type = np.int16, weights: np.dtype | type = np.int8, *, seq: int = 4, batch: int = 2,
    features: int = 3, hidden: int = 5, direction: str = "forward", states: bool = True, lengths: bool = False,
    zero_point: int = 0, loud: float = 1.0, seed: int = 0, **changes: Any,
) -> tuple[list[np.ndarray | None], dict[str, Any]]:
    """Operands of a layer whose gates' arguments are around ``loud``, and its attributes."""
    rng, dirs = np.random.default_rng([seed, seq, hidden]), 2 if direction == "bidirectional" else 1
    rows, most = GATES[op] * hidden, 127 if np.dtype(weights) == np.int8 else 4000
    limits, states_of = np.iinfo(x), STATES[op]
    given = rng.integers(limits.min, limits.max, (seq, batch, features), endpoint=True, dtype=x)
    w, r = (rng.integers(-most, most, (dirs, rows, n), endpoint=True).astype(weights) for n in (features, hidden))
    reach = float(max(limits.max - zero_point, zero_point - limits.min))
    scales = [
        loud / (peak * most * np.sqrt(n)) * rng.uniform(0.5, 2, (dirs, rows))
        for peak, n in ((reach, features), (2.0**15, hidden))
    ]
    sums = [np.abs(each.astype(np.int64)).sum(axis=-1) * peak for each, peak in ((w, int(reach)), (r, 1 << 15))]
    bias = rng.standard_normal((dirs, 2 * rows)) * 0.3
    constants = recurrent_constants((scales[0], scales[1]), (sums[0], sums[1]), bias)
    assert isinstance(constants, RecurrentConstants)
    shape = (dirs, batch, hidden)
    h0 = rng.integers(-32767, 32768, shape).astype(np.int16) if states else None
    c0 = rng.integers(-(3 << 20), 3 << 20, shape).astype(np.int32) if states else None
    counts = rng.integers(-1, seq + 2, batch).astype(np.int32) if lengths else None
    arrays = [given, w, r, constants.b, constants.multipliers, tanh_table(), h0, *([c0] * (states_of - 1)), counts]
    attrs = attributes(op, hidden, direction, x_zero_point=zero_point, **constants.attrs, **changes)
    return arrays, attrs
