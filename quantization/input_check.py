"""Whether calibration data can be what the model is fed: all that is measured with them hangs on that."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.evaluate import evaluate_graph
from ..report.accuracy import InputRange
from ..samples import Samples
from .calibration import CalibrationData
from .quantize import prepare

_LOOKED_AT = 2
"""Samples that the first layer is computed for."""

_USUAL = 16.0
"""Where a tenth of the results of a trained model's first layer is larger, its input is hardly what it was trained on.

Initialization and normalization keep the results of layers near 1: with the inputs that they are made for, nine of ten
results of the first layer are below 3 in all models of the model set, with pixels and with others. Pixels of 0..255 in
place of 0..1 or of -1..1 make them 255 or 128 times as large.
"""

_PIXEL = 255


def input_ranges(samples: Samples) -> list[InputRange]:
    """The values that each input had."""
    return [
        InputRange(name, float(array.min()), float(array.max()), float(array.mean(dtype=np.float64)))
        for name, array in samples.inputs.items()
        if array.size
    ]


def doubts(graph: Graph, data: CalibrationData) -> Iterator[str]:
    """What is strange about the data of the float model ``graph``, in sentences."""
    for value in graph.inputs:
        array = data.samples.inputs[value.name]
        if not value.dtype.is_float or not array.size:
            continue
        yield from _constant(value.name, array)
        if value.name in data.pictures or _like_pixels(array):
            yield from _not_scaled(graph, value, data)


def _constant(name: str, array: np.ndarray) -> Iterator[str]:
    """Where an input does not vary, nothing is known of the range that it has in use."""
    where = f"the {len(array)} samples" if len(array) > 1 else "the only sample"
    if array.min() == array.max():
        yield f"input {name} is {array.flat[0]:g} everywhere in {where}: what reads it is calibrated for nothing else"
    elif len(array) > 1 and (array == array[0]).all():
        yield f"input {name} is the same in {where}: what reads it is calibrated for nothing else"


def _like_pixels(array: np.ndarray) -> bool:
    """Whole numbers from 0 to 255 that use much of that range."""
    low, high = array.min(), array.max()
    return bool(low >= 0 and _PIXEL / 2 < high <= _PIXEL and (array == np.rint(array)).all())


def _not_scaled(graph: Graph, value: Value, data: CalibrationData) -> Iterator[str]:
    """A warning where the first layer has results as of images that were not scaled."""
    graph = prepare(graph)
    first = _first_layer(graph, value)
    if first is None:
        return
    before = graph.nodes[: graph.nodes.index(first) + 1]
    part = Graph(graph.name, graph.inputs, first.outputs, before, graph.constants)
    results = [evaluate_graph(part, inputs)[first.outputs[0].name] for inputs in data.samples.first(_LOOKED_AT)]
    typical = float(np.quantile(np.abs(results), 0.9))
    if typical > _USUAL:
        array = data.samples.inputs[value.name]
        way_out = "--mean and --scale set what becomes of pixels" if value.name in data.pictures else "scale the arrays"
        yield (
            f"input {value.name} holds {array.min():g} to {array.max():g}, like pixels that were not scaled: results "
            f"of the first layer reach {typical:.0f}, where trained models have about 1. "
            f"If the model was trained on other values, all figures below are void: {way_out}"
        )


def _first_layer(graph: Graph, value: Value) -> Node | None:
    """The first convolution or matrix product with constant weights on the way from an input."""
    reached = {value.name}
    for node in graph.nodes:
        if any(operand.name in reached for operand in node.operands):
            if node.op in ("conv", "matmul"):
                return node if any(operand.name in graph.constants for operand in node.operands) else None
            reached.update(output.name for output in node.outputs)
    return None
