"""What an export rule writes with: ONNX nodes in order, and initializers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Graph, NameSupply, Node
from ..ir.types import DType
from ..ops.attributes import integer, ints, number, text
from ..record import record
from .tensors import DTYPES

ELEMENT_TYPES = {
    dtype: number
    for number, dtype in DTYPES.items()
    if number <= TensorProto.INT4 and number != TensorProto.STRING
}
"""Those that operator set 21 has."""


@record
class ExportContext:
    """One node of the graph, and the ONNX graph under construction."""

    node: Node
    graph: Graph
    nodes: list[onnx.NodeProto]
    constants: dict[str, np.ndarray]
    values: NameSupply
    names: NameSupply
    packed: set[str]
    """Constants that are written with 4 bits an element."""
    wide: bool
    """Whether the operator set is the one that has 4 and 16 bits."""

    def inputs(self) -> list[str]:
        """The operands' names, empty where absent; trailing absent ones are left out."""
        found = ["" if value is None else value.name for value in self.node.inputs]
        while found and not found[-1]:
            found.pop()
        return found

    def outputs(self) -> list[str]:
        return [value.name for value in self.node.outputs]

    @property
    def dtype(self) -> np.dtype:
        """The element type of the first operand."""
        return self.node.operands[0].dtype.numpy

    def ints(self, name: str) -> tuple[int, ...]:
        return ints(self.node.attrs, name)

    def integer(self, name: str) -> int:
        """An int, or a bool as 0 or 1."""
        return int(integer(self.node.attrs, name))

    def number(self, name: str) -> float:
        return number(self.node.attrs, name)

    def string(self, name: str) -> str:
        return text(self.node.attrs, name)

    def attr(self, name: str) -> AttrValue:
        return self.node.attrs[name]

    def emit(self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | None = None, **attrs: object) -> str:
        """Adds a node and returns its first output, which has a name of its own unless ``outputs`` are given."""
        results = [self.values.fresh(f"{self.node.outputs[0].name}.{op_type}")] if outputs is None else list(outputs)
        stem = self.node.loc or self.node.outputs[0].name
        name = self.names.fresh(f"{stem}/{op_type}" if op_type in _BORDERS else stem)
        self.nodes.append(helper.make_node(op_type, list(inputs), results, name=name, **attrs))  # type: ignore[arg-type]
        return results[0]

    def copy(self, node: onnx.NodeProto, outputs: Sequence[str]) -> None:
        """Adds ``node`` with the operands of this one and these outputs, empty where one is left out."""
        named = onnx.NodeProto(name=self.names.fresh(self.node.loc or self.node.outputs[0].name))
        named.MergeFrom(node)
        named.input.extend(self.inputs())
        named.output.extend(outputs)
        self.nodes.append(named)

    def constant(self, array: np.ndarray, stem: str) -> str:
        """Adds an initializer."""
        name = self.values.fresh(f"{self.node.outputs[0].name}.{stem}")
        self.constants[name] = np.asarray(array)
        return name

    def int4(self, array: np.ndarray, stem: str) -> str:
        """Adds an initializer of integers from -8 to 7."""
        name = self.constant(array, stem)
        self.packed.add(name)
        return name

    def int64(self, numbers: Sequence[int], stem: str) -> str:
        return self.constant(np.array(numbers, np.int64), stem)

    def scalar(self, number: float, stem: str) -> str:
        """A number of the first operand's type."""
        return self.constant(np.asarray(number, self.dtype), stem)

    def window(self) -> dict[str, Sequence[int]]:
        """The attributes of a window but for its extents."""
        names = {"strides": "stride", "pads": "pad", "dilations": "dilation"}
        return {onnx_name: self.ints(name) for onnx_name, name in names.items()}

    def channels_first(self) -> str:
        """The first operand, whose channels are last, with these in front."""
        x = self.node.operands[0]
        rank = len(x.shape)
        return self.emit("Transpose", [x.name], perm=(0, rank - 1, *range(1, rank - 1)))

    def put_channels_last(self, y: str) -> None:
        """``y``, whose channels are in front, as the output, whose channels are last."""
        rank = len(self.node.output.shape)
        self.emit("Transpose", [y], self.outputs(), perm=(0, *range(2, rank), 1))

    def element_type(self, dtype: DType) -> int:
        """As ONNX has it. Raises ``UNSUPPORTED_FEATURE`` for what only later operator sets have."""
        if dtype not in ELEMENT_TYPES:
            raise self.unsupported(f"operator set 21 has no {dtype.value}")
        return ELEMENT_TYPES[dtype]

    def unsupported(self, reason: str) -> CcmlError:
        loc = self.node.loc or self.node.outputs[0].name
        return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"export: {reason}", loc=loc)


_BORDERS = ("QuantizeLinear", "DequantizeLinear")
"""Nodes beside the one that they are named after."""
