"""eliminate_dead_code and eliminate_common_subexpressions."""

from __future__ import annotations

from ccml.passes.eliminate_common_subexpressions import eliminate_common_subexpressions
from ccml.passes.eliminate_dead_code import eliminate_dead_code

from tests.passes.rewriting import assert_rewrites


def test_what_no_output_needs_is_dropped() -> None:
    before = """
    graph g(%x: f32[2], %unused: f32[2]) -> (%y)
      const %k : f32[2] = dense<1.0, 2.0>
      const %gone : f32[2] = dense<3.0, 4.0>
      %dead : f32[2] = add(%x, %gone)
      %deader : f32[2] = neg(%dead)
      %y : f32[2] = add(%x, %k)
    """
    expected = """
    graph g(%x: f32[2], %unused: f32[2]) -> (%y)
      const %k : f32[2] = dense<1.0, 2.0>
      %y : f32[2] = add(%x, %k)
    """
    result = assert_rewrites(eliminate_dead_code, before, expected)
    assert list(result.constants) == ["k"]


def test_a_node_with_one_needed_output_stays() -> None:
    before = """
    graph g(%x: f32[1,1,2], %w: f32[1,3,2], %r: f32[1,3,3]) -> (%h)
      %y : f32[1,1,1,3], %h : f32[1,1,3] =
        rnn(%x, %w, %r) {hidden=3, direction="forward", activations=["Tanh"], clip=inf}
    """
    assert_rewrites(eliminate_dead_code, before)


def test_equal_nodes_and_equal_constants_become_one() -> None:
    before = """
    graph g(%x: f32[2]) -> (%z)
      const %k1 : f32[2] = dense<1.0, 2.0>
      const %k2 : f32[2] = dense<1.0, 2.0>
      %a : f32[2] = add(%x, %k1)
      %b : f32[2] = add(%x, %k2)
      %z : f32[2] = mul(%a, %b)
    """
    expected = """
    graph g(%x: f32[2]) -> (%z)
      const %k1 : f32[2] = dense<1.0, 2.0>
      %a : f32[2] = add(%x, %k1)
      %z : f32[2] = mul(%a, %a)
    """
    assert_rewrites(eliminate_common_subexpressions, before, expected)


def test_different_attributes_types_and_signs_of_zero_stay_apart() -> None:
    before = """
    graph g(%x: f32[2], %q: i8[2]) -> (%a, %b, %c, %d, %e, %f)
      const %zero : f32[2] = dense<0.0, 0.0>
      const %minus : f32[2] = dense<-0.0, -0.0>
      const %whole : i32[2] = dense<0, 0>
      %a : f32[2] = clip(%x) {lo=0.0, hi=1.0}
      %b : f32[2] = clip(%x) {lo=-0.0, hi=1.0}
      %c : f32[2] = add(%x, %zero)
      %d : f32[2] = add(%x, %minus)
      %e : f32[2] = pow(%x, %whole)
      %f : f32[2] = pow(%x, %zero)
    """
    assert_rewrites(eliminate_common_subexpressions, before)


def test_equal_bytes_of_different_quantization_stay_apart() -> None:
    before = """
    graph g(%x: f32[2]) -> (%a, %b)
      const %k : i8[2] quant(scale=0.5, zero_point=0) = dense<1, 2>
      const %l : i8[2] quant(scale=0.25, zero_point=0) = dense<1, 2>
      %a : f32[2] = dequantize(%k) {scale=[0.5], zero_point=[0], axis=0}
      %b : f32[2] = dequantize(%l) {scale=[0.25], zero_point=[0], axis=0}
    """
    assert_rewrites(eliminate_common_subexpressions, before)


def test_equal_outputs_keep_their_names() -> None:
    before = """
    graph g(%x: f32[2]) -> (%a, %b)
      %a : f32[2] = exp(%x)
      %b : f32[2] = exp(%x)
    """
    expected = """
    graph g(%x: f32[2]) -> (%a, %b)
      %a : f32[2] = exp(%x)
      %b : f32[2] = reshape(%a) {shape=[2]}
    """
    assert_rewrites(eliminate_common_subexpressions, before, expected)
