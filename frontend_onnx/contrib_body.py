"""The function under construction that stands for one node of ONNX Runtime's own domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..ir.graph import Value
from .node_writer import NodeWriter

OPSET = 21
"""Of bodies that ask for no other."""


class Unsupported(Exception):  # noqa: N818
    """What a rule refuses; its text is the reason."""


class Body(NodeWriter):
    """Operands of the node have their position as name, absent ones none. ``declared`` tells what the model says of the
    shape of an output, and ``wanted`` which outputs the node has."""

    def __init__(
        self, node: onnx.NodeProto, operands: Sequence[Value | None],
        declared: Callable[[int], Sequence[int | None] | None],
    ) -> None:  # fmt: skip
        super().__init__()
        self.node = node
        self.operands = operands
        self.declared = declared
        self.inputs = [f"in{place}" for place in range(len(node.input))]
        self.wanted = [bool(name) for name in node.output]
        self.attributes: dict[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.opset = OPSET

    # ---- operands

    def input(self, place: int) -> str:
        """Its name; empty where it is absent."""
        return self.inputs[place] if place < len(self.inputs) and self.node.input[place] else ""

    def shape(self, place: int) -> tuple[int, ...]:
        return self._operand(place).shape

    def dtype(self, place: int) -> np.dtype:
        return self._operand(place).dtype.numpy

    def _operand(self, place: int) -> Value:
        value = self.operands[place] if place < len(self.operands) else None
        if value is None:
            raise ValueError(f"input {place} is missing")
        return value

    @property
    def rows(self) -> tuple[int, int]:
        """The first two dimensions of the first operand: batch and length of a sequence."""
        return self.shape(0)[0], self.shape(0)[1]

    def has(self, output: int) -> bool:
        """Whether the node has this output."""
        return output < len(self.wanted) and self.wanted[output]

    def text(self, name: str, default: str) -> str:
        value = self.attributes.get(name, default.encode())
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def refuse(self, *places: int) -> None:
        """Raises :class:`Unsupported` where one of these inputs is there."""
        for place in places:
            if self.input(place):
                raise Unsupported(f"its input {place}")

    # ---- nodes

    def number(self, value: float, place: int = 0) -> str:
        """A constant of the element type of an operand."""
        return self.constant(np.asarray(value, self.dtype(place)))

    def channels_first(self, x: str, place: int) -> str:
        """``x``, of the rank of an operand, whose channels are last."""
        rank = len(self.shape(place))
        return self.transpose(x, 0, rank - 1, *range(1, rank - 1))

    def channels_last(self, x: str, place: int) -> str:
        rank = len(self.shape(place))
        return self.transpose(x, 0, *range(2, rank), 1)

    def heads(self, x: str, length: int, heads: int, size: int) -> str:
        """``x[B, S, N * H]`` of so many tokens, heads and elements of a head as ``[B, N, S, H]``."""
        return self.transpose(self.reshape(x, -1, length, heads, size), 0, 2, 1, 3)

    def merged(self, x: str, length: int, width: int) -> str:
        """``x[B, N, S, H]`` as ``[B, S, N * H]`` of ``width`` columns."""
        return self.reshape(self.transpose(x, 0, 2, 1, 3), -1, length, width)

    def widened(self, place: int, columns: int) -> str:
        """The operand with as many columns: with zeros behind its own, or without what is too much."""
        x, (*ahead, extent) = self.input(place), self.shape(place)
        if extent >= columns:
            return x if extent == columns else self.slice(x, len(ahead), 0, columns)
        return self.emit("Pad", x, self.integers(*[0] * (2 * len(ahead) + 1), columns - extent))

    def wide(self, place: int) -> str:
        """The operand as float32; empty where it is absent."""
        return self.cast(self.input(place), np.float32) if self.input(place) else ""

    def silu(self, x: str, alpha: str = "") -> str:
        """x * sigmoid(alpha * x), without the factor where it is not named"""
        return self.emit("Mul", x, self.emit("Sigmoid", self.emit("Mul", x, alpha) if alpha else x))

    # ---- quantized operands

    def real(self, first: int, axis: int | None = None) -> str:
        """The operand at ``first``, whose scale and zero point follow it."""
        return self.emit("DequantizeLinear", *(self.input(first + place) for place in range(3)), axis=axis)

    def stored(self, value: str, first: int) -> str:
        """``value`` in the scale and with the zero point that begin at ``first``."""
        return self.emit("QuantizeLinear", value, self.input(first), self.input(first + 1))

    def function(self, results: Sequence[str]) -> onnx.FunctionProto:
        opsets = [helper.make_opsetid("", self.opset)]
        outputs = [result or f"absent{place}" for place, result in enumerate(results)]
        return helper.make_function(
            self.node.domain or "ai.onnx", self.node.op_type, self.inputs, outputs, self.nodes, opsets
        )


Rule = Callable[[Body], "str | Sequence[str]"]
"""Writes the body for one node and gives its result, or its results, empty where there is none."""
