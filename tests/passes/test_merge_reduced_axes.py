"""Neighbouring last axes that are reduced become one."""

from __future__ import annotations

import pytest
from ccml.passes.merge_reduced_axes import merge_reduced_axes

from tests.passes.rewriting import assert_rewrites


def test_last_axes_become_one() -> None:
    before = """
    graph g(%x: f32[2,3,4,5]) -> (%y)
      %y : f32[2,3,1,1] = reduce(%x) {kind="mean", axes=[2,3], keepdims=true}
    """
    after = """
    graph g(%x: f32[2,3,4,5]) -> (%y)
      %flat : f32[2,3,20] = reshape(%x) {shape=[2,3,20]}
      %total : f32[2,3] = reduce(%flat) {kind="mean", axes=[2], keepdims=false}
      %y : f32[2,3,1,1] = reshape(%total) {shape=[2,3,1,1]}
    """
    assert_rewrites(merge_reduced_axes, before, after, tolerance=1e-6)


def test_axes_apart_stay() -> None:
    before = """
    graph g(%x: i8[2,3,4,5]) -> (%y)
      %y : i32[3] = reduce(%x) {kind="sum", axes=[0,2,3], keepdims=false, zero_point=7}
    """
    after = """
    graph g(%x: i8[2,3,4,5]) -> (%y)
      %flat : i8[2,3,20] = reshape(%x) {shape=[2,3,20]}
      %y : i32[3] = reduce(%flat) {kind="sum", axes=[0,2], keepdims=false, zero_point=7}
    """
    assert_rewrites(merge_reduced_axes, before, after)


@pytest.mark.parametrize(("shape", "axes"), [("2,3,4,5", "1,2"), ("2,3,4,5", "3"), ("2,3,1,5", "2,3"), ("4", "0")])
def test_nothing_to_merge(shape: str, axes: str) -> None:
    kept = ",".join("1" if str(axis) in axes.split(",") else extent for axis, extent in enumerate(shape.split(",")))
    text = f"""
    graph g(%x: f32[{shape}]) -> (%y)
      %y : f32[{kept}] = reduce(%x) {{kind="max", axes=[{axes}], keepdims=true}}
    """
    assert_rewrites(merge_reduced_axes, text)
