"""Models of many nodes: kernels stay of bounded size, and no step is deeper or slower than their number explains."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from ccml.driver import preferred_bytes
from ccml.emit_c.artifact import write_c
from ccml.ir.graph import Graph
from ccml.passes.fuse import MAX_MEMBERS
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import checked_import, model, run, run_compiled, value

FEEDS = {"x": np.linspace(-1, 1, 4, dtype=np.float32)}


def chain(ops: Sequence[str], count: int) -> onnx.ModelProto:
    """One node behind the other; binary ones add, multiply, ... 0.99."""
    nodes, name = [], "x"
    for number in range(count):
        op, result = ops[number % len(ops)], "y" if number == count - 1 else f"t{number}"
        nodes.append(helper.make_node(op, [name, "c"] if op in ("Add", "Mul", "Pow") else [name], [result]))
        name = result
    return model(nodes, [value("x", [4])], ["y"], {"c": np.float32(0.99)})


def loop(count: int, depth: int = 1) -> onnx.ModelProto:
    """Loops in loops, ``count`` iterations each; the outermost stacks what it carries."""
    return model([_loop(count, depth)], [value("x", [4])], ["y", "rows"], {"n": np.int64(count), "c": np.float32(0.5)})


def _loop(count: int, depth: int, carried: str = "x", results: Sequence[str] = ("y", "rows")) -> onnx.NodeProto:
    a, out, going = f"a{depth}", f"out{depth}", f"going{depth}"
    if depth > 1:
        nodes = [_loop(count, depth - 1, a, (out,))]
    else:
        nodes = [helper.make_node("Mul", [a, "c"], ["half"]), helper.make_node("Add", ["half", "x"], [out])]
    nodes.append(helper.make_node("Identity", [going], [f"{going}_on"]))
    outputs = [value(f"{going}_on", [], TensorProto.BOOL), value(out, [4])]
    if len(results) > 1:
        nodes.append(helper.make_node("Identity", [out], [f"row{depth}"]))
        outputs.append(value(f"row{depth}", [4]))
    inputs = [value(f"i{depth}", [], TensorProto.INT64), value(going, [], TensorProto.BOOL), value(a, [4])]
    body = helper.make_graph(nodes, f"body{depth}", inputs, outputs)
    return helper.make_node("Loop", ["n", "", carried], list(results), body=body)


def check(proto: onnx.ModelProto) -> None:
    for result, expected in zip(run_compiled(proto, FEEDS), run(proto, FEEDS), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ops", [["Relu", "Neg"], ["Add"], ["Tanh"], ["Erf", "Add"], ["Softplus"], ["Gelu"]])
def test_chains_of_elementwise_nodes(ops: list[str]) -> None:
    check(chain(ops, 500))


def test_a_loop_of_many_iterations_and_a_nest() -> None:
    check(loop(200))
    check(loop(12, depth=2))


def test_kernels_are_cut() -> None:
    graph = optimize(checked_import(chain(["Tanh", "Add"], 400)))
    bodies = [node.attrs["body"] for node in graph.nodes if node.op == "fused"]
    assert all(isinstance(body, Graph) and len(body.nodes) <= MAX_MEMBERS for body in bodies)
    assert len(bodies) == -(-400 // MAX_MEMBERS)


def test_equal_nodes_are_scheduled_once() -> None:
    """1,500 layers with the same matrix are one kernel, and calls of it."""
    names = ["x", *(f"t{number}" for number in range(1499)), "y"]
    nodes = [
        node
        for x, y in itertools.pairwise(names)
        for node in (helper.make_node("MatMul", [x, "w"], [f"{y}.sum"]), helper.make_node("Relu", [f"{y}.sum"], [y]))
    ]
    proto = model(nodes, [value("x", [2, 2])], ["y"], {"w": np.eye(2, dtype=np.float32)})
    program = lower_graph(optimize(checked_import(proto)), select("x86"))
    assert (len(program.calls), len(program.kernels)) == (1500, 1)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus", "cortex-m55", "linux-arm64"])
def test_deep_chains_on_other_targets(target: str, tmp_path: object) -> None:
    """The C of what is longest: every function of a float is a formula of many steps."""
    machine = select(target)
    graph = optimize(checked_import(chain(["Erf", "Tanh", "Softplus"], 100)), bytes_as=preferred_bytes(machine))
    write_c(lower_graph(graph, machine), machine, str(tmp_path))
