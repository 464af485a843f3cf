"""Puts features in front of the model, compiles both for a target, builds main.c with it and runs that here or in QEMU.

    python demo.py                  # this machine
    python demo.py cortex-m4        # an emulated board: needs gcc-arm-none-eabi and qemu-system-arm
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import ccml
import onnx
from ccml.emulation.programs import program_output
from ccml.features import AudioFeatures, audio_into_model

FOLDER = Path(__file__).resolve().parent
STATES = {"pcm_window": "pcm_window_next", "feature_history": "feature_history_next"}
"""As in ccml.toml, which the command line reads by itself."""


def whole() -> onnx.ModelProto:
    """The model that takes PCM, as the command of README.md makes it."""
    audio = AudioFeatures("log-mel", mels=24, streaming=True, fixed_point=True)
    return audio_into_model(audio, onnx.load(FOLDER / "anomaly.onnx"))[0]


def listen(target: str, folder: Path) -> str:
    """The text that main.c prints on ``target``. What is built goes to ``folder``."""
    machine = ccml.find_machine(target)
    onnx.save(whole(), folder / "monitor.onnx")
    out = folder / "out"
    ccml.compile(folder / "monitor.onnx", target, out, emit=["c"], options=ccml.ModelOptions(states=STATES))
    return program_output(machine, [FOLDER / "main.c", *sorted(out.glob("*.c"))], [out, FOLDER], folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(listen(sys.argv[1] if len(sys.argv) > 1 else "x86", Path(name)), end="")
