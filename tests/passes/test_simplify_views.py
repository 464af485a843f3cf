"""Views keep every bit, so all cases are exact."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.narrow import NARROW_FLOATS
from ccml.passes.rewrite import until_stable
from ccml.passes.simplify import simplify

from tests.passes.rewriting import assert_rewrites


def simplified(graph: Graph) -> Graph:
    return until_stable(graph, simplify)


def on(shape: str, nodes: str) -> str:
    return f"graph g(%x: f32{shape}) -> (%y)\n{nodes}"


CASES = {
    "identities vanish": (
        "[2,3]",
        """
        %a : f32[2,3] = reshape(%x) {shape=[2,3]}
        %b : f32[2,3] = transpose(%a) {perm=[0,1]}
        %c : f32[2,3] = slice(%b) {starts=[0,0], steps=[1,1], sizes=[2,3]}
        %d : f32[2,3] = cast(%c) {to=f32}
        %e : f32[2,3] = expand(%d) {shape=[2,3]}
        %f : f32[2,3] = pad(%e) {before=[0,0], after=[0,0], mode="constant", value=0.0}
        %h : f32[2,3] = concat(%f) {axis=1}
        %y : f32[2,3] = exp(%h)
        """,
        "%y : f32[2,3] = exp(%x)",
    ),
    "reshapes merge": (
        "[2,3]",
        """
        %a : f32[6] = reshape(%x) {shape=[6]}
        %y : f32[3,2] = reshape(%a) {shape=[3,2]}
        """,
        "%y : f32[3,2] = reshape(%x) {shape=[3,2]}",
    ),
    "transposes merge": (
        "[2,3,4]",
        """
        %a : f32[4,2,3] = transpose(%x) {perm=[2,0,1]}
        %y : f32[4,3,2] = transpose(%a) {perm=[0,2,1]}
        """,
        "%y : f32[4,3,2] = transpose(%x) {perm=[2,1,0]}",
    ),
    "a transpose of unit dimensions is a reshape": (
        "[1,3,1,4]",
        "%y : f32[3,4,1,1] = transpose(%x) {perm=[1,3,2,0]}",
        "%y : f32[3,4,1,1] = reshape(%x) {shape=[3,4,1,1]}",
    ),
    "what was split and comes together again in order": (
        "[2,9]",
        """
        %a : f32[2,2] = slice(%x) {starts=[0,0], steps=[1,2], sizes=[2,2]}
        %b : f32[2,3] = slice(%x) {starts=[0,4], steps=[1,2], sizes=[2,3]}
        %c : f32[2,1] = slice(%x) {starts=[0,1], steps=[1,2], sizes=[2,1]}
        %y : f32[2,6] = concat(%a, %b, %c) {axis=1}
        """,
        """
        %c : f32[2,1] = slice(%x) {starts=[0,1], steps=[1,2], sizes=[2,1]}
        %ab : f32[2,5] = slice(%x) {starts=[0,0], steps=[1,2], sizes=[2,5]}
        %y : f32[2,6] = concat(%ab, %c) {axis=1}
        """,
    ),
    "slices merge": (
        "[10]",
        """
        %a : f32[4] = slice(%x) {starts=[1], steps=[2], sizes=[4]}
        %y : f32[3] = slice(%a) {starts=[3], steps=[-1], sizes=[3]}
        """,
        "%y : f32[3] = slice(%x) {starts=[7], steps=[-2], sizes=[3]}",
    ),
    "a reversal is no identity": ("[4]", "%y : f32[4] = slice(%x) {starts=[3], steps=[-1], sizes=[4]}", None),
    "expands merge": (
        "[1,3]",
        """
        %a : f32[2,3] = expand(%x) {shape=[2,3]}
        %y : f32[4,2,3] = expand(%a) {shape=[4,2,3]}
        """,
        "%y : f32[4,2,3] = expand(%x) {shape=[4,2,3]}",
    ),
    "an expand that broadcasting does anyway vanishes": (
        "[2,3]",
        """
        const %k : f32[3] = dense<1.0, 2.0, 3.0>
        %a : f32[2,3] = expand(%k) {shape=[2,3]}
        %y : f32[2,3] = add(%a, %x)
        """,
        """
        const %k : f32[3] = dense<1.0, 2.0, 3.0>
        %y : f32[2,3] = add(%k, %x)
        """,
    ),
    "one of two expands must stay to give the shape": (
        "[1,3]",
        """
        %a : f32[2,3] = expand(%x) {shape=[2,3]}
        %y : f32[2,3] = mul(%a, %a)
        """,
        """
        %a : f32[2,3] = expand(%x) {shape=[2,3]}
        %y : f32[2,3] = mul(%x, %a)
        """,
    ),
    "empty parts of a concat vanish": (
        "[2,3]",
        """
        %a : f32[2,0] = slice(%x) {starts=[0,0], steps=[1,1], sizes=[2,0]}
        %b : f32[2,3] = concat(%a, %x) {axis=1}
        %y : f32[2,3] = exp(%b)
        """,
        "%y : f32[2,3] = exp(%x)",
    ),
    "one constant index is a slice": (
        "[2,3,4]",
        """
        const %i : i64[] = dense<2>
        %y : f32[2,4] = gather(%x, %i) {axis=1}
        """,
        """
        %a : f32[2,1,4] = slice(%x) {starts=[0,2,0], steps=[1,1,1], sizes=[2,1,4]}
        %y : f32[2,4] = reshape(%a) {shape=[2,4]}
        """,
    ),
    "regular constant indices are a slice": (
        "[2,9]",
        """
        const %i : i64[3] = dense<7, 4, 1>
        %y : f32[2,3] = gather(%x, %i) {axis=1}
        """,
        "%y : f32[2,3] = slice(%x) {starts=[0,7], steps=[1,-3], sizes=[2,3]}",
    ),
    "irregular indices stay": (
        "[2,9]",
        """
        const %i : i64[3] = dense<7, 4, 2>
        %y : f32[2,3] = gather(%x, %i) {axis=1}
        """,
        None,
    ),
    "a cast to a wider type and on": (
        "[2]",
        """
        %a : f64[2] = cast(%x) {to=f64}
        %y : i8[2] = cast(%a) {to=i8}
        """,
        "%y : i8[2] = cast(%x) {to=i8}",
    ),
    "a cast to a narrower type counts": (
        "[2]",
        """
        %a : f16[2] = cast(%x) {to=f16}
        %y : f32[2] = cast(%a) {to=f32}
        """,
        None,
    ),
    "a cast of small floats to small integers counts": (
        "[2]",
        """
        %a : f4e2m1[2] = cast(%x) {to=f4e2m1, saturate=true, rounding="up"}
        %b : u2[2] = cast(%a) {to=u2}
        %y : f32[2] = cast(%b) {to=f32}
        """,
        None,
    ),
    "heads are sliced after the split": (
        "[2,12]",
        """
        %a : f32[2,4] = slice(%x) {starts=[0,8], steps=[1,1], sizes=[2,4]}
        %y : f32[2,1,2,2] = reshape(%a) {shape=[2,1,2,2]}
        """,
        """
        %a : f32[2,1,6,2] = reshape(%x) {shape=[2,1,6,2]}
        %y : f32[2,1,2,2] = slice(%a) {starts=[0,0,4,0], steps=[1,1,1,1], sizes=[2,1,2,2]}
        """,
    ),
    "a slice across parts stays before the split": (
        "[2,12]",
        """
        %a : f32[2,4] = slice(%x) {starts=[0,7], steps=[1,1], sizes=[2,4]}
        %y : f32[2,2,2] = reshape(%a) {shape=[2,2,2]}
        """,
        None,
    ),
    "a slice that is joined with its neighbour stays": (
        "[2,12]",
        """
        %a : f32[2,4] = slice(%x) {starts=[0,8], steps=[1,1], sizes=[2,4]}
        %y : f32[4,2] = reshape(%a) {shape=[4,2]}
        """,
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_views(name: str) -> None:
    shape, before, after = CASES[name]
    assert_rewrites(simplified, on(shape, before), None if after is None else on(shape, after))


def test_a_cast_between_keeps_what_it_rounds() -> None:
    """int64 to float64 rounds above 2^53, although NumPy calls it safe."""
    text = """
    graph g(%x: i64[2]) -> (%y)
      %a : f64[2] = cast(%x) {to=f64}
      %y : i64[2] = cast(%a) {to=i64}
    """
    assert_rewrites(simplified, text)


TYPES = [dtype for dtype in DType if dtype not in (DType.INDEX, DType.CHAR)]


def every_value(dtype: DType) -> np.ndarray:
    """Of a type of up to 16 bits."""
    if dtype is DType.BOOL:
        return np.array([False, True])
    return np.arange(1 << dtype.bits).astype(f"u{dtype.size}").view(dtype.numpy)


def cast_to(dtype: DType) -> str:
    return f'{{to={dtype.value}, saturate=true, rounding="up"}}' if dtype in NARROW_FLOATS else f"{{to={dtype.value}}}"


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype.bits <= 16], ids=lambda dtype: dtype.value)
def test_casts_through_any_other_type_keep_every_value(dtype: DType) -> None:
    """Those that vanish would have changed none."""
    x, vanished = every_value(dtype), set[DType]()
    for between in set(TYPES) - {dtype}:
        graph = parse_graph(f"""graph g(%x: {dtype.value}[{x.size}]) -> (%y)
            %m : {between.value}[{x.size}] = cast(%x) {cast_to(between)}
            %y : f32[{x.size}] = cast(%m) {{to=f32}}
            """)
        result = simplified(graph)
        if len(result.nodes) < 2:
            vanished.add(between)
        with np.errstate(all="ignore"):
            found, wanted = (evaluate_graph(each, {"x": x})["y"] for each in (result, graph))
        np.testing.assert_array_equal(found, wanted, str(between))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted), str(between))
    assert {DType.F32, DType.F64} - {dtype} <= vanished
