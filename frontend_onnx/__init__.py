"""ONNX models -> graphs."""

from .custom import check_used
from .dims import Range, named_dimensions
from .fixed_inputs import with_constant_inputs, with_fixed_inputs
from .importer import import_model, tensor_interface
from .interface import TensorInterface
from .load import load_model
from .states import extents_of_states, with_states

__all__ = [
    "Range", "TensorInterface", "check_used", "extents_of_states", "import_model", "load_model", "named_dimensions",
    "tensor_interface", "with_constant_inputs", "with_fixed_inputs", "with_states",
]  # fmt: skip
