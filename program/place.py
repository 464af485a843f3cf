"""Memory for the tensors of a program: the order of calls, the pools, and streams where RAM is short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..errors import CcmlError, ErrorCode
from ..ir.program import ARENA, MemoryPlan, Pool, Program
from ..ir.steps import has_control_flow
from ..memory.layout import plan_memory, pool_problem, tensor_requests
from ..memory.order import order_calls as best_order
from ..memory.peak import at_peak
from ..memory.pools import Limits, Problem, distribute, excess, fits
from ..record import record
from ..targets.target import Machine, Target
from .chunking import CHUNKS
from .goal import Goal, Optimize
from .streams.choose import Layout, join_streamed, lower_peak

_NAMED = 6
"""Tensors that an error names."""


def order_calls(program: Program, machine: Machine, goal: Goal) -> Program:
    """One arena for all tensors; where RAM is scarce, with the order of calls that takes the least."""
    target = _target(machine, goal)
    layout = _in_one_arena(program, target)
    if target.scarce_ram:
        layout = _reordered(layout, target)
    return _with_layout(program, layout)


def join_layers(program: Program, machine: Machine, goal: Goal) -> Program:
    """Layers that hand on more than the caches hold streamed row by row; for threads, in chunks."""
    if not program.streamed:
        return program
    target, most = _target(machine, goal), machine.cpu.caches[0].size // 2
    threads = goal.threads
    chunks = sorted(range(threads, CHUNKS * threads + 1), key=lambda n: (n % threads, -n)) if threads > 1 else ()
    layout = join_streamed(_in_one_arena(program, target), target, program.streamed, most, chunks)
    return replace(_with_layout(program, layout), streamed=frozenset())


def place_tensors(program: Program, machine: Machine, goal: Goal) -> Program:
    """The tensors in the pools that the goal names, whether or not there is room for them."""
    return replace(program, plan=_Pools.of(machine, goal).plan(_layout_of(program)))


def stream_layers(program: Program, machine: Machine, goal: Goal) -> Program:
    """Layers streamed row by row, where the goal asks for it or the tensors do not fit without; and those that read an
    input that comes by rows.

    Raises ``BAD_OPTION`` where an input cannot come by rows, and ``BUDGET`` where RAM is not enough whatever is done.
    """
    pools, thrifty = _Pools.of(machine, goal), goal.optimize is Optimize.RAM
    by_rows = any(kernel.fetches for kernel in program.kernels)
    if thrifty or by_rows or excess(program.plan.pools, _beside_states(program.plan, goal.max_ram)):
        target = _target(machine, goal)
        layout = lower_peak(_in_one_arena(program, target), target, _never if thrifty else pools.suffice)
        program = _with_layout(program, replace(layout, plan=pools.plan(layout)))
    if excess(program.plan.pools, _beside_states(program.plan, goal.max_ram)):
        raise _too_much(_layout_of(program), goal.max_ram)
    return program


def _beside_states(plan: MemoryPlan, max_ram: int | None) -> int | None:
    return None if max_ram is None else max(0, max_ram - plan.state_bytes)


def _never(layout: Layout) -> bool:
    return False


def _target(machine: Machine, goal: Goal) -> Target:
    """The machine's, with scarce RAM where the goal makes it so."""
    return replace(machine.target, scarce_ram=machine.target.scarce_ram or goal.scarce_ram)


def _layout_of(program: Program) -> Layout:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return Layout(program.body, kernels, program.buffers, program.plan)


def _in_one_arena(program: Program, target: Target) -> Layout:
    layout = _layout_of(program)
    return replace(layout, plan=plan_memory(layout.body, layout.kernels, layout.buffers, target))


def _with_layout(program: Program, layout: Layout) -> Program:
    """``program`` with other calls, kernels and memory; what has no memory of its own any more has no tap."""
    whole = {name for name, decl in program.buffers.items() if layout.buffers.get(name) == decl}
    return replace(
        program,
        body=layout.body,
        kernels=tuple(layout.kernels.values()),
        buffers=layout.buffers,
        plan=layout.plan,
        taps={value: buffer for value, buffer in program.taps.items() if buffer in whole},
        framed={value: begin for value, begin in program.framed.items() if value in whole},
    )


