"""Small functions in assembly: assembled, decoded and run as predictions run them."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from ccml.costs.functions import Function, find_functions
from ccml.costs.image import Image, link_objects
from ccml.costs.instruction import SP
from ccml.costs.simulate import simulate
from ccml.costs.translate import Translation, translate
from ccml.targets import select

_MEMORY = 1 << 16


def assemble(text: str, core: str = "cortex-m4") -> Image:
    """An object with functions: each label that begins a line is one."""
    labels = [line.split(":")[0] for line in text.splitlines() if line[:1].isalpha() and ":" in line]
    types = "\n".join(f".type {label}, %function" for label in labels)
    source = f".syntax unified\n.thumb\n.text\n{types}\n{text}\n"
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "code.s"
        file.write_text(source)
        command = ["arm-none-eabi-gcc", *select(core).cpu.c_flags, "-c", "code.s", "-o", "code.o"]
        subprocess.run(command, cwd=place, check=True)
        return link_objects([(Path(place) / "code.o").read_bytes()])


class Ran:
    """A call of ``f`` with arguments: its result, and how often instructions were executed."""

    def __init__(self, image: Image, *arguments: int, core: str = "cortex-m4", jumps: int = 10000) -> None:
        self.functions: dict[int, Function] = find_functions(image, "f")
        memory = np.zeros(_MEMORY + 64, np.uint8)
        memory[: len(image.memory)] = np.frombuffer(image.memory, np.uint8)
        registers = {number: argument & 0xFFFFFFFF for number, argument in enumerate(arguments)}
        registers[SP] = _MEMORY - 256
        self.translation: Translation = translate(
            self.functions, image.function("f"), image.missing, _MEMORY - 1, select(core).cpu
        )
        run = simulate(self.translation, memory, registers, jumps)
        self.memory = memory
        self.finished = run.finished
        self.result = run.result
        self._counts = run.counts.sum(axis=0)

    @property
    def instructions(self) -> int:
        blocks = self.translation.blocks.items()
        return sum(int(self._counts[k]) * len(self.functions[f].blocks[b]) for (f, b), k in blocks)
