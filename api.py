"""The compiler as a library: what the command line calls, and what a Python program may call.

>>> ccml.compile("kws.onnx", "arm", "out")          # writes out/kws.h, out/kws.c, out/libkws.a, ...
>>> model = ccml.load("kws.onnx")                   # compiles for this machine, in memory
>>> model.run({"features": features})["scores"]
>>> ccml.quantize("kws.onnx", ccml.Quantization("calibration.npz"), "kws_int8.onnx").accuracy.outputs
>>> ccml.verify("kws.onnx", samples=2).ok           # against the ONNX reference, layer by layer
True

Everything that can be wrong with a model, a file or an option raises :class:`CcmlError`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .artifact.abis import build_for_abi
from .artifact.build import Artifact, Plan, dispatches_by_default, make_plan, write_artifacts
from .artifact.dump import IrDump
from .artifact.emit import DEFAULT_EMIT, Emit
from .artifact.link import Library, LinkedModels, link_models, write_library, write_library_sources
from .artifact.options import DEFAULT_ARTIFACT, ArtifactOptions
from .artifact.rows import check_by_rows
from .bindings.write import check_bindings, write_bindings
from .costs.build import build_c, build_objects, has_compiler
from .costs.measure import measure
from .costs.predict import has_cost_model, predict
from .costs.roof import roof
from .costs.timing import time_model
from .driver import (
    ALL_ABIS,
    ALL_CPUS,
    DEFAULT_GOAL,
    DEFAULT_OPTIONS,
    Goal,
    ModelOptions,
    Optimize,
    PathLike,
    Range,
    Source,
    check_goal,
    compile_model,
    compile_source,
    find_machine,
    find_machines,
    lower,
    preferred_bytes,
    read,
    run_passes,
)
from .emit_c.model_name import model_name
from .emit_llvm.jit import JitModel, StateMemory, host_features, host_machine
from .errors import CcmlError, ErrorCode, not_by_rows
from .fitting import Case, check_budget, with_ways_out
from .ir.graph import Graph
from .ir.types import DType
from .loaded_model import LoadedModel
from .output_files import check_output_file, check_output_folder
from .packages.sample import encode_sample
from .packages.write import LinkedModels as PackagedModels
from .packages.write import Model as PackagedModel
from .packages.write import check_linked, find_ecosystems, write_linked_packages, write_packages
from .passes.precision import FloatFormat
from .processes import allowed
from .quantization.device import Device
from .quantization.images import ImageOptions
from .quantization.model_file import quantize
from .quantization.options import LayerOptions, Mode, Precision, RangeMethod
from .quantization.source import Quantization, QuantizedSource, QuantizeOptions, quantize_source
from .report.accuracy import Accuracy
from .report.budget import NO_BUDGET, Budget, check_board, whole_budget
from .report.profile import Profile, TimedProfile, build_profile, build_timed_profile
from .report.read import read_firmware as read_firmware_file
from .report.read import read_reports as read_report_files
from .report.schema import Firmware, LibraryTotals, Report
from .samples import plain_arrays
from .targets import Machine
from .targets import find as find_target
from .tuning.database import read_decisions
from .tuning.tune import SECONDS as TUNING_SECONDS
from .tuning.tune import Tuning, tune_source
from .verification.board import BoardCheck, compare_log
from .verification.board_log import read_log
from .verification.compare_model import Verification, compare
from .verification.tolerance import default_tolerance

log = logging.getLogger(__name__)

__all__ = [
    "Accuracy", "Artifact", "ArtifactOptions", "BoardCheck", "Budget", "Emit", "Firmware", "FloatFormat", "Goal",
    "ImageOptions", "LayerOptions",
    "Library", "LoadedModel", "Mode", "ModelOptions", "Optimize", "Precision", "Profile", "Quantization",
    "QuantizeOptions", "QuantizedSource", "Range", "RangeMethod", "Report", "Result", "StateMemory", "TimedProfile",
    "Tuning", "Verification", "compile", "compile_model", "find_machine", "link", "load", "profile", "quantize",
    "read_decisions", "read_firmware", "read_reports", "save_arrays", "time_layers", "tune", "verify", "verify_log",
    "write_page",
]  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What :func:`compile` wrote: the folder, and an artifact for each ABI."""

    folder: Path
    artifacts: tuple[Artifact, ...]


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
    quantization: Quantization | None = None,
    goal: Goal = DEFAULT_GOAL,
    packages: Iterable[str] = (),
    bindings: Iterable[str] = (),
    file: PathLike | None = None,
    budget: Budget = NO_BUDGET,
    board: str | None = None,
    artifact: ArtifactOptions = DEFAULT_ARTIFACT,
    jobs: int = 1,
) -> Result:
    """Compiles the ONNX model ``path`` and writes the artifact into ``folder`` (default: ``NAME_TARGET``).

    ``target``, ``abi`` and ``cpu`` are as ``ccml targets`` lists them, and ``cpu="native"`` is this machine's. With
    ``cpu="all"`` objects and libraries have code for each CPU of the ABI and choose at the first call, while the C is
    that of the first one; so they have by default where an operating system loads them. With ``abi="all"`` there is an
    artifact for each ABI of the target, in a folder of its name. ``emit`` says what is written besides the header and
    the report. ``dump_ir`` is a folder for the graph after every pass and the program after every step. With
    ``quantization`` the float model is quantized first, and the reports say what that cost. ``goal`` may ask for little
    RAM; where it cannot be met, ``BUDGET`` is raised.
    ``packages`` are ecosystems such as ``cmake`` and ``arduino``: for each, a package with an application that runs the
    first sample of ``file``, or a random one, is written into a folder of that name. ``bindings`` are languages:
    ``cpp``, ``python``, ``rust``, ``js``, ``java``. ``artifact`` says how code and weights come into the product. Where
    the model does not fit ``budget``, or the memory of ``board``
    (``ccml boards`` lists them), ``BUDGET`` is raised, with options that would help.
    The code for the CPUs of an ABI is made by up to ``jobs`` processes. Where these are not forked (outside of Linux),
    a script that asks for several needs the usual ``if __name__ == "__main__"``.
    """
    known = None if board is None else check_board(board, target)
    budget = whole_budget(budget, board, goal)
    check_goal(goal)
    kinds = [Emit(kind) for kind in emit]
    machines = find_machines(target, abi, cpu)
    ecosystems = find_ecosystems(packages, machines)
    languages = check_bindings(bindings, machines, libraries=Emit.LIBRARY in kinds)
    in_memory = [each.name for each in ecosystems if each.every_abi]
    check_by_rows(options.rows, machines, goal, artifact, languages, in_memory)
    name = model_name(Path(path), options.name)
    out = Path(folder) if folder is not None else Path(f"{name}_{machines[0].name}")
    check_output_folder(out, "-o")
    if dump_ir is not None:
        check_output_folder(Path(dump_ir), "--dump-ir")
    dump = IrDump(Path(dump_ir)) if dump_ir is not None else None

    def dispatches(machine: Machine) -> bool:
        made = [*kinds, Emit.LIBRARY] if any(ecosystem.every_abi for ecosystem in ecosystems) else kinds
        return cpu == ALL_CPUS or (cpu is None and dispatches_by_default(machine, made, artifact))

    every_cpu = budget.max_flash is not None and dispatches(machines[0])
    device = Device(machines[0], goal, budget, kinds, every_cpu, artifact)
    source, accuracy = _read(path, options, quantization, device)
    optimized: dict[DType | None, Graph] = {}

    def plan_for(machine: Machine) -> Plan:
        bytes_as = preferred_bytes(machine)
        if bytes_as not in optimized:
            optimized[bytes_as] = run_passes(source, None if optimized else dump, machine)
        programs = None if dump is None else dump.programs(machine)
        compiled = lower(source, optimized[bytes_as], machine, goal, programs)
        return make_plan(compiled, kinds, every_cpu=dispatches(machine), accuracy=accuracy, options=artifact)

    def write_more(plan: Plan, report: Report, stage: Path) -> None:
        check_budget(report.totals, budget)
        write_bindings(plan.program, plan.machine, languages, stage, linked=plan.linked)
        if not ecosystems:
            return
        sample = encode_sample(plan.program, *_known_sample(source, file))
        builds = []
        if any(ecosystem.every_abi for ecosystem in ecosystems):
            others = find_machines(target, ALL_ABIS) if abi is None else []
            more = [plan_for(machine) for machine in others if machine.abi != plan.machine.abi]
            builds = [build_for_abi(plan, stage if Emit.LIBRARY in kinds else None), *map(build_for_abi, more)]
        write_packages(PackagedModel(plan.program, plan.machine, report, sample, stage, known, builds), ecosystems)

    try:
        with allowed(jobs):
            plans = map(plan_for, machines)
            return Result(out, write_artifacts(plans, kinds, out, subfolders=abi == ALL_ABIS, more=write_more))
    except CcmlError as problem:
        if problem.kind is not ErrorCode.BUDGET or not budget.has_limits:
            raise
        blocks = {} if known is None else known.pools
        case = Case(source, machines[0], kinds, goal, budget, blocks, dispatches(machines[0]), artifact)
        raise with_ways_out(problem, case) from problem


