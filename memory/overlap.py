"""How far a tensor that a kernel writes must begin before one that it reads, so that they may share memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from ..ir.loops import Access, Kernel
from ..ir.steps import Call
from ..ir.types import DType
from .replay import MOST_ACCESSES, replay_length
from .trace import Touches, trace_kernel


def least_distances(kernel: Kernel, call: Call) -> dict[tuple[str, str], int]:
    """For each tensor X that the call only reads and each Y that it only writes, the least ``start(X) - start(Y)`` in
    bytes at which no byte of X is overwritten before it has been read for the last time.

    Where Y begins so far before X (or, where the distance is negative, at most so far behind it), they may overlap.
    Nothing is said of kernels that take too long to replay, and of tensors that a C compiler may take to be apart
    because of their types.
    """
    places = list(dict.fromkeys(call.args))
    found = _by_place(kernel, tuple(places.index(name) for name in call.args))
    return {(places[x], places[y]): least for (x, y), least in found.items()}


@lru_cache(maxsize=256)
def _by_place(kernel: Kernel, tensors: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """For a call with these tensors, by number, behind the parameters."""
    if replay_length(kernel) > MOST_ACCESSES:
        return {}
    roles: dict[int, set[Access]] = {}
    for param, tensor in zip(kernel.params, tensors, strict=True):
        roles.setdefault(tensor, set()).add(param.access)
    read = [tensor for tensor, access in roles.items() if access == {Access.READ}]
    written = [tensor for tensor, access in roles.items() if Access.READ not in access]
    if not read or not written:
        return {}
    trace = trace_kernel(kernel)
    reads = {tensor: _touches(trace.reads, kernel, tensors, tensor) for tensor in read}
    writes = {tensor: _touches(trace.writes, kernel, tensors, tensor) for tensor in written}
    types = dict(zip(tensors, (param.dtype for param in kernel.params), strict=True))
    return {
        (x, y): _distance(reads[x], writes[y]) for x in read for y in written if may_alias(types[x], types[y])
    }


def may_alias(a: DType, b: DType) -> bool:
    """Whether C's rules for lvalues (C99, 6.5 paragraph 7) keep accesses of both types in order: bytes may alias
    everything, other types those that differ in sign at most."""
    return min(a.size, b.size) == 1 or (a.size == b.size and a.is_float == b.is_float)


def _touches(found: Mapping[str, Touches], kernel: Kernel, tensors: Sequence[int], tensor: int) -> Touches:
    """The accesses of ``tensor``, which may stand behind several parameters."""
    params = [param.name for param, number in zip(kernel.params, tensors, strict=True) if number == tensor]
    return Touches.joined([found[name] for name in params if name in found])


def _distance(reads: Touches, writes: Touches) -> int:
    """Byte y of Y, written at some time, must not be byte x of X, read later: ``start(X) + x != start(Y) + y``. That is
    so where ``start(X) - start(Y)`` is greater than every such ``y - x``."""
    reach = np.maximum.accumulate(writes.end)
    before = np.searchsorted(writes.time, reads.time, side="left")
    late = before > 0
    if not late.any():
        return _NEVER
    return int((reach[before[late] - 1] - reads.begin[late]).max())


_NEVER = -(1 << 60)
"""All reads come before all writes: the tensors may lie anywhere."""
