"""Images as a model's input: scaled to its size, its channels, its numbers. Needs Pillow (``ccml[image]``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_LAYOUTS = ("nchw", "nhwc")


@dataclass(frozen=True)
class ImageOptions:
    """What becomes of images: the model is fed ``(pixel - mean) / scale`` with pixels 0..255.

    ``mean`` and ``scale`` are one number, or one for each channel.

    ``layout`` is nchw, nhwc or None: where the input has 1, 3 or 4 channels. ``crop`` cuts the middle out of an image
    of other proportions, which is squeezed otherwise. ``bgr`` turns the order of the channels around.
    """

    mean: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    layout: str | None = None
    crop: bool = False
    bgr: bool = False

    def __post_init__(self) -> None:
        if self.layout not in (None, *_LAYOUTS):
            raise _bad_option(f"layout '{self.layout}' is neither {' nor '.join(_LAYOUTS)}")
        if 0.0 in self.scale:
            raise _bad_option("scale is 0; pixels are divided by it")


def read_image(file: Path, value: Value, options: ImageOptions) -> np.ndarray:
    """``[1, *shape]`` for an input of type ``value``. Raises ``BAD_INPUT`` that names input and file."""
    layout, height, width, channels = _geometry(value, options)
    pixels = _pixels(file, value, (width, height), channels, options.crop)
    if options.bgr:
        pixels = pixels[..., ::-1]
    mean, scale = (_per_channel(numbers, channels) for numbers in (options.mean, options.scale))
    scaled = (pixels - mean) / scale
    if layout == "nchw":
        scaled = np.moveaxis(scaled, -1, 0)
    if not value.dtype.is_float:
        limits = np.iinfo(value.dtype.numpy)
        scaled = np.clip(np.rint(scaled), limits.min, limits.max)
    return scaled.astype(value.dtype.numpy).reshape(1, *value.shape)


def _geometry(value: Value, options: ImageOptions) -> tuple[str, int, int, int]:
    """Layout, height, width and channels of an input [1, ...], or without the 1."""
    shape = value.shape[1:] if len(value.shape) == 4 and value.shape[0] == 1 else value.shape
    fitting = {}
    if len(shape) == 3:
        fitting = {name: place for name, place in (("nchw", 0), ("nhwc", 2)) if shape[place] in _MODES}
    if options.layout is not None:
        fitting = {name: place for name, place in fitting.items() if name == options.layout}
    if len(fitting) != 1:
        hint = "say whether it is nchw or nhwc" if fitting else "give the samples as .npz"
        raise _bad(value, f"{value.type} is no image of 1, 3 or 4 channels in one layout", hint)
    ((layout, place),) = fitting.items()
    height, width = (extent for axis, extent in enumerate(shape) if axis != place)
    return layout, height, width, shape[place]


def _pixels(file: Path, value: Value, size: tuple[int, int], channels: int, crop: bool) -> np.ndarray:
    """``[height, width, channels]`` in float64."""
    image_module, ops = _pillow()
    try:
        with image_module.open(file) as image:
            converted = image.convert(_MODES[channels])
    except (OSError, ValueError) as problem:
        raise _bad(value, f"{file.name}: cannot be read as an image: {problem}") from problem
    resample = image_module.Resampling.BILINEAR
    scaled = ops.fit(converted, size, resample) if crop else converted.resize(size, resample)
    return np.asarray(scaled, np.float64).reshape(size[1], size[0], channels)


def _pillow() -> tuple[Any, Any]:
    try:
        from PIL import Image, ImageOps
    except ImportError as problem:
        reason = "reading images needs Pillow"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="pip install ccml[image], or give an .npz") from problem
    return Image, ImageOps


def _per_channel(numbers: tuple[float, ...], channels: int) -> np.ndarray:
    if len(numbers) not in (1, channels):
        raise _bad_option(f"{len(numbers)} numbers for mean or scale of {channels} channels")
    return np.asarray(numbers)


def _bad(value: Value, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_INPUT, reason, loc=value.name, hint=hint)


def _bad_option(reason: str) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc="images")
