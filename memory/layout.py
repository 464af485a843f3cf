"""A memory plan for the steps of a program: which tensors live when, and where they may overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.loops import Kernel
from ..ir.program import STATE, BufferDecl, MemoryPlan, Pool, Storage
from ..ir.steps import Call, Step, walk_calls
from ..targets.target import Target
from .lifetimes import Lifetime, lifetimes
from .overlap import least_distance, may_be_in_place
from .planner import Distances, Pairs, least_bytes, place
from .pools import Limits, Problem
from .request import Request
from .traffic import tensor_traffic

WORD = 4
"""Bytes that kernels like to load at once: what tensors are aligned to at least."""

_ELSEWHERE = (Storage.CONSTANT, Storage.STATE, Storage.ROWS)
"""What no plan gives a place."""


def plan_memory(
    body: Sequence[Step], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl], target: Target
) -> MemoryPlan:
    """All tensors but states in one arena; where RAM is scarce, inputs and outputs as well, and overlapping as far as
    the check of the plan can replay it."""
    requests, distances, in_place = _requests(body, kernels, buffers, target)
    states = plan_states(body, kernels, buffers, target)
    return MemoryPlan((place(requests, target.arena_align, distances, in_place=in_place),), states)


def bytes_by_call(
    body: Sequence[Step], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl], target: Target
) -> dict[int, int]:
    """For the numbers of calls that write the first element of a tensor: the bytes that tensors need then at least."""
    requests, distances, _ = _requests(body, kernels, buffers, target)
    return least_bytes(requests, target.arena_align, distances)


def plan_states(
    body: Sequence[Step], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl], target: Target
) -> Pool | None:
    """States one behind the other, in their order, with what updates them in their place; ``None`` where there are
    none."""
    states = {name: decl for name, decl in buffers.items() if decl.storage is Storage.STATE}
    if not states:
        return None
    align = _alignments(list(walk_calls(body)), kernels)
    offsets: dict[str, int] = {}
    size, greatest = 0, target.arena_align
    for name, decl in states.items():
        if decl.updates is None:
            both = [name, *(other for other, new in states.items() if new.updates == name)]
            step = max(WORD, *(max(align.get(each, 0), states[each].dtype.size) for each in both))
            size = -(-size // step) * step
            offsets |= dict.fromkeys(both, size)
            size, greatest = size + decl.nbytes, max(greatest, step)
    return Pool(STATE, offsets, -(-size // greatest) * greatest, greatest)


def pool_problem(
    body: Sequence[Step],
    kernels: Mapping[str, Kernel],
    buffers: Mapping[str, BufferDecl],
    target: Target,
    limits: Limits,
    max_ram: int | None,
) -> Problem:
    """The same tensors, to be distributed to pools."""
    requests, distances, in_place = _requests(body, kernels, buffers, target)
    traffic = tensor_traffic((kernels[call.kernel], call.args) for call in walk_calls(body))
    return Problem(requests, target.arena_align, distances, traffic, limits, max_ram, in_place)


def _requests(
    body: Sequence[Step], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl], target: Target
) -> tuple[list[Request], Distances, Pairs]:
    lives = lifetimes(body, kernels)
    if not target.scarce_ram:
        inside = {name: life for name, life in lives.items() if buffers[name].storage is Storage.ARENA}
        return [Request(name, buffers[name].nbytes, life.first, life.last) for name, life in inside.items()], {}, set()
    requests = tensor_requests(body, kernels, buffers)
    spans = {request.name: (request.first, request.last) for request in requests}
    distances: dict[tuple[str, str], int] = {}
    in_place: set[tuple[str, str]] = set()
    for step, call in enumerate(walk_calls(body)):
        args = list(dict.fromkeys(call.args))
        dying = [name for name in args if _ends(name, spans, lives, 1, step)]
        born = [name for name in args if _ends(name, spans, lives, 0, step)]
        found = {(x, y): least_distance(kernels[call.kernel], call, x, y) for x in dying for y in born}
        distances |= {pair: least for pair, least in found.items() if least is not None}
        in_place |= {(x, y) for x, y in found if may_be_in_place(kernels[call.kernel], call, x, y)}
    return requests, distances, in_place


def _ends(
    name: str, spans: Mapping[str, tuple[int, int]], lives: Mapping[str, Lifetime], end: int, step: int
) -> bool:
    """Whether a tensor begins (0) or ends (1) to live at a step, in a straight line and not because of a loop."""
    return name in spans and spans[name][end] == step and not lives[name].across_passes


def tensor_requests(
    body: Sequence[Step], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl]
) -> list[Request]:
    """All tensors that a plan may place. Inputs live from before the first call, outputs until after the last."""
    calls = list(walk_calls(body))
    align = _alignments(calls, kernels)
    lives = lifetimes(body, kernels)
    requests = []
    for name, decl in buffers.items():
        if decl.storage in _ELSEWHERE or (name not in lives and decl.storage is Storage.ARENA):
            continue
        life = lives.get(name, Lifetime(0, 0))
        first = -1 if decl.storage is Storage.INPUT else life.first
        last = len(calls) if decl.storage is Storage.OUTPUT else life.last
        outside = decl.storage is not Storage.ARENA
        requests.append(Request(name, decl.nbytes, first, last, align.get(name, max(WORD, decl.dtype.size)), outside))
    return requests


def _alignments(calls: Sequence[Call], kernels: Mapping[str, Kernel]) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in calls:
        for param, name in zip(kernels[call.kernel].params, call.args, strict=True):
            found[name] = max(found.get(name, WORD), param.align, param.dtype.size)
    return found
