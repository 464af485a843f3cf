"""Memory for the calls of a program, and streams among them, as the goal of the compilation asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import CcmlError, ErrorCode
from ...ir.loops import Kernel
from ...ir.program import BufferDecl, Call
from ...memory.layout import lifetimes, plan_memory
from ...memory.order import order_calls
from ...memory.peak import at_peak
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
    limit = goal.max_ram
    if goal.optimize is Optimize.RAM or (limit is not None and layout.plan.ram > limit):
        enough = 0 if goal.optimize is Optimize.RAM or limit is None else limit
        layout = lower_peak(layout, target, enough)
    if limit is not None and layout.plan.ram > limit:
        raise _too_much(layout, limit)
    return layout


def _reordered(layout: Layout, target: Target) -> Layout:
    """With another order of the calls, where that takes less memory."""
    calls = order_calls(layout.calls, layout.kernels, layout.buffers)
    if calls == layout.calls:
        return layout
    other = replace(layout, calls=calls, plan=plan_memory(calls, layout.kernels, layout.buffers, target))
    return min(layout, other, key=lambda found: found.plan.ram)


def _too_much(layout: Layout, limit: int) -> CcmlError:
    peak = at_peak(lifetimes(layout.calls, layout.kernels, layout.buffers), layout.plan.offsets)
    tensors = ", ".join(f"{request.name} ({request.nbytes:,})" for request in peak[:_NAMED])
    return CcmlError(
        ErrorCode.BUDGET,
        f"the model needs {layout.plan.ram:,} bytes of RAM, inputs and outputs included; {limit:,} are allowed",
        hint=f"the largest tensors at the peak, in bytes: {tensors}",
    )
