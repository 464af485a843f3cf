"""Runs the code of libraries of other systems, out of an image of them in memory: x86-64 by itself, Arm in QEMU."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import lief
import numpy as np
from ccml.targets import Machine

from tests.artifacts.commands import run


def flat(path: Path, function: str) -> tuple[bytes, int]:
    """A library as its loader would have it in memory, and the place of ``function``."""
    library = lief.parse(str(path))
    if isinstance(library, lief.PE.Binary):
        assert not list(library.relocations), "code that is not at home everywhere"
        parts = [(part.virtual_address, bytes(part.content)[: part.virtual_size]) for part in library.sections]
        (entry,) = (item.address for item in library.get_export().entries if item.name == function)
    else:
        start = library.get_segment("__TEXT").virtual_address
        parts = [(part.virtual_address - start, bytes(part.content)) for part in library.segments]
        (entry,) = (symbol.value - start for symbol in library.symbols if symbol.name == f"_{function}")
    image = bytearray(max(place + len(content) for place, content in parts))
    for place, content in parts:
        image[place : place + len(content)] = content
    return bytes(image), entry


def run_flat(machine: Machine, path: Path, arena: int, x: np.ndarray, function: str = "digits_run") -> np.ndarray:
    """Ten floats that the code of a library makes of ``x``."""
    code, output = flat_run(machine, path, arena, x.tobytes(), 40, function)
    assert code == 0
    return np.frombuffer(output, np.float32)


def flat_run(
    machine: Machine, path: Path, arena: int, x: bytes, size: int, function: str, cpu: str = "max",
    more: Sequence[str] = (),
) -> tuple[int, bytes]:  # fmt: skip
    """The code that ``function`` of a library returns, and its ``size`` bytes of output, on an emulated Arm ``cpu``;
    ``more`` are arguments of ``flat_image``, which say what the system tells of the processor."""
    image, entry = flat(path, function)
    folder = path.parent
    (folder / "image").write_bytes(image)
    (folder / "input").write_bytes(x)
    source = Path(__file__).with_name("flat_image.c")
    arm = machine.abi.architecture == "aarch64"
    convention = ["-DCONVENTION=__attribute__((ms_abi))"] if machine.name == "windows" and not arm else []
    compiler, before = ("aarch64-linux-gnu-gcc", ["qemu-aarch64", "-cpu", cpu]) if arm else ("gcc", [])
    run(compiler, "-O1", "-static", *convention, source, "-o", folder / "flat")
    command = [*before, folder / "flat", folder / "image", entry, arena, folder / "input", size, *more]
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False, timeout=100)
    assert len(done.stdout) == size, (done.returncode, done.stderr)
    return done.returncode, done.stdout


def bindings(path: Path, symbol: str) -> list[int]:
    """The places in the image of a library of Apple's where the address of a function of the system belongs."""
    library = lief.MachO.parse(str(path)).at(0)
    start = library.get_segment("__TEXT").virtual_address
    return sorted({entry.address - start for entry in library.bindings if entry.symbol.name == f"_{symbol}"})
