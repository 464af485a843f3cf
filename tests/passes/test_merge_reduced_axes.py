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


def test_work_before_a_reduction_joins_the_dimensions() -> None:
    before = """
    graph g(%x: f32[2,3,4,5], %m: f32[3,1,1], %k: f32[1]) -> (%y)
      %d : f32[2,3,4,5] = sub(%x, %m)
      %s : f32[2,3,4,5] = mul(%d, %d)
      %p : f32[2,3,4,5] = mul(%s, %k)
      %y : f32[2,3] = reduce(%p) {kind="sum", axes=[2,3], keepdims=false}
    """
    after = """
    graph g(%x: f32[2,3,4,5], %m: f32[3,1,1], %k: f32[1]) -> (%y)
      %a : f32[2,3,20] = reshape(%x) {shape=[2,3,20]}
      %b : f32[3,1] = reshape(%m) {shape=[3,1]}
      %d : f32[2,3,20] = sub(%a, %b)
      %s : f32[2,3,20] = mul(%d, %d)
      %c : f32[] = reshape(%k) {shape=[]}
      %p : f32[2,3,20] = mul(%s, %c)
      %y : f32[2,3] = reduce(%p) {kind="sum", axes=[2], keepdims=false}
    """
    assert_rewrites(merge_reduced_axes, before, after, tolerance=1e-6)


@pytest.mark.parametrize(
    "work",
    [
        "%m : f32[2,3,4,5] = softmax(%x) {axis=3}\n      %p : f32[2,3,4,5] = relu(%m)",
        "%p : f32[2,3,4,5] = add(%x, %r)",
    ],
)
def test_work_behind_an_anchor_or_with_part_of_the_dimensions_stays(work: str) -> None:
    before = f"""
    graph g(%x: f32[2,3,4,5], %r: f32[5]) -> (%y)
      {work}
      %y : f32[2,3] = reduce(%p) {{kind="sum", axes=[2,3], keepdims=false}}
    """
    after = f"""
    graph g(%x: f32[2,3,4,5], %r: f32[5]) -> (%y)
      {work}
      %f : f32[2,3,20] = reshape(%p) {{shape=[2,3,20]}}
      %y : f32[2,3] = reduce(%f) {{kind="sum", axes=[2], keepdims=false}}
    """
    assert_rewrites(merge_reduced_axes, before, after, tolerance=1e-6)
