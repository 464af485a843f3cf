"""Post-training quantization; ``quantize.py`` is the way through."""

from .options import LayerOptions, Precision, QuantizeOptions, RangeMethod
from .quantize import QuantizedModel, prepare, quantize_graph

__all__ = [
    "LayerOptions", "Precision", "QuantizeOptions", "QuantizedModel", "RangeMethod", "prepare", "quantize_graph",
]  # fmt: skip