def link(
    models: Sequence[PathLike | tuple[PathLike, ModelOptions]],
    target: str,
    folder: PathLike | None = None,
    *,
    name: str | None = None,
    abi: str | None = None,
    cpu: str | None = None,
    emit: Iterable[str | Emit] = DEFAULT_EMIT,
    goal: Goal = DEFAULT_GOAL,
    slices: bool = False,
    external_weights: bool = False,
    packages: Iterable[str] = (),
    bindings: Iterable[str] = (),
    jobs: int = 1,
) -> Library:
    """Compiles several ``models``, files or pairs of a file and its options, into one library ``name``, written into
    ``folder`` (default: ``NAME_TARGET``).

    Each model has its header, its functions and its report. Kernels, constants and the runtime that are equal are there
    once, and the header of the library tells how much working memory is enough for each, one at a time. ``bindings``
    are languages, as for :func:`compile`: each model has bindings of its own, which load the same library. With
    ``external_weights`` each takes its weights from a file of its own, ``MODEL.weights``. ``packages`` are as for
    :func:`compile`, one for all models, with an application that runs a random sample of each. ``target``, ``abi``,
    ``cpu`` and ``jobs`` are as for :func:`compile`: by default machine code is for every CPU of the ABI, where an
    operating system loads it. Raises ``BAD_OPTION`` for fewer than two models, or names that clash.

    >>> ccml.link(["kws.onnx", "ad.onnx"], "cortex-m4", "both", name="both").totals.flash_bytes
    """
    pairs = [model if isinstance(model, tuple) else (model, DEFAULT_OPTIONS) for model in models]
    if len(pairs) < 2:
        raise CcmlError(ErrorCode.BAD_OPTION, "one model needs no linking", hint="give two or more, or: ccml compile")
    check_goal(goal)
    machine = find_machine(target, abi, None if cpu == ALL_CPUS else cpu)
    kinds = [Emit(kind) for kind in emit]
    every_cpu = cpu == ALL_CPUS or (cpu is None and dispatches_by_default(machine, kinds, DEFAULT_ARTIFACT))
    ecosystems = find_ecosystems(packages, [machine])
    check_linked(ecosystems)
    languages = check_bindings(bindings, [machine], libraries=Emit.LIBRARY in kinds)
    rows = [name for _, options in pairs for name in options.rows]
    check_by_rows(rows, [machine], goal, ArtifactOptions(slices=slices), languages, [])
    names = [model_name(Path(path), options.name) for path, options in pairs]
    whole = model_name(Path(name or "_".join(names)), None)
    out = Path(folder) if folder is not None else Path(f"{whole}_{machine.name}")
    check_output_folder(out, "-o")
    sources = [read(path, options) for path, options in pairs]
    compiled = [lower(source, run_passes(source, None, machine), machine, goal, shared=False) for source in sources]

    def write_more(found: LinkedModels, reports: Sequence[Report], totals: LibraryTotals, stage: Path) -> None:
        if ecosystems:
            samples = [encode_sample(each, *_known_sample(source, None)) for each, source in zip(found.models, sources)]
            models = list(zip(found.models, reports, samples, strict=True))
            write_sources = partial(write_library_sources, found, machine)
            library = PackagedModels(found.whole, models, machine, totals, stage, write_sources)
            write_linked_packages(library, ecosystems)

    with allowed(jobs):
        linked = link_models(
            whole, compiled, slices=slices, external_weights=external_weights, every_cpu=every_cpu
        )  # fmt: skip
        return write_library(linked, compiled, kinds, out, languages, write_more)


