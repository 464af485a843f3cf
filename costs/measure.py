"""Executed instructions by layer, counted under emulation: what predictions are compared with.

A plugin of QEMU (``emulation/c/count.c``) counts every instruction that the emulated board executes. The regions that
it is given say to which layer code of the entry function belongs; what that calls counts for the same layer.
"""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..emit_c.header import public_header
from ..emit_c.symbols import assign_symbols
from ..emulation.driver import DRIVER_FOLDER, write_inputs
from ..emulation.run import Build as DriverBuild
from ..emulation.run import build_driver, run_driver
from ..emulation.toolchain import build as run_compiler
from ..emulation.toolchain import find_tool
from ..ir.program import Program
from ..record import record
from ..targets import Machine
from .build import Build, write_objects
from .functions import Function, find_functions
from .image import Image, function_addresses

_CALLER = -1
_ALIGNED = DriverBuild(flags=("-DMODEL_TENSORS_ALIGNED",))
"""GCC copies whole words where tensors happen to be aligned, as they are where predictions are made."""


@record
class Measured:
    """Executed instructions of one run, and of its layers where code could be told apart by them."""

    instructions: int
    layers: tuple[int, ...] | None
    outputs: Mapping[str, np.ndarray]


def measure(program: Program, machine: Machine, build: Build, sample: Mapping[str, np.ndarray]) -> Measured:
    """One run of ``build`` on the emulated board. Raises ``TOOLCHAIN`` where QEMU or a compiler is missing, and
    ``BAD_OPTION`` where no board has such a core."""
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        symbols = assign_symbols(program)
        (folder / f"{symbols.prefix}.h").write_text(public_header(program, machine, symbols), encoding="utf-8")
        files = write_objects(build.objects, folder)
        executable = build_driver(program, machine, files, folder, _ALIGNED, folder)
        regions = sorted(_regions(build, function_addresses(executable.read_bytes()), len(program.calls)))
        lines = "".join(f"{address:x} {size:x} {counter}\n" for address, size, counter in regions)
        (folder / "regions").write_text(lines, encoding="ascii")
        plugin = folder / "count.so"
        run_compiler([find_tool("gcc"), "-O2", "-shared", "-fPIC", DRIVER_FOLDER / "count.c", "-o", plugin], folder)
        options = ["-plugin", f"{plugin},regions=regions,counts=counts"]
        write_inputs(program, [sample], folder)
        (outputs,) = run_driver(program, machine, 1, executable, folder, options)
        counts = [int(line) for line in (folder / "counts").read_text(encoding="ascii").split()]
    layers = tuple(counts[: len(program.calls)]) if build.layer_of else None
    return Measured(sum(counts), layers, outputs)


def _regions(build: Build, addresses: Mapping[str, int], other: int) -> Iterator[tuple[int, int, int]]:
    """(address in the driver, bytes, counter) of the model's code; ``other`` counts what belongs to no layer."""
    functions = find_functions(build.image, build.entry)
    moved = _Moved(build.image, addresses)
    done: set[int] = set()
    for function in functions.values():
        own = function.address == build.image.function(build.entry)
        for address, size in _pieces(function):
            if address not in done:
                done.add(address)
                yield moved(address), size, build.layer_of.get(address, other) if own else _CALLER


def _pieces(function: Function) -> Iterator[tuple[int, int]]:
    """Instructions, those of computed jumps' targets that overlap left out."""
    end = 0
    for instruction in sorted(function.instructions, key=lambda i: i.address):
        if instruction.address >= end:
            yield instruction.address, instruction.size
            end = instruction.end


class _Moved:
    """Where code of the image is in the driver: as far behind the same function."""

    def __init__(self, image: Image, addresses: Mapping[str, int]) -> None:
        self.addresses = addresses
        self.starts = sorted((address, name) for name, (address, _) in image.functions.items() if name in addresses)

    def __call__(self, address: int) -> int:
        start, name = self.starts[bisect.bisect_right(self.starts, (address, "\uffff")) - 1]
        return self.addresses[name] + address - start
