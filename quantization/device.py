"""What quantized models take where they are to run: they are compiled for it, and the report is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..artifact.emit import DEFAULT_EMIT, Emit
from ..artifact.options import DEFAULT_ARTIFACT, ArtifactOptions
from ..artifact.trial import quiet, trial_report
from ..driver import DEFAULT_GOAL, Compiled, Goal, Optimize, Source, lower, run_passes
from ..errors import CcmlError, ErrorCode
from ..passes.integer_interface import integer_states
from ..program.operations import operations
from ..record import record
from ..report.budget import NO_BUDGET, Budget, Need, needs
from ..report.schema import Totals
from ..targets import Machine
from .meter import Meter, Price


@record
class Device:
    """Where a quantized model is to run: on ``machine``, compiled by ``goal`` into ``kinds`` of output, within
    ``budget``, of which those limits are to be made use of that are ``steering`` (the others, such as those of a board,
    only hold). ``every_cpu`` and ``artifact`` are those of the compilation."""

    machine: Machine
    goal: Goal = DEFAULT_GOAL
    budget: Budget = NO_BUDGET
    kinds: Sequence[Emit] = DEFAULT_EMIT
    every_cpu: bool = False
    artifact: ArtifactOptions = DEFAULT_ARTIFACT
    steering: bool = False

    def meter(self, source: Source) -> Meter:
        """Of quantized models that come from ``source``."""
        return lambda graph: self._price(replace(source, graph=integer_states(graph)))

    def _price(self, source: Source) -> Price:
        with quiet():
            compiled = self._lowered(source)
            report = trial_report(compiled, self.kinds, every_cpu=self.every_cpu, options=self.artifact)
        totals, layers = report.totals, report.layers
        return Price(
            time=totals.cycles or operations(compiled.program),
            cycles=totals.cycles,
            flash=totals.flash_bytes,
            ram=totals.ram_bytes + totals.state_bytes,
            layers=_summed((layer.name, layer.cycles) for layer in layers if layer.cycles is not None),
            needs=tuple(self._needs(totals)),
        )

    def _needs(self, totals: Totals) -> Iterator[Need]:
        if self.goal.max_ram is not None:
            yield Need("RAM", totals.ram_bytes + totals.state_bytes, self.goal.max_ram)
        yield from needs(totals, self.budget)

    def _lowered(self, source: Source) -> Compiled:
        """By the goal, or else with as little RAM as can be."""
        optimized = run_passes(source, None, self.machine)
        try:
            return lower(source, optimized, self.machine, self.goal)
        except CcmlError as problem:
            if problem.kind is not ErrorCode.BUDGET or self.goal.max_ram is None or self.goal.pools:
                raise
            return lower(source, optimized, self.machine, replace(self.goal, max_ram=None, optimize=Optimize.RAM))


def _summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The sum for each name."""
    sums: dict[str, float] = {}
    for name, amount in pairs:
        sums[name] = sums.get(name, 0.0) + amount
    return sums
