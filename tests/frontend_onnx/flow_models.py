"""Models with control flow at run time, each with inputs that take all ways through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import Operand, model, untyped, value

Case = tuple[onnx.ModelProto, list[dict[str, np.ndarray]]]
N = helper.make_node
X = (np.arange(12, dtype=np.float32).reshape(3, 4) - 5) / 4
BOOL, I64, I32, I8 = TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32, TensorProto.INT8


def body(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], inputs: Sequence[onnx.ValueInfoProto] = (),
    **constants: Operand,
) -> onnx.GraphProto:  # fmt: skip
    stored = [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    return helper.make_graph(list(nodes), "body", list(inputs), untyped(*outputs), stored)


def choice(
    condition: str, outputs: Sequence[str], then: onnx.GraphProto, orelse: onnx.GraphProto, name: str = "choice"
) -> onnx.NodeProto:
    return N("If", [condition], outputs, name=name, then_branch=then, else_branch=orelse)


def looping(*states: tuple[str, Sequence[int], int]) -> list[onnx.ValueInfoProto]:
    """The inputs of a Loop's body: i, going, states."""
    own = [value(name, shape, elem_type) for name, shape, elem_type in states]
    return [value("i", [], I64), value("going", [], BOOL), *own]


def sigmoid() -> Case:
    """One branch or the other by the sigmoid of a mean; the weights of both are constants in them."""
    rng = np.random.default_rng(0)
    w, v = (rng.standard_normal((4, 5)).astype(np.float32) for _ in range(2))
    nodes = [
        N("ReduceMean", ["x"], ["m"], keepdims=0), N("Sigmoid", ["m"], ["s"]), N("Greater", ["s", "half"], ["c"]),
        choice("c", ["t"], body([N("MatMul", ["x", "w"], ["a"]), N("Relu", ["a"], ["b"])], ["b"], w=w),
               body([N("Neg", ["x"], ["n"]), N("MatMul", ["n", "v"], ["d"])], ["d"], v=v)),
        N("Add", ["t", "half"], ["y"]),
    ]  # fmt: skip
    proto = model(nodes, [value("x", [3, 4])], ["y"], {"half": np.float32(0.5)})
    return proto, [{"x": X}, {"x": -X}]


