from __future__ import annotations

import pytest
from ccml.passes.sink_reshapes import sink_reshapes

from tests.passes.rewriting import assert_rewrites

CASES = {
    "past operators on one operand, and numbers": (
        """
        graph g(%x: f32[2,6]) -> (%y)
          const %k : f32[1] = dense<2.0>
          %r : f32[2,2,3] = reshape(%x) {shape=[2,2,3]}
          %m : f32[2,2,3] = mul(%k, %r)
          %y : f32[2,2,3] = exp(%m)
        """,
        """
        graph g(%x: f32[2,6]) -> (%y)
          const %k : f32[] = dense<2.0>
          %m : f32[2,6] = mul(%k, %x)
          %e : f32[2,6] = exp(%m)
          %y : f32[2,2,3] = reshape(%e) {shape=[2,2,3]}
        """,
    ),
    "past constants along a dimension that stays one": (
        """
        graph g(%x: f32[1,1,1,3]) -> (%y)
          const %k : f32[3,1,1] = dense<1.0, 2.0, 3.0>
          %r : f32[1,3,1,1] = reshape(%x) {shape=[1,3,1,1]}
          %y : f32[1,3,1,1] = mul(%r, %k)
        """,
        """
        graph g(%x: f32[1,1,1,3]) -> (%y)
          const %k : f32[1,1,1,3] = dense<1.0, 2.0, 3.0>
          %r : f32[1,1,1,3] = mul(%x, %k)
          %y : f32[1,3,1,1] = reshape(%r) {shape=[1,3,1,1]}
        """,
    ),
    "past operands reshaped alike": (
        """
        graph g(%x: f32[6], %z: f32[6]) -> (%y)
          %r : f32[2,3] = reshape(%x) {shape=[2,3]}
          %s : f32[2,3] = reshape(%z) {shape=[2,3]}
          %y : f32[2,3] = add(%r, %s)
        """,
        """
        graph g(%x: f32[6], %z: f32[6]) -> (%y)
          %a : f32[6] = add(%x, %z)
          %y : f32[2,3] = reshape(%a) {shape=[2,3]}
        """,
    ),
    "not past an operand of another shape": (
        """
        graph g(%x: f32[6], %z: f32[2,3]) -> (%y)
          %r : f32[2,3] = reshape(%x) {shape=[2,3]}
          %y : f32[2,3] = add(%r, %z)
        """,
        None,
    ),
    "not past operands reshaped differently": (
        """
        graph g(%x: f32[6], %z: f32[3,2]) -> (%y)
          %r : f32[2,3] = reshape(%x) {shape=[2,3]}
          %s : f32[2,3] = reshape(%z) {shape=[2,3]}
          %y : f32[2,3] = add(%r, %s)
        """,
        None,
    ),
    "not where the reshaped value is repeated": (
        """
        graph g(%x: f32[3]) -> (%y)
          const %k : f32[2,1] = dense<1.0, 2.0>
          %r : f32[1,3] = reshape(%x) {shape=[1,3]}
          %y : f32[2,3] = mul(%r, %k)
        """,
        None,
    ),
    "not past a constant along a split dimension": (
        """
        graph g(%x: f32[6]) -> (%y)
          const %k : f32[3] = dense<1.0, 2.0, 3.0>
          %r : f32[2,3] = reshape(%x) {shape=[2,3]}
          %y : f32[2,3] = mul(%r, %k)
        """,
        None,
    ),
    "past quantization of the whole tensor": (
        """
        graph g(%x: f32[6]) -> (%y)
          %r : f32[2,3] = reshape(%x) {shape=[2,3]}
          %y : i8[2,3] quant(scale=0.5, zero_point=1) = quantize(%r) {scale=[0.5], zero_point=[1], axis=0, to=i8}
        """,
        """
        graph g(%x: f32[6]) -> (%y)
          %r : i8[6] quant(scale=0.5, zero_point=1) = quantize(%x) {scale=[0.5], zero_point=[1], axis=0, to=i8}
          %y : i8[2,3] quant(scale=0.5, zero_point=1) = reshape(%r) {shape=[2,3]}
        """,
    ),
    "not past quantization along an axis": (
        """
        graph g(%x: f32[2,2]) -> (%y)
          %r : f32[2,1,2] = reshape(%x) {shape=[2,1,2]}
          %y : i8[2,1,2] quant(scale=[0.5,0.25], zero_point=[1,2], axis=2) =
            quantize(%r) {scale=[0.5,0.25], zero_point=[1,2], axis=2, to=i8}
        """,
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_reshapes_sink(name: str) -> None:
    before, after = CASES[name]
    assert_rewrites(sink_reshapes, before, after)
