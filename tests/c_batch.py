"""Many programs compiled by GCC into one library, and run in one process of their own.

A library is kept under the hash of its sources, so that a second run compiles only what has changed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from ccml.emit_c.artifact import write_c
from ccml.emit_c.compiler_flags import all_flags
from ccml.emit_c.symbols import assign_symbols
from ccml.ir.program import Program
from ccml.targets import Machine

Arrays = Mapping[str, np.ndarray]
FLAGS = ("-std=c99", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden")


@dataclass(frozen=True)
class CaseFailed:
    """Why there are no outputs."""

    reason: str


@dataclass(frozen=True)
class _Call:
    """One run: the entry, and the arguments in order; a number stands for that many bytes of working memory."""

    symbol: str
    arguments: list[np.ndarray | int]
    outputs: dict[str, int]


def run_batch(
    programs: Sequence[Program], machine: Machine, feeds: Sequence[Arrays], cache: Path, compiler: str = "gcc"
) -> list[dict[str, np.ndarray] | CaseFailed]:
    """The outputs of each program by name. The names of the programs have to differ."""
    library = compiled_library(programs, machine, cache, compiler)
    calls = [_call(program, arrays) for program, arrays in zip(programs, feeds, strict=True)]
    with TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "calls", Path(folder) / "results"
        asked.write_bytes(pickle.dumps((str(library), calls)))
        command = [sys.executable, "-m", "tests.c_batch", str(asked), str(answered)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=300)
        results: list[dict[str, np.ndarray] | CaseFailed] = []
        if answered.exists():
            with answered.open("rb") as stream:
                results = [_outcome(stream) for _ in range(_count(done.stdout))]
    if len(results) < len(calls):
        reason = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
        results += [CaseFailed(reason)] * (len(calls) - len(results))
    return results


def _outcome(stream: object) -> dict[str, np.ndarray] | CaseFailed:
    return pickle.load(stream)  # type: ignore[arg-type]


def _count(stdout: str) -> int:
    """Cases that have been finished."""
    return stdout.count("done\n")


def _call(program: Program, arrays: Arrays) -> _Call:
    pools: list[np.ndarray | int] = [pool.size + pool.align for pool in program.plan.pools]
    inputs = [np.ascontiguousarray(arrays[side.name]) for side in program.inputs]
    outputs = [np.empty(side.type.shape, side.type.dtype.numpy) for side in program.outputs]
    places = {side.name: len(pools) + len(inputs) + place for place, side in enumerate(program.outputs)}
    return _Call(assign_symbols(program).run, [*pools, *inputs, *outputs], places)


def compiled_library(programs: Sequence[Program], machine: Machine, cache: Path, compiler: str = "gcc") -> Path:
    """A shared library of these programs, in ``cache``, or the one that is there."""
    with TemporaryDirectory() as folder:
        written = [path for p in programs for path in write_c(p, machine, folder, incbin_threshold=None)]
        command = [compiler, *FLAGS, *all_flags(machine, compiler)]
        digest = hashlib.sha256(repr(command).encode())
        for path in sorted(written):
            digest.update(path.name.encode() + path.read_bytes())
        library = cache / f"{digest.hexdigest()}.so"
        if not library.exists():
            cache.mkdir(parents=True, exist_ok=True)
            sources = [str(path) for path in written if path.suffix == ".c"]
            part = library.with_suffix(f".{os.getpid()}")
            _compile([*command, *_prelude(command, cache), *sources, "-o", str(part)])
            part.rename(library)
    return library


def _prelude(command: Sequence[str], cache: Path) -> list[str]:
    """The vector intrinsics, which most sources include and which are long, as a precompiled header in ``cache``."""
    folder = cache / f"prelude_{hashlib.sha256(repr(command).encode()).hexdigest()[:16]}"
    header = folder / "prelude.h"
    if not header.exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}")
        part.mkdir(parents=True, exist_ok=True)
        source = part / "prelude.h"
        source.write_text("#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n#include <stdint.h>\n")
        own = [flag for flag in command if flag != "-shared"]
        _compile([*own, "-x", "c-header", str(source), "-o", f"{source}.gch"])
        with suppress(OSError):  # another process was faster
            part.rename(folder)
    return ["-include", str(header)]


def _compile(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def _run(asked: Path, answered: Path) -> None:
    """In the process of its own: the calls one after the other, each result written at once."""
    name, calls = pickle.loads(asked.read_bytes())
    library = ctypes.CDLL(name)
    with answered.open("wb", buffering=0) as stream:
        for call in calls:
            memory = [np.empty(a, np.uint8) if isinstance(a, int) else a for a in call.arguments]
            addresses = [a.ctypes.data + (-a.ctypes.data % 64 if isinstance(given, int) else 0)
                         for a, given in zip(memory, call.arguments)]  # fmt: skip
            function = library[call.symbol]
            function.argtypes = [ctypes.c_void_p] * len(memory)
            function.restype = ctypes.c_int
            status = function(*addresses)
            outputs = {name: memory[place] for name, place in call.outputs.items()}
            stream.write(pickle.dumps(CaseFailed(f"it returned {status}") if status else outputs))
            print("done", flush=True)


if __name__ == "__main__":
    from tests.c_batch import _run as run  # so that pickled classes have the names that the parent knows

    run(Path(sys.argv[1]), Path(sys.argv[2]))
