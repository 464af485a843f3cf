"""What a model remembers between runs: an input X and an output X_next, which the next run is given as X."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from .model import Tensor
from .onnx_nodes import Names

NEXT = "_next"


@dataclass
class States:
    """Variables by keys: the names that the file gives them. Those that a run does not change are constants."""

    names: Names
    changed: set[str] = field(default_factory=set)
    initial: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    inputs: dict[str, tuple[str, Tensor]] = field(default_factory=dict)
    current: dict[str, str] = field(default_factory=dict)

    def read(self, key: str, tensor: Tensor) -> str:
        """The value of a variable, of the type of ``tensor``. The first read makes it an input."""
        if key not in self.current:
            if key in self.initial and key not in self.changed:
                return self.initial[key][0]
            name = self.names.fresh(key)
            self.inputs[key] = name, tensor
            self.current[key] = name
        return self.current[key]

    def write(self, key: str, value: str) -> None:
        self.changed.add(key)
        self.current[key] = value

    def rename(self, old: str, new: str) -> None:
        """A value got another name."""
        self.current = {key: new if value == old else value for key, value in self.current.items()}

    def results(self) -> list[tuple[str, Tensor, str]]:
        """The name, type and value of each new state; what no run reads is not kept."""
        return [
            (self.names.fresh(f"{name}{NEXT}"), tensor, self.current[key])
            for key, (name, tensor) in self.inputs.items()
            if self.current[key] != name
        ]


def value_info(name: str, tensor: Tensor) -> ValueInfoProto:
    kind = TensorProto.UNDEFINED if tensor.type == "RESOURCE" else helper.np_dtype_to_tensor_dtype(tensor.dtype)
    return helper.make_tensor_value_info(name, kind, tensor.shape)
