"""Constant conditions, before and after."""

from __future__ import annotations

import pytest
from ccml.ir.fold_conditions import fold_conditions
from ccml.ir.loops_text import parse_kernel, print_block

CASES = {
    "one side is known": ("if (7 >= 0) & (i <= 6):\n  y[i] = 1i32", "if i <= 6:\n  y[i] = 1i32"),
    "all are known": ("if (3 >= 0) & (3 <= 6):\n  y[i] = 1i32", "y[i] = 1i32"),
    "the other branch": ("if 7 <= 6:\n  y[i] = 1i32\nelse:\n  y[i] = 2i32", "y[i] = 2i32"),
    "an empty loop": ("y[i] = 3i32\nfor j:4\n  if (7 >= 0) & (7 <= 6):\n    y[j] = 1i32", "y[i] = 3i32"),
    "a value": ("y[i] = select(7 <= 6, 1i32, 2i32)", "y[i] = 2i32"),
    "or": ("if (i >= 3) | (1 < 2):\n  y[i] = 1i32", "y[i] = 1i32"),
    "nothing to do": ("if i >= 3:\n  y[i] = 1i32", "if i >= 3:\n  y[i] = 1i32"),
}


@pytest.mark.parametrize("case", CASES)
def test_before_and_after(case: str) -> None:
    before, after = CASES[case]
    body = "".join(f"    {line}\n" for line in before.split("\n"))
    kernel = parse_kernel(f"kernel k(y: i32[8] out)\n  for i:8\n{body}")
    found = print_block(fold_conditions(kernel.body))
    assert [line[2:] for line in found.splitlines()[1:]] == after.splitlines()
