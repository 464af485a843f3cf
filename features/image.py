"""Camera pixels to what a model takes: crop, colours, size, mean and scale, and the order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import CcmlError, ErrorCode
from .float_graph import FEATURES
from .graph import FeatureGraph, FeatureWriter, Tensor

PIXELS = "pixels"
FORMATS = ("rgb888", "bgr888", "rgb565", "yuyv", "gray")
CROPS = ("center", "none")
LAYOUTS = ("nhwc", "nchw")
COLOURS = {"rgb": 3, "bgr": 3, "gray": 1}
_BITS = 11
"""Of the factors between two pixels."""
_LUMA = (4899, 9617, 1868)
"""0.299, 0.587 and 0.114 times 2^14 (ITU-R BT.601)."""
_FROM_YUV = ((19071, 0, 26149), (19071, -6406, -13320), (19071, 33063, 0))
"""Red, green and blue of Y - 16, U - 128 and V - 128, times 2^14: BT.601 with 219 steps of Y."""
_COLOUR_BITS = 14


@dataclass(frozen=True)
class ImageFeatures:
    """``size`` and ``resize`` are (width, height), of the camera and of the result. ``crop`` ``center`` takes the
    largest part in the middle that has the result's proportions; with ``none`` the whole is squeezed. ``mean`` and
    ``scale`` are in steps of 0..255, one for all colours or one for each.

    Raises ``BAD_OPTION`` where these do not go together.
    """

    size: tuple[int, int]
    resize: tuple[int, int] | None = None
    source: str = "rgb888"
    colours: str = "rgb"
    crop: str = "center"
    mean: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    layout: str = "nhwc"
    as_bytes: bool = False

    def __post_init__(self) -> None:
        for option, (width, height) in (("--size", self.size), ("--resize", self.target)):
            if not (1 <= width <= 8192 and 1 <= height <= 8192):
                raise _refused(option, f"{width}x{height} is not from 1x1 to 8192x8192")
        if self.source == "yuyv" and self.size[0] % 2:
            raise _refused("--size", f"yuyv has an even width, not {self.size[0]}")
        for option, values in (("--mean", self.mean), ("--scale", self.scale)):
            if len(values) not in (1, self.channels):
                reason = f"{len(values)} numbers for {self.channels} colours"
                raise _refused(option, reason, "give one, or one for each")
        if min(self.scale) <= 0:
            raise _refused("--scale", f"{min(self.scale):g} is not positive")
        if self.as_bytes and (any(self.mean) or set(self.scale) != {1.0}):
            raise _refused("--bytes", "bytes have neither --mean nor --scale")

    @property
    def target(self) -> tuple[int, int]:
        return self.size if self.resize is None else self.resize

    @property
    def channels(self) -> int:
        return COLOURS[self.colours]

    @property
    def part(self) -> tuple[int, int, int, int]:
        """Left, top, width and height of what is taken of the camera's picture; even of yuyv."""
        (width, height), (to_width, to_height) = self.size, self.target
        if self.crop == "none":
            return 0, 0, width, height
        if width * to_height > height * to_width:
            kept, even = max(1, round(height * to_width / to_height)), self.source == "yuyv"
            kept = min(kept + (kept % 2 if even else 0), width)
            left = (width - kept) // 2
            return left - (left % 2 if even else 0), 0, kept, height
        kept = max(1, min(height, round(width * to_height / to_width)))
        return 0, (height - kept) // 2, width, kept


