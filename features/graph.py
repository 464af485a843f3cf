"""An ONNX graph of features under construction, and the model that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from .. import __version__
from ..frontend_onnx.feature_function import DOMAIN, OPSET
from ..frontend_onnx.node_writer import NodeWriter
from ..record import record

IR_VERSION = 9


@record
class Tensor:
    """An input or output of the graph; ``note`` says what its numbers are."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    note: str = ""

    def proto(self) -> onnx.ValueInfoProto:
        element = int(helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)))
        return helper.make_tensor_value_info(self.name, element, self.shape, self.note)


class FeatureWriter(NodeWriter):
    """Nodes are called after :attr:`stage`, the step of the features that they are part of."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = "features"

    def emit_all(self, op_type: str, operands: Sequence[str], outputs: int, **attributes: Any) -> list[str]:
        first = len(self.nodes)
        super().emit_all(op_type, operands, outputs, **attributes)
        node = self.nodes[first]
        node.name = f"features/{self.stage}/{op_type}_{first}"
        node.output[:] = [f"features/{name}" for name in node.output]
        return list(node.output)

    def renamed(self, x: str, name: str) -> None:
        """Gives ``x`` the name of an output of the graph."""
        self.nodes.append(helper.make_node("Identity", [x], [name], name=f"features/{name}"))


@dataclass
class FeatureGraph:
    """What a writer made. ``states`` pairs inputs with the outputs that they are in the next run; ``features`` is the
    output that a model goes on with, whose numbers times ``scale`` are the features."""

    writer: FeatureWriter
    inputs: list[Tensor]
    outputs: list[Tensor]
    states: list[tuple[str, str]] = field(default_factory=list)
    scale: float = 1.0
    functions: list[onnx.FunctionProto] = field(default_factory=list)

    @property
    def features(self) -> Tensor:
        return self.outputs[0]

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.writer.nodes, "feature_graph", [tensor.proto() for tensor in self.inputs],
            [tensor.proto() for tensor in self.outputs],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", OPSET)]
        if self.functions:
            opsets.append(helper.make_opsetid(DOMAIN, 1))
        return helper.make_model(
            graph, functions=self.functions, opset_imports=opsets, ir_version=IR_VERSION, producer_name="ccml",
            producer_version=__version__,
        )  # fmt: skip
