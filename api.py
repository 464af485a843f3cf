"""The compiler as a library: what the command line calls, and what a Python program may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from .emit_llvm.jit import JitModel, host_machine
from .errors import CcmlError, ErrorCode
from .frontend_onnx import import_model, load_model
from .ir.graph import Graph
from .ir.program import Program
from .passes.pipeline import optimize
from .schedule.lower import lower_graph
from .targets import Machine, select

Dump = Callable[[str, Graph], None]


@dataclass(frozen=True)
class ModelOptions:
    """How an ONNX file is read: symbolic dimensions bound by name, whole input shapes, and the name of the model."""

    dims: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    name: str | None = None


@dataclass(frozen=True)
class Compiled:
    """A model on its way to one machine: as imported, as optimized, and as a program."""

    model: onnx.ModelProto
    imported: Graph
    optimized: Graph
    program: Program
    machine: Machine


def find_machine(target: str, abi: str | None = None, cpu: str | None = None) -> Machine:
    """The machine for names as the command line takes them. ``native`` is this machine's CPU.

    Raises ``UNKNOWN_TARGET`` that lists what there is.
    """
    if cpu == "native":
        native = host_machine()
        if target in (native.target.name, *native.target.aliases):
            return native
        raise CcmlError(ErrorCode.UNKNOWN_TARGET, f"--cpu native is a {native.name}, not a {target}")
    try:
        return select(target, abi, cpu)
    except KeyError as problem:
        raise CcmlError(ErrorCode.UNKNOWN_TARGET, str(problem.args[0]), hint="'ccml targets' shows all") from None


def read(path: str | Path, options: ModelOptions = ModelOptions()) -> tuple[onnx.ModelProto, Graph]:  # noqa: B008
    """The ONNX file and its graph. ``options.name`` defaults to the file's name without its suffix."""
    model = load_model(Path(path))
    name = options.name or Path(path).stem
    return model, import_model(model, dims=options.dims, shapes=options.shapes, name=name)


def compile_model(
    path: str | Path, machine: Machine, options: ModelOptions = ModelOptions(), dump: Dump | None = None  # noqa: B008
) -> Compiled:
    """Everything up to the scheduled program; the emitters take it from there."""
    model, imported = read(path, options)
    optimized = optimize(imported, dump=dump)
    program = lower_graph(optimized, machine)
    return Compiled(model, imported, optimized, program, machine)


class LoadedModel:
    """A model compiled into this process."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self._jit = JitModel(compiled.program, compiled.machine)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by their ONNX names, for inputs by theirs. Raises ``BAD_INPUT`` that names the tensor."""
        return self._jit.run(inputs)

    def observe(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs and every intermediate value that has memory of its own."""
        return self._jit.observe(inputs)


def load(path: str | Path, options: ModelOptions = ModelOptions()) -> LoadedModel:  # noqa: B008
    """Compiles ``path`` for this machine and loads it.

    >>> model = ccml.load("digits.onnx")
    >>> model.run({"image": image})["logits"]
    """
    return LoadedModel(compile_model(path, host_machine(), options))
