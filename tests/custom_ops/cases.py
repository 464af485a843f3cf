"""Models with custom operators: their C, the TOML beside it, their meaning in NumPy, and inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ccml
import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import model, value

DOMAIN = "com.acme"
Arrays = dict[str, np.ndarray]


def node(op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: object) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain=DOMAIN, name=f"my_{op_type}", **attrs)


@dataclass(frozen=True)
class Case:
    """``files`` by operator name: the C, and the TOML where there is one."""

    proto: onnx.ModelProto
    files: dict[str, tuple[str, str | None]]
    feeds: Arrays
    expected: Callable[[Arrays], Sequence[np.ndarray]]
    python: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> tuple[Path, ccml.ModelOptions]:
        """The model and its operators as files."""
        paths = {}
        for name, (code, toml) in self.files.items():
            paths[f"{DOMAIN}::{name}"] = path = folder / f"{name.lower()}.c"
            path.write_text(code)
            if toml is not None:
                path.with_suffix(".toml").write_text(toml)
        onnx.save(self.proto, folder / "relu.onnx")
        return folder / "relu.onnx", ccml.ModelOptions(custom_ops=paths)


def declared(proto: onnx.ModelProto, **types: tuple[int, Sequence[int]]) -> onnx.ModelProto:
    """With the types of values declared in the model."""
    outputs = {info.name: info for info in proto.graph.output}
    for name, (element, shape) in types.items():
        info = value(name, shape, element)
        if name in outputs:
            outputs[name].CopyFrom(info)
        else:
            proto.graph.value_info.append(info)
    return proto


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


SCALE = """
void Scale(const float *x, float *y)
{
    for (int i = 0; i < CCML_IN0_SIZE; i++)
        y[i] = CCML_ATTR_alpha * x[i];
}
"""
SAME = """
inputs = ["x"]
[attributes]
alpha = 2.0
[[outputs]]
shape = "x.shape"
in_place = "x"
"""


def by_declaration() -> Case:
    proto = model(
        [node("Scale", ["x"], ["t"], alpha=-1.5), helper.make_node("Relu", ["t"], ["y"])], [value("x", [2, 3])], ["y"]
    )
    return Case(
        declared(proto, t=(TensorProto.FLOAT, [2, 3])), {"Scale": (SCALE, None)}, {"x": floats(2, 3)},
        lambda a: [np.maximum(np.float32(-1.5) * a["x"], 0)],
    )  # fmt: skip


def in_place() -> Case:
    """The default of an attribute, a result in the place of its operand, and one operator at two shapes."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]), node("Scale", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["c"]),
        helper.make_node("ReduceSum", ["c", "axes"], ["d"], keepdims=0), node("Scale", ["d"], ["y"], alpha=0.5),
    ]  # fmt: skip
    proto = model(nodes, [value("x", [4, 5])], ["y"], {"axes": np.array([0])})
    return Case(
        proto, {"Scale": (SCALE, SAME)}, {"x": floats(4, 5)}, lambda a: [a["x"].sum(0, dtype=np.float32)]
    )


SPLIT = """
#if CCML_IN0_RANK != 2
#error "SplitSum takes matrices"
#endif
/* The sum of each row, the place of its greatest element, and what is above the bound (0 without). */
void SplitSum(const CCML_IN0_TYPE *x, const float *bound, CCML_OUT0_TYPE *sums, int64_t *places, uint8_t *above,
              void *workspace)
{
    float *copy = workspace;
    for (size_t r = 0; r < CCML_IN0_DIM0; r++) {
        size_t best = 0;
        float limit = 0;
#if CCML_IN1
        limit = *bound;
#else
        (void)bound;
#endif
        sums[r] = 0;
        for (size_t i = 0; i < CCML_IN0_DIM1; i++) {
            copy[i] = x[r * CCML_IN0_DIM1 + i];
            sums[r] += copy[i];
            if (copy[i] > copy[best])
                best = i;
#if CCML_OUT2
            above[r * CCML_IN0_DIM1 + i] = copy[i] > limit;
#endif
        }
        places[r] = (int64_t)best;
#if !CCML_OUT2
        (void)above, (void)limit;
#endif
    }
}
"""
SPLIT_TOML = """
inputs = ["x", "bound?"]
workspace = "4 * x.shape[1]"
macs = "x.size"
[[outputs]]
shape = ["x.shape[0]"]
[[outputs]]
type = "int64"
shape = "x.shape[:1]"
[[outputs]]
type = "bool"
shape = "x.shape if bound.present else [x.shape[0], x.shape[1]]"
"""


