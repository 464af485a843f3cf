"""Rows of signal processing, and of reading between elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.build import FLOATS, Builder, Tensor, UnfitError
from tests.fuzz.row import Row, allowed


def dft(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("DFT", 0, b.opset)), b.shape(1, 3)
    if not all(shape):
        raise UnfitError("no signal")
    inverse = b.flip(0.4)
    onesided = not inverse and b.flip(0.4)
    parts = 1 if onesided or b.flip() else 2
    axis = b.between(0, len(shape) - 1)
    x = b.data(dtype, (*shape, parts))
    length = b.param(b.between(1, 8), b.pick(["int64", "int32"])) if b.flip(0.4) else None
    more: dict[str, Any] = b.some(inverse=int(inverse)) if not inverse else {"inverse": 1}
    more |= {"onesided": 1} if onesided else b.some(onesided=0)
    if b.opset < 20:
        return b.node("DFT", [x, length], axis=axis, **more)
    return b.node("DFT", [x, length, b.param(axis, "int64")], **more)


def stft(b: Builder) -> list[Tensor]:
    dtype, batch, size = b.dtype(allowed("STFT", 0, b.opset)), b.between(1, 2), b.between(6, 20)
    x = b.data(dtype, (batch, size, 1))
    length = b.between(2, 6)
    kind = b.pick(["int64", "int32"])
    window = b.param(b.values(dtype, (length,), 0.1, 1)) if b.flip(0.6) else None
    frame = b.param(length, kind) if window is None or b.flip() else None
    return b.node("STFT", [x, b.param(b.between(1, 4), kind), window, frame], **b.some(onesided=b.between(0, 1)))


def mel_weights(b: Builder) -> list[Tensor]:
    low = b.uniform(0, 100)
    numbers = [(b.between(2, 8), "int64"), (b.pick([16, 32, 64]), "int64"), (b.pick([8000, 16000]), "int64")]
    operands = [b.param(value, kind) for value, kind in numbers]
    operands += [b.param(low, "float32"), b.param(low + b.uniform(1000, 3000), "float32")]
    return b.node("MelWeightMatrix", operands, **b.some(output_datatype=b.pick([1, 11])))


def grid_sample(b: Builder) -> list[Tensor]:
    kinds = [kind for kind in allowed("GridSample", 0, b.opset) if kind in FLOATS]
    dtype, spatial = b.dtype(kinds), b.between(2, 3) if b.opset >= 20 else 2
    n, channels = b.between(1, 2), b.between(1, 3)
    x = b.data(dtype, (n, channels, *(b.between(2, 5) for _ in range(spatial))))
    grid = b.data(b.dtype([dtype]), (n, *(b.between(1, 4) for _ in range(spatial)), spatial), -1.2, 1.2)
    modes = ["nearest", "linear", "cubic"] if b.opset >= 20 else ["nearest", "bilinear", "bicubic"]
    mode = b.pick(modes[: 2 if spatial == 3 else 3])
    padding = b.some(padding_mode=b.pick(["zeros", "border", "reflection"]), align_corners=b.between(0, 1))
    return b.node("GridSample", [x, grid], mode=mode, **padding)


def roi_align(b: Builder) -> list[Tensor]:
    dtype, n = b.dtype(allowed("RoiAlign", 0, b.opset)), b.between(1, 2)
    x = b.data(dtype, (n, b.between(1, 3), b.between(4, 7), b.between(4, 7)))
    count = b.between(1, 3)
    corners = b.values(dtype, (count, 2), 0, 2)
    regions = np.concatenate([corners, corners + b.values(dtype, (count, 2), 1, 4)], axis=1).astype(dtype)
    which = b.given(b.values("int64", (count,), 0, n - 1))
    more = b.some(
        mode=b.pick(["avg", "max"]), output_height=b.between(1, 3), output_width=b.between(1, 3), spatial_scale=1.0,
        sampling_ratio=b.between(1, 3),
    )  # fmt: skip
    if b.opset >= 16:
        more |= b.some(coordinate_transformation_mode=b.pick(["half_pixel", "output_half_pixel"]))
    if more.get("mode") == "max":  # which of two neighbours is larger is decided before or after they are weighted
        more["mode"] = "avg"
    return b.node("RoiAlign", [x, b.given(regions), which], **more)


def max_roi_pool(b: Builder) -> list[Tensor]:
    """ONNX Runtime has it in float32."""
    n, count = b.between(1, 2), b.between(1, 3)
    x = b.data("float32", (n, b.between(1, 3), b.between(3, 7), b.between(3, 7)))
    first = b.values("int64", (count, 2), -1, 5)
    which = b.values("int64", (count, 1), 0, n - 1)
    regions = np.concatenate([which, first, first + b.values("int64", (count, 2), -1, 6)], axis=1)
    more = b.some(spatial_scale=b.pick([0.5, 1.0, 2.0]))
    operands = [x, b.given(regions.astype(np.float32))]
    return b.node("MaxRoiPool", operands, pooled_shape=[b.between(1, 3), b.between(1, 3)], **more)


def deform_conv(b: Builder) -> list[Tensor]:
    dtype, n, channels, height, width = "float32", b.between(1, 2), b.between(1, 3), b.between(3, 6), b.between(3, 6)
    kernel = (b.between(1, 3), b.between(1, 3))
    pads, strides, dilations = [b.between(0, 1)] * 4, [b.between(1, 2)] * 2, [1, 1]
    out = [(extent + 2 * pads[0] - size) // step + 1 for extent, size, step in zip((height, width), kernel, strides)]
    x = b.data(dtype, (n, channels, height, width))
    w = b.weight(dtype, (b.between(1, 3), channels, *kernel))
    offset = b.data(dtype, (n, 2 * kernel[0] * kernel[1], *out), -1, 1)
    bias = b.weight(dtype, (w.shape[0],)) if b.flip() else None
    mask = b.data(dtype, (n, kernel[0] * kernel[1], *out), 0, 1) if b.flip() else None
    more = b.some(kernel_shape=list(kernel), dilations=dilations, group=1, offset_group=1)
    return b.node("DeformConv", [x, w, offset, bias, mask], pads=pads, strides=strides, **more)


def col2im(b: Builder) -> list[Tensor]:
    dtype, n, channels = b.dtype(FLOATS), b.between(1, 2), b.between(1, 3)
    image = [b.between(3, 6), b.between(3, 6)]
    block = [b.between(1, 3), b.between(1, 3)]
    steps, pads = [b.between(1, 2)] * 2, [b.between(0, 1)] * 4
    more = b.some(dilations=[1, 1]) | {"strides": steps, "pads": pads}
    count = np.prod([
        (extent + 2 * pads[0] - size) // step + 1 for extent, size, step in zip(image, block, steps)
    ])  # fmt: skip
    x = b.data(dtype, (n, channels * block[0] * block[1], int(count)))
    return b.node("Col2Im", [x, b.ints(image), b.ints(block)], **more)


def tfidf(b: Builder) -> list[Tensor]:
    kind = b.pick(["int64", "int32"])
    x = b.data(kind, b.shape(1, 2), 0, 4, exact=True)
    singles, doubles = [0, 1, 2, 3], [0, 1, 2, 2, 1, 3]
    more = b.some(weights=[b.uniform(0.5, 2) for _ in range(7)])
    return b.node(
        "TfIdfVectorizer", [x], mode=b.pick(["TF", "IDF", "TFIDF"]), ngram_counts=[0, 4], pool_int64s=singles + doubles,
        ngram_indexes=[0, 1, 2, 3, 4, 5, 6], max_skip_count=b.between(0, 2), min_gram_length=b.between(1, 2),
        max_gram_length=2, **more,
    )  # fmt: skip


ROWS: dict[str, Row] = {
    "Col2Im": Row(col2im), "DFT": Row(dft), "DeformConv": Row(deform_conv), "GridSample": Row(grid_sample),
    "MaxRoiPool": Row(max_roi_pool), "MelWeightMatrix": Row(mel_weights), "RoiAlign": Row(roi_align),
    "STFT": Row(stft), "TfIdfVectorizer": Row(tfidf),
}  # fmt: skip
