"""Camera pixels to images: against definitions in float64, ONNX Runtime, and pictures whose result is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.features import FORMATS, ImageFeatures, image_features

from tests.features.test_audio import loaded


def picture(image: ImageFeatures) -> np.ndarray:
    """Any pixels."""
    (pixels,) = image_features(image).inputs
    most = np.iinfo(pixels.dtype).max
    return np.random.default_rng(5).integers(0, most, pixels.shape, endpoint=True).astype(pixels.dtype)


def computed(image: ImageFeatures, pixels: np.ndarray) -> np.ndarray:
    return loaded(image_features(image).model()).run({"pixels": pixels})["features"]


def decoded(source: str, pixels: np.ndarray) -> np.ndarray:
    """Red, green and blue in float64; the colour that two pixels share lies between them."""
    x = pixels.astype(np.float64)
    if source == "gray":
        return np.repeat(x[..., None], 3, -1)
    if source in ("rgb888", "bgr888"):
        return x if source == "rgb888" else x[..., ::-1]
    if source == "rgb565":
        fields = [(pixels >> 11, 5), (pixels >> 5 & 63, 6), (pixels & 31, 5)]
        return np.stack([np.floor(f * (2.0 ** (8 - b) + 2.0 ** (8 - 2 * b))) for f, b in fields], -1)
    y = x[..., ::2].reshape(len(x), -1) - 16
    chroma = resized(x[..., 1::2], y.shape[1], len(y)) - 128
    u, v = chroma[..., 0], chroma[..., 1]
    full = 255 / 219
    return np.clip(
        np.stack([full * y + 1.596 * v, full * y - 0.391 * u - 0.813 * v, full * y + 2.018 * u], -1), 0, 255
    )


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("colours", ["rgb", "bgr", "gray"])
def test_colours(source: str, colours: str) -> None:
    """At the camera's own size; a step of rounding, two where colours were rounded before."""
    image = ImageFeatures((8, 6), source=source, colours=colours)
    pixels = picture(image)
    rgb = decoded(source, pixels)
    if source == "yuyv" and colours == "gray":
        wanted = pixels[..., ::2].reshape(6, 8, 1)
    elif colours == "gray":
        wanted = (rgb @ [0.299, 0.587, 0.114])[..., None]
    else:
        wanted = rgb if colours == "rgb" else rgb[..., ::-1]
    np.testing.assert_allclose(computed(image, pixels)[0], wanted, rtol=0, atol=2.1 if source == "yuyv" else 1.01)


def resized(x: np.ndarray, width: int, height: int) -> np.ndarray:
    """By the centers of pixels, along one dimension after the other."""
    for axis, target in ((0, height), (1, width)):
        extent = x.shape[axis]
        place = np.clip((np.arange(target) + 0.5) * extent / target - 0.5, 0, extent - 1)
        low = np.floor(place).astype(int)
        factor = (place - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        x = np.take(x, low, axis) * (1 - factor) + np.take(x, np.minimum(low + 1, extent - 1), axis) * factor
    return x


@pytest.mark.parametrize(
    ("size", "resize", "crop", "box"),
    [
        ((32, 24), (10, 10), "center", (4, 0, 24, 24)),
        ((32, 24), (10, 10), "none", (0, 0, 32, 24)),
        ((24, 33), (48, 20), "center", (0, 11, 24, 10)),
        ((20, 20), (5, 5), "center", (0, 0, 20, 20)),
        ((7, 9), (7, 4), "none", (0, 0, 7, 9)),
    ],
)
def test_crop_and_size(size: Any, resize: Any, crop: str, box: tuple[int, int, int, int]) -> None:
    image = ImageFeatures(size, resize, crop=crop)
    left, top, width, height = box
    assert image.part == box
    pixels = picture(image)
    wanted = resized(pixels[top : top + height, left : left + width].astype(np.float64), *resize)
    np.testing.assert_allclose(computed(image, pixels)[0], wanted, rtol=0, atol=0.7)


@pytest.mark.parametrize("source", FORMATS)
def test_onnx_runtime_computes_the_same_bits(source: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    image = ImageFeatures((40, 30), (12, 12), source=source, layout="nchw", mean=(100.0, 110.0, 120.0), scale=(64.0,))
    model, pixels = image_features(image).model(), picture(image)
    (wanted,) = ort.InferenceSession(model.SerializeToString()).run(None, {"pixels": pixels})
    result = loaded(model).run({"pixels": pixels})["features"]
    assert result.shape == (1, 3, 12, 12)
    np.testing.assert_array_equal(result, wanted)


def test_bytes() -> None:
    image = ImageFeatures((12, 12), (6, 6), as_bytes=True)
    pixels = picture(image)
    result = computed(image, pixels)
    assert result.dtype == np.uint8
    means = pixels.reshape(6, 2, 6, 2, 3).mean(axis=(1, 3))
    np.testing.assert_array_equal(result[0], np.floor(means + 0.5))


@pytest.mark.parametrize(
    ("option", "options"),
    [
        ("--size", {"size": (0, 5)}),
        ("--size", {"size": (31, 20), "source": "yuyv"}),
        ("--resize", {"size": (8, 8), "resize": (9000, 2)}),
        ("--mean", {"size": (8, 8), "mean": (1.0, 2.0)}),
        ("--scale", {"size": (8, 8), "scale": (0.0,)}),
        ("--bytes", {"size": (8, 8), "as_bytes": True, "mean": (1.0,)}),
    ],
)
def test_options_that_do_not_go_together(option: str, options: dict[str, Any]) -> None:
    with pytest.raises(CcmlError) as caught:
        ImageFeatures(**options)
    assert caught.value.loc == option
    assert all(len(line) <= 80 for line in str(caught.value).splitlines())
