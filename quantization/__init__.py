"""Post-training quantization; ``quantize.py`` is the way through."""

from ..report.accuracy import Cost
from .candidates import Raise
from .mixed import MixedPrecision, Step
from .options import LayerOptions, Mode, Precision, QuantizeOptions, RangeMethod
from .quantize import QuantizedModel, prepare, quantize_graph

__all__ = [
    "Cost", "LayerOptions", "MixedPrecision", "Mode", "Precision", "QuantizeOptions", "QuantizedModel", "Raise",
    "RangeMethod", "Step", "prepare", "quantize_graph",
]  # fmt: skip
