"""Fuzzing of the levels of x86 with AVX-512 on a machine without it: each case against its reference, in Bochs.

    python -m tests.fuzz.avx512 qdq --seed 1 --count 40 --kernel /boot/vmlinuz
    python -m tests.fuzz.avx512 singles --limit 200 --cpu x86-64-v4-vnni --kernel vmlinuz

``tests/bochs/machine.py`` says what that takes. Cases are compiled first, then all run in one guest. The exit code is 1
where a result was wrong or an error internal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from ccml.artifact.emit import Emit, emit
from ccml.driver import compile_source, import_source
from ccml.emulation.driver import read_outputs, write_inputs
from ccml.emulation.run import DEFAULT_BUILD, build_driver
from ccml.ir.program import Program
from ccml.targets import select

from tests.bochs.machine import DRIVER, Ended, run_drivers
from tests.fuzz.cases import Case
from tests.fuzz.compare import mismatch
from tests.fuzz.run import KINDS, Failure, make, summary, tasks
from tests.fuzz.run_cases import Verdict, failure

CPUS = ("x86-64-v4", "x86-64-v4-vnni")


@dataclass(frozen=True)
class Built:
    """A case as a program, with its driver and inputs in a folder."""

    case: Case
    program: Program
    folder: Path


def build(case: Case, cpu: str, folder: Path) -> Built:
    """The driver of a case in ``folder``, compiled for ``cpu``."""
    machine = select("x86", cpu=cpu)
    with np.errstate(all="ignore"):
        program = compile_source(import_source("fuzz.onnx", case.parts.model(case.opset)), machine).program
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        artifact = Path(name)
        emit(program, machine, (Emit.OBJECT,), artifact)
        objects = sorted(artifact.glob("*.o"))
        folder.mkdir()
        write_inputs(program, [case.parts.inputs], folder)
        build_driver(program, machine, objects, artifact, DEFAULT_BUILD, folder).rename(folder / DRIVER)
    return Built(case, program, folder)


def built(cases: Sequence[Case], cpus: Sequence[str], folder: Path, failures: list[Failure]) -> Iterator[Built]:
    """All cases for all ``cpus`` that compile; the others are added to ``failures``."""
    for number, case in enumerate(cases):
        for cpu in cpus:
            try:
                yield build(case, cpu, folder / f"{number}-{cpu}")
            except Exception as problem:  # anything that the compiler lets through is what we are looking for
                outcome = failure(case, problem)
                failures.append(Failure(f"{case.name} for {cpu}", outcome.verdict, outcome.what))


def judge(one: Built, end: Ended) -> Failure | None:
    """What is wrong with the results of a driver, which are in its folder."""
    if end.status:
        said = end.files.get("errors.txt", b"").decode(errors="replace")
        return Failure(one.folder.name, Verdict.WRONG, f"status {end.status}: {said}")
    different = mismatch(one.case.parts, read_outputs(one.program, 1, one.folder)[0])
    if different is None:
        return None
    return Failure(f"{one.case.name} in {one.folder.name}", Verdict(different[0]), different[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="of each operator or pair, or graphs")
    parser.add_argument("--limit", type=int, help="only so many cases")
    parser.add_argument("--cpu", choices=CPUS, action="append", help="default: both")
    parser.add_argument("--kernel", type=Path, required=True, help="of Linux, for x86-64")
    options = parser.parse_args()
    todo = islice(tasks(options.kind, options.seed, options.count), options.limit)
    cases = [case for task in todo if (case := make(task, "p_")) is not None]
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        ready = list(built(cases, options.cpu or CPUS, Path(name), failures))
        ends = run_drivers({one.folder.name: one.folder for one in ready}, options.kernel)
        failures += [found for one in ready if (found := judge(one, ends[one.folder.name])) is not None]
    counts = Counter(each.verdict.value for each in failures)
    counts["ok"] = len(ready) - sum(each.verdict in (Verdict.WRONG, Verdict.DISPUTED) for each in failures)
    print(summary(counts, failures))
    return int(bool(counts["wrong"] or counts["internal"]))


if __name__ == "__main__":
    sys.exit(main())
