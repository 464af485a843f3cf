"""Graph IR as text.

::

    graph kws(%input: f32[1,49,10,1]) -> (%out)
      extent %n of %input:0, %out:0 in 1 to 8
      const %w0 : f32[64,10,4,1] = dense<sha256:0123456789abcdef>
      const %b0 : f32[2] = dense<0.5, -1.0>
      %q : i8[64] quant(scale=0.5, zero_point=3) = conv(%x, %w0, _) {act="relu", pad=[4,1,5,1]}   @"conv2d/BiasAdd"
      %y : f32[4] = fused(%a) {body={
        graph body(%a: f32[4]) -> (%b)
          %b : f32[4] = relu(%a)
      }}

``_`` is an absent optional input. Small constants stand inline; larger ones as a summary of their content, or with
``constants="full"`` as base64 of their bytes (little endian). Names that are not plain are quoted: ``%"a/b:0"``.
Line breaks and indentation carry no meaning. Attributes that are floats are written with a point or exponent, so
that they differ from integers; ``inf`` and ``nan`` are floats, types such as ``f32`` are element types.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from .extents import Extent
from .graph import AttrValue, Graph, Node, Value
from .loops_text import content_summary
from .states import State
from .text import (
    Cursor,
    quoted,
    spell_loc,
    spell_name,
    spell_shape,
    spell_step,
    syntax_error,
    tokenize,
    type_named,
)
from .types import DType, QuantParams, TensorType
from .verify import OperatorTable

INLINE_ELEMENTS = 64


# ---------------------------------------------------------------- printing


def print_graph(graph: Graph, *, constants: Literal["summary", "full"] = "summary") -> str:
    """The text of ``graph``. With ``constants="full"``, :func:`parse_graph` gives the same graph back without help."""
    return "\n".join(_graph_lines(graph, constants == "full", "")) + "\n"


def _graph_lines(graph: Graph, full: bool, indent: str) -> Iterator[str]:
    inputs = ", ".join(f"{_ref(value)}: {_type(value.type)}" for value in graph.inputs)
    outputs = ", ".join(_ref(value) for value in graph.outputs)
    yield f"{indent}graph {spell_name(graph.name)}({inputs}) -> ({outputs})"
    for extent in graph.extents:
        dims = ", ".join(f"%{spell_name(name)}:{axis}" for name, axis in extent.dims)
        spelled = f"{extent.least} to {extent.bound}{spell_step(extent.step)}"
        yield f"{indent}  extent %{spell_name(extent.value)} of {dims} in {spelled}"
    for state in graph.states:
        first = f" from {state.initial}" if state.initial else ""
        yield f"{indent}  state %{spell_name(state.input)} = %{spell_name(state.output)}{first}"
    declared = {value.name: value.type for node in reversed(graph.nodes) for value in node.operands}
    declared.update({value.name: value.type for value in graph.outputs})
    for name, array in graph.constants.items():
        type_ = declared.get(name) or TensorType(DType.from_numpy(array.dtype), array.shape)
        yield f"{indent}  const {_ref(Value(name, type_))} : {_type(type_)} = {_dense(array, full)}"
    for node in graph.nodes:
        yield from _node_lines(node, full, indent + "  ")


def _node_lines(node: Node, full: bool, indent: str) -> Iterator[str]:
    results = ", ".join(f"{_ref(value)} : {_type(value.type)}" for value in node.outputs)
    operands = ", ".join("_" if value is None else _ref(value) for value in node.inputs)
    line = f"{indent}{results} = {spell_name(node.op)}({operands})"
    for position, (name, value) in enumerate(node.attrs.items()):
        line += f"{', ' if position else ' {'}{spell_name(name)}="
        if isinstance(value, Graph):
            yield line + "{"
            yield from _graph_lines(value, full, indent + "  ")
            line = indent + "}"
        else:
            line += _attr(value)
    yield line + ("}" if node.attrs else "") + spell_loc(node.loc)


def _ref(value: Value) -> str:
    return f"%{spell_name(value.name)}"


def _type(type_: TensorType) -> str:
    text = f"{type_.dtype.value}{spell_shape(type_.shape)}"
    if type_.quant is None:
        return text
    scale = _one_or_list([_float(value) for value in type_.quant.scale])
    zero_point = _one_or_list([str(int(value)) for value in type_.quant.zero_point])
    axis = "" if type_.quant.axis is None else f", axis={type_.quant.axis}"
    return f"{text} quant(scale={scale}, zero_point={zero_point}{axis})"


def _one_or_list(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"[{','.join(items)}]"


def _attr(value: AttrValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, DType):
        return value.value
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"[{','.join(_attr(item) for item in value)}]"
    return _float(value) if isinstance(value, float) else str(value)


def _float(value: float) -> str:
    return repr(float(value))


def _dense(array: np.ndarray, full: bool) -> str:
    """The elements of a narrow type are written as the integers with their bits."""
    array = array.view(DType.from_numpy(array.dtype).stored.numpy)
    if array.size <= INLINE_ELEMENTS:
        numbers = [_element(element) for element in array.reshape(-1)]
        if np.array(numbers, array.dtype).tobytes() == array.tobytes():
            return f"dense<{', '.join(_attr(number) for number in numbers)}>"
        full = True
    return f"dense<base64:{base64.b64encode(_stored(array)).decode()}>" if full else content_summary(array)


def _element(element: np.generic) -> int | float | bool:
    """``element`` as the number with the shortest text that gives the same element back; any NaN as the plain one."""
    if not isinstance(element, np.floating):
        return element.item()
    if np.isnan(element):
        return math.nan
    short = float(str(element))
    return short if type(element)(short) == element else float(element)


def _stored(array: np.ndarray) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


# ---------------------------------------------------------------- parsing


def parse_graph(
    text: str, *, constants: Mapping[str, np.ndarray] | None = None, table: OperatorTable | None = None
) -> Graph:
    """The graph whose text is ``text``; its constants are read-only.

    Summarised constants are looked up in ``constants`` by their content, so that the arrays of nested graphs may
    stand under any name. Raises ``CcmlError`` (IR_SYNTAX) that names the line and what was expected; with ``table``
    also where a node's operator or attributes are not those of a row.
    """
    cursor = Cursor(tokenize(text, layout=False))
    known = {content_summary(array): array for array in (constants or {}).values()}
    graph = _GraphParser(cursor, known, table).graph()
    cursor.expect_kind("end", "the end of the text")
    return graph


class _GraphParser:
    """Parses one graph; nested graphs have parsers of their own because they see none of the outer names."""

    def __init__(self, cursor: Cursor, known: Mapping[str, np.ndarray], table: OperatorTable | None) -> None:
        self._cursor = cursor
        self._known = known
        self._table = table
        self._values: dict[str, Value] = {}

    def graph(self) -> Graph:
        cursor = self._cursor
        cursor.expect("graph")
        name = cursor.name("the graph's name")
        inputs = [self._define(Value(name, type_)) for name, type_ in self._inputs()]
        cursor.expect("->")
        line, outputs = cursor.peek().line, self._outputs()
        extents: list[Extent] = []
        while cursor.accept("extent"):
            extents.append(self._extent())
        states: list[State] = []
        while cursor.accept("state"):
            states.append(self._state())
        constants: dict[str, np.ndarray] = {}
        while cursor.accept("const"):
            value = self._define(self._result())
            cursor.expect("=")
            constants[value.name] = self._dense(value.type)
        nodes: list[Node] = []
        while cursor.at("%"):
            nodes.append(self._node())
        results = tuple(self._resolve(output, line) for output in outputs)
        return Graph(name, tuple(inputs), results, tuple(nodes), constants, tuple(extents), tuple(states))

    def _state(self) -> State:
        given = self._name()
        self._cursor.expect("=")
        made = self._name()
        return State(given, made, self._cursor.integer("the first value") if self._cursor.accept("from") else 0)

    def _extent(self) -> Extent:
        cursor, value = self._cursor, self._name()
        cursor.expect("of")
        dims: list[tuple[str, int]] = []
        while not dims or cursor.accept(","):
            tensor = self._name()
            cursor.expect(":")
            dims.append((tensor, cursor.integer("an axis")))
        cursor.expect("in")
        least = cursor.integer("the least extent")
        cursor.expect("to")
        bound = cursor.integer("the greatest extent")
        step = cursor.integer("the step of extents") if cursor.accept("by") else 1
        return Extent(value, tuple(dims), bound, least, step)

    def _define(self, value: Value) -> Value:
        self._values[value.name] = value
        return value

    def _resolve(self, name: str, line: int) -> Value:
        if name not in self._values:
            raise syntax_error(line, f"expected a value that is defined, found %{spell_name(name)}")
        return self._values[name]

    def _name(self) -> str:
        self._cursor.expect("%")
        return self._cursor.name("a value's name")

    def _inputs(self) -> Iterator[tuple[str, TensorType]]:
        self._cursor.expect("(")
        while not self._cursor.accept(")"):
            name = self._name()
            self._cursor.expect(":")
            yield name, self._type()
            self._comma(")")

    def _outputs(self) -> list[str]:
        self._cursor.expect("(")
        names: list[str] = []
        while not self._cursor.accept(")"):
            names.append(self._name())
            self._comma(")")
        return names

    def _comma(self, end: str) -> None:
        if not self._cursor.at(end):
            self._cursor.expect(",")

    # ------------------------------------------------------------ nodes

    def _node(self) -> Node:
        cursor = self._cursor
        outputs = [self._result()]
        while cursor.accept(","):
            outputs.append(self._result())
        cursor.expect("=")
        line, op = cursor.peek().line, cursor.name("an operator")
        inputs = self._operands()
        attrs = self._attrs() if cursor.at("{") else {}
        if self._table is not None:
            self._check_row(op, attrs, self._table, line)
        node = Node(op, inputs, tuple(outputs), attrs, cursor.loc())
        for value in outputs:
            self._define(value)
        return node

    @staticmethod
    def _check_row(op: str, attrs: Mapping[str, AttrValue], table: OperatorTable, line: int) -> None:
        if op not in table:
            raise syntax_error(line, f"expected an operator, found {op!r}")
        complaint = table.attribute_complaint(op, attrs)
        if complaint is not None:
            raise syntax_error(line, f"{op}: {complaint}")

    def _result(self) -> Value:
        name = self._name()
        self._cursor.expect(":")
        return Value(name, self._type())

    def _operands(self) -> tuple[Value | None, ...]:
        cursor = self._cursor
        cursor.expect("(")
        operands: list[Value | None] = []
        while not cursor.accept(")"):
            line = cursor.peek().line
            operands.append(None if cursor.accept("_") else self._resolve(self._name(), line))
            self._comma(")")
        return tuple(operands)

    def _attrs(self) -> dict[str, AttrValue]:
        cursor = self._cursor
        cursor.expect("{")
        attrs: dict[str, AttrValue] = {}
        while not cursor.accept("}"):
            name = cursor.name("an attribute's name")
            cursor.expect("=")
            attrs[name] = self._attr()
            self._comma("}")
        return attrs

    def _attr(self) -> AttrValue:
        cursor = self._cursor
        if cursor.accept("["):
            items: list[AttrValue] = []
            while not cursor.accept("]"):
                items.append(self._attr())
                self._comma("]")
            return tuple(items)  # type: ignore[return-value]
        if cursor.accept("{"):
            graph = _GraphParser(cursor, self._known, self._table).graph()
            cursor.expect("}")
            return graph
        if cursor.at_kind("string"):
            return cursor.string()
        type_ = type_named(cursor.peek().text) if cursor.at_kind("name") else None
        if type_ is not None and type_.lanes == 1:
            cursor.next()
            return type_.dtype
        return self._scalar("an attribute's value")

    def _scalar(self, expected: str) -> int | float | bool:
        cursor = self._cursor
        for word in ("true", "false"):
            if cursor.accept(word):
                return word == "true"
        digits = cursor.peek(1 if cursor.at("-") else 0).text
        return cursor.integer(expected) if digits.isdigit() else cursor.float(expected)

    # ------------------------------------------------------------ types and constants

    def _type(self) -> TensorType:
        cursor = self._cursor
        line, type_ = cursor.peek().line, cursor.type()
        if type_.lanes != 1:
            raise syntax_error(line, f"expected an element type, found {type_}")
        shape = cursor.shape()
        return TensorType(type_.dtype, shape, self._quant() if cursor.accept("quant") else None)

    def _quant(self) -> QuantParams:
        cursor = self._cursor
        for word in ("(", "scale", "="):
            cursor.expect(word)
        scale = tuple(float(value) for value in self._one_or_list())
        for word in (",", "zero_point", "="):
            cursor.expect(word)
        zero_point = tuple(int(value) for value in self._one_or_list())
        axis = None
        if cursor.accept(","):
            cursor.expect("axis")
            cursor.expect("=")
            axis = cursor.integer("an axis")
        cursor.expect(")")
        return QuantParams(scale, zero_point, axis)

    def _one_or_list(self) -> list[int | float | bool]:
        if not self._cursor.accept("["):
            return [self._scalar("a number")]
        numbers: list[int | float | bool] = []
        while not self._cursor.accept("]"):
            numbers.append(self._scalar("a number"))
            self._comma("]")
        return numbers

    def _dense(self, type_: TensorType) -> np.ndarray:
        """The constant that is written here, as a read-only array of ``type_``."""
        cursor = self._cursor
        line = cursor.peek().line
        array = self._encoded(cursor.next().text, type_, line) if cursor.at_kind("dense") else self._inline(type_)
        if array.size != type_.size or array.dtype != type_.dtype.numpy:
            raise syntax_error(line, f"expected {type_.size} elements of {type_.dtype.value}, found {array.size}")
        array = np.array(array.reshape(type_.shape), order="C", copy=True)
        array.flags.writeable = False
        return array

    def _inline(self, type_: TensorType) -> np.ndarray:
        cursor = self._cursor
        for word in ("dense", "<"):
            cursor.expect(word)
        line, numbers = cursor.peek().line, []
        while not cursor.accept(">"):
            numbers.append(self._scalar("a number"))
            self._comma(">")
        try:
            return np.array(numbers, type_.dtype.stored.numpy).view(type_.dtype.numpy)
        except (OverflowError, ValueError):
            raise syntax_error(line, f"expected numbers of type {type_.dtype.value}") from None

    def _encoded(self, text: str, type_: TensorType, line: int) -> np.ndarray:
        if text.startswith("dense<sha256:"):
            if text not in self._known:
                raise syntax_error(line, f"expected an array with the content {text} among the given constants")
            return self._known[text]
        try:
            data = base64.b64decode(text.removeprefix("dense<base64:").removesuffix(">"), validate=True)
            array = np.frombuffer(data, type_.dtype.stored.numpy.newbyteorder("<"))
        except (binascii.Error, ValueError):
            raise syntax_error(line, f"expected {type_.nbytes} bytes in base64") from None
        return array.astype(type_.dtype.stored.numpy).view(type_.dtype.numpy)
