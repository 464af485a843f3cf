"""From a float model and typical inputs to a quantized model, with a report of what that cost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import takewhile
from pathlib import Path

import numpy as np

from .driver import PathLike, Source
from .errors import CcmlError, ErrorCode
from .ir.graph import Graph
from .passes.integerize import integerize, integerize_with_report
from .passes.pipeline import PASSES
from .passes.quantize import MixedPrecision, QuantizeOptions, quantize_graph
from .report.accuracy import Accuracy, Cost, FloatLayer, LayerAccuracy, MetricAccuracy, Mixed, RaisedLayer
from .samples import Samples, match_samples, read_arrays
from .verification.accuracy import Measured, measure
from .verification.mends import Tried, propose_mend
from .verification.metric import Metric, evaluate_metric, find_metric

log = logging.getLogger(__name__)

HELD_OUT = 5
"""Every fifth sample of the calibration data tests the result, where there is no test data."""


@dataclass(frozen=True)
class Quantization:
    """What to quantize with: files or folders of data, and how.

    ``metric`` is ``module:function``; images become ``(pixel - mean) / scale``.
    """

    calibration: PathLike
    options: QuantizeOptions = field(default_factory=QuantizeOptions)
    test_data: PathLike | None = None
    metric: str | None = None
    mean: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None


@dataclass(frozen=True)
class QuantizedSource:
    """A quantized model as it would be read from its ONNX file, and what it is worth."""

    source: Source
    accuracy: Accuracy


def quantize_source(source: Source, wanted: Quantization) -> QuantizedSource:
    """Quantizes ``source`` and measures the result.

    Raises ``BAD_INPUT`` that names the tensor for data that do not fit, ``BAD_OPTION`` where the model is quantized
    already, and ``ACCUMULATOR_OVERFLOW`` that names the tensor where 32 bits could be too few.
    """
    _refuse_missing(wanted)
    metric = None if wanted.metric is None else _Metric(wanted.metric, find_metric(wanted.metric))
    calibration, test = _split(source, wanted)
    log.info("quantizing with %d samples", calibration.samples.count)
    score = None if metric is None else partial(metric.of_stacked, test)
    model = quantize_graph(source.graph, calibration.samples, wanted.options, test=test.samples, score=score)
    measured = measure(model.original, model.graph, test.samples)
    accuracy = Accuracy(
        calibration_samples=calibration.samples.count,
        test_samples=test.samples.count,
        held_out=test is not calibration,
        outputs=measured.outputs,
        metric=None if metric is None else metric.compared(measured, test),
        layers=[replace(row, mend=propose_mend(row, _tried(wanted.options, row))) for row in measured.layers],
        float_layers=float_layers(model.graph),
        mixed=None if model.mixed is None else _mixed(model.mixed),
    )
    return QuantizedSource(replace(source, graph=model.graph, quantized=_described(wanted.options)), accuracy)


def _refuse_missing(wanted: Quantization) -> None:
    """What is not there yet is refused, not ignored."""
    folders = any(path is not None and Path(path).is_dir() for path in (wanted.calibration, wanted.test_data))
    if folders or wanted.mean is not None or wanted.scale is not None:
        reason = "data in folders and images (--mean, --scale) are not supported yet"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=str(wanted.calibration), hint="an .npz or .npy file")


@dataclass(frozen=True)
class _Metric:
    """The user's function, by its name."""

    name: str
    function: Metric

    def of_stacked(self, data: _Data, outputs: Mapping[str, np.ndarray]) -> float:
        """Of outputs that have the samples along an axis of their own."""
        count = range(data.samples.count)
        outputs = data.samples.joined([{name: array[n] for name, array in outputs.items()} for n in count])
        return evaluate_metric(self.function, self.name, outputs, data.arrays)

    def compared(self, measured: Measured, data: _Data) -> MetricAccuracy:
        both = (measured.float_results, measured.quantized_results)
        values = (evaluate_metric(self.function, self.name, outputs, data.arrays) for outputs in both)
        return MetricAccuracy(self.name, *values)


def _mixed(mixed: MixedPrecision) -> Mixed:
    steps = [RaisedLayer(step.layer, step.precision.value, step.noise_share) for step in mixed.steps]
    return Mixed(steps, Cost(**asdict(mixed.before)), Cost(**asdict(mixed.after)))


def float_layers(graph: Graph) -> list[FloatLayer]:
    """What of a quantized graph is computed in float all the same, and why."""
    for _, run in takewhile(lambda step: step[1] is not integerize, PASSES):
        graph = run(graph)
    _, kept = integerize_with_report(graph)
    return [FloatLayer(each.loc, each.op, each.reason) for each in kept]


def _described(options: QuantizeOptions) -> dict[str, object]:
    """The options for report.json, without what is not set."""
    return {name: _plain(value) for name, value in asdict(options).items() if value is not None and value != {}}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    return value.value if isinstance(value, Enum) else value


def _tried(options: QuantizeOptions, row: LayerAccuracy) -> Tried:
    own = options.layer([row.layer, row.tensor])
    adaptive = options.adaptive_rounding if own.adaptive_rounding is None else own.adaptive_rounding
    return Tried((own.range_method or options.range_method).value, options.equalize, options.per_channel, adaptive)


# ---------------------------------------------------------------- data


@dataclass(frozen=True)
class _Data:
    """Samples, and all arrays of the file that have as many: the user's metric may want labels."""

    samples: Samples
    arrays: Mapping[str, np.ndarray]

    def chosen(self, kept: np.ndarray) -> _Data:
        return _Data(self.samples.chosen(kept), {name: array[kept] for name, array in self.arrays.items()})


def _split(source: Source, wanted: Quantization) -> tuple[_Data, _Data]:
    """Calibration and test data: the same where there are too few to keep some back."""
    data = _read(wanted.calibration, source.graph)
    if wanted.test_data is not None:
        return data, _read(wanted.test_data, source.graph)
    if data.samples.count < HELD_OUT:
        log.warning("%d samples are too few to hold some back: tested on the calibration data", data.samples.count)
        return data, data
    kept_back = np.arange(data.samples.count) % HELD_OUT == HELD_OUT - 1
    return data.chosen(~kept_back), data.chosen(kept_back)


def _read(path: PathLike, graph: Graph) -> _Data:
    arrays = read_arrays(Path(path))
    samples = match_samples(arrays, graph.inputs, ())
    samples.require_finite()
    return _Data(samples, {name: array for name, array in arrays.items() if array.shape[:1] == (samples.count,)})
