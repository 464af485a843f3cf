"""The way from an ONNX file to a program for one machine, step by step."""

from __future__ import annotations

import difflib
import hashlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from . import __version__
from .custom_ops.operators import load_operators
from .emit_c.model_name import model_name
from .errors import CcmlError, ErrorCode
from .exporters import find_exporter
from .frontend_onnx import Range, check_used, import_model, load_model, tensor_interface, with_fixed_inputs, with_states
from .frontend_tflite import is_tflite, read_tflite
from .ir.extents import axes_of
from .ir.graph import Graph
from .ir.types import DType, TensorType
from .ops.control import all_graphs
from .passes.by_rows import by_rows, input_name
from .passes.integer_interface import integer_interface, integer_states
from .passes.pipeline import optimize
from .passes.precision import FloatFormat
from .processes import mapped
from .program.goal import DEFAULT_GOAL, NOTHING_TUNED, Goal, Optimize
from .record import record
from .samples import ONLY_INPUT, Samples, match_samples, random_samples, read_arrays

# What describes targets and generates code takes long to import, and who reads models or quantizes them has no use for
# it.
if TYPE_CHECKING:
    from .costs.predict import Costs
    from .emit_llvm.levels import Level
    from .ir.program import Interface, Program
    from .report.build import Identity
    from .report.schema import Report
    from .targets import Machine
    from .targets.target import Cpu

log = logging.getLogger(__name__)

Dump = Callable[[str, Graph], None]
ProgramDump = Callable[[str, "Program"], None]
PathLike = str | Path

ALL_ABIS = "all"
ALL_CPUS = "all"

WORTHWHILE = 0.05
"""The share of its operations that a run has to save for a library to have code and weights for a CPU of its own."""

__all__ = [
    "ALL_ABIS", "ALL_CPUS", "DEFAULT_GOAL", "DEFAULT_OPTIONS", "NOTHING_TUNED", "Compiled", "Goal", "ModelOptions",
    "Optimize", "Range",
    "Source", "check_goal", "compile_model", "compile_source", "find_machine", "find_machines",
    "import_source", "lower", "lower_levels", "preferred_bytes", "read", "read_onnx", "run_passes",
]  # fmt: skip


@dataclass(frozen=True)
class ModelOptions:
    """How an ONNX file is read.

    ``dims`` binds symbolic dimensions by name, to a :class:`Range` where each run has an extent of its own;
    ``shapes`` fixes the shapes of whole inputs, ``fixed`` the values of some, which then are no inputs any more.
    ``bounds`` says how many bytes the strings of inputs have at most (64 where it says nothing).
    ``lengths`` says how many tensors the sequences among the inputs have, ``absent`` names the optional inputs that are
    not there.
    ``name`` is the prefix of files and symbols; by default it is made from the name of the file. ``integer_io``
    makes the inputs and outputs integers that a model which comes quantized quantizes first and dequantizes last.
    ``states`` are inputs that the caller of the artifact keeps from run to run, each with the output that is its next
    value. ``custom_ops`` gives the C file of operators by ``domain::Name``, ``custom_ops_python`` a Python function
    that means the same (``module:function`` or ``file.py:function``). With ``exact`` layers of floats are sums of the
    products that ONNX defines; without, some convolutions are computed by Winograd's algorithm, linear layers behind
    each other become one, and some are moved before a resize, which rounds otherwise.
    ``precision`` says in which numbers models of float32 are computed; inputs and outputs keep their types. ``rows``
    are inputs (``""``: the only one) that a function of the caller's brings row by row.
    """

    dims: Mapping[str, int | Range] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    name: str | None = None
    integer_io: bool = False
    fixed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    custom_ops: Mapping[str, PathLike] = field(default_factory=dict)
    custom_ops_python: Mapping[str, str] = field(default_factory=dict)
    exact: bool = False
    precision: FloatFormat = FloatFormat.FP32
    rows: tuple[str, ...] = ()


DEFAULT_OPTIONS = ModelOptions()


