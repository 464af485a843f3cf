"""A memory plan for the calls of a program: which tensors live when, and where they may overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.loops import Kernel
from ..ir.program import BufferDecl, Call, MemoryPlan, Storage
from ..targets.target import Target
from .overlap import least_distances
from .planner import Distances, Request, place
from .pools import Limits, Problem
from .traffic import tensor_traffic

WORD = 4
"""Bytes that kernels like to load at once: what tensors are aligned to at least."""


def plan_memory(
    calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl], target: Target
) -> MemoryPlan:
    """All tensors in one arena; where RAM is scarce, inputs and outputs as well, and overlapping as far as the check of
    the plan can replay it."""
    requests, distances = _requests(calls, kernels, buffers, target)
    return MemoryPlan((place(requests, target.arena_align, distances),))


def pool_problem(
    calls: Sequence[Call],
    kernels: Mapping[str, Kernel],
    buffers: Mapping[str, BufferDecl],
    target: Target,
    limits: Limits,
    max_ram: int | None,
) -> Problem:
    """The same tensors, to be distributed to pools."""
    requests, distances = _requests(calls, kernels, buffers, target)
    traffic = tensor_traffic((kernels[call.kernel], call.args) for call in calls)
    return Problem(requests, target.arena_align, distances, traffic, limits, max_ram)


def _requests(
    calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl], target: Target
) -> tuple[list[Request], Distances]:
    if not target.scarce_ram:
        return _arena_requests(calls, buffers), {}
    distances: dict[tuple[str, str], int] = {}
    requests = lifetimes(calls, kernels, buffers)
    known = {request.name: request for request in requests}
    for step, call in enumerate(calls):
        dying = {n for n in call.args if n in known and known[n].last == step}
        born = {n for n in call.args if n in known and known[n].first == step}
        if dying and born:
            found = least_distances(kernels[call.kernel], call)
            distances |= {(x, y): least for (x, y), least in found.items() if x in dying and y in born}
    return requests, distances


def _arena_requests(calls: Sequence[Call], buffers: Mapping[str, BufferDecl]) -> list[Request]:
    spans = _uses(calls, buffers, (Storage.ARENA,))
    return [Request(n, buffers[n].nbytes, min(steps), max(steps)) for n, steps in spans.items()]


def lifetimes(
    calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl]
) -> list[Request]:
    """Inputs live from before the first call, outputs until after the last."""
    align = _alignments(calls, kernels)
    spans = _uses(calls, buffers, (Storage.ARENA, Storage.INPUT, Storage.OUTPUT))
    requests = []
    for name, decl in buffers.items():
        if decl.storage is Storage.CONSTANT or (name not in spans and decl.storage is Storage.ARENA):
            continue
        steps = spans.get(name, [0])
        first = -1 if decl.storage is Storage.INPUT else min(steps)
        last = len(calls) if decl.storage is Storage.OUTPUT else max(steps)
        outside = decl.storage is not Storage.ARENA
        requests.append(Request(name, decl.nbytes, first, last, align.get(name, WORD), outside))
    return requests


def _uses(
    calls: Sequence[Call], buffers: Mapping[str, BufferDecl], storages: Sequence[Storage]
) -> dict[str, list[int]]:
    spans: dict[str, list[int]] = {}
    for step, call in enumerate(calls):
        for name in call.args:
            if buffers[name].storage in storages:
                spans.setdefault(name, []).append(step)
    return spans


def _alignments(calls: Sequence[Call], kernels: Mapping[str, Kernel]) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in calls:
        for param, name in zip(kernels[call.kernel].params, call.args, strict=True):
            found[name] = max(found.get(name, WORD), param.align, param.dtype.size)
    return found
