"""Gathers, products and sums along axes become interpolation, with the same bits as result."""

from __future__ import annotations

import pytest
from ccml.passes.join_taps import join_taps

from tests.passes.rewriting import assert_rewrites

ROWS = """
      const %i : i64[3] = dense<0, 0, 1>
      const %j : i64[3] = dense<0, 1, 1>
      const %v : f32[3,1,1] = dense<0.25, 0.5, 0.1>
      const %w : f32[3,1,1] = dense<0.75, 0.5, 0.9>
      %g : f32[3,4,2] = gather(%x, %i) {axis=0}
      %h : f32[3,4,2] = gather(%x, %j) {axis=0}
      %m : f32[3,4,2] = mul(%g, %v)
      %n : f32[3,4,2] = mul(%h, %w)
"""


def test_one_axis() -> None:
    before = f"""
    graph g(%x: f32[2,4,2]) -> (%y)
      {ROWS}
      %y : f32[3,4,2] = add(%m, %n)
    """
    after = """
    graph g(%x: f32[2,4,2]) -> (%y)
      const %p : i32[3,2] = dense<0, 0, 0, 1, 1, 1>
      const %q : f32[3,2] = dense<0.25, 0.75, 0.5, 0.5, 0.1, 0.9>
      %y : f32[3,4,2] = interpolate(%x, %p, %q) {axes=[0]}
    """
    assert_rewrites(join_taps, before, after)


def test_three_taps_and_another_axis() -> None:
    before = f"""
    graph g(%x: f32[2,4,2]) -> (%y)
      const %a : i64[2] = dense<1, 2>
      const %b : i64[2] = dense<3, 0>
      const %c : f32[2,1] = dense<0.5, -1.0>
      const %d : f32[1,2,1] = dense<2.0, 0.25>
      {ROWS}
      %s : f32[3,4,2] = add(%m, %n)
      %k : f32[3,2,2] = gather(%s, %a) {{axis=1}}
      %l : f32[3,2,2] = gather(%s, %b) {{axis=1}}
      %e : f32[3,2,2] = mul(%k, %c)
      %f : f32[3,2,2] = mul(%l, %d)
      %z : f32[3,2,2] = gather(%s, %a) {{axis=1}}
      %u : f32[3,2,2] = mul(%z, %d)
      %t : f32[3,2,2] = add(%e, %f)
      %y : f32[3,2,2] = add(%t, %u)
    """
    after = """
    graph g(%x: f32[2,4,2]) -> (%y)
      const %p : i32[3,2] = dense<0, 0, 0, 1, 1, 1>
      const %q : f32[3,2] = dense<0.25, 0.75, 0.5, 0.5, 0.1, 0.9>
      const %r : i32[2,3] = dense<1, 3, 1, 2, 0, 2>
      const %t : f32[2,3] = dense<0.5, 2.0, 2.0, -1.0, 0.25, 0.25>
      %y : f32[3,2,2] = interpolate(%x, %p, %q, %r, %t) {axes=[0,1]}
    """
    assert_rewrites(join_taps, before, after)


@pytest.mark.parametrize(
    ("last", "outputs"), [("%y : f32[3,4,2] = add(%m, %n)", "%y, %m"), ("%y : f32[3,4,2] = sub(%m, %n)", "%y")]
)
def test_what_is_read_elsewhere_or_no_sum_stays(last: str, outputs: str) -> None:
    assert_rewrites(join_taps, f"graph g(%x: f32[2,4,2]) -> ({outputs})\n{ROWS}\n      {last}\n")
