"""Fuzzing as a script: singles, pairs, graphs of random operators, QDQ graphs, and networks of float layers of real
sizes, each against its reference.

    python -m tests.fuzz.run pairs --seed 1 --jobs 2 --out failures
    python -m tests.fuzz.run singles --count 20            # of each operator
    python -m tests.fuzz.run graphs --count 2000 --seed 7

Failing models are saved with their inputs and expected outputs. The exit code is 1 where a result was wrong or an
error internal.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import groupby, islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnx

from tests.fuzz.cases import Case, graph, pair, single, sized
from tests.fuzz.qdq import quantized
from tests.fuzz.routes import ROUTES
from tests.fuzz.run_cases import Outcome, Verdict, run_cases
from tests.fuzz.table import common_opset, operators

Task = tuple[str, str, str, int]
"""A kind of case, the operators it is made of (or none), and its seed."""

_BATCH = {"singles": 30, "pairs": 40, "graphs": 6, "qdq": 4, "networks": 1}
KINDS = tuple(_BATCH)
_CHUNK = 8
"""Batches for each call of a worker."""


@dataclass(frozen=True)
class Failure:
    """What is kept of an outcome that is not ok."""

    name: str
    verdict: Verdict
    what: str


def make(task: Task, prefix: str) -> Case | None:
    kind, first, second, seed = task
    if kind == "singles":
        return single(first, seed, prefix)
    if kind == "pairs":
        return pair(first, second, seed, prefix)
    if kind == "networks":
        return sized(seed)
    return graph(seed, prefix) if kind == "graphs" else quantized(seed, prefix)


def tasks(kind: str, seed: int, count: int, only: Sequence[str] = ()) -> Iterator[Task]:
    """The tasks of a run, those of one operator set together as far as that is known beforehand."""
    names = [name for name in operators() if not only or name in only]
    if kind == "singles":
        yield from ((kind, name, "", seed + number) for name in names for number in range(count))
    elif kind == "pairs":
        every = [(a, b) for a in operators() for b in operators() if not only or a in names or b in names]
        np.random.default_rng(seed).shuffle(every)
        every.sort(key=lambda two: common_opset(*two))
        yield from ((kind, a, b, seed + number) for number in range(count) for a, b in every)
    else:
        yield from ((kind, "", "", seed + number) for number in range(count))


def work(chunk: Sequence[Task], out: Path | None, route: str = "jit") -> tuple[Counter[str], list[Failure]]:
    """Makes and runs the cases of a chunk, in batches; failing ones are saved to ``out``."""
    counts: Counter[str] = Counter()
    failures = []
    cases = []
    for number, task in enumerate(chunk):
        case = make(task, f"p{number}_")
        if case is None:
            counts["none"] += 1
            failures.append(Failure(" > ".join(filter(None, task[1:3])), Verdict.NONE, "no reference computes it"))
        else:
            cases.append(case)
    cases.sort(key=lambda case: case.opset)
    for _, same in groupby(cases, lambda case: case.opset):
        for batch in _batched(same, _BATCH[chunk[0][0]]):
            for outcome in run_cases(batch, route):
                counts[outcome.verdict.value] += 1
                if outcome.verdict is not Verdict.OK:
                    failures.append(Failure(outcome.case.name, outcome.verdict, outcome.what))
                    if out is not None:
                        save(outcome, out)
    return counts, failures


def save(outcome: Outcome, out: Path) -> None:
    """The model as ``.onnx``, and its inputs (``in:``) and expected outputs (``out:``) as ``.npz``."""
    parts, folder = outcome.case.parts, out / outcome.verdict.value
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / re.sub(r"[^A-Za-z0-9.#@]+", "_", outcome.case.name)[:120]
    onnx.save(parts.model(outcome.case.opset), f"{stem}.onnx")
    arrays = {f"in:{name}": array for name, array in parts.inputs.items()}
    np.savez(f"{stem}.npz", **arrays, **{f"out:{name}": array for name, array in parts.outputs.items()})
    Path(f"{stem}.txt").write_text(f"{outcome.case.name}\n{outcome.what}\n", encoding="utf-8")


def run(
    kind: str, todo: Iterable[Task], jobs: int, out: Path | None, route: str, report: Callable[[str], None]
) -> tuple[Counter[str], list[Failure]]:
    """All tasks, in ``jobs`` processes. A process that dies is a failure of all that it had at hand."""
    counts: Counter[str] = Counter()
    failures: list[Failure] = []
    waiting = list(_batched(todo, _CHUNK * _BATCH[kind]))
    done, start = 0, time.monotonic()
    while done < len(waiting):
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = [(chunk, pool.submit(work, chunk, out, route)) for chunk in waiting[done:]]
            for chunk, future in running:
                try:
                    found, failed = future.result()
                except BrokenProcessPool:
                    found, failed = _alone(chunk, out, route)
                counts += found
                failures += failed
                done += 1
                report(f"{done}/{len(waiting)} {time.monotonic() - start:.0f} s {dict(counts)}")
                if "crash" in found:
                    break
    return counts, failures


def _alone(chunk: Sequence[Task], out: Path | None, route: str) -> tuple[Counter[str], list[Failure]]:
    """A chunk in a process of its own, and where that dies, its halves."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            found, failed = pool.submit(work, chunk, out, route).result()
            return found + Counter(crash=0), failed
        except BrokenProcessPool:
            pass
    if len(chunk) == 1:
        name = " > ".join(filter(None, chunk[0][1:3])) or chunk[0][0]
        return Counter(crash=1, internal=1), [Failure(f"{name}#{chunk[0][3]}", Verdict.INTERNAL, "the process died")]
    half = len(chunk) // 2
    lower, upper = _alone(chunk[:half], out, route), _alone(chunk[half:], out, route)
    return lower[0] + upper[0] + Counter(crash=1), lower[1] + upper[1]


def summary(counts: Counter[str], failures: Sequence[Failure]) -> str:
    """A table of verdicts, then failures by cause."""
    lines = [f"{name:10} {count}" for name, count in sorted(counts.items())]
    groups: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in failures:
        groups[failure.verdict.value, _cause(failure)].append(failure)
    for (verdict, cause), members in sorted(groups.items()):
        names = ", ".join(sorted({member.name for member in members})[:6])
        lines.append(f"{verdict} x{len(members)}: {cause}\n    {names}\n    {members[0].what[:300]}")
    return "\n".join(lines)


def _cause(failure: Failure) -> str:
    """The message without numbers and places; of a difference the operators."""
    if failure.verdict in (Verdict.WRONG, Verdict.DISPUTED, Verdict.NONE):
        return re.sub(r"[#@].*", "", failure.name.split(" > ")[-1])
    text = re.sub(r"p\d+_\w+(/\w+)*:?", "", failure.what)
    return re.sub(r"[\d.]+", "#", text)[:110].replace("\n", " ")


def _batched(items: Iterable[object], size: int) -> Iterator[list]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="of each operator or pair, or graphs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, help="only so many cases; pairs are in random order")
    parser.add_argument("--route", choices=list(ROUTES), default="jit")
    parser.add_argument("--only", nargs="*", default=[], help="operators")
    parser.add_argument("--out", type=Path, help="folder for the models that fail")
    options = parser.parse_args()
    todo = islice(tasks(options.kind, options.seed, options.count, options.only), options.limit)
    counts, failures = run(
        options.kind, todo, options.jobs, options.out, options.route, lambda text: print(text, file=sys.stderr)
    )
    print(summary(counts, failures))
    return int(bool(counts["wrong"] or counts["internal"]))


if __name__ == "__main__":
    sys.exit(main())
