"""From ``dequantize -> operator -> quantize`` to integer operators; ``integerizer.py`` is the pass."""

from .integerizer import integerize, integerize_with_report
from .report import Kept

__all__ = ["Kept", "integerize", "integerize_with_report"]
