"""What the tests share, made once in a test run: programs, C sources, libraries; one folder for all xdist workers."""

from __future__ import annotations

import fcntl
import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ccml.artifact.emit import Emit, emit
from ccml.driver import compile_model
from ccml.ir.program import Program
from ccml.samples import Samples, match_samples, read_arrays
from ccml.targets import Machine
from ccml.verification.difference import difference

from tests.artifacts.commands import make
from tests.artifacts.zoo import Model


@dataclass(frozen=True)
class Workshop:
    """Every result is a file or folder under a name that says what it was made from."""

    folder: Path

    def once(self, name: str, build: Callable[[Path], None]) -> Path:
        """The path called ``name``, which ``build`` makes if nobody has yet. Others wait meanwhile."""
        path = self.folder / name
        if path.exists():
            return path
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                part = self.folder / f"{name}.part"
                shutil.rmtree(part, ignore_errors=True)
                build(part)
                part.rename(path)
        return path

    def program(self, model: Model, machine: Machine) -> Program:
        def build(path: Path) -> None:
            path.write_bytes(pickle.dumps(compile_model(model.path, machine, model.options).program))

        return pickle.loads(self.once(f"{_key(model, machine)}.program", build).read_bytes())

    def c_sources(self, model: Model, machine: Machine) -> Path:
        """The folder that ``ccml compile --emit c`` writes."""
        return self.once(f"{_key(model, machine)}-c", lambda folder: self._emit(model, machine, folder, Emit.C))

    def machine_code(self, model: Model, machine: Machine) -> Path:
        """The folder with the objects and libraries that LLVM makes."""
        kinds = (Emit.LIBRARY, Emit.OBJECT)
        return self.once(f"{_key(model, machine)}-llvm", lambda folder: self._emit(model, machine, folder, *kinds))

    def built_by_make(self, model: Model, machine: Machine, *arguments: str) -> Path:
        """The folder of C with the static library that its own Makefile builds. A warning is an error."""

        def build(folder: Path) -> None:
            shutil.copytree(self.c_sources(model, machine), folder)
            make(folder, f"lib{model.name}.a", "CFLAGS=-Werror", *arguments)

        return self.once("-".join((_key(model, machine), "make", *arguments)), build)

    def samples(self, model: Model, machine: Machine, count: int | None = None) -> Samples:
        """The samples of the model's data, with what is expected of each; the first ``count``."""
        program = self.program(model, machine)
        samples = match_samples(read_arrays(model.data_path), program.inputs, program.outputs)
        return samples if count is None else samples.first(count)

    def _emit(self, model: Model, machine: Machine, folder: Path, *kinds: Emit) -> None:
        folder.mkdir()
        emit(self.program(model, machine), machine, kinds, folder)


def error(samples: Samples, results: Sequence[dict[str, np.ndarray]]) -> float:
    """The relative L2 error over all samples, of the output where it is largest."""
    found = {name: np.stack([result[name] for result in results]) for name in samples.expected}
    return max(difference(found[name], expected).relative_l2 for name, expected in samples.expected.items())


def _key(model: Model, machine: Machine) -> str:
    return f"{model.key()}-{machine.name}-{machine.abi.name}-{machine.cpu.name}"
