"""Recurrent layers as contractions, compiled, against their meaning in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.driver import compile_source, read
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.loops import INDEX, For, Store
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.steps import walk_calls
from ccml.ops.evaluate import evaluate_graph
from ccml.targets import Machine, select
from onnx import helper, numpy_helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SEQ = 6


def machines() -> list[Machine]:
    """Vectors of four numbers, and this machine's."""
    native = host_machine()
    return [native, *([select("x86", cpu="x86-64-v2")] if native.name == "x86" else [])]


def model(
    path: Path, op: str, batch: int = 1, features: int = 7, hidden: int = 19, direction: str = "forward",
    lengths: bool = False, states: bool = False, bias: bool = True, peepholes: bool = False, constant: bool = True,
    **attributes: Any,
) -> Path:  # fmt: skip
    """One layer over [SEQ, batch, features]; its weights are inputs where they are not ``constant``."""
    rng, dirs, rows = np.random.default_rng(3), 2 if direction == "bidirectional" else 1, GATES[op] * hidden

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.5).astype(np.float32)

    weights = {"w": normal(dirs, rows, features), "r": normal(dirs, rows, hidden)}
    weights |= {"b": normal(dirs, 2 * rows)} if bias else {}
    weights |= {"p": normal(dirs, 3 * hidden)} if peepholes else {}
    shapes = {"x": (SEQ, batch, features)} | ({"h": (dirs, batch, hidden)} if states else {})
    shapes |= {"c": (dirs, batch, hidden)} if states and op == "LSTM" else {}
    shapes |= {} if constant else {name: array.shape for name, array in weights.items()}
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    infos += [helper.make_tensor_value_info("lengths", onnx.TensorProto.INT32, [batch])] if lengths else []
    known = {*shapes, *weights, *(["lengths"] if lengths else [])}
    names = [name if name in known else "" for name in ("x", "w", "r", "b", "lengths", "h", "c", "p")]
    results = ["y", "y_h", "y_c"] if op == "LSTM" else ["y", "y_h"]
    names = names if op == "LSTM" else names[:6]
    node = helper.make_node(op, names, results, hidden_size=hidden, direction=direction, **attributes)
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results]
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()] if constant else []
    graph = helper.make_graph([node], "g", infos, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def check(path: Path, machine: Machine, generator: str = "recurrence") -> None:
    source = read(path)
    compiled = compile_source(source, machine)
    assert [call.generator for call in walk_calls(compiled.program.body) if call.macs] == [generator]
    rng = np.random.default_rng(5)
    inputs = {
        value.name: (rng.standard_normal(value.shape) * 0.7).astype(np.float32)
        if value.dtype.is_float
        else rng.integers(0, SEQ + 2, value.shape).astype(value.dtype.numpy)
        for value in source.graph.inputs
    }
    expected = evaluate_graph(source.graph, inputs)
    for name, found in JitModel(compiled.program, machine).run(inputs).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=2e-6, err_msg=name)


CASES: dict[str, dict[str, Any]] = {
    "one batch": {},
    "several batches": {"batch": 5, "states": True},
    "backward": {"direction": "reverse", "batch": 2, "bias": False},
    "both directions": {"direction": "bidirectional", "batch": 3, "states": True},
    "lengths": {"direction": "bidirectional", "batch": 4, "lengths": True, "states": True},
    "whole vectors": {"features": 16, "hidden": 32},
    "one unit": {"features": 1, "hidden": 1, "batch": 2},
    "clip": {"clip": 0.4},
}


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("op", GATES)
def test_layers(tmp_path: Path, op: str, case: str, machine: Machine) -> None:
    check(model(tmp_path / "m.onnx", op, **CASES[case]), machine)


@pytest.mark.parametrize("batch", [1, 3])
def test_reset_behind_the_product(tmp_path: Path, batch: int) -> None:
    check(model(tmp_path / "m.onnx", "GRU", batch, linear_before_reset=1, direction="bidirectional"), host_machine())


@pytest.mark.parametrize("coupled", [0, 1])
def test_peepholes(tmp_path: Path, coupled: int) -> None:
    check(model(tmp_path / "m.onnx", "LSTM", 2, peepholes=True, input_forget=coupled), host_machine())


@pytest.mark.parametrize("op", GATES)
def test_computed_weights_are_read_where_they_are(tmp_path: Path, op: str) -> None:
    check(model(tmp_path / "m.onnx", op, constant=False), host_machine(), generator="nest")


LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]


@pytest.mark.parametrize("op", GATES)
def test_gates_follow_the_sums_of_their_block(tmp_path: Path, op: str) -> None:
    """A loop over blocks of units has products and results, and all CPUs of the ABI read the same weights."""
    path, weights = model(tmp_path / "m.onnx", op, hidden=192), []
    for level in LEVELS:
        program = compile_source(read(path), select("x86", cpu=level)).program
        (kernel,) = (kernel for kernel in program.kernels if any(isinstance(stmt, For) for stmt in kernel.body))
        loops = [stmt for stmt in walk_stmts(kernel.body) if isinstance(stmt, For) and stmt.extent == INDEX(12)]
        results = {stmt.buffer.name for each in loops for stmt in walk_stmts(each.body) if isinstance(stmt, Store)}
        products = [stmt for each in loops for stmt in walk_stmts(each.body) if isinstance(stmt, For)]
        assert "y" in results and products, level
        weights.append(sorted(array.tobytes() for array in program.constants.values()))
    assert weights[0] == weights[1] == weights[2]
