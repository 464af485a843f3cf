"""GridSample, MaxRoiPool, RoiAlign and DeformConv, compiled, against onnx.reference and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend_onnx.compiled import check_compiled, check_node, onnxruntime
from tests.frontend_onnx.graphs import one_node


def floats(*shape: int, seed: int = 0, dtype: type[Any] = np.float32) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def grid(*shape: int) -> np.ndarray:
    """Places inside of the tensor and somewhat outside."""
    return np.random.default_rng(list(shape)).uniform(-1.6, 1.6, shape).astype(np.float32)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample(mode: str, border: str, align: int) -> None:
    """ONNX Runtime has cubic interpolation in two dimensions only."""
    attrs: dict[str, Any] = {"mode": mode, "padding_mode": border, "align_corners": align}
    check_node("GridSample", [floats(2, 3, 5, 4), grid(2, 3, 4, 2)], 20, oracle=onnxruntime, **attrs, atol=2e-5)
    if mode != "cubic":
        check_compiled(*one_node("GridSample", [floats(1, 2, 3, 4, 5), grid(1, 2, 3, 2, 3)], 20, **attrs), onnxruntime)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample_takes_nan_for_minus_one(mode: str, border: str, align: int) -> None:
    """As PyTorch's text says; a Deformable DETR has such places on levels of one row."""
    places = grid(1, 4, 5, 2)
    places[0, 1, 2], places[0, 2, 3, 1], places[0, 3, 0, 0] = np.nan, np.nan, np.nan
    attrs: dict[str, Any] = {"mode": mode, "padding_mode": border, "align_corners": align}
    check_compiled(*one_node("GridSample", [floats(1, 3, 5, 4), places], 20, **attrs), onnxruntime, atol=2e-5)


def test_grid_sample_of_operator_set_16() -> None:
    for mode in ("bilinear", "bicubic"):
        arrays = [floats(1, 2, 4, 4), grid(1, 3, 3, 2)]
        check_compiled(*one_node("GridSample", arrays, 16, mode=mode), onnxruntime, atol=2e-5)


def test_grid_sample_of_other_types() -> None:
    check_compiled(*one_node("GridSample", [np.arange(16).reshape(1, 1, 4, 4), grid(1, 3, 3, 2)], 20, mode="nearest"))
    wide = [floats(1, 2, 4, 4, dtype=np.float64), grid(1, 3, 3, 2).astype(np.float64)]
    check_compiled(*one_node("GridSample", wide, 20), atol=1e-5)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(mode: str, ratio: int) -> None:
    x, batch = floats(2, 3, 8, 9), np.array([0, 1, 1])
    rois = np.array([[1, 2, 15, 11], [0, 0, 4, 4], [-3, 5, 30, 9]], np.float32)
    attrs: dict[str, Any] = {"output_height": 3, "output_width": 2, "sampling_ratio": ratio, "spatial_scale": 0.5}
    for how in ("half_pixel", "output_half_pixel"):
        arrays = [x, rois, batch]
        check_node("RoiAlign", arrays, 22, mode=mode, coordinate_transformation_mode=how, **attrs)
    check_compiled(*one_node("RoiAlign", [x, rois, batch], 10, mode=mode, **attrs), onnxruntime)


@pytest.mark.parametrize("pooled", [(1, 1), (2, 3), (5, 4)])
def test_max_roi_pool(pooled: tuple[int, int]) -> None:
    """Regions within the tensor, of one element, partly and wholly outside, with ends in the wrong order, and at
    halves, which are rounded away from 0."""
    rois = [[0, 0, 0, 8, 6], [1, 4, 4, 4, 4], [1, -6, 2, 5, 40], [0, 50, 50, 60, 60], [1, 9, 9, 3, 3], [0, 1, 3, 5, 7]]
    arrays = [floats(2, 3, 8, 9), np.array(rois, np.float32)]
    check_compiled(*one_node("MaxRoiPool", arrays, 21, pooled_shape=list(pooled), spatial_scale=0.5), onnxruntime)


@pytest.mark.parametrize(
    ("channels", "outputs", "group", "parts"), [(3, 4, 1, 1), (4, 6, 2, 1), (4, 2, 1, 2), (4, 4, 2, 4)]
)
@pytest.mark.parametrize("masked", [False, True])
def test_deform_conv(channels: int, outputs: int, group: int, parts: int, masked: bool) -> None:
    x, w = floats(2, channels, 6, 7), floats(outputs, channels // group, 3, 2, seed=1)
    attrs: dict[str, Any] = {"strides": [1, 2], "pads": [1, 0, 1, 1], "dilations": [1, 2]}
    counts = (6, 3)
    offset = floats(2, parts * 6 * 2, *counts, seed=2) * np.float32(1.5)
    bias = floats(outputs, seed=3) if masked else None
    mask = floats(2, parts * 6, *counts, seed=4) if masked else None
    attrs |= {"group": group, "offset_group": parts}
    check_node("DeformConv", [x, w, offset, bias, mask], 19, [1], oracle=onnxruntime, **attrs, rtol=1e-4, atol=1e-4)
    if masked:
        check_compiled(*one_node("DeformConv", [x, w, offset, bias, mask], 19, **attrs), onnxruntime, 1e-4, 1e-4)
