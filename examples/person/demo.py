"""Puts pixels in front of the model, compiles both for a target, builds main.c with it and runs that here or in QEMU.

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
from ccml.features import ImageFeatures, image_into_model

FOLDER = Path(__file__).resolve().parent


def whole() -> onnx.ModelProto:
    """The model that takes pixels, as the command of README.md makes it."""
    model = onnx.load(FOLDER / "person.onnx")
    camera = ImageFeatures(size=(160, 120), source="rgb565", mean=(128.0,), scale=(128.0,))
    return image_into_model(camera, model)[0]


def watch(target: str, folder: Path) -> str:
    """The text that main.c prints on ``target``. What is built goes to ``folder``."""
    machine = ccml.find_machine(target)
    onnx.save(whole(), folder / "eyes.onnx")
    out = folder / "out"
    ccml.compile(folder / "eyes.onnx", target, out, emit=["c"])
    return program_output(machine, [FOLDER / "main.c", *sorted(out.glob("*.c"))], [out], folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(watch(sys.argv[1] if len(sys.argv) > 1 else "x86", Path(name)), end="")
