"""Normalizations that are written out become one operator; what only looks like one stays."""

from __future__ import annotations

import pytest
from ccml.ir.graph import Graph
from ccml.passes.rewrite import until_stable
from ccml.passes.simplify import simplify

from tests.passes.rewriting import assert_rewrites

MEAN = '{kind="mean", axes=[2], keepdims=true}'
START = """
graph g(%x: f32[2,3,8]) -> (%y)
const %e : f32[] = dense<0.25>
const %one : f32[] = dense<1.0>
const %two : f32[] = dense<2.0>
const %half : f32[] = dense<0.5>
"""
CENTRE = f"""
%m : f32[2,3,1] = reduce(%x) {MEAN}
%d : f32[2,3,8] = sub(%x, %m)
"""
TAILS = {
    "quotient": """
        %s : f32[2,3,1] = add(%v, %e)
        %r : f32[2,3,1] = sqrt(%s)
        %y : f32[2,3,8] = div({d}, %r)""",
    "epsilon first": """
        %s : f32[2,3,1] = add(%e, %v)
        %r : f32[2,3,1] = sqrt(%s)
        %y : f32[2,3,8] = div({d}, %r)""",
    "reciprocal": """
        %s : f32[2,3,1] = add(%v, %e)
        %r : f32[2,3,1] = sqrt(%s)
        %i : f32[2,3,1] = reciprocal(%r)
        %y : f32[2,3,8] = mul(%i, {d})""",
    "one over the root": """
        %s : f32[2,3,1] = add(%v, %e)
        %p : f32[2,3,1] = pow(%s, %half)
        %i : f32[2,3,1] = div(%one, %p)
        %y : f32[2,3,8] = mul({d}, %i)""",
}
SQUARES = ["%q : f32[2,3,8] = mul({d}, {d})", "%q : f32[2,3,8] = pow({d}, %two)"]


def simplified(graph: Graph) -> Graph:
    return until_stable(graph, simplify)


def written_out(d: str, square: str, tail: str, mean: str = MEAN) -> str:
    return f"{square.format(d=d)}\n%v : f32[2,3,1] = reduce(%q) {mean}\n{tail.format(d=d)}"


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("op", ["normalize", "rms_normalize"])
def test_written_out(op: str, tail: str, square: str) -> None:
    centred = op == "normalize"
    before = START + (CENTRE if centred else "") + written_out("%d" if centred else "%x", square, TAILS[tail])
    after = f"""
    graph g(%x: f32[2,3,8]) -> (%y)
    %y : f32[2,3,8] = {op}(%x) {{axes=[2], epsilon=0.25}}
    """
    assert_rewrites(simplified, before, after, tolerance=1e-6)


def test_the_mean_over_other_axes_is_subtracted_on_its_own() -> None:
    other = CENTRE.replace("axes=[2]", "axes=[1]").replace("[2,3,1]", "[2,1,8]")
    after = f"""
    graph g(%x: f32[2,3,8]) -> (%y)
    {other}
    %y : f32[2,3,8] = rms_normalize(%d) {{axes=[2], epsilon=0.25}}
    """
    assert_rewrites(simplified, START + other + written_out("%d", SQUARES[0], TAILS["quotient"]), after, tolerance=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        written_out("%x", SQUARES[0], TAILS["quotient"], MEAN.replace("mean", "sum")),
        written_out("%x", SQUARES[0], TAILS["quotient"].replace("{d}", "%q")),
        written_out("%x", SQUARES[0].replace("({d}, {d})", "({d}, %half)"), TAILS["quotient"]),
    ],
    ids=["sum of squares", "another numerator", "no square"],
)
def test_what_only_looks_like_one(text: str) -> None:
    unused = [line for line in START.splitlines() if not any(name in line for name in ("%one", "%two"))]
    kept = "\n".join(line for line in unused if "%half" not in line or "%half" in text)
    assert_rewrites(simplified, f"{kept}\n{text}")
