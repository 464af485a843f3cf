"""Integer recurrent layers: their meaning and their nests against the definition, and both near the real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ops.int_recurrent import (
    LIMIT,
    ONE,
    recurrent_constants,
    sigmoid17,
    tanh16,
    tanh_table,
)
from ccml.ops.table import OPS

from tests.ops.integer_recurrence import operands, reference
from tests.ops.nest_harness import check_nest, make_node

OPERATORS = ("int_lstm", "int_gru", "int_rnn")
CASES: dict[str, dict[str, Any]] = {
    "int16": {},
    "bytes": {"x": np.int8, "zero_point": -7},
    "unsigned bytes": {"x": np.uint8, "zero_point": 131},
    "wide weights": {"weights": np.int16},
    "backward": {"direction": "reverse", "states": False},
    "both directions": {"direction": "bidirectional", "seq": 5},
    "lengths": {"direction": "bidirectional", "lengths": True, "batch": 4},
    "no steps": {"seq": 0},
    "one unit": {"seq": 1, "batch": 1, "features": 1, "hidden": 1},
    "saturated": {"loud": 60.0},
    "faint": {"loud": 0.001},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("op", OPERATORS)
def test_definition(op: str, case: str) -> None:
    check(op, **CASES[case])


def test_gates_that_are_coupled() -> None:
    check("int_lstm", input_forget=True)


def test_reset_behind_the_product() -> None:
    check("int_gru", linear_before_reset=True, direction="bidirectional")


def test_logistic_states() -> None:
    check("int_rnn", activations=("Sigmoid",))


def check(op: str, **case: Any) -> None:
    arrays, attrs = operands(op, **case)
    expected = reference(op, arrays, attrs)
    for found, wanted in zip(OPS[op].evaluate(arrays, attrs), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    if arrays[0] is not None and arrays[0].size:
        for found, wanted in zip(check_nest(op, *arrays, **attrs), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_a_cell_that_only_grows_stays_within_its_bound() -> None:
    """The input and forget gates are open and the candidate is 1: the cell grows by one in each step."""
    arrays, attrs = operands("int_lstm", seq=3, states=True, batch=1)
    bias = np.zeros_like(arrays[3])
    bias[:] = 20 << attrs["fraction"]
    arrays[3], arrays[7] = bias, np.full_like(arrays[7], LIMIT - 1)
    expected = reference("int_lstm", arrays, attrs)
    assert expected[2].max() == LIMIT - 1
    for found, wanted in zip(check_nest("int_lstm", *arrays, **attrs), expected):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("fraction", [12, 16, 20])
def test_functions_are_within_2_to_the_minus_15(fraction: int) -> None:
    u = np.unique(np.concatenate([np.arange(-(20 << fraction), 20 << fraction, 37 << fraction >> 12), [0, 1, -1]]))
    real = u / 2.0**fraction
    assert np.abs(tanh16(u, fraction, tanh_table()) / 65536 - np.tanh(real)).max() < 2.0**-15
    gates = sigmoid17(u, fraction, tanh_table())
    assert np.abs(gates / 131072 - 1 / (1 + np.exp(-real))).max() < 2.0**-15
    assert gates.min() > 0 and gates.max() < ONE
    assert np.all(np.diff(gates) >= 0)


@pytest.mark.parametrize("case", ["int16", "bytes", "both directions", "wide weights"])
@pytest.mark.parametrize("op", OPERATORS)
def test_real_numbers(op: str, case: str) -> None:
    """The float operator on the same numbers: states differ by less than 0.001 after 20 steps."""
    arrays, attrs = operands(op, **{**CASES[case], "seq": 20, "hidden": 12})
    x, w, r, b, m, _, *states = arrays
    assert x is not None and w is not None and r is not None and b is not None and m is not None
    rows, fraction = w.shape[1], attrs["fraction"]
    by_row = [m[:, part, None] * 2.0 ** (attrs[shift] - 32 - fraction) for part, shift in (
        (slice(rows), "x_shift"), (slice(rows, None), "h_shift")
    )]  # fmt: skip
    real = [x.astype(float) - attrs["x_zero_point"], w * by_row[0], r * 2.0**15 * by_row[1], b / 2.0**fraction]
    real += [s / unit for s, unit in zip(states, (2.0**15, 2.0**20)) if s is not None]
    names = ("hidden", "direction", "activations", "input_forget", "linear_before_reset")
    kept = {name: attrs[name] for name in names if name in attrs} | {"clip": float("inf")}
    wanted = OPS[op[4:]].evaluate(real, kept)
    found = OPS[op].evaluate(arrays, attrs)
    for place, unit in enumerate((2.0**15, 2.0**15, 2.0**20)[: len(found)]):
        assert np.abs(found[place] / unit - wanted[place]).max() < 0.001


def test_constants_that_need_more_than_32_bits_are_none() -> None:
    one, sums = np.ones((1, 4)), np.full((1, 4), 1 << 20)
    assert recurrent_constants((one, one), (sums, sums), np.zeros((1, 8))) is None
    assert recurrent_constants((one / 1e6, one / 1e6), (sums << 11, sums), np.zeros((1, 8))) is None
    assert recurrent_constants((one / 1e6, one / 1e6), (sums, sums), np.full((1, 8), 1e7)) is None
    assert recurrent_constants((one / 1e6, one / 1e6), (sums, sums), np.zeros((1, 8))) is not None


@pytest.mark.parametrize(
    ("position", "array"),
    [
        (0, np.zeros((4, 2, 3), np.int32)), (1, np.zeros((1, 20, 4), np.int8)), (2, np.zeros((1, 20, 5), np.uint8)),
        (3, np.zeros((1, 20), np.int32)), (5, np.zeros(512, np.uint16)), (6, np.zeros((1, 2, 5), np.int32)),
    ],
)  # fmt: skip
def test_operands_that_do_not_fit(position: int, array: np.ndarray) -> None:
    arrays, attrs = operands("int_lstm")
    arrays[position] = array
    with pytest.raises(ValueError):
        make_node("int_lstm", arrays, attrs)
