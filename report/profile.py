"""What ``ccml profile`` found, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..costs.measure import Measured
from ..costs.predict import Costs
from ..costs.timing import Timed
from ..ir.loops import Kernel
from ..ir.program import Program
from ..ir.types import DType
from ..record import record
from ..targets import Machine
from .tiles import tiles


@record
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


SHORTEST = 300
"""Nanoseconds below which the time of a layer is mostly that around the call."""


@record
class TimedLayer:
    """One kernel call: the least time that it took, in loops of all passes together, and its multiply-accumulates.

    ``speed`` are operations per second, two for each multiply-accumulate of the definition, and ``roof_share`` their
    share of what the machine can do at most with such elements, which Winograd's algorithm may exceed. Both are
    ``None`` without multiply-accumulates and for layers too short to be timed, the latter where it is not known, too.
    ``generator`` made the loops, ``tiles`` say how they are blocked (:func:`report.tiles.tiles`).
    """

    index: int
    name: str
    kernel: str
    generator: str
    tiles: list[str]
    macs: int
    microseconds: float
    share: float
    speed: float | None
    roof_share: float | None


@dataclass(frozen=True)
class TimedProfile:
    """Runs on this machine: the least and the median time of whole ones, in microseconds, and the layers. ``roofs`` are
    the most operations per second by type of the activations, as measured."""

    target: str
    cpu: str
    microseconds: float
    median_microseconds: float
    macs: int
    roofs: dict[str, float]
    layers: list[TimedLayer]


def build_timed_profile(
    program: Program, machine: Machine, timed: Timed, roof: Callable[[Machine, DType], float | None]
) -> TimedProfile:
    """Times beside what is known of the layers."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    total = sum(timed.calls) or 1
    roofs: dict[str, float] = {}
    layers = []
    for index, (call, nanoseconds) in enumerate(zip(program.calls, timed.calls, strict=True)):
        kernel = kernels[call.kernel]
        speed = 2e9 * call.macs / nanoseconds if call.macs and nanoseconds >= SHORTEST else None
        element = _activations(kernel)
        most = roof(machine, element) if speed is not None else None
        if most is not None:
            roofs[element.value] = most
        share = None if speed is None or most is None else speed / most
        layers.append(TimedLayer(
            index, call.loc, call.kernel, call.generator, tiles(kernel), call.macs, nanoseconds / 1e3,
            nanoseconds / total, speed, share,
        ))  # fmt: skip
    return TimedProfile(
        machine.name, machine.cpu.name, timed.least / 1e3, timed.median / 1e3, program.macs, roofs, layers
    )


def _activations(kernel: Kernel) -> DType:
    """The type of the elements that a kernel multiplies: the narrowest integers among its tensors, else floats."""
    types = {param.dtype for param in kernel.params}
    return next((kind for kind in (DType.I8, DType.U8, DType.I16) if kind in types), DType.F32)


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
