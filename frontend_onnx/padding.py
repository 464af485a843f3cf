"""Attributes that convolution and pooling share: strides, dilations, and padding with ``auto_pad`` resolved."""

from __future__ import annotations

from collections.abc import Sequence

from ..record import record
from .context import NodeContext


@record
class WindowAttributes:
    """``pad`` holds the amounts before every spatial dimension, then those after."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pad: tuple[int, ...]
    same: bool

    @property
    def reach(self) -> tuple[int, ...]:
        """Elements from the first to the last tap."""
        return tuple((extent - 1) * step + 1 for extent, step in zip(self.kernel, self.dilation))


def window_attributes(ctx: NodeContext, extents: Sequence[int], kernel: tuple[int, ...]) -> WindowAttributes:
    """Reads the attributes of a window over ``extents``; for SAME the output has ceil(extent / stride) elements."""
    spatial = len(extents)
    ones = (1,) * spatial
    stride, dilation = ctx.integers("strides", ones), ctx.integers("dilations", ones)
    for name, entries in (("kernel_shape", kernel), ("strides", stride), ("dilations", dilation)):
        if len(entries) != spatial or any(entry < 1 for entry in entries):
            raise ctx.invalid(f"{name} {entries} do not fit {spatial} spatial dimensions")
    mode = ctx.string("auto_pad", "NOTSET")
    window = WindowAttributes(kernel, stride, dilation, ctx.integers("pads", (0,) * 2 * spatial), same=False)
    if len(window.pad) != 2 * spatial:
        raise ctx.invalid(f"pads {window.pad} do not fit {spatial} spatial dimensions")
    if mode == "VALID":
        return WindowAttributes(kernel, stride, dilation, (0,) * 2 * spatial, same=False)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max((-(-extent // step) - 1) * step + span - extent, 0)
            for extent, step, span in zip(extents, stride, window.reach)
        ]
        return WindowAttributes(kernel, stride, dilation, halves(totals, upper=mode == "SAME_UPPER"), same=True)
    if mode != "NOTSET":
        raise ctx.invalid(f"auto_pad is {mode}")
    return window


def halves(totals: Sequence[int], upper: bool) -> tuple[int, ...]:
    """Splits each amount; the odd element goes to the end (upper) or to the beginning."""
    small, large = tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)
    return (*small, *large) if upper else (*large, *small)
