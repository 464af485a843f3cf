"""Images of ONNX Runtime's own domain: crops of boxes, and transposed convolutions whose padding is an operand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .contrib_body import Body, Rule, Unsupported

_MODES = frozenset({"bilinear", "nearest"})


def _crop_and_resize(body: Body) -> str:
    """X ``[N, C, H, W]``, boxes ``[R, 4]`` of y1, x1, y2, x2 as shares of an image, the image of each box ``[R]``, and
    how high and how wide crops are; the corners of a crop are those of its box.

    The images are sampled as one, in which they stand one below the other.
    """
    mode = body.text("mode", "bilinear")
    if mode not in _MODES:
        raise Unsupported(f"the mode {mode}")
    images, channels, height, width = body.shape(0)
    counts = [body.slice(body.cast(body.input(3), np.int64), 0, n, n + 1) for n in range(2)]
    sides = [_places(body, n, extent, counts[n]) for n, extent in enumerate((height, width))]
    inside = [_between(body, at, extent - 1) for at, extent in zip(sides, (height, width))]
    if mode == "nearest":
        sides = [body.emit("Floor", body.emit("Add", at, body.number(0.5))) for at in sides]
    image = body.emit("Unsqueeze", body.emit("CastLike", body.input(2), body.input(0)), body.integers(1))
    sides[0] = body.emit("Add", sides[0], body.emit("Mul", image, body.number(height)))
    shape = body.emit("Concat", body.integers(body.shape(1)[0]), *counts, axis=0)
    across = [  # from -1 at the first to 1 at the last, [R, h, w]
        body.emit("Expand", body.emit("Unsqueeze", _share(body, at, extent), body.integers(2 - n)), shape)
        for n, (at, extent) in enumerate(zip(sides, (images * height, width)))
    ]
    grid = body.emit("Concat", *(body.emit("Unsqueeze", at, body.integers(3)) for at in reversed(across)), axis=3)
    rows = body.emit("Concat", body.integers(1, -1), counts[1], body.integers(2), axis=0)
    stacked = body.reshape(body.transpose(body.input(0), 1, 0, 2, 3), 1, channels, images * height, width)
    found = body.emit("GridSample", stacked, body.emit("Reshape", grid, rows), align_corners=1, padding_mode="border",
                      mode="linear" if mode == "bilinear" else "nearest")  # fmt: skip
    body.opset = 20
    found = body.emit("Reshape", found, body.emit("Concat", body.integers(channels), shape, axis=0))
    kept = body.emit("And", *(body.emit("Unsqueeze", flag, body.integers(2 - n)) for n, flag in enumerate(inside)))
    outside = body.number(body.attributes.get("extrapolation_value", 0.0))
    found = body.transpose(found, 1, 0, 2, 3)
    return body.emit("Where", body.emit("Unsqueeze", kept, body.integers(1)), found, outside)


def _places(body: Body, side: int, extent: int, count: str) -> str:
    """Of the rows (``side`` 0) or columns of each crop among ``extent`` of an image, ``[R, count]``."""
    first, last = (
        body.emit("Mul", body.slice(body.input(1), 1, side + n, side + n + 1), body.number(extent - 1)) for n in (0, 2)
    )
    number = body.emit("Squeeze", count, body.integers(0))
    steps = body.emit("Range", body.constant(np.int64(0)), number, body.constant(np.int64(1)))
    steps = body.emit("Unsqueeze", body.emit("CastLike", steps, body.input(1)), body.integers(0))
    apart = body.emit("Max", body.emit("Sub", count, body.integers(1)), body.integers(1))
    step = body.emit("Div", body.emit("Sub", last, first), body.emit("CastLike", apart, body.input(1)))
    middle = body.emit("Mul", body.emit("Add", first, last), body.number(0.5))
    several = body.emit("Greater", count, body.integers(1))
    return body.emit("Where", several, body.emit("Add", first, body.emit("Mul", step, steps)), middle)


def _between(body: Body, at: str, most: int) -> str:
    low, high = body.emit("GreaterOrEqual", at, body.number(0.0)), body.emit("LessOrEqual", at, body.number(most))
    return body.emit("And", low, high)


def _share(body: Body, at: str, extent: int) -> str:
    """Places of an extent, from -1 to 1."""
    scaled = body.emit("Mul", at, body.number(2.0 / max(extent - 1, 1)))
    return body.emit("Sub", scaled, body.number(1.0))


def _conv_transpose(body: Body) -> str:
    """X, W, what is taken away ``[2n]`` at the beginnings and at the ends of the result, and a bias?"""
    rank = len(body.shape(0)) - 2
    names = ("auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides")
    given = {name: body.attributes.get(name) for name in names}
    y = body.emit("ConvTranspose", body.input(0), body.input(1), body.input(3), **given)
    if not body.input(2):
        return y
    axes, most = np.arange(2, rank + 2), body.emit("Shape", y, start=2)
    pads = body.cast(body.reshape(body.input(2), 2 * rank), np.int64)
    ends = body.emit("Sub", most, body.slice(pads, 0, rank, 2 * rank))
    return body.emit("Slice", y, body.slice(pads, 0, 0, rank), ends, body.constant(axes))


RULES: Mapping[str, Rule] = {"ConvTransposeWithDynamicPads": _conv_transpose, "CropAndResize": _crop_and_resize}
"""By name."""
