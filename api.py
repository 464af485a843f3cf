"""The compiler as a library: what the command line calls, and what a Python program may call.

>>> ccml.compile("kws.onnx", "arm", "out")          # writes out/kws.h, out/kws.c, out/libkws.a, ...
>>> model = ccml.load("kws.onnx")                   # compiles for this machine, in memory
>>> model.run({"input": features})["scores"]
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from . import __version__
from .artifact.build import Artifact, Plan, write_artifacts
from .artifact.dump import GraphDump, dump_kernels
from .artifact.emit import DEFAULT_EMIT, Emit
from .artifact.naming import model_name
from .emit_llvm.jit import JitModel, host_machine
from .errors import CcmlError, ErrorCode
from .frontend_onnx import import_model, load_model
from .ir.graph import Graph
from .ir.program import Interface, Program
from .passes.pipeline import optimize
from .report.build import Identity, build_report
from .report.schema import Options, Report
from .schedule.lower import lower_graph
from .targets import Machine, find, select

log = logging.getLogger(__name__)

Dump = Callable[[str, Graph], None]
PathLike = str | Path

ALL_ABIS = "all"


@dataclass(frozen=True)
class ModelOptions:
    """How an ONNX file is read: symbolic dimensions bound by name, whole input shapes, and the name of the model."""

    dims: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    name: str | None = None


DEFAULT_OPTIONS = ModelOptions()


@dataclass(frozen=True)
class Source:
    """A model as it was read. ``graph`` is the import, before any pass."""

    path: Path
    options: ModelOptions
    model: onnx.ModelProto
    graph: Graph

    @property
    def inputs(self) -> list[onnx.ValueInfoProto]:
        """The model's inputs, in the order of the graph's: those that no initializer gives a value."""
        given = {tensor.name for tensor in self.model.graph.initializer}
        return [value for value in self.model.graph.input if value.name not in given]


@dataclass(frozen=True)
class Compiled:
    """A model on its way to one machine: as read, as optimized, and as a program."""

    source: Source
    optimized: Graph
    program: Program
    machine: Machine

    @property
    def interfaces(self) -> tuple[Sequence[Interface], Sequence[Interface]]:
        """Inputs and outputs."""
        return self.program.inputs, self.program.outputs

    def report(self) -> Report:
        """The report as far as it is known without machine code."""
        return build_report(_identity(self.source, ()), self.source.graph, self.optimized, self.program, self.machine)


@dataclass(frozen=True)
class Result:
    """What :func:`compile` wrote: the folder, and an artifact for each ABI."""

    folder: Path
    artifacts: tuple[Artifact, ...]


def find_machine(target: str, abi: str | None = None, cpu: str | None = None) -> Machine:
    """The machine for names as the command line takes them. ``native`` is this machine's CPU.

    Raises ``UNKNOWN_TARGET`` that lists what there is.
    """
    if cpu == "native":
        native = host_machine()
        if target in (native.target.name, *native.target.aliases):
            return native
        hint = f"this machine is {native.name}: --target {native.name} --cpu native"
        raise CcmlError(ErrorCode.UNKNOWN_TARGET, f"--cpu native does not fit --target {target}", hint=hint)
    try:
        return select(target, abi, cpu)
    except KeyError as problem:
        raise CcmlError(ErrorCode.UNKNOWN_TARGET, str(problem.args[0]), hint="'ccml targets' shows all") from None


def find_machines(target: str, abi: str | None = None, cpu: str | None = None) -> list[Machine]:
    """One machine, or with ``abi="all"`` one for each ABI of the target."""
    known = find(target)
    if abi != ALL_ABIS or known is None:
        return [find_machine(target, abi, cpu)]
    return [find_machine(target, each.name, cpu) for each in known.abis]


def read(path: PathLike, options: ModelOptions = DEFAULT_OPTIONS) -> Source:
    """The ONNX file and its graph. ``options.name`` defaults to the file's name as a C identifier."""
    file = Path(path)
    name = model_name(file, options.name)
    log.info("reading %s", file.name)
    model = load_model(file)
    return Source(file, options, model, import_model(model, dims=options.dims, shapes=options.shapes, name=name))


def lower(source: Source, optimized: Graph, machine: Machine) -> Compiled:
    """An optimized graph as a program for one machine."""
    log.info("generating kernels for %s %s", machine.name, machine.abi.name)
    return Compiled(source, optimized, lower_graph(optimized, machine), machine)


def compile_model(
    path: PathLike, machine: Machine, options: ModelOptions = DEFAULT_OPTIONS, dump: Dump | None = None
) -> Compiled:
    """Everything up to the scheduled program; the emitters take it from there. ``dump`` sees the graph of each pass."""
    source = read(path, options)
    log.info("optimizing %d operators", len(source.graph.nodes))
    return lower(source, optimize(source.graph, dump=dump), machine)


def compile(  # the name that users look for
    path: PathLike,
    target: str,
    folder: PathLike | None = None,
    *,
    abi: str | None = None,
    cpu: str | None = None,
    emit: Iterable[str | Emit] = DEFAULT_EMIT,
    options: ModelOptions = DEFAULT_OPTIONS,
    dump_ir: PathLike | None = None,
) -> Result:
    """Compiles ``path`` and writes the artifact into ``folder`` (default: ``NAME_TARGET``).

    With ``abi="all"`` there is an artifact for each ABI of the target, in a folder of its name. ``dump_ir`` is a folder
    for the graph after every pass and the kernels. Everything that can be wrong raises :class:`CcmlError`.
    """
    kinds = [Emit(kind) for kind in emit]
    machines = find_machines(target, abi, cpu)
    name = model_name(Path(path), options.name)
    out = Path(folder) if folder is not None else Path(f"{name}_{machines[0].name}")
    dump = GraphDump(Path(dump_ir)) if dump_ir is not None else None
    source = read(path, options)
    log.info("optimizing %d operators", len(source.graph.nodes))
    optimized = optimize(source.graph, dump=dump)
    identity = _identity(source, [kind.value for kind in kinds])

    def plans() -> Iterable[Plan]:
        for machine in machines:
            compiled = lower(source, optimized, machine)
            if dump is not None:
                dump_kernels(dump, compiled.program, machine)
            yield Plan(compiled.program, machine, identity, source.graph, optimized)

    return Result(out, write_artifacts(plans(), kinds, out, subfolders=abi == ALL_ABIS))


def _identity(source: Source, emit: Sequence[str]) -> Identity:
    options = Options(
        dims=dict(sorted(source.options.dims.items())),
        shapes={name: list(shape) for name, shape in sorted(source.options.shapes.items())},
        emit=sorted(set(emit)),
    )
    with source.path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Identity(__version__, source.path.name, digest, options)


class LoadedModel:
    """A model compiled into this process."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        log.info("compiling for this machine (%s)", compiled.machine.cpu.name)
        self._jit = JitModel(compiled.program, compiled.machine)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by their ONNX names, for inputs by theirs. Raises ``BAD_INPUT`` that names the tensor."""
        return self._jit.run(inputs)

    def observe(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs and every intermediate value that has memory of its own, in the layout that it has inside."""
        return self._jit.observe(inputs)


def load(path: PathLike, options: ModelOptions = DEFAULT_OPTIONS) -> LoadedModel:
    """Compiles ``path`` for this machine and loads it."""
    return LoadedModel(compile_model(path, host_machine(), options))
