"""Calls of kernels that compute no more than a run needs: which kernels can, and in which order calls then are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Protocol

from ..ir.graph import Value
from ..ir.loops import Access, Kernel
from ..ir.program import BufferDecl, Storage
from ..ir.steps import Body, Call, has_control_flow, walk_calls
from .actual_extents import Clipped, Within, clip, withins
from .needed import Limit, Needed, either


class Kernels(Protocol):
    """What there is to call."""

    @property
    def buffers(self) -> Mapping[str, BufferDecl]: ...

    def kernel(self, name: str) -> Kernel: ...

    def add_kernel(self, kernel: Kernel) -> str: ...


Needs = Mapping[str, tuple[Within, ...]]
"""What is needed of buffers; of others all."""


def needed_of_buffers(
    values: Iterable[Value],
    needed: Mapping[str, Needed],
    place: Callable[[Value], str],
    buffers: Mapping[str, BufferDecl],
) -> dict[str, tuple[Within, ...]]:
    """What is needed of buffers: what is of each of the ``values`` that are there, by ``place``."""
    found: dict[str, dict[tuple[int, int], Limit]] = {}
    for value in values:
        name = place(value)
        if value.name not in needed or name not in buffers:
            continue
        shape, limits = buffers[name].shape, list(needed[value.name])
        if len(shape) != len(value.shape):
            shape = value.shape if prod(shape) == prod(value.shape) else shape
        if len(shape) != len(limits):
            found[name] = {}
            continue
        for axis, limit in enumerate(limits):
            if limit is not None and shape[axis] != value.shape[axis]:
                limits[axis] = limit.moved(1, shape[axis] - value.shape[axis])
        here = {(within.stride, within.size): within.limit for within in withins(shape, limits)}
        found[name] = _both(found[name], here) if name in found else here
    return {name: tuple(Within(*key, limit) for key, limit in each.items()) for name, each in found.items()}


def _both(a: Mapping[tuple[int, int], Limit], b: Mapping[tuple[int, int], Limit]) -> dict[tuple[int, int], Limit]:
    """What is needed of either of two values in one buffer."""
    pairs = ((key, either(limit, b[key])) for key, limit in a.items() if key in b)
    return {key: limit for key, limit in pairs if limit is not None}


def to_actual_extents(
    body: Body, needs: Needs, extents: Mapping[str, str], kernels: Kernels
) -> Body:
    """``body`` with kernels whose loops run to the extents of the run. ``extents`` are the buffers that hold these, by
    name. Straight lines only."""
    if has_control_flow(body):
        return body
    calls = _Calls(tuple(walk_calls(body)), kernels, extents)
    for number in range(len(calls.calls)):
        calls.clip(number, needs)
    return calls.in_order()


class _Calls:
    """Calls in the order of the text, of which some get further arguments that others compute."""

    def __init__(self, calls: Sequence[Call], kernels: Kernels, extents: Mapping[str, str]) -> None:
        self.calls = list(calls)
        self.kernels, self.extents = kernels, extents
        self.uses = Counter(name for call in calls for name in set(call.args))
        self.writers: dict[str, list[int]] = {}
        self.before: list[set[int]] = []
        self.done: dict[object, Clipped | None] = {}
        readers: dict[str, list[int]] = {}
        for number, call in enumerate(calls):
            written, read = self._touched(call)
            earlier = {n for name in read | written for n in self.writers.get(name, ())}
            self.before.append(earlier | {n for name in written for n in readers.get(name, ())})
            for name in written:
                self.writers.setdefault(name, []).append(number)
            for name in read:
                readers.setdefault(name, []).append(number)

    def _touched(self, call: Call) -> tuple[set[str], set[str]]:
        params = list(zip(self.kernels.kernel(call.kernel).params, call.args, strict=True))
        written = {name for param, name in params if param.access is not Access.READ}
        return written, {name for param, name in params if param.access is not Access.WRITE}

    def clip(self, number: int, needs: Needs) -> None:
        """Another kernel for a call, where there is one that computes less."""
        call = self.calls[number]
        kernel, buffers = self.kernels.kernel(call.kernel), self.kernels.buffers
        if kernel.scalars or kernel.foreign is not None or kernel.fetches:
            return
        needed: dict[str, tuple[Within, ...]] = {}
        temporary: set[str] = set()
        for param, name in zip(kernel.params, call.args, strict=True):
            if param.access is Access.READ:
                continue
            single = call.args.count(name) == 1 and len(self.writers[name]) == 1 and buffers[name].updates is None
            if single and prod(param.shape) == prod(buffers[name].shape):
                needed[param.name] = tuple(w for w in needs.get(name, ()) if self._known(w.limit.extent, number))
            if self.uses[name] == 1 and name not in needs and buffers[name].storage is Storage.ARENA:
                temporary.add(param.name)
        if not any(needed.values()):
            return
        key = kernel.name, tuple(sorted(needed.items())), frozenset(temporary)
        if key not in self.done:
            self.done[key] = clip(kernel, needed, temporary)
        clipped = self.done[key]
        if clipped is not None:
            added = tuple(self.extents[name] for name in clipped.extents)
            stem = f"{kernel.name.rpartition('_')[0]}_to_extent"
            name = self.kernels.add_kernel(replace(clipped.kernel, name=stem))
            self.calls[number] = replace(call, kernel=name, args=(*call.args, *added))
            self.before[number] |= {n for each in added for n in self.writers.get(each, ())}

    def _known(self, extent: str, number: int) -> bool:
        """Whether the extent can be known before a call: it does not depend on what that computes."""
        if extent not in self.extents:
            return False
        waiting, seen = list(self.writers.get(self.extents[extent], ())), set[int]()
        while waiting:
            each = waiting.pop()
            if each == number:
                return False
            if each not in seen:
                seen.add(each)
                waiting.extend(self.before[each])
        return True

    def in_order(self) -> Body:
        """The calls, each behind those before it, else as in the text."""
        found: list[Call] = []
        placed: set[int] = set()
        for number in range(len(self.calls)):
            waiting = [number]
            while waiting:
                each = waiting[-1]
                missing = sorted(self.before[each] - placed, reverse=True)
                waiting.extend(missing)
                if not missing:
                    waiting.pop()
                    if each not in placed:
                        placed.add(each)
                        found.append(self.calls[each])
        return tuple(found)
