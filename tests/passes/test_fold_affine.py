"""Folding changes rounding, so meaning is kept within some units in the last place of float32 (6e-8)."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph_text import parse_graph
from ccml.passes.fold_affine import fold_affine

from tests.passes.rewriting import assert_rewrites, assert_same_meaning

TOLERANCE = 1e-6

CONV = 'stride=[1,1], pad=[0,0,0,0], dilation=[1,1], group=1, layout="channels_first"'


def test_batch_normalization_goes_into_the_convolution() -> None:
    before = f"""
    graph g(%x: f32[1,2,3,3]) -> (%z)
      const %w : f32[2,2,1,1] = dense<1.0, 2.0, 3.0, 4.0>
      const %b : f32[2] = dense<1.0, -1.0>
      const %s : f32[2,1,1] = dense<2.0, 0.5>
      const %t : f32[2,1,1] = dense<10.0, 20.0>
      %c : f32[1,2,3,3] = conv(%x, %w, %b) {{{CONV}}}   @"conv"
      %m : f32[1,2,3,3] = mul(%c, %s)   @"bn"
      %a : f32[1,2,3,3] = add(%t, %m)   @"bn"
      %z : f32[1,2,3,3] = relu(%a)   @"relu"
    """
    after = f"""
    graph g(%x: f32[1,2,3,3]) -> (%z)
      const %w : f32[2,2,1,1] = dense<2.0, 4.0, 1.5, 2.0>
      const %b : f32[2] = dense<12.0, 19.5>
      %a : f32[1,2,3,3] = conv(%x, %w, %b) {{{CONV}}}   @"conv + bn"
      %z : f32[1,2,3,3] = relu(%a)   @"relu"
    """
    assert_rewrites(fold_affine, before, after, tolerance=TOLERANCE)


def test_an_addition_becomes_the_bias_of_a_matmul() -> None:
    before = """
    graph g(%x: f32[3,2]) -> (%y)
      const %w : f32[2,2] = dense<1.0, 2.0, 3.0, 4.0>
      const %b : f32[2] = dense<5.0, 6.0>
      %m : f32[3,2] = matmul(%x, %w)
      %y : f32[3,2] = add(%b, %m)
    """
    after = """
    graph g(%x: f32[3,2]) -> (%y)
      const %w : f32[2,2] = dense<1.0, 2.0, 3.0, 4.0>
      const %b : f32[2] = dense<5.0, 6.0>
      %y : f32[3,2] = matmul(%x, %w, %b)
    """
    assert_rewrites(fold_affine, before, after, tolerance=TOLERANCE)


def test_what_comes_before_a_matmul_goes_into_it() -> None:
    before = """
    graph g(%x: f32[3,2]) -> (%y)
      const %w : f32[2,2] = dense<1.0, 2.0, 3.0, 4.0>
      const %s : f32[2] = dense<2.0, 4.0>
      const %t : f32[] = dense<1.0>
      %a : f32[3,2] = mul(%x, %s)
      %b : f32[3,2] = sub(%t, %a)
      %y : f32[3,2] = matmul(%b, %w)
    """
    after = """
    graph g(%x: f32[3,2]) -> (%y)
      const %w : f32[2,2] = dense<-2.0, -4.0, -12.0, -16.0>
      const %b : f32[2] = dense<4.0, 6.0>
      %y : f32[3,2] = matmul(%x, %w, %b)
    """
    assert_rewrites(fold_affine, before, after, tolerance=TOLERANCE)


STAYS = {
    "a value with two uses": """
    graph g(%x: f32[3,2], %w: f32[2,2]) -> (%y, %z)
      const %b : f32[2] = dense<5.0, 6.0>
      %m : f32[3,2] = matmul(%x, %w)
      %y : f32[3,2] = add(%m, %b)
      %z : f32[3,2] = relu(%m)
    """,
    "a graph output": """
    graph g(%x: f32[3,2], %w: f32[2,2]) -> (%m, %y)
      const %b : f32[2] = dense<5.0, 6.0>
      %m : f32[3,2] = matmul(%x, %w)
      %y : f32[3,2] = add(%m, %b)
    """,
    "a scale of unknown weights": """
    graph g(%x: f32[3,2], %w: f32[2,2]) -> (%y)
      const %b : f32[2] = dense<5.0, 6.0>
      %m : f32[3,2] = matmul(%x, %w)
      %y : f32[3,2] = mul(%m, %b)
    """,
    "a constant per row": """
    graph g(%x: f32[3,2], %w: f32[2,2]) -> (%y)
      const %b : f32[3,1] = dense<5.0, 6.0, 7.0>
      %m : f32[3,2] = matmul(%x, %w)
      %y : f32[3,2] = add(%m, %b)
    """,
    "a constant that widens the result": """
    graph g(%x: f32[1,2], %w: f32[2,2]) -> (%y)
      const %b : f32[3,1,1] = dense<5.0, 6.0, 7.0>
      %m : f32[1,2] = matmul(%x, %w)
      %y : f32[3,1,2] = add(%m, %b)
    """,
    "a shift before padding": f"""
    graph g(%x: f32[1,2,3,3]) -> (%y)
      const %w : f32[2,2,1,1] = dense<1.0, 2.0, 3.0, 4.0>
      const %t : f32[2,1,1] = dense<10.0, 20.0>
      %a : f32[1,2,3,3] = add(%x, %t)
      %y : f32[1,2,4,3] = conv(%a, %w) {{{CONV.replace("pad=[0,", "pad=[1,")}}}
    """,
    "a scale that overflows": """
    graph g(%x: f32[1,2]) -> (%y)
      const %w : f32[2,2] = dense<1e30, 2.0, 3.0, 4.0>
      const %s : f32[2] = dense<1e30, 1.0>
      %m : f32[1,2] = matmul(%x, %w)
      %y : f32[1,2] = mul(%m, %s)
    """,
    "integers": """
    graph g(%x: i32[1,2]) -> (%y)
      const %w : i32[2,2] = dense<1, 2, 3, 4>
      const %s : i32[2] = dense<2, 3>
      %m : i32[1,2] = matmul(%x, %w)
      %y : i32[1,2] = mul(%m, %s)
    """,
    "a division by the result": """
    graph g(%x: f32[1,2]) -> (%y)
      const %w : f32[2,2] = dense<1.0, 2.0, 3.0, 4.0>
      const %s : f32[2] = dense<2.0, 3.0>
      %m : f32[1,2] = matmul(%x, %w)
      %y : f32[1,2] = div(%s, %m)
    """,
}


@pytest.mark.parametrize("case", STAYS)
def test_stays(case: str) -> None:
    assert_rewrites(fold_affine, STAYS[case])


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("op", ["conv", "conv_transpose"])
@pytest.mark.parametrize("group", [1, 2])
def test_all_layouts_and_groups(layout: str, op: str, group: int) -> None:
    """4 input and 6 output channels; scales and shifts behind, and scales (for conv shifts too) before."""
    first = layout == "channels_first"

    def shape(channels: int, extent: int) -> str:
        return f"[1,{channels},{extent}]" if first else f"[1,{extent},{channels}]"

    outer, inner = (6, 4 // group) if op == "conv" else (4, 6 // group)
    weights = f"[{outer},{inner},2]" if first else f"[{outer},2,{inner}]"
    extent = 4 if op == "conv" else 6
    rng = np.random.default_rng(0)

    def dense(count: int) -> str:
        return f"dense<{', '.join(str(float(v)) for v in rng.uniform(0.5, 2, count).round(3))}>"

    vector = "[{},1]" if first else "[{}]"
    window = f'stride=[1], pad=[0,0], dilation=[1], group={group}, layout="{layout}"'
    window += ", output_padding=[0]" if op == "conv_transpose" else ""
    text = f"""
    graph g(%x: f32{shape(4, 5)}) -> (%y)
      const %w : f32{weights} = {dense(outer * inner * 2)}
      const %s : f32{vector.format(4)} = {dense(4)}
      const %t : f32{vector.format(4)} = {dense(4)}
      const %u : f32{vector.format(6)} = {dense(6)}
      const %v : f32{vector.format(6)} = {dense(6)}
      %a : f32{shape(4, 5)} = {"sub" if op == "conv" else "mul"}(%x, %t)
      %b : f32{shape(4, 5)} = div(%a, %s)
      %c : f32{shape(6, extent)} = {op}(%b, %w) {{{window}}}
      %d : f32{shape(6, extent)} = mul(%c, %u)
      %e : f32{shape(6, extent)} = neg(%d)
      %y : f32{shape(6, extent)} = sub(%e, %v)
    """
    graph = parse_graph(text)
    result = fold_affine(graph)
    assert [node.op for node in result.nodes] == [op]
    assert_same_meaning(graph, result, TOLERANCE)


def test_a_chain_is_rounded_once() -> None:
    """(w * 1/3) * 3 is w in float64 rounded to float32, where two float32 roundings would be off for some w."""
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    text = f"""
    graph g(%x: f32[1,8]) -> (%y)
      const %w : f32[8,8] = dense<{", ".join(map(str, weights.reshape(-1).tolist()))}>
      const %k : f32[] = dense<3.0>
      %m : f32[1,8] = matmul(%x, %w)
      %d : f32[1,8] = div(%m, %k)
      %y : f32[1,8] = mul(%d, %k)
    """
    result = fold_affine(parse_graph(text))
    assert not np.array_equal((weights * np.float32(1 / 3)) * np.float32(3), weights)
    np.testing.assert_array_equal(result.constant(result.nodes[0].operands[1]), weights)
