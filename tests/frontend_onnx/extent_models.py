"""Models whose outputs have extents that a run finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import Operand, model, value

X = [value("x", [3, 4])]
FEEDS = [np.full((3, 4), number, np.float32) for number in (0, 1)] + [
    np.round(np.random.default_rng(seed).standard_normal((3, 4))).astype(np.float32) for seed in range(3)
]


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, outputs, **attrs)


def places_of(x: str = "x") -> list[onnx.NodeProto]:
    """``places[n, 2]`` of what is not 0."""
    return [node("NonZero", [x], ["columns"]), node("Transpose", ["columns"], ["places"])]


C: dict[str, Operand] = {
    "zero": np.array(0), "first": np.array([0]), "behind": np.array([1]), "floats": np.arange(4, dtype=np.float32),
    "w": np.random.default_rng(7).standard_normal((4, 5)).astype(np.float32), "axis": np.array([1]),
    "tiny": np.float32(0.5), "none": np.float32(0), "nil": np.float32(0),
    "two": np.array([2]), "four": np.array(4), "half": np.float32(0.5), "pairs": np.array([2, -1]),
    "border": np.array([1, 0, 2, 0]), "eight": np.array([8]),
    "all": np.array([-1]),
}  # fmt: skip
SELECTED = [
    node("Abs", ["x"], ["a"]),
    node("ReduceMax", ["a", "axis"], ["best"], keepdims=0),
    node("Cast", ["best"], ["kept"], to=TensorProto.BOOL),
    node("Compress", ["x", "kept"], ["rows"], axis=0),
]
FILLED = FEEDS[1:]
"""Those of which something is left: ONNX does not define the mean of nothing, nor its first element."""
NOT_OF_NOTHING = ("means", "an element")

def body(nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], *outputs: str) -> onnx.GraphProto:
    """The graph of a branch or a loop."""
    results = [helper.make_value_info(name, helper.make_tensor_type_proto(TensorProto.FLOAT, None)) for name in outputs]
    if inputs and len(inputs) > 1:
        results[0] = helper.make_tensor_value_info(outputs[0], TensorProto.BOOL, [])
    return helper.make_graph(list(nodes), "body", list(inputs), results)


ANY_ROWS = [
    *SELECTED, node("Size", ["rows"], ["n"]), node("Greater", ["n", "four"], ["many"]),
]
"""Whether more than one row is selected."""
STEP = body(
    [node("Identity", ["going"], ["on"]), node("Mul", ["state", "half"], ["next"]),
     node("Add", ["next", "rows"], ["row"])],
    [helper.make_tensor_value_info("i", TensorProto.INT64, []),
     helper.make_tensor_value_info("going", TensorProto.BOOL, []),
     helper.make_tensor_value_info("state", TensorProto.FLOAT, None)],
    "on", "next", "row",
)  # fmt: skip

MODELS: dict[str, tuple[list[onnx.NodeProto], list[str]]] = {
    "joined": (
        [*SELECTED, node("Concat", ["rows", "x", "rows"], ["j"], axis=0), node("ReduceSum", ["j", "first"], ["y"])],
        ["j", "y"],
    ),
    "bordered": ([*SELECTED, node("Pad", ["rows", "border", "tiny"], ["y"])], ["y"]),
    "nonzero": (places_of(), ["columns", "places"]),
    "gathered": ([*places_of(), node("GatherND", ["x", "places"], ["y"]), node("Exp", ["y"], ["z"])], ["y", "z"]),
    "two counts": (
        [*places_of(), node("Sign", ["x"], ["s"]), node("Unique", ["s"], ["u", "", "", "n"])], ["places", "u", "n"],
    ),
    "rows": ([*SELECTED, node("Relu", ["rows"], ["y"])], ["rows", "y"]),
    "matmul": ([*SELECTED, node("MatMul", ["rows", "w"], ["y"]), node("Softmax", ["y"], ["z"], axis=-1)], ["z"]),
    "contraction": (
        [*SELECTED, node("Transpose", ["rows"], ["t"]), node("MatMul", ["t", "rows"], ["y"])], ["y"],
    ),
    "sums": (
        [*SELECTED, node("ReduceSum", ["rows", "first"], ["y"]), node("ReduceSum", ["rows", "behind"], ["z"])],
        ["y", "z"],
    ),
    "means": (
        [*SELECTED, node("ReduceMean", ["rows", "first"], ["y"]), node("ReduceMean", ["rows", "behind"], ["z"])],
        ["y", "z"],
    ),
    "extremes": ([*SELECTED, node("CumSum", ["rows", "zero"], ["z"], reverse=1)], ["z"]),
    "softmax over": ([*SELECTED, node("Softmax", ["rows"], ["y"], axis=0)], ["y"]),
    "columns": ([*SELECTED, node("Transpose", ["rows"], ["t"]), node("Mul", ["t", "t"], ["y"])], ["y"]),
    "flat": ([*SELECTED, node("Flatten", ["rows"], ["f"], axis=2), node("Neg", ["f"], ["y"])], ["y"]),
    "scatter": (
        [*places_of(), node("GatherND", ["x", "places"], ["v"]), node("Neg", ["v"], ["m"]),
         node("ScatterND", ["x", "places", "m"], ["y"])], ["y"],
    ),
    "branches of other rows": (
        [*ANY_ROWS, node("If", ["many"], ["b"],
                         then_branch=body([node("Neg", ["rows"], ["t"])], (), "t"),
                         else_branch=body([node("Concat", ["rows", "x"], ["e"], axis=0)], (), "e")),
         node("Relu", ["b"], ["y"])], ["b", "y"],
    ),
    "branches of the same rows": (
        [*ANY_ROWS, node("If", ["many"], ["b"],
                         then_branch=body([node("Neg", ["rows"], ["t"])], (), "t"),
                         else_branch=body([node("Exp", ["rows"], ["e"])], (), "e")),
         node("Add", ["b", "rows"], ["y"])], ["y"],
    ),
    "branches of fixed shapes": (
        [*ANY_ROWS, node("If", ["many"], ["y"],
                         then_branch=body([node("ReduceSum", ["rows", "first"], ["t"])], (), "t"),
                         else_branch=body([node("Identity", ["x"], ["e"])], (), "e"))], ["y"],
    ),
    "a loop over rows": (
        [*ANY_ROWS, node("Squeeze", ["four"], ["passes"]), node("Loop", ["passes", "", "rows"], ["y", "z"], body=STEP)],
        ["y", "z"],
    ),
    "first rows": ([*SELECTED, node("Slice", ["rows", "first", "two"], ["y"])], ["y"]),
    "pairs": (
        [*places_of(), node("GatherND", ["x", "places"], ["v"]), node("Concat", ["v", "v"], ["twice"], axis=0),
         node("Reshape", ["twice", "pairs"], ["y"])], ["y"],
    ),
    "repeated to a shape in which -1 is kept": (
        [*places_of(), node("Shape", ["places"], ["shape"]), node("Shape", ["shape"], ["rank"]),
         node("ConstantOfShape", ["rank"], ["ones"], value=helper.make_tensor("one", TensorProto.INT64, [1], [1])),
         node("Neg", ["ones"], ["kept"]), node("Equal", ["shape", "kept"], ["is kept"]),
         node("Where", ["is kept", "ones", "shape"], ["wanted"]), node("Expand", ["tiny", "wanted"], ["y"])], ["y"],
    ),
    "an element": ([*SELECTED, node("Gather", ["rows", "zero"], ["y"])], ["y"]),
    "different ones": ([*SELECTED, node("Unique", ["rows"], ["y", "", "i", "n"])], ["y", "i", "n"]),
    "rows of rows": (
        [*SELECTED, node("ReduceSum", ["rows", "behind"], ["s"], keepdims=0), node("NonZero", ["s"], ["places"]),
         node("Squeeze", ["places", "first"], ["p"]), node("Gather", ["rows", "p"], ["y"])], ["y"],
    ),
    "best rows": (
        [*SELECTED, node("ReduceSum", ["rows", "behind"], ["s"], keepdims=0), node("Shape", ["s"], ["n"]),
         node("Min", ["n", "two"], ["k"]), node("TopK", ["s", "k"], ["values", "p"]),
         node("Gather", ["rows", "p"], ["y"])], ["values", "y"],
    ),
    "shape": (
        [*places_of(), node("Shape", ["columns"], ["s"]), node("Size", ["columns"], ["n"]),
         node("Add", ["s", "n"], ["y"])], ["y"],
    ),
    "by masks that are computed again": (
        [node("Equal", ["x", "none"], ["is zero"]), node("Not", ["is zero"], ["m"]),
         node("Equal", ["x", "nil"], ["is nil"]), node("Not", ["is nil"], ["n"]),
         node("NonZero", ["m"], ["c"]), node("Transpose", ["c"], ["p"]), node("GatherND", ["x", "p"], ["v"]),
         node("NonZero", ["n"], ["d"]), node("Transpose", ["d"], ["q"]), node("GatherND", ["x", "q"], ["w2"]),
         node("Add", ["v", "w2"], ["y"])], ["y"],
    ),
    "parts of two tensors": (
        [node("ArgMax", ["x"], ["best"], axis=1, keepdims=0), node("ReduceMin", ["best"], ["begin"]),
         node("ReduceMax", ["best"], ["end"]), node("Reshape", ["x", "all"], ["flat"]), node("Neg", ["flat"], ["less"]),
         node("Reshape", ["begin", "all"], ["b"]), node("Reshape", ["end", "all"], ["e"]),
         node("Slice", ["flat", "b", "e"], ["part"]), node("Slice", ["less", "b", "e"], ["other"]),
         node("Mul", ["part", "other"], ["y"])], ["y"],
    ),
    "rows as many as there are": (
        [*SELECTED, node("Shape", ["rows"], ["shape"], end=1), node("Unsqueeze", ["rows", "behind"], ["middle"]),
         node("Concat", ["middle", "middle"], ["both"], axis=1), node("Concat", ["shape", "eight"], ["flat"], axis=0),
         node("Reshape", ["both", "flat"], ["y"])], ["y"],
    ),
    "again": ([*SELECTED, node("ReduceSum", ["rows", "behind"], ["s"], keepdims=0), node("NonZero", ["s"], ["y"])],
              ["y"]),
}  # fmt: skip


def proto(name: str) -> onnx.ModelProto:
    nodes, outputs = MODELS[name]
    read = {operand for made in [*nodes, *_inner(nodes)] for operand in made.input}
    return model(nodes, X, outputs, {key: array for key, array in C.items() if key in read})


def _inner(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    return [inner for made in nodes for attribute in made.attribute for inner in attribute.g.node]
