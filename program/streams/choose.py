"""Which kernels to stream: those that bring down the peak of the memory plan, and those that were made for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from ...errors import not_by_rows
from ...ir.loops import Kernel
from ...ir.loops_text import print_kernel
from ...ir.program import BufferDecl, MemoryPlan, Storage
from ...ir.steps import Body, Call, map_calls, outline, walk_calls
from ...memory.layout import plan_memory, tensor_requests
from ...memory.peak import at_peak
from ...printable import in_short
from ...record import record
from ...targets.target import Target
from .borders import with_borders
from .fetched import fetched_rows, reader_of_all
from .streaming import Stream, stream

log = logging.getLogger(__name__)

MOST_LAYOUTS = 200
"""Memory plans that are tried, whatever the size of the model."""

LONGEST = 4
"""Calls that may be joined to a stream at a time; streams grow further by joining."""


@record
class Layout:
    """Steps, what they call and use, and where that is in memory: in one arena, as long as streams are chosen."""

    body: Body
    kernels: Mapping[str, Kernel]
    buffers: Mapping[str, BufferDecl]
    plan: MemoryPlan

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the body, in the order of the text."""
        return tuple(walk_calls(self.body))


def lower_peak(layout: Layout, target: Target, enough: Callable[[Layout], bool]) -> Layout:
    """Streams neighbouring calls of straight lines, each time those that bring the peak down most, until it is low
    ``enough`` or does not get lower. The calls of a stream are one call of the result.

    What fetches an input by rows is streamed with the calls that read it. Raises ``BAD_OPTION`` where it cannot be.
    """
    return _Search(_with_borders(layout), target, enough).run()


def join_streamed(
    layout: Layout, target: Target, streamed: frozenset[str], most: int, chunks: Sequence[int] = ()
) -> Layout:
    """Streams neighbouring calls that hand on buffers that are to be ``streamed``, as many at a time as leave at most
    ``most`` bytes of each of these; in the first possible number of ``chunks`` where these are wanted."""
    kernels = dict(layout.kernels)
    for call in layout.calls:
        if not streamed.isdisjoint(call.args):
            kernels[call.kernel] = with_borders(layout.kernels[call.kernel])
    found = _Search(replace(layout, kernels=kernels), target, lambda _: True, chunks).joined(streamed, most)
    return replace(found, kernels={name: layout.kernels.get(name, kernel) for name, kernel in found.kernels.items()})


def _with_borders(layout: Layout) -> Layout:
    """``layout`` with kernels that can be streamed where an input that comes by rows is read."""
    kernels, renamed = dict(layout.kernels), dict[int, Call]()
    for rows in fetched_rows(layout.calls, layout.kernels, layout.buffers):
        for number in rows.readers:
            call = layout.calls[number]
            kernel = with_borders(layout.kernels[call.kernel])
            if kernel is not layout.kernels[call.kernel]:
                kernel = replace(kernel, name=f"{call.kernel}_by_rows")
                kernels[kernel.name], renamed[number] = kernel, replace(call, kernel=kernel.name)
    if not renamed:
        return layout
    body = map_calls(layout.body, lambda number, call: (renamed.get(number, call),))
    called = {call.kernel for call in walk_calls(body)}
    return replace(layout, body=body, kernels={name: kernels[name] for name in kernels if name in called})


_STREAM = "candidate_"

Span = tuple[int, int]
"""The first and the last of some neighbouring calls."""


