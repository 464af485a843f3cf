"""Compiles the decoder for a target, builds main.c with it and runs that here or in QEMU.

    python demo.py                  # this machine
    python demo.py cortex-m55       # an emulated board: needs gcc-arm-none-eabi and qemu-system-arm
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import ccml
from ccml.emulation.programs import program_output

FOLDER = Path(__file__).resolve().parent
STATES = {f"{name}{layer}": f"{name}{layer}_next" for layer in range(2) for name in ("keys", "values")}
"""As in ccml.toml, which the command line reads by itself."""


def generate(target: str, folder: Path) -> str:
    """The text that main.c prints on ``target``. What is built goes to ``folder``."""
    machine = ccml.find_machine(target)
    out = folder / "out"
    ccml.compile(FOLDER / "decoder.onnx", target, out, emit=["c"], options=ccml.ModelOptions(states=STATES))
    return program_output(machine, [FOLDER / "main.c", *sorted(out.glob("*.c"))], [out, FOLDER], folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(generate(sys.argv[1] if len(sys.argv) > 1 else "x86", Path(name)), end="")
