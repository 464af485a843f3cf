"""What the nodes of one graph or function body can see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import DType
from ..record import record
from .declared import Declared, Extents

EQUIVALENTS = {
    ("com.microsoft", "DequantizeLinear"): 21,
    ("com.microsoft", "Gelu"): 20,
    ("com.microsoft", "QuantizeLinear"): 21,
}
"""Operators of other domains that do what one of the default domain does from that version on.

ONNX Runtime's quantizer writes the linear ones for 16-bit types where the model's operator set is older than 21.
"""

DOMAINS = ("ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
"""Domains of ONNX besides the default one."""


def schema_domain(node: onnx.NodeProto) -> str:
    """The domain with the schema of a node's operator: one of ONNX's own."""
    return node.domain if node.domain in DOMAINS else ""


def qualified(node: onnx.NodeProto) -> str:
    """The operator's name, with its domain where that is not the default one (or stands for it)."""
    return f"{node.domain}.{node.op_type}" if node.domain in DOMAINS else node.op_type


class Missing(Enum):
    """Instead of a value: an operand that is left out, or one that an unsupported operator should have made."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


@record
class TensorList:
    """An ONNX sequence of tensors. ``dtype`` is ``None`` where it is empty and nothing tells.

    An optional is what it holds, or :attr:`Missing.ABSENT`.
    """

    elements: tuple[Value, ...]
    dtype: DType | None = None


@record
class StackedList:
    """An ONNX sequence whose length a run tells: its tensors, which have one type, are the ``rows`` of one."""

    rows: Value


@record
class GrowingList:
    """In the body of a loop, the sequence that it is given and what is behind that; nothing looks into it.

    ``base`` names the first; ``rows`` are tensors, each with some elements of the sequence along its first axis. With
    constants in the place of the values ``deciding`` it would be an ordinary one.
    """

    base: str
    deciding: tuple[str, ...]
    rows: tuple[Value, ...] = ()


AnyList = TensorList | StackedList | GrowingList

Operand = Value | AnyList
"""What a node reads, where it is there."""

Bound = Operand | Missing
"""What an ONNX name stands for."""


def parts(bound: Bound) -> tuple[Value, ...]:
    """The tensors of what a name stands for."""
    match bound:
        case TensorList():
            return bound.elements
        case GrowingList():
            return bound.rows
        case StackedList():
            return (bound.rows,)
    return (bound,) if isinstance(bound, Value) else ()


def with_parts(bound: Bound, values: Sequence[Value]) -> Bound:
    """``bound`` with other tensors, as many as it has."""
    match bound:
        case TensorList():
            return TensorList(tuple(values), bound.dtype)
        case GrowingList():
            return replace(bound, rows=tuple(values))
        case StackedList():
            return StackedList(values[0])
    return values[0] if isinstance(bound, Value) else bound


@dataclass
class Scope:
    """``values`` are the ONNX names bound so far, ``names`` the IR names that some of them are to get.

    ``wanted`` are the names that a node reads or that leave the graph: a result that is none of them is not computed.
    ``attributes`` are those of the function call that the body belongs to, ``path`` its node's name; ``place`` is the
    node whose branch or body this is.
    """

    opsets: Mapping[str, int]
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)
    parent: Scope | None = None
    path: str = ""
    place: str = ""
    depth: int = 0
    values: dict[str, Bound] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    declared: Declared | None = None

    def declare(self, nodes: Sequence[onnx.NodeProto], find: Callable[[], Mapping[str, Extents]]) -> None:
        """Says where the declared shapes of the values of ``nodes`` are found."""
        self.declared = Declared(nodes, find, self.known_extents)

    def known_extents(self, name: str) -> Extents | None:
        """The shape of a value that is imported already, or stored."""
        value = self.values.get(name)
        if isinstance(value, Value):
            return value.shape
        return tuple(self.initializers[name].dims) if name in self.initializers else None

    def extents(self, name: str) -> Extents | None:
        """What the model declares of the shape of a value, or ONNX's inference finds."""
        return None if self.declared is None else self.declared.extents(name)

    def owner(self, name: str, loc: str) -> Scope:
        """The innermost scope that defines ``name``."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values or name in scope.initializers:
                return scope
            scope = scope.parent
        raise CcmlError(ErrorCode.INVALID_MODEL, f"reads '{name}', which nothing before it defines", loc=loc)

    def locate(self, node: onnx.NodeProto, index: int) -> str:
        """Where a node is: its name, or for want of one its operator and number; in a function the call's too."""
        outer = self.path if node.name else self.place
        own = node.name or f"{node.op_type}_{index}"
        return f"{outer}/{own}" if outer else own

    def opset_of(self, node: onnx.NodeProto) -> int | None:
        """The version of the operator set of ONNX that says what a node does; ``None`` for domains of others."""
        if node.domain in ("", "ai.onnx", *DOMAINS):
            return self.opsets.get(schema_domain(node))
        return EQUIVALENTS.get((node.domain, node.op_type))

    def resolved_attributes(self, node: onnx.NodeProto) -> dict[str, onnx.AttributeProto]:
        """The node's attributes; references to attributes of the function call are followed, or left out if unset."""
        found = {}
        for attribute in node.attribute:
            source = self.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if source is not None:
                found[attribute.name] = onnx.AttributeProto()
                found[attribute.name].CopyFrom(source)
                found[attribute.name].name = attribute.name
        return found


Results = Sequence[Bound]
"""What a node's outputs are; trailing optional ones may be left out."""


@record
class Site:
    """A node where it stands, with its operands and attributes resolved.

    ``inputs`` are the operands that are tensors, ``lists`` those that are sequences, by their positions.
    """

    node: onnx.NodeProto
    attributes: Mapping[str, onnx.AttributeProto]
    inputs: tuple[Value | None, ...]
    opset: int
    loc: str
    scope: Scope
    lists: Mapping[int, AnyList] = field(default_factory=dict)

    def operand(self, position: int) -> Operand | None:
        """An operand, or ``None`` where it is absent."""
        return self.lists.get(position) or (self.inputs[position] if position < len(self.inputs) else None)

    def bound(self, position: int) -> Bound:
        """What a formal of a body stands for that gets an operand."""
        operand = self.operand(position)
        return Missing.ABSENT if operand is None else operand

    def declared(self, position: int) -> Extents | None:
        """What the model says of the shape of an output."""
        outputs = self.node.output
        named = position < len(outputs) and outputs[position]
        return self.scope.extents(outputs[position]) if named else None
