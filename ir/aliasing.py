"""Which kernel parameters never overlap other memory that matters: where the printers may say ``restrict``."""

from __future__ import annotations

from ..record import record
from .loops import Access
from .program import Program


@record
class _Region:
    """Bytes ``begin`` to ``end`` of one block of memory: a pool, by its number, or a tensor of its own."""

    block: str | int
    begin: int
    end: int

    def overlaps(self, other: _Region) -> bool:
        return self.block == other.block and self.begin < other.end and other.begin < self.end


def disjoint_params(program: Program) -> dict[str, frozenset[str]]:
    """For each kernel the parameters whose memory, in every call, holds nothing that another argument writes and,
    where they are written themselves, nothing that another argument reads or writes.

    Buffers with planned offsets are compared by these: a tensor of the caller's is there or, as the header of the
    artifact demands, apart from everything else. Without an offset it always is.
    """
    overlapping: dict[str, set[str]] = {kernel.name: set() for kernel in program.kernels}
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for call in program.calls:
        params = kernels[call.kernel].params
        regions = [_region(program, name) for name in call.args]
        for i, first in enumerate(params):
            for j in range(i):
                second = params[j]
                written = first.access is not Access.READ or second.access is not Access.READ
                if written and regions[i].overlaps(regions[j]):
                    overlapping[call.kernel] |= {first.name, second.name}
    return {
        name: frozenset(param.name for param in kernel.params) - overlapping[name] for name, kernel in kernels.items()
    }


def _region(program: Program, name: str) -> _Region:
    decl = program.buffers[name]
    place = program.plan.places.get(name)
    if place is None:
        return _Region(name, 0, decl.nbytes)
    return _Region(place.pool, place.offset, place.offset + decl.nbytes)
