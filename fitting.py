"""What would make a model fit that does not: options are tried by compiling with them."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .artifact.build import make_plan, write_artifacts
from .artifact.emit import Emit
from .artifact.options import DEFAULT_ARTIFACT, ArtifactOptions
from .driver import Goal, Optimize, Source, lower, run_passes
from .errors import CcmlError, ErrorCode
from .quantization import QuantizeOptions
from .quantization.options import Mode
from .quantization.source import Quantization, quantize_source
from .report.budget import Budget, Need, needs
from .report.schema import Report, Totals
from .samples import plain_arrays, random_samples
from .targets import Machine

log = logging.getLogger(__name__)

_RANDOM_SAMPLES = 10
_INT8, _WEIGHTS4 = QuantizeOptions(), QuantizeOptions(Mode.WEIGHTS4)
_QUANTIZE = (("--quantize int8", _INT8), ("--quantize weights4", _WEIGHTS4))
_STACK = 4 << 10
"""Bytes of the largest block of RAM that pools leave to the stack."""
_WIDER = "--activations int16"


@dataclass(frozen=True)
class Way:
    """Options as they stand on the command line: those of ``goal``, and how the model is quantized."""

    options: str
    goal: Goal
    quantized: QuantizeOptions | None = None


@dataclass(frozen=True)
class Tried:
    """A way and what the model then needs of what is limited; nothing where it could not be compiled like that."""

    way: Way
    needs: Sequence[Need]

    @property
    def fits(self) -> bool:
        return bool(self.needs) and all(need.fits for need in self.needs)

    @property
    def worst(self) -> float:
        """The largest share of a limit that it takes."""
        return max((need.amount / max(need.limit, 1e-9) for need in self.needs), default=float("inf"))


@dataclass(frozen=True)
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
    tried = [each for each in _try_all(case) if each.needs]
    fitting = next((each for each in tried if each.fits), None)
    if fitting is not None:
        listed = "; ".join(map(str, fitting.needs))
        hint = f"it fits with {fitting.way.options}{_with_data(fitting)}: {listed}"
        if _fits_wider(case, fitting.way):
            hint += f"; with {_WIDER} as well, which is closer to the float model"
        return CcmlError(problem.kind, problem.reason, loc=problem.loc, hint=hint)
    if not tried:
        return problem
    best = min(tried, key=lambda each: each.worst)
    wrong = "; ".join(str(need) for need in best.needs if not need.fits)
    hint = f"nor with other options; closest is {best.way.options}{_with_data(best)}: {wrong}"
    return CcmlError(problem.kind, problem.reason, loc=problem.loc, hint=hint)


def _with_data(tried: Tried) -> str:
    return " --calibration FILE" if tried.way.quantized == _INT8 else ""


def _fits_wider(case: Case, way: Way) -> bool:
    """Whether a model that fits with 8 bits does so with 16 bits for what layers hand on to each other."""
    if way.quantized != _INT8:
        return False
    log.info("trying %s %s", way.options, _WIDER)
    wider = Way(way.options, way.goal, replace(_INT8, activations="int16"))
    return Tried(wider, _tried(case, wider)).fits


def _try_all(case: Case) -> Iterator[Tried]:
    """Up to the first that fits."""
    for way in _ways(case):
        log.info("trying %s", way.options)
        found = Tried(way, _tried(case, way))
        yield found
        if found.fits:
            return


def _ways(case: Case) -> Iterator[Way]:
    """Cheap ones first: what is computed stays the same until quantization."""
    goals = {
        f"--optimize {goal.value}": replace(case.goal, optimize=goal)
        for goal in (Optimize.SIZE, Optimize.RAM, Optimize.SPEED)
        if goal is not case.goal.optimize
    }
    if len(case.blocks) > 1 and not case.goal.pools:
        largest = max(case.blocks, key=lambda name: case.blocks[name])
        pools = {name: size - _STACK * (name == largest) for name, size in case.blocks.items()}
        names = " ".join(f"--pool {name}={size // 1024}KiB" for name, size in pools.items())
        goals[names] = replace(case.goal, max_ram=None, pools=pools)
    for options, goal in goals.items():
        yield Way(options, goal)
    if case.source.quantized is None:
        for first, quantized in _QUANTIZE:
            yield Way(first, case.goal, quantized)
            for options, goal in goals.items():
                yield Way(f"{first} {options}", goal, quantized)


def _tried(case: Case, way: Way) -> Sequence[Need]:
    """What the model needs that way; nothing where it cannot be compiled so."""
    try:
        with _quiet():
            return needs(_report(case, way).totals, case.budget)
    except CcmlError:
        return ()


def _report(case: Case, way: Way) -> Report:
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        source = _quantized(case.source, way.quantized, folder) if way.quantized else case.source
        optimized = run_passes(source, None, case.machine)
        compiled = lower(source, optimized, case.machine, way.goal)
        plan = make_plan(compiled, case.kinds, every_cpu=case.every_cpu, options=case.options)
        (artifact,) = write_artifacts([plan], case.kinds, folder / "out", subfolders=False)
        return artifact.report


def _quantized(source: Source, options: QuantizeOptions, folder: Path) -> Source:
    """Quantized with random data: sizes and times are those of the model with real data."""
    samples = random_samples(source.graph.inputs, _RANDOM_SAMPLES)
    np.savez(folder / "random.npz", **plain_arrays(samples.inputs))  # type: ignore[arg-type]
    return quantize_source(source, Quantization(folder / "random.npz", options)).source


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of what is only tried."""
    logger = logging.getLogger("ccml")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