def rate() -> Case:
    """If on an input `sr`, as voice models have: convolutions of different strides, with borders."""
    rng = np.random.default_rng(1)
    w8, w16 = rng.standard_normal((4, 1, 4)).astype(np.float32), rng.standard_normal((4, 1, 8)).astype(np.float32)
    nodes = [
        N("Equal", ["sr", "k16"], ["is16"]),
        choice("is16", ["f"],
               body([N("Slice", ["x", "zero", "end16", "axis"], ["s"]),
                     N("Conv", ["s", "w16"], ["c"], pads=[3, 3], strides=[4])], ["c"], w16=w16),
               body([N("Slice", ["x", "zero", "end8", "axis"], ["s8"]),
                     N("Conv", ["s8", "w8"], ["c8"], pads=[1, 1], strides=[2])], ["c8"], w8=w8)),
        N("Relu", ["f"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {"k16": np.int64(16000), "zero": np.array([0]), "axis": np.array([2]),
                                     "end16": np.array([66]), "end8": np.array([34])}  # fmt: skip
    proto = model(nodes, [value("x", [1, 1, 66]), value("sr", [], I64)], ["y"], constants)
    x = rng.standard_normal((1, 1, 66)).astype(np.float32)
    return proto, [{"x": x, "sr": np.array(16000)}, {"x": x, "sr": np.array(8000)}]


def search() -> Case:
    """A loop that ends when a computed condition says so, or its trip count; states of several types."""
    nodes = [
        N("Add", ["a", "x"], ["a2"]), N("ReduceMax", ["a2"], ["m"], keepdims=0), N("Less", ["m", "most"], ["go"]),
        N("Cast", ["i"], ["i32"], to=I32), N("Add", ["count", "i32"], ["count2"]), N("Not", ["odd"], ["odd2"]),
        N("Cast", ["count"], ["small"], to=I8), N("Add", ["bytes", "small"], ["bytes2"]),
    ]  # fmt: skip
    states = looping(("a", [3, 4], 1), ("count", [2], I32), ("odd", [1], BOOL), ("bytes", [2], I8))
    step = body(nodes, ["go", "a2", "count2", "odd2", "bytes2"], states, most=np.float32(20))
    inputs = ["k", "first", "x", "start", "flag", "bytes0"]
    proto = model(
        [N("Loop", inputs, ["y", "n", "o", "b"], body=step, name="search")],
        [value("x", [3, 4]), value("k", [], I64), value("first", [], BOOL), value("flag", [1], BOOL)],
        ["y", "n", "o", "b"],
        {"start": np.array([1, -3], np.int32), "bytes0": np.array([100, 3], np.int8)},
    )
    feeds = [{"x": X, "k": np.array(k), "first": np.array(first), "flag": np.array([first])}
             for k, first in ((0, True), (5, True), (5, False), (1000, True))]  # fmt: skip
    return proto, feeds


def swap() -> Case:
    """States that change places, one that never changes, and rows; trip count constant and large."""
    states = looping(("a", [4], 1), ("b", [4], 1), ("same", [4], 1))
    nodes = [N("Identity", ["going"], ["go"]), N("Identity", ["a"], ["a2"]), N("Identity", ["b"], ["b2"]),
             N("Add", ["a", "same"], ["row"]), N("Cast", ["i"], ["f"], to=1), N("Add", ["row", "f"], ["row2"]),
             N("Identity", ["same"], ["same2"]), N("Mul", ["i", "k"], ["number"])]  # fmt: skip
    step = body(nodes, ["go", "b2", "a2", "same2", "row2", "number"], states)
    proto = model(
        [N("Loop", ["k", "", "x", "z", "u"], ["p", "q", "r", "rows", "numbers"], body=step, name="swap")],
        [value("x", [4]), value("z", [4]), value("u", [4])],
        ["p", "q", "r", "rows", "numbers"],
        {"k": np.array(333)},
    )
    return proto, [{"x": X[0], "z": X[1], "u": X[2]}]


def nested() -> Case:
    """If in Loop in If; bodies read what is around all of them, and what only the loop sees."""
    inner = choice("up", ["n"], body([N("Add", ["a", "x"], ["t"])], ["t"]),
                   body([N("Mul", ["a", "scale"], ["p"]), N("Sub", ["p", "x"], ["e"])], ["e"]), "inner")  # fmt: skip
    nodes = [N("ReduceSum", ["a"], ["sum"], keepdims=0), N("Less", ["sum", "most"], ["up"]), inner,
             N("Identity", ["going"], ["go"])]  # fmt: skip
    step = body(nodes, ["go", "n"], looping(("a", [3, 4], 1)))
    outer = choice(
        "loops", ["y", "z"],
        body([N("Loop", ["k", "", "x"], ["last"], body=step, name="rounds"), N("Neg", ["last"], ["nl"])],
             ["last", "nl"]),
        body([N("Abs", ["x"], ["ab"]), N("Identity", ["x"], ["same"])], ["ab", "same"]),
        "outer",
    )  # fmt: skip
    proto = model([outer], [value("x", [3, 4]), value("k", [], I64), value("loops", [], BOOL)], ["y", "z"],
                  {"most": np.float32(3), "scale": np.float32(0.5)})  # fmt: skip
    feeds = [{"x": X, "k": np.array(k), "loops": np.array(on)} for k, on in ((7, True), (0, True), (3, False))]
    return proto, feeds


def plain_results() -> Case:
    """Branch results that are a constant, a captured value, an input of the model, or one value twice; results of the
    branch that are outputs of the model."""
    nodes = [
        N("Exp", ["x"], ["h"]),
        choice("c", ["a", "b", "d", "e"], body([N("Neg", ["x"], ["n"])], ["k", "x", "n", "n"], k=np.float32([1, 2])),
               body([N("Identity", ["h"], ["h2"])], ["x", "h2", "h", "k2"], k2=np.float32([3, 4]))),
        N("Add", ["a", "b"], ["s"]),
    ]  # fmt: skip
    proto = model(nodes, [value("x", [2]), value("c", [], BOOL)], ["a", "b", "d", "e", "s", "h"])
    return proto, [{"x": X[0, :2], "c": np.array(c)} for c in (True, False)]


def long_scan() -> Case:
    """A filter over 2000 samples, of which one sequence runs backward, with rows along the other axis."""
    nodes = [N("Mul", ["s", "decay"], ["d"]), N("Add", ["d", "e"], ["n"]), N("Sub", ["n", "f"], ["row"]),
             N("Identity", ["n"], ["row2"])]  # fmt: skip
    step = body(nodes, ["n", "row", "row2"], [value("s", [3]), value("e", [3]), value("f", [3])])
    scan = N("Scan", ["zero", "x", "z"], ["last", "rows", "back"], body=step, num_scan_inputs=2, name="filter",
             scan_input_axes=[0, 1], scan_input_directions=[0, 1], scan_output_axes=[1, 0],
             scan_output_directions=[0, 1])  # fmt: skip
    proto = model([scan], [value("x", [2000, 3]), value("z", [3, 2000])], ["last", "rows", "back"],
                  {"zero": np.zeros(3, np.float32), "decay": np.float32(0.75)})  # fmt: skip
    rng = np.random.default_rng(2)
    shapes = {"x": (2000, 3), "z": (3, 2000)}
    return proto, [{name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}]


def loops_in_loops() -> Case:
    """An inner loop with rows and a trip count that depends on the outer loop."""
    inner = body([N("Add", ["p", "x"], ["p2"]), N("Identity", ["g1"], ["go1"])], ["go1", "p2"],
                 [value("j", [], I64), value("g1", [], BOOL), value("p", [4], 1)])  # fmt: skip
    fixed = body([N("Mul", ["q", "half"], ["q2"]), N("Identity", ["g2"], ["go2"]), N("ReduceSum", ["q"], ["r"])],
                 ["go2", "q2", "r"], [value("l", [], I64), value("g2", [], BOOL), value("q", [4], 1)])  # fmt: skip
    nodes = [N("Loop", ["i", "", "a"], ["a2"], body=inner, name="inner"),
             N("Loop", ["many", "", "a2"], ["a3", "sums"], body=fixed, name="fixed"),
             N("ReduceMax", ["sums"], ["top"], keepdims=0), N("Add", ["a3", "top"], ["n"]),
             N("Identity", ["going"], ["go"])]  # fmt: skip
    step = body(nodes, ["go", "n"], looping(("a", [4], 1)))
    proto = model([N("Loop", ["k", "", "x"], ["y"], body=step, name="outer")], [value("x", [4]), value("k", [], I64)],
                  ["y"], {"half": np.float32(0.5), "many": np.array(600)})  # fmt: skip
    return proto, [{"x": X[1], "k": np.array(k)} for k in (0, 1, 4)]


def names_of_buffers() -> Case:
    """Values of a pass that are called as buffers of a loop might be."""
    nodes = [N("MatMul", ["a", "x"], ["b"]), N("Clip", ["b", "low", "high"], ["c"]),
             N("MatMul", ["c", "x"], ["next_0"]), N("MatMul", ["next_0", "x"], ["row"]),
             N("Identity", ["going"], ["go"])]  # fmt: skip
    step = body(nodes, ["go", "c", "row"], looping(("a", [3, 3], 1)), low=np.float32(-2), high=np.float32(2))
    proto = model([N("Loop", ["k", "", "x"], ["y", "rows"], body=step, name="loop")], [value("x", [3, 3])],
                  ["y", "rows"], {"k": np.array(300)})  # fmt: skip
    return proto, [{"x": X[:, :3]}]


def counting() -> Case:
    """A loop without a trip count that goes on while the next of its own numbers is below a limit, as `while` is
    exported: its first pass is by another condition, and the last number is a result."""
    nodes = [
        N("CastLike", ["one", "k"], ["step"]), N("Add", ["step", "k"], ["k2"]), N("Less", ["k2", "most"], ["less"]),
        N("Cast", ["less"], ["go"], to=BOOL), N("Cast", ["k"], ["f"], to=1), N("Mul", ["a", "half"], ["h"]),
        N("Add", ["h", "f"], ["a2"]),
    ]  # fmt: skip
    step = body(nodes, ["go", "a2", "k2"], looping(("a", [3, 4], 1), ("k", [1], I32)), one=np.int64(1))
    loop = N("Loop", ["", "first", "x", "from"], ["y", "n"], body=step, name="counting")
    inputs = [value("x", [3, 4]), value("first", [], BOOL), value("from", [1], I32), value("most", [1], I32)]
    proto = model([loop], inputs, ["y", "n"], {"half": np.float32(0.5)})
    ways = ((True, 2, 7), (False, 2, 7), (True, 7, 2), (True, -3, 2000))
    return proto, [{"x": X, "first": np.array(first), "from": np.array([start], np.int32),
                    "most": np.array([most], np.int32)} for first, start, most in ways]  # fmt: skip


def carried_in_vain() -> Case:
    """Two of four carried values are given back as they came, one of them by another name. The other, of which the body
    cannot read what is in front of the loop: it has a value of that name itself."""
    nodes = [N("Identity", ["b"], ["b1"]), N("Identity", ["b1"], ["b2"]), N("MatMul", ["a", "v"], ["m"]),
             N("Add", ["m", "b"], ["a2"]), N("Identity", ["going"], ["go"]),
             N("Mul", ["w", "half"], ["w2"])]  # fmt: skip
    step = body(nodes, ["go", "a2", "b2", "v", "w2"],
                looping(("a", [3, 4], 1), ("b", [3, 4], 1), ("v", [4, 4], 1), ("w", [4, 4], 1)))  # fmt: skip
    loop = N("Loop", ["k", "", "x", "x", "w", "w"], ["y", "b9", "v9", "w9"], body=step, name="loop")
    constants = {"half": np.float32(0.5), "w": np.eye(4, dtype=np.float32) * np.float32(1.5)}
    proto = model([loop], [value("x", [3, 4]), value("k", [], I64)], ["y", "b9", "v9", "w9"], constants)
    return proto, [{"x": X, "k": np.array(k)} for k in (0, 1, 5)]


def empty() -> Case:
    """Tensors without elements among captured values, states and results."""
    nodes = [
        choice("c", ["e", "t"], body([N("Neg", ["z"], ["nz"]), N("Neg", ["x"], ["nx"])], ["nz", "nx"]),
               body([N("Abs", ["z"], ["az"]), N("Abs", ["x"], ["ax"])], ["az", "ax"])),
        N("Loop", ["k", "", "e", "t"], ["f", "y"], name="loop",
          body=body([N("Identity", ["going"], ["go"]), N("Neg", ["p"], ["p2"]), N("Add", ["q", "x"], ["q2"])],
                    ["go", "p2", "q2"], looping(("p", [0, 4], 1), ("q", [3, 4], 1)))),
    ]  # fmt: skip
    inputs = [value("x", [3, 4]), value("z", [0, 4]), value("c", [], BOOL), value("k", [], I64)]
    proto = model(nodes, inputs, ["f", "y"])
    none = np.zeros((0, 4), np.float32)
    return proto, [{"x": X, "z": none, "c": np.array(c), "k": np.array(2)} for c in (True, False)]


CASES: dict[str, Callable[[], Case]] = {
    "sigmoid": sigmoid, "rate": rate, "search": search, "swap": swap, "nested": nested, "plain results": plain_results,
    "long scan": long_scan, "loops in loops": loops_in_loops, "empty": empty,
    "names of buffers": names_of_buffers, "counting": counting,
    "carried in vain": carried_in_vain,
}  # fmt: skip
