"""ONNX models -> graphs."""

from .fixed_inputs import with_fixed_inputs
from .importer import import_model
from .load import load_model

__all__ = ["import_model", "load_model", "with_fixed_inputs"]
