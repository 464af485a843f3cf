"""Nests of sample and roi_align against their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.nest_harness import check_nest, normal, run_nest

FAR = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1e9, -0.5, 0.0, -0.0, 2.5], np.float32)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("border", ["zeros", "edge", "reflect"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_sample(mode: str, border: str, align: bool) -> None:
    """Inside, at and beyond the borders, in one to three dimensions, of few and many channels."""
    for shape, channels in (((5,), 1), ((4, 3), 2), ((1, 6), 17), ((3, 2, 4), 3)):
        x = normal(2, *shape, channels)
        points = np.random.default_rng(1).uniform(-9, 14, (2, 12, len(shape))).astype(np.float32)
        points[0, :4] = np.round(points[0, :4])
        attrs: dict[str, Any] = {"mode": mode, "border": border, "align_corners": align}
        check_nest("sample", x, points, **attrs, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("border", ["zeros", "edge", "reflect"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_no_position_reads_outside(mode: str, border: str) -> None:
    """The interpreter refuses accesses out of range; values of positions that are no numbers are not compared."""
    x = normal(1, 3, 4, 2)
    points = np.stack(np.meshgrid(FAR, FAR), -1).reshape(1, -1, 2)
    try:
        check_nest("sample", x, points, mode=mode, border=border, align_corners=True)
    except AssertionError:
        assert not np.isfinite(points).all()


def test_sample_of_other_types() -> None:
    points = np.random.default_rng(1).uniform(-1, 5, (1, 9, 2))
    attrs: dict[str, Any] = {"border": "edge", "align_corners": False}
    for dtype in (np.int8, np.int64):
        check_nest("sample", normal(1, 4, 4, 3, dtype=dtype), points.astype(np.float32), mode="nearest", **attrs)
    half = normal(1, 4, 4, 3).astype(np.float16)
    check_nest("sample", half, points.astype(np.float32), mode="linear", **attrs, rtol=2e-3, atol=1e-3)
    check_nest("sample", normal(1, 4, 4, 3, dtype=np.float64), points, mode="cubic", **attrs, rtol=1e-12)


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("half", [False, True])
def test_roi_align(kind: str, half: bool) -> None:
    """Regions inside, outside, turned round and empty; of images that are not there."""
    x = normal(2, 7, 9, 5)
    rois = np.array([[1, 2, 8, 6], [-5, -5, 3, 30], [4, 4, 4, 4], [6, 5, 1, 0], [20, 20, 30, 30]], np.float32)
    batch = np.array([0, 1, 1, 7, -3])
    for samples in (0, 2):
        attrs = {"height": 3, "width": 2, "samples": samples, "scale": 0.75, "half_pixel": half, "kind": kind}
        check_nest("roi_align", x, rois, batch, **attrs, rtol=1e-5, atol=1e-5)
    check_nest("roi_align", x.astype(np.float64), rois.astype(np.float64), batch, **attrs)


def test_regions_of_any_size_end() -> None:
    rois = np.array([[0, 0, 1e30, 1e30], [np.nan] * 4, [-np.inf, 0, np.inf, 1]], np.float32)
    attrs = {"height": 1, "width": 1, "samples": 1, "scale": 1.0, "half_pixel": True, "kind": "avg"}
    (result,) = run_nest("roi_align", normal(1, 3, 3, 1), rois, np.zeros(3, np.int64), **attrs)
    assert result.shape == (3, 1, 1, 1)
