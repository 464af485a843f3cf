"""What rewriting loop IR leaves behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from textwrap import dedent

import pytest
from ccml.ir.loops import Expr, Var
from ccml.ir.loops_rewrite import map_block, map_expr
from ccml.ir.loops_text import parse_kernel

KERNEL = """
    kernel k(x: f32[8] const, y: f32[8] out)
      for i:8
        y[i] = x[i] + x[7 - i]
"""


class Rule:
    """One that changes nothing."""

    def __call__(self, expr: Expr) -> Expr | None:
        return None


@pytest.fixture
def no_search() -> Iterator[None]:
    """Without the search for cycles, only what belongs to none is freed."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "rewrite",
    [lambda rule: map_expr(Var("i") + 1, rule), lambda rule: map_block(parse_kernel(dedent(KERNEL)).body, rule)],
)
@pytest.mark.usefixtures("no_search")
def test_what_a_rule_knows_is_freed_at_once(rewrite: Callable[[Rule], object]) -> None:
    """Compilations rewrite many thousands of times; none leaves anything for the search."""
    rule = Rule()
    known = weakref.ref(rule)
    rewrite(rule)
    del rule
    assert known() is None
