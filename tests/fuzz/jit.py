"""Cases compiled and run, many in one model; what fails is looked for by halves."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from unittest import mock

import numpy as np
from ccml.artifact.emit import Emit
from ccml.driver import DEFAULT_GOAL, Compiled, Goal, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emulation import Build
from ccml.errors import CcmlError
from ccml.program import chunking
from ccml.targets import Machine, select
from ccml.verification.emulated_model import EmulatedModel

from tests.artifacts.built import SANITIZED, run_artifact
from tests.fuzz.build import Parts
from tests.fuzz.cases import Case
from tests.fuzz.compare import mismatch


class Verdict(Enum):
    OK = "ok"
    WRONG = "wrong"
    INTERNAL = "internal"
    REFUSED = "refused"
    DISPUTED = "disputed"
    NONE = "none"


@dataclass(frozen=True)
class Outcome:
    case: Case
    verdict: Verdict
    what: str = ""


_INTERNAL = ("E3",)
_FILE = "fuzz.onnx"


def run_cases(cases: Sequence[Case], route: str = "jit") -> list[Outcome]:
    """The outcome of each case. All of ``cases`` are of one operator set. ``route`` is one of :data:`ROUTES`."""
    refused = [] if len(cases) == 1 else [outcome for outcome in map(_refused, cases) if outcome is not None]
    if refused:
        bad = {id(outcome.case) for outcome in refused}
        return refused + run_cases([case for case in cases if id(case) not in bad], route)
    if not cases:
        return []
    together = Parts()
    for case in cases:
        together.add(case.parts)
    try:
        found = computed(together, cases[0].opset, route)
    except Exception as problem:  # anything that the compiler lets through is what we are looking for
        if len(cases) == 1:
            return [_failure(cases[0], problem)]
        half = len(cases) // 2
        return run_cases(cases[:half], route) + run_cases(cases[half:], route)
    outcomes = []
    for case in cases:
        different = mismatch(case.parts, found)
        verdict = Verdict.OK if different is None else Verdict(different[0])
        outcomes.append(Outcome(case, verdict, "" if different is None else different[1]))
    return outcomes


def computed(parts: Parts, opset: int, route: str = "jit") -> dict[str, np.ndarray]:
    """The model's outputs by ccml."""
    machine, run = ROUTES[route]
    split = mock.patch.multiple(chunking, SMALLEST_PHASE=1, SMALLEST_CHUNK=1)
    goal = Goal(threads=3) if run is _backwards else DEFAULT_GOAL
    with np.errstate(all="ignore"), split:
        compiled = compile_source(import_source(_FILE, parts.model(opset)), machine(), goal=goal)
    return run(compiled, parts.inputs)


def _in_process(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    return JitModel(compiled.program, compiled.machine).run(inputs)


def _by_llvm(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    return EmulatedModel(compiled, "llvm").run(inputs)


def _by_gcc(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    return EmulatedModel(compiled, "c").run(inputs)


def _sanitized(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as name:
        return run_artifact(compiled.program, compiled.machine, Emit.C, Path(name), [inputs], SANITIZED)[0]


def _backwards(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    """All layers in chunks, the last of which runs first."""
    with tempfile.TemporaryDirectory() as name:
        how = Build(flags=("-DMODEL_THREADS=-1",))
        return run_artifact(compiled.program, compiled.machine, Emit.OBJECT, Path(name), [inputs], how)[0]


Arrays = Mapping[str, np.ndarray]

ROUTES: Mapping[str, tuple[Callable[[], Machine], Callable[[Compiled, Arrays], dict[str, np.ndarray]]]] = {
    "jit": (host_machine, _in_process),
    "sanitizers": (lambda: select("generic"), _sanitized),
    "chunks": (host_machine, _backwards),
    "m0+": (lambda: select("cortex-m0plus"), _by_gcc),
    "m4": (lambda: select("cortex-m4"), _by_llvm),
    "m55": (lambda: select("cortex-m55"), _by_llvm),
    "arm64": (lambda: select("linux-arm64"), _by_gcc),
}
"""Machines, and the ways to run code for them here: objects of LLVM, or C by GCC."""


def _refused(case: Case) -> Outcome | None:
    """The outcome where not even the import succeeds, which is soon known."""
    try:
        with np.errstate(all="ignore"):
            import_source(_FILE, case.parts.model(case.opset))
    except Exception as problem:
        return _failure(case, problem)
    return None


def _failure(case: Case, problem: Exception) -> Outcome:
    if isinstance(problem, CcmlError) and not problem.kind.code.startswith(_INTERNAL):
        return Outcome(case, Verdict.REFUSED, str(problem))
    last = traceback.extract_tb(problem.__traceback__)[-1]
    where = f"{'/'.join(last.filename.split('/')[-2:])}:{last.lineno}"
    return Outcome(case, Verdict.INTERNAL, f"{type(problem).__name__} at {where}: {problem}")
