"""Rows of an input that is in no memory: text, invariants and meaning of ``Fetch``."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.interpret import UndefinedBehaviourError, run_kernel
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.loops_verify import verify_kernel

HEAD = "kernel k(x: f32[4,2,3] rows, y: f32[4,6] out, z: f32[4,6] const)\n"
GOOD = f"{HEAD}  for i:4\n    fetch &y[i, 0] = x[i]\n"


def test_text_and_meaning() -> None:
    kernel = parse_kernel(GOOD)
    verify_kernel(kernel)
    assert print_kernel(kernel) == GOOD and kernel.fetches
    x = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    arrays = {"x": x, "y": np.zeros((4, 6), np.float32), "z": np.zeros((4, 6), np.float32)}
    run_kernel(kernel, arrays)
    np.testing.assert_array_equal(arrays["y"], x.reshape(4, 6))


@pytest.mark.parametrize("order", ["i:3\n    fetch &y[i, 0] = x[i+1]", "i:2\n    fetch &y[i, 0] = x[0]"])
def test_rows_come_once_each_in_order(order: str) -> None:
    kernel = parse_kernel(f"{HEAD}  for {order}\n")
    arrays = {name: np.zeros(24, np.float32) for name in "xyz"}
    with pytest.raises(UndefinedBehaviourError, match="not the next one"):
        run_kernel(kernel, arrays)


@pytest.mark.parametrize(("body", "reason"), [
    ("for i:5\n    fetch &y[0, 0] = x[i]", "L17: 'x' has 4 rows"),
    ("for i:4\n    fetch &y[i, 1] = x[i]", "L17: the 6 elements of a row may leave 'y'"),
    ("for i:4\n    fetch &z[i, 0] = x[i]", "L17: a row of f32 for const f32"),
    ("for i:4\n    fetch &y[i, 0] = z[i]", "L17: row index of global memory"),
    ("y[0, 0] = x[0, 0, 0]", "L17: the rows of 'x' are in no memory"),
])  # fmt: skip
def test_broken_invariant_is_named(body: str, reason: str) -> None:
    with pytest.raises(CcmlError) as error:
        verify_kernel(parse_kernel(f"{HEAD}  {body}\n"))
    assert reason in error.value.reason
