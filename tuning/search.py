"""The search: which decision about which kernel is measured next, and when to stop.

A round takes the kernel of which most time may be saved, measures a few candidates against the cost model's choice, and
lets a regression over all measurements so far say which ones come next (after T. Chen et al.: Learning to Optimize
Tensor Programs, 2018, with a linear model in place of trees, for there are hundreds of measurements, not thousands).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ..errors import CcmlError
from ..ir.program import Program
from ..record import record
from ..schedule.decision import Decision
from ..targets import Machine
from .database import WORTH, Meter
from .measure import Measured, Place, Task, measure
from .regression import Regression
from .single import Single, kernel_of
from .space import Candidate, candidates, neighbours

log = logging.getLogger(__name__)

BATCH = 3
"""Candidates that are measured together, beside the cost model's choice."""
_HOPE = 0.02
"""The share of its time that a kernel must be expected to save for a further round."""
_IDLE = 3
"""Rounds without a better decision after which a kernel is left alone."""
_SEED = 0

_T = TypeVar("_T")


@dataclass
class Layer:
    """What is known of a kernel: what may be decided (``known``, the first with the least estimate), what of it is
    ``open``, what was measured, in proportion to the cost model's choice, and what that took (``reference``, the last
    time)."""

    single: Single
    known: dict[Decision, Candidate]
    open: list[Candidate]
    measured: dict[Decision, float] = field(default_factory=dict)
    reference: float = 0.0
    idle: int = 0
    refined: bool = False

    @property
    def start(self) -> Candidate:
        """What features are compared with."""
        return next(iter(self.known.values()))

    @property
    def best(self) -> tuple[Decision | None, float]:
        """The best decision, ``None`` where it is the cost model's choice, and its ratio."""
        decision, ratio = min(self.measured.items(), key=lambda item: item[1], default=(None, 1.0))
        return (decision, ratio) if ratio < WORTH else (None, 1.0)

    @property
    def total(self) -> float:
        """What all its layers take in a run, as far as is known."""
        return self.reference * self.best[1] * len(self.single.layers)


@record
class Found:
    """A measurement: the decision about a layer's kernel, what it and the cost model's choice took, and where."""

    layer: Layer
    decision: Decision
    value: float
    reference: float
    processor: str


def layers_of(found: Sequence[Single], machine: Machine) -> list[Layer]:
    """Those about which anything can be decided."""
    layers = []
    for single in found:
        possible = candidates(single.context(machine))
        if len(possible) > 1:
            layers.append(Layer(single, {each.decision: each for each in possible}, possible))
    return layers


