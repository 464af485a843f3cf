"""What a quantization cost, as data: the ``accuracy`` section of report.json. Tables and the chart are views of it.

Signal-to-quantization-noise ratios are in decibels, ``10 log10(|float|^2 / |float - quantized|^2)`` over all test
samples; ``None`` stands for no noise at all. Shares are between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..record import record


@record
class InputRange:
    """The values that an input of the model had in the calibration data."""

    name: str
    least: float
    largest: float
    mean: float


@record
class LayerAccuracy:
    """A tensor that is stored quantized, and the layer that makes it.

    ``sqnr_db`` and ``cosine`` compare the running quantized model with the float model: they hold the noise of all
    layers before. ``own_sqnr_db`` is of the noise that this layer adds to correct inputs: by the rounding of its
    weights, of its result, and by clipping; ``cause`` names the largest of the three. ``saturation`` is the share of
    the float values that the stored type cannot reach. ``noise_share`` is the part of the layer in the sum of all own
    noise, and the order of the list; ``index`` is the place in the order of execution.
    """

    index: int
    layer: str
    tensor: str
    dtype: str
    sqnr_db: float | None
    own_sqnr_db: float | None
    cosine: float
    saturation: float
    noise_share: float
    cause: str | None
    mend: str | None = None


@record
class OutputAccuracy:
    """An output, end to end. ``top1_agreement``: samples whose largest value is at the same place, where it is one of
    several scores. ``equal``: elements that are the same, of an output that is no float; what else is said of such an
    output takes its integers for amounts, which places and classes are not."""

    name: str
    sqnr_db: float | None
    cosine: float
    max_abs: float
    top1_agreement: float | None
    equal: float | None = None


@record
class MetricAccuracy:
    """The user's metric, of the float and of the quantized model."""

    name: str
    float_value: float
    quantized_value: float


@record
class FloatLayer:
    """What is computed in float, and why."""

    layer: str
    op: str
    reason: str


@record
class RaisedLayer:
    """What was given more precision to reach the demanded quality: ``precision`` is ``int16`` (of its result),
    ``int16 weights``, ``int8 weights`` (where others have 4 bits) or ``float``. ``noise_share`` is its estimated part
    of the noise at the outputs."""

    layer: str
    precision: str
    noise_share: float


@record
class Cost:
    """Multiply-accumulates by the type of their operands (those with weights of 4 and of 16 bits are also among the
    others); bytes of weights, and of all stored tensors together; where a target is known, what compiling for it gave.
    """

    int8_macs: int
    int16_macs: int
    float_macs: int
    weight_bytes: int
    tensor_bytes: int
    int4_weight_macs: int = 0
    int16_weight_macs: int = 0
    cycles: int | None = None
    flash_bytes: int | None = None
    ram_bytes: int | None = None


@record
class Mixed:
    """Mixed precision: the layers raised, and the cost with all of them in 8 bits and as they are."""

    raised: list[RaisedLayer]
    before: Cost
    after: Cost


@dataclass(frozen=True)
class Accuracy:
    """What a quantization cost.

    ``held_out``: whether the test samples were kept back from the calibration data or came from another file.
    ``warnings`` say what is strange about the calibration data, on which all the other numbers rest.
    """

    calibration_samples: int
    test_samples: int
    held_out: bool
    outputs: list[OutputAccuracy]
    metric: MetricAccuracy | None
    layers: list[LayerAccuracy]
    float_layers: list[FloatLayer]
    mixed: Mixed | None = None
    inputs: list[InputRange] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
