"""How a model is to be quantized."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType


class RangeMethod(StrEnum):
    """How the range of an activation is found from the values that were observed.

    * ``AUTO``: ``MIN_MAX``, or what makes surely less noise at the outputs; ``MSE`` of models too large to try that.
    * ``MIN_MAX``: the least and the largest value.
    * ``MOVING_AVERAGE``: averages of the least and the largest value of each sample.
    * ``PERCENTILE``: what lies beyond a percentile on either side saturates.
    * ``ENTROPY``: the range of least Kullback-Leibler divergence.
    * ``MSE``: the range of least squared error.
    """

    AUTO = "auto"
    MIN_MAX = "min-max"
    MOVING_AVERAGE = "moving-average"
    PERCENTILE = "percentile"
    ENTROPY = "entropy"
    MSE = "mse"


class Mode(StrEnum):
    """What is stored as integers.

    * ``INT8``: activations and weights.
    * ``WEIGHTS8``, ``WEIGHTS4``: the weights of matrix products alone, with 8 or 4 bits.
    """

    INT8 = "int8"
    WEIGHTS8 = "weights8"
    WEIGHTS4 = "weights4"


class Precision(StrEnum):
    """The precision of one layer.

    * ``INT8``: 8-bit activations.
    * ``INT16``: the result of the layer has 16 bits.
    * ``FLOAT``: the layer computes in float.
    """

    INT8 = "int8"
    INT16 = "int16"
    FLOAT = "float"


ACTIVATIONS: Mapping[str, tuple[DType, bool]] = {
    "int8": (DType.I8, False),
    "uint8": (DType.U8, False),
    "symmetric": (DType.I8, True),
    "int16": (DType.I16, True),
}
"""Names of ways to store activations: the element type, and whether the zero point is fixed at the middle."""


@dataclass(frozen=True)
class LayerOptions:
    """What differs for one layer. ``None`` is as for the others.

    ``precision``, ``range_method`` and ``percentile`` are about the layer's result (of a model input: the input), the
    others about its weights.
    """

    precision: Precision | None = None
    range_method: RangeMethod | None = None
    percentile: float | None = None
    adaptive_rounding: bool | None = None
    bias_correction: bool | None = None
    weight_bits: int | None = None

    @staticmethod
    def from_table(name: str, table: Mapping[str, object]) -> LayerOptions:
        """``[quantize.layers."NAME"]`` of ccml.toml: precision, range, percentile, rounding, bias-correction,
        weight-bits.

        Raises ``BAD_OPTION`` that names the layer and the key.
        """
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _KEYS:
                raise _bad(name, f"there is no option '{key}'", f"there are {', '.join(_KEYS)}")
            attribute, convert, allowed = _KEYS[key]
            try:
                values[attribute] = convert(value)
            except (KeyError, TypeError, ValueError):
                raise _bad(name, f"{key} = {value!r} is not {allowed}") from None
        return LayerOptions(**values)


def _percentile(value: Any) -> float:
    if isinstance(value, bool) or not 50 <= value <= 100:
        raise ValueError
    return float(value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_KEYS: Mapping[str, tuple[str, Any, str]] = {
    "precision": ("precision", Precision, "one of " + ", ".join(p.value for p in Precision)),
    "range": ("range_method", RangeMethod, "one of " + ", ".join(m.value for m in RangeMethod)),
    "percentile": ("percentile", _percentile, "a number from 50 to 100"),
    "rounding": ("adaptive_rounding", {"adaptive": True, "nearest": False}.__getitem__, "adaptive or nearest"),
    "bias-correction": ("bias_correction", _boolean, "true or false"),
    "weight-bits": ("weight_bits", {16: 16, 8: 8, 4: 4}.__getitem__, "16, 8 or 4"),
}

_ORDINARY = LayerOptions()


@dataclass(frozen=True)
class QuantizeOptions:
    """How a model is quantized. The defaults are what measured best over all models of the model set.

    What is about activations has no effect where ``mode`` quantizes weights alone.

    ``activations`` is ``int8``, ``uint8``, ``symmetric`` or ``int16``; ``weight_bits`` 8, or 4 for convolutions and
    matrix products but for channels that lose much by it; ``percentile`` (50..100) is for the range method
    of that name. ``integer_io`` makes the model's inputs and outputs integers. ``min_sqnr`` (dB, at the outputs) and
    ``max_accuracy_drop`` let the layers that lose most have 16 bits or stay in float. ``tuning_samples`` bounds the
    samples that weights are tuned on; ranges are found from all.
    """

    mode: Mode = Mode.INT8
    range_method: RangeMethod = RangeMethod.AUTO
    percentile: float = 99.99
    activations: str = "int8"
    weight_bits: int = 8
    per_channel: bool = True
    equalize: bool = True
    bias_correction: bool = True
    adaptive_rounding: bool = True
    integer_io: bool = False
    min_sqnr: float | None = None
    max_accuracy_drop: float | None = None
    tuning_samples: int = 64
    layers: Mapping[str, LayerOptions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.activations not in ACTIVATIONS:
            raise _bad(None, f"activations '{self.activations}' is not one of {', '.join(ACTIVATIONS)}")
        if not 50 <= self.percentile <= 100:
            raise _bad(None, f"percentile {self.percentile} is not between 50 and 100")
        if self.weight_bits not in (8, 4):
            raise _bad(None, f"weight_bits is {self.weight_bits}; it has to be 8 or 4")
        if self.tuning_samples < 1:
            raise _bad(None, f"tuning_samples is {self.tuning_samples}; it has to be positive")

    def layer(self, names: Iterable[str]) -> LayerOptions:
        """The options of a layer that goes by several names."""
        found = [self.layers[name] for name in names if name in self.layers] if self.layers else []
        if not found:
            return _ORDINARY
        merged = {
            item.name: next((v for v in (getattr(options, item.name) for options in found) if v is not None), None)
            for item in fields(LayerOptions)
        }
        return LayerOptions(**merged)

    def require_known_layers(self, names: Iterable[str]) -> None:
        """Raises ``BAD_OPTION`` for an override of a layer that the model does not have."""
        known = set(names)
        for name in self.layers:
            if name not in known:
                close = difflib.get_close_matches(name, known, 3) or sorted(known)[:3]
                raise _bad(name, "the model has no such layer", f"similar names: {', '.join(close)}")


def _bad(layer: str | None, reason: str, hint: str | None = None) -> CcmlError:
    loc = "quantization" if layer is None else f'[quantize.layers."{layer}"]'
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=loc, hint=hint)


DEFAULT_OPTIONS = QuantizeOptions()
