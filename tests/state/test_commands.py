"""--state on the command line, in ccml.toml, in the header and in the report."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import ccml as package
import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError

from tests.artifacts.test_control_flow import WARNINGS
from tests.cli.command_line import ccml
from tests.models import models_dir, needs_models
from tests.state.models import MODELS
from tests.tools import needs

STATES = ("--state", "h=hn", "--state", "c=cn")


@pytest.fixture
def lstm(tmp_path: Path) -> Path:
    path = tmp_path / "lstm.onnx"
    onnx.save(MODELS["LSTM"]().model, path)
    return path


@pytest.mark.parametrize(
    ("states", "reason", "hint"),
    [
        (("h=hm",), "the model has no output hm", "the outputs are y, hn, cn"),
        (("g=hn",), "the model has no input g", "the inputs are x, h, c"),
        (("h=hn", "c=hn"), "the output hn is the new value of h already", "one output of its own"),
        (("h=y",), "the input h is f32[1,1,3], the output y is f32[2,1,1,3]", "keeps its type and shape"),
        (("h",), "'h' is not input=output", "run --help"),
        (("h=hn", "h=cn"), "'h' is there twice", ""),
    ],
)
def test_errors(lstm: Path, states: tuple[str, ...], reason: str, hint: str) -> None:
    result = ccml("run", str(lstm), *(word for state in states for word in ("--state", state)))
    assert result.exit_code == 2
    assert reason in result.stderr and hint in result.stderr


def test_a_cache_that_grows_is_refused_with_a_way_out(tmp_path: Path) -> None:
    sides = [
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, rows, 4]) for name, rows in found]
        for found in ([("past", 5), ("new", 1)], [("present", 6), ("y", 1)])
    ]
    nodes = [
        onnx.helper.make_node("Concat", ["past", "new"], ["present"], axis=1),
        onnx.helper.make_node("Relu", ["new"], ["y"]),
    ]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", *sides), ir_version=8)
    model.opset_import[0].version = 17
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(CcmlError, match="a cache that grows with each run needs a range"):
        package.load(tmp_path / "m.onnx", package.ModelOptions(states={"past": "present"}))


def test_the_samples_of_run_are_the_steps_of_a_sequence(lstm: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    case = MODELS["LSTM"]()
    feeds = case.feeds()
    np.savez(tmp_path / "in.npz", x=np.stack([feed["x"] for feed in feeds]))
    result = ccml("run", str(lstm), *STATES, "-i", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz"))
    assert result.exit_code == 0, result.stderr
    found = np.load(tmp_path / "out.npz")
    assert set(found) == {"y"}
    np.testing.assert_allclose(found["y"], [step["y"] for step in case.expected(feeds)], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [(), ("--backend", "c"), ("--target", "cortex-m55")], ids=["jit", "c", "board"])
@needs("gcc", "arm-none-eabi-gcc", "qemu-system-arm")
def test_verify_compares_the_states_of_each_step(lstm: Path, options: tuple[str, ...]) -> None:
    result = ccml("verify", str(lstm), *STATES, *options, "--json", "--samples", "6")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert {row["tensor"] for row in content["outputs"]} == {"y", "hn", "cn"}
    assert (content["samples"], content["reference"]) == (6, "onnx")


def test_verify_finds_a_state_that_was_not_handed_on(lstm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right in the first step and wrong from then on."""
    from ccml.verification import compare_model

    class Forgetful(compare_model.ObservedModel):
        def run(self, inputs):  # type: ignore[no-untyped-def]
            self._jit.state.reset()
            return super().run(inputs)

    assert ccml("verify", str(lstm), *STATES, "--samples", "3").exit_code == 0
    monkeypatch.setattr(compare_model, "ObservedModel", Forgetful)
    assert ccml("verify", str(lstm), *STATES, "--samples", "1").exit_code == 0
    assert ccml("verify", str(lstm), *STATES, "--samples", "3").exit_code == 4


def test_states_of_the_project_file(lstm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lstm.parent)
    Path("ccml.toml").write_text('[model]\nstates = { h = "hn" }\n[compile]\ntarget = "cortex-m4"\n')
    report = json.loads(ccml("compile", lstm.name, "--state", "c=cn", "--emit", "c", "--json").stdout)
    assert report["options"]["states"] == {"c": "cn", "h": "hn"}
    assert [(s["name"], s["offset"], s["bytes"], s["copied"]) for s in report["states"]] == [
        ("h", 0, 12, False), ("c", 12, 12, False),
    ]  # fmt: skip
    assert report["totals"]["state_bytes"] == 32
    assert [side["name"] for side in report["inputs"]] == ["x"]
    assert not {"h", "hn", "c", "cn"} & {place["tensor"] for place in report["memory"]}


