"""Pixels in front of a model that takes images."""

from __future__ import annotations

from dataclasses import replace

import onnx

from ..errors import CcmlError, ErrorCode
from .graph import FeatureGraph
from .image import COLOURS, ImageFeatures, image_features
from .into import ModelInput, into_model, model_input


def image_into_model(
    image: ImageFeatures, model: onnx.ModelProto, name: str | None = None
) -> tuple[onnx.ModelProto, ImageFeatures, FeatureGraph]:
    """``model`` that takes pixels; what the image became, and its graph. Size, number of colours and order of
    dimensions are those of the model's input."""
    target = model_input(model, name)
    layout, height, width, channels = _image_shape(target)
    colours = image.colours if COLOURS[image.colours] == channels else "gray" if channels == 1 else "rgb"
    image = replace(image, resize=(width, height), layout=layout, colours=colours)
    graph = image_features(image)
    made = graph.outputs.pop(0)
    return into_model(graph, made.name, model, target), image, graph


def _image_shape(target: ModelInput) -> tuple[str, int, int, int]:
    """Layout, height, width and channels of an input [1, height, width, channels] or [1, channels, height, width]."""
    shape = target.shape
    if len(shape) == 4 and shape[0] == 1:
        if shape[3] in COLOURS.values():
            return "nhwc", shape[1], shape[2], shape[3]
        if shape[1] in COLOURS.values():
            return "nchw", shape[2], shape[3], shape[1]
    reason = f"{target} is no image of 1 or 3 colours"
    raise CcmlError(ErrorCode.BAD_OPTION, reason, loc="--into")