def several() -> Case:
    """Several inputs and outputs of different types, one of each left out, and memory for the time of a call."""
    nodes = [
        node("SplitSum", ["x", "bound"], ["s", "p", "a"]), node("SplitSum", ["x"], ["s2", "p2"]),
        node("SplitSum", ["x"], ["", "", "a3"]),
    ]  # fmt: skip
    proto = model(nodes[:2], [value("x", [3, 4]), value("bound", [])], ["s", "p", "a", "s2", "p2"])

    def expected(a: Arrays) -> list[np.ndarray]:
        sums = np.array([sum(row, np.float32(0)) for row in a["x"]], np.float32)
        return [sums, a["x"].argmax(1), a["x"] > a["bound"], sums, a["x"].argmax(1)]

    feeds = {"x": floats(3, 4), "bound": np.array(0.1, np.float32)}
    return Case(proto, {"SplitSum": (SPLIT, SPLIT_TOML)}, feeds, expected)


TYPES = {"i8": np.int8, "u16": np.uint16, "i64": np.int64, "f64": np.float64, "f16": np.float16, "bool": np.bool_}
REVERSE = """
void Reverse(const CCML_IN0_TYPE *x, CCML_OUT0_TYPE *y)
{
    for (int i = 0; i < CCML_IN0_SIZE; i++)
        y[i] = x[CCML_IN0_SIZE - 1 - i];
}
"""


def types() -> Case:
    """One source for elements of every type, and a tensor of rank 0."""
    arrays: Arrays = {name: floats(5).astype(np.float64).round(1).astype(kind) for name, kind in TYPES.items()}
    arrays["rank0"] = np.array(3.5, np.float32)
    nodes = [node("Reverse", [name], [f"{name}_r"]) for name in arrays]
    inputs = [value(n, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in arrays.items()]
    toml = 'inputs = ["x"]\n[[outputs]]\nshape = "x.shape"\n'
    proto = model(nodes, inputs, [f"{name}_r" for name in arrays])
    return Case(
        proto, {"Reverse": (REVERSE, toml)}, arrays, lambda a: [x[::-1] if x.ndim else x for x in a.values()]
    )


COUNT = """
void Count(const float *x, int32_t *count, float *copy)
{
    *count = CCML_IN0_SIZE;
    for (int i = 0; i < CCML_IN0_SIZE; i++)
        copy[i] = x[i];
}
"""
COUNT_TOML = """
inputs = ["x"]
[[outputs]]
type = "int32"
shape = []
[[outputs]]
shape = "x.shape"
"""


def empty() -> Case:
    """Operands and results without elements."""
    nodes = [
        node("Count", ["x"], ["n", "c"]), helper.make_node("Slice", ["z", "zero", "zero"], ["e"]),
        node("Count", ["e"], ["m", "d"]), helper.make_node("Concat", ["d", "z"], ["w"], axis=0),
    ]  # fmt: skip
    proto = model(nodes, [value("x", [0, 3]), value("z", [4])], ["n", "m", "w"], {"zero": np.array([0])})
    feeds = {"x": np.zeros((0, 3), np.float32), "z": floats(4)}
    files = {"Count": (COUNT, COUNT_TOML)}
    return Case(proto, files, feeds, lambda a: [np.array(0, np.int32), np.array(0, np.int32), a["z"]])


def control_flow() -> Case:
    """In a branch that a run chooses, and in a loop whose passes it counts."""

    def body(nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], output: str) -> onnx.GraphProto:
        return helper.make_graph(nodes, "body", inputs, [value(output, [3])])

    loop = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["on"]), node("Scale", ["s"], ["t"], alpha=3.0)], "step",
        [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("s", [3])],
        [value("on", [], TensorProto.BOOL), value("t", [3])],
    )  # fmt: skip
    nodes = [
        helper.make_node(
            "If", ["flag"], ["c"], then_branch=body([node("Scale", ["x"], ["p"], alpha=5.0)], [], "p"),
            else_branch=body([helper.make_node("Neg", ["x"], ["q"])], [], "q"),
        ),
        helper.make_node("Loop", ["n", "", "c"], ["y"], body=loop),
    ]  # fmt: skip
    inputs = [value("x", [3]), value("flag", [], TensorProto.BOOL), value("n", [], TensorProto.INT64)]
    feeds = {"x": floats(3), "flag": np.array(True), "n": np.array(2)}
    factor = np.float32(5) * np.float32(9)
    return Case(model(nodes, inputs, ["y"]), {"Scale": (SCALE, SAME)}, feeds, lambda a: [a["x"] * factor])


