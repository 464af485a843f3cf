"""Chunks: which loops may run on several threads at once, and what one of them computes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from ccml.blocks import BLOCKS
from ccml.errors import CcmlError
from ccml.ir.chunks import chunk_count, chunk_extents, chunk_strides, kernel_of_chunk
from ccml.ir.independence import separating_dimensions
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import INDEX, For
from ccml.ir.loops_rewrite import substitute
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.loops_verify import verify_kernel
from ccml.ir.private_memory import is_private
from ccml.memory.trace import pointed

ROWS = """
kernel rows(x: f32[30] const, y: f32[5,6] out) chunked 2
  parallel a:3, b:2
    for i:min(2, 5-a*2), j:3
      y[a*2+i, b*3+j] = x[a*12+i*6+b*3+j]
"""


def nest(text: str, depth: int = 1) -> list[For]:
    """The outermost loops of a kernel."""
    body, found = parse_kernel(text).body, list[For]()
    for _ in range(depth):
        assert isinstance(body[0], For)
        found.append(body[0])
        body = found[-1].body
    return found


def test_text_and_numbers_of_chunks() -> None:
    kernel = parse_kernel(ROWS)
    verify_kernel(kernel)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    assert (chunk_extents(kernel), chunk_strides(kernel), chunk_count(kernel)) == ((3, 2), (2, 1), 6)


def test_chunks_in_any_order_are_the_whole() -> None:
    kernel = parse_kernel(ROWS)
    x, y = np.arange(30, dtype=np.float32), np.zeros((5, 6), np.float32)
    one = kernel_of_chunk(kernel)
    for numbers in reversed(list(product(range(3), range(2)))):
        passage = {var: INDEX(number) for var, number in zip(one.scalars, numbers, strict=True)}
        run_kernel(replace(one, body=substitute(one.body, passage), scalars=()), {"x": x, "y": y})
    np.testing.assert_array_equal(y, x.reshape(5, 6))


@pytest.mark.parametrize(
    ("text", "dimensions"),
    [
        ("for a:4, b:16\n    y[a*8, b] = x[b, a]", (0, 1)),
        ("for a:4, b:2\n    y[b, a*4 : 4] = 0.0f32x4", (1, 0)),
        ("for a:4, b:2\n    y[b, a*3 : 4] = 0.0f32x4", None),  # vectors overlap
        ("for a:4, b:2\n    y[b, 0] = x[a, b]", None),  # all write the same
        ("for a:4, b:2\n    y[31-a*8, 12-b*12] = 0.0f32", (0, 1)),
        ("for a:4, b:2\n    y[a+b, b] = 0.0f32", None),  # they are, but in no dimension alone
        ("for a:4, b:2\n    y[a+b, 0] = 0.0f32", None),
        ("for a:4, b:2\n    y[a, b] = y[a, b] + 1.0f32", (0, 1)),
        ("for a:4, b:2\n    y[a, b] = y[a+1, b]", None),  # reads what the next one writes
        ("for a:4, b:2\n    y[floordiv(a, 2), b] = 0.0f32", None),
        ("for a:5, b:2\n    y[a, a+b*4] = 0.0f32\n    y[a, a*2+b*4] = 0.0f32", None),  # both write y[4, 8]
        ("for a:4, b:2\n    for a:4\n      y[a, b] = 0.0f32", None),  # the inner a is another one
        ("for a:2, b:2\n    for i:4\n      y[0, i*4+a*2+b] = 0.0f32", (1, 1)),
        ("for a:2, b:2\n    for i:4\n      y[0, i*4+a*3+b] = 0.0f32", None),  # y[0, 4] twice
        ("for a:2, b:2\n    for i:2\n      y[0, i*4+a*2+b] = 0.0f32\n      y[0, i*4+a*2+b+3] = 0.0f32", None),
        ("for a:2, b:2\n    for i:2\n      y[0, i*6+a*2+b] = 0.0f32\n      y[0, i*9+a*2+b] = 0.0f32", None),
    ],
)
def test_what_is_independent(text: str, dimensions: tuple[int, ...] | None) -> None:
    kernel = f"kernel k(x: f32[16,16] const, y: f32[32,16] inout)\n  {text}\n"
    assert separating_dimensions(nest(kernel, 2)) == dimensions


@pytest.mark.parametrize(("end", "independent"), [("a*5+5", True), ("a*5+6", False), ("20", False)])
def test_conditions_say_which_rows_are_of_a_passage(end: str, independent: bool) -> None:
    text = f"""
