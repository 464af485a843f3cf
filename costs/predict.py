"""The prediction: a built program is run on the host, and what was counted is told by layer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..ir.external_weights import weights_file
from ..ir.program import Program, Role
from ..ir.steps import at_most, has_control_flow
from ..record import record
from ..samples import random_samples
from ..targets import Machine
from ..targets.timing import ZERO, Estimate, Timing
from .build import Build, build_c, build_objects
from .cycles import FunctionCycles, function_cycles
from .functions import Function, find_functions
from .helpers import helper_stack
from .instruction import SP
from .simulate import Run, simulate
from .stack import stack_bytes
from .translate import Translation, translate

log = logging.getLogger(__name__)

_STACK = 1 << 16
_ALIGN = 64
_ARGUMENT_REGISTERS = 4
_PICKS = len(Estimate._fields)


@record
class LayerCost:
    """One call of a kernel. ``cycles`` are an estimate, ``None`` for cores of which too little is known."""

    instructions: int
    cycles: Estimate | None


@record
class Costs:
    """One run of the model. ``layers`` are in the order of the calls, each made once, where code could be told apart by
    layers; what belongs to none (checks of arguments, entry and return) is in the totals only. ``stack_bytes`` is
    ``None`` where the code moves the stack pointer in a way that is not understood, ``assumed`` names the helpers of
    the compiler's run-time library whose instructions were not there to be counted. ``route`` is that of the build."""

    instructions: int
    cycles: Estimate | None
    stack_bytes: int | None
    layers: tuple[LayerCost, ...] | None
    assumed: tuple[str, ...] = ()
    route: str = "llvm"


def has_cost_model(machine: Machine) -> bool:
    """Whether costs can be predicted for ``machine``."""
    return machine.cpu.costs


def is_predictable(program: Program, machine: Machine) -> bool:
    """Whether they can be for ``program``: what custom operators do, or functions that bring rows, is not looked at."""
    return has_cost_model(machine) and not program.custom_operators and not program.by_rows


def object_costs(
    program: Program, machine: Machine, objects: Sequence[tuple[str, bytes]] | None = None
) -> Costs | None:
    """The costs of LLVM's code, whose ``objects`` are made if need be; ``None`` where they cannot be predicted."""
    if not is_predictable(program, machine):
        return None
    log.info("predicting costs")
    return predict(program, machine, build_objects(program, machine, objects))


def c_costs(program: Program, machine: Machine) -> Costs | None:
    """The costs of the C sources compiled by GCC. Raises ``TOOLCHAIN`` where that is not installed."""
    return predict(program, machine, build_c(program, machine)) if is_predictable(program, machine) else None


def predict(
    program: Program, machine: Machine, build: Build, inputs: Mapping[str, np.ndarray] | None = None
) -> Costs | None:
    """What one run costs on ``machine``, for ``inputs`` or else for seeded random ones.

    ``None`` where there is no cost model, or the code cannot be followed to its end. Where there is control flow, every
    call is counted once, and a run takes the dearer side of each branch and all passes of a loop (one, where nothing
    bounds them).
    """
    if not has_cost_model(machine):
        return None
    if has_control_flow(program.body):
        straight = replace(program, body=program.calls)
        counted = predict(straight, machine, build.builder(straight, machine), inputs)
        return None if counted is None else _at_most(program, counted)
    image = build.image
    entry = image.function(build.entry)
    functions = find_functions(image, build.entry)
    memory, registers = _memory(program, image.memory, inputs)
    translation = translate(functions, entry, image.missing, len(memory) - _ALIGN - 1, machine.cpu)
    run = simulate(translation, memory, registers)
    if not run.finished or run.result:
        reason = "could not be followed to its end" if run.finished else "runs for too long, or could not be followed"
        log.warning("no costs are predicted: the code of %s %s", build.entry, reason)
        return None
    return _Tally(program, build, functions, entry, translation, run, machine.cpu.timing).costs(image.memory)


def _at_most(program: Program, counted: Costs) -> Costs | None:
    """What a run takes at most, by what each call takes."""
    layers = counted.layers
    if layers is None:
        log.warning("no costs are predicted: the code of %s cannot be told apart by layers", program.name)
        return None
    instructions = at_most(program.body, lambda number, _: layers[number].instructions)
    rest = counted.instructions - sum(layer.instructions for layer in layers)
    return replace(counted, instructions=instructions + rest, cycles=_cycles_at_most(program, counted, layers))


def _cycles_at_most(program: Program, counted: Costs, layers: Sequence[LayerCost]) -> Estimate | None:
    if counted.cycles is None:
        return None
    return Estimate(*(_sum_at_most(program, total, layers, pick) for pick, total in enumerate(counted.cycles)))


def _sum_at_most(program: Program, total: float, layers: Sequence[LayerCost], pick: int) -> float:
    """One of the three numbers of an estimate."""
    each = [0 if layer.cycles is None else int(layer.cycles[pick]) for layer in layers]
    return at_most(program.body, lambda number, _: each[number]) + total - sum(each)


