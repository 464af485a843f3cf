"""Camera pixels to what a model takes: crop, colours, size, mean and scale, and the order of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..record import record
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


@record
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
    dimension. The camera's picture is only read where the result needs it; colours are converted afterwards.
    """
    writer = FeatureWriter()
    width, height = image.size
    shape = {"gray": (height, width), "rgb565": (height, width), "yuyv": (height, width // 2, 4)}
    dtype = np.uint16 if image.source == "rgb565" else np.uint8
    pixels = Tensor(PIXELS, dtype, shape.get(image.source, (height, width, 3)), image.source)
    graph = FeatureGraph(writer, [pixels], [])
    planes = _SOURCES[image.source](_Sampler(writer, image), image)
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


# ---------------------------------------------------------------- crop and size


@record
class _Neighbours:
    """Where along a dimension the two neighbours of each element of the result are, and their factors, over 2^11."""

    first: np.ndarray
    second: np.ndarray
    factor: np.ndarray

    @staticmethod
    def of(start: int, extent: int, target: int) -> _Neighbours:
        place = np.clip((np.arange(target) + 0.5) * extent / target - 0.5, 0, extent - 1)
        first = np.floor(place).astype(np.int32)
        factor = np.rint((place - first) * (1 << _BITS)).astype(np.int32)
        return _Neighbours(start + first, start + np.minimum(first + 1, extent - 1), factor)

    @property
    def sides(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Places and factors; one of them where the places are exact."""
        if not self.factor.any():
            return [(self.first, np.ones_like(self.factor))]
        return [(self.first, (1 << _BITS) - self.factor), (self.second, self.factor)]


def _taken(writer: FeatureWriter, x: str, places: np.ndarray, axis: int) -> str:
    """What is at ``places`` along an axis: a slice where they are regular, which needs no table and lets rows come one
    by one."""
    first, last = int(places[0]), int(places[-1])
    step = int(places[1]) - first if len(places) > 1 else 1
    if step < 1 or np.any(np.diff(places) != step):
        return writer.emit("Gather", x, writer.constant(places), axis=axis)
    ends = (np.array([number], np.int64) for number in (first, last + 1, axis, step))
    return writer.emit("Slice", x, *(writer.constant(end) for end in ends))


class _Sampler:
    """Reads the camera's picture, as a matrix of bytes or words, between neighbours in two rows and two columns."""

    def __init__(self, writer: FeatureWriter, image: ImageFeatures) -> None:
        self.writer, self.image = writer, image
        self.left, top, self.width, height = image.part
        writer.stage = "resize"
        matrix = writer.reshape(PIXELS, image.size[1], -1)
        rows = _Neighbours.of(top, height, image.target[1]).sides
        taken = [_taken(writer, matrix, places, 0) for places, _ in rows]
        self.rows = [(row, factor) for row, (_, factor) in zip(taken, rows)]

    def plane(self, step: int, offset: int, share: int = 1, value: Callable[[str], str] | None = None) -> str:
        """int32 [height, width], rounded: of every ``step``-th column from ``offset`` on, or of what ``value`` makes of
        it. ``share`` neighbours have one element together."""
        writer = self.writer
        writer.stage = "resize"
        columns = _Neighbours.of(self.left // share, self.width // share, self.image.target[0]).sides
        read = value or (lambda tap: writer.cast(tap, np.int32))
        sums = []
        for row, row_factor in self.rows:
            taps = [_taken(writer, row, place * step + offset, 1) for place, _ in columns]
            terms = [self._times(read(tap), factor, columns) for tap, (_, factor) in zip(taps, columns)]
            sums.append(self._times(self._sum(terms), row_factor[:, None], self.rows))
        shift = _BITS * (len(self.rows) + len(columns) - 2)
        total = self._sum(sums)
        if not shift:
            return total
        return _shifted(writer, writer.emit("Add", total, _number(writer, 1 << shift - 1)), shift)

    def _times(self, value: str, factor: np.ndarray, sides: Sequence[object]) -> str:
        return self.writer.emit("Mul", value, self.writer.constant(factor)) if len(sides) > 1 else value

    def _sum(self, terms: Sequence[str]) -> str:
        return terms[0] if len(terms) == 1 else self.writer.emit("Add", *terms)


# ---------------------------------------------------------------- colours


def _of_gray(sampler: _Sampler, image: ImageFeatures) -> list[str]:
    return [sampler.plane(1, 0)] * image.channels


def _of_888(sampler: _Sampler, image: ImageFeatures) -> list[str]:
    channels = range(3) if image.source == "rgb888" else (2, 1, 0)
    return _in_order(sampler.writer, [sampler.plane(3, channel) for channel in channels], image)


def _of_565(sampler: _Sampler, image: ImageFeatures) -> list[str]:
    """5 or 6 bits, whose upper ones are repeated below them."""
    writer = sampler.writer

    def shifted(x: str, count: int, direction: str) -> str:
        return writer.emit("BitShift", x, writer.constant(np.array(count, np.uint32)), direction=direction)

    def field(first: int, bits: int, tap: str) -> str:
        wide = writer.cast(tap, np.uint32)
        low = shifted(shifted(wide, 32 - bits - first, "LEFT"), 32 - bits, "RIGHT")
        both = writer.emit("Add", shifted(low, 8 - bits, "LEFT"), shifted(low, 2 * bits - 8, "RIGHT"))
        return writer.cast(both, np.int32)

    fields = ((11, 5), (5, 6), (0, 5))
    planes = [sampler.plane(1, 0, value=partial(field, first, bits)) for first, bits in fields]
    return _in_order(writer, planes, image)


def _of_yuyv(sampler: _Sampler, image: ImageFeatures) -> list[str]:
    """Two pixels share their colour. Gray is Y as it is."""
    writer, luma = sampler.writer, sampler.plane(2, 0)
    if image.colours == "gray":
        return [luma]
    chroma = [sampler.plane(4, place, share=2) for place in (1, 3)]
    writer.stage = "colours"
    parts = [writer.emit("Sub", luma, _number(writer, 16))]
    parts += [writer.emit("Sub", plane, _number(writer, 128)) for plane in chroma]
    found = [_weighted(writer, parts, factors) for factors in _FROM_YUV]
    return found if image.colours == "rgb" else found[::-1]


_SOURCES: Mapping[str, Callable[[_Sampler, ImageFeatures], list[str]]] = {
    "rgb888": _of_888, "bgr888": _of_888, "rgb565": _of_565, "yuyv": _of_yuyv, "gray": _of_gray,
}  # fmt: skip


def _in_order(writer: FeatureWriter, planes: list[str], image: ImageFeatures) -> list[str]:
    """Red, green and blue as the result has them."""
    writer.stage = "colours"
    if image.colours == "gray":
        return [_weighted(writer, planes, _LUMA)]
    return planes if image.colours == "rgb" else planes[::-1]


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
    wide, bits = writer.cast(value, np.uint32), writer.constant(np.array(count, np.uint32))
    return writer.cast(writer.emit("BitShift", wide, bits, direction="RIGHT"), np.int32)


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
