"""The new values of states: in the place of the old ones, wherever these are not needed any more by then.

Old and new value are buffers of their own that lie in one place of the memory of states. Where something reads the old
value after the new one begins to be written, this is made in working memory, and copied when everything else is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..ir.loops import Access, Kernel
from ..ir.program import StateTensor
from ..ir.steps import Body, Branch, Call, Repeat, Step, has_control_flow, map_calls, outline, walk_calls
from ..ir.types import TensorType
from ..memory.overlap import least_distance
from ..record import record
from .in_place import in_place_name, without_copies


@record
class Memory:
    """What is known of a program on its way, and what makes more of it.

    ``kernels`` are those of the calls, by name. ``add_kernel`` gives the name of a kernel, ``add_tensor`` that of a new
    buffer of the arena, ``copy`` the steps that copy one buffer of a type to another.
    """

    kernels: Mapping[str, Kernel]
    add_kernel: Callable[[Kernel], str]
    add_tensor: Callable[[str, TensorType], str]
    copy: Callable[[TensorType, str, str], Body]


def update_states(
    body: Body, states: Sequence[StateTensor], memory: Memory
) -> tuple[Body, tuple[StateTensor, ...]]:
    """``body`` in an order in which old values are read early, with new ones written in their place as far as that is
    possible; the states say where it is not."""
    for state in states:
        body = _read_early(body, state, memory.kernels)
    found, copies = [], []
    for state in states:
        changed = _in_place(body, state, memory)
        if changed is None:
            made = memory.add_tensor("next", state.type)
            body = _renamed(body, state.updated, made)
            copies += [*memory.copy(state.type, made, state.updated)]
            state = replace(state, copied=True)
        else:
            body = changed
        found.append(state)
    return (*body, *copies), tuple(found)


def _in_place(body: Body, state: StateTensor, memory: Memory) -> Body | None:
    """``body`` where its last read of the old value comes before the first write of the new one; a call that does both
    is left without what it copies. ``None`` where it does not."""
    kernels = memory.kernels
    calls, flow = list(walk_calls(body)), outline(body)
    reads = [n for n, call in enumerate(calls) if state.buffer in call.args]
    reads += [n for n, name in flow.tests if name == state.buffer]
    writes = [n for n, call in enumerate(calls) if state.updated in _written(call, kernels)]
    first = min(writes, default=len(calls))
    if max(reads, default=-1) > first:
        return None
    for start, end in flow.loops:
        if any(start <= n <= end for n in reads) and any(start <= n <= end for n in writes):
            return None
    if first not in reads:
        return body
    call = calls[first]
    shorter = without_copies(kernels[call.kernel], call, state.buffer, state.updated)
    if shorter is not None and shorter.kernel.body:
        call, kernel = replace(call, args=shorter.args), shorter.kernel
    else:
        kernel = kernels[call.kernel]
    if state.buffer in call.args:
        least = least_distance(kernel, call, state.buffer, state.updated)
        if least is None or least > 0:
            return None
    if kernel is kernels[call.kernel]:
        return body
    changed = replace(call, kernel=memory.add_kernel(replace(kernel, name=in_place_name(kernel))))
    return map_calls(body, lambda n, other: (changed if n == first else other,))


def _read_early(body: Body, state: StateTensor, kernels: Mapping[str, Kernel]) -> Body:
    """What reads the old value before what writes the new one, where nothing forbids it; straight lines only."""
    if has_control_flow(body):
        return body
    calls = list(walk_calls(body))
    first = next((n for n, call in enumerate(calls) if state.updated in _written(call, kernels)), None)
    if first is None:
        return body
    late = {n for n in range(first + 1, len(calls)) if state.buffer in calls[n].args}
    for n in reversed(range(first, len(calls))):
        if any(_depends(calls[later], calls[n], kernels) for later in late if later > n):
            late.add(n)
    if first in late:
        return body
    early = [calls[n] for n in sorted(late)]
    return (*calls[:first], *early, *(call for n, call in enumerate(calls) if n >= first and n not in late))


def _depends(later: Call, earlier: Call, kernels: Mapping[str, Kernel]) -> bool:
    """Whether the two calls have to stay in this order: one of them writes what the other uses."""
    return bool(_written(earlier, kernels) & set(later.args) or _written(later, kernels) & set(earlier.args))


def _written(call: Call, kernels: Mapping[str, Kernel]) -> set[str]:
    params = zip(kernels[call.kernel].params, call.args, strict=True)
    return {name for param, name in params if param.access is not Access.READ}


def _renamed(body: Sequence[Step], old: str, new: str) -> Body:
    """``body`` with another buffer in the place of ``old``."""

    def name(given: str | None) -> str | None:
        return new if given == old else given

    found: list[Step] = []
    for step in body:
        match step:
            case Call():
                found.append(replace(step, args=tuple(new if arg == old else arg for arg in step.args)))
            case Branch():
                then, orelse = _renamed(step.then, old, new), _renamed(step.orelse, old, new)
                tested = new if step.condition == old else step.condition
                found.append(replace(step, condition=tested, then=then, orelse=orelse))
            case Repeat():
                count, condition, number = name(step.count), name(step.condition), name(step.number)
                inner = _renamed(step.body, old, new)
                found.append(replace(step, body=inner, count=count, condition=condition, number=number))
    return tuple(found)
