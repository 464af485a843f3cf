"""From a float model and typical inputs to a quantized model, with a report of what that cost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from ..driver import PathLike, Source
from ..errors import CcmlError, ErrorCode
from ..ir.extents import Extent
from ..ir.graph import Graph
from ..passes.integer_interface import integer_states
from ..passes.integerize import integerize_with_report
from ..passes.pipeline import before
from ..record import record
from ..report.accuracy import Accuracy, FloatLayer, LayerAccuracy, MetricAccuracy, Mixed, RaisedLayer
from ..samples import random_samples
from ..verification.accuracy import Measured, measure
from ..verification.mends import Tried, propose_mend
from ..verification.metric import Metric, evaluate_metric, find_metric
from . import MixedPrecision, QuantizeOptions, quantize_graph
from .calibration import DEFAULT_IMAGES, CalibrationData, Sample, read_calibration, stacked_samples
from .images import ImageOptions
from .input_check import doubts, input_ranges
from .options import Mode
from .quantize import in_one_thread, prepare
from .ranged import (
    OwnOutputs,
    calibration_extents,
    extents_of,
    own_inputs,
    with_arguments,
    with_bounds,
    with_bounds_of,
    with_states,
)

if TYPE_CHECKING:
    from .device import Device
    from .meter import Meter
    from .sequences import States

log = logging.getLogger(__name__)

_RANDOM_SAMPLES = 20
HELD_OUT = 5
"""Every fifth sample of the calibration data tests the result, where there is no test data."""


@dataclass(frozen=True)
class Quantization:
    """What to quantize with: data and options.

    ``calibration`` and ``test_data`` are files or folders of typical inputs, or anything that gives samples one by one:
    arrays, where the model has one input, or arrays by name. Without test data every fifth sample of the calibration
    data is held back. Modes that store weights alone do without calibration (``None``). ``metric`` is
    ``module:function`` of your own measure, ``images`` says what becomes of the pixels of images.
    """

    calibration: PathLike | Iterable[Sample] | None
    options: QuantizeOptions = field(default_factory=QuantizeOptions)
    test_data: PathLike | Iterable[Sample] | None = None
    metric: str | None = None
    images: ImageOptions = DEFAULT_IMAGES


@dataclass(frozen=True)
class QuantizedSource:
    """A quantized model as it would be read from its ONNX file, and what it is worth."""

    source: Source
    accuracy: Accuracy


@in_one_thread
def quantize_source(source: Source, wanted: Quantization, device: Device | None = None) -> QuantizedSource:
    """Quantizes ``source`` and measures the result. ``device`` is what it is for: precision is mixed for its limits, or
    by what it costs there.

    Raises ``BUDGET`` where nothing that was asked for fits it, ``BAD_INPUT`` that names the tensor for data that do not
    fit, ``BAD_OPTION`` where the model is quantized already, and ``ACCUMULATOR_OVERFLOW`` that names the tensor where
    32 bits could be too few.
    """
    priced = replace(source, quantized=_described(wanted.options))
    if not source.graph.argument_extents:
        return _quantized(source, wanted, _Data.of(source, (), wanted, {}), _Aim.of(device, priced))
    wanted = _kept(wanted)
    extents, sizes = extents_of(source), calibration_extents(source.graph, wanted.calibration)
    data = _Data.of(source, extents, wanted, sizes)
    small = with_bounds_of(source, extents, {**sizes, **data.longest})
    before, after = prepare(small.graph), prepare(source.graph)
    aim = _Aim.of(device, priced, lambda graph: with_bounds(graph, before, after))
    result = _quantized(small, wanted, data, aim)
    return replace(result, source=replace(priced, graph=with_bounds(result.source.graph, before, after)))


@record
class _Aim:
    """What models are priced by, and whether the limits steer what is chosen."""

    meter: Meter | None
    steering: bool

    @staticmethod
    def of(device: Device | None, source: Source, bounded: Callable[[Graph], Graph] = lambda graph: graph) -> _Aim:
        """``bounded`` gives a quantized graph the bounds of ``source``."""
        if device is None:
            return _Aim(None, False)
        meter = device.meter(source)
        return _Aim(lambda graph: meter(bounded(graph)), device.steering)


def _kept(wanted: Quantization) -> Quantization:
    """Samples that come one by one are kept: their shapes are looked at before they are read."""
    kept = {
        name: list(given)
        for name, given in (("calibration", wanted.calibration), ("test_data", wanted.test_data))
        if given is not None and not isinstance(given, (str, PurePath))
    }
    return replace(wanted, **kept)  # type: ignore[arg-type]


def _quantized(source: Source, wanted: Quantization, data: _Data, aim: _Aim) -> QuantizedSource:
    metric = None if wanted.metric is None else _Metric(wanted.metric, find_metric(wanted.metric))
    calibration, test = _split(source, wanted, data)
    warnings = list(doubts(source.graph, calibration))
    for warning in warnings:
        log.warning("%s", warning)
    log.info("quantizing with %d samples", calibration.samples.count)
    own = OwnOutputs(source.graph, data.sizes)
    score = None if metric is None else (lambda outputs: metric.of_stacked(test, own.cut_stacked(outputs)))
    described = replace(source, quantized=_described(wanted.options))
    model = quantize_graph(
        source.graph, calibration.samples, wanted.options, test=test.samples, score=score,
        meter=aim.meter, steering=aim.steering,
    )  # fmt: skip
    measured = measure(model.original, model.graph, test.samples, own.cut)
    accuracy = Accuracy(
        calibration_samples=calibration.samples.count,
        test_samples=test.samples.count,
        held_out=test is not calibration,
        outputs=measured.outputs,
        metric=None if metric is None else metric.compared(measured, test),
        layers=[replace(row, mend=propose_mend(row, _tried(wanted.options, row))) for row in measured.layers],
        float_layers=float_layers(model.graph),
        mixed=None if model.mixed is None else _mixed(model.mixed),
        inputs=input_ranges(calibration.samples),
        warnings=warnings,
    )
    graph = integer_states(model.graph)
    return QuantizedSource(replace(described, graph=graph), accuracy)


@record
class _Metric:
    """The user's function, by its name."""

    name: str
    function: Metric

    def of_stacked(self, data: CalibrationData, outputs: Mapping[str, np.ndarray]) -> float:
        """Of outputs that have the samples along an axis of their own."""
        count = range(data.samples.count)
        outputs = data.samples.joined([{name: array[n] for name, array in outputs.items()} for n in count])
        return evaluate_metric(self.function, self.name, outputs, data.arrays)

    def compared(self, measured: Measured, data: CalibrationData) -> MetricAccuracy:
        both = (measured.float_results, measured.quantized_results)
        values = (evaluate_metric(self.function, self.name, outputs, data.arrays) for outputs in both)
        return MetricAccuracy(self.name, *values)


