"""Models of at most 1 MB that were made to take all the time and memory of whoever compiles them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(
    nodes: Sequence[onnx.NodeProto], shape: Sequence[int] = (1, 4), constants: Mapping[str, Any] | None = None,
    functions: Sequence[onnx.FunctionProto] = (), outputs: Sequence[str] = ("y",), elem_type: int = TensorProto.FLOAT,
) -> bytes:  # fmt: skip
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    inputs = [helper.make_tensor_value_info("x", elem_type, shape)]
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", inputs, results, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9).SerializeToString()


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def large_constants() -> bytes:
    """60 nodes that each make 240 MB of constants."""
    nodes = [node("ConstantOfShape", "s", "c0")]
    nodes += [node("Sin", f"c{n}", f"c{n + 1}") for n in range(60)]
    nodes += [node("ReduceSum", f"c{n}", f"r{n}", keepdims=0) for n in range(60)]
    total = " ".join(f"r{n}" for n in range(60))
    return model([*nodes, node("Sum", f"x {total}", "y")], constants={"s": np.array([60_000_000])})


def medium_constants() -> bytes:
    """10,000 constants of 4 MB."""
    nodes = [node("Expand", f"v{n % 7} s", f"c{n}") for n in range(3000)]
    nodes += [node("ReduceMax", f"c{n}", f"r{n}", keepdims=0) for n in range(3000)]
    total = " ".join(f"r{n}" for n in range(3000))
    constants = {"s": np.array([1_000_000]), **{f"v{n}": np.float32(n) for n in range(7)}}
    return model([*nodes, node("Sum", f"x {total}", "y")], constants=constants)


def doubling_functions(levels: int = 40, body: str = "Relu") -> Callable[[], bytes]:
    def make() -> bytes:
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
        functions = [helper.make_function("local", "F0", ["a"], ["b"], [node(body, "a", "b")], opsets)]
        for level in range(1, levels):
            inner = f"F{level - 1}"
            calls = [node(inner, "a", "m", domain="local"), node(inner, "m", "b", domain="local")]
            functions.append(helper.make_function("local", f"F{level}", ["a"], ["b"], calls, opsets))
        return model([node(f"F{levels - 1}", "x", "y", domain="local")], functions=functions)

    return make


def empty_doubling() -> bytes:
    """Calls without any node of work in them."""
    return doubling_functions(40, "Identity")()


def _loop_body(inner: Sequence[onnx.NodeProto], level: int) -> onnx.GraphProto:
    nodes = [node("Identity", f"go{level}", f"on{level}"), *inner]
    inputs = [
        helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []),
        helper.make_tensor_value_info(f"go{level}", TensorProto.BOOL, []),
        helper.make_value_info(f"v{level}", onnx.TypeProto()),
    ]
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in (f"on{level}", f"w{level}")]
    return helper.make_graph(nodes, "body", inputs, outputs)


def nested_loops() -> bytes:
    """1000 iterations of 1000 iterations of 1000 iterations."""
    inner = [node("Relu", "v0", "w0")]
    for level in range(3):
        loop = node("Loop", f"n t {f'v{level + 1}' if level < 2 else 'x'}", f"w{level + 1}" if level < 2 else "y")
        loop.attribute.append(helper.make_attribute("body", _loop_body(inner, level)))
        inner = [loop]
    return model(inner, constants={"n": np.array(1000), "t": np.array(True)})


def long_loop() -> bytes:
    loop = node("Loop", "n t x", "y")
    body = [node("Mul", "v0 v0", "m"), node("Tanh", "m", "w0")]
    loop.attribute.append(helper.make_attribute("body", _loop_body(body, 0)))
    return model([loop], constants={"n": np.array(1000), "t": np.array(True)})


def chain(op: str, length: int) -> Callable[[], bytes]:
    def make() -> bytes:
        names = ["x", *(f"t{n}" for n in range(length - 1)), "y"]
        return model([node(op, first, second) for first, second in itertools.pairwise(names)])

    return make


def mixed_chain() -> bytes:
    """Operators that do not fuse with each other."""
    names = ["x", *(f"t{n}" for n in range(5999)), "y"]
    ops = [("Softmax", {}), ("Sin", {}), ("Transpose", {"perm": [1, 0]}), ("LpNormalization", {"axis": 0})]
    nodes = []
    for n, (first, second) in enumerate(itertools.pairwise(names)):
        op, attributes = ops[n % 4]
        nodes.append(node(op, first, second, **attributes))
    return model(nodes, shape=(3, 3))


def wide_sum() -> bytes:
    nodes = [node("Sin" if n % 2 else "Cos", "x", f"t{n}") for n in range(5000)]
    return model([*nodes, node("Sum", " ".join(f"t{n}" for n in range(5000)), "y")])


def large_product() -> bytes:
    """A matrix product of constants that takes 10^12 multiplications, of integers."""
    nodes = [
        node("ConstantOfShape", "s", "z"), node("Cast", "z", "a", to=TensorProto.INT32), node("MatMul", "a a", "p"),
        node("ReduceSum", "p", "r", keepdims=0), node("Cast", "r", "f", to=TensorProto.FLOAT), node("Add", "x f", "y"),
    ]  # fmt: skip
    return model(nodes, constants={"s": np.array([4000, 4000])})


def large_convolution() -> bytes:
    nodes = [
        node("ConstantOfShape", "s", "a"), node("ConstantOfShape", "w", "b"), node("Conv", "a b", "p"),
        node("ReduceSum", "p", "r", keepdims=0), node("Add", "x r", "y"),
    ]  # fmt: skip
    return model(nodes, constants={"s": np.array([1, 64, 400, 400]), "w": np.array([64, 64, 7, 7])})


def large_arena() -> bytes:
    """Tensors of 2^31 elements at run time."""
    nodes = [node("Expand", "x s", "a"), node("Sin", "a", "b"), node("Softmax", "b", "c"), node("ReduceSum", "c", "y")]
    return model(nodes, constants={"s": np.array([500_000_000, 4])})


def many_large_tensors() -> bytes:
    nodes = [node("Expand", "x s", "t0")]
    nodes += [node("Softmax" if n % 2 else "Sin", f"t{n}", f"t{n + 1}") for n in range(200)]
    return model([*nodes, node("ReduceSum", "t200", "y")], constants={"s": np.array([100_000_000, 4])})


def large_pad() -> bytes:
    return model([node("Pad", "x p", "a"), node("ReduceSum", "a", "y")], constants={"p": np.array([2**28, 0, 0, 0])})


def large_resize() -> bytes:
    nodes = [node("Resize", "x  s".replace("  ", " e "), "a", mode="cubic"), node("ReduceSum", "a", "y")]
    constants = {"e": np.zeros(0, np.float32), "s": np.array([1, 1, 20_000, 20_000], np.float32)}
    return model(nodes, shape=(1, 1, 4, 4), constants=constants)


def large_range() -> bytes:
    constants = {"a": np.array(0.0), "b": np.array(1e9), "c": np.array(1.0)}
    return model([node("Range", "a b c", "r"), node("ReduceSum", "r", "s", keepdims=0), node("Cast", "s", "f", to=1),
                  node("Add", "x f", "y")], constants=constants)  # fmt: skip


def long_sequence() -> bytes:
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((1, 16, 4)).astype(np.float32), "r": rng.standard_normal((1, 16, 4)).astype(np.float32)
    }  # fmt: skip
    return model([node("LSTM", "x w r", "y", hidden_size=4)], shape=(1_000_000, 1, 4), constants=constants)


def folded_sequence() -> bytes:
    """A recurrent layer over constants, in a loop in Python."""
    constants = {
        "s": np.array([2_000_000, 1, 4]), "w": np.ones((1, 16, 4), np.float32), "r": np.ones((1, 16, 4), np.float32)
    }  # fmt: skip
    nodes = [
        node("ConstantOfShape", "s", "a"), node("LSTM", "a w r", "l", hidden_size=4),
        node("ReduceSum", "l", "t", keepdims=0), node("Add", "x t", "y"),
    ]  # fmt: skip
    return model(nodes, constants=constants)


def wide_einsum() -> bytes:
    letters = "abcdefgh"
    equation = ",".join(letters) + "->" + letters
    return model([node("Einsum", " ".join(["x"] * 8), "y", equation=equation)], shape=(16,))


def many_outputs() -> bytes:
    names = " ".join(f"o{n}" for n in range(10_000))
    return model([node("Split", "x", names, axis=0), node("Concat", names, "y", axis=0)], shape=(10_000, 1))


def many_kernels() -> bytes:
    """Slices that each begin elsewhere."""
    parts = [f"o{n}" for n in range(7000)]
    nodes = [node("Split", "x", " ".join(parts), axis=0), *(node("Sin", part, f"s{part}") for part in parts)]
    return model([*nodes, node("Concat", " ".join(f"s{part}" for part in parts), "y", axis=0)], shape=(7000, 1))


def many_transposes() -> bytes:
    names = ["x", *(f"t{n}" for n in range(3999)), "y"]
    perms = [[1, 0, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2], [3, 2, 1, 0]]
    nodes = [node("Transpose", a, b, perm=perms[n % 4]) for n, (a, b) in enumerate(itertools.pairwise(names))]
    return model(nodes, shape=(2, 3, 4, 5))


def deep_branches() -> bytes:
    inner = [node("Relu", "x", "b0")]
    for level in range(30):  # protobuf reads no more
        branch = helper.make_graph(inner, "g", [], [helper.make_value_info(f"b{level}", onnx.TypeProto())])
        inner = [helper.make_node("If", ["t"], [f"b{level + 1}" if level < 29 else "y"], then_branch=branch,
                                  else_branch=branch if level < 8 else helper.make_graph(
                                      [node("Neg", "x", "n")], "e", [],
                                      [helper.make_value_info("n", onnx.TypeProto())]))]  # fmt: skip
    return model(inner, constants={"t": np.array(True)})


def diamond() -> bytes:
    """x + x, doubled 5000 times: as an expression it has 2^5000 leaves."""
    names = ["x", *(f"t{n}" for n in range(4999)), "y"]
    return model([node("Add", f"{a} {a}", b) for a, b in itertools.pairwise(names)])


def many_convolutions() -> bytes:
    names = ["x", *(f"t{n}" for n in range(399)), "y"]
    weights = {"w": np.ones((8, 8, 3, 3), np.float32)}
    nodes = [node("Conv", f"{a} w", b, pads=[1, 1, 1, 1]) for a, b in itertools.pairwise(names)]
    return model(nodes, shape=(1, 8, 16, 16), constants=weights)


def many_quantized_sums() -> bytes:
    """4,000 quantized sums of two tensors, by scales so unlike that one of them does not count."""
    scales = {f"s{n}": np.float32(10.0 ** -n) for n in range(38)}
    nodes = [node("QuantizeLinear", "x s0 z", "q0")]
    for n in range(4000):
        nodes.append(node("DequantizeLinear", f"q{n} s{n % 37} z", f"a{n}"))
        nodes.append(node("DequantizeLinear", f"q{n // 2} s{n % 36} z", f"b{n}"))
        nodes.append(node("Add", f"a{n} b{n}", f"c{n}"))
        nodes.append(node("QuantizeLinear", f"c{n} s{n % 31} z", f"q{n + 1}"))
    last = node("DequantizeLinear", "q4000 s0 z", "y")
    return model([*nodes, last], constants={**scales, "z": np.int8(0)})


MODELS: Mapping[str, Callable[[], bytes]] = {
    "large constants": large_constants, "medium constants": medium_constants,
    "doubling functions": doubling_functions(), "empty doubling functions": empty_doubling,
    "doubling to 2^15": doubling_functions(16), "nested loops": nested_loops, "long loop": long_loop,
    "chain of 20,000": chain("Sin", 20_000), "chain of 20,000 sums": diamond, "mixed chain": mixed_chain,
    "wide sum": wide_sum, "large product": large_product, "large convolution": large_convolution,
    "large arena": large_arena, "many large tensors": many_large_tensors, "large pad": large_pad,
    "large resize": large_resize, "large range": large_range, "long sequence": long_sequence,
    "folded sequence": folded_sequence, "wide einsum": wide_einsum, "many outputs": many_outputs,
    "many kernels": many_kernels, "many transposes": many_transposes, "deep branches": deep_branches,
    "many convolutions": many_convolutions, "many quantized sums": many_quantized_sums,
}  # fmt: skip
