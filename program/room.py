"""Working memory that is free while a layer runs: some take it to compute in fewer cycles, as long as the whole takes
no more for it.

What is free is estimated before there is a plan, from the tensors of the graph alone. The plan then says who took too
much, and how much less it may be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate
from types import MappingProxyType

from ..ir.graph import Graph
from ..ir.program import Program, Storage
from ..ir.steps import has_control_flow
from ..memory.layout import bytes_by_call, plan_memory, tensor_requests
from ..memory.request import Request
from ..schedule.dsp.winograd import MOST_ROOM, is_roomy
from ..schedule.outputs import storage_owners
from ..targets.target import Machine, Target

Room = Mapping[str, int]
"""For layers, by the names of their first results: the bytes that are free while they run."""
NO_ROOM: Room = MappingProxyType({})


def estimated_room(graph: Graph, machine: Machine) -> Room:
    """What the layers that can use it find free below the most that tensors take at any time: of a straight line of
    layers, on machines whose memory is planned for the least."""
    roomy = [number for number, node in enumerate(graph.nodes) if is_roomy(node, machine.cpu)]
    if not roomy or not machine.target.scarce_ram:
        return NO_ROOM
    taken = _bytes_in_use(graph)
    most = max(taken)
    return {
        graph.nodes[number].outputs[0].name: min(most - taken[number], MOST_ROOM)
        for number in roomy
        if taken[number] < most
    }


def _bytes_in_use(graph: Graph) -> list[int]:
    """For each node what the tensors take that live while it runs."""
    owner, end = storage_owners(graph), len(graph.nodes) - 1
    first = {owner[value.name]: 0 for value in graph.inputs}
    last = dict(first)
    for number, node in enumerate(graph.nodes):
        for name in (owner[value.name] for value in (*node.operands, *node.outputs) if value.name in owner):
            first.setdefault(name, number)
            last[name] = number
    last |= {owner[value.name]: end for value in graph.outputs if value.name in owner}
    change = [0] * (end + 2)
    for value in graph.values():
        if owner[value.name] == value.name:
            change[first[value.name]] += value.type.nbytes
            change[last[value.name] + 1] -= value.type.nbytes
    return list(accumulate(change[:-1]))


def less_room(program: Program, room: Room, target: Target) -> Room:
    """``room`` itself where the plan takes no more memory than one without the temporaries of layers that use it, else
    what is left for each of them then."""
    if has_control_flow(program.body):
        return NO_ROOM
    kernels = {kernel.name: kernel for kernel in program.kernels}
    layout = program.body, kernels, program.buffers, target
    calls = _calls(program, room)
    own = _temporaries(program, set(calls.values()))
    without = {request.name for requests in own.values() for request in requests}
    (plan,), (least,) = program.plan.pools, plan_memory(*layout, without=without).pools
    if plan.size <= least.size and plan.whole <= least.whole:
        return room
    taken = {number: sum(request.nbytes for request in requests) for number, requests in own.items()}
    needed = bytes_by_call(*layout)
    excess = {number: max(0, needed[number] - least.ram) for number in own}
    if not any(excess.values()):
        excess[max(taken, key=lambda number: taken[number])] = max(plan.size - least.size, plan.whole - least.whole)
    return {
        name: left
        for name, number in calls.items()
        if (left := max(0, taken[number] - excess[number]) if excess[number] else room[name])
    }


def _calls(program: Program, room: Room) -> dict[str, int]:
    """The calls of layers with room, by the names of their first results."""
    found: dict[str, int] = {}
    for number, call in enumerate(program.calls):
        for name in call.args:
            if name in room:
                found.setdefault(name, number)
    return found


def _temporaries(program: Program, calls: Collection[int]) -> dict[int, list[Request]]:
    """What lives during one of the ``calls`` alone, by their numbers."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    found: dict[int, list[Request]] = {number: [] for number in calls}
    for request in tensor_requests(program.body, kernels, program.buffers):
        inside = program.buffers[request.name].storage is Storage.ARENA
        if inside and request.first == request.last and request.first in found:
            found[request.first].append(request)
    return found
