"""The invariants of a graph, which hold between all passes.

- **G1** Inputs, constants and node outputs have one name space; a name is defined once and not empty.
- **G2** An operand is defined before its use (an input, a constant or the output of an earlier node), with one type.
- **G3** The graph's outputs are defined, with the same types.
- **G4** A constant is a read-only, C-contiguous array with the element type and shape that its uses declare.
- **G5** Shapes are tuples of ints that are not negative; ``index`` is not an element type.
- **G6** Quantization parameters belong to an integer type; scales are positive and finite, zero points within range;
  one of each for the tensor, or one of each per index of ``axis``.
- **G7** The operator is a row of the operator table, and the outputs have the types that the table infers.
- **G8** A ``fused`` node has one Graph, ``body``, whose inputs and outputs have the types of the node's, in order.
- **G9** Every nested graph keeps these invariants on its own; it sees no names of the graph around it.
- **G10** Attributes are named by strings and hold the types of ``AttrValue``: plain Python numbers, not NumPy's.
- **G11** ``loc`` and ``op`` are strings, ``op`` not empty.
- **G12** A node has the attributes that its row of the operator table names, each of the type and in the range that
  the row gives, all that are required and no others.
- **G13** The value of an extent is an input or output of type i64[]. Its dimensions, each with one extent, are those of
  inputs and outputs, and their shapes say its bound, which is not below the least extent; this is not negative.
- **G14** A state is an input and an output of one element type and shape, in which one number stands for zero, and no
  extent has to do with them. No input and no output is in two states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn, Protocol

import numpy as np

from ..errors import CcmlError, ErrorCode
from .graph import AttrValue, Graph, Node, Value
from .states import can_be_state
from .types import DType, TensorType


class OperatorTable(Protocol):
    """What the verifier asks of ``ccml.ops.table``."""

    def __contains__(self, op: object, /) -> bool: ...

    def infer(
        self, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, AttrValue], loc: str
    ) -> tuple[TensorType, ...]: ...

    def attribute_complaint(self, op: str, attrs: Mapping[str, AttrValue]) -> str | None:
        """How the attributes of a node break what the row of ``op`` says of them, if they do."""
        ...


FUSED = "fused"


def verify_graph(graph: Graph, table: OperatorTable | None = None) -> None:
    """Raises ``CcmlError`` (IR_INVALID) with the number of the first broken invariant and the node's ``loc``.

    Without ``table``, G7 and G12 are not checked. ``fused`` needs no row there: its types are those of its body.
    """
    _Verifier(graph, table).run()


class _Verifier:
    """``_defined`` maps the names defined so far to their types; ``None`` for a constant without use yet."""

    def __init__(self, graph: Graph, table: OperatorTable | None) -> None:
        self._graph = graph
        self._table = table
        self._defined: dict[str, TensorType | None] = {}

    def run(self) -> None:
        for value in self._graph.inputs:
            self._type(value, self._graph.name)
            self._define(value.name, value.type, self._graph.name)
        for name, array in self._graph.constants.items():
            self._define(name, None, self._graph.name)
            self._constant(name, array)
        for node in self._graph.nodes:
            self._node(node)
        for value in self._graph.outputs:
            self._use(value, "G3", self._graph.name)
        self._extents()
        self._states()

    def _states(self) -> None:
        graph = self._graph
        inputs = {value.name: value.type for value in graph.inputs}
        outputs = {value.name: value.type for value in graph.outputs}
        ranged = {name for extent in graph.extents for name in (extent.value, *(name for name, _ in extent.dims))}
        for names in ([state.input for state in graph.states], [state.output for state in graph.states]):
            if len(set(names)) < len(names):
                _fail("G14", f"%{max(names, key=names.count)} is in two states", graph.name)
        for state in graph.states:
            type_ = inputs.get(state.input)
            new = outputs.get(state.output)
            if type_ is None or new is None or (type_.dtype, type_.shape) != (new.dtype, new.shape):
                _fail("G14", f"%{state.input} and %{state.output} are no input and output of one type", graph.name)
            if not can_be_state(type_):
                _fail("G14", f"%{state.input} has no single number for zero", graph.name)
            if ranged & {state.input, state.output}:
                _fail("G14", f"%{state.input} has an extent of its own in each run", graph.name)

    def _extents(self) -> None:
        sides = {value.name: value.type for value in (*self._graph.inputs, *self._graph.outputs)}
        taken: set[tuple[str, int]] = set()
        for extent in self._graph.extents:
            what = f"the extent %{extent.value}"
            if sides.get(extent.value) != TensorType(DType.I64, ()):
                _fail("G13", f"{what} is no i64[] that goes in or out", self._graph.name)
            if not 0 <= extent.least <= extent.bound:
                _fail("G13", f"{what} is in {extent.least} to {extent.bound}", self._graph.name)
            if extent.step < 1 or extent.least % extent.step or extent.bound % extent.step:
                _fail("G13", f"{what} has bounds that are no multiples of {extent.step}", self._graph.name)
            for name, axis in extent.dims:
                shape = sides[name].shape if name in sides else ()
                if not 0 <= axis < len(shape) or shape[axis] != extent.bound or (name, axis) in taken:
                    _fail("G13", f"{what} is not that of %{name}:{axis}", self._graph.name)
                taken.add((name, axis))

    # ------------------------------------------------------------ names and types

    def _define(self, name: str, type_: TensorType | None, loc: str) -> None:
        if not isinstance(name, str) or not name:
            _fail("G1", f"{name!r} is not a name", loc)
        if name in self._defined:
            _fail("G1", f"%{name} is defined twice", loc)
        self._defined[name] = type_

    def _use(self, value: Value, invariant: str, loc: str) -> None:
        if value.name not in self._defined:
            _fail(invariant, f"%{value.name} is not defined here", loc)
        if self._defined[value.name] is None:
            self._declare_constant(value, loc)
        if value.type != self._defined[value.name]:
            _fail(invariant, f"%{value.name} has type {self._defined[value.name]}, used as {value.type}", loc)

    def _declare_constant(self, value: Value, loc: str) -> None:
        """The first use of a constant declares its type."""
        self._type(value, loc)
        array = self._graph.constants[value.name]
        if (array.dtype, array.shape) != (value.dtype.numpy, value.shape):
            _fail("G4", f"constant %{value.name} is {array.dtype}{list(array.shape)}, declared {value.type}", loc)
        self._defined[value.name] = value.type

    def _constant(self, name: str, array: np.ndarray) -> None:
        loc = self._graph.name
        if not isinstance(array, np.ndarray):
            _fail("G4", f"constant %{name} is a {type(array).__name__}, not an array", loc)
        if array.flags.writeable:
            _fail("G4", f"constant %{name} is writeable", loc)
        if not array.flags.c_contiguous:
            _fail("G4", f"constant %{name} is not C-contiguous", loc)
        try:
            DType.from_numpy(array.dtype)
        except KeyError:
            _fail("G4", f"constant %{name} has elements {array.dtype}, which ccml does not have", loc)

    def _type(self, value: Value, loc: str) -> None:
        type_ = value.type
        if type_.dtype is DType.INDEX:
            _fail("G5", f"%{value.name} holds index values", loc)
        if not isinstance(type_.shape, tuple) or not all(type(dim) is int and dim >= 0 for dim in type_.shape):
            _fail("G5", f"%{value.name} has the shape {type_.shape!r}", loc)
        if type_.quant is not None:
            complaint = _quant_complaint(type_)
            if complaint:
                _fail("G6", f"%{value.name}: {complaint}", loc)

    # ------------------------------------------------------------ nodes

    def _node(self, node: Node) -> None:
        if not isinstance(node.loc, str):
            _fail("G11", f"loc is {node.loc!r}", self._graph.name)
        if not isinstance(node.op, str) or not node.op:
            _fail("G11", f"op is {node.op!r}", node.loc)
        for operand in node.operands:
            self._use(operand, "G2", node.loc)
        for name, attr in node.attrs.items():
            self._attr(name, attr, node)
        for value in node.outputs:
            self._type(value, node.loc)
        if node.op == FUSED:
            _check_body(node)
        if self._table is not None:
            self._row(node, self._table)
        for value in node.outputs:
            self._define(value.name, value.type, node.loc)

    def _attr(self, name: str, attr: AttrValue, node: Node) -> None:
        if not isinstance(name, str) or not _is_attr(attr):
            _fail("G10", f"attribute {name!r} of {node.op} is {attr!r} ({type(attr).__name__})", node.loc)
        if isinstance(attr, Graph):
            try:
                verify_graph(attr, self._table)
            except CcmlError as error:
                inner = f"in attribute {name!r} of {node.op}, {error.loc}: {error.reason}"
                raise CcmlError(ErrorCode.IR_INVALID, f"G9: {inner}", loc=node.loc) from error

    def _row(self, node: Node, table: OperatorTable) -> None:
        if node.op not in table and node.op != FUSED:
            _fail("G7", f"there is no operator {node.op!r}", node.loc)
        complaint = table.attribute_complaint(node.op, node.attrs)
        if complaint is not None:
            _fail("G12", f"{node.op}: {complaint}", node.loc)
        if node.op != FUSED:
            self._infer(node, table)

    def _infer(self, node: Node, table: OperatorTable) -> None:
        try:
            inferred = tuple(table.infer(node.op, node.inputs, node.attrs, node.loc))
        except CcmlError as error:
            raise CcmlError(ErrorCode.IR_INVALID, f"G7: {node.op}: {error.reason}", loc=node.loc) from error
        declared = tuple(value.type for value in node.outputs)
        if inferred != declared:
            _fail("G7", f"{node.op} gives {_listed(inferred)}, declared {_listed(declared)}", node.loc)


def _check_body(node: Node) -> None:
    body = node.attrs.get("body")
    if not isinstance(body, Graph):
        _fail("G8", "a fused node has no body", node.loc)
    for side, outer, inner in (("inputs", node.inputs, body.inputs), ("outputs", node.outputs, body.outputs)):
        outer_types = tuple(None if value is None else value.type for value in outer)
        inner_types = tuple(value.type for value in inner)
        if outer_types != inner_types:
            _fail("G8", f"{side} are {_listed(outer_types)}, of the body {_listed(inner_types)}", node.loc)


def _quant_complaint(type_: TensorType) -> str | None:
    quant = type_.quant
    assert quant is not None
    if not type_.dtype.is_integer:
        return f"{type_.dtype.value} is quantized"
    if quant.axis is not None and not 0 <= quant.axis < type_.rank:
        return f"axis {quant.axis} of {type_}"
    count = 1 if quant.axis is None else type_.shape[quant.axis]
    if len(quant.scale) != count or len(quant.zero_point) != count:
        return f"{len(quant.scale)} scales and {len(quant.zero_point)} zero points where {count} are needed"
    if not all(scale > 0 and math.isfinite(scale) for scale in quant.scale):
        return "a scale is not positive and finite"
    limits = np.iinfo(type_.dtype.numpy)
    if not all(limits.min <= zero_point <= limits.max for zero_point in quant.zero_point):
        return f"a zero point is no {type_.dtype.value}"
    return None


def _is_attr(attr: object) -> bool:
    if isinstance(attr, tuple):
        return any(all(type(item) is kind for item in attr) for kind in (int, float, str))
    return type(attr) in (int, float, bool, str, DType, Graph)


def _listed(types: Sequence[TensorType | None]) -> str:
    return f"({', '.join('_' if type_ is None else _described(type_) for type_ in types)})"


def _described(type_: TensorType) -> str:
    return str(type_) if type_.quant is None else f"{type_} {type_.quant}"


def _fail(invariant: str, reason: str, loc: str) -> NoReturn:
    raise CcmlError(ErrorCode.IR_INVALID, f"{invariant}: {reason}", loc=loc)
