from __future__ import annotations

from functools import partial

import pytest
from ccml.ir.graph_text import parse_graph
from ccml.passes import fold_constants as module
from ccml.passes.fold_constants import fold_constants

from tests.passes.rewriting import assert_rewrites


def test_a_chain_of_constants_becomes_one() -> None:
    before = """
    graph g(%x: f32[2]) -> (%y)
      const %a : f32[2] = dense<1.0, 2.0>
      const %b : f32[] = dense<3.0>
      %c : f32[2] = mul(%a, %b)
      %d : f32[2] = neg(%c)
      %y : f32[2] = add(%x, %d)
    """
    expected = """
    graph g(%x: f32[2]) -> (%y)
      const %d : f32[2] = dense<-3.0, -6.0>
      %y : f32[2] = add(%x, %d)
    """
    result = assert_rewrites(fold_constants, before, expected)
    assert list(result.constants) == ["d"]


def test_a_repeated_constant_is_not_stored_expanded_but_its_users_fold() -> None:
    before = """
    graph g(%x: f32[4]) -> (%y, %z)
      const %a : f32[1] = dense<2.0>
      const %i : f32[2] = dense<7.0, 8.0>
      %wide : f32[4] = expand(%a) {shape=[4]}
      %y : f32[4] = add(%x, %wide)
      %part : f32[2] = slice(%wide) {starts=[1], steps=[1], sizes=[2]}
      %ends : f32[4] = concat(%part, %i) {axis=0}
      %z : f32[4] = mul(%x, %ends)
    """
    expected = """
    graph g(%x: f32[4]) -> (%y, %z)
      const %a : f32[1] = dense<2.0>
      const %ends : f32[4] = dense<2.0, 2.0, 7.0, 8.0>
      %wide : f32[4] = expand(%a) {shape=[4]}
      %y : f32[4] = add(%x, %wide)
      %z : f32[4] = mul(%x, %ends)
    """
    assert_rewrites(fold_constants, before, expected)


DEQUANTIZED = """
graph g(%x: f32[1,2]) -> (%y)
  const %w : i8[2,2] quant(scale=[0.5,0.25], zero_point=[0,0], axis=1) = dense<1, 2, 3, 4>
  %d : f32[2,2] = dequantize(%w) {scale=[0.5,0.25], zero_point=[0,0], axis=1}
  %y : f32[1,2] = matmul(%x, %d)
"""


def test_quantized_weights_stay_visible_where_asked() -> None:
    assert_rewrites(partial(fold_constants, dequantize=False), DEQUANTIZED)


def test_dequantized_weights_are_exact() -> None:
    expected = """
    graph g(%x: f32[1,2]) -> (%y)
      const %d : f32[2,2] = dense<0.5, 0.5, 1.5, 1.0>
      %y : f32[1,2] = matmul(%x, %d)
    """
    assert_rewrites(fold_constants, DEQUANTIZED, expected)


def test_a_quantized_constant_keeps_its_quantization() -> None:
    before = """
    graph g(%x: f32[2]) -> (%y)
      const %k : f32[2] = dense<0.6, -1.0>
      %q : i8[2] quant(scale=0.5, zero_point=1) = quantize(%k) {scale=[0.5], zero_point=[1], axis=0, to=i8}
      %d : f32[2] = dequantize(%q) {scale=[0.5], zero_point=[1], axis=0}
      %y : f32[2] = add(%x, %d)
    """
    expected = """
    graph g(%x: f32[2]) -> (%y)
      const %q : i8[2] quant(scale=0.5, zero_point=1) = dense<2, -1>
      %d : f32[2] = dequantize(%q) {scale=[0.5], zero_point=[1], axis=0}
      %y : f32[2] = add(%x, %d)
    """
    assert_rewrites(partial(fold_constants, dequantize=False), before, expected)


def test_a_constant_output_stays_an_output() -> None:
    before = """
    graph g(%x: f32[2]) -> (%y)
      const %k : f32[2] = dense<1.0, -2.0>
      %y : f32[2] = abs(%k)
    """
    expected = """
    graph g(%x: f32[2]) -> (%y)
      const %k : f32[2] = dense<1.0, 2.0>
      %y : f32[2] = reshape(%k) {shape=[2]}
    """
    result = assert_rewrites(fold_constants, before, expected)
    assert fold_constants(result) == result


def test_large_results_are_left_to_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before = """
    graph g(%x: f32[3]) -> (%y)
      const %k : f32[3,1] = dense<1.0, 2.0, 3.0>
      const %l : f32[3] = dense<1.0, 2.0, 3.0>
      %big : f32[3,3] = mul(%k, %l)
      %y : f32[3,3] = mul(%x, %big)
    """
    monkeypatch.setattr(module, "SIZE_LIMIT", 35)
    assert_rewrites(fold_constants, before)
    monkeypatch.setattr(module, "SIZE_LIMIT", 36)
    assert [node.op for node in fold_constants(parse_graph(before)).nodes] == ["mul"]
