"""Puts features in front of the model, compiles both for a target, builds main.c with it and runs that here or in QEMU.

    python demo.py                  # this machine
    python demo.py cortex-m4        # an emulated board: needs gcc-arm-none-eabi and qemu-system-arm
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import ccml
import onnx
from ccml.emit_c.compiler_flags import all_flags
from ccml.emulation.driver import DRIVER_FOLDER
from ccml.emulation.platforms import compiler_of, link_options, run_command
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
    environment = machine.abi.environment
    sources = [FOLDER / "main.c", *sorted(out.glob("*.c"))]
    flags = ["-std=c99", "-O2", *all_flags(machine, compiler_of(machine)), f"-I{out}", f"-I{FOLDER}"]
    if environment.board is not None:
        sources.append(DRIVER_FOLDER / "startup.c")
        flags += ["-std=gnu99", "-DSEMIHOSTING", f"-I{DRIVER_FOLDER}"]
    options = link_options(machine, folder)
    program = folder / "monitor"
    subprocess.run([compiler_of(machine), *flags, *sources, *options, "-o", program], cwd=folder, check=True)
    done = subprocess.run(run_command(machine, program), capture_output=True, text=True, check=True, timeout=120)
    said = done.stdout + done.stderr  # QEMU prints what semihosting says to stderr, beside warnings of its own
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("qemu-"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(listen(sys.argv[1] if len(sys.argv) > 1 else "x86", Path(name)), end="")