def _known_sample(source: Source, file: PathLike | None) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """The first sample of ``file``, or a seeded random one, and the outputs that this machine finds for it."""
    native = host_machine()
    compiled = compile_source(source, native)
    inputs = next(iter(compiled.samples(file)))
    return inputs, JitModel(compiled.program, native).run(inputs)


def load(
    path: PathLike, options: ModelOptions = DEFAULT_OPTIONS, quantization: Quantization | None = None
) -> LoadedModel:
    """Compiles the ONNX model ``path`` for this machine and loads it; with ``quantization`` it is quantized first.

    >>> model = ccml.load("kws.onnx", ccml.ModelOptions(dims={"batch": 1}))
    >>> model.run(features)["scores"]
    """
    source, _ = _read(path, options, quantization)
    return LoadedModel(compile_source(source, host_machine()))


def _read(
    path: PathLike, options: ModelOptions, quantization: Quantization | None, device: Device | None = None
) -> tuple[Source, Accuracy | None]:
    source = read(path, options)
    if quantization is None:
        return source, None
    result = quantize_source(source, quantization, device)
    return result.source, result.accuracy


def verify(
    path: PathLike,
    options: ModelOptions = DEFAULT_OPTIONS,
    file: PathLike | None = None,
    *,
    samples: int = 4,
    tolerance: float | None = None,
    backend: str | None = None,
    compiler: str | None = None,
    target: str | None = None,
    abi: str | None = None,
    cpu: str | None = None,
    quantization: Quantization | None = None,
    goal: Goal = DEFAULT_GOAL,
) -> Verification:
    """Compares the compiled model with the ONNX reference on samples of ``file``, or on random ones.

    ``tolerance`` is the largest relative L2 error, by default what suits the precision of ``options`` and recurrent
    layers in integers. ``backend`` is ``jit`` (the default), or ``c`` for the C sources by ``compiler``; ``samples``
    are compared at most. With a ``target`` the model is compiled for that, run under emulation and compared with this
    machine's results as well; ``backend`` is then ``llvm`` for LLVM's objects (the default) or ``c`` for the C sources.
    A difference is in the result, not raised: ``require`` of the result raises it. With ``quantization`` the model
    is quantized first, and the reference is the quantized model. ``goal`` is that of the model for the ``target``.
    Where inputs and outputs are states, the samples are the steps of one sequence, in which each side goes on with
    its own states.
    """
    check_goal(goal)
    backends = ("jit", "c") if target is None else ("llvm", "c")
    if backend is not None and backend not in backends:
        where = "on this machine" if target is None else "for a target"
        raise CcmlError(ErrorCode.BAD_OPTION, f"the backend {backend} is none {where}", hint=" or ".join(backends))
    native = host_machine()
    machine = native if target is None else find_machine(target, abi, cpu)
    stages: list[tuple[str, Graph]] = []
    source, _ = _read(path, options, quantization)
    own_goal = DEFAULT_GOAL if target is None else goal
    compiled = compile_source(source, machine, lambda name, graph: stages.append((name, graph)), own_goal)
    host = None if target is None else compile_source(source, native)
    chosen = compiled.samples(file, samples).first(samples)
    tolerance = default_tolerance(compiled) if tolerance is None else tolerance
    backend = backend or backends[0]
    return compare(compiled, stages, chosen, tolerance=tolerance, backend=backend, compiler=compiler, host=host)


