"""Random models with several states: values of a sequence, by the JIT, against the meaning of the graph."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.driver import ModelOptions, compile_source, import_source
from ccml.emit_llvm.jit import JitModel
from ccml.ir.states import Feedback
from ccml.ops.evaluate import evaluate_graph
from ccml.targets import select
from onnx import TensorProto, helper, numpy_helper

from tests.machines_here import on_this_machine

WIDTH = 6
STATES = {"a": "an", "b": "bn", "c": "cn"}
"""Each a vector."""


def random_model(rng: np.random.Generator) -> onnx.ModelProto:
    """Sums, products, rows that move up or down, matrices and scatters of anything that there is."""
    values, nodes = ["x", *STATES], list[onnx.NodeProto]()
    for number in range(int(rng.integers(4, 11))):
        one, other = (values[int(rng.integers(len(values)))] for _ in range(2))
        out = f"t{number}"
        op = rng.choice(["Add", "Mul", "Tanh", "up", "down", "MatMul", "ScatterElements", "Relu"])
        if op in ("up", "down"):
            sizes = "head first" if op == "up" else "tail first"
            nodes += [
                helper.make_node("Split", [one, sizes], [f"{out}.p", f"{out}.q"]),
                helper.make_node("Concat", [f"{out}.q", f"{out}.p"], [out], axis=0),
            ]
        elif op == "ScatterElements":
            nodes.append(helper.make_node(op, [one, "places", "two"], [out], axis=0))
        else:
            operands = {"MatMul": [one, "w"], "Tanh": [one], "Relu": [one]}.get(op, [one, other])
            nodes.append(helper.make_node(op, operands, [out]))
        values.append(out)
    for target in (*STATES.values(), "y"):
        nodes.append(helper.make_node("Identity", [values[int(rng.integers(len(values)))]], [target]))
    constants = {
        "w": (rng.standard_normal((WIDTH, WIDTH)) / 2).astype(np.float32), "places": np.array([1, 4]),
        "two": np.float32([0.5, -0.5]), "head first": np.array([1, WIDTH - 1]), "tail first": np.array([WIDTH - 1, 1]),
    }  # fmt: skip
    sides = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [WIDTH]) for name in names]
        for names in (("x", *STATES), (*STATES.values(), "y"))
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "random", *sides, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("first", range(0, 40, 5))
@pytest.mark.parametrize("target", ["x86", "cortex-m4"])
def test_sequences(first: int, target: str) -> None:
    machine = on_this_machine(select(target))
    for seed in range(first, first + 5):
        rng = np.random.default_rng(seed)
        source = import_source("random.onnx", random_model(rng), ModelOptions(states=STATES))
        model = JitModel(compile_source(source, machine).program, machine)
        meaning = Feedback(source.graph.states, {value.name: value.type for value in source.graph.inputs})
        for _ in range(4):
            x = rng.standard_normal(WIDTH).astype(np.float32)
            wanted = evaluate_graph(source.graph, meaning.with_states({"x": x}))
            meaning.take(wanted)
            found = model.run({"x": x})
            np.testing.assert_allclose(found["y"], wanted["y"], rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}")
            for name, output in STATES.items():
                values = model.state.values[name]
                np.testing.assert_allclose(values, wanted[output], rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}: {name}")
