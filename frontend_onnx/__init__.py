"""ONNX models -> graphs."""

from .dims import Range
from .fixed_inputs import with_fixed_inputs
from .importer import import_model
from .load import load_model
from .states import with_states

__all__ = ["Range", "import_model", "load_model", "with_fixed_inputs", "with_states"]
