"""Memory for the calls of a program, and streams among them, as the goal of the compilation asks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...errors import CcmlError, ErrorCode
from ...ir.loops import Kernel
from ...ir.program import ARENA, BufferDecl, Call, MemoryPlan, Pool
from ...memory.layout import lifetimes, plan_memory, pool_problem
from ...memory.order import order_calls
from ...memory.peak import at_peak
from ...memory.pools import Limits, Problem, distribute, excess, fits
from ...targets.target import Target
from .choose import Layout, lower_peak
from .goal import Goal, Optimize

_NAMED = 6
"""Tensors that an error names."""


def arrange(
    calls: Sequence[Call],
    kernels: Mapping[str, Kernel],
    buffers: Mapping[str, BufferDecl],
    target: Target,
    goal: Goal,
) -> Layout:
    """A plan of least effort that the goal allows: streams only where they are asked for, or where RAM would not be
    enough. Raises ``BUDGET`` where it is not enough whatever is done."""
    target = replace(target, scarce_ram=target.scarce_ram or goal.scarce_ram)
    layout = Layout(tuple(calls), kernels, buffers, plan_memory(calls, kernels, buffers, target))
    if target.scarce_ram:
        layout = _reordered(layout, target)
    pools = _Pools(goal.pools or {ARENA: None}, goal.max_ram, target)
    pooled = pools.plan(layout)
    if goal.optimize is Optimize.RAM or excess(pooled.pools, goal.max_ram):
        layout = lower_peak(layout, target, pools.suffice if goal.optimize is not Optimize.RAM else lambda _: False)
        pooled = pools.plan(layout)
    layout = replace(layout, plan=pooled)
    if excess(pooled.pools, goal.max_ram):
        raise _too_much(layout, goal.max_ram)
    return layout


@dataclass(frozen=True)
class _Pools:
    """What there is to hold the tensors of a layout with one arena."""

    limits: Limits
    max_ram: int | None
    target: Target

    def plan(self, layout: Layout) -> MemoryPlan:
        """The arena as it is, where it fits into the first pool or has no other; else the tensors distributed."""
        pools = self._in_the_first(layout)
        if len(pools) == 1 or not excess(pools):
            return MemoryPlan(pools)
        return MemoryPlan(distribute(self._problem(layout)))

    def suffice(self, layout: Layout) -> bool:
        """Whether there is room, by a short search."""
        limits = [limit for limit in self.limits.values() if limit is not None]
        most = sum(limits) if len(limits) == len(self.limits) else math.inf
        if layout.plan.ram > min(most, math.inf if self.max_ram is None else self.max_ram):
            return False
        return not excess(self._in_the_first(layout), self.max_ram) or fits(self._problem(layout))

    def _in_the_first(self, layout: Layout) -> tuple[Pool, ...]:
        (arena,) = layout.plan.pools
        empty = Pool("", {}, 0, arena.align)
        pools = (arena, *[empty] * (len(self.limits) - 1))
        return tuple(replace(p, name=n, limit=m) for p, (n, m) in zip(pools, self.limits.items(), strict=True))

    def _problem(self, layout: Layout) -> Problem:
        return pool_problem(layout.calls, layout.kernels, layout.buffers, self.target, self.limits, self.max_ram)


def _reordered(layout: Layout, target: Target) -> Layout:
    """With another order of the calls, where that takes less memory."""
    calls = order_calls(layout.calls, layout.kernels, layout.buffers)
    if calls == layout.calls:
        return layout
    other = replace(layout, calls=calls, plan=plan_memory(calls, layout.kernels, layout.buffers, target))
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
    requests = lifetimes(layout.calls, layout.kernels, layout.buffers)
    inside = [request for request in requests if any(request.name in pool.offsets for pool in pools)]
    peak = at_peak(inside, layout.plan.places)
    return ", ".join(f"{request.name} ({request.nbytes:,})" for request in peak[:_NAMED])
