"""States whose extents a run has: caches that grow, and states of a batch; against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.api import verify
from ccml.artifact.emit import Emit, emit
from ccml.driver import Compiled, ModelOptions, Range, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.targets import Machine, select
from ccml.verification.c_model import CModel

from tests.cli.command_line import ccml
from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.graphs import model, value
from tests.frontend_onnx.ranged_models import make
from tests.machines_here import on_this_machine

HEADS, WIDTH = 2, 4


def decoder() -> onnx.ModelProto:
    """Attention of new tokens to all before; the cache ``present`` is ``past`` and behind it the new tokens."""
    rng = np.random.default_rng(8)
    weights = {name: rng.standard_normal((6, HEADS * WIDTH)).astype(np.float32) for name in "kq"}
    nodes = []
    for name in "kq":
        nodes += [
            make("MatMul", ["x", name], [f"{name}m"]), make("Reshape", [f"{name}m", "apart"], [f"{name}a"]),
            make("Transpose", [f"{name}a"], [f"{name}h"], perm=[0, 2, 1, 3]),
        ]  # fmt: skip
    nodes += [
        make("Concat", ["past", "kh"], ["present"], axis=2),
        make("Transpose", ["present"], ["kt"], perm=[0, 1, 3, 2]), make("MatMul", ["qh", "kt"], ["scores"]),
        make("Softmax", ["scores"], ["shares"], axis=-1), make("MatMul", ["shares", "present"], ["context"]),
        make("Transpose", ["context"], ["rows"], perm=[0, 2, 1, 3]), make("Reshape", ["rows", "joined"], ["y"]),
    ]  # fmt: skip
    constants = {**weights, "apart": np.array([0, 0, HEADS, WIDTH]), "joined": np.array([0, 0, HEADS * WIDTH])}
    inputs = [value("past", ["batch", HEADS, "length", WIDTH]), value("x", ["batch", "new", 6])]
    return model(nodes, inputs, ["y", "present"], constants)


def recurrence() -> onnx.ModelProto:
    """A GRU over sequences of any length, of a batch of any size."""
    rng = np.random.default_rng(9)
    weights = {"w": rng.standard_normal((1, 12, 3)), "r": rng.standard_normal((1, 12, 4))}
    nodes = [make("GRU", ["x", "w", "r", "", "", "h"], ["y", "hn"], hidden_size=4)]
    constants = {name: array.astype(np.float32) for name, array in weights.items()}
    return model(nodes, [value("x", ["time", "batch", 3]), value("h", [1, "batch", 4])], ["y", "hn"], constants)


def eviction() -> onnx.ModelProto:
    """Rows of which each run keeps those that are not negative: their number is found by a run."""
    nodes = [
        make("Concat", ["past", "x"], ["all"], axis=0), make("ReduceMin", ["all", "axis"], ["least"], keepdims=0),
        make("GreaterOrEqual", ["least", "zero"], ["kept"]), make("Compress", ["all", "kept"], ["present"], axis=0),
        make("ReduceSum", ["all"], ["y"]),
    ]  # fmt: skip
    inputs = [value("past", ["length", 2]), value("x", [3, 2])]
    constants = {"axis": np.array([1]), "zero": np.float32(0)}
    return model(nodes, inputs, ["y", "present"], constants)


STATES = {"past": "present"}
LENGTHS = {"batch": 1, "length": Range(0, 9), "new": Range(1, 4)}


def compiled(proto: onnx.ModelProto, options: ModelOptions, machine: Machine) -> Compiled:
    return compile_source(import_source("kept.onnx", proto, options), machine)


def tokens(*counts: int, batch: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(counts)
    return [rng.standard_normal((batch, count, 6)).astype(np.float32) for count in counts]


def reference(proto: onnx.ModelProto, past: np.ndarray, steps: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Outputs of each step by ONNX Runtime, which takes the state of the step before."""
    found = []
    for x in steps:
        names = [side.name for side in proto.graph.output]
        found.append(dict(zip(names, onnxruntime(proto, {"past": past, "x": x}), strict=True)))
        past = found[-1]["present"]
    return found


@pytest.mark.parametrize("target", ["x86", "cortex-m4"])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_cache_that_grows(target: str, batch: int) -> None:
    """The caller keeps its length, which a run puts out. A shorter one goes back to an earlier token."""
    proto, machine = decoder(), on_this_machine(select(target))
    options = ModelOptions(dims={**LENGTHS, "batch": batch}, states=STATES)
    made = JitModel(compiled(proto, options, machine).program, machine)
    (state,) = made.program.states
    assert state.type.shape == (batch, HEADS, 13, WIDTH)
    steps = tokens(3, 1, 4, 1, 4, batch=batch)
    for _ in range(2):
        length = 0
        wanted = reference(proto, np.zeros((batch, HEADS, 0, WIDTH), np.float32), steps)
        for x, expected in zip(steps, wanted, strict=True):
            found = made.run({"x": x, "length": np.array(length)})
            np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-5, atol=1e-6)
            length = int(found["present.extent2"])
            assert length == expected["present"].shape[2]
            kept = made.state.values["past"][:, :, :length]
            np.testing.assert_allclose(kept, expected["present"], rtol=1e-5, atol=1e-6)
    again = made.run({"x": steps[1], "length": np.array(3)})  # as behind the first step
    np.testing.assert_allclose(again["y"], wanted[1]["y"], rtol=1e-5, atol=1e-6)