@dataclass
class _Search:
    start: Layout
    target: Target
    enough: Callable[[Layout], bool]
    chunks: Sequence[int] = ()
    streams: dict[Span, Stream | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = outline(self.start.body)
        self._run_of = {number: run for run in found.runs for number in range(*run)}
        self._tested = {name for _, name in found.tests}
        buffers = self.start.buffers
        self._kept = {name for name, decl in buffers.items() if decl.storage is Storage.STATE}

    def run(self) -> Layout:
        best, spans = self.start, [(n, n) for n in range(len(self.start.calls))]
        for fetching in self._fetching():
            spans = _with(spans, [fetching])
            best = self._layout(spans)
        tried = 0
        while not self.enough(best):
            choices = self._longer(spans, best)[: MOST_LAYOUTS - tried]
            tried += len(choices)
            found = [(self._layout(longer), longer) for longer in choices]
            found = [pair for pair in found if pair[0].plan.ram < best.plan.ram]
            found.sort(key=lambda pair: self._preference(pair[0]))
            chosen = next((pair for pair in found if all(map(self._sound, pair[1]))), None)
            if chosen is None:
                break
            best, spans = chosen
            joined = sum(first < last for first, last in spans)
            done = {"share": tried / MOST_LAYOUTS}
            log.info("%d streams, %d bytes of RAM", joined, best.plan.ram, extra=done)
        return _renumbered(best)

    def joined(self, streamed: frozenset[str], most: int) -> Layout:
        """The calls that hand on what is ``streamed``, joined where at most ``most`` bytes are left of what no others
        use."""
        calls = self.start.calls
        between = [streamed & set(call.args) & set(after.args) for call, after in pairwise(calls)]

        def fits(span: Span) -> bool:
            found = self._stream(span)
            if found is None:
                return False
            left = set[str]().union(*between[slice(*span)]) - self._used_beside(span)
            short = (n in found.rings and found.rings[n].nbytes <= most * found.chunks for n in left)
            return all(short) and self._sound(span)

        spans: list[Span] = []
        first = 0
        while first < len(calls):
            last = first
            while last < len(between) and between[last]:
                last += 1
            last = next((end for end in range(last, first, -1) if fits((first, end))), first)
            spans.append((first, last))
            first = last + 1
        return _renumbered(self._layout(spans))

    def _fetching(self) -> list[Span]:
        """The spans in which inputs come by rows."""
        known = self.start.calls, self.start.kernels, self.start.buffers
        found = fetched_rows(*known)
        for rows in found:
            span = rows.first, rows.last
            stream = self._stream(span) if rows.first < rows.last and self._sound(span) else None
            if stream is None or not rows.tensors <= stream.rings.keys():
                reader = reader_of_all(rows, *known)
                raise not_by_rows(rows.source, f"this needs more than the next rows: {in_short(reader.loc)}")
        return list(dict.fromkeys((rows.first, rows.last) for rows in found))

    def _preference(self, layout: Layout) -> tuple[int, int]:
        """Least first: what is enough with the fewest calls joined, else what takes least."""
        if self.enough(layout):
            return 0, -len(layout.calls)
        return layout.plan.ram, -len(layout.calls)

    def _sound(self, span: Span) -> bool:
        """Whether the calls of a span give what they did apart. One that does not is no stream from then on."""
        found = self._stream(span) if span[0] < span[1] else None
        if span[0] == span[1] or (found is not None and found.sound):
            return True
        self.streams[span] = None
        return False

    def _longer(self, spans: list[Span], layout: Layout) -> list[list[Span]]:
        """Ways to join spans: wherever it is possible, all together that join the same kernels, and each alone that is
        at the peak, those first that hold the call with most bytes alive."""
        peak = self._at_peak(layout)
        requests = tensor_requests(layout.body, layout.kernels, layout.buffers)
        fullest = at_peak(requests, layout.plan.places)
        busiest = max((request.first for request in fullest), default=0)
        alike: dict[tuple[str, ...], list[Span]] = {}
        for start in range(len(spans)):
            for end in range(start + 1, min(start + LONGEST, len(spans))):
                joined = (spans[start][0], spans[end][1])
                if peak & set(range(start, end + 1)) and self._stream(joined) is not None:
                    inside = tuple(call.kernel for call in self.start.calls[joined[0] : joined[1] + 1])
                    alike.setdefault(inside, []).append(joined)
        fullest_span = spans[min(max(busiest, 0), len(spans) - 1)]
        alone = [[joined] for found in alike.values() for joined in found]
        alone.sort(key=lambda joined: not joined[0][0] <= fullest_span[0] <= joined[0][1])
        together = [apart for found in alike.values() if len(apart := _apart(found)) > 1]
        everywhere = [self._everywhere(spans, length) for length in range(2, LONGEST + 1)]
        return [_with(spans, joined) for joined in (*everywhere, *together, *alone) if joined]

    def _everywhere(self, spans: list[Span], length: int) -> list[Span]:
        """From the first call on, as many spans as possible, but at most ``length``, in each stream."""
        found: list[Span] = []
        start = 0
        while start < len(spans):
            end = min(start + length, len(spans)) - 1
            while end > start and self._stream((spans[start][0], spans[end][1])) is None:
                end -= 1
            if end > start:
                found.append((spans[start][0], spans[end][1]))
            start = end + 1
        return found

    def _at_peak(self, layout: Layout) -> set[int]:
        """The calls in which some tensor lies at the top of the arena, or that must give way for one to lie lower."""
        requests = tensor_requests(layout.body, layout.kernels, layout.buffers)
        offsets = layout.plan.pools[0].offsets
        top = max((offsets[r.name] + r.nbytes for r in requests), default=0)
        chain = {r.name for r in requests if offsets[r.name] + r.nbytes == top}
        steps: set[int] = set()
        grown = True
        while grown:
            grown = False
            for request in requests:
                if request.name in chain:
                    steps |= set(range(max(request.first, 0), request.last + 1))
                    below = {
                        other.name
                        for other in requests
                        if other.overlaps(request) and offsets[other.name] < offsets[request.name]
                    }
                    grown |= not below <= chain
                    chain |= below
        return steps

    def _stream(self, span: Span) -> Stream | None:
        if span not in self.streams:
            first, last = span
            if self._run_of[first] != self._run_of[last]:
                self.streams[span] = None
                return None
            inside = self.start.calls[first : last + 1]
            if self._kept and any(self._kept & set(call.args) for call in inside):
                self.streams[span] = None  # rows of a new state could come before the last of the old one are read
                return None
            kept = self._used_beside(span)
            self.streams[span] = stream(inside, self.start.kernels, self.start.buffers, kept, self.chunks)
        return self.streams[span]

    def _used_beside(self, span: Span) -> set[str]:
        """The buffers that other steps than the calls of a span use."""
        first, last = span
        others = (*self.start.calls[:first], *self.start.calls[last + 1 :])
        outside = {name for name, decl in self.start.buffers.items() if decl.storage is not Storage.ARENA}
        return {name for call in others for name in call.args} | self._tested | outside

    def _layout(self, spans: list[Span]) -> Layout:
        kernels, buffers = dict(self.start.kernels), dict(self.start.buffers)
        streams: dict[int, Call] = {}
        joined: set[int] = set()
        for span in spans:
            if span[0] == span[1]:
                continue
            joined.update(range(span[0], span[1] + 1))
            found = self._stream(span)
            assert found is not None
            kernel = replace(found.kernel, name=self._name(found.kernel))
            kernels[kernel.name] = kernel
            streams[span[0]] = replace(found.call, kernel=kernel.name)
            buffers |= found.rings

        def streamed(number: int, call: Call) -> tuple[Call, ...]:
            if number in streams:
                return (streams[number],)
            return () if number in joined else (call,)

        body = map_calls(self.start.body, streamed)
        calls = list(walk_calls(body))
        used = {name for call in calls for name in call.args}
        buffers = {name: decl for name, decl in buffers.items() if name in used or name not in self._uses()}
        called = {call.kernel for call in calls}
        kernels = {name: kernel for name, kernel in kernels.items() if name in called}
        return Layout(body, kernels, buffers, plan_memory(body, kernels, buffers, self.target))

    def _uses(self) -> set[str]:
        return {name for call in self.start.calls for name in call.args}

    def _name(self, kernel: Kernel) -> str:
        """The same for kernels of the same text."""
        return self.names.setdefault(print_kernel(kernel), f"{_STREAM}{len(self.names)}")


def _apart(spans: list[Span]) -> list[Span]:
    """Those that do not overlap an earlier one."""
    found: list[Span] = []
    for span in spans:
        if not found or found[-1][1] < span[0]:
            found.append(span)
    return found


def _with(spans: list[Span], joined: list[Span]) -> list[Span]:
    """``spans`` with ``joined`` in place of those that they consist of."""
    rest = [span for span in spans if not any(first <= span[0] <= last for first, last in joined)]
    return sorted([*rest, *joined])


def _renumbered(layout: Layout) -> Layout:
    """Streams numbered in the order of their calls."""
    found = dict.fromkeys(call.kernel for call in layout.calls if call.kernel.startswith(_STREAM))
    names = {old: f"stream_{number}" for number, old in enumerate(found)}
    kernels = [replace(k, name=names.get(k.name, k.name)) for k in layout.kernels.values()]
    body = map_calls(layout.body, lambda _, call: [replace(call, kernel=names.get(call.kernel, call.kernel))])
    return replace(layout, body=body, kernels={kernel.name: kernel for kernel in kernels})
