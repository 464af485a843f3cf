"""Nodes of an ONNX graph or function under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


class NodeWriter:
    """Appends nodes to :attr:`nodes`; results are called after the node's number, behind a ``prefix`` that tells those
    of a subgraph from those around it."""

    def __init__(self, prefix: str = "t") -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.prefix = prefix

    def emit(self, op_type: str, *operands: str, **attributes: Any) -> str:
        """The name of the one result."""
        return self.emit_all(op_type, operands, 1, **attributes)[0]

    def emit_all(self, op_type: str, operands: Sequence[str], outputs: int, **attributes: Any) -> list[str]:
        """The names of the results. Attributes that are ``None`` and empty operands at the end are left out."""
        names = list(operands)
        while names and not names[-1]:
            names.pop()
        given = {name: value for name, value in attributes.items() if value is not None}
        results = [f"{self.prefix}{len(self.nodes)}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(op_type, names, results, **given))
        return results

    def constant(self, array: np.ndarray | np.generic | float) -> str:
        return self.emit("Constant", value=numpy_helper.from_array(np.asarray(array)))

    def integers(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def reshape(self, x: str, *shape: int) -> str:
        return self.emit("Reshape", x, self.integers(*shape))

    def transpose(self, x: str, *perm: int) -> str:
        return self.emit("Transpose", x, perm=list(perm))

    def slice(self, x: str, axis: int, start: int, end: int) -> str:
        return self.emit("Slice", x, self.integers(start), self.integers(end), self.integers(axis))

    def cast(self, x: str, dtype: type[Any]) -> str:
        return self.emit("Cast", x, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))
