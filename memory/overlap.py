"""How far a tensor that a kernel writes must begin before one that it reads, so that they may share memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    if replay_length(kernel) > MOST_ACCESSES:
        return {}
    roles: dict[str, set[Access]] = {}
    for param, name in zip(kernel.params, call.args, strict=True):
        roles.setdefault(name, set()).add(param.access)
    read = [name for name, access in roles.items() if access == {Access.READ}]
    written = [name for name, access in roles.items() if Access.READ not in access]
    if not read or not written:
        return {}
    trace = trace_kernel(kernel)
    reads = {name: _touches(trace.reads, kernel, call, name) for name in read}
    writes = {name: _touches(trace.writes, kernel, call, name) for name in written}
    types = dict(zip(call.args, (param.dtype for param in kernel.params), strict=True))
    return {
        (x, y): _distance(reads[x], writes[y]) for x in read for y in written if may_alias(types[x], types[y])
    }


def may_alias(a: DType, b: DType) -> bool:
    """Whether C's rules for lvalues (C99, 6.5 paragraph 7) keep accesses of both types in order: bytes may alias
    everything, other types those that differ in sign at most."""
    return min(a.size, b.size) == 1 or (a.size == b.size and a.is_float == b.is_float)


def _touches(found: Mapping[str, Touches], kernel: Kernel, call: Call, tensor: str) -> Touches:
    """The accesses of ``tensor``, which may stand behind several parameters."""
    params: Sequence[str] = [p.name for p, name in zip(kernel.params, call.args, strict=True) if name == tensor]
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