@record
class Source:
    """A model as it was read, with tensors at its interface.

    ``graph`` is the import, before any pass; ``quantized`` says how ccml quantized it.
    """

    path: Path
    options: ModelOptions
    model: onnx.ModelProto
    graph: Graph
    quantized: Mapping[str, object] | None = None

    @property
    def is_changed(self) -> bool:
        """Whether ``graph`` computes something else than ``model``."""
        stored = {state.input for state in self.graph.states}
        integer = any(value.type.quant is not None for value in self.graph.inputs if value.name in stored)
        return self.quantized is not None or self.options.integer_io or integer

    @property
    def rows(self) -> list[str]:
        """The inputs that come by rows."""
        return [input_name(self.graph, name) for name in self.options.rows]

    def identity(self, emit: Sequence[str] = (), goal: Goal = DEFAULT_GOAL) -> Identity:
        """What a report says of the model's origin."""
        from .report.build import Identity
        from .report.schema import Options

        options = Options(
            dims={k: n if isinstance(n, int) else str(n) for k, n in sorted(self.options.dims.items())},
            shapes={name: list(shape) for name, shape in sorted(self.options.shapes.items())},
            fixed={name: list(numbers) for name, numbers in sorted(self.options.fixed.items())},
            max=dict(sorted(self.options.bounds.items())),
            lengths=dict(sorted(self.options.lengths.items())),
            absent=sorted(self.options.absent),
            emit=sorted(set(emit)),
            integer_io=self.options.integer_io,
            quantize=None if self.quantized is None else dict(self.quantized),
            optimize=goal.optimize.value,
            max_ram=goal.max_ram,
            pools=dict(goal.pools),
            threads=goal.threads,
            states=dict(self.options.states),
            custom_ops={name: Path(path).name for name, path in sorted(self.options.custom_ops.items())},
            exact=self.options.exact,
            precision=self.options.precision.value,
            rows=sorted(self.rows),
        )
        with self.path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return Identity(__version__, self.path.name, digest, options)


@record
class Compiled:
    """A model on its way to one machine: as read, as optimized, and as a program."""

    source: Source
    optimized: Graph
    program: Program
    machine: Machine
    goal: Goal = DEFAULT_GOAL

    def samples(self, file: PathLike | None = None, count: int = 1) -> Samples:
        """Samples from an ``.npz`` or ``.npy`` file, or ``count`` seeded random ones. Raises ``BAD_INPUT``."""
        if file is None:
            samples = random_samples(self.program.tensors, count)
            most = {each.value: np.full(count, each.bound, np.int64) for each in self.program.free_extents}
            return replace(samples, inputs=samples.inputs | most)
        arrays = read_arrays(Path(file))
        sides = [self._of_shape(side, arrays) for side in self.program.tensors]
        samples = match_samples(arrays, sides, () if self.program.extents else self.program.outputs)
        if samples.ignored:
            log.info("not used: %s", ", ".join(samples.ignored))
        return samples

    def _of_shape(self, side: Interface, arrays: Mapping[str, np.ndarray]) -> Interface:
        """An input with extents as large as its array, which is then one sample."""
        names = (side.name, f"in:{side.name}", *([ONLY_INPUT] if len(self.program.tensors) == 1 else []))
        found = next((arrays[name] for name in names if name in arrays), None)
        if found is None or found.ndim != side.type.rank or not axes_of(self.program.extents, side.name):
            return side
        return replace(side, type=side.type.with_shape(found.shape))

    def report(self, costs: Costs | None = None) -> Report:
        """The report as far as it is known without machine code, with ``costs`` where they were predicted."""
        from .report.build import build_report

        identity = self.source.identity(goal=self.goal)
        return build_report(identity, self.source.graph, self.optimized, self.program, self.machine, costs=costs)

    def costs(self, route: str = "llvm") -> Costs | None:
        """What a run costs by the ``llvm`` objects or by the ``c`` sources; ``None`` without a cost model."""
        from .costs.predict import c_costs, object_costs

        return (c_costs if route == "c" else object_costs)(self.program, self.machine)


def find_machine(target: str, abi: str | None = None, cpu: str | None = None) -> Machine:
    """The machine for the names of a target, an ABI and a CPU as the command line takes them.

    The first ABI and CPU of a target are the default, and the CPU ``native`` is this machine's.

    Raises ``UNKNOWN_TARGET`` that lists what there is.
    """
    from .targets import TARGETS, find, select

    if cpu == "native":
        from .emit_llvm.jit import host_machine

        native = host_machine()
        if target in (native.target.name, *native.target.aliases):
            return native
        hint = f"this machine is {native.name}: --target {native.name} --cpu native"
        raise CcmlError(ErrorCode.UNKNOWN_TARGET, f"--cpu native does not fit --target {target}", hint=hint)
    try:
        return select(target, abi, cpu)
    except KeyError as problem:
        names = [name for known in TARGETS for name in (known.name, *known.aliases)]
        close = difflib.get_close_matches(target, names, 1) if find(target) is None else []
        hint = f"did you mean '{close[0]}'?" if close else "'ccml targets' shows all"
        raise CcmlError(ErrorCode.UNKNOWN_TARGET, str(problem.args[0]), hint=hint) from None


