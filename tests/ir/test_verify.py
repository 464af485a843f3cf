"""Each invariant of a graph, kept and broken."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Graph, Node, Value
from ccml.ir.graph_text import parse_graph
from ccml.ir.states import State
from ccml.ir.types import DType, QuantParams, TensorType
from ccml.ir.verify import verify_graph

GOOD = """
graph g(%x: f32[4], %q: i8[2,4] quant(scale=[0.5,0.25], zero_point=[0,1], axis=0)) -> (%z, %x)
  const %c : f32[4] = dense<1.0, 2.0, 3.0, 4.0>
  const %unused : i32[1] = dense<7>
  %y : f32[4] = add(%x, %c) {alpha=0.5, pads=[0,1], mode="edge", to=f32}   @"Add_0"
  %z : f32[4] = fused(%y, %c) {body={
    graph body(%x: f32[4], %c: f32[4]) -> (%y)
      %t : f32[4] = relu(%x)   @"Relu_1"
      %y : f32[4] = add(%t, %c)
  }}   @"Fused_1"
"""


class Table:
    """Operators whose result has the type of the first input."""

    def __contains__(self, op: object, /) -> bool:
        return op in ("add", "relu", "picky")

    def infer(
        self, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, Any], loc: str
    ) -> tuple[TensorType, ...]:
        if op == "picky" or inputs[0] is None:
            raise CcmlError(ErrorCode.SHAPE_MISMATCH, "shapes [4] and [5] do not broadcast", loc=loc)
        return (inputs[0].type,)

    def attribute_complaint(self, op: str, attrs: Mapping[str, Any]) -> str | None:
        return f"{attrs['axis']} is no axis" if "axis" in attrs else None


def broken(graph: Graph) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        verify_graph(graph, Table())
    assert caught.value.kind is ErrorCode.IR_INVALID
    return caught.value


def reason_of(text: str) -> str:
    return broken(parse_graph(text)).reason


def test_a_good_graph() -> None:
    verify_graph(parse_graph(GOOD), Table())
    verify_graph(parse_graph(GOOD))


# ---------------------------------------------------------------- what text can say

BROKEN = [
    ("%x : f32[4] = relu(%x)", "G1: %x is defined twice"),
    ("const %x : f32[4] = dense<0.0, 0.0, 0.0, 0.0>", "G1: %x is defined twice"),
    ('%"" : f32[4] = relu(%x)', "G1: '' is not a name"),
    ("%y : index[4] = relu(%x)", "G5: %y holds index values"),
    ("%y : f32[-4] = relu(%x)", "G5: %y has the shape (-4,)"),
    ("%y : f32[4] quant(scale=0.5, zero_point=0) = relu(%x)", "G6: %y: f32 is quantized"),
    ("%y : i8[4] quant(scale=0.5, zero_point=0, axis=1) = relu(%x)", "G6: %y: axis 1 of i8[4]"),
    (
        "%y : i8[4] quant(scale=[0.5,0.5], zero_point=[0,0]) = relu(%x)",
        "G6: %y: 2 scales and 2 zero points where 1 are needed",
    ),
    ("%y : i8[4] quant(scale=0.5, zero_point=0, axis=0) = relu(%x)", "G6: %y: 1 scales and 1 zero points where 4"),
    ("%y : i8[4] quant(scale=0.0, zero_point=0) = relu(%x)", "G6: %y: a scale is not positive and finite"),
    ("%y : i8[4] quant(scale=inf, zero_point=0) = relu(%x)", "G6: %y: a scale is not positive and finite"),
    ("%y : u8[4] quant(scale=0.5, zero_point=-1) = relu(%x)", "G6: %y: a zero point is no u8"),
    ("%y : f32[4] = swish(%x)", "G7: there is no operator 'swish'"),
    ("%y : f32[5] = relu(%x)", "G7: relu gives (f32[4]), declared (f32[5])"),
    ("%y : f32[4], %z : f32[4] = relu(%x)", "G7: relu gives (f32[4]), declared (f32[4], f32[4])"),
    ("%y : f32[4] = picky(%x)", "G7: picky: shapes [4] and [5] do not broadcast"),
    ("%y : f32[4] = fused(%x)", "G8: a fused node has no body"),
    (
        "%y : f32[4] = fused(%x) {body={graph b(%a: f32[5]) -> (%a)}}",
        "G8: inputs are (f32[4]), of the body (f32[5])",
    ),
    (
        "%y : f32[4] = fused(%x, _) {body={graph b(%a: f32[4]) -> (%a)}}",
        "G8: inputs are (f32[4], _), of the body (f32[4])",
    ),
    (
        "%y : f32[5] = fused(%x) {body={graph b(%a: f32[4]) -> (%a)}}",
        "G8: outputs are (f32[5]), of the body (f32[4])",
    ),
    (
        "%y : f32[4] = relu(%x) {then={graph b(%a: f32[4]) -> (%b) %b : f32[5] = relu(%a)}}",
        "G9: in attribute 'then' of relu, Relu_7: G7: relu gives (f32[4]), declared (f32[5])",
    ),
    ("%y : f32[4] = relu(%x) {axis=0.5}", "G12: relu: 0.5 is no axis"),
]


@pytest.mark.parametrize(("line", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_broken_invariant_is_named(line: str, reason: str) -> None:
    line = line.replace("relu(%a)}}", 'relu(%a)   @"Relu_7"}}')
    assert reason_of(f"graph g(%x: f32[4]) -> (%x)\n{line}\n").startswith(reason)


def test_the_node_is_named() -> None:
    error = broken(parse_graph('graph g(%x: f32[4]) -> (%x)\n%y : f32[5] = relu(%x)   @"block/Relu_3"'))
    assert error.loc == "block/Relu_3"


# ---------------------------------------------------------------- beyond what text can say

F4 = TensorType(DType.F32, (4,))
X, Y = Value("x", F4), Value("y", F4)
RELU = Node("relu", (X,), (Y,), {}, "Relu_0")


def graph_of(*nodes: Node, **constants: object) -> Graph:
    return Graph("g", (X,), (X,), nodes, constants)


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def constant_used_as(array: object, type_: TensorType = F4) -> Graph:
    return graph_of(Node("add", (X, Value("c", type_)), (Y,), {}, "Add_0"), c=array)


TREES = [
    ("use before definition", graph_of(Node("relu", (Y,), (Value("z", F4),)), RELU), "G2: %y is not defined here"),
    ("undefined operand", graph_of(Node("relu", (Y,), (Value("z", F4),))), "G2: %y is not defined here"),
    (
        "operand of another type",
        graph_of(Node("relu", (Value("x", F4.with_shape((2, 2))),), (Y,))),
        "G2: %x has type f32[4], used as f32[2,2]",
    ),
    (
        "one constant, two types",
        graph_of(
            Node("add", (X, Value("c", TensorType(DType.I8, (4,)))), (Y,)),
            Node("add", (X, Value("c", TensorType(DType.I8, (4,), QuantParams((1.0,), (0,))))), (Value("z", F4),)),
            c=frozen(np.zeros(4, np.int8)),
        ),
        "G2: %c has type i8[4]",
    ),
    ("undefined output", Graph("g", (X,), (Y,), ()), "G3: %y is not defined here"),
    ("output of another type", Graph("g", (X,), (replace(Y, type=F4.with_shape(())),), (RELU,)), "G3: %y has type"),
    ("writeable constant", constant_used_as(np.zeros(4, np.float32)), "G4: constant %c is writeable"),
    ("strided constant", constant_used_as(frozen(np.zeros((4, 2), np.float32)[:, 0])), "G4: constant %c is not C-cont"),
    ("constant of another dtype", constant_used_as(frozen(np.zeros(4))), "G4: constant %c is float64[4], declared f32"),
    ("constant of another shape", constant_used_as(frozen(np.zeros(5, np.float32))), "G4: constant %c is float32[5]"),
    ("constant of objects", constant_used_as(frozen(np.zeros(4, "O"))), "G4: constant %c has elements object"),
    ("constant that is a list", constant_used_as([0, 0, 0, 0]), "G4: constant %c is a list"),
    ("NumPy dimension", graph_of(replace(RELU, outputs=(replace(Y, type=F4.with_shape((np.int64(4),))),))), "G5: %y"),
    ("list for a shape", graph_of(replace(RELU, outputs=(replace(Y, type=replace(F4, shape=[4])),))), "G5: %y"),
    ("NumPy attribute", graph_of(RELU.with_attrs(axis=np.int64(1))), "G10: attribute 'axis' of relu"),
    ("list attribute", graph_of(RELU.with_attrs(pads=[0, 1])), "G10: attribute 'pads' of relu"),
    ("mixed tuple", graph_of(RELU.with_attrs(pads=(0, 1.0))), "G10: attribute 'pads' of relu"),
    ("absent attribute", graph_of(RELU.with_attrs(pads=None)), "G10: attribute 'pads' of relu"),
    ("unnamed attribute", graph_of(replace(RELU, attrs={1: 2})), "G10: attribute 1 of relu"),
    ("loc of None", graph_of(replace(RELU, loc=None)), "G11: loc is None"),
    ("empty operator", graph_of(replace(RELU, op="")), "G11: op is ''"),
]


@pytest.mark.parametrize(("graph", "reason"), [row[1:] for row in TREES], ids=[row[0] for row in TREES])
def test_broken_tree(graph: Graph, reason: str) -> None:
    assert broken(graph).reason.startswith(reason)


EXTENTS = """
graph g(%n: i64[], %x: f32[4,2]) -> (%y)
  extent %n of %x:0, %y:0 in 1 to 4
  %y : f32[4,2] = relu(%x)