@record
class _Pools:
    """What there is to hold the tensors of a layout with one arena."""

    limits: Limits
    max_ram: int | None
    target: Target

    @classmethod
    def of(cls, machine: Machine, goal: Goal) -> _Pools:
        return cls(goal.pools or {ARENA: None}, goal.max_ram, _target(machine, goal))

    def plan(self, layout: Layout) -> MemoryPlan:
        """The arena as it is, where it fits into the first pool or has no other; else the tensors distributed."""
        pools, state = self._in_the_first(layout), layout.plan.state
        if len(pools) == 1 or not excess(pools):
            return MemoryPlan(pools, state)
        return MemoryPlan(distribute(self._problem(layout)), state)

    def suffice(self, layout: Layout) -> bool:
        """Whether there is room, by a short search."""
        limits = [limit for limit in self.limits.values() if limit is not None]
        most = sum(limits) if len(limits) == len(self.limits) else math.inf
        ram = sum(pool.ram for pool in layout.plan.pools)
        if ram > min(most, math.inf if self.max_ram is None else self._most(layout) or 0):
            return False
        return not excess(self._in_the_first(layout), self._most(layout)) or fits(self._problem(layout))

    def _in_the_first(self, layout: Layout) -> tuple[Pool, ...]:
        (arena,) = layout.plan.pools
        empty = Pool("", {}, 0, arena.align)
        pools = (arena, *[empty] * (len(self.limits) - 1))
        return tuple(replace(p, name=n, limit=m) for p, (n, m) in zip(pools, self.limits.items(), strict=True))

    def _problem(self, layout: Layout) -> Problem:
        return pool_problem(layout.body, layout.kernels, layout.buffers, self.target, self.limits, self._most(layout))

    def _most(self, layout: Layout) -> int | None:
        """The RAM that may be used besides that of the states."""
        return _beside_states(layout.plan, self.max_ram)


def _reordered(layout: Layout, target: Target) -> Layout:
    """With another order of the calls, where that takes less memory; control flow stays as it is."""
    if has_control_flow(layout.body):
        return layout
    calls = best_order(layout.calls, layout.kernels, layout.buffers)
    if calls == layout.calls:
        return layout
    other = replace(layout, body=calls, plan=plan_memory(calls, layout.kernels, layout.buffers, target))
    return min(layout, other, key=lambda found: found.plan.ram)


def _too_much(layout: Layout, max_ram: int | None) -> CcmlError:
    over = [pool for pool in layout.plan.pools if excess([pool])]
    if not over and max_ram is not None:
        return CcmlError(
            ErrorCode.BUDGET,
            f"the model needs {layout.plan.ram:,} bytes of RAM, inputs and outputs included; {max_ram:,} are allowed",
            hint=f"the largest tensors at the peak, in bytes: {_tensors_at_peak(layout, layout.plan.pools)}",
        )
    there = " and ".join(f"{pool.limit:,} of {pool.name}" for pool in layout.plan.pools if pool.limit is not None)
    needed = " and ".join(f"{pool.ram:,} of {pool.name}" for pool in over)
    return CcmlError(
        ErrorCode.BUDGET,
        f"the model does not fit into {there}, in bytes: it takes {needed}, {excess(over):,} too many, inputs and "
        "outputs included",
        hint=f"the largest tensors at that peak: {_tensors_at_peak(layout, over)}; make room for them, or add a pool "
        "without a limit (--pool NAME) for what is left over",
    )


def _tensors_at_peak(layout: Layout, pools: Sequence[Pool]) -> str:
    """Those that live when most of ``pools`` is taken, with their bytes."""
    requests = tensor_requests(layout.body, layout.kernels, layout.buffers)
    inside = [request for request in requests if any(request.name in pool.offsets for pool in pools)]
    peak = at_peak(inside, layout.plan.places)
    return ", ".join(f"{request.name} ({request.nbytes:,})" for request in peak[:_NAMED])