def _memory(
    program: Program, code: bytes, inputs: Mapping[str, np.ndarray] | None
) -> tuple[np.ndarray, dict[int, int]]:
    """Code, pools, inputs, outputs and stack, and the registers at the call."""
    given = inputs
    if given is None:
        most = {extent.value: np.asarray(extent.bound, np.int64) for extent in program.free_extents}
        given = next(iter(random_samples(program.tensors, 1))) | most
    sample = program.filled(given)
    places, top = [], len(code)
    for item in program.parameters:
        top += -top % _ALIGN
        places.append(top)
        top += item.nbytes
    stack = (top + _STACK) & ~(_ALIGN - 1)
    memory = np.zeros((1 << (stack + _ALIGN).bit_length()) + _ALIGN, np.uint8)
    memory[: len(code)] = np.frombuffer(code, np.uint8)
    inputs_at = (place for item, place in zip(program.parameters, places) if item.role is Role.INPUT)
    for side, place in zip(program.inputs, inputs_at, strict=True):
        content = np.ascontiguousarray(sample[side.name], side.type.dtype.numpy).tobytes()
        memory[place : place + len(content)] = np.frombuffer(content, np.uint8)
    if program.weights is not None:
        at = next(place for item, place in zip(program.parameters, places) if item.role is Role.WEIGHTS)
        memory[at : at + program.weights.size] = np.frombuffer(weights_file([program]), np.uint8)
    on_stack = np.array(places[_ARGUMENT_REGISTERS:], np.uint32).view(np.uint8)
    memory[stack : stack + len(on_stack)] = on_stack
    return memory, {SP: stack, **dict(enumerate(places[:_ARGUMENT_REGISTERS]))}


def build_stack(build: Build) -> int | None:
    """Bytes of stack that a run takes at most; ``None`` where the code moves the stack pointer in a way that is not
    understood."""
    functions = find_functions(build.image, build.entry)
    helpers = {address & ~1: helper_stack(name) for name, address in build.image.missing.items()}
    return stack_bytes(functions, build.image.function(build.entry), build.image.memory, helpers)


@record
class _Tally:
    """Counters -> costs."""

    program: Program
    build: Build
    functions: Mapping[int, Function]
    entry: int
    translation: Translation
    run: Run
    timing: Timing | None

    def costs(self, memory: bytes) -> Costs:
        counts = [0] * len(self.program.calls)
        spents = [np.zeros(_PICKS) for _ in self.program.calls]
        total, cycles = 0, np.zeros(_PICKS)
        for address, count, spent in self._entries():
            total += count
            cycles += spent
            layer = self.build.layer_of.get(address)
            if layer is not None:
                counts[layer] += count
                spents[layer] += spent
        layers = tuple(LayerCost(*pair) for pair in zip(counts, map(self._estimate, spents), strict=True))
        helpers = {address & ~1: helper_stack(name) for name, address in self.build.image.missing.items()}
        stack = stack_bytes(self.functions, self.entry, memory, helpers)
        return Costs(
            total, self._estimate(cycles), stack, layers if self.build.layer_of else None,
            tuple(self.translation.missing), self.build.route,
        )  # fmt: skip

    def _estimate(self, cycles: np.ndarray) -> Estimate | None:
        return None if self.timing is None else Estimate(*(round(float(each)) for each in cycles))

    def _cycles(self) -> dict[int, FunctionCycles]:
        """Those of each function, of what ran of it."""
        if self.timing is None:
            return {}
        runs = self.run.counts.sum(axis=0)
        executed: dict[int, set[int]] = {address: set() for address in self.functions}
        for (function, start), counter in self.translation.blocks.items():
            if runs[counter]:
                executed[function].add(start)
        return {at: function_cycles(each, executed[at], self.timing) for at, each in self.functions.items()}

    def _entries(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """(address in the entry function, instructions, cycles): its own, and what is called from there."""
        width, known = self.translation.width, self._cycles()
        weights, cycles = np.zeros(width, np.int64), np.zeros((width, _PICKS))
        for (function, start), counter in self.translation.blocks.items():
            block = self.functions[function].blocks[start]
            weights[counter] = len(block)
            if function in known:
                own, taken = known[function].own, known[function].taken
                cycles[counter] = np.sum([own.get(i.address, ZERO) for i in block], axis=0)
                cycles[self.translation.taken[function, start]] = taken.get(block[-1].address, ZERO)
        for counter in self.translation.missing.values():
            weights[counter] = cycles[counter] = 1
        counts = self.run.counts
        for row, site in enumerate(self.translation.sites, 1):
            yield site, int(counts[row] @ weights), counts[row] @ cycles
        entry = known.get(self.entry, FunctionCycles({}, {}))
        for start, block in self.functions[self.entry].blocks.items():
            runs = int(counts[0, self.translation.blocks[self.entry, start]])
            jumps = int(counts[0, self.translation.taken[self.entry, start]])
            for i in block:
                yield i.address, runs, np.array(entry.own.get(i.address, ZERO)) * runs
            yield block[-1].address, 0, np.array(entry.taken.get(block[-1].address, ZERO)) * jumps