def _mixed(mixed: MixedPrecision) -> Mixed:
    steps = [RaisedLayer(step.layer, step.precision.value, step.noise_share) for step in mixed.steps]
    return Mixed(steps, mixed.before, mixed.after)


def float_layers(graph: Graph) -> list[FloatLayer]:
    """What of a quantized graph is computed in float all the same, and why."""
    _, kept = integerize_with_report(before("integerize", graph))
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


@record
class _Given:
    """Samples of the extents that they have, and what each finds in the states of the model, if it has any."""

    data: CalibrationData
    states: States | None = None

    @staticmethod
    def read(
        graph: Graph, extents: Sequence[Extent], given: PathLike | Iterable[Sample], images: ImageOptions,
        sizes: Mapping[str, int],
    ) -> _Given:  # fmt: skip
        """The data of a file, a folder or an iterator, whose samples have the extents ``sizes``. What states hold
        before each sample is found by running the float model on the samples as the steps of one sequence."""
        kept = {state.input for state in graph.states}
        own = kept | {extent.value for extent in graph.argument_extents}
        inputs = own_inputs(graph, (value for value in graph.inputs if value.name not in own), sizes)
        if isinstance(given, (str, Path)):
            data = read_calibration(Path(given), inputs, images)
        else:
            data = stacked_samples(given, inputs)
        if not kept:
            return _Given(data)
        from .sequences import states_of  # what generates code takes long to import

        return _Given(data, states_of(graph, extents, data.samples))

    def of_bounds(self, graph: Graph) -> CalibrationData:
        """All inputs of ``graph``, which has the bounds of these samples."""
        if self.states is None:
            return with_arguments(graph, self.data)
        return with_states(graph, self.data, self.states)


@record
class _Data:
    """Calibration and test data, where there are any. ``sizes`` are the extents that all samples have."""

    calibration: _Given | None
    test: _Given | None
    sizes: Mapping[str, int]

    @staticmethod
    def of(source: Source, extents: Sequence[Extent], wanted: Quantization, sizes: Mapping[str, int]) -> _Data:
        calibration, test = (
            None if given is None else _Given.read(source.graph, extents, given, wanted.images, sizes)
            for given in (wanted.calibration, wanted.test_data)
        )
        data = _Data(calibration, test, {})
        return replace(data, sizes={name: size for name, size in sizes.items() if name not in data.longest})

    @property
    def longest(self) -> dict[str, int]:
        """The greatest extents of states that no other input tells."""
        found = [each.states.longest for each in (self.calibration, self.test) if each is not None and each.states]
        return {name: max(each[name] for each in found) for each in found for name in each}


def _shown(given: PathLike | Iterable[Sample]) -> str:
    return str(given) if isinstance(given, (str, Path)) else "calibration data"


def _split(source: Source, wanted: Quantization, given: _Data) -> tuple[CalibrationData, CalibrationData]:
    """Calibration and test data: the same where there are too few to keep some back. Raises ``BAD_OPTION`` where there
    are none and ranges of activations are to be found: weights alone can be stored without."""
    test = None if given.test is None else given.test.of_bounds(source.graph)
    if given.calibration is None or wanted.calibration is None:
        if wanted.options.mode is Mode.INT8:
            reason, hint = "int8 needs typical inputs of the model", "--calibration DATA, or --quantize weights8"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=source.path.name, hint=hint)
        log.warning("without --calibration weights are fitted to random inputs, and the accuracy is that for such")
        samples = random_samples(source.graph.inputs, _RANDOM_SAMPLES)
        data = with_arguments(source.graph, CalibrationData(samples, {}))
        return data, data if test is None else test
    data = given.calibration.of_bounds(source.graph)
    if wanted.images != DEFAULT_IMAGES and not data.pictures:
        hint = "scale the arrays before they are saved"
        reason = "mean and scale are for images; the calibration data are arrays, which are taken as they are"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=_shown(wanted.calibration), hint=hint)
    if test is not None:
        return data, test
    if data.samples.count < HELD_OUT:
        log.warning("%d samples are too few to hold some back: tested on the calibration data", data.samples.count)
        return data, data
    return data.split(HELD_OUT)
