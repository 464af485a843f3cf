"""A model's kernels tuned: the search, what it found kept in a file, and a look at the whole model."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import llvmlite.binding as llvm

from .. import __version__
from ..costs.predict import has_cost_model
from ..driver import Compiled, Goal, Source, lower, run_passes
from ..errors import CcmlError, ErrorCode
from ..program.describe import describe
from ..record import record
from ..schedule.decision import Decision, machine_key, threaded_key
from ..targets import Machine
from .database import Meter, Record, append_records, best_decisions, ratios, read_records
from .measure import meter_for
from .pair import Pair
from .search import Found, Search, layers_of
from .single import Single, singles

log = logging.getLogger(__name__)

SECONDS = 60.0
"""How long a search takes by default."""
_CHECK = 0.1
"""The share of the time that goes to each look at the whole model."""
_CHUNKS = (1, 2, 8, 16)
"""Numbers of chunks for each thread that are tried."""
_SPLIT = "split"
_SHORTEST = 1.0
"""Seconds that each of its two measurements takes at least."""


@record
class TunedKernel:
    """A kernel by its layers: how many decisions were measured, by this search and before, what the cost model's choice
    takes in a call, and the best decision, if one is better, with its ratio to that."""

    layers: tuple[str, ...]
    about: str
    measurements: int
    reference: float
    best: str | None
    ratio: float


@dataclass(frozen=True)
class Tuning:
    """What a search found. Times are in seconds, else cycles; ``before`` and ``behind`` are a run of the whole model as
    the cost model has it and with the best decisions, ``None`` where code was not timed."""

    target: str
    abi: str
    cpu: str
    meter: str
    seconds: float
    measurements: int
    kernels: list[TunedKernel]
    before: float | None
    behind: float | None


def tune_source(
    source: Source, machine: Machine, database: Path, seconds: float = SECONDS,
    executor: Executor | None = None, workers: int = 1, threads: int = 0,
) -> Tuning:
    """Searches for ``seconds``; what is measured is appended to ``database`` at once, and what it holds counts as
    measured. By ``executor`` code is timed that need not run here, unless its cycles can be predicted. With ``threads``
    it is sought as well how the work of layers is best split for so many.

    Raises ``BAD_OPTION`` where nothing about the model can be decided.
    """
    meter = Meter.TIME if executor is not None and not has_cost_model(machine) else meter_for(machine)
    return _Tuner(source, machine, database, meter, Goal(threads=threads)).run(seconds, executor, workers)


class _Tuner:
    def __init__(self, source: Source, machine: Machine, database: Path, meter: Meter, goal: Goal) -> None:
        self.source, self.machine, self.database, self.version = source, machine, database, __version__
        self.meter, self.goal = meter, goal
        self.records = read_records(database) if database.exists() else []
        self.optimized = run_passes(source, machine=machine)
        self.plain = lower(source, self.optimized, machine, goal)
        self.singles = singles(self.optimized, machine)
        self.layers = layers_of(self.singles, machine)

    def run(self, seconds: float, executor: Executor | None, workers: int) -> Tuning:
        if not self.layers:
            reason = "no layer of the model has loops that can be tuned"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="contractions, convolutions and recurrences have")
        began, before = time.monotonic(), len(self.records)
        self._remember()
        cold = sum(array.nbytes for array in self.plain.program.constants.values())
        looks = _CHECK * (2 + len(_CHUNKS) * bool(self.goal.threads)) if self.meter is Meter.TIME else 0
        end = seconds * (1 - looks)
        search = Search(self.layers, self.machine, self.meter, end, cold, executor, workers)
        for found in search.run():
            self._keep([self._record(found)])
        times = self._look(max(_SHORTEST, seconds * _CHECK)) if self.meter is Meter.TIME and executor is None else None
        abi, cpu = self.machine.abi.name, self.machine.cpu.name
        return Tuning(
            self.machine.name, abi, cpu, self.meter.value, time.monotonic() - began, len(self.records) - before,
            self._kernels(), *(times or (None, None)),
        )  # fmt: skip

    def _remember(self) -> None:
        """What the file holds is known."""
        current = [r for r in self.records if r.version == self.version and r.meter is self.meter]
        known = ratios(current)
        for layer in self.layers:
            layer.measured = dict(known.get(layer.single.key, {}))
            layer.open = [each for each in layer.open if each.decision not in layer.measured]
            layer.reference = next((r.reference for r in current if r.kernel == layer.single.key), 0.0)

    def _record(self, found: Found) -> Record:
        single = found.layer.single
        return Record(
            single.key, machine_key(self.machine), self.version, describe(single.node), found.decision, self.meter,
            found.value, found.reference, found.processor,
        )  # fmt: skip

    def _keep(self, records: Sequence[Record]) -> None:
        append_records(self.database, records)
        self.records += records

    def _kernels(self) -> list[TunedKernel]:
        best = best_decisions(self.records, self.version)
        known = ratios([r for r in self.records if r.version == self.version and r.meter is self.meter])
        rows = []
        for layer in self.layers:
            key = layer.single.key
            decision, tried = best.get(key), known.get(key, {})
            ratio = 1.0 if decision is None else tried[decision]
            words = [str(best[each]) for each in self._keys(layer.single) if each in best]
            text, about = ", ".join(words) or None, describe(layer.single.node)
            rows.append(TunedKernel(layer.single.layers, about, len(tried), layer.reference, text, ratio))
        return sorted(rows, key=lambda row: -row.reference * len(row.layers))

    # ---- the whole model

    def _look(self, seconds: float) -> tuple[float, float]:
        """The least seconds of a run of the whole model as the cost model has it, and tuned: decisions that do not save
        time there are put down as such, and what is left is timed again; all of it, where it does not."""
        log.info("timing the whole model")
        if self.goal.threads:
            self._split(seconds)
        decided = self._decided()
        if decided:
            pair = Pair(self.plain, self._lowered(decided))
            self._keep(self._in_model(pair.by_layer(seconds), decided))
        decided = self._decided()
        before, behind = Pair(self.plain, self._lowered(decided)).whole(seconds)
        if behind > before:
            both = {name: (before, behind) for single in self.singles for name in single.layers}
            self._keep(self._in_model(both, decided))
            behind = before
        return before, behind

    def _split(self, seconds: float) -> None:
        """Measures all kernels in other numbers of chunks, each for ``seconds``."""
        decided = self._decided()
        plain = self._lowered({key: each for key, each in decided.items() if each.chunks is None})
        for chunks in _CHUNKS:
            split = {key: Decision(_SPLIT, chunks=chunks) for single in self.singles for key in self._keys(single)[1:]}
            pair = Pair(plain, self._lowered({**decided, **split}))
            self._keep(self._in_model(pair.by_layer(seconds), split))

    def _keys(self, single: Single) -> list[str]:
        """Those of the decisions about a kernel: about its loops, and about how they are split."""
        return [single.key, *([threaded_key(single.key, self.goal.threads)] if self.goal.threads else [])]

    def _decided(self) -> dict[str, Decision]:
        """The best decisions about this model's kernels."""
        tuned = best_decisions(self.records, self.version)
        return {key: tuned[key] for single in self.singles for key in self._keys(single) if key in tuned}

    def _in_model(
        self, times: Mapping[str, tuple[float, float]], decided: Mapping[str, Decision]
    ) -> list[Record]:
        """What decided kernels took in the runs of the model, from the ``times`` of its layers by their names."""
        records = []
        for single in self.singles:
            both = [times[name] for name in single.layers if name in times]
            keys = [key for key in self._keys(single) if key in decided] if both else []
            for key in keys:
                before, behind = (sum(side) for side in zip(*both))
                records.append(Record(
                    key, machine_key(self.machine), self.version, describe(single.node), decided[key], self.meter,
                    behind, before, llvm.get_host_cpu_name(), in_model=True,
                ))  # fmt: skip
        return records

    def _lowered(self, decided: Mapping[str, Decision]) -> Compiled:
        return lower(self.source, self.optimized, self.machine, replace(self.goal, tuned=dict(decided)))
