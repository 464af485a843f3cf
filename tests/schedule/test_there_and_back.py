"""Loops over weights that run there and back: the same results, and what a pass read last is read first by the next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from ccml.artifact.emit import Emit
from ccml.driver import compile_model
from ccml.emit_llvm.jit import JitModel
from ccml.ir.loops import For, Kernel, Var
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.schedule.names import Names
from ccml.schedule.there_and_back import there_and_back
from ccml.targets import Machine, select
from onnx import TensorProto, helper, numpy_helper

from tests.artifacts.built import SANITIZED, run_artifact
from tests.schedule.test_winograd import levels
from tests.tools import needs

FEATURES, STEPS = 5, 7

BEFORE = """
kernel k(x: f32[8] const, y: f32[8] inout)
  for t:3
    for a:4
      y[a] = x[a]
    for b:2
      y[b+4] = x[b+4]
    y[7] = x[7]
    for a_1:4
      y[a_1] = y[a_1] + 1.0f32
"""

AFTER = """
kernel k(x: f32[8] const, y: f32[8] inout)
  for t:3
    for part:2
      let number: index = select(floormod(t, 2) == 1, 1-part, part)
      if number == 0:
        for a:4
          let block: index = select(floormod(t, 2) == 1, 3-a, a)
          y[block] = x[block]
      else:
        for b:2
          let block_1: index = select(floormod(t, 2) == 1, 1-b, b)
          y[block_1+4] = x[block_1+4]
    y[7] = x[7]
    for a_1:4
      y[a_1] = y[a_1] + 1.0f32
"""


def test_odd_passes_go_back() -> None:
    kernel = parse_kernel(BEFORE)
    (outer,) = kernel.body
    assert isinstance(outer, For)
    turned = there_and_back(kernel.body, [{Var("a"), Var("b")}], Names())
    assert print_kernel(Kernel("k", kernel.params, turned)) == print_kernel(parse_kernel(AFTER))
    assert there_and_back(outer.body, [{Var("a")}], Names()) == outer.body


ORDERED = """
kernel k(x: f32[8] const, y: f32[8] inout)
  for t:3
    for a:4
      let block: index = select(floormod(t, 2) == 1, 3-a, a)
      y[block] = x[block]
    for b:2
      let block_1: index = select(floormod(t, 2) == 1, 1-b, b)
      y[block_1+4] = x[block_1+4]
    y[7] = x[7]
    for a_1:4
      y[a_1] = y[a_1] + 1.0f32
"""


def test_loops_of_two_groups_stay_in_order() -> None:
    kernel = parse_kernel(BEFORE)
    turned = there_and_back(kernel.body, [{Var("a")}, {Var("b")}], Names())
    assert print_kernel(Kernel("k", kernel.params, turned)) == print_kernel(parse_kernel(ORDERED))


def layer(
    path: Path, op: str, batch: int, directions: int, lengths: bool, hidden: int = 130, **attributes: int
) -> Path:  # fmt: skip
    rng, gates = np.random.default_rng(3), {"LSTM": 4, "GRU": 3, "RNN": 1}[op] * hidden
    shapes = {"w": (directions, gates, FEATURES), "r": (directions, gates, hidden), "b": (directions, 2 * gates)}
    arrays = {name: rng.uniform(-0.2, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
    if lengths:
        arrays["lengths"] = np.arange(STEPS - batch + 1, STEPS + 1, dtype=np.int32)
    direction = "bidirectional" if directions == 2 else "forward"
    operands = ["x", "w", "r", "b", *(["lengths"] if lengths else [])]
    node = helper.make_node(op, operands, ["y"], hidden_size=hidden, direction=direction, **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (STEPS, batch, FEATURES))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (STEPS, directions, batch, hidden))
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph([node], "g", [x], [y], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


CASES = {
    "lstm": ("LSTM", 1, 1, False, {}),
    "lstm of both directions, batches": ("LSTM", 3, 2, False, {}),
    "lstm of lengths": ("LSTM", 2, 2, True, {}),
    "gru, reset behind the product": ("GRU", 1, 1, False, {"linear_before_reset": 1}),
    "gru, reset before it": ("GRU", 2, 1, False, {"linear_before_reset": 0}),
    "lstm of whole blocks": ("LSTM", 1, 1, False, {"hidden": 96}),
    "lstm of whole blocks, both directions, batches": ("LSTM", 3, 2, False, {"hidden": 96}),
    "gru of whole blocks, reset behind the product": ("GRU", 1, 2, False, {"linear_before_reset": 1, "hidden": 96}),
    "gru of whole blocks, reset before it": ("GRU", 2, 1, False, {"linear_before_reset": 0, "hidden": 96}),
    "lstm of lengths, whole blocks": ("LSTM", 2, 2, True, {"hidden": 96}),
    "rnn of whole blocks": ("RNN", 1, 1, False, {"hidden": 192}),
    "gru of lengths": ("GRU", 2, 2, True, {"linear_before_reset": 1}),
}


def program_and_expected(name: str, machine: Machine, folder: Path):  # type: ignore[no-untyped-def]
    op, batch, directions, lengths, attributes = CASES[name]
    path = layer(folder / "net.onnx", op, batch, directions, lengths, **attributes)
    x = np.random.default_rng(4).standard_normal((STEPS, batch, FEATURES)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(path).run(None, {"x": x})
    program = compile_model(path, machine).program
    assert any(", 2) == 1" in print_kernel(kernel) for kernel in program.kernels), "none goes back"
    return program, {"x": x}, expected


@pytest.mark.parametrize("machine", levels(), ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("name", CASES)
def test_results(name: str, machine: Machine, tmp_path: Path) -> None:
    program, inputs, expected = program_and_expected(name, machine, tmp_path)
    (actual,) = JitModel(program, machine).run(inputs).values()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6)


BY_C = ["lstm of both directions, batches", "gru, reset behind the product", "lstm of whole blocks"]


@pytest.mark.parametrize("name", BY_C)
def test_results_by_c(name: str, tmp_path: Path) -> None:
    machine = select("x86", cpu="x86-64-v3")
    program, inputs, expected = program_and_expected(name, machine, tmp_path)
    (found,) = run_artifact(program, machine, Emit.C, tmp_path / "out", [inputs], SANITIZED)
    (actual,) = found.values()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6)


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("name", ["lstm", "gru, reset behind the product", "gru of whole blocks, reset before it"])
def test_a_block_of_columns_of_its_own(name: str, tmp_path: Path) -> None:
    """The last columns are one block, without a loop over blocks; its steps have an order."""
    machine = select("linux-arm64")
    program, inputs, expected = program_and_expected(name, machine, tmp_path)
    (found,) = run_artifact(program, machine, Emit.OBJECT, tmp_path / "out", [inputs])
    (actual,) = found.values()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6)
