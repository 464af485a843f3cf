"""Gathers that repeat each element of the last dimension become views."""

from __future__ import annotations

import pytest
from ccml.passes.repeat_elements import repeat_elements

from tests.passes.rewriting import assert_rewrites


@pytest.mark.parametrize("dtype", ["f32", "i8"])
def test_each_element_twice(dtype: str) -> None:
    before = f"""
    graph g(%x: {dtype}[2,3]) -> (%y)
      const %i : i64[6] = dense<0, 0, 1, 1, 2, 2>
      %y : {dtype}[2,6] = gather(%x, %i) {{axis=1}}
    """
    after = f"""
    graph g(%x: {dtype}[2,3]) -> (%y)
      %a : {dtype}[2,3,1] = reshape(%x) {{shape=[2,3,1]}}
      %b : {dtype}[2,3,2] = expand(%a) {{shape=[2,3,2]}}
      %y : {dtype}[2,6] = reshape(%b) {{shape=[2,6]}}
    """
    assert_rewrites(repeat_elements, before, after)


@pytest.mark.parametrize(
    ("axis", "indices"),
    [(0, "0, 0, 1, 1"), (1, "0, 1, 2"), (1, "0, 0, 1, 1"), (1, "0, 0, 1, 2, 2, 2"), (1, "0, 1, 2, 0, 1, 2")],
)
def test_others_stay(axis: int, indices: str) -> None:
    count = indices.count(",") + 1
    shape = f"{count},3" if axis == 0 else f"2,{count}"
    text = f"""
    graph g(%x: f32[2,3]) -> (%y)
      const %i : i64[{count}] = dense<{indices}>
      %y : f32[{shape}] = gather(%x, %i) {{axis={axis}}}
    """
    assert_rewrites(repeat_elements, text)
