"""Cases compiled and run, many in one model; what fails is looked for by halves."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from unittest import mock

import numpy as np
from ccml.driver import compile_source, import_source
from ccml.errors import CcmlError
from ccml.program import chunking

from tests.fuzz.build import Parts
from tests.fuzz.cases import Case
from tests.fuzz.compare import mismatch
from tests.fuzz.routes import ROUTES


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
    """The outcome of each case. All of ``cases`` are of one operator set. ``route`` is one of
    :data:`tests.fuzz.routes.ROUTES`."""
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
            return [failure(cases[0], problem)]
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
    way = ROUTES[route]
    split = mock.patch.multiple(chunking, SMALLEST_PHASE=1, SMALLEST_CHUNK=1)
    with np.errstate(all="ignore"), split:
        compiled = compile_source(import_source(_FILE, parts.model(opset)), way.machine(), goal=way.goal)
    return way.run(compiled, parts.inputs)


def _refused(case: Case) -> Outcome | None:
    """The outcome where not even the import succeeds, which is soon known."""
    try:
        with np.errstate(all="ignore"):
            import_source(_FILE, case.parts.model(case.opset))
    except Exception as problem:
        return failure(case, problem)
    return None


def failure(case: Case, problem: Exception) -> Outcome:
    """What becomes of a case of which the compiler makes nothing, or what does not run."""
    if isinstance(problem, CcmlError) and not problem.kind.code.startswith(_INTERNAL):
        return Outcome(case, Verdict.REFUSED, str(problem))
    last = traceback.extract_tb(problem.__traceback__)[-1]
    where = f"{'/'.join(last.filename.split('/')[-2:])}:{last.lineno}"
    return Outcome(case, Verdict.INTERNAL, f"{type(problem).__name__} at {where}: {problem}")