def verify_log(
    path: PathLike,
    log_file: PathLike,
    target: str,
    options: ModelOptions = DEFAULT_OPTIONS,
    file: PathLike | None = None,
    *,
    tolerance: float | None = None,
    abi: str | None = None,
    cpu: str | None = None,
    quantization: Quantization | None = None,
    goal: Goal = DEFAULT_GOAL,
) -> BoardCheck:
    """Compares what the application of a package printed on a board, saved as ``log_file``, with this machine's results
    and with the predicted cycles of each layer.

    ``target``, ``options``, ``quantization`` and ``goal`` are those of the package's compilation, ``file`` is its
    sample. A difference is in the result, not raised: ``require`` of the result raises it. Raises ``BAD_INPUT`` where
    the log is damaged, or of another program or sample. The prediction is that of the C sources by GCC where it is
    installed, of LLVM's code otherwise.
    """
    check_goal(goal)
    machine = find_machine(target, abi, cpu)
    log_content = read_log(Path(log_file))
    source, _ = _read(path, options, quantization)
    compiled = compile_source(source, machine, goal=goal)
    inputs, outputs = _known_sample(source, file)
    costs = compiled.costs("c" if has_compiler(machine) else "llvm") if log_content.is_cycles else None
    tolerance = default_tolerance(compiled) if tolerance is None else tolerance
    return compare_log(compiled, inputs, outputs, log_content, costs, tolerance)


