"""Bounds of indices: what is found at once holds every value there is, and what is proven with effort lies within."""

from __future__ import annotations

import itertools
import random

import pytest
from ccml.ir.bounds import Bounds
from ccml.ir.loops import INDEX, Binary, Expr, Var

EXTENTS = (1, 3, 5)
VARS = tuple(Var(f"i{extent}", INDEX) for extent in EXTENTS)


def in_loops() -> Bounds:
    bounds = Bounds()
    for var, extent in zip(VARS, EXTENTS):
        bounds = bounds.in_loop(var, INDEX(extent))
    return bounds


def random_index(rng: random.Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([*VARS, INDEX(rng.randint(-4, 4))])
    return Binary(rng.choice(["add", "sub", "mul"]), random_index(rng, depth - 1), random_index(rng, depth - 1))


def value(expr: Expr, at: dict[str, int]) -> int:
    if isinstance(expr, Binary):
        x, y = value(expr.x, at), value(expr.y, at)
        return {"add": x + y, "sub": x - y, "mul": x * y}[expr.op]
    return at[expr.name] if isinstance(expr, Var) else int(expr.value)


@pytest.mark.parametrize("seed", range(40))
def test_intervals_hold_all_values(seed: int) -> None:
    expr = random_index(random.Random(seed), 4)
    places = [dict(zip((var.name for var in VARS), at)) for at in itertools.product(*map(range, EXTENTS))]
    values = [value(expr, at) for at in places]
    found = in_loops().interval(expr)
    assert found is not None
    assert found[0] <= min(values)
    assert found[1] >= max(values)


def test_nothing_is_said_of_what_is_loaded_or_of_loops_whose_extent_is_computed() -> None:
    outer, inner = Var("outer", INDEX), Var("inner", INDEX)
    bounds = Bounds().in_loop(outer, INDEX(4)).in_loop(inner, outer + 1)
    assert bounds.interval(outer * 2 + 1) == (1, 7)
    assert bounds.interval(inner) is None
    assert bounds.interval(outer // 2) is None
    assert bounds.range(inner) == (0, 3)