def image_features(image: ImageFeatures) -> FeatureGraph:
    """``pixels`` to ``features``: float32, or uint8 where ``as_bytes``. All but mean and scale is done in integers.

    ``pixels`` are uint8 [height, width, 3], of ``gray`` [height, width], of ``yuyv`` [height, width / 2, 4] (Y, U, Y,
    V); of ``rgb565`` uint16 [height, width]. Sizes change as by the centers of pixels, with two neighbours along each
    dimension, rounded in between to 1/8.
    """
    writer = FeatureWriter()
    width, height = image.size
    shape = {"gray": (height, width), "rgb565": (height, width), "yuyv": (height, width // 2, 4)}
    dtype = np.uint16 if image.source == "rgb565" else np.uint8
    pixels = Tensor(PIXELS, dtype, shape.get(image.source, (height, width, 3)), image.source)
    graph = FeatureGraph(writer, [pixels], [])
    planes = [_resized(writer, plane, image) for plane in _colours(writer, _cropped(writer, image), image)]
    writer.stage = "pixels"
    value = _joined(writer, planes, image)
    if image.as_bytes:
        value = writer.cast(value, np.uint8)
    else:
        value = writer.cast(value, np.float32)
        value = _normalized(writer, value, image)
    writer.renamed(value, FEATURES)
    extents = image.target[::-1]
    result = (1, image.channels, *extents) if image.layout == "nchw" else (1, *extents, image.channels)
    graph.outputs.append(Tensor(FEATURES, np.uint8 if image.as_bytes else np.float32, result))
    return graph


def _number(writer: FeatureWriter, value: int) -> str:
    return writer.constant(np.array(value, np.int32))


def _cropped(writer: FeatureWriter, image: ImageFeatures) -> str:
    writer.stage = "crop"
    left, top, width, height = image.part
    step = 2 if image.source == "yuyv" else 1
    value = PIXELS
    if height != image.size[1]:
        value = writer.slice(value, 0, top, top + height)
    if width != image.size[0]:
        value = writer.slice(value, 1, left // step, (left + width) // step)
    return value


# ---------------------------------------------------------------- colours


def _colours(writer: FeatureWriter, value: str, image: ImageFeatures) -> list[str]:
    """The planes of the result, int32 [height, width] from 0 to 255."""
    writer.stage = "colours"
    if image.source == "gray":
        return [writer.cast(value, np.int32)] * image.channels
    if image.source == "yuyv":
        return _of_yuyv(writer, value, image)
    red, green, blue = _of_565(writer, value) if image.source == "rgb565" else _of_888(writer, value, image)
    if image.colours == "gray":
        return [_weighted(writer, (red, green, blue), _LUMA)]
    return [red, green, blue] if image.colours == "rgb" else [blue, green, red]


def _of_888(writer: FeatureWriter, value: str, image: ImageFeatures) -> tuple[str, str, str]:
    first, second, third = (_plane(writer, value, channel) for channel in range(3))
    return (first, second, third) if image.source == "rgb888" else (third, second, first)


def _plane(writer: FeatureWriter, value: str, channel: int) -> str:
    return writer.cast(
        writer.emit("Squeeze", writer.slice(value, 2, channel, channel + 1), writer.integers(2)), np.int32
    )


def _of_565(writer: FeatureWriter, value: str) -> tuple[str, str, str]:
    """5 or 6 bits, whose upper ones are repeated below them."""
    wide = writer.cast(value, np.uint32)

    def shifted(x: str, count: int, direction: str) -> str:
        return writer.emit("BitShift", x, writer.constant(np.array(count, np.uint32)), direction=direction)

    def field(first: int, bits: int) -> str:
        bound = writer.constant(np.array(1 << bits, np.uint32))
        low = writer.emit("Mod", shifted(wide, first, "RIGHT") if first else wide, bound)
        both = writer.emit("Add", shifted(low, 8 - bits, "LEFT"), shifted(low, 2 * bits - 8, "RIGHT"))
        return writer.cast(both, np.int32)

    return field(11, 5), field(5, 6), field(0, 5)


def _of_yuyv(writer: FeatureWriter, value: str, image: ImageFeatures) -> list[str]:
    """Two pixels share their colour. Gray is Y as it is."""
    _, _, width, height = image.part

    def pair(first: int, second: int) -> str:
        parts = [writer.slice(value, 2, place, place + 1) for place in (first, second)]
        return writer.cast(writer.reshape(writer.emit("Concat", *parts, axis=2), height, width), np.int32)

    luma = pair(0, 2)
    if image.colours == "gray":
        return [luma]
    centered = [writer.emit("Sub", luma, _number(writer, 16))]
    centered += [writer.emit("Sub", pair(place, place), _number(writer, 128)) for place in (1, 3)]
    found = [_weighted(writer, centered, factors) for factors in _FROM_YUV]
    return found if image.colours == "rgb" else found[::-1]


def _weighted(writer: FeatureWriter, parts: Sequence[str], factors: Sequence[int]) -> str:
    """The sum of products, over 2^14, rounded and within a byte."""
    terms = [writer.emit("Mul", part, _number(writer, factor)) for part, factor in zip(parts, factors) if factor]
    total = terms[0]
    for term in terms[1:]:
        total = writer.emit("Add", total, term)
    total = writer.emit("Max", writer.emit("Add", total, _number(writer, 1 << _COLOUR_BITS - 1)), _number(writer, 0))
    return writer.emit("Min", _shifted(writer, total, _COLOUR_BITS), _number(writer, 255))


def _shifted(writer: FeatureWriter, value: str, count: int) -> str:
    """Positive int32 over 2^count."""
    wide = writer.cast(value, np.uint32)
    return writer.cast(
        writer.emit("BitShift", wide, writer.constant(np.array(count, np.uint32)), direction="RIGHT"), np.int32
    )


# ---------------------------------------------------------------- size


def _resized(writer: FeatureWriter, plane: str, image: ImageFeatures) -> str:
    """Rows first, whose sums keep 3 bits, then columns."""
    writer.stage = "resize"
    _, _, width, height = image.part
    to_width, to_height = image.target
    kept = 0
    if height != to_height:
        plane, kept = _along(writer, plane, 0, height, to_height, _BITS - 3), 3
    if width != to_width:
        return _along(writer, plane, 1, width, to_width, _BITS + kept)
    return _shifted(writer, writer.emit("Add", plane, _number(writer, 1 << kept - 1)), kept) if kept else plane


def _along(writer: FeatureWriter, plane: str, axis: int, extent: int, target: int, shift: int) -> str:
    """Between two neighbours along an axis, over 2^shift, rounded."""
    place = np.clip((np.arange(target) + 0.5) * extent / target - 0.5, 0, extent - 1)
    first = np.floor(place).astype(np.int32)
    factor = np.rint((place - first) * (1 << _BITS)).astype(np.int32)
    shape = (-1, 1) if axis == 0 else (1, -1)
    lower = writer.emit("Gather", plane, writer.constant(first), axis=axis)
    upper = writer.emit("Gather", plane, writer.constant(np.minimum(first + 1, extent - 1)), axis=axis)
    terms = [
        writer.emit("Mul", value, writer.constant(weight.reshape(shape)))
        for value, weight in ((lower, (1 << _BITS) - factor), (upper, factor))
    ]
    total = writer.emit("Add", writer.emit("Add", *terms), _number(writer, 1 << shift - 1))
    return _shifted(writer, total, shift)


# ---------------------------------------------------------------- result


def _joined(writer: FeatureWriter, planes: Sequence[str], image: ImageFeatures) -> str:
    width, height = image.target
    first = image.layout == "nchw"
    shape, axis = ((1, 1, height, width), 1) if first else ((1, height, width, 1), 3)
    parts = [writer.reshape(plane, *shape) for plane in planes]
    return parts[0] if len(parts) == 1 else writer.emit("Concat", *parts, axis=axis)


def _normalized(writer: FeatureWriter, value: str, image: ImageFeatures) -> str:
    """(x - mean) / scale."""
    shape = (1, -1, 1, 1) if image.layout == "nchw" else (1, 1, 1, -1)
    mean, scale = np.array(image.mean), np.array(image.scale)
    if mean.any():
        value = writer.emit("Sub", value, writer.constant(mean.astype(np.float32).reshape(shape)))
    if (scale != 1).any():
        value = writer.emit("Div", value, writer.constant(scale.astype(np.float32).reshape(shape)))
    return value


def _refused(option: str, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=option, hint=hint)
