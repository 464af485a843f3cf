"""The prediction: a built program is run on the host, and what was counted is told by layer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.program import Program, Role
from ..ir.steps import at_most, has_control_flow
from ..samples import random_samples
from ..targets import Machine, Timing
from .build import Build, build_c, build_objects
from .cycles import instruction_cycles, taken_cycles
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


@dataclass(frozen=True)
class LayerCost:
    """One call of a kernel. ``cycles`` are an estimate."""

    instructions: int
    cycles: int


@dataclass(frozen=True)
class Costs:
    """One run of the model. ``layers`` are in the order of the calls, each made once, where code could be told apart by
    layers; what belongs to none (checks of arguments, entry and return) is in the totals only. ``stack_bytes`` is
    ``None`` where the code moves the stack pointer in a way that is not understood, ``assumed`` names the helpers of
    the compiler's run-time library whose instructions were not there to be counted."""

    instructions: int
    cycles: int
    stack_bytes: int | None
    layers: tuple[LayerCost, ...] | None
    assumed: tuple[str, ...] = ()


def has_cost_model(machine: Machine) -> bool:
    """Whether costs can be predicted for ``machine``."""
    return machine.cpu.timing is not None


def object_costs(
    program: Program, machine: Machine, objects: Sequence[tuple[str, bytes]] | None = None
) -> Costs | None:
    """The costs of LLVM's code, whose ``objects`` are made if need be; ``None`` without a cost model."""
    if not has_cost_model(machine):
        return None
    log.info("predicting costs")
    return predict(program, machine, build_objects(program, machine, objects))


def c_costs(program: Program, machine: Machine) -> Costs | None:
    """The costs of the C sources compiled by GCC. Raises ``TOOLCHAIN`` where that is not installed."""
    return predict(program, machine, build_c(program, machine)) if has_cost_model(machine) else None


def predict(
    program: Program, machine: Machine, build: Build, inputs: Mapping[str, np.ndarray] | None = None
) -> Costs | None:
    """What one run costs on ``machine``, for ``inputs`` or else for seeded random ones.

    ``None`` where there is no cost model, or the code cannot be followed to its end. Where there is control flow, every
    call is counted once, and a run takes the dearer side of each branch and all passes of a loop (one, where nothing
    bounds them).
    """
    timing = machine.cpu.timing
    if timing is None:
        return None
    if has_control_flow(program.body):
        straight = replace(program, body=program.calls)
        counted = predict(straight, machine, build.builder(straight, machine), inputs)
        return None if counted is None else _at_most(program, counted)
    image = build.image
    entry = image.function(build.entry)
    functions = find_functions(image, build.entry)
    memory, registers = _memory(program, image.memory, inputs)
    translation = translate(functions, entry, image.missing, len(memory) - _ALIGN - 1, timing)
    run = simulate(translation, memory, registers)
    if not run.finished or run.result:
        reason = "could not be followed to its end" if run.finished else "runs for too long, or could not be followed"
        log.warning("no costs are predicted: the code of %s %s", build.entry, reason)
        return None
    return _Tally(program, build, functions, entry, translation, run, timing).costs(image.memory)


def _at_most(program: Program, counted: Costs) -> Costs | None:
    """What a run takes at most, by what each call takes."""
    layers = counted.layers
    if layers is None:
        log.warning("no costs are predicted: the code of %s cannot be told apart by layers", program.name)
        return None
    instructions = at_most(program.body, lambda number, _: layers[number].instructions)
    cycles = at_most(program.body, lambda number, _: layers[number].cycles)
    rest = counted.instructions - sum(layer.instructions for layer in layers)
    idle = counted.cycles - sum(layer.cycles for layer in layers)
    return replace(counted, instructions=instructions + rest, cycles=cycles + idle)


def _memory(
    program: Program, code: bytes, inputs: Mapping[str, np.ndarray] | None
) -> tuple[np.ndarray, dict[int, int]]:
    """Code, pools, inputs, outputs and stack, and the registers at the call."""
    given = inputs if inputs is not None else next(iter(random_samples(program.tensors, 1)))
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
    on_stack = np.array(places[_ARGUMENT_REGISTERS:], np.uint32).view(np.uint8)
    memory[stack : stack + len(on_stack)] = on_stack
    return memory, {SP: stack, **dict(enumerate(places[:_ARGUMENT_REGISTERS]))}


def build_stack(build: Build) -> int | None:
    """Bytes of stack that a run takes at most; ``None`` where the code moves the stack pointer in a way that is not
    understood."""
    functions = find_functions(build.image, build.entry)
    helpers = {address & ~1: helper_stack(name) for name, address in build.image.missing.items()}
    return stack_bytes(functions, build.image.function(build.entry), build.image.memory, helpers)


@dataclass(frozen=True)
class _Tally:
    """Counters -> costs."""

    program: Program
    build: Build
    functions: Mapping[int, Function]
    entry: int
    translation: Translation
    run: Run
    timing: Timing

    def costs(self, memory: bytes) -> Costs:
        counts = [0] * len(self.program.calls)
        spents = [0.0] * len(self.program.calls)
        total, cycles = 0, 0.0
        for address, count, spent in self._entries():
            total += count
            cycles += spent
            layer = self.build.layer_of.get(address)
            if layer is not None:
                counts[layer] += count
                spents[layer] += spent
        layers = tuple(LayerCost(count, round(spent)) for count, spent in zip(counts, spents, strict=True))
        helpers = {address & ~1: helper_stack(name) for name, address in self.build.image.missing.items()}
        stack = stack_bytes(self.functions, self.entry, memory, helpers)
        return Costs(
            total, round(cycles), stack, layers if self.build.layer_of else None, tuple(self.translation.missing)
        )

    def _entries(self) -> Iterator[tuple[int, int, float]]:
        """(address in the entry function, instructions, cycles): its own, and what is called from there."""
        width = self.translation.width
        weights, cycles = np.zeros(width, np.int64), np.zeros(width)
        for (function, start), counter in self.translation.blocks.items():
            block = self.functions[function].blocks[start]
            weights[counter] = len(block)
            cycles[counter] = sum(instruction_cycles(block, self.timing))
            cycles[self.translation.taken[function, start]] = taken_cycles(block[-1], self.timing)
        for counter in self.translation.missing.values():
            weights[counter] = cycles[counter] = 1
        counts = self.run.counts
        for row, site in enumerate(self.translation.sites, 1):
            yield site, int(counts[row] @ weights), float(counts[row] @ cycles)
        for start, block in self.functions[self.entry].blocks.items():
            runs = int(counts[0, self.translation.blocks[self.entry, start]])
            jumps = int(counts[0, self.translation.taken[self.entry, start]])
            for instruction, each in zip(block, instruction_cycles(block, self.timing), strict=True):
                yield instruction.address, runs, runs * each
            yield block[-1].address, 0, jumps * taken_cycles(block[-1], self.timing)