class Search:
    """One search over the ``layers`` of a model, for ``seconds``; tasks go to ``executor``, ``workers`` at a time, or
    are run here. ``cold`` are the bytes of weights that a run of the model reads."""

    def __init__(
        self, layers: Sequence[Layer], machine: Machine, meter: Meter, seconds: float, cold: int,
        executor: Executor | None = None, workers: int = 1,
    ) -> None:  # fmt: skip
        self.layers, self.machine, self.meter, self.cold = layers, machine, meter, cold
        self.executor, self.workers = executor or _Here(), workers
        self.regression = Regression()
        self.random = np.random.default_rng(_SEED)
        self.began, self.seconds = time.monotonic(), seconds
        self.chosen: dict[str, Program] = {}
        self.running: dict[Future[Measured], tuple[Layer, list[Candidate]]] = {}

    def run(self) -> Iterator[Found]:
        """All measurements as they come."""
        while True:
            self._fill()
            if not self.running:
                return
            done, _ = wait(self.running, return_when=FIRST_COMPLETED)
            for future in done:
                layer, batch = self.running.pop(future)
                yield from self._learn(layer, batch, future.result())

    @property
    def share(self) -> float:
        """How much of the time is over."""
        return min(1.0, (time.monotonic() - self.began) / max(self.seconds, 1e-9))

    def _fill(self) -> None:
        while len(self.running) < self.workers and self.share < 1:
            busy = [layer for layer, _ in self.running.values()]
            waiting = [layer for layer in self.layers if layer not in busy and layer.open and layer.idle < _IDLE]
            if not waiting:
                return
            unknown = [layer for layer in waiting if not layer.measured]
            layer = unknown[0] if unknown else max(waiting, key=lambda each: each.total / (1 + each.idle))
            batch = self._next(layer)
            if batch:
                self._start(layer, batch)

    def _next(self, layer: Layer) -> list[Candidate]:
        """The most promising candidates, and one at random; none where there is nothing to hope for."""
        expected = self.regression.predict([each.features for each in layer.open], layer.start.features)
        order = np.argsort(expected, kind="stable")
        if layer.measured and expected[order[0]] > layer.best[1] * (1 - _HOPE):
            layer.idle += 1
        chosen = [int(number) for number in order[: BATCH - 1]]
        rest = [int(number) for number in order[BATCH - 1 :]]
        chosen += [int(self.random.choice(rest))] if rest else []
        batch = [layer.open[number] for number in chosen]
        layer.open = [each for number, each in enumerate(layer.open) if number not in chosen]
        return batch

    def _start(self, layer: Layer, batch: list[Candidate]) -> None:
        log.info("measuring %s", layer.single.layers[0], extra={"share": self.share})
        task, kept = self._task(layer, batch)
        self.running[self.executor.submit(measure, task)] = (layer, kept)

    def _task(self, layer: Layer, batch: Sequence[Candidate]) -> tuple[Task, list[Candidate]]:
        """The cost model's choice first; without candidates that cannot be lowered."""
        single, surrounded = layer.single, self.meter is not Meter.CYCLES
        if single.key not in self.chosen:
            self.chosen[single.key] = single.lower(self.machine, None, surrounded=surrounded)
        programs, kept = [self.chosen[single.key]], []
        for candidate in batch:
            try:
                programs.append(single.lower(self.machine, candidate.decision, surrounded=surrounded))
                kept.append(candidate)
            except CcmlError as problem:
                log.debug("%s: %s: %s", single.layers[0], candidate.decision, problem)
        place = Place.of(self.machine)
        if not surrounded:
            return Task(place, self.meter, programs=tuple(programs)), kept
        kernels = tuple(kernel_of(program, single.node) for program in programs)
        return Task(place, self.meter, kernels, cold=self.cold), kept

    def _learn(self, layer: Layer, batch: Sequence[Candidate], result: Measured) -> Iterator[Found]:
        reference, *values = result.values
        if reference <= 0:
            layer.open = []
            return
        before, layer.reference = layer.best[1], reference
        for candidate, value in zip(batch, values, strict=True):
            if value <= 0:
                continue
            layer.measured[candidate.decision] = value / reference
            self.regression.add(candidate.features, layer.start.features, value / reference)
            yield Found(layer, candidate.decision, value, reference, result.processor)
        layer.idle = 0 if layer.best[1] < before else layer.idle + 1
        if layer.idle >= _IDLE - 1 and not layer.refined:
            self._refine(layer)

    def _refine(self, layer: Layer) -> None:
        """Opens variations of the best decision."""
        layer.refined, layer.idle = True, 0
        best = min(layer.measured, key=lambda decision: layer.measured[decision], default=None)
        source = layer.start if best is None or best not in layer.known else layer.known[best]
        varied = neighbours(layer.single.context(self.machine), source)
        old = layer.known.keys() | layer.measured.keys()
        new = {each.decision: each for each in varied if each.decision not in old}
        layer.known |= new
        layer.open = [*new.values(), *layer.open]


class _Here(Executor):
    """This process, which does a task at once."""

    def submit(self, function: Callable[..., _T], /, *args: Any, **named: Any) -> Future[_T]:
        future: Future[_T] = Future()
        future.set_result(function(*args, **named))
        return future