def test_max_ram_counts_states(lstm: Path, tmp_path: Path) -> None:
    def fits(most: int) -> bool:
        words = ("--target", "cortex-m4", "--emit", "c", "-o", str(tmp_path / "out"), "--max-ram", str(most))
        return ccml("compile", str(lstm), *STATES, *words).exit_code == 0

    report = json.loads(ccml("inspect", str(lstm), *STATES, "--target", "cortex-m4", "--json").stdout)
    needed = report["totals"]["ram_bytes"] + report["totals"]["state_bytes"]
    assert (fits(needed), fits(needed - 1)) == (True, False)


MAIN = r"""
#include "lstm.h"
int main(void) {
  static unsigned char arena[LSTM_ARENA_SIZE + 1] __attribute__((aligned(LSTM_ARENA_ALIGN)));
  static unsigned char state[LSTM_STATE_SIZE + 1] __attribute__((aligned(LSTM_STATE_ALIGN)));
  static const float x[LSTM_X_ELEMENTS] = {1};
  float y[LSTM_Y_ELEMENTS];
  int i;
  for (i = 0; i < LSTM_STATE_SIZE; i++) state[i] = 0xA5;
  if (lstm_run(arena, NULL, x, y) != LSTM_ERROR_NULL) return 1;
  if (lstm_run(arena, state + 1, x, y) != LSTM_ERROR_ALIGN) return 2;
  for (i = 0; i < LSTM_STATE_SIZE; i++) if (state[i] != 0xA5) return 3;
  lstm_reset(state);
  for (i = 0; i < LSTM_STATE_SIZE; i++) if (state[i] != 0) return 4;
  if (lstm_run(arena, state, x, y) != LSTM_OK) return 5;
  return *(const float *)(const void *)(state + LSTM_STATE_H_OFFSET) == y[LSTM_Y_ELEMENTS - 3] ? 0 : 6;
}
"""


@needs("gcc")
@pytest.mark.parametrize("target", ["generic", "x86"])
def test_the_contract_of_the_header(lstm: Path, target: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = package.ModelOptions(states={"h": "hn", "c": "cn"})
    package.compile(lstm, target, out, emit=["c", "obj"], options=options)
    (tmp_path / "main.c").write_text(f"#include <stddef.h>\n{MAIN}")
    for files in (sorted(out.glob("*.c")), sorted(out.glob("*.o"))):
        command = ["gcc", "-std=c99", "-fPIE", *WARNINGS.flags, f"-I{out}", tmp_path / "main.c", *files]
        subprocess.run([*map(str, command), "-o", str(tmp_path / "main")], check=True)
        assert subprocess.run([tmp_path / "main"]).returncode == 0
    again = "#include <stddef.h>\n#include \"lstm.h\"\nvoid f(void *s) { lstm_reset(s); }\n"
    (tmp_path / "main.cc").write_text(again)
    command = ["g++", "-Wall", "-Werror", f"-I{out}", "-c", tmp_path / "main.cc", "-o", tmp_path / "o"]
    subprocess.run(command, check=True)


def test_loaded_models_go_on_and_begin_anew(lstm: Path) -> None:
    model = package.load(lstm, package.ModelOptions(states={"h": "hn", "c": "cn"}))
    x = MODELS["LSTM"]().feeds()[0]["x"]
    first, second = model.run(x)["y"], model.run(x)["y"]
    assert not np.array_equal(first, second)
    other = model.new_state()
    np.testing.assert_array_equal(model.run(x, other)["y"], first)
    np.testing.assert_array_equal(model.run(x, other)["y"], second)
    model.reset()
    np.testing.assert_array_equal(model.run(x)["y"], first)
    other.values["h"][...] = 0
    other.values["c"][...] = 0
    np.testing.assert_array_equal(model.run(x, other)["y"], first)


@needs_models
def test_voice_activity_over_a_whole_recording() -> None:
    """120 steps that feed their state back, against those of the model set; an error would grow from step to step."""
    recorded = np.load(models_dir() / "silero_vad_16k_op15_io.npz")
    options = package.ModelOptions(
        dims={"batch": 1, "sequence": 576}, fixed={"sr": (16000,)}, states={"state": "stateN"}
    )
    model = package.load(models_dir() / "silero_vad_16k_op15.onnx", options)
    assert [(state.name, state.copied) for state in model.compiled.program.states] == [("state", False)]
    state = model.new_state()
    for step, frame in enumerate(recorded["in:input"]):
        assert np.abs(state.values["state"] - recorded["in:state"][step]).max() < 1e-3
        np.testing.assert_allclose(model.run(frame, state)["output"], recorded["out:output"][step], atol=5e-5)
        wanted = recorded["out:stateN"][step]
        assert np.linalg.norm(state.values["state"] - wanted) < 1e-4 * np.linalg.norm(wanted)
