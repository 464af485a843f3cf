"""Puts pixels in front of the model, compiles both for a target, builds main.c with it and runs that here or in QEMU.

    python demo.py                  # this machine
    python demo.py cortex-m4        # an emulated board: needs gcc-arm-none-eabi and qemu-system-arm
    python demo.py cortex-m4 lines  # a camera that delivers its picture line by line
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


def whole(lines: bool = False) -> onnx.ModelProto:
    """The model that takes pixels, as the commands of README.md make it: all of a picture, or ``lines``."""
    model = onnx.load(FOLDER / "person.onnx")
    size = (96, 96) if lines else (160, 120)
    camera = ImageFeatures(size=size, source="rgb565", mean=(128.0,), scale=(128.0,))
    return image_into_model(camera, model)[0]


def watch(target: str, folder: Path, lines: bool = False) -> str:
    """The text that main.c prints on ``target``. What is built goes to ``folder``."""
    machine = ccml.find_machine(target)
    onnx.save(whole(lines), folder / "eyes.onnx")
    out = folder / "out"
    options = ccml.ModelOptions(rows=("pixels",) if lines else ())
    goal = ccml.Goal(ccml.Optimize.RAM if lines else ccml.Optimize.BALANCED)
    ccml.compile(folder / "eyes.onnx", target, out, emit=["c"], options=options, goal=goal)
    return program_output(machine, [FOLDER / "main.c", *sorted(out.glob("*.c"))], [out], folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(watch(sys.argv[1] if len(sys.argv) > 1 else "x86", Path(name), "lines" in sys.argv[2:]), end="")
