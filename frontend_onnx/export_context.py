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

ELEMENT_TYPES: dict[DType, int] = {
    DType.F64: TensorProto.DOUBLE, DType.F32: TensorProto.FLOAT, DType.F16: TensorProto.FLOAT16,
    DType.I64: TensorProto.INT64, DType.I32: TensorProto.INT32, DType.I16: TensorProto.INT16,
    DType.I8: TensorProto.INT8, DType.U64: TensorProto.UINT64, DType.U32: TensorProto.UINT32,
    DType.U16: TensorProto.UINT16, DType.U8: TensorProto.UINT8, DType.BOOL: TensorProto.BOOL,
    DType.BF16: TensorProto.BFLOAT16, DType.F8E4M3FN: TensorProto.FLOAT8E4M3FN,
    DType.F8E4M3FNUZ: TensorProto.FLOAT8E4M3FNUZ, DType.F8E5M2: TensorProto.FLOAT8E5M2,
    DType.F8E5M2FNUZ: TensorProto.FLOAT8E5M2FNUZ, DType.I4: TensorProto.INT4, DType.U4: TensorProto.UINT4,
}  # fmt: skip


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