"""


@pytest.mark.parametrize(
    "changes",
    [
        {"value": "x"}, {"value": "z"}, {"least": -1}, {"least": 5}, {"bound": 3}, {"dims": (("x", 2),)},
        {"dims": (("z", 0),)}, {"dims": (("x", 0), ("x", 0))},
    ],
)  # fmt: skip
def test_g13_extents_are_those_of_inputs_and_outputs(changes: Mapping[str, Any]) -> None:
    graph = parse_graph(EXTENTS)
    verify_graph(graph)
    with pytest.raises(CcmlError, match="G13"):
        verify_graph(replace(graph, extents=(replace(graph.extents[0], **changes),)))


STATES = """
graph g(%x: f32[4], %h: f32[4], %q: i8[2,4] quant(scale=[0.5,0.25], zero_point=[0,1], axis=0)) -> (%y, %hn, %q2, %w)
  state %h = %hn
  %y : f32[4] = relu(%h)
  %hn : f32[4] = add(%x, %h)
  %q2 : i8[2,4] quant(scale=[0.5,0.25], zero_point=[0,1], axis=0) = relu(%q)
  %w : f32[2] = slice(%x) {starts=[0], limits=[2]}
"""


@pytest.mark.parametrize(
    "states",
    [
        [State("h", "nothing")], [State("nothing", "hn")], [State("h", "w")], [State("x", "q2")],
        [State("h", "hn"), State("x", "hn")], [State("h", "hn"), State("h", "y")], [State("q", "q2")],
    ],
)  # fmt: skip
def test_g14_states_are_an_input_and_an_output_of_one_type(states: Sequence[State]) -> None:
    graph = parse_graph(STATES)
    verify_graph(graph)
    with pytest.raises(CcmlError, match="G14"):
        verify_graph(replace(graph, states=tuple(states)))


def test_g14_states_have_no_extents() -> None:
    graph = parse_graph(EXTENTS)
    ranged = {name for extent in graph.extents for name, _ in extent.dims}
    given = next(value.name for value in graph.inputs if value.name in ranged)
    made = next(value.name for value in graph.outputs if value.name in ranged)
    with pytest.raises(CcmlError, match="G14"):
        verify_graph(replace(graph, states=(State(given, made),)))