def profile(
    path: PathLike,
    target: str,
    options: ModelOptions = DEFAULT_OPTIONS,
    file: PathLike | None = None,
    *,
    abi: str | None = None,
    cpu: str | None = None,
    route: str = "llvm",
    quantization: Quantization | None = None,
    goal: Goal = DEFAULT_GOAL,
) -> Profile:
    """Runs the model once on an emulated Cortex-M board and counts executed instructions by layer.

    The input is the first sample of ``file``, or random. ``route`` is ``llvm`` for LLVM's objects or ``c`` for the C
    sources by GCC. Raises ``TOOLCHAIN`` where QEMU or a compiler is missing.
    """
    check_goal(goal)
    machine = find_machine(target, abi, cpu)
    if not has_cost_model(machine):
        raise CcmlError(ErrorCode.BAD_OPTION, f"profiles need a cost model, which {machine.name} has not")
    source, _ = _read(path, options, quantization)
    compiled = compile_source(source, machine, goal=goal)
    if compiled.program.custom_operators:
        names = ", ".join(compiled.program.custom_operators)
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"models with custom operators ({names}) cannot be profiled")
    if compiled.program.by_rows:
        raise not_by_rows(compiled.program.by_rows[0].name, "a counted run has its inputs in memory")
    built = (build_c if route == "c" else build_objects)(compiled.program, machine)
    sample = next(iter(compiled.samples(file)))
    log.info("running on the emulated board")
    measured = measure(compiled.program, machine, built, sample)
    costs = predict(compiled.program, machine, built, sample)
    return build_profile(compiled.program, machine, route, measured, costs)


def time_layers(
    path: PathLike,
    options: ModelOptions = DEFAULT_OPTIONS,
    file: PathLike | None = None,
    *,
    cpu: str | None = None,
    quantization: Quantization | None = None,
    goal: Goal = DEFAULT_GOAL,
) -> TimedProfile:
    """Runs the model on this machine for a second, and tells the time of each layer beside what the machine can do.

    The input is the first sample of ``file``, or random. ``cpu`` is one of this machine's levels, by default the
    highest. Raises ``UNKNOWN_TARGET`` where there is no such level, ``TOOLCHAIN`` where this machine lacks it.

    >>> slowest = max(ccml.time_layers("kws.onnx").layers, key=lambda layer: layer.microseconds)
    """
    check_goal(goal)
    native = host_machine()
    machine = native if cpu is None else find_machine(native.name, native.abi.name, cpu)
    missing = sorted(set(machine.cpu.requires) - host_features())
    if missing:
        reason = f"this machine's processor lacks {', '.join(missing)}, which {machine.cpu.name} has"
        raise CcmlError(ErrorCode.TOOLCHAIN, reason, hint="give another --cpu, or none")
    source, _ = _read(path, options, quantization)
    compiled = compile_source(source, machine, goal=goal)
    sample = next(iter(compiled.samples(file)))
    log.info("running on this machine")
    return build_timed_profile(compiled.program, machine, time_model(JitModel(compiled.program, machine), sample), roof)


