"""How far a tensor that a kernel writes must begin before one that it reads, so that they may share memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from ..ir.loops import Access, Kernel
from ..ir.steps import Call
from ..ir.types import DType
from .replay import MOST_ACCESSES, replay_length
from .trace import Touches, TouchesByName, trace_kernel


def least_distance(kernel: Kernel, call: Call, read: str, written: str) -> int | None:
    """The least ``start(read) - start(written)`` in bytes of two tensors of a call, the one only read and the other
    only written, at which no byte is overwritten before it has been read for the last time.

    Where ``written`` begins so far before ``read`` (or, where the distance is negative, at most so far behind it), they
    may overlap. ``None`` where nothing is said: of tensors that are used otherwise, of kernels that take too long to
    replay, and of tensors that a C compiler may take to be apart because of their types.
    """
    return _of_call(kernel, call, read, written).least


def may_be_in_place(kernel: Kernel, call: Call, read: str, written: str) -> bool:
    """Whether two such tensors may begin at the same place, although they may not lie somewhat apart: where each byte
    is read for the last time before it is written."""
    return _of_call(kernel, call, read, written).in_place


class _Overlap(NamedTuple):
    """The least distance of two tensors, and whether they may begin at the same place."""

    least: int | None
    in_place: bool


def _of_call(kernel: Kernel, call: Call, read: str, written: str) -> _Overlap:
    places = list(dict.fromkeys(call.args))
    tensors = tuple(places.index(name) for name in call.args)
    return _by_place(kernel, tensors, places.index(read), places.index(written))


@lru_cache(maxsize=1024)
def _by_place(kernel: Kernel, tensors: tuple[int, ...], read: int, written: int) -> _Overlap:
    """For a call with these tensors, by number, behind the parameters."""
    if replay_length(kernel) > MOST_ACCESSES:
        return _UNKNOWN
    roles: dict[int, set[Access]] = {}
    for param, tensor in zip(kernel.params, tensors, strict=True):
        roles.setdefault(tensor, set()).add(param.access)
    types = dict(zip(tensors, (param.dtype for param in kernel.params), strict=True))
    if roles[read] != {Access.READ} or Access.READ in roles[written] or not may_alias(types[read], types[written]):
        return _UNKNOWN
    trace = trace_kernel(kernel)
    reads, writes = (
        [part for name in _parameters(found, kernel, tensors, tensor) for part in found.each(name)]
        for found, tensor in ((trace.reads, read), (trace.writes, written))
    )
    by_time = Touches.joined(writes)
    reach, least = np.maximum.accumulate(by_time.end), _NEVER
    for part in reads:
        least = max(least, _distance(part, by_time.time, reach, least))
    return _Overlap(least, least <= 0 or _read_before_written(reads, writes))


def _read_before_written(reads: Sequence[Touches], writes: Sequence[Touches]) -> bool:
    """Whether each byte is read for the last time before it is written, if both begin at the same place."""
    unit = _common_unit([*reads, *writes])
    size = max(int(part.end.max(initial=0)) for part in (*reads, *writes)) // unit
    first_write, last_read = np.full(size, -_NEVER), np.full(size, _NEVER)
    for part in writes:
        _keep_times(part, unit, first_write, np.minimum)
    for part in reads:
        _keep_times(part, unit, last_read, np.maximum)
    return bool(np.all(last_read <= first_write))


def _common_unit(touches: Sequence[Touches]) -> int:
    """The largest power of two, up to the size of any element, that all ``touches`` begin and end at multiples of."""
    every = reduce(or_, (int(np.bitwise_or.reduce(side)) for part in touches for side in (part.begin, part.end)), 16)
    return every & -every


def _keep_times(touches: Touches, unit: int, times: np.ndarray, keep: np.ufunc) -> None:
    """Puts into ``times``, one for each ``unit`` of bytes, what ``keep`` chooses of those of all ``touches`` of it:
    many short ones unit by unit of all, few long ones one by one."""
    begins, widths = touches.begin // unit, (touches.end - touches.begin) // unit
    for width in np.flatnonzero(np.bincount(widths)):
        begin, time = begins[widths == width], touches.time[widths == width]
        if len(begin) < width:
            for first, when in zip(begin.tolist(), time.tolist()):
                part = times[first : first + width]
                keep(part, when, out=part)
        else:
            for place in range(width):
                keep.at(times, begin + place, time)


def may_alias(a: DType, b: DType) -> bool:
    """Whether C's rules for lvalues (C99, 6.5 paragraph 7) keep accesses of both types in order: bytes may alias
    everything, other types those that differ in sign at most."""
    return min(a.size, b.size) == 1 or (a.size == b.size and a.is_float == b.is_float)


def _parameters(found: TouchesByName, kernel: Kernel, tensors: Sequence[int], tensor: int) -> list[str]:
    """The parameters with accesses behind which ``tensor`` stands; these may be several."""
    params = [param.name for param, number in zip(kernel.params, tensors, strict=True) if number == tensor]
    return [name for name in params if name in found.events]


def _distance(reads: Touches, times: np.ndarray, reach: np.ndarray, known: int) -> int:
    """Byte y of Y, written at some time, must not be byte x of X, read later: ``start(X) + x != start(Y) + y``. That is
    so where ``start(X) - start(Y)`` is greater than every such ``y - x``, of which this is the greatest, if it is more
    than what is ``known`` already. ``reach`` has the end of all bytes written until each of the ``times``."""
    groups = np.arange(0, len(reads.time), _GROUP)
    if not len(groups) or not len(times):
        return known
    latest, first = np.maximum.reduceat(reads.time, groups), np.minimum.reduceat(reads.begin, groups)
    for group in groups[_beyond(latest, first, times, reach) > known]:
        part = slice(group, group + _GROUP)
        known = max(known, int(_beyond(reads.time[part], reads.begin[part], times, reach).max()))
    return known


def _beyond(time: np.ndarray, begin: np.ndarray, times: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """How far what was written before each ``time`` reaches beyond ``begin``."""
    before = np.searchsorted(times, time, side="left")
    return np.where(before > 0, reach[before - 1] - begin, _NEVER)


_GROUP = 256
"""Reads that are looked at together first: most cannot reach as far as others did."""

_NEVER = -(1 << 60)
"""All reads come before all writes: the tensors may lie anywhere."""

_UNKNOWN = _Overlap(None, False)
