"""When the rows of streamed kernels run: the steps of a common loop, and how much of a tensor must exist at a time.

Each kernel of a stream is a :class:`Stage`, a loop over its rows (pixels, pairs of rows: whatever its outermost loop
counts). In step t it runs row ``(numerator * t - lag) // denominator`` where that is a new one. What one stage writes
and another reads is known for each row from the trace of its kernel; the lags are the least at which every row finds
what it reads, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import gcd

import numpy as np

from ...ir.loops import Access, Alloc, Kernel, Let
from ...ir.steps import Call
from ...memory.replay import MOST_ACCESSES, replay_length
from ...memory.trace import OuterLoop, Touches, TouchesByName, trace_kernel
from ...record import record

MOST_ROWS = 1 << 13
"""Rows of a stage; products of steps and rows stay within 32 bits."""

_NOTHING = 1 << 60

_Pieces = list[tuple[np.ndarray, np.ndarray]]


@record
class Footprint:
    """The bytes of a tensor that each row touches: from ``begin`` to before ``end``; none where begin is greater.

    ``accesses`` gives begins and ends of the single accesses, and of the spans of block instructions, in parts.
    """

    begin: np.ndarray
    end: np.ndarray
    accesses: Callable[[], _Pieces]

    @staticmethod
    def of(hulls: Touches, rows: np.ndarray, count: int, accesses: Callable[[], _Pieces]) -> Footprint:
        """From what is touched together, for each the number of its row."""
        begin, end = np.full(count, _NOTHING), np.zeros(count, np.int64)
        np.minimum.at(begin, rows, hulls.begin)
        np.maximum.at(end, rows, hulls.end)
        return Footprint(begin, end, accesses)

    @cached_property
    def pieces(self) -> _Pieces:
        """The begins and the ends of what is accessed in one piece."""
        return self.accesses()


@record
class Stage:
    """One kernel of a stream with its call; footprints by tensor. ``loop`` is the number of the statement that is the
    loop over rows; what comes behind it is the last row, and what comes before it, with ``first_row``, the first."""

    kernel: Kernel
    call: Call
    loop: int
    rows: int
    first_row: bool
    reads: Mapping[str, Footprint]
    writes: Mapping[str, Footprint]


def stage_of(kernel: Kernel, call: Call, scratch: Sequence[str]) -> Stage | None:
    """``None`` where the kernel has no loop over rows, or one over too many, where it takes too long to follow, and
    where it touches tensors (but ``scratch``) before the loop in statements that cannot be taken out."""
    if replay_length(kernel) > MOST_ACCESSES:
        return None
    trace = trace_kernel(kernel)
    params = _parameters(kernel, call, scratch)
    reads, writes = _hulls(trace.reads, params), _hulls(trace.writes, params)
    found = (*reads.values(), *writes.values())
    loop = _loop_over_rows(trace.loops, list(reads.values()), list(writes.values()))
    if loop is None:
        return None
    earlier = any(loop.begins_after(touches) for touches in found)
    inout = any(p.access is Access.READ_WRITE and n not in scratch for p, n in zip(kernel.params, call.args))
    if inout or (earlier and any(isinstance(stmt, (Alloc, Let)) for stmt in kernel.body[: loop.position])):
        return None
    rows = earlier + loop.extent + (loop.position + 1 < len(kernel.body))
    if rows > MOST_ROWS:
        return None

    def footprints(found: Mapping[str, Touches], touches: TouchesByName) -> dict[str, Footprint]:
        return {
            name: Footprint.of(
                hulls,
                np.maximum(loop.iterations(hulls), -1) + earlier,
                rows,
                partial(_accesses, (touches, trace.spans), params[name]),
            )
            for name, hulls in found.items()
        }

    return Stage(
        kernel, call, loop.position, rows, earlier, footprints(reads, trace.reads), footprints(writes, trace.writes)
    )


def _loop_over_rows(
    loops: Sequence[OuterLoop], read: Sequence[Touches], written: Sequence[Touches]
) -> OuterLoop | None:
    """The longest loop in which something is touched, but rather one that reads than one that only writes a border."""

    reading = [any(loop.contains_some_of(each) for each in read) for loop in loops]
    chosen = [
        (reads, loop.extent, -number)
        for number, (reads, loop) in enumerate(zip(reading, loops, strict=True))
        if reads or any(loop.contains_some_of(each) for each in written)
    ]
    return loops[-max(chosen)[2]] if chosen else None


def _parameters(kernel: Kernel, call: Call, scratch: Sequence[str]) -> dict[str, list[str]]:
    """The parameters that each tensor but ``scratch`` stands behind."""
    found: dict[str, list[str]] = {}
    for param, name in zip(kernel.params, call.args, strict=True):
        if name not in scratch:
            found.setdefault(name, []).append(param.name)
    return found


def _hulls(found: TouchesByName, params: Mapping[str, Sequence[str]]) -> dict[str, Touches]:
    """What iterations of the outermost loops touch of each tensor, in no order."""
    parts = {name: [hull for p in own if p in found for hull in found.hulls(p)] for name, own in params.items()}
    return {name: Touches.together(hulls) for name, hulls in parts.items() if hulls}


def _accesses(kinds: Sequence[TouchesByName], params: Sequence[str]) -> _Pieces:
    return [piece for found in kinds for param in params if param in found for piece in found.pieces(param)]


@record
class Pace:
    """Row ``(numerator * t - lag) // denominator`` in step t."""

    rows: int
    numerator: int
    denominator: int
    lag: int = 0

    def step(self, row: np.ndarray) -> np.ndarray:
        """The step in which each row runs: the first t at whose end ``row + 1`` rows are done."""
        return -(-(self.denominator * (row + 1) + self.lag) // self.numerator) - 1

    def not_before(self, row: np.ndarray, step: np.ndarray) -> Pace:
        """With the least lag at which each row runs in its ``step`` or later."""
        least = self.numerator * step - self.denominator * (row + 1) + 1
        return replace(self, lag=max(self.lag, int(least.max(initial=0))))

    def not_after(self, row: np.ndarray, step: np.ndarray) -> Pace:
        """With the greatest lag at which each row runs in its ``step`` or before."""
        most = self.numerator * (step + 1) - self.denominator * (row + 1)
        return replace(self, lag=max(self.lag, int(most.min()))) if most.size else self

    @property
    def last_step(self) -> int:
        return int(self.step(np.array([self.rows - 1]))[0])


def paces(stages: Sequence[Stage]) -> list[Pace]:
    """The pace of each stage: as soon as its operands allow; then producers as late as their consumers allow, so that
    little waits to be used."""
    most = max(stage.rows for stage in stages)
    found = [Pace(s.rows, s.rows // gcd(s.rows, most), most // gcd(s.rows, most)) for s in stages]
    links = []
    for p, c, tensor in _dependences(stages):
        rows, _, needed = needs(stages[p], stages[c], tensor)
        links.append((p, c, rows, needed))
    for consumer in range(len(stages)):
        for producer, reader, rows, needed in links:
            if reader == consumer:
                found[consumer] = found[consumer].not_before(rows, found[producer].step(needed))
    for producer in reversed(range(len(stages))):
        bounds = [(needed, found[c].step(rows)) for p, c, rows, needed in links if p == producer]
        if bounds:
            rows, steps = (np.concatenate(part) for part in zip(*bounds))
            found[producer] = found[producer].not_after(rows, steps)
    return found


def _dependences(stages: Sequence[Stage]) -> list[tuple[int, int, str]]:
    """Producer, consumer and tensor."""
    return [
        (p, c, tensor)
        for c, consumer in enumerate(stages)
        for p in range(c)
        for tensor in consumer.reads
        if tensor in stages[p].writes
    ]


def needs(producer: Stage, consumer: Stage, tensor: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the consumer that read the tensor, and for each the first and the last row of the producer that must have
    run; where there is none, the first is behind all rows, and the last before them."""
    written, read = producer.writes[tensor], consumer.reads[tensor]
    rows, of_producer = np.flatnonzero(read.begin < read.end), np.arange(written.begin.size)
    meeting = [(written.begin < read.end[row]) & (written.end > read.begin[row]) for row in rows]
    first = [of_producer[each].min(initial=producer.rows) for each in meeting]
    last = [of_producer[each].max(initial=-1) for each in meeting]
    return rows, np.array(first, np.int64), np.array(last, np.int64)


def window(stages: Sequence[Stage], found: Sequence[Pace], tensor: str) -> int:
    """The most bytes of an intermediate tensor between the first that is still touched and the last written.

    A buffer of so many bytes, in which byte n stands at n modulo its size, holds all that is needed at any time.
    """
    moments, begins, ends = [], [], []
    for number, (stage, pace) in enumerate(zip(stages, found, strict=True)):
        for touched, writes in ((stage.reads.get(tensor), False), (stage.writes.get(tensor), True)):
            if touched is not None:
                rows = np.flatnonzero(touched.begin < touched.end)
                moments.append(pace.step(rows) * len(stages) + number)
                begins.append(touched.begin[rows])
                ends.append(touched.end[rows] if writes else np.zeros(rows.size, np.int64))
    moment, begin, end = (np.concatenate(part) for part in (moments, begins, ends))
    order = np.lexsort((-end, moment))
    return int((np.maximum.accumulate(end[order]) - begin[order]).max(initial=0))
