from __future__ import annotations

import numpy as np
from ccml.ir.graph_text import parse_graph
from ccml.passes.channels_last import channels_last

from tests.passes.rewriting import assert_rewrites


def test_a_convolution_is_wrapped_and_its_weights_are_transposed() -> None:
    geometry = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], group=1"
    before = f"""
    graph g(%x: f32[1,2,4,3]) -> (%y)
      const %w : f32[1,2,1,3] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
      const %b : f32[1] = dense<7.0>
      %y : f32[1,1,4,1] = conv(%x, %w, %b) {{{geometry}, layout="channels_first"}}   @"c"
    """
    after = f"""
    graph g(%x: f32[1,2,4,3]) -> (%y)
      const %w : f32[1,1,3,2] = dense<1.0, 4.0, 2.0, 5.0, 3.0, 6.0>
      const %b : f32[1] = dense<7.0>
      %t : f32[1,4,3,2] = transpose(%x) {{perm=[0,2,3,1]}}   @"c"
      %c : f32[1,4,1,1] = conv(%t, %w, %b) {{{geometry}, layout="channels_last"}}   @"c"
      %y : f32[1,1,4,1] = reshape(%c) {{shape=[1,1,4,1]}}   @"c"
    """
    assert_rewrites(channels_last, before, after)


def test_a_depthwise_convolution_in_one_dimension_stays_so() -> None:
    geometry = "stride=[2], pad=[1,0], dilation=[1], group=3"
    before = f"""
    graph g(%x: f32[1,3,4]) -> (%y)
      const %w : f32[3,1,2] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
      %y : f32[1,3,2] = conv(%x, %w, _) {{{geometry}, layout="channels_first"}}
    """
    after = f"""
    graph g(%x: f32[1,3,4]) -> (%y)
      const %w : f32[3,2,1] = dense<1.0, 2.0, 3.0, 4.0, 5.0, 6.0>
      %t : f32[1,4,3] = transpose(%x) {{perm=[0,2,1]}}
      %c : f32[1,2,3] = conv(%t, %w, _) {{{geometry}, layout="channels_last"}}
      %y : f32[1,3,2] = transpose(%c) {{perm=[0,2,1]}}
    """
    assert_rewrites(channels_last, before, after)


def test_a_transposed_convolution_keeps_its_input_channels_first() -> None:
    geometry = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], group=1, output_padding=[0,0]"
    before = f"""
    graph g(%x: f32[1,1,2,2]) -> (%y)
      const %w : f32[1,2,1,2] = dense<1.0, 2.0, 3.0, 4.0>
      %y : f32[1,2,2,3] = conv_transpose(%x, %w) {{{geometry}, layout="channels_first"}}
    """
    after = f"""
    graph g(%x: f32[1,1,2,2]) -> (%y)
      const %w : f32[1,1,2,2] = dense<1.0, 3.0, 2.0, 4.0>
      %t : f32[1,2,2,1] = reshape(%x) {{shape=[1,2,2,1]}}
      %c : f32[1,2,3,2] = conv_transpose(%t, %w) {{{geometry}, layout="channels_last"}}
      %y : f32[1,2,2,3] = transpose(%c) {{perm=[0,3,1,2]}}
    """
    assert_rewrites(channels_last, before, after)


def test_pools_are_wrapped_and_channels_last_stays() -> None:
    window = "kernel=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil_mode=false, count_include_pad=false"
    before = f"""
    graph g(%x: f32[1,2,4,4]) -> (%y)
      %y : f32[1,2,2,2] = pool(%x) {{kind="max", {window}, layout="channels_first"}}
    """
    after = f"""
    graph g(%x: f32[1,2,4,4]) -> (%y)
      %t : f32[1,4,4,2] = transpose(%x) {{perm=[0,2,3,1]}}
      %p : f32[1,2,2,2] = pool(%t) {{kind="max", {window}, layout="channels_last"}}
      %y : f32[1,2,2,2] = transpose(%p) {{perm=[0,3,1,2]}}
    """
    result = assert_rewrites(channels_last, before, after)
    assert channels_last(result) == result


def test_quantized_weights_move_with_their_axis() -> None:
    geometry = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], group=1"
    text = f"""
    graph g(%x: f32[1,2,4,4]) -> (%y)
      const %w : i8[2,2,1,2] quant(scale=[0.5,0.25], zero_point=[0,0], axis=1) = dense<1, 2, 3, 4, 5, 6, 7, 8>
      %d : f32[2,2,1,2] = dequantize(%w) {{scale=[0.5,0.25], zero_point=[0,0], axis=1}}
      %y : f32[1,2,4,3] = conv(%x, %d) {{{geometry}, layout="channels_first"}}
    """
    graph = channels_last(parse_graph(text))
    weights = next(node for node in graph.nodes if node.op == "dequantize")
    (stored,) = weights.operands
    assert stored.type.quant is not None and stored.type.quant.axis == weights.attrs["axis"] == 3
    expected = np.arange(1, 9).reshape(2, 2, 1, 2).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(graph.constant(stored), expected)