def find_machines(target: str, abi: str | None = None, cpu: str | None = None) -> list[Machine]:
    """One machine, or with ``abi="all"`` one for each ABI of the target; the default one for ``cpu="all"``."""
    from .targets import find

    known, cpu = find(target), None if cpu == ALL_CPUS else cpu
    if abi != ALL_ABIS or known is None:
        return [find_machine(target, abi, cpu)]
    return [find_machine(target, each.name, cpu) for each in known.abis]


def read_onnx(path: PathLike) -> onnx.ModelProto:
    """The model with its external data.

    One of TensorFlow Lite becomes the ONNX model that means the same; programs of PyTorch (``.pt2``) and models of
    Keras (``.keras``) are exported by these frameworks, where they are installed.
    """
    file = Path(path)
    log.info("reading %s", file.name)
    if is_tflite(file):
        return read_tflite(file)
    exporter = find_exporter(file) if file.is_file() else None
    return load_model(file) if exporter is None else exporter(file)


def import_source(path: PathLike, model: onnx.ModelProto, options: ModelOptions = DEFAULT_OPTIONS) -> Source:
    """A model's graph. ``options.name`` defaults to the file's name as a C identifier.

    Raises ``BAD_OPTION`` where ``options.fixed``, ``lengths``, ``absent`` or ``states`` do not fit the inputs and
    outputs, ``options.custom_ops`` the model, or ``options.integer_io`` meets a model without quantized inputs or
    outputs.
    """
    name = model_name(Path(path), options.name)
    custom = load_operators(options.custom_ops, options.custom_ops_python)
    check_used(model, custom)
    greatest = {key: extent.most if isinstance(extent, Range) else extent for key, extent in options.dims.items()}
    model = tensor_interface(
        model, options.lengths, options.absent, options.dims, options.shapes, options.bounds,
        fixed=lambda flat: with_fixed_inputs(flat, options.fixed, greatest), custom=custom,
    ).model  # fmt: skip
    imported = import_model(model, options.dims, options.shapes, name, options.bounds, custom, options.states)
    graph = with_states(imported, options.states)
    graph = integer_interface(graph) if options.integer_io else integer_states(graph)
    return Source(Path(path), options, model, graph)


def read(path: PathLike, options: ModelOptions = DEFAULT_OPTIONS) -> Source:
    """The ONNX file and its graph."""
    return import_source(path, read_onnx(path), options)


def run_passes(source: Source, dump: Dump | None = None, machine: Machine | None = None) -> Graph:
    """The graph ready for scheduling, on machines like ``machine`` or else on whatever machine. ``dump`` sees the graph
    of each pass."""
    options = source.options
    log.info("optimizing %d operators", len(source.graph.nodes))
    if machine is not None:
        _check_precision(options.precision, machine)
    bytes_as = None if machine is None else preferred_bytes(machine)
    graph = by_rows(source.graph, options.rows)
    return optimize(graph, dump=dump, bytes_as=bytes_as, precision=options.precision, exact=options.exact)


def _check_precision(precision: FloatFormat, machine: Machine) -> None:
    """Raises ``BAD_OPTION`` where nothing computes in ``precision``."""
    from .targets.target import ElementKind

    if precision is FloatFormat.BF16 and all(dot.activation is not ElementKind.BF16 for dot in machine.cpu.dots):
        reason = f"{machine.name} has no code for products of bfloat16 (--precision bf16)"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="--precision fp32, or --quantize int8 for smaller weights")


def preferred_bytes(machine: Machine) -> DType | None:
    """The type of bytes that the instructions of ``machine`` take, where they take one only."""
    kind = machine.cpu.bytes_as
    return None if kind is None else DType(kind.value)


def check_goal(goal: Goal) -> None:
    """Raises ``BAD_OPTION`` where pools cannot have their names, or one that is not the last has no limit."""
    from .emit_c.symbols import check_pool_names

    check_pool_names(list(goal.pools))
    for name in list(goal.pools)[:-1]:
        if goal.pools[name] is None:
            reason = f"the pool '{name}' has no size, but there is another one behind it"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=f"say how large it is: {name}=64K")


