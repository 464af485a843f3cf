"""Boxes of detectors: decoding and suppression of those that overlap better ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np
import onnx
from onnx import TensorProto, helper

from .context import OpContext, Rule
from .custom_options import custom_options

_OPTIONS = {
    "max_detections": 0, "max_classes_per_detection": 1, "use_regular_nms": 0, "nms_score_threshold": 0.0,
    "nms_iou_threshold": 0.5, "num_classes": 0, "y_scale": 1.0, "x_scale": 1.0, "h_scale": 1.0, "w_scale": 1.0,
}  # fmt: skip
_MOST = 1 << 16


def detection_postprocess(ctx: OpContext) -> Sequence[str]:
    """Encodings [1, a, 4] (y, x, h, w), scores [1, a, classes], with a background before them or not, anchors [a, 4] ->
    boxes [1, d * k, 4] (top, left, bottom, right), classes and scores [1, d * k], and their number [1].

    Of at most d boxes with the best scores, none overlaps a better one by more than the threshold; each is there with
    its k best classes. What is behind the last is 0.
    """
    options = custom_options(ctx, _OPTIONS)
    if options["use_regular_nms"]:
        hint = "convert the model with use_regular_nms=false"
        raise ctx.unsupported("suppression for each class apart is not supported", hint)
    _, anchors, _ = ctx.shape(0, 3)
    classes = ctx.shape(1, 3)[2]
    most, each, count = (int(options[n]) for n in ("max_detections", "max_classes_per_detection", "num_classes"))
    valid = 0 < most <= _MOST and 0 < each <= count <= classes and all(isfinite(v) for v in options.values())
    if not valid or ctx.shape(0)[0] != 1 or ctx.shape(1)[:2] != (1, anchors) or len(ctx.outputs) != 4:
        raise ctx.invalid(f"{most} detections with {each} of {count} classes, out of {list(ctx.shape(1))} scores")
    boxes = _decoded(ctx, options)
    scores = ctx.reshaped(ctx.real(1), (anchors, classes))
    scores = ctx.emit("Slice", scores, ctx.indices([classes - count]), ctx.indices([classes]), ctx.indices([1]))
    best, kinds = ctx.graph.emit_all("TopK", [scores, ctx.indices([each])], 2, axis=1)
    first = ctx.emit("ReduceMax", best, ctx.indices([1]), keepdims=0)
    threshold = options["nms_score_threshold"], options["nms_iou_threshold"]
    chosen, found = _suppressed(ctx, boxes, first, (anchors, most), threshold)
    mask = ctx.cast(found, np.float32)
    column = ctx.reshaped(mask, (most, 1))
    rows = ctx.emit("Mul", ctx.emit("Gather", boxes, chosen, axis=0), column)
    repeated = ctx.emit("Tile", ctx.reshaped(rows, (most, 1, 4)), ctx.indices([1, each, 1]))
    parts = [
        ctx.emit("Mul", ctx.emit("Gather", value, chosen, axis=0), column)
        for value in (ctx.cast(kinds, np.float32), best)
    ]
    total = ctx.emit("ReduceSum", mask, ctx.indices([0]), keepdims=1)
    number = total if each == 1 else ctx.emit("Mul", total, ctx.scalar(each))
    flat = (1, most * each)
    return [ctx.reshaped(repeated, (*flat, 4)), *(ctx.reshaped(part, flat) for part in parts), number]


def _decoded(ctx: OpContext, options: Mapping[str, float]) -> str:
    """The boxes [a, 4] of the encodings: centres in extents of their anchors, extents by their logarithms."""
    scale = np.asarray([options[f"{side}_scale"] for side in "yxhw"], np.float32)
    anchors = ctx.shape(0)[1]
    encoded = ctx.emit("Div", ctx.reshaped(ctx.real(0), (anchors, 4)), ctx.constant(scale))
    centre, extent = ctx.graph.emit_all("Split", [encoded, ctx.indices([2, 2])], 2, axis=1)
    at, size = ctx.graph.emit_all("Split", [ctx.real(2), ctx.indices([2, 2])], 2, axis=1)
    middle = ctx.emit("Add", ctx.emit("Mul", centre, size), at)
    half = ctx.emit("Mul", ctx.emit("Mul", ctx.emit("Exp", extent), size), ctx.scalar(0.5))
    return ctx.emit("Concat", ctx.emit("Sub", middle, half), ctx.emit("Add", middle, half), axis=1)


def _suppressed(
    ctx: OpContext, boxes: str, scores: str, counts: tuple[int, int], thresholds: tuple[float, float]
) -> tuple[str, str]:
    """The places of the best boxes [d], and whether there is one [d]: a pass of a loop takes the best of those that are
    left, and lowers the scores of all that overlap it too much below the threshold."""
    anchors, most = counts
    step = ctx.in_body()
    emit, scalar = step.emit, step.scalar
    counter, was_true, left = (step.graph.names.fresh(f"{ctx.loc}/{what}") for what in ("pass", "condition", "left"))
    best = emit("ArgMax", left, axis=0, keepdims=1)
    found = emit("GreaterOrEqual", emit("Gather", left, best, axis=0), scalar(thresholds[0]))
    box = emit("Gather", boxes, best, axis=0)
    low, high = step.graph.emit_all("Split", [boxes, step.indices([2, 2])], 2, axis=1)
    own_low, own_high = step.graph.emit_all("Split", [box, step.indices([2, 2])], 2, axis=1)
    overlap = _area(step, emit("Max", low, own_low), emit("Min", high, own_high), anchors)
    area, own_area = _area(step, low, high, anchors), _area(step, own_low, own_high, 1)
    union = emit("Sub", emit("Add", area, own_area), overlap)
    apart = emit("LessOrEqual", overlap, emit("Mul", union, scalar(thresholds[1])))
    itself = emit("Equal", step.indices(range(anchors)), best)
    gone = emit("Or", emit("Not", apart), itself)
    lowest = scalar(float(np.finfo(np.float32).min))
    results = [emit("Where", gone, lowest, left), emit("Reshape", best, step.indices([])), emit("Squeeze", found)]
    true = emit("Identity", was_true)
    make = helper.make_tensor_value_info
    body = step.graph.proto(
        f"{ctx.loc}/body",
        [make(counter, TensorProto.INT64, ()), make(was_true, TensorProto.BOOL, ()),
         make(left, TensorProto.FLOAT, (anchors,))],
        [make(true, TensorProto.BOOL, ()), *_typed(results, anchors)],
    )  # fmt: skip
    start = [ctx.constant(np.asarray(most, np.int64)), ctx.constant(np.asarray(True)), scores]
    _, chosen, there = ctx.graph.emit_all("Loop", start, 3, body=body)
    return chosen, there


def _typed(results: Sequence[str], anchors: int) -> list[onnx.ValueInfoProto]:
    kinds = (TensorProto.FLOAT, (anchors,)), (TensorProto.INT64, ()), (TensorProto.BOOL, ())
    return [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in zip(results, kinds)]


def _area(ctx: OpContext, low: str, high: str, count: int) -> str:
    """Of boxes from [n, 2] to [n, 2]; 0 where they are none."""
    sides = ctx.emit("Max", ctx.emit("Sub", high, low), ctx.scalar(0))
    return ctx.reshaped(ctx.emit("ReduceProd", sides, ctx.indices([1]), keepdims=0), (count,))


RULES: Mapping[str, Rule] = {"TFLite_Detection_PostProcess": detection_postprocess}
