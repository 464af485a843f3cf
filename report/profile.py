"""What ``ccml profile`` found, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..costs.measure import Measured
from ..costs.predict import Costs
from ..ir.program import Program
from ..targets import Machine


@dataclass(frozen=True)
class ProfiledLayer:
    """One kernel call with its executed and its predicted instructions."""

    index: int
    name: str
    kernel: str
    macs: int
    instructions: int
    predicted: int | None


@dataclass(frozen=True)
class Profile:
    """One run on the emulated board. ``layers`` are empty where the compiler mixed their code beyond recognition;
    ``predicted`` is ``None`` where there is no prediction."""

    target: str
    cpu: str
    route: str
    instructions: int
    predicted: int | None
    macs: int
    layers: list[ProfiledLayer]


def build_profile(program: Program, machine: Machine, route: str, measured: Measured, costs: Costs | None) -> Profile:
    """Counts beside predictions."""
    predicted: Sequence[int | None] = [None] * len(program.calls)
    if costs is not None and costs.layers is not None:
        predicted = [layer.instructions for layer in costs.layers]
    layers = [
        ProfiledLayer(index, call.loc, call.kernel, call.macs, count, guess)
        for index, (call, count, guess) in enumerate(zip(program.calls, measured.layers or (), predicted, strict=False))
    ]
    total = None if costs is None else costs.instructions
    macs = program.macs
    return Profile(machine.name, machine.cpu.name, route, measured.instructions, total, macs, layers)
