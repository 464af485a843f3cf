"""What would make a model fit that does not: options are tried by compiling with them."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from .artifact.emit import Emit
from .artifact.options import DEFAULT_ARTIFACT, ArtifactOptions
from .artifact.trial import quiet, trial_report
from .driver import Goal, Optimize, Source, lower, run_passes
from .errors import CcmlError, ErrorCode
from .quantization import QuantizeOptions
from .quantization.options import Mode
from .quantization.source import Quantization, quantize_source
from .record import record
from .report.budget import Budget, Need, needs
from .report.schema import Report, Totals
from .samples import plain_arrays, random_samples
from .targets import Machine

log = logging.getLogger(__name__)

_RANDOM_SAMPLES = 10
_QUANTIZE = {
    "--quantize int8": QuantizeOptions(),
    "--quantize int8 --io int8": QuantizeOptions(integer_io=True),
    "--quantize int8 --weight-bits 4": QuantizeOptions(weight_bits=4),
    "--quantize weights4": QuantizeOptions(Mode.WEIGHTS4),
}
_SPREAD = 1 / 16
"""Of what a model takes that was quantized with random data: with others, some layers have other widths."""
_STACK = 4 << 10
"""Bytes of the largest block of RAM that pools leave to the stack."""
_WIDER = "--activations int16"


@record
class Way:
    """Options as they stand on the command line: those of ``goal``, and how the model is quantized."""

    options: str
    goal: Goal
    quantized: QuantizeOptions | None = None

    @property
    def calibrated(self) -> bool:
        return self.quantized is not None and self.quantized.mode is Mode.INT8


@record
class Tried:
    """A way and what the model then needs of what is limited; nothing where it could not be compiled like that."""

    way: Way
    needs: Sequence[Need]

    @property
    def fits(self) -> bool:
        """Whatever the data."""
        return bool(self.needs) and self.worst <= 1 - _SPREAD * self.way.calibrated

    @property
    def worst(self) -> float:
        """The largest share of a limit that it takes."""
        return max((need.amount / max(need.limit, 1e-9) for need in self.needs), default=float("inf"))


@record
class Case:
    """A compilation that does not fit: of ``source``, for ``machine`` by ``goal`` with ``kinds`` of output.

    ``blocks`` are the blocks of RAM that there are, by name, where several are known. ``every_cpu``: with code for all
    CPUs of the machine's ABI. ``options`` are those of the artifact."""

    source: Source
    machine: Machine
    kinds: Sequence[Emit]
    goal: Goal
    budget: Budget
    blocks: Mapping[str, int]
    every_cpu: bool = False
    options: ArtifactOptions = DEFAULT_ARTIFACT


def check_budget(totals: Totals, budget: Budget) -> None:
    """Raises ``BUDGET`` that says what does not fit, ``BAD_OPTION`` where that is not known for the target."""
    wrong = [need for need in needs(totals, budget) if not need.fits]
    if wrong:
        where = f" {budget.where}" if budget.where else " the budget"
        raise CcmlError(ErrorCode.BUDGET, f"the model does not fit{where}: {'; '.join(map(str, wrong))}")


def with_ways_out(problem: CcmlError, case: Case) -> CcmlError:
    """``problem`` with a hint that names the first options with which the model fits, or else comes closest."""
    trials = _Trials(case)
    tried = [each for each in trials.all() if each.needs]
    fitting = next((each for each in tried if each.fits), None)
    if fitting is not None:
        listed = "; ".join(map(str, fitting.needs))
        hint = f"it fits with {_options(fitting)}: {listed}"
        if trials.fit_wider(fitting.way):
            hint += f"; with {_WIDER} as well, which is closer to the float model"
        return CcmlError(problem.kind, problem.reason, loc=problem.loc, hint=hint)
    if not tried:
        return problem
    best = min(tried, key=lambda each: each.worst)
    wrong = "; ".join(str(need) for need in best.needs if not need.fits)
    hint = f"nor with other options; closest is {_options(best)}: {wrong}"
    if not wrong:
        hint = f"perhaps with {_options(best)}, which depends on the data: {'; '.join(map(str, best.needs))}"
    return CcmlError(problem.kind, problem.reason, loc=problem.loc, hint=hint)


