"""Features on emulated machines: integers have the bits of this machine, transforms of floats are right, and the
instructions of a frame."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.features import AudioFeatures, ImageFeatures, audio_features, image_features
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import M4, machine_id
from tests.cli.command_line import ccml
from tests.features.test_audio import PCM
from tests.frontend_onnx.graphs import one_node
from tests.tools import needs

MODELS = {
    "tensorflow": audio_features(AudioFeatures("mfcc", samples=800, upper=4000.0, fixed_point=True)).model(),
    "librosa": audio_features(AudioFeatures("log-mel", samples=800, convention="librosa", fixed_point=True)).model(),
    "image": image_features(ImageFeatures((16, 12), (6, 6), source="yuyv", as_bytes=True)).model(),
}
INPUTS = {
    "pcm": PCM[:800],
    "pixels": np.random.default_rng(0).integers(0, 256, (12, 8, 4)).astype(np.uint8),
}
BOARDS = [
    pytest.param(
        select(name), form, id=f"{name}-{form.value}", marks=[needs("arm-none-eabi-gcc", "qemu-system-arm"), *longer]
    )
    for name, form, *longer in (
        ("cortex-m0plus", Emit.C), ("cortex-m4", Emit.OBJECT), ("cortex-m3", Emit.OBJECT, pytest.mark.check),
        ("cortex-m55", Emit.C, pytest.mark.check),
    )
]  # fmt: skip
MACHINES = [pytest.param(select("generic"), Emit.C, marks=needs("gcc"), id="generic"), *BOARDS]


def fed(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {value.name: INPUTS[value.name] for value in model.graph.input}


@pytest.mark.parametrize(("machine", "form"), MACHINES)
def test_integers_have_the_same_bits(machine: Machine, form: Emit, tmp_path: Path) -> None:
    for name, model in MODELS.items():
        graph, feeds = optimize(import_model(model)), fed(model)
        wanted = JitModel(lower_graph(graph, host_machine())).run(feeds)
        (found,) = run_artifact(lower_graph(graph, machine), machine, form, tmp_path / name, [feeds])
        for output in graph.outputs:
            np.testing.assert_array_equal(found[output.name], wanted[output.name])


@pytest.mark.parametrize(("machine", "form"), [MACHINES[0], BOARDS[1]])
def test_transforms_of_floats(machine: Machine, form: Emit, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((2, 64, 1)).astype(np.float32)
    proto, feeds = one_node("DFT", [x], 20, onesided=1)
    program = lower_graph(optimize(import_model(proto)), machine)
    (found,) = run_artifact(program, machine, form, tmp_path, [feeds])
    exact = np.fft.rfft(x[..., 0])
    (result,) = found.values()
    np.testing.assert_allclose(result, np.stack([exact.real, exact.imag], -1), rtol=0, atol=2e-5)


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
@pytest.mark.parametrize("upper", [4000, 8000])
@pytest.mark.parametrize("route", ["c", "llvm"])
def test_instructions_of_a_frame(route: str, upper: int, tmp_path: Path) -> None:
    """MFCC of 480 samples, a transform of 512, 40 filters and 10 coefficients, with the window as a state."""
    file = tmp_path / "mfcc.onnx"
    ccml("features", "mfcc", "--upper", upper, "--fixed-point", "--streaming", "-o", file)
    words = ("--state", "pcm_window=pcm_window_next", "--target", machine_id(M4), "--route", route, "--json")
    assert json.loads(ccml("profile", file, *words).stdout)["instructions"] <= 60_000
