"""ONNX models -> graphs."""

from .custom import check_used
from .dims import Range
from .fixed_inputs import with_constant_inputs, with_fixed_inputs
from .importer import import_model, tensor_interface
from .interface import TensorInterface
from .load import load_model
from .states import with_states

__all__ = [
    "Range", "TensorInterface", "check_used", "import_model", "load_model", "tensor_interface", "with_constant_inputs",
    "with_fixed_inputs", "with_states",
]  # fmt: skip