def lower(
    source: Source,
    optimized: Graph,
    machine: Machine,
    goal: Goal = DEFAULT_GOAL,
    dump: ProgramDump | None = None,
    *,
    shared: bool = True,
) -> Compiled:
    """An optimized graph as a program for one machine; ``dump`` sees the program after each step. Not ``shared``: for
    :func:`link`. Raises ``BUDGET`` where ``goal`` cannot be met."""
    from .program.build import exact_machine, lower_graph

    check_goal(goal)
    log.info("generating kernels for %s %s", machine.name, machine.abi.name)
    exact = exact_machine(machine) if source.options.exact else machine
    program = _with_quantization(lower_graph(optimized, exact, goal, dump, shared=shared), source.graph)
    return Compiled(source, optimized, program, machine, goal)


def _with_quantization(program: Program, graph: Graph) -> Program:
    """``program`` whose interface says how its integers are to be read, as that of ``graph`` does: passes change the
    nodes that make them, and not what they stand for."""
    quants = {value.name: value.type.quant for value in (*graph.inputs, *graph.outputs)}

    def known(name: str, type_: TensorType) -> TensorType:
        return replace(type_, quant=quants.get(name) or type_.quant)

    return replace(
        program,
        inputs=tuple(replace(each, type=known(each.name, each.type)) for each in program.inputs),
        outputs=tuple(replace(each, type=known(each.name, each.type)) for each in program.outputs),
        states=tuple(replace(each, type=known(each.name, each.type)) for each in program.states),
    )


def lower_levels(compiled: Compiled, *, shared: bool = True) -> tuple[Level, ...]:
    """The programs of a library for all CPUs of an ABI, the most demanding first, but for those that a less demanding
    one makes needless, as it has the same code, or hardly more to do; none where the ABI has a single CPU. ``shared``
    is as ``compiled`` was lowered."""
    from .emit_llvm.levels import Level, by_requirements, without_equals

    machine, cpus = compiled.machine, compiled.machine.abi.cpus
    if len(cpus) == 1:
        return ()
    levels = [Level(machine, compiled.program), *mapped(partial(_level, compiled, shared), _of_use(compiled))]
    return tuple(without_equals(_worth_their_size(by_requirements(levels))))


def _level(compiled: Compiled, shared: bool, cpu: Cpu) -> Level:
    """The model of ``compiled`` for another CPU."""
    from .emit_llvm.levels import Level

    machine = replace(compiled.machine, cpu=cpu)
    lowered = lower(compiled.source, compiled.optimized, machine, compiled.goal, shared=shared)
    return Level(machine, lowered.program)


def _worth_their_size(levels: Sequence[Level]) -> list[Level]:
    """``levels``, the most demanding first, without those for CPUs that compute with floats as a less demanding one
    does, and save less than :data:`WORTHWHILE` of its operations."""
    from .program.operations import operations
    from .targets.target import ElementKind, alike

    found: list[tuple[int, Level]] = []
    for level in reversed(levels):
        own = operations(level.program)
        similar = [most for most, other in found if alike(level.machine.cpu, other.machine.cpu, {ElementKind.F32})]
        if own <= min(similar, default=math.inf) * (1 - WORTHWHILE):
            found.insert(0, (own, level))
    return [level for _, level in found]


def _of_use(compiled: Compiled) -> list[Cpu]:
    """The other CPUs of an ABI, without those that differ from a less demanding one in nothing that the model asks for:
    in instructions for integers or halves, where there are floats alone."""
    from .targets.target import ElementKind, alike

    types = {value.dtype.value for graph in all_graphs(compiled.optimized) for value in graph.values()}
    kinds = {kind for kind in ElementKind if kind.value in types} | {ElementKind.F32}
    known = [compiled.machine.cpu]
    for cpu in sorted(compiled.machine.abi.cpus, key=lambda each: len(each.requires)):
        if cpu not in known and not any(alike(cpu, other, kinds) for other in known):
            known.append(cpu)
    return known[1:]


def compile_source(
    source: Source, machine: Machine, dump: Dump | None = None, goal: Goal = DEFAULT_GOAL
) -> Compiled:
    """All passes and the schedule; the emitters take it from there."""
    return lower(source, run_passes(source, dump, machine), machine, goal)


def compile_model(
    path: PathLike,
    machine: Machine,
    options: ModelOptions = DEFAULT_OPTIONS,
    dump: Dump | None = None,
    goal: Goal = DEFAULT_GOAL,
) -> Compiled:
    """The program for ``machine``, without code or files: what :func:`compile` would print.

    ``dump`` is called with the name of each pass and its graph. It is for tools that look at graphs and kernels.
    """
    return compile_source(read(path, options), machine, dump, goal)
