"""Post-training quantization; ``quantize.py`` is the way through."""

from .mixed import Cost, MixedPrecision, Step
from .options import LayerOptions, Mode, Precision, QuantizeOptions, RangeMethod
from .quantize import QuantizedModel, prepare, quantize_graph

__all__ = [
    "Cost", "LayerOptions", "MixedPrecision", "Mode", "Precision", "QuantizeOptions", "QuantizedModel", "RangeMethod",
    "Step", "prepare", "quantize_graph",
]  # fmt: skip
