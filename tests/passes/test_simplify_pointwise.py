"""Each case is one operator on %x : f32[2,3] (or of another type) and what it becomes; "" for: stays."""

from __future__ import annotations

import pytest
from ccml.ir.graph import Graph
from ccml.passes.rewrite import until_stable
from ccml.passes.simplify import simplify

from tests.passes.rewriting import assert_rewrites


def simplified(graph: Graph) -> Graph:
    return until_stable(graph, simplify)


def text(lines: str, dtype: str) -> str:
    constants = "\n".join(f"const {line}" for line in lines.split("; ") if "dense" in line)
    nodes = "\n".join(line for line in lines.split("; ") if "dense" not in line)
    return f"graph g(%x: {dtype}[2,3], %b: bool[2,3]) -> (%y)\n{constants}\n{nodes}"


SAME = "%y : f32[2,3] = reshape(%x) {shape=[2,3]}"
EXACT = [
    ("%k : f32[] = dense<1.0>; %y : f32[2,3] = mul(%x, %k)", SAME),
    ("%k : f32[3] = dense<1.0, 1.0, 1.0>; %y : f32[2,3] = mul(%k, %x)", SAME),
    ("%k : f32[3] = dense<1.0, 1.0, 2.0>; %y : f32[2,3] = mul(%k, %x)", ""),
    ("%k : f32[4,1,1] = dense<1.0, 1.0, 1.0, 1.0>; %y : f32[4,2,3] = mul(%k, %x)", ""),
    ("%k : f32[] = dense<1.0>; %y : f32[2,3] = div(%x, %k)", SAME),
    ("%k : f32[] = dense<1.0>; %y : f32[2,3] = div(%k, %x)", ""),
    ("%k : f32[] = dense<1.0>; %y : f32[2,3] = pow(%x, %k)", SAME),
    # Of the float zeros, only one leaves -0.0 what it is.
    ("%k : f32[] = dense<0.0>; %y : f32[2,3] = add(%x, %k)", ""),
    ("%k : f32[] = dense<-0.0>; %y : f32[2,3] = add(%x, %k)", SAME),
    ("%k : f32[] = dense<0.0>; %y : f32[2,3] = sub(%x, %k)", SAME),
    ("%k : f32[] = dense<-0.0>; %y : f32[2,3] = sub(%x, %k)", ""),
    ("%k : f32[] = dense<0.0>; %y : f32[2,3] = sub(%k, %x)", ""),
    ("%k : f32[] = dense<0.0>; %y : f32[2,3] = mul(%x, %k)", ""),
    # Division by a power of two is exact; by other numbers, or where the factor is no normal number, it is not.
    (
        "%k : f32[] = dense<-8.0>; %y : f32[2,3] = div(%x, %k)",
        "%k : f32[] = dense<-0.125>; %y : f32[2,3] = mul(%x, %k)",
    ),
    (
        "%k : f32[3] = dense<0.5, 1.0, 4.0>; %y : f32[2,3] = div(%x, %k)",
        "%k : f32[3] = dense<2.0, 1.0, 0.25>; %y : f32[2,3] = mul(%x, %k)",
    ),
    ("%k : f32[] = dense<3.0>; %y : f32[2,3] = div(%x, %k)", ""),
    ("%k : f32[] = dense<1.7014118346046923e+38>; %y : f32[2,3] = div(%x, %k)", ""),
    ("%k : f32[] = dense<0.0>; %y : f32[2,3] = div(%x, %k)", ""),
    # Clips
    ("%k : f32[] = dense<0.0>; %y : f32[2,3] = max(%x, %k)", "%y : f32[2,3] = relu(%x)"),
    ("%k : f32[1,1] = dense<-1.5>; %y : f32[2,3] = max(%k, %x)", "%y : f32[2,3] = clip(%x) {lo=-1.5, hi=inf}"),
    ("%k : f32[] = dense<6.0>; %y : f32[2,3] = min(%x, %k)", "%y : f32[2,3] = clip(%x) {lo=-inf, hi=6.0}"),
    ("%k : f32[3] = dense<6.0, 5.0, 4.0>; %y : f32[2,3] = min(%x, %k)", ""),
    ("%y : f32[2,3] = clip(%x) {lo=0.0, hi=inf}", "%y : f32[2,3] = relu(%x)"),
    ("%y : f32[2,3] = clip(%x) {lo=-inf, hi=inf}", SAME),
    ("%r : f32[2,3] = relu(%x); %y : f32[2,3] = relu(%r)", "%y : f32[2,3] = relu(%x)"),
    (
        "%r : f32[2,3] = relu(%x); %y : f32[2,3] = clip(%r) {lo=-1.0, hi=6.0}",
        "%y : f32[2,3] = clip(%x) {lo=0.0, hi=6.0}",
    ),
    (
        "%r : f32[2,3] = clip(%x) {lo=-1.0, hi=2.0}; %y : f32[2,3] = relu(%r)",
        "%y : f32[2,3] = clip(%x) {lo=0.0, hi=2.0}",
    ),
    ("%r : f32[2,3] = clip(%x) {lo=1.0, hi=2.0}; %y : f32[2,3] = clip(%r) {lo=3.0, hi=4.0}", ""),
    # The rest
    ("%n : f32[2,3] = neg(%x); %y : f32[2,3] = neg(%n)", SAME),
    ("%n : bool[2,3] = not(%b); %y : bool[2,3] = not(%n)", "%y : bool[2,3] = reshape(%b) {shape=[2,3]}"),
    ("%y : f32[2,3] = where(%b, %x, %x)", SAME),
    ("%t : bool[] = dense<true>; %n : f32[2,3] = neg(%x); %y : f32[2,3] = where(%t, %x, %n)", SAME),
    ("%k : f32[] = dense<2.0>; %y : f32[2,3] = pow(%x, %k)", "%y : f32[2,3] = mul(%x, %x)"),
    ("%k : i32[] = dense<2>; %y : f32[2,3] = pow(%x, %k)", "%y : f32[2,3] = mul(%x, %x)"),
    ("%k : f32[] = dense<3.0>; %y : f32[2,3] = pow(%x, %k)", ""),
]