def tune(
    path: PathLike,
    database: PathLike,
    target: str | None = None,
    options: ModelOptions = DEFAULT_OPTIONS,
    *,
    abi: str | None = None,
    cpu: str | None = None,
    seconds: float = TUNING_SECONDS,
    quantization: Quantization | None = None,
    executor: Executor | None = None,
    workers: int = 1,
    threads: int = 0,
) -> Tuning:
    """Searches for loops that are faster than those that the cost model chooses, for about so many ``seconds``.

    Each measurement is appended to ``database`` as it comes, and what that holds is not measured again; ``Goal(tuned=
    ccml.read_decisions(database))`` compiles by it. Without ``target`` code for this machine is timed, by default for
    the highest of its CPUs. Code for a Cortex-M is judged by its predicted cycles, other code that does not run here by
    a model of the core's ports. With ``threads`` it is sought as well into how many chunks the work of each layer is
    best split for so many.

    With ``executor`` measurements are made by whatever it stands for (processes, a cluster of boards), ``workers`` at a
    time. Its tasks are pickled; whoever runs them has ccml installed, and the processor that ``target`` names, for
    which they time code. The whole model is then not timed.

    >>> ccml.tune("kws.onnx", "tuning.jsonl").behind
    3.47e-05
    """
    here = host_machine()
    machine = here if target is None and cpu is None else find_machine(target or here.name, abi, cpu)
    source, _ = _read(path, options, quantization)
    return tune_source(source, machine, Path(database), seconds, executor, workers, threads)


def runs_here(target: str | None) -> bool:
    """Whether code for ``target`` is code for this machine; ``None`` is this machine."""
    return target is None or find_target(target) is host_machine().target


def read_reports(path: PathLike) -> list[Report]:
    """The reports of the ``report.json`` at ``path``, or in that folder: one, or all that it lists, of several models
    or ABIs. Raises ``BAD_INPUT`` for what is no report, is damaged, or is of another version of the format.

    >>> ccml.read_reports("kws")[0].totals.ram_bytes
    """
    return [report for _, report in read_report_files(Path(path))]


def read_firmware(path: PathLike) -> Firmware | None:
    """What the models together take that ``ccml link`` wrote into the folder ``path``, or whose ``report.json`` that
    is; ``None`` for other reports. Raises ``BAD_INPUT`` as :func:`read_reports` does."""
    return read_firmware_file(Path(path))


def write_page(
    reports: Sequence[Report], path: PathLike, clock: int | None = None, firmware: Firmware | None = None
) -> None:
    """Writes one HTML file about ``reports``, several of them side by side, which needs no network and no other file.
    With the ``firmware`` whose models they are, it begins with what all of it takes.

    ``clock`` is the frequency of the core in Hz, by which cycles become milliseconds; whoever reads the page may change
    it. Raises ``OUTPUT_FOLDER`` where the file cannot be written.

    >>> ccml.write_page([artifact.report for artifact in result.artifacts], "kws.html", clock=80_000_000)
    """
    from .report.page.render import render_page

    check_output_file(path, ".html")
    try:
        Path(path).write_text(render_page(reports, clock, firmware), encoding="utf-8", newline="\n")
    except OSError as problem:
        reason = f"cannot write: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(path)) from problem


def save_arrays(path: PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes an ``.npz``. Raises ``OUTPUT_FOLDER`` where it cannot be written."""
    try:
        with Path(path).open("wb") as stream:
            np.savez(stream, **plain_arrays(arrays))  # type: ignore[arg-type]
    except OSError as problem:
        reason = f"cannot write: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=str(path)) from problem
