"""Estimated cycles of executed code, by the tables of ``targets/timing.py``.

Instructions are taken in the order of their addresses, those that ran: what one costs depends on the one before it,
unless that always jumps. A hazard across a taken branch is not seen, but for the low-overhead loops of Armv8.1-M.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ..record import record
from ..targets.timing import ONE, ZERO, Estimate, PipelineTiming, ScalarTiming, Timing, exactly
from .functions import Function, falls_through
from .instruction import ALWAYS, PC, Instruction, Kind
from .operands import VECTOR_ACCESSES, Operands, is_load, is_multiple, is_store, operands

_LOW_TO_HIGH = range(3)


@record
class FunctionCycles:
    """By the address of an instruction: the cycles of each execution (``own``), and what is added to them each time
    that it jumps (``taken``)."""

    own: Mapping[int, Estimate]
    taken: Mapping[int, Estimate]


def function_cycles(function: Function, executed: Collection[int], timing: Timing) -> FunctionCycles:
    """The cycles of a function whose basic blocks at ``executed`` run."""
    code = [i for start in sorted(function.blocks) if start in executed for i in function.blocks[start]]
    return _scalar(code, timing) if isinstance(timing, ScalarTiming) else _pipeline(code, timing)


def _with_previous(code: list[Instruction]) -> Iterator[tuple[Instruction, Operands, Instruction | None]]:
    """Each instruction with the one that ran right before it, if there is one."""
    before: Instruction | None = None
    for i in code:
        follows = before is not None and before.end == i.address and falls_through(before) and before.op != "bl"
        yield i, operands(i), before if follows else None
        before = i


def _writes_pc(i: Instruction, own: Operands) -> bool:
    return is_load(i) and PC in own.results


# ---------------------------------------------------------------- one instruction after the other


def _scalar(code: list[Instruction], timing: ScalarTiming) -> FunctionCycles:
    own: dict[int, Estimate] = {}
    taken: dict[int, Estimate] = {}
    for i, registers, before in _with_previous(code):
        if _writes_pc(i, registers):
            cost = _access(i, registers, before, timing) + timing.refill_load
        elif i.kind is Kind.BRANCH:
            call = {"bl": timing.refill_call, "blx": timing.refill}.get(i.op, ZERO)
            cost = ONE + call + (timing.table_branch if i.op in ("tbb", "tbh") else ZERO)
            taken[i.address] = timing.refill
        elif i.kind in (Kind.LOAD, Kind.STORE):
            cost = _access(i, registers, before, timing)
        else:
            cost = timing.cycles.get(i.kind.value, ONE)
        if before is not None and is_load(before) and operands(before).results & registers.sources:
            cost += timing.load_use
        own[i.address] = cost
    return FunctionCycles(own, taken)


def _access(i: Instruction, registers: Operands, before: Instruction | None, timing: ScalarTiming) -> Estimate:
    """A load or store."""
    made = operands(before).results & registers.address if before is not None else frozenset()
    computed = bool(made) and before is not None and not is_load(before)
    stall = timing.address_stall if computed else ZERO
    if is_multiple(i):
        return exactly(1 + i.words) + stall
    behind = before is not None and is_load(before) and not is_multiple(before)
    if is_store(i):
        if i.floats:
            return timing.store_float + stall
        if len(registers.address) == 1:
            return timing.store + stall
        return (timing.store_after_load if behind else timing.store_register_offset) + stall
    load = timing.load_after_load if behind and not made else timing.load
    return load + stall + (timing.literal if PC in registers.address else ZERO)


# ---------------------------------------------------------------- overlapping units


@dataclass
class _Pipe:
    """The state of one of three pipelines (low, typical, high): the cycle of the last issue, from when on units are
    free, from when on results are there."""

    timing: PipelineTiming
    pick: int
    now: float = 0
    free: dict[str, float] = field(default_factory=dict)
    ready: dict[int, float] = field(default_factory=dict)
    last_vector_store: float = -9

    def issue(self, i: Instruction, registers: Operands) -> float:
        """The cycles that pass from the instruction before to this one."""
        at, pick = self.now + 1, self.pick
        unit, busy, latency = self._timing(i)
        gathers = i.kind in (Kind.VECTOR_GATHER_4, Kind.VECTOR_GATHER_8, Kind.VECTOR_GATHER_16)
        for register in registers.sources:
            early = self.timing.gather_index[pick] if gathers and register in registers.address and register > PC else 0
            at = max(at, self.ready.get(register, 0) + early)
        if unit != "scalar":
            at = max(at, self.free.get(unit, 0))
            self.free[unit] = at + busy
        if is_load(i) and at == self.last_vector_store + 2:
            at += self.timing.store_load_hazard[pick]
        if is_store(i) and i.kind in VECTOR_ACCESSES:
            self.last_vector_store = at
        if unit == "scalar":
            at += busy - 1
        for register in registers.results:
            self.ready[register] = at + latency
        passed, self.now = at - self.now, at
        return passed

    def _timing(self, i: Instruction) -> tuple[str, float, float]:
        row = self.timing.issue.get(i.kind.value, self.timing.other)
        busy = row.busy[self.pick]
        if i.registers:
            busy = -(-i.words // self.timing.words_per_cycle[self.pick])
        return row.unit, busy, row.latency[self.pick]

    def copy(self) -> _Pipe:
        return _Pipe(self.timing, self.pick, self.now, dict(self.free), dict(self.ready), self.last_vector_store)


def _pipeline(code: list[Instruction], timing: PipelineTiming) -> FunctionCycles:
    parts = [_pipeline_pick(code, timing, pick) for pick in _LOW_TO_HIGH]
    own = {i.address: Estimate(*(part[0][i.address] for part in parts)) for i in code}
    taken = {address: Estimate(*(part[1][address] for part in parts)) for address in parts[0][1]}
    return FunctionCycles(own, taken)


def _pipeline_pick(
    code: list[Instruction], timing: PipelineTiming, pick: int
) -> tuple[dict[int, float], dict[int, float]]:
    """A straight run begins with idle units. ``run`` has what came since then, for the passes of a loop behind its
    first."""
    own: dict[int, float] = {}
    taken: dict[int, float] = {}
    pipe, run = _Pipe(timing, pick), list[tuple[Instruction, Operands]]()
    for i, registers, before in _with_previous(code):
        if before is None:
            pipe, run = _Pipe(timing, pick), []
        if i.kind is Kind.LOOP_END:
            body = [(each, its) for each, its in run if each.address >= i.target]
            whole = bool(body) and body[0][0].address == i.target
            again = _again(body, own, pipe) if whole else 0
            own[i.address] = timing.loop_start[pick]
            taken[i.address] = again - timing.loop_start[pick]
            continue
        own[i.address] = pipe.issue(i, registers)
        run.append((i, registers))
        if _writes_pc(i, registers) or i.op in ("bl", "blx"):
            own[i.address] += timing.refill[pick]
        elif i.kind is Kind.BRANCH:
            taken[i.address] = timing.refill[pick]
            if i.cond != ALWAYS or i.op in ("cbz", "cbnz", "wls"):
                run = []
    return own, taken


def _again(body: list[tuple[Instruction, Operands]], first: Mapping[int, float], pipe: _Pipe) -> float:
    """By how much a later pass of a loop differs from the first: it begins with busy units."""
    warm = pipe.copy()
    return sum(warm.issue(i, registers) - first[i.address] for i, registers in body)
