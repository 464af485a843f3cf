"""Graph IR: SSA on tensors with static shapes.

A :class:`Graph` is a value. A pass takes one and returns another; nothing is changed in place. ``Node.op`` names a
row of the operator table (``ccml.ops.table``), which holds the node's type inference, meaning and lowering. The
invariants that hold between passes are listed in ``ir/verify.py``; the text form is in ``ir/graph_text.py``.

A ``fused`` node is a kernel to be: its attribute ``body`` is a Graph whose inputs and outputs correspond to the
node's, one anchor at most with the pointwise and view operators around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Union

import numpy as np

from ..record import record
from .extents import Extent
from .states import State
from .types import DType, TensorType

AttrValue = Union[int, float, bool, str, tuple[int, ...], tuple[float, ...], tuple[str, ...], DType, "Graph"]


@record
class Value:
    """A tensor: a name unique in its graph, and a type."""

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype


@record
class Node:
    """One operation. ``inputs`` holds ``None`` where an optional input is absent; ``loc`` is the ONNX node's name."""

    op: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attrs: Mapping[str, AttrValue] = field(default_factory=dict, hash=False)
    loc: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attrs", MappingProxyType(dict(self.attrs)))

    @cached_property
    def operands(self) -> tuple[Value, ...]:
        """The inputs that are present."""
        return tuple(value for value in self.inputs if value is not None)

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    def with_attrs(self, **changes: AttrValue) -> Node:
        return replace(self, attrs={**self.attrs, **changes})


def join_locs(*locs: str) -> str:
    """The ONNX nodes that one node stands for, each named once: ``conv1 + bn1``."""
    return " + ".join(dict.fromkeys(name for loc in locs for name in loc.split(" + ") if name))


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in topological order. ``constants`` maps the name of a value to its (read-only) array; ``extents`` says
    which dimensions of inputs and outputs have fewer elements in a run than their shapes tell, ``states`` which inputs
    are what the outputs of the run before were.

    Equality is structural, with constants compared by type, shape and bytes.
    """

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray] = field(default_factory=dict, hash=False)
    extents: tuple[Extent, ...] = ()
    states: tuple[State, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        same = self._parts() == other._parts()
        return same and all(_same_array(a, other.constants[name]) for name, a in self.constants.items())

    def _parts(self) -> tuple[object, ...]:
        """Everything but the content of constants."""
        sides = (self.inputs, self.outputs, self.extents, self.states)
        return (self.name, *sides, self.nodes, self.constants.keys())

    def __hash__(self) -> int:
        return hash((self.name, self.inputs, self.outputs, len(self.nodes)))

    @property
    def argument_extents(self) -> tuple[Extent, ...]:
        """The extents that each run is told: inputs hold them."""
        given = {value.name for value in self.inputs}
        return tuple(extent for extent in self.extents if extent.value in given)

    def constant(self, value: Value | None) -> np.ndarray | None:
        """The array behind ``value`` if it is a constant, else ``None``."""
        return None if value is None else self.constants.get(value.name)

    def with_nodes(self, nodes: Iterable[Node], **changes: object) -> Graph:
        return replace(self, nodes=tuple(nodes), **changes)  # type: ignore[arg-type]

    def producers(self) -> dict[str, Node]:
        """Value name -> the node that defines it."""
        return {value.name: node for node in self.nodes for value in node.outputs}

    @cached_property
    def _producers(self) -> dict[str, Node]:
        return self.producers()

    def producer(self, name: str) -> Node | None:
        """The node that defines a value, if one does."""
        return self._producers.get(name)

    def uses(self) -> dict[str, list[Node]]:
        """Value name -> the nodes that read it, in order; a node stands once for each operand position."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for value in node.operands:
                found.setdefault(value.name, []).append(node)
        return found

    def values(self) -> Iterator[Value]:
        """Every value that is defined: inputs, then node outputs. Constants are not among them."""
        yield from self.inputs
        for node in self.nodes:
            yield from node.outputs


def _same_array(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class NameSupply:
    """Hands out value names that the graph does not use yet."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}
        self._suffix = ""

    @staticmethod
    def of(graph: Graph) -> NameSupply:
        return NameSupply([*(value.name for value in graph.values()), *graph.constants])

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Names of what is only tried have another form, so that the others do not depend on how far that goes."""
        before, self._suffix = self._suffix, ".tried"
        try:
            yield
        finally:
            self._suffix = before

    def fresh(self, stem: str) -> str:
        """``stem`` itself where it is free, otherwise ``stem_1``, ``stem_2``, ..."""
        stem += self._suffix
        name, count = stem, self._next.get(stem, 0)
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._next[stem] = count
        self._taken.add(name)
        return name


class GraphBuilder:
    """Collects nodes and constants; infers the output types from the operator table's rules given by ``infer``.

    Used by the importer and by passes that insert nodes. ``infer(op, inputs, attrs)`` returns the output types;
    it is ``ccml.ops.table.infer_types`` everywhere outside tests.
    """

    def __init__(self, infer, names: NameSupply | None = None) -> None:  # type: ignore[no-untyped-def]
        self._infer = infer
        self.names = names or NameSupply()
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, array: np.ndarray, stem: str = "const") -> Value:
        """Adds a read-only, C-contiguous copy of ``array``."""
        data = np.array(array, order="C", copy=True)
        data.flags.writeable = False
        name = self.names.fresh(stem)
        self.constants[name] = data
        return Value(name, TensorType(DType.from_numpy(data.dtype), data.shape))

    def emit(
        self,
        op: str,
        inputs: Iterable[Value | None],
        attrs: Mapping[str, AttrValue] | None = None,
        *,
        loc: str = "",
        names: Iterable[str] | None = None,
    ) -> tuple[Value, ...]:
        """Appends a node; its outputs are called ``names`` (made unique), or after the operator."""
        operands = tuple(inputs)
        types = self._infer(op, operands, attrs or {}, loc)
        stems = list(names) if names is not None else [op] * len(types)
        outputs = tuple(Value(self.names.fresh(stem), type_) for stem, type_ in zip(stems, types, strict=True))
        self.nodes.append(Node(op, operands, outputs, attrs or {}, loc))
        return outputs

    def emit1(
        self, op: str, *inputs: Value | None, loc: str = "", name: str | None = None, **attrs: AttrValue
    ) -> Value:
        """``emit`` for an operator with one output."""
        (value,) = self.emit(op, inputs, attrs, loc=loc, names=None if name is None else [name])
        return value
