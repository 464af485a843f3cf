"""Unsigned 16-bit tensors between quantize and dequantize are signed ones, with the same real numbers."""

import numpy as np
from ccml.ir.types import DType
from ccml.passes.integerize import integerize_with_report
from ccml.passes.pipeline import before
from ccml.passes.signed_halfwords import signed_halfwords

from tests.integerize.building import Qdq, operators
from tests.passes.rewriting import assert_rewrites, assert_same_meaning

TEXT = """
graph g(%x: f32[3,4]) -> (%y)
  %q : {0}[3,4] quant(scale=0.0001, zero_point={1}) = quantize(%x) {{scale=[0.0001], zero_point=[{1}], axis=0, to={0}}}
  %y : f32[3,4] = dequantize(%q) {{scale=[0.0001], zero_point=[{1}], axis=0}}
"""


def test_the_zero_point_moves_with_the_tensor() -> None:
    assert_rewrites(signed_halfwords, TEXT.format("u16", 40000), TEXT.format("i16", 7232))


def test_what_others_read_stays_unsigned() -> None:
    assert_rewrites(signed_halfwords, TEXT.format("u16", 40000).replace("(%y)", "(%y, %q)"))


SCALAR = """
graph g(%x: f32[3,4]) -> (%y)
  const %q : {0}[] = dense<{1}>
  %c : f32[] = dequantize(%q) {{scale=[0.5], zero_point=[{2}], axis=0}}
  %y : f32[3,4] = mul(%x, %c)
"""


def test_constants_without_dimensions_move_as_well() -> None:
    assert_rewrites(signed_halfwords, SCALAR.format("u16", 40000, 32770), SCALAR.format("i16", 7232, 2))


def test_a_convolution_of_unsigned_halfwords_is_integer() -> None:
    q = Qdq()
    stored = q.op("quantize", q.input((1, 4, 6, 6), 0.05, 3, DType.I8), scale=(0.0002,), zero_point=(30000,), axis=0,
                  to=DType.U16)  # fmt: skip
    weights = q.weights(np.random.default_rng(0).integers(-127, 128, (3, 4, 3, 3)).astype(np.int8), [0.003] * 3)
    result = q.conv(q.dequantize(stored, (0.0002,), (30000,)), weights, pad=(1,) * 4)
    graph = q.graph(q.quantize(result, 0.05, 3))
    assert_same_meaning(graph, signed_halfwords(graph))
    integers, kept = integerize_with_report(before("integerize", graph))
    assert not kept
    assert "conv" in operators(integers)
    assert all(value.dtype is not DType.U16 for value in integers.values())
