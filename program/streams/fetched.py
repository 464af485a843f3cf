"""Which calls have to be one stream so that an input that comes by rows is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ...ir.loops import Access, Kernel, Space
from ...ir.program import BufferDecl, Storage
from ...ir.steps import Call
from ...record import record
from .steps import stage_of


@record
class FetchedRows:
    """The input in the buffer ``source``: the numbers of the call that fetches it, of those that read
    it, or what was only moved or converted of it, and of the last of these, and all ``tensors`` that would hold the
    whole input."""

    source: str
    first: int
    last: int
    readers: tuple[int, ...]
    tensors: frozenset[str]


def fetched_rows(
    calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl]
) -> list[FetchedRows]:
    """Every input that comes by rows, in the order in which they are fetched. What comes to overlap ends together."""
    found: list[FetchedRows] = []
    for number, call in enumerate(calls):
        if kernels[call.kernel].fetches:
            found.append(_followed(number, calls, kernels, buffers))
    for _ in found:
        found = [_widened(rows, found) for rows in found]
    return found


def _widened(rows: FetchedRows, others: Sequence[FetchedRows]) -> FetchedRows:
    """``rows`` as part of one stream with those of the ``others`` whose calls are between its own."""
    near = [other for other in others if other.first <= rows.last and rows.first <= other.last]
    return replace(rows, first=min(other.first for other in near), last=max(other.last for other in near))


def _followed(
    first: int, calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl]
) -> FetchedRows:
    fetch = kernels[calls[first].kernel]
    by_space = {param.space: name for param, name in zip(fetch.params, calls[first].args, strict=True)}
    source, target = by_space[Space.ROWS], by_space[Space.GLOBAL]
    elements, tensors, readers = prod(buffers[target].shape), {target}, list[int]()
    for number, call in enumerate(calls[first + 1 :], first + 1):
        if tensors.isdisjoint(call.args):
            continue
        readers.append(number)
        if not call.macs:
            tensors |= {
                name
                for param, name in zip(kernels[call.kernel].params, call.args, strict=True)
                if param.access is not Access.READ
                and buffers[name].storage is Storage.ARENA
                and prod(buffers[name].shape) >= elements
            }
    return FetchedRows(source, first, max(readers, default=first), tuple(readers), frozenset(tensors))


def reader_of_all(
    rows: FetchedRows, calls: Sequence[Call], kernels: Mapping[str, Kernel], buffers: Mapping[str, BufferDecl]
) -> Call:
    """The call because of which there is no stream, as far as one alone is in the way; else the last of them."""
    inside = calls[rows.first : rows.last + 1]
    for call in inside:
        arena = [name for name in call.args if buffers[name].storage is Storage.ARENA]
        others = {name for other in calls if other is not call for name in other.args}
        if stage_of(kernels[call.kernel], call, [name for name in arena if name not in others]) is None:
            return call
    return inside[-1]