def _options(tried: Tried) -> str:
    return f"{tried.way.options} --calibration FILE" if tried.way.calibrated else tried.way.options


class _Trials:
    """Ways that are tried one after the other; what was quantized serves all ways that quantize so."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._quantized: tuple[QuantizeOptions, Source] | None = None

    def all(self) -> Iterator[Tried]:
        """Up to the first that fits."""
        short: set[str] = set()
        for way in self._ways(short):
            log.info("trying %s", way.options)
            found = self._try(way)
            yield found
            if found.fits:
                return
            short |= {need.what for need in found.needs if way.quantized and not need.fits}

    def _ways(self, short: set[str]) -> Iterator[Way]:
        """Cheap ones first: what is computed stays the same until quantization. ``short`` is what quantized models
        lacked so far."""
        goals = dict(_goals(self.case))
        for options, goal in goals.items():
            yield Way(options, goal)
        if self.case.source.quantized is not None:
            return
        for first, quantized in _QUANTIZE.items():
            if _may_help(quantized, short):
                yield Way(first, self.case.goal, quantized)
                for options, goal in goals.items():
                    yield Way(f"{first} {options}", goal, quantized)

    def fit_wider(self, way: Way) -> bool:
        """Whether a model that fits with 8 bits does so with 16 bits for what layers hand on to each other."""
        if way.quantized is None or not way.calibrated:
            return False
        wider = replace(way.quantized, activations="int16")
        log.info("trying %s %s", way.options, _WIDER)
        return self._try(replace(way, quantized=wider)).fits

    def _try(self, way: Way) -> Tried:
        try:
            with quiet():
                return Tried(way, needs(self._report(way).totals, self.case.budget))
        except CcmlError:
            return Tried(way, ())

    def _report(self, way: Way) -> Report:
        case = self.case
        source = self._source(way.quantized)
        optimized = run_passes(source, None, case.machine)
        compiled = lower(source, optimized, case.machine, way.goal)
        return trial_report(compiled, case.kinds, every_cpu=case.every_cpu, options=case.options)

    def _source(self, options: QuantizeOptions | None) -> Source:
        """Quantized with random data: sizes and times are about those of the model with real data."""
        if options is None:
            return self.case.source
        if self._quantized is None or self._quantized[0] != options:
            samples = random_samples(self.case.source.graph.inputs, _RANDOM_SAMPLES)
            with tempfile.TemporaryDirectory(prefix="ccml-") as folder:
                file = Path(folder) / "random.npz"
                np.savez(file, **plain_arrays(samples.inputs))  # type: ignore[arg-type]
                self._quantized = options, quantize_source(self.case.source, Quantization(file, options)).source
        return self._quantized[1]


def _goals(case: Case) -> Iterator[tuple[str, Goal]]:
    """Options that leave the numbers as they are, but those that the case has."""
    for goal in (Optimize.SIZE, Optimize.RAM, Optimize.SPEED):
        if goal is not case.goal.optimize:
            yield f"--optimize {goal.value}", replace(case.goal, optimize=goal)
    if len(case.blocks) > 1 and not case.goal.pools:
        largest = max(case.blocks, key=lambda name: case.blocks[name])
        pools = {name: size - _STACK * (name == largest) for name, size in case.blocks.items()}
        names = " ".join(f"--pool {name}={size // 1024}KiB" for name, size in pools.items())
        yield names, replace(case.goal, max_ram=None, pools=pools)


def _may_help(options: QuantizeOptions, short: set[str]) -> bool:
    """Whether more than 8 bits inside do, where ``short`` is what these lacked, if they did: integers outside save no
    flash, and 4 bits nothing else."""
    if options.integer_io:
        return short != {"flash"}
    if options.mode is not Mode.INT8 or options.weight_bits < 8:
        return "flash" in short
    return True
