"""Geometry of sliding windows, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from .attributes import Attrs, ints

MAX_PADDED = 2**31
"""Elements of a padded plane."""


def reach(kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Elements from the first to the last tap of a dilated kernel."""
    return tuple((extent - 1) * step + 1 for extent, step in zip(kernel, dilation))


def check_geometry(spatial: int, kernel: Sequence[int], attrs: Attrs) -> None:
    """The kernel has taps, and the attributes one entry a spatial dimension, ``pad`` two (their ranges are those of the
    schema)."""
    if len(kernel) != spatial or min(kernel, default=1) < 1:
        raise ValueError(f"kernel {tuple(kernel)} does not fit {spatial} spatial dimensions")
    for name in ("stride", "pad", "dilation", "output_padding"):
        if name in attrs and len(ints(attrs, name)) != (2 * spatial if name == "pad" else spatial):
            raise ValueError(f"{name} {attrs[name]} does not fit {spatial} spatial dimensions")


def check_padded(extents: Sequence[int], pad: Sequence[int]) -> None:
    """Refuses padding that would make more of a plane than any memory holds."""
    spatial = len(extents)
    padded = tuple(extent + pad[d] + pad[spatial + d] for d, extent in enumerate(extents))
    if prod(padded) > MAX_PADDED:
        raise ValueError(f"pad {tuple(pad)} makes {padded} of {tuple(extents)}")


def window_counts(
    extents: Sequence[int], kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int], dilation: Sequence[int],
    ceil_mode: bool = False,
) -> tuple[int, ...]:  # fmt: skip
    """Windows along each spatial dimension.

    With ``ceil_mode`` a last window, which may be the only one, may reach past the end, but it starts inside the input
    or the padding before it (ONNX, AveragePool and MaxPool).
    """
    counts = []
    spatial = len(extents)
    check_padded(extents, pad)
    for d, (extent, span, step) in enumerate(zip(extents, reach(kernel, dilation), stride)):
        slack = extent + pad[d] + pad[spatial + d] - span
        if slack < 0 and not (ceil_mode and slack > -step):
            padding = f"{pad[d]} and {pad[spatial + d]}"
            raise ValueError(f"a window of {span} does not fit {extent} elements padded by {padding}")
        count = slack // step + 1
        if ceil_mode and slack % step and count * step < extent + pad[d]:
            count += 1
        counts.append(count)
    return tuple(counts)


def windows(
    x: np.ndarray, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], counts: Sequence[int]
) -> np.ndarray:
    """All windows of a padded ``x[N, C, spatial...]`` as a view ``[N, C, counts..., kernel...]``."""
    span = reach(kernel, dilation)
    axes = tuple(range(2, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(x, span, axis=axes)
    starts = tuple(slice(0, (count - 1) * step + 1, step) for count, step in zip(counts, stride))
    taps = tuple(slice(None, None, step) for step in dilation)
    return view[(slice(None), slice(None), *starts, *taps)]


def to_channels_first(x: np.ndarray, layout: object) -> np.ndarray:
    """Moves the last axis to position 1 where the layout is channels last."""
    return np.moveaxis(x, -1, 1) if layout == "channels_last" else x


def from_channels_first(x: np.ndarray, layout: object) -> np.ndarray:
    """The inverse of :func:`to_channels_first`, dense."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1) if layout == "channels_last" else x)


def split_layout(shape: tuple[int, ...], layout: object) -> tuple[int, int, tuple[int, ...]]:
    """Batch, channels and spatial extents of an activation (or O, I and kernel of weights)."""
    if len(shape) < 2:
        raise ValueError(f"shape {shape} has no batch and channel dimensions")
    if layout == "channels_last":
        return shape[0], shape[-1], shape[1:-1]
    return shape[0], shape[1], shape[2:]


def join_layout(batch: int, channels: int, spatial: Sequence[int], layout: object) -> tuple[int, ...]:
    """The inverse of :func:`split_layout`."""
    return (batch, *spatial, channels) if layout == "channels_last" else (batch, channels, *spatial)