@pytest.mark.parametrize(("before", "after"), EXACT)
def test_exact_rules(before: str, after: str) -> None:
    assert_rewrites(simplified, text(before, "f32"), text(after, "f32") if after else None)


INTEGERS = [
    ("%k : i32[] = dense<0>; %y : i32[2,3] = add(%x, %k)", "%y : i32[2,3] = reshape(%x) {shape=[2,3]}"),
    (
        "%k : i32[] = dense<0>; %y : i32[2,3] = mul(%x, %k)",
        "%z : i32[] = dense<0>; %y : i32[2,3] = expand(%z) {shape=[2,3]}",
    ),
    ("%k : i32[] = dense<8>; %y : i32[2,3] = div(%x, %k)", ""),
    ("%k : i32[] = dense<2>; %y : i32[2,3] = pow(%x, %k)", "%y : i32[2,3] = mul(%x, %x)"),
    ("%k : i32[] = dense<0>; %y : i32[2,3] = max(%x, %k)", "%y : i32[2,3] = relu(%x)"),
    ("%r : i32[2,3] = relu(%x); %y : i32[2,3] = clip(%r) {lo=-1, hi=6}", "%y : i32[2,3] = clip(%x) {lo=0, hi=6}"),
]


@pytest.mark.parametrize(("before", "after"), INTEGERS)
def test_integer_rules(before: str, after: str) -> None:
    assert_rewrites(simplified, text(before, "i32"), text(after, "i32") if after else None)


def test_a_square_root_replaces_the_power() -> None:
    before = text("%p : f32[2,3] = abs(%x); %k : f32[] = dense<0.5>; %y : f32[2,3] = pow(%p, %k)", "f32")
    after = text("%p : f32[2,3] = abs(%x); %y : f32[2,3] = sqrt(%p)", "f32")
    assert_rewrites(simplified, before, after, tolerance=1e-7)  # NumPy's pow is not rounded correctly
