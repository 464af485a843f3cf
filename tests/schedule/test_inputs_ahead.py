"""Products with later inputs in the loop over time of a recurrence: the same bits as in front of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.driver import compile_source, read
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.program import Program
from ccml.ops.evaluate import evaluate_graph
from ccml.schedule import recurrent
from ccml.schedule.inputs_ahead import InputsAhead
from ccml.targets import select
from onnx import numpy_helper
from pytest import MonkeyPatch

from tests.schedule import test_recurrent

needs_avx512 = pytest.mark.skipif("avx512f" not in host_machine().cpu.requires, reason="needs AVX-512")

CASES: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {"features": 64, "hidden": 128}),
    ("LSTM", {"features": 128, "hidden": 64, "direction": "reverse", "states": True}),
    ("LSTM", {"features": 64, "hidden": 128, "direction": "bidirectional", "bias": False}),
    ("LSTM", {"features": 64, "hidden": 128, "peepholes": True}),
    ("GRU", {"features": 64, "hidden": 128, "linear_before_reset": 1}),
    ("GRU", {"features": 128, "hidden": 128, "direction": "bidirectional"}),
    ("RNN", {"features": 128, "hidden": 128, "direction": "reverse"}),
]


def smaller_weights(path: Path) -> Path:
    """The model with a fifth of its weights: errors die out in the loop over time instead of growing."""
    proto = onnx.load(path)
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) / 5, tensor.name))
    onnx.save(proto, path)
    return path


def joined(program: Program) -> bool:
    """Whether a loop over time has products of later steps in it."""
    names = {name for kernel in program.kernels for stmt in walk_stmts(kernel.body) for name in _registers(stmt)}
    return any(name.startswith("ahead") for name in names)


def _registers(stmt: Any) -> list[str]:
    return [stmt.buffer.name] if hasattr(stmt, "buffer") else []


@needs_avx512
@pytest.mark.parametrize("seq", [16, 17, 23, 50])
@pytest.mark.parametrize(("op", "options"), CASES)
def test_results_are_those_of_products_in_front(
    tmp_path: Path, monkeypatch: MonkeyPatch, op: str, options: dict[str, Any], seq: int
) -> None:
    monkeypatch.setattr(test_recurrent, "SEQ", seq)
    path = smaller_weights(test_recurrent.model(tmp_path / "m.onnx", op, **options))
    source = read(path)
    rng = np.random.default_rng(5)
    inputs = {v.name: (rng.standard_normal(v.shape) * 0.1).astype(np.float32) for v in source.graph.inputs}
    expected = evaluate_graph(source.graph, inputs)
    program = compile_source(source, host_machine()).program
    assert joined(program)
    found = JitModel(program, host_machine()).run(inputs)

    monkeypatch.setattr(recurrent.InputsAhead, "of", lambda *_: None)
    program = compile_source(read(path), host_machine()).program
    assert not joined(program)
    for name, wanted in JitModel(program, host_machine()).run(inputs).items():
        assert found[name].tobytes() == wanted.tobytes(), name
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [
        {"seq": 7},
        {"batch": 2},
        {"lengths": True},
        {"hidden": 32},
        {"features": 63},
    ],
    ids=["too few steps", "several sequences", "a run tells the steps", "weights stay in the first cache", "odd depth"],
)
def test_what_cannot_gain_keeps_its_products_in_front(
    tmp_path: Path, monkeypatch: MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(test_recurrent, "SEQ", options.pop("seq", 32))
    path = test_recurrent.model(tmp_path / "m.onnx", "LSTM", **{"features": 64, "hidden": 128, **options})
    assert not joined(compile_source(read(path), select("x86", cpu="x86-64-v4")).program)


@pytest.mark.parametrize("seq", [16, 17, 31, 50])
def test_each_step_is_multiplied_once(seq: int) -> None:
    """The first steps, then ``rows`` at a time, never later than the step needs them."""
    layer: Any = type("Layer", (), {"seq": seq})
    ahead = InputsAhead(layer, blocks=8, rows=8, parts=2)
    done = list(range(ahead.first))
    for step in range(ahead.steps):
        assert step in done
        if step % ahead.rows == ahead.rows - 1:
            start = ahead.first + step // ahead.rows * ahead.rows
            done += range(start, start + ahead.rows)
    assert done == list(range(seq))
