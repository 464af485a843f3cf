"""How core operators are written in ONNX that have other operands, results or layouts there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from onnx import TensorProto

from ..ir.graph import Value
from ..ir.types import DType
from .export_context import ExportContext

_IMAGE_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}
"""The names that modes have before operator set 20."""
_GRID_BORDERS = {"zeros": "zeros", "edge": "border", "reflect": "reflection"}


def _as_int64(ctx: ExportContext, value: Value) -> str:
    return value.name if value.dtype is DType.I64 else ctx.emit("Cast", [value.name], to=TensorProto.INT64)


def top_k(ctx: ExportContext) -> None:
    k = ctx.int64((ctx.integer("k"),), "k")
    elements, order = (ctx.values.fresh(f"{ctx.node.output.name}.{stem}") for stem in ("elements", "order"))
    attrs = {"axis": ctx.integer("axis"), "largest": ctx.integer("largest")}
    ctx.emit("TopK", [*ctx.inputs(), k], [elements, order], **attrs)
    ctx.emit("Cast", [order], ctx.outputs(), to=TensorProto.INT32)


def scatter(ctx: ExportContext) -> None:
    """ScatterND allows no places outside of x: their rows go to one behind it, which is cut off again."""
    x, places, updates = ctx.node.operands
    rows, known, attrs = x.shape[0], ctx.graph.constant(places), {"reduction": ctx.string("reduction")}
    if known is not None and np.all((known >= 0) & (known < rows)):
        indices = ctx.constant(known.astype(np.int64)[..., None], "places")
        ctx.emit("ScatterND", [x.name, indices, updates.name], ctx.outputs(), **attrs)
        return
    found = _as_int64(ctx, places)
    none, end = ctx.constant(np.array(0, np.int64), "first"), ctx.constant(np.array(rows, np.int64), "end")
    below, above = ctx.emit("Less", [found, none]), ctx.emit("GreaterOrEqual", [found, end])
    found = ctx.emit("Where", [ctx.emit("Or", [below, above]), end, found])
    spare = ctx.constant(np.zeros((1, *x.shape[1:]), ctx.dtype), "spare")
    longer = ctx.emit("Concat", [x.name, spare], axis=0)
    indices = ctx.emit("Unsqueeze", [found, ctx.int64((-1,), "column")])
    y = ctx.emit("ScatterND", [longer, indices, updates.name], **attrs)
    ctx.emit("Slice", [y, *(ctx.int64((n,), "bounds") for n in (0, rows, 0))], ctx.outputs())


def sample(ctx: ExportContext) -> None:
    """GridSample counts from -1 to 1 along each dimension, the last dimension first; with ``align_corners`` these are
    the centers of the outer elements, else their borders. Only what is reflected depends on that."""
    x, points = ctx.node.operands
    extents = np.array(x.shape[1:-1], points.dtype.numpy)
    rank = len(extents)
    if rank not in (2, 3):
        raise ctx.unsupported(f"GridSample reads between elements of images and volumes alone, not of {x.type}")
    border = ctx.string("border")
    align = border == "reflect" and bool(ctx.integer("align_corners"))
    two, one = (ctx.constant(np.array(number, points.dtype.numpy), "number") for number in (2, 1))
    doubled = ctx.emit("Mul", [points.name, two])
    if align:
        scaled = ctx.emit("Div", [doubled, ctx.constant(np.maximum(extents - 1, 1), "last")])
    else:
        scaled = ctx.emit("Div", [ctx.emit("Add", [doubled, one]), ctx.constant(extents, "extents")])
    backwards = ctx.int64(tuple(range(rank))[::-1], "order")
    grid = ctx.emit("Gather", [ctx.emit("Sub", [scaled, one]), backwards], axis=2)
    grid = ctx.emit("Unsqueeze", [grid, ctx.int64(tuple(range(1, rank)), "row")])
    if points.dtype is not x.dtype and x.dtype.is_float:
        raise ctx.unsupported(f"points {points.type} of {x.type}")
    mode = ctx.string("mode")
    y = ctx.emit(
        "GridSample", [ctx.channels_first(), grid], mode=mode if ctx.wide else _IMAGE_MODES[mode],
        padding_mode=_GRID_BORDERS[border], align_corners=int(align),
    )  # fmt: skip
    flat = ctx.emit("Squeeze", [y, ctx.int64(tuple(range(2, rank + 1)), "row")])
    ctx.put_channels_last(flat)


def roi_align(ctx: ExportContext) -> None:
    x, rois, batch, *extents = ctx.node.operands
    if extents:
        raise ctx.unsupported(f"regions of {x.type} whose extents only a run knows")
    y = ctx.emit(
        "RoiAlign", [ctx.channels_first(), rois.name, _as_int64(ctx, batch)],
        output_height=ctx.integer("height"), output_width=ctx.integer("width"), mode=ctx.string("kind"),
        sampling_ratio=ctx.integer("samples"), spatial_scale=ctx.number("scale"),
        coordinate_transformation_mode="half_pixel" if ctx.integer("half_pixel") else "output_half_pixel",
    )  # fmt: skip
    ctx.put_channels_last(y)


def col2im(ctx: ExportContext) -> None:
    x, image = ctx.node.operands[0], ctx.ints("image")
    spatial = len(image)
    kernel, counts = x.shape[2 : 2 + spatial], x.shape[2 + spatial :]
    blocks = (x.shape[0], x.shape[1] * prod(kernel), prod(counts))
    flat = ctx.emit("Reshape", [x.name, ctx.int64(blocks, "blocks")])
    inputs = [flat, ctx.int64(image, "image"), ctx.int64(kernel, "kernel")]
    ctx.emit("Col2Im", inputs, ctx.outputs(), **ctx.window())


def fft(ctx: ExportContext) -> None:
    """DFT along the second dimension of three, which is the default of all operator sets."""
    x, y = ctx.node.operands[0], ctx.node.output
    real = x.shape[-1] == 1
    if y.shape[1] == (x.shape[1] // 2 + 1 if real else x.shape[1]):
        ctx.emit("DFT", [x.name], ctx.outputs(), onesided=int(real))
        return
    whole = ctx.emit("DFT", [x.name], onesided=int(real))
    ctx.emit("Slice", [whole, *(ctx.int64((n,), "bounds") for n in (0, y.shape[1], 1))], ctx.outputs())


# ---------------------------------------------------------------- results whose extent a run tells


def nonzero(ctx: ExportContext) -> None:
    places, count = ctx.outputs()
    found = ctx.emit("Squeeze", [ctx.emit("NonZero", ctx.inputs()), ctx.int64((0,), "row")])
    _counted(ctx, found, count)
    ctx.emit("Cast", [_filled(ctx, found, ctx.node.outputs[0])], [places], to=TensorProto.INT32)


def unique(ctx: ExportContext) -> None:
    """Rows of one element are a list: runtimes have that alone."""
    (x,), (first, inverse, counts, number) = ctx.inputs(), ctx.outputs()
    names = [ctx.values.fresh(f"{first}.{stem}") for stem in ("rows", "first", "inverse", "counts")]
    ordered = ctx.integer("sorted")
    if ctx.node.operands[0].shape[1] == 1:
        ctx.emit("Unique", [ctx.emit("Squeeze", [x, ctx.int64((1,), "column")])], names, sorted=ordered)
    else:
        ctx.emit("Unique", [x], names, axis=0, sorted=ordered)
    _counted(ctx, names[1], number)
    for name, result, whole in zip(names[1:], (first, inverse, counts), (True, False, True)):
        filled = _filled(ctx, name, ctx.node.outputs[0]) if whole else name
        ctx.emit("Cast", [filled], [result], to=TensorProto.INT32)


def suppress(ctx: ExportContext) -> None:
    boxes, scores, limit, *thresholds = ctx.inputs()
    rows, count = ctx.outputs()
    most = ctx.emit("Cast", [limit], to=TensorProto.INT64)
    numbers = [ctx.emit("Reshape", [name, ctx.int64((1,), "one")]) for name in (most, *thresholds)]
    found = ctx.emit("NonMaxSuppression", [boxes, scores, *numbers], center_point_box=ctx.integer("centered"))
    _counted(ctx, found, count)
    _filled(ctx, found, ctx.node.outputs[0], [rows])


def _counted(ctx: ExportContext, found: str, count: str) -> None:
    """How many rows there are."""
    extent = ctx.emit("Shape", [found], start=0, end=1)
    ctx.emit("Squeeze", [extent, ctx.int64((0,), "axis")], [count])


def _filled(ctx: ExportContext, found: str, result: Value, outputs: Sequence[str] | None = None) -> str:
    """``found`` with zeros behind its rows up to the shape of ``result``."""
    zeros = ctx.constant(np.zeros(result.shape, np.int64), "zeros")
    longer = ctx.emit("Concat", [found, zeros], axis=0)
    return ctx.emit("Slice", [longer, *(ctx.int64((n,), "bounds") for n in (0, result.shape[0], 0))], outputs)


RULES: Mapping[str, Callable[[ExportContext], None]] = {
    "col2im": col2im,
    "fft": fft,
    "nonzero": nonzero,
    "roi_align": roi_align,
    "sample": sample,
    "scatter": scatter,
    "suppress": suppress,
    "top_k": top_k,
    "unique": unique,
}
