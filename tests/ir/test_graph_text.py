"""Graph IR text: its look, round trips, and errors that say where and what."""

import math
from textwrap import dedent

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import AttrValue, Graph, Node, Value
from ccml.ir.graph_text import parse_graph, print_graph
from ccml.ir.types import DType, QuantParams, TensorType
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

TEXT = """\
graph kws(%input: f32[1,4], %"a/b:0": i8[2,3] quant(scale=0.5, zero_point=-3)) -> (%out, %"a/b:0")
  const %w : i8[2,3] quant(scale=[0.25,0.1], zero_point=[0,0], axis=0) = dense<1, -2, 3, 4, 5, 127>
  const %half : f32[] = dense<0.1>
  const %flags : bool[2] = dense<true, false>
  %r : f32[1,4] = conv(%input, %w, _) {act="relu", stride=[2,2], beta=0.5, to=f32, keep=true, n=[]}   @"c/Bias \\"1\\""
  %a : f32[4], %b : f32[] = "split:v2"(%r, _, %half)
  %out : f32[4] = fused(%a) {body={
    graph body(%x: f32[4]) -> (%y)
      const %w : f32[1] = dense<-inf>
      %y : f32[4] = add(%x, %w)
  }, anchor="none"}   @"fused"
"""


def test_printed_form_is_stable() -> None:
    assert print_graph(parse_graph(TEXT)) == TEXT


def test_parsed_graph_is_what_it_shows() -> None:
    graph = parse_graph(TEXT)
    conv, split, fused = graph.nodes
    quantized = TensorType(DType.I8, (2, 3), QuantParams((0.25, 0.1), (0, 0), 0))
    assert graph.inputs[1] == Value("a/b:0", TensorType(DType.I8, (2, 3), QuantParams((0.5,), (-3,))))
    assert graph.outputs == (fused.output, graph.inputs[1])
    assert conv.inputs == (graph.inputs[0], Value("w", quantized), None)
    assert conv.loc == 'c/Bias "1"'
    assert dict(conv.attrs) == {
        "act": "relu", "stride": (2, 2), "beta": 0.5, "to": DType.F32, "keep": True, "n": (),
    }  # fmt: skip
    assert [value.name for value in split.outputs] == ["a", "b"]
    assert split.inputs[1] is None
    body = fused.attrs["body"]
    assert isinstance(body, Graph)
    assert body.constants["w"].tolist() == [-math.inf]
    weights = graph.constants["w"]
    assert (weights.dtype, weights.tolist()) == (np.int8, [[1, -2, 3], [4, 5, 127]])
    assert not weights.flags.writeable


def test_line_breaks_and_comments_carry_no_meaning() -> None:
    text = "graph g(%x: f32[4])\n-> (%y)   # the result\n%y : f32[4]\n = relu(\n%x)"
    assert print_graph(parse_graph(text)) == "graph g(%x: f32[4]) -> (%y)\n  %y : f32[4] = relu(%x)\n"


# ---------------------------------------------------------------- constants


def graph_with(array: np.ndarray) -> Graph:
    array.flags.writeable = False
    value = Value("c", TensorType(DType.from_numpy(array.dtype), array.shape))
    return Graph("g", (), (value,), (), {"c": array})


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_large_constants_are_summaries_that_need_their_arrays() -> None:
    array = np.arange(65, dtype=np.float32)
    text = print_graph(graph_with(array))
    assert "dense<sha256:" in text
    assert same_bits(parse_graph(text, constants={"any name": array}).constants["c"], array)
    for others in (None, {"c": array + 1}, {"c": array.astype(np.int32)}):
        with pytest.raises(CcmlError, match="line 2: expected an array with the content dense<sha256:"):
            parse_graph(text, constants=others)


def test_summaries_tell_element_types_apart() -> None:
    zeros = {"f": np.zeros(100, np.float32), "i": np.zeros(100, np.int32)}
    for array in list(zeros.values()):
        assert same_bits(parse_graph(print_graph(graph_with(array)), constants=zeros).constants["c"], array)


def test_small_constants_stand_inline() -> None:
    assert "= dense<0.1, -0.0, 1e-45, inf, nan>" in print_graph(
        graph_with(np.array([0.1, -0.0, 1e-45, np.inf, np.nan], np.float32))
    )


def test_bits_that_numbers_cannot_show_are_base64() -> None:
    array = np.array([0x7F800001], np.uint32).view(np.float32)  # a signalling NaN
    text = print_graph(graph_with(array))
    assert "dense<base64:AQCAfw==>" in text
    assert same_bits(parse_graph(text).constants["c"], array)


ARRAYS = st.sampled_from([dtype for dtype in DType if dtype is not DType.INDEX and dtype.stored is dtype]).flatmap(
    lambda dtype: st_np.arrays(dtype.numpy, st_np.array_shapes(min_dims=0, min_side=0, max_side=5))
)


