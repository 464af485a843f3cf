"""A second import of a model, at other extents of its ranged dimensions, that tells what depends on them.

Shapes are bounds, and what a model computes of them (shapes of reshapes, positions, masks) are constants. Where the two
imports have equal constants these do not depend on an extent; where one is a part of the other, it has that extent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Node, Value
from ..ir.types import DType, TensorType
from .dims import Range


@dataclass(frozen=True)
class Argument:
    """The extent of a ranged dimension: an input of the graph. ``probed`` is its extent in the second import."""

    value: Value
    range: Range
    probed: int

    @staticmethod
    def of(name: str, range_: Range, number: int) -> Argument:
        """Equal bounds have different extents in the second import, by the ``number`` of the argument. None is 1:
        operators whose extents are 1 may be imported as others."""
        probed = range_.most - 1 - number
        probed = probed if probed > 1 else range_.most + 1 + number
        return Argument(Value(name, TensorType(DType.I64, ())), range_, probed)


@dataclass
class Probe:
    """What the second import made: its nodes by their results' names, constants and shapes by theirs."""

    arguments: Sequence[Argument]
    nodes: Mapping[str, Node]
    constants: Mapping[str, np.ndarray]
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Extents that follow from arguments, by name: at the bounds, and in the second import."""

    _known: dict[str, dict[int, Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers |= {a.value.name: (a.range.most, a.probed) for a in self.arguments}

    def least(self, count: Value) -> int:
        """The least extent that an argument may have; 0 for other extents."""
        return next((a.range.least for a in self.arguments if a.value.name == count.name), 0)

    def constant(self, name: str, array: np.ndarray, loc: str) -> dict[int, Value]:
        """The extents of a constant. Raises ``UNSUPPORTED_FEATURE`` where it depends on extents in another way."""
        if MARK in name:
            return {}
        if name not in self._known:
            self._known[name] = self._compared(name, array, loc)
        return self._known[name]

    def _compared(self, name: str, array: np.ndarray, loc: str) -> dict[int, Value]:
        other = self.constants.get(name)
        if other is array:
            return {}
        if other is None or other.ndim != array.ndim or other.dtype != array.dtype:
            raise depends(f"the constant {name}", loc)
        found: dict[int, Value] = {}
        for axis, sizes in enumerate(zip(array.shape, other.shape)):
            if sizes[0] != sizes[1]:
                fitting = [a for a in self.arguments if (a.range.most, a.probed) == sizes]
                if len(fitting) != 1:
                    raise depends(f"the constant {name}", loc)
                found[axis] = fitting[0].value
        common = tuple(slice(0, min(sizes)) for sizes in zip(array.shape, other.shape))
        if array[common].tobytes() != other[common].tobytes():
            raise depends(f"the constant {name}", loc)
        return found

    def check(self, nodes: Sequence[Node], extents: Mapping[str, Mapping[int, Value]]) -> None:
        """Raises ``UNSUPPORTED_FEATURE`` for a node whose results or attributes depend on extents in another way than
        ``extents`` says."""
        for node in nodes:
            if MARK in node.outputs[0].name:
                continue
            twin = self.nodes.get(node.outputs[0].name)
            if twin is None or not self._same_operands(node, twin):
                raise depends(f"what {node.op} is given", node.loc)
            for value, other in zip(node.outputs, twin.outputs):
                self._check_shape(value, other.shape, extents.get(value.name, {}), node.loc)
            if twin.op == node.op:
                for name, attr in node.attrs.items():
                    if name not in _SHAPES and twin.attrs.get(name) != attr:
                        raise depends(f"{name} of {node.op}", node.loc)

    def check_outputs(self, values: Sequence[Value], probed: Sequence[Value]) -> None:
        """Raises ``UNSUPPORTED_FEATURE`` where the model's outputs are other values in the second import."""
        for value, other in zip(values, probed, strict=True):
            if value.name != other.name and MARK not in value.name:
                raise depends(f"the output {value.name}", value.name)

    @staticmethod
    def _same_operands(node: Node, twin: Node) -> bool:
        if all(value is None or MARK in value.name for value in node.inputs):
            return True
        pairs = zip_longest(node.inputs, twin.inputs)
        return all(
            (one is None and other is None) or (one is not None and (MARK in one.name or _named(one, other)))
            for one, other in pairs
        )

    def _check_shape(self, value: Value, probed: Sequence[int], extents: Mapping[int, Value], loc: str) -> None:
        expected = [
            self.numbers.get(extents[axis].name, (0, None))[1] if axis in extents else size
            for axis, size in enumerate(value.shape)
        ]
        if len(expected) != len(probed) or any(e is not None and e != p for e, p in zip(expected, probed)):
            raise depends(f"the shape of {value.name}", loc)


MARK = ".extent"
"""In the names of values that follow from extents, which the second import has not."""


def _named(one: Value, other: Value | None) -> bool:
    return other is not None and one.name == other.name


_SHAPES = frozenset({"shape", "sizes"})
"""Attributes that say the shape of a result."""


def depends(what: str, loc: str) -> CcmlError:
    reason = f"{what} depends on the extent of a ranged dimension"
    hint = "fix that dimension with --dim NAME=N"
    return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc, hint=hint)
