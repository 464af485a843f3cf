"""A second import of a model, at other extents of its ranged dimensions, that tells what depends on them.

Shapes are bounds, and what a model computes of them (shapes of reshapes, positions, masks) are constants. Where the two
imports have equal constants these do not depend on an extent; where one is a part of the other, it has that extent.
Functions that are constant for large numbers (comparisons, minima, what is rounded or saturates) make equal constants
of such that differ: these are compared with a third import, at the least extents.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, zip_longest

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Node, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import integer
from ..ops.control import BODIES, bodies_of
from ..record import record
from .dims import Range


@record
class Argument:
    """The extent of a ranged dimension ``symbol``: an input of the graph, which is called as the dimension is unless a
    tensor of the model is. ``probed`` is its extent in the second import."""

    symbol: str
    value: Value
    range: Range
    probed: int

    def at_least(self, extent: int) -> Argument:
        """With the least extent that is not below ``extent``, or the greatest, as that of the import."""
        step = self.range.step
        return replace(self, probed=min(-(-max(extent, self.range.least) // step) * step, self.range.most))

    @staticmethod
    def all_of(ranges: Mapping[str, Range], tensors: Container[str] = ()) -> list[Argument]:
        """Each has another extent in the second import, a multiple of its step as well. None is 1: operators whose
        extents are 1 may be imported as others."""
        found: list[Argument] = []
        taken: set[int] = set()
        for name, range_ in ranges.items():
            step = range_.step
            smaller = (extent for extent in range(range_.most - step, 1, -step) if extent not in taken)
            larger = (extent for extent in count(range_.most + step, step) if extent not in taken and extent > 1)
            probed = next(smaller, None) or next(larger)
            taken.add(probed)
            called = name
            while called in tensors:
                called += "_extent"
            found.append(Argument(name, Value(called, TensorType(DType.I64, ())), range_, probed))
        return found


@dataclass
class Probe:
    """What the second import made: its nodes by their results' names, constants and extents by theirs, and how
    constants were computed: operator, operands, attributes."""

    nodes: Mapping[str, Node]
    constants: Mapping[str, np.ndarray]
    extents: Mapping[str, Mapping[int, Value]]
    folded: Mapping[str, tuple[str, Sequence[Value | None], Mapping[str, AttrValue]]] = field(default_factory=dict)
    at_least: Callable[[], Probe | None] = lambda: None
    """The third import; ``None`` where there is no lesser extent, or the model is none there."""
    _known: dict[str, dict[int, Value]] = field(default_factory=dict)
    _doubtful: dict[str, bool] = field(default_factory=dict)

    def constant(
        self, name: str, constants: Mapping[str, np.ndarray], arguments: Sequence[Argument], loc: str
    ) -> dict[int, Value]:
        """The extents of one of the ``constants`` of the first import, which are among the ``arguments``. Raises
        ``UNSUPPORTED_FEATURE`` where it depends on extents in another way."""
        if MARK in name:
            return {}
        if name not in self._known:
            self._known[name] = self._compared(name, constants[name], arguments, loc)
            if self._in_doubt(name, constants) and self._differs_at_least(name, constants[name], self._known[name]):
                del self._known[name]
                raise depends(f"the constant {name}", loc)
        return self._known[name]

    def _in_doubt(self, name: str, constants: Mapping[str, np.ndarray]) -> bool:
        """Whether a constant that is equal in both imports was computed of one that is not, by more than a move of
        elements, or of one in doubt."""
        left = [name]
        while left:
            if left[-1] in self._doubtful:
                left.pop()
                continue
            op, operands = self._made_by(left[-1])
            own = [value for value in operands if value is not None]
            before = [value.name for value in own if value.name not in self._doubtful]
            if before:
                left += before
                continue
            differ = [value for value in own if not self._is_in_both(value.name, constants)]
            moved = op in _MOVES or (op == "gather" and differ == own[:1])
            doubtful = bool(differ and not moved) or any(self._doubtful[value.name] for value in own)
            self._doubtful[left.pop()] = doubtful
        return self._doubtful[name]

    def _made_by(self, name: str) -> tuple[str, Sequence[Value | None]]:
        """How a constant was computed, or a value of integers that stay such in the graph."""
        if name in self.folded:
            return self.folded[name][:2]
        node = self.nodes.get(name)
        return ("", ()) if node is None else (node.op, node.inputs)

    def _is_in_both(self, name: str, constants: Mapping[str, np.ndarray]) -> bool:
        one, other = constants.get(name), self.constants.get(name)
        return one is other or (one is not None and other is not None and np.array_equal(one, other, equal_nan=True))

    def _differs_at_least(self, name: str, array: np.ndarray, extents: Mapping[int, Value]) -> bool:
        """Whether the third import computes a constant likewise, and finds another one."""
        third = self.at_least()
        other = None if third is None else third.constants.get(name)
        if third is None or other is None or _names(third, name) != _names(self, name):
            return False
        if other.ndim != array.ndim or other.dtype != array.dtype:
            return True
        pairs = enumerate(zip(array.shape, other.shape))
        common = tuple(slice(0, min(sizes)) for sizes in zip(array.shape, other.shape))
        moved = any(one != two and axis not in extents for axis, (one, two) in pairs)
        return moved or array[common].tobytes() != other[common].tobytes()

    def _compared(
        self, name: str, array: np.ndarray, arguments: Sequence[Argument], loc: str
    ) -> dict[int, Value]:
        other = self.constants.get(name)
        if other is array:
            return {}
        if other is None or other.ndim != array.ndim or other.dtype != array.dtype:
            raise depends(f"the constant {name}", loc)
        found: dict[int, Value] = {}
        for axis, sizes in enumerate(zip(array.shape, other.shape)):
            if sizes[0] != sizes[1]:
                fitting = [a for a in arguments if (a.range.most, a.probed) == sizes]
                if len(fitting) != 1:
                    raise depends(f"the constant {name}", loc)
                found[axis] = fitting[0].value
        common = tuple(slice(0, min(sizes)) for sizes in zip(array.shape, other.shape))
        if array[common].tobytes() != other[common].tobytes():
            raise depends(f"the constant {name}", loc)
        return found

    def is_part(self, name: str, array: np.ndarray, arguments: Sequence[Argument]) -> bool:
        """Whether what the second import has by that name is the same, or a part that ends with extents."""
        try:
            self._compared(name, array, arguments, "")
        except CcmlError:
            return False
        return True

    def folds_alike(self, name: str, op: str, attrs: Mapping[str, AttrValue]) -> bool:
        """Whether a constant is computed the same way whatever extents are: of operands that may depend on them, by an
        operator whose attributes do not, but for those that say the shape of the result."""
        other, _, others = self.folded.get(name, ("", (), {}))
        return op == other and all(key in _SHAPES or others.get(key) == attr for key, attr in attrs.items())

    def check(
        self, nodes: Sequence[Node], extents: Mapping[str, Mapping[int, Value]], known: Container[str],
        probed: Callable[[Value], int | None],
    ) -> None:  # fmt: skip
        """Raises ``UNSUPPORTED_FEATURE`` for a node whose results or attributes depend on extents in another way than
        ``extents`` says; ``probed`` tells what an extent is in the second import, if that is known. Of nodes whose
        results are ``known``, and of what is a constant there, the shapes alone are compared."""
        for node in nodes:
            for _, body in bodies_of(node):
                self.check(body.nodes, extents, known, probed)
            if MARK in node.outputs[0].name:
                continue
            twin = self.nodes.get(node.outputs[0].name)
            constant = self.constants.get(node.outputs[0].name)
            if constant is not None:
                self._check_shape(node.outputs[0], constant.shape, extents, probed, node.loc)
                continue
            if node.outputs[0].name in known:  # the second import may have another value in the place of it
                for value, other in zip(node.outputs, () if twin is None else twin.outputs):
                    self._check_shape(value, other.shape, extents, probed, node.loc)
                continue
            if twin is None or not self._same_operands(node, twin):
                raise depends(f"what {node.op} is given", node.loc)
            for value, other in zip(node.outputs, twin.outputs):
                self._check_shape(value, other.shape, extents, probed, node.loc)
            if twin.op == node.op:
                for name, attr in node.attrs.items():
                    if name not in (*_SHAPES, *_elsewhere(node)) and twin.attrs.get(name) != attr:
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
        own = {"if": 1, "loop": 2 + integer(node.attrs, "states") if node.op == "loop" else 0}.get(node.op)
        pairs = zip_longest(node.inputs[:own], twin.inputs[:own])  # others are named within the graphs of the node
        return all(
            (one is None and other is None) or (one is not None and (MARK in one.name or _named(one, other)))
            for one, other in pairs
        )

    def _check_shape(
        self, value: Value, other: Sequence[int], extents: Mapping[str, Mapping[int, Value]],
        probed: Callable[[Value], int | None], loc: str,
    ) -> None:  # fmt: skip
        found, bounds = extents.get(value.name, {}), self.extents.get(value.name, {})
        expected = [
            size if axis not in found else None if axis in bounds else probed(found[axis])
            for axis, size in enumerate(value.shape)
        ]
        if len(expected) != len(other) or any(e is not None and e != p for e, p in zip(expected, other)):
            raise depends(f"the shape of {value.name}", loc)


def _names(probe: Probe, name: str) -> tuple[str, list[str | None]]:
    op, operands, _ = probe.folded.get(name, ("", (), {}))
    return op, [None if value is None else value.name for value in operands]


_MOVES = frozenset({"slice", "reshape", "transpose", "concat", "expand"})
"""Operators whose results are elements of their operands, whatever is in these."""


def named_nodes(nodes: Sequence[Node]) -> Iterator[tuple[str, Node]]:
    """Nodes by the names of their results, those of control flow as well."""
    for node in nodes:
        yield from ((value.name, node) for value in node.outputs)
        for _, body in bodies_of(node):
            yield from named_nodes(body.nodes)


MARK = ".extent"
"""In the names of values that follow from extents, which the second import has not."""


def _named(one: Value, other: Value | None) -> bool:
    return other is not None and (one.name == other.name or MARK in other.name)


def _elsewhere(node: Node) -> tuple[str, ...]:
    """Attributes that are compared by what is in them, and the limit of a loop that ends with an extent before."""
    ends = ("limit",) if node.op == "loop" and node.inputs[0] is not None else ()
    return (*BODIES.get(node.op, ()), *ends)


_SHAPES = frozenset({"shape", "sizes"})
"""Attributes that say the shape of a result."""


def depends(what: str, loc: str) -> CcmlError:
    reason = f"{what} depends on the extent of a ranged dimension"
    hint = "fix that dimension with --dim NAME=N"
    return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc, hint=hint)
