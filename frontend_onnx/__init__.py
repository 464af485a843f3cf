"""ONNX models -> graphs."""

from .importer import import_model
from .load import load_model

__all__ = ["import_model", "load_model"]
