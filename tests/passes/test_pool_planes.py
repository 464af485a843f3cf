"""Pools between transposes become pools of images with one channel."""

from __future__ import annotations

import pytest
from ccml.passes.pool_planes import pool_planes

from tests.passes.rewriting import assert_rewrites

BORDERS = "pad=[1,1,1,1], ceil_mode=false, count_include_pad=false"
GEOMETRY = f'stride=[1,1], {BORDERS}, dilation=[1,1], layout="channels_last"'


def between(shape: tuple[int, int, int, int], dtype: str = "f32", kind: str = "max", perm: str = "0,3,1,2") -> str:
    n, c, h, w = shape
    result = ",".join(str((n, h, w, c)[int(axis)]) for axis in perm.split(","))
    return f"""
    graph g(%x: {dtype}[{n},{c},{h},{w}]) -> (%y)
      %t : {dtype}[{n},{h},{w},{c}] = transpose(%x) {{perm=[0,2,3,1]}}
      %p : {dtype}[{n},{h},{w},{c}] = pool(%t) {{kind="{kind}", kernel=[3,3], {GEOMETRY}}}
      %y : {dtype}[{result}] = transpose(%p) {{perm=[{perm}]}}
    """


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_channels_are_images(kind: str) -> None:
    after = f"""
    graph g(%x: f32[2,3,4,5]) -> (%y)
      %a : f32[6,4,5,1] = reshape(%x) {{shape=[6,4,5,1]}}
      %p : f32[6,4,5,1] = pool(%a) {{kind="{kind}", kernel=[3,3], {GEOMETRY}}}
      %y : f32[2,3,4,5] = reshape(%p) {{shape=[2,3,4,5]}}
    """
    assert_rewrites(pool_planes, between((2, 3, 4, 5), kind=kind), after, tolerance=1e-6)


@pytest.mark.parametrize("text", [
    between((1, 16, 3, 5)), between((1, 3, 4, 5), "i8"), between((1, 3, 4, 5), perm="0,3,2,1"),
    """
    graph g(%x: f32[1,3,4,5]) -> (%y, %p)
      %t : f32[1,4,5,3] = transpose(%x) {perm=[0,2,3,1]}
      %p : f32[1,4,5,3] = pool(%t) {kind="max", kernel=[3,3], """ + GEOMETRY + """}
      %y : f32[1,3,4,5] = transpose(%p) {perm=[0,3,1,2]}
    """,
])  # fmt: skip
def test_others_stay(text: str) -> None:
    assert_rewrites(pool_planes, text)