def functions() -> Case:
    """In a function of the model, whose attribute the node has; with constant operands, which do not fold."""
    inner = node("Scale", ["a"], ["b"])
    inner.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="factor", type=onnx.AttributeProto.FLOAT))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    function = helper.make_function("local", "Times", ["a"], ["b"], [inner], opsets, ["factor"])
    nodes = [
        helper.make_node("Times", ["x"], ["t"], domain="local", factor=4.0),
        helper.make_node("Times", ["k"], ["u"], domain="local", factor=0.25),
        helper.make_node("Add", ["t", "u"], ["y"]),
    ]  # fmt: skip
    k = floats(2)
    proto = model(nodes, [value("x", [2])], ["y"], {"k": k}, functions=[function], domains={"local": 1, DOMAIN: 1})
    return Case(
        proto, {"Scale": (SCALE, SAME)}, {"x": floats(2)}, lambda a: [a["x"] * np.float32(4) + k * np.float32(0.25)]
    )


ATTRIBUTES = """
static const int64_t LIST[] = CCML_ATTR_list;
static const char *const NAMES[] = CCML_ATTR_names;
static const CCML_ATTR_table_TYPE TABLE[CCML_ATTR_table_SIZE] = CCML_ATTR_table;

void Sum(const int64_t *x, int64_t *y)
{
    const char *text = CCML_ATTR_text;
    *y = *x + CCML_ATTR_table_DIM1;
    for (int i = 0; i < CCML_ATTR_list_COUNT; i++)
        *y += LIST[i];
    for (int i = 0; i < CCML_ATTR_names_COUNT; i++)
        *y += (unsigned char)NAMES[i][0];
    for (int i = 0; i < CCML_ATTR_table_SIZE; i++)
        *y += TABLE[i];
    for (; *text; text++)
        *y += (unsigned char)*text;
#ifdef CCML_ATTR_missing
    *y = 0;
#endif
}
"""
HOSTILE = 'a"; } /* */ // \\ ??/ \n #include "x" %s \u00e9 \x01 end'
"""A text that would break out of a literal, a comment or a line, if anything did."""


def attributes() -> Case:
    table = np.array([[1, 2, 3], [-4, 5, 6]], np.int16)
    attrs = {
        "list": [1, -(2**63), 2**63 - 1], "names": ["x", "\u20ac"], "text": HOSTILE,
        "table": onnx.numpy_helper.from_array(table),
    }  # fmt: skip
    proto = model([node("Sum", ["x"], ["y"], **attrs)], [value("x", [], TensorProto.INT64)], ["y"])
    total = -1 + 1 + ord("x") + "\u20ac".encode()[0] + int(table.sum()) + sum(HOSTILE.encode()) + 3
    return Case(
        declared(proto, y=(TensorProto.INT64, [])), {"Sum": (ATTRIBUTES, None)}, {"x": np.array(100)},
        lambda a: [np.array(100 + total)],
    )  # fmt: skip


CASES: dict[str, Callable[[], Case]] = {
    "declared": by_declaration, "in place": in_place, "several": several, "types": types, "empty": empty,
    "control flow": control_flow, "functions": functions, "attributes": attributes,
}  # fmt: skip
