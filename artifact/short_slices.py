"""Runs in slices that take no longer than allowed, by the prediction of what each call costs."""

from __future__ import annotations

import logging
from math import ceil

from ..costs.predict import LayerCost, is_predictable, object_costs
from ..errors import CcmlError, ErrorCode
from ..ir.program import Program
from ..ir.steps import walk_calls
from ..program.slicing import can_be_split, split_calls
from ..targets import Machine

log = logging.getLogger(__name__)

_ROUNDS = 8
"""Each takes apart what is still too long; layers are a few loops in each other."""
_MOST_SLICES = 2000
"""More of them would cost more than what they do."""


def with_short_slices(program: Program, machine: Machine, most: int) -> Program:
    """``program`` with layers of more than ``most`` cycles, by the code that LLVM makes of them, in several calls.

    Warns of those that cannot be taken apart far enough. Raises ``BAD_OPTION`` where nothing is known of cycles.
    """
    for _ in range(_ROUNDS):
        kernels = {kernel.name: kernel for kernel in program.kernels}
        calls = list(walk_calls(program.body))
        long = {n: cycles for n, cycles in enumerate(_cycles(program, machine)) if cycles > most}
        counts = {
            number: max(2, ceil(cycles * 1.05 / most))
            for number, cycles in long.items()
            if can_be_split(kernels[calls[number].kernel])
        }
        if not counts:
            break
        if len(calls) + sum(counts.values()) > _MOST_SLICES:
            reason = f"a run in slices of {most:,} cycles would have more than {_MOST_SLICES:,} of them"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="allow more cycles: --slice-cycles N")
        log.info("taking %d layers apart", len(counts))
        program = split_calls(program, counts)
    for number, cycles in long.items():
        log.warning("slice %d (%s) takes %s cycles, more than %s, and cannot be taken apart", number,
                    calls[number].loc or calls[number].kernel, f"{cycles:,.0f}", f"{most:,}")  # fmt: skip
    return program


def _cycles(program: Program, machine: Machine) -> list[float]:
    """The most cycles of each call."""
    costs = object_costs(program, machine) if is_predictable(program, machine) else None
    layers: tuple[LayerCost, ...] = () if costs is None or costs.layers is None else costs.layers
    known = [layer.cycles.high for layer in layers if layer.cycles is not None]
    if len(known) != len(list(walk_calls(program.body))):
        reason = f"no cycles are known of the layers for {machine.name}, so none can be bounded"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="--slices alone: a slice is a layer")
    return known
