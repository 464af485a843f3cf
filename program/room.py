"""Working memory that is free while a layer runs: some take it to compute in fewer cycles, as long as the whole takes
no more for it.

How much is free is what the plan leaves of a program whose layers do without. Another plan says whether they took too
much, and how much less it may be: where a layer takes the place of its operand, for one, may depend on its loops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from ..ir.graph import Graph
from ..ir.program import Program, Storage
from ..ir.steps import has_control_flow
from ..memory.layout import bytes_by_call, tensor_requests
from ..schedule.dsp.winograd import is_roomy
from ..targets.target import Machine, Target

Room = Mapping[str, int]
"""For layers, by the names of their first results: the bytes that are free while they run."""
NO_ROOM: Room = MappingProxyType({})


def layers_with_use_for_room(graph: Graph, machine: Machine) -> list[str]:
    """The layers, by the names of their first results, that compute in fewer cycles in more memory, where memory is
    planned for the least."""
    if not machine.target.scarce_ram:
        return []
    return [node.outputs[0].name for node in graph.nodes if is_roomy(node, machine.cpu)]


def free_room(direct: Program, layers: Collection[str], target: Target) -> Room:
    """What some ``layers`` of a program may have for temporaries."""
    if has_control_flow(direct.body):
        return NO_ROOM
    (plan,) = direct.plan.pools
    calls, needed, own = _calls(direct, layers), _needed(direct, target), _temporaries(direct)
    most = plan.size or plan.whole
    room = {name: most - needed[number] + own[number] for name, number in calls.items()}
    return {name: nbytes for name, nbytes in room.items() if nbytes > own[calls[name]]}


def less_room(program: Program, direct: Program, room: Room, target: Target) -> Room:
    """``room`` itself where the plan of a ``program`` that has it takes no more memory than one without, else what is
    left for each layer then."""
    (plan,), (least,) = program.plan.pools, direct.plan.pools
    if plan.size <= least.size and plan.whole <= least.whole:
        return room
    needed, own, before = _needed(program, target), _temporaries(program), _temporaries(direct)
    calls = {name: number for name, number in _calls(program, room).items() if own[number] > before[number]}
    excess = {name: needed[number] - least.ram for name, number in calls.items() if needed[number] > least.ram}
    if calls and not excess:
        largest = max(calls, key=lambda name: own[calls[name]])
        excess = {largest: max(plan.size - least.size, plan.whole - least.whole)}
    left = {**room, **{name: own[calls[name]] - nbytes for name, nbytes in excess.items()}}
    return {name: nbytes for name, nbytes in left.items() if name in calls and nbytes > 0}


def _calls(program: Program, layers: Collection[str]) -> dict[str, int]:
    """The calls of layers, by the names of their first results."""
    found: dict[str, int] = {}
    for number, call in enumerate(program.calls):
        for name in call.args:
            if name in layers:
                found.setdefault(name, number)
    return found


def _needed(program: Program, target: Target) -> Mapping[int, int]:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return bytes_by_call(program.body, kernels, program.buffers, target)


def _temporaries(program: Program) -> list[int]:
    """For each call the bytes of what lives during it alone, and is no result."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    found = [0] * len(program.calls)
    values = set(program.taps.values())
    for request in tensor_requests(program.body, kernels, program.buffers):
        inside = program.buffers[request.name].storage is Storage.ARENA and request.name not in values
        if inside and request.first == request.last:
            found[request.first] += request.nbytes
    return found
