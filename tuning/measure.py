"""One measurement, as a task for whoever can run it: this process, or a machine of a farm through its executor.

A task is a value that can be pickled, and names its machine; where it runs, ccml is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, prod

import llvmlite.binding as llvm
import numpy as np

from ..costs.ports import estimated_cycles
from ..costs.predict import has_cost_model, object_costs
from ..emit_llvm.jit import JitKernel, aligned_empty, host_features
from ..errors import CcmlError, ErrorCode
from ..ir.loops import Buffer, Kernel
from ..ir.program import Program
from ..record import record
from ..targets import Machine, select
from .database import Meter
from .single import Timed

SECONDS = 0.12
"""How long a kernel runs for one measurement, at least."""
_TURN = 1e-4
"""Seconds that a kernel runs before the next one has its turn."""
_FEWEST = 7
"""Turns of each kernel."""
_MOST_COPIES, _MOST_BYTES = 16, 256 << 20
"""Of constants, to be read in turn."""
_ALIGN = 64


@record
class Place:
    """The names of a machine."""

    target: str
    abi: str
    cpu: str

    @staticmethod
    def of(machine: Machine) -> Place:
        return Place(machine.name, machine.abi.name, machine.cpu.name)

    @property
    def machine(self) -> Machine:
        return select(self.target, self.abi, self.cpu)


@record
class Task:
    """What is to be measured: ``kernels`` against each other, or one of the ``programs`` after the other.

    ``cold`` bytes are read between two calls of a kernel in the model; so many of its constants have to come from
    where they then are.
    """

    place: Place
    meter: Meter
    kernels: tuple[Timed, ...] = ()
    programs: tuple[Program, ...] = ()
    cold: int = 0


@record
class Measured:
    """What each took, in the unit of the meter, and on which processor."""

    values: tuple[float, ...]
    processor: str


def meter_for(machine: Machine) -> Meter:
    """How code for ``machine`` is measured: by time where it runs here."""
    if runs_here(machine):
        return Meter.TIME
    return Meter.CYCLES if has_cost_model(machine) else Meter.ESTIMATE


def runs_here(machine: Machine) -> bool:
    """Whether this machine's processor runs code for ``machine``."""
    architecture = llvm.get_process_triple().split("-")[0]
    return architecture in machine.abi.host_architectures and set(machine.cpu.requires) <= host_features()


def measure(task: Task) -> Measured:
    """Runs ``task`` here. Raises ``TOOLCHAIN`` where it is for a processor that is not."""
    machine = task.place.machine
    if task.meter is Meter.TIME:
        if not runs_here(machine):
            reason = f"code for {machine.cpu.name} is to be timed, which this machine's processor does not run"
            raise CcmlError(ErrorCode.TOOLCHAIN, reason)
        return Measured(_times(task.kernels, machine, task.cold), llvm.get_host_cpu_name())
    if task.meter is Meter.CYCLES:
        return Measured(tuple(_cycles(program, machine) for program in task.programs), "")
    return Measured(tuple(estimated_cycles(timed.kernel, machine.cpu) for timed in task.kernels), "")


def _cycles(program: Program, machine: Machine) -> float:
    costs = object_costs(program, machine)
    if costs is None or costs.cycles is None:
        return 0.0
    return costs.cycles.typical


# ---------------------------------------------------------------- time


def _times(kernels: Sequence[Timed], machine: Machine, cold: int) -> tuple[float, ...]:
    """The least seconds of a call of each kernel; they take turns, so that all see the same of what else goes on."""
    runs = [_Run(timed, machine, cold) for timed in kernels]
    least = [float("inf")] * len(runs)
    end, turns = time.perf_counter() + SECONDS * len(runs), 0
    while turns < _FEWEST or time.perf_counter() < end:
        for number, run in enumerate(runs):
            least[number] = min(least[number], run.turn())
        turns += 1
    return tuple(least)


class _Run:
    """A kernel with memory for its parameters: constants in copies, which are read one after the other."""

    def __init__(self, timed: Timed, machine: Machine, cold: int) -> None:
        kernel = timed.kernel
        sizes = [param.dtype.size * prod(param.shape) for param in kernel.params]
        constants = sum(sizes[number] for number in timed.constants)
        most = min(_MOST_COPIES, _MOST_BYTES // max(constants, 1))
        copies = max(1, min(ceil(cold / max(constants, 1)), most)) if constants else 1
        random = np.random.default_rng(0)
        shared = {n: _memory(param, random) for n, param in enumerate(kernel.params) if n not in timed.constants}
        function = _compiled(kernel, machine)
        self._calls: list[Callable[[], None]] = []
        for _ in range(copies):
            own = {number: _memory(kernel.params[number], random) for number in timed.constants}
            self._calls.append(function.caller([(shared | own)[n] for n in range(len(sizes))]))
        self._next = 0
        self._count = 1
        seconds = self.turn()
        self._count = max(1, min(10_000, ceil(_TURN / max(seconds, 1e-9))))

    def turn(self) -> float:
        """The seconds of a call, of some in a row."""
        calls, first, count = self._calls, self._next, self._count
        start = time.perf_counter()
        for number in range(first, first + count):
            calls[number % len(calls)]()
        taken = time.perf_counter() - start
        self._next = (first + count) % len(calls)
        return taken / count


def _memory(param: Buffer, random: np.random.Generator) -> np.ndarray:
    """Numbers of the parameter's type that are neither large nor denormal."""
    dtype, count = param.dtype.numpy, max(1, prod(param.shape))
    memory = aligned_empty(count * dtype.itemsize, _ALIGN).view(dtype)
    if dtype.kind == "f":
        memory[...] = random.random(count, np.float32)
    elif dtype.itemsize == 1 and dtype.kind in "iu":
        memory[...] = random.integers(0, 100, count)
    else:
        memory[...] = 1
    return memory


@lru_cache(maxsize=64)
def _compiled(kernel: Kernel, machine: Machine) -> JitKernel:
    return JitKernel(kernel, machine, noalias=frozenset(param.name for param in kernel.params))
