"""Unrolling of loops over bytes, and the clamp that is an instruction: text before and after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from textwrap import dedent

import pytest
from ccml.ir.loops import Block, Kernel
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.schedule.legalize import legalize
from ccml.schedule.names import Names
from ccml.schedule.unroll import roll_long, unroll_bytes, unroll_short
from ccml.targets import select


def unrolled(text: str, by: Callable[[Block, Names], Block] = unroll_bytes) -> str:
    kernel = parse_kernel(dedent(text).strip() + "\n")
    body = by(kernel.body, Names.of(kernel))
    return print_kernel(Kernel(kernel.name, kernel.params, body, kernel.loc)).strip()


def test_four_bytes_at_a_time_and_a_rest() -> None:
    before = """
        kernel k(x: i8[2,9] const, y: i8[2,9] out)
          for r:2, c:9
            let t: i8 = x[r, c]
            y[r, c] = t + t
    """
    after = """
        kernel k(x: i8[2,9] const, y: i8[2,9] out)
          for r:2
            for c_1:2
              let t_1: i8 = x[r, c_1*4]
              y[r, c_1*4] = t_1 + t_1
              let t_2: i8 = x[r, c_1*4+1]
              y[r, c_1*4+1] = t_2 + t_2
              let t_3: i8 = x[r, c_1*4+2]
              y[r, c_1*4+2] = t_3 + t_3
              let t_4: i8 = x[r, c_1*4+3]
              y[r, c_1*4+3] = t_4 + t_4
            let t_5: i8 = x[r, 8]
            y[r, 8] = t_5 + t_5
    """
    assert unrolled(before) == dedent(after).strip()


@pytest.mark.parametrize(
    "body",
    [
        "kernel k(x: f32[16] const, y: f32[16] out)\n  for c:16\n    y[c] = x[c]\n",
        "kernel k(x: i8[16] const, y: i8[24] out)\n  for c:16\n    y[c+8] = x[c]\n",
        "kernel k(x: i8[5] const, y: i8[5] out)\n  for c:5\n    y[c] = x[c]\n",
        "kernel k(x: i8[9] const, y: i32[9] out)\n  for c:9\n    y[c] = scale_round(convert<i32>(x[c]), 3i32, 1i32)\n",
    ],
)
def test_other_loops_stay(body: str) -> None:
    """Of words, of few iterations, copies of neighbours, and calls that take longer than the loop around them."""
    assert unrolled(body) == body.strip()


@pytest.mark.parametrize(
    ("clamp", "with_instruction"),
    [
        ("min(max(x[0], -128i32), 127i32)", "saturate8(x[0])"),
        ("min(max(x[0], -5i32), 127i32)", "max(saturate8(x[0]), -5i32)"),
        ("min(max(x[0], -128i32), 90i32)", "min(saturate8(x[0]), 90i32)"),
        ("min(max(x[0], -5i32), 90i32)", "min(max(x[0], -5i32), 90i32)"),
        ("min(max(x[0], -128i32), 255i32)", "min(max(x[0], -128i32), 255i32)"),
    ],
)
def test_clamps_to_a_byte(clamp: str, with_instruction: str) -> None:
    head = "kernel k(x: i32[1] const, y: i32[1] out)\n  y[0] = "
    kernel = parse_kernel(f"{head}{clamp}\n")
    for core, wanted in (("cortex-m3", with_instruction), ("cortex-m0", clamp)):
        body = legalize(kernel.body, select(core).cpu)
        assert print_kernel(Kernel(kernel.name, kernel.params, body)).strip() == f"{head}{wanted}"


def test_copies_that_transpose() -> None:
    """The two channels are written out, four pixels at a time, and the ninth."""
    before = """
        kernel k(x: f32[2,9] const, y: f32[9,2] out)
          for w:9, c:2
            y[w, c] = x[c, w]
    """
    after = """
        kernel k(x: f32[2,9] const, y: f32[9,2] out)
          for w_1:2
            y[w_1*4, 0] = x[0, w_1*4]
            y[w_1*4, 1] = x[1, w_1*4]
            y[w_1*4+1, 0] = x[0, w_1*4+1]
            y[w_1*4+1, 1] = x[1, w_1*4+1]
            y[w_1*4+2, 0] = x[0, w_1*4+2]
            y[w_1*4+2, 1] = x[1, w_1*4+2]
            y[w_1*4+3, 0] = x[0, w_1*4+3]
            y[w_1*4+3, 1] = x[1, w_1*4+3]
          y[8, 0] = x[0, 8]
          y[8, 1] = x[1, 8]
    """
    assert unrolled(before, unroll_short) == dedent(after).strip()


@pytest.mark.parametrize(
    "body",
    [
        "kernel k(x: f32[16] const, y: f32[16] out)\n  for c:16\n    y[c] = x[c]\n",
        "kernel k(x: f32[7,2] const, y: f32[7] out)\n  for c:7\n    y[c] = x[c, 1]\n",
        "kernel k(x: f32[8,2] const, y: f32[8] out)\n  for c:8\n    y[c] = x[c, 0] * x[c, 1] + x[c, 0]\n",
    ],
)
def test_longer_loops_stay(body: str) -> None:
    """Copies of neighbours, few iterations, more than one operation."""
    assert unrolled(body, unroll_short) == body.strip()


LONG = """
kernel k(x: i8[{0}] const, y: i8[{0}] out)
  for i:{0}
    y[i] = ((x[i] + x[i]) * x[i] + x[i]) * x[i] + x[i] * x[i]
"""


@pytest.mark.parametrize(("extent", "times"), [(63, 1), (64, 4)])
def test_long_bodies_that_run_once_are_written_out_where_they_run_for_long(extent: int, times: int) -> None:
    text = LONG.format(extent).lstrip()
    assert unrolled(text, partial(unroll_bytes, once=True)).count("y[i") == times
    assert unrolled(text).count("y[i") == (5 if extent % 4 else 4), "in a loop they are, with what is left over"


def test_long_bodies_that_run_once_are_no_matter_of_the_compiler() -> None:
    """A sum of six products is long, one of two is not; what stands in another loop runs often. Compilers write out
    what fills memory, too."""
    kernel = parse_kernel(
        dedent(
            """
            kernel k(x: f32[8] const, y: f32[8] inout)
              for i:8
                y[i] = x[i] * x[i] + x[i] * x[i] + x[i] * x[i] + y[i]
              for j:8
                y[j] = x[j] * x[j] + y[j]
              for k:8
                for l:8
                  y[l] = x[l] * x[l] + x[l] * x[l] + x[l] * x[l] + y[l]
              for m:8
                y[m] = 2.0f32
            """
        )
    )
    found = print_kernel(Kernel("k", kernel.params, roll_long(kernel.body)))
    assert found == print_kernel(kernel).replace("for i:8", "rolled i:8").replace("for m:8", "rolled m:8")