kernel k(y: f32[20,2] out)
  for a:4
    for t:16
      let row: index = floordiv(a*9+t, 2)
      if (row >= a*5) & (row < {end}) & (row < 20):
        y[row, 0] = 0.0f32
        y[row, 1] = 0.0f32
"""
    assert separating_dimensions(nest(text)) == ((0,) if independent else None)


def test_the_last_passage_may_be_another_computation() -> None:
    """Rows that fill no block come last, in a place that does not depend on the number of the block."""
    text = """
kernel k(y: f32[23,4] out)
  for a:6
    if a < 5:
      for i:4
        y[a*4+i, 0] = 1.0f32
    else:
      for i:{rows}
        y[{first}+i, 0] = 2.0f32
"""
    assert separating_dimensions(nest(text.format(rows=3, first=20))) == (0,)
    assert separating_dimensions(nest(text.format(rows=4, first=19))) is None, "it writes a row of the fifth block"


@pytest.mark.parametrize(
    ("sums", "x", "independent"),
    [("sums", "x", True), ("z", "x", False), ("sums", "y", False)],
    ids=["memory of its own", "writes a parameter", "reads what chunks write"],
)
def test_block_instructions_in_chunks(sums: str, x: str, independent: bool) -> None:
    text = f"""
kernel k(x: u8[64] const, w: i8[64] const, b: i32[16] const, y: u8[64] inout, z: i32[32] out)
  for a:4
    stack sums: i32[32]
    invoke tiles_configure(1, 4)
    invoke tiles_u8_2x1(&x[a*4], &{x}[a*4], &w[0], &b[0], &{sums}[0], &w[0], 1, 4, 1, 4, 0, 1, 0, 1, 0, 0)
    invoke tiles_release()
    y[a] = convert<u8>(sums[0])
"""
    dimensions = separating_dimensions(nest(text), BLOCKS)
    assert dimensions == ((0,) if independent else None)


def test_scratch_outside_of_the_loops_is_shared() -> None:
    text = """
kernel k(x: f32[4] const, y: f32[4] out)
  for a:4
    stack s: f32[1]
    s[0] = x[a]
    y[a] = s[0]
"""
    assert separating_dimensions(nest(text)) == (0,)
    outside = parse_kernel("""
kernel k(x: f32[4] const, y: f32[4] out)
  stack s: f32[1]
  for a:4
    s[0] = x[a]
    y[a] = s[0]
""").body[1]
    assert isinstance(outside, For)
    assert separating_dimensions([outside]) is None


@pytest.mark.parametrize(
    ("body", "private"),
    [
        ("for i:8\n      s[i] = x[i]\n    for i:8\n      y[a] = s[7-i]", True),
        ("for i:2\n      s[i*4 : 4] = x[i*4 : 4]\n    for i:8\n      y[a] = s[i]", True),
        ("for i:7\n      s[i] = x[i]\n    for i:8\n      y[a] = s[i]", False),  # one is left from before
        ("y[a] = s[0]\n    s[0] = x[a]", False),  # of the passage before
        ("if a < 2:\n      s[0] = x[a]\n    y[a] = s[0]", False),
        ("s[0] = x[a]\n    if a < 2:\n      y[a] = s[0]", True),
        ("s[a] = x[a]\n    y[a] = s[a]", False),  # depends on the passage: it need not be private
        ("for n:2\n      for i:8\n        s[i] = x[i]\n      for i:8\n        y[a] = s[i]", True),
        ("for n:2\n      y[a] = s[0]\n      s[0] = x[n]", False),
    ],
)
def test_what_carries_nothing_from_passage_to_passage(body: str, private: bool) -> None:
    text = f"kernel k(x: f32[8] const, s: f32[8] out, y: f32[8] out)\n  for a:8\n    {body}\n"
    assert is_private("s", nest(text), pointed) is private


@pytest.mark.parametrize(
    "text",
    [
        "kernel k(y: f32[4] out) chunked 1\n  for a:4\n    y[a] = 0.0f32\n",
        "kernel k(y: f32[4] out) chunked 2\n  parallel a:4\n    y[a] = 0.0f32\n",
        "kernel k(y: f32[4] out) chunked 1\n  parallel a:4\n    y[0] = 0.0f32\n",
        "kernel k(y: f32[8] out) chunked 1\n  parallel a:4\n    y[a] = 0.0f32\n  y[7] = 0.0f32\n",
    ],
    ids=["serial", "too few", "dependent", "something behind"],
)
def test_invariant_of_chunked_kernels(text: str) -> None:
    with pytest.raises(CcmlError, match="L16"):
        verify_kernel(parse_kernel(text))