@settings(max_examples=150, deadline=None)
@given(ARRAYS)
def test_any_constant_survives_full_text(array: np.ndarray) -> None:
    text = print_graph(graph_with(array.copy()), constants="full")
    assert same_bits(parse_graph(text).constants["c"], array)


# ---------------------------------------------------------------- generated graphs

NAMES = st.sampled_from(["x", "_", "a/b:0", "f32", "true", "const", "graph", 'q"q', "é", "", "1x"])
ATTRS: st.SearchStrategy[AttrValue] = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(max_size=4),
    st.sampled_from(DType),
    st.lists(st.integers(), max_size=3).map(tuple),
    st.lists(st.floats(allow_nan=False), max_size=3).map(tuple),
    st.lists(st.text(max_size=3), max_size=3).map(tuple),
)
SCALES = st.floats(min_value=1e-300, allow_infinity=False)
QUANTS = st.one_of(
    st.builds(lambda s, z: QuantParams((s,), (z,)), SCALES, st.integers(-128, 127)),
    st.lists(SCALES, min_size=1, max_size=3).map(lambda s: QuantParams(tuple(s), (0,) * len(s), 1)),
)
TYPES = st.builds(
    TensorType,
    st.sampled_from(DType),
    st.lists(st.integers(0, 9), max_size=3).map(tuple),
    st.none() | QUANTS,
)


@st.composite
def graphs(draw: st.DrawFn, depth: int = 1) -> Graph:
    names = draw(st.lists(NAMES, min_size=1, unique=True))
    values = [Value(name, draw(TYPES)) for name in names]
    count = draw(st.integers(0, len(values)))
    inputs, known, nodes = values[:count], values[:count], []
    for value in values[count:]:
        attrs = draw(st.dictionaries(NAMES, ATTRS, max_size=3))
        if depth and draw(st.booleans()):
            attrs[draw(NAMES)] = draw(graphs(depth - 1))
        operands = st.lists(st.none() | st.sampled_from(known), max_size=3) if known else st.just([])
        nodes.append(Node(draw(NAMES), tuple(draw(operands)), (value,), attrs, draw(st.text(max_size=4))))
        known = [*known, value]
    outputs = draw(st.lists(st.sampled_from(values), max_size=2))
    return Graph(draw(NAMES), tuple(inputs), tuple(outputs), tuple(nodes))


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_any_graph_survives_its_text(graph: Graph) -> None:
    parsed = parse_graph(print_graph(graph))
    assert parsed == graph
    assert repr(parsed) == repr(graph)  # tells 1 from 1.0 and True, and -0.0 from 0.0


# ---------------------------------------------------------------- errors

ERRORS = [
    ("", "line 1: expected 'graph', found the end of the text"),
    ("graph g(%x: f32[4]) -> (%y)", "line 1: expected a value that is defined, found %y"),
    ("graph g(%x: f32) -> ()", "line 1: expected '[', found )"),
    ("graph g(%x: f32x4[1]) -> ()", "line 1: expected an element type, found f32x4"),
    ("graph g(%x: f32[n]) -> ()", "line 1: expected an extent, found n"),
    ("graph g() -> ()\n  %y : f32[] = relu(%x)", "line 2: expected a value that is defined, found %x"),
    ("graph g() -> ()\n  %y : f32[] = relu(x)", "line 2: expected '%', found x"),
    ("graph g() -> ()\n  %y : f32[] = relu() {a=?}", "line 2: expected a name, number, string or operator, found '?'"),
    ("graph g() -> ()\n  %y : f32[] = relu() {a=b}", "line 2: expected an attribute's value, found b"),
    ("graph g() -> ()\n  %y : f32[] = relu() {a=1i8}", "line 2: expected an attribute's value, found 1i8"),
    ("graph g() -> ()\n  %y : f32[] = relu() {a=1 b=2}", "line 2: expected ',', found b"),
    ("graph g() -> ()\n  const %c : f32[2] = dense<1.0>", "line 2: expected 2 elements of f32, found 1"),
    ("graph g() -> ()\n  const %c : i8[1] = dense<300>", "line 2: expected numbers of type i8"),
    ("graph g() -> ()\n  const %c : f32[1] = dense<base64:AA==>", "line 2: expected 4 bytes in base64"),
    ("graph g() -> ()\n  relu(%x)", "line 2: expected the end of the text, found relu"),
]


@pytest.mark.parametrize(("text", "reason"), ERRORS, ids=[reason for _, reason in ERRORS])
def test_syntax_error_names_the_line_and_what_was_expected(text: str, reason: str) -> None:
    with pytest.raises(CcmlError) as caught:
        parse_graph(dedent(text))
    assert caught.value.kind is ErrorCode.IR_SYNTAX
    assert caught.value.reason == reason


def test_states() -> None:
    text = "graph g(%x: f32[4], %h: f32[4]) -> (%y, %hn)\n  state %h = %hn from -3\n  %y : f32[4] = relu(%h)\n"
    text += "  %hn : f32[4] = add(%x, %h)\n"
    assert print_graph(parse_graph(text)) == text
