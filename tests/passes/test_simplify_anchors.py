from __future__ import annotations

from ccml.ir.graph import Graph
from ccml.passes.rewrite import until_stable
from ccml.passes.simplify import simplify

from tests.passes.rewriting import assert_rewrites

POOL = 'stride={0}, pad=[0,0,0,0], dilation=[1,1], ceil_mode=false, count_include_pad=false, layout="channels_first"'


def simplified(graph: Graph) -> Graph:
    return until_stable(graph, simplify)


def test_an_average_over_everything_is_a_mean() -> None:
    before = f"""
    graph g(%x: f32[1,3,4,5]) -> (%y)
      %y : f32[1,3,1,1] = pool(%x) {{kind="avg", kernel=[4,5], {POOL.format("[4,5]")}}}
    """
    after = """
    graph g(%x: f32[1,3,4,5]) -> (%y)
      %y : f32[1,3,1,1] = reduce(%x) {kind="mean", axes=[2,3], keepdims=true}
    """
    assert_rewrites(simplified, before, after, tolerance=1e-6)


def test_a_maximum_over_everything_is_a_reduction_in_any_layout() -> None:
    pool = POOL.replace("first", "last").format("[1,1]")
    before = f"""
    graph g(%x: f32[1,4,5,3]) -> (%y)
      %y : f32[1,1,1,3] = pool(%x) {{kind="max", kernel=[4,5], {pool}}}
    """
    after = """
    graph g(%x: f32[1,4,5,3]) -> (%y)
      %y : f32[1,1,1,3] = reduce(%x) {kind="max", axes=[1,2], keepdims=true}
    """
    assert_rewrites(simplified, before, after)


def test_pooling_over_less_stays() -> None:
    assert_rewrites(
        simplified,
        f"""
        graph g(%x: f32[1,3,4,5]) -> (%y)
          %y : f32[1,3,1,2] = pool(%x) {{kind="avg", kernel=[4,2], {POOL.format("[4,2]")}}}
        """,
    )


def test_windows_of_one_element_vanish() -> None:
    before = f"""
    graph g(%x: f32[1,3,4,5]) -> (%y)
      %p : f32[1,3,4,5] = pool(%x) {{kind="avg", kernel=[1,1], {POOL.format("[1,1]")}}}
      %y : f32[1,3,4,5] = exp(%p)
    """
    after = """
    graph g(%x: f32[1,3,4,5]) -> (%y)
      %y : f32[1,3,4,5] = exp(%x)
    """
    assert_rewrites(simplified, before, after)


def test_a_reduction_of_single_elements_is_a_reshape() -> None:
    before = """
    graph g(%x: f32[2,1,3,1]) -> (%y)
      %y : f32[2,3] = reduce(%x) {kind="sum", axes=[1,3], keepdims=false}
    """
    after = """
    graph g(%x: f32[2,1,3,1]) -> (%y)
      %y : f32[2,3] = reshape(%x) {shape=[2,3]}
    """
    assert_rewrites(simplified, before, after, tolerance=1e-7)  # of the sign of zero only


def test_unit_batches_of_the_right_matrix_vanish() -> None:
    before = """
    graph g(%x: f32[4,2,3], %w: f32[1,3,5]) -> (%y)
      %y : f32[4,2,5] = matmul(%x, %w)
    """
    after = """
    graph g(%x: f32[4,2,3], %w: f32[1,3,5]) -> (%y)
      %m : f32[3,5] = reshape(%w) {shape=[3,5]}
      %y : f32[4,2,5] = matmul(%x, %m)
    """
    assert_rewrites(simplified, before, after)


def test_unit_batches_that_give_the_rank_stay() -> None:
    assert_rewrites(
        simplified,
        """
        graph g(%x: f32[2,3], %w: f32[1,3,5]) -> (%y)
          %y : f32[1,2,5] = matmul(%x, %w)
        """,
    )


PADDED = """
graph g(%x: f32[1,2,4,4]) -> (%y)
  const %w : f32[1,2,2,2] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0>
  %p : f32[1,2,5,6] = pad(%x) {before=[0,0,1,0], after=[0,0,0,2], mode="constant", value=0.0}
  %y : f32[1,1,4,7] = conv(%p, %w) {stride=[1,1], pad=[0,1,0,1], dilation=[1,1], group=1, layout="channels_first"}
"""


def test_zero_padding_goes_into_the_convolution() -> None:
    after = """
    graph g(%x: f32[1,2,4,4]) -> (%y)
      const %w : f32[1,2,2,2] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0>
      %y : f32[1,1,4,7] = conv(%x, %w) {stride=[1,1], pad=[1,1,0,3], dilation=[1,1], group=1, layout="channels_first"}
    """
    assert_rewrites(simplified, PADDED, after)


def test_other_padding_stays_outside() -> None:
    assert_rewrites(simplified, PADDED.replace("value=0.0", "value=1.0"))
    assert_rewrites(simplified, PADDED.replace("constant", "edge"))
