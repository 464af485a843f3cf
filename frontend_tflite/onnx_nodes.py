"""An ONNX graph that is being made: nodes, constants and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 21
IR_VERSION = 10
"""The first that quantize to 16 bits."""

Attribute = int | float | str | Sequence[int] | Sequence[float] | onnx.GraphProto | onnx.TensorProto | None


@dataclass
class Names:
    """Names that no other value of the model has."""

    taken: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)

    def fresh(self, wanted: str) -> str:
        name = wanted
        while name in self.taken:
            self._counts[wanted] = self._counts.get(wanted, 0) + 1
            name = f"{wanted}_{self._counts[wanted]}"
        self.taken.add(name)
        return name


@dataclass
class OnnxGraph:
    """The main graph, or the body of a node; ``names`` and ``constants`` are those of the whole model.

    Constants stand in the main graph, where bodies see them.
    """

    names: Names
    constants: dict[str, np.ndarray]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    loc: str = ""
    _shared: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def body(self) -> OnnxGraph:
        return OnnxGraph(self.names, self.constants, loc=self.loc, _shared=self._shared)

    def constant(self, array: np.ndarray, name: str = "constant") -> str:
        """The name of a constant; small equal ones are shared."""
        array = np.ascontiguousarray(array) if array.ndim else array
        key = (array.dtype.str, array.shape, array.tobytes()) if array.nbytes <= 256 else None
        if key is not None and key in self._shared:
            return self._shared[key]
        fresh = self.names.fresh(name)
        self.constants[fresh] = array
        if key is not None:
            self._shared[key] = fresh
        return fresh

    def emit_all(self, op_type: str, inputs: Sequence[str], outputs: int, **attributes: Attribute) -> list[str]:
        results = [self.names.fresh(f"{self.loc}/{op_type}") for _ in range(outputs)]
        node = helper.make_node(op_type, inputs, results, self.loc)
        node.attribute.extend(helper.make_attribute(n, value) for n, value in attributes.items() if value is not None)
        self.nodes.append(node)
        return results

    def emit(self, op_type: str, *inputs: str, **attributes: Attribute) -> str:
        return self.emit_all(op_type, inputs, 1, **attributes)[0]

    def proto(self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto],
              constants: bool = False) -> onnx.GraphProto:  # fmt: skip
        stored = [numpy_helper.from_array(a, key) for key, a in self.constants.items()] if constants else []
        return helper.make_graph(self.nodes, name, inputs, outputs, stored)


def rename(nodes: Iterable[onnx.NodeProto], names: Mapping[str, str]) -> None:
    """Values get other names, in bodies as well."""
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                rename(attribute.g.node, names)
                for value in attribute.g.output:
                    value.name = names.get(value.name, value.name)