def test_a_cache_that_is_full() -> None:
    made = JitModel(compiled(decoder(), ModelOptions(dims=LENGTHS, states=STATES), host_machine()).program)
    with pytest.raises(CcmlError, match=r"length is 10, not in 0\.\.9"):
        made.run({"x": tokens(1)[0], "length": np.array(10)})
    with pytest.raises(CcmlError, match="length"):
        made.run({"x": tokens(1)[0]})


def test_in_c() -> None:
    proto, machine = decoder(), host_machine()
    made = CModel(compiled(proto, ModelOptions(dims=LENGTHS, states=STATES), machine).program, machine, "gcc")
    steps, length = tokens(2, 3, 1), 0
    for x, expected in zip(steps, reference(proto, np.zeros((1, HEADS, 0, WIDTH), np.float32), steps), strict=True):
        found = made.run({"x": x, "length": np.array(length)})
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-5, atol=1e-6)
        length += x.shape[1]


def test_states_of_a_batch() -> None:
    """Rows of the batch stay where they are, whatever the sequences' length."""
    proto, ranges = recurrence(), {"time": Range(1, 5), "batch": Range(1, 4)}
    options = ModelOptions(dims=ranges, states={"h": "hn"})
    made, rng = JitModel(compiled(proto, options, host_machine()).program), np.random.default_rng(2)
    for batch in (1, 3, 4):
        state = np.zeros((1, batch, 4), np.float32)
        made.state.reset()
        for time in (2, 5, 1):
            x = rng.standard_normal((time, batch, 3)).astype(np.float32)
            y, state = onnxruntime(proto, {"x": x, "h": state})
            np.testing.assert_allclose(made.run({"x": x})["y"], y, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(made.state.values["h"][:, :batch], state, rtol=1e-5, atol=1e-6)


def test_an_extent_that_a_run_finds() -> None:
    proto, rng = eviction(), np.random.default_rng(3)
    options = ModelOptions(dims={"length": Range(0, 9)}, states=STATES)
    made = JitModel(compiled(proto, options, host_machine()).program)
    steps = [rng.standard_normal((3, 2)).astype(np.float32) + 0.5 for _ in range(5)]
    length = 0
    for x, expected in zip(steps, reference(proto, np.zeros((0, 2), np.float32), steps), strict=True):
        found = made.run({"x": x, "length": np.array(length)})
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-5)
        length = int(found["present.extent0"])
        np.testing.assert_array_equal(made.state.values["past"][:length], expected["present"])
    assert 0 < length < 9


def test_verify(tmp_path: Path) -> None:
    """The reference's state grows as the compiled one does."""
    onnx.save(decoder(), tmp_path / "kept.onnx")
    options = ModelOptions(dims=LENGTHS, states=STATES)
    for backend in ("jit", "c"):
        found = verify(tmp_path / "kept.onnx", samples=3, options=options, backend=backend)
        assert found.ok and {row.tensor for row in found.outputs} == {"y", "present"}
    with pytest.raises(CcmlError, match="compared on this machine only"):
        verify(tmp_path / "kept.onnx", samples=1, options=options, target="cortex-m4")


def test_the_header(tmp_path: Path) -> None:
    """The length is an argument and a result, and the state has room for the greatest of both."""
    made = compiled(decoder(), ModelOptions(dims=LENGTHS, states=STATES), select("cortex-m4"))
    emit(made.program, made.machine, [Emit.C], tmp_path)
    text = (tmp_path / "kept.h").read_text()
    assert "#define KEPT_STATE_PAST_DIMS {1, 2, 13, 4}" in text
    assert "const int64_t *length, " in text and "int64_t *present_extent2" in text and "KEPT_ERROR_EXTENT" in text


def test_the_command_line_takes_ranges_from_0(tmp_path: Path) -> None:
    onnx.save(decoder(), tmp_path / "kept.onnx")
    options = ["--dim", "batch=1", "--dim", "length=0..9", "--dim", "new=1..4", "--state", "past=present"]
    result = ccml("inspect", str(tmp_path / "kept.onnx"), *options)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ({"past": "y"}, "the input past is"),
        ({"length": "present"}, "length is the extent of others in a run"),
        ({"past": "present.extent2"}, "present.extent2 is the extent of others in a run"),
    ],
)
def test_what_cannot_be_a_state(states: Mapping[str, str], reason: str) -> None:
    with pytest.raises(CcmlError, match=reason) as caught:
        import_source("kept.onnx", decoder(), ModelOptions(dims=LENGTHS, states=states))
    assert caught.value.kind is ErrorCode.BAD_OPTION
