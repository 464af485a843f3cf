"""The rows of a stream in chunks, which may run at the same time.

What the stream leaves behind is cut into as many runs of rows as there are chunks. Of what is kept in buffers of a few
rows, each chunk computes all that its own rows need, in buffers of its own: rows at the seams are computed twice::

    rows of      first (kept in a buffer)     second (3 rows high)
    chunk 0      0 ... 14                     0 ... 13
    chunk 1         13 ... 28                    14 ... 27
    chunk 2               27 ... 41                    28 ... 41
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from ...ir.loops import Expr, Var
from ...record import record
from .steps import Pace, Stage, needs

MOST_AGAIN = 1 / 10
"""The share of the multiplications of a stream that may be done a second time for the sake of chunks."""


@record
class Line:
    """``slope * chunk + start``: a number of each chunk."""

    slope: int
    start: int

    def of(self, chunks: np.ndarray) -> np.ndarray:
        return self.slope * chunks + self.start

    def expr(self, chunk: Var) -> Expr:
        return chunk * self.slope + self.start


@record
class Chunks:
    """``count`` chunks of a stream: for each stage the ``first`` row that a chunk computes, and the one at its ``end``,
    of the rows that there are; for all together the first step, and how many ``steps`` there are at most."""

    count: int
    first: tuple[Line, ...]
    end: tuple[Line, ...]
    begin: Line
    steps: int


def chunked(stages: Sequence[Stage], found: Sequence[Pace], rings: Collection[str], count: int) -> Chunks | None:
    """``stages`` at their paces in ``count`` chunks, ``rings`` being the tensors of which a few rows are kept.

    ``None`` where rows would be computed twice that are left behind, or too many of others.
    """
    numbers = np.arange(count)
    ranges = _ranges(stages, rings, count)
    if ranges is None:
        return None
    first = [_below(low, stage.rows) for (low, _), stage in zip(ranges, stages, strict=True)]
    end = [_above(high, stage.rows) for (_, high), stage in zip(ranges, stages, strict=True)]
    lows = [np.maximum(line.of(numbers), 0) for line in first]
    highs = [np.minimum(line.of(numbers), stage.rows) for line, stage in zip(end, stages, strict=True)]
    if _again(stages, lows, highs) > MOST_AGAIN:
        return None
    starts = np.min([pace.step(low) for pace, low in zip(found, lows, strict=True)], axis=0)
    ends = np.max([pace.step(high - 1) for pace, high in zip(found, highs, strict=True)], axis=0) + 1
    begin = _below(starts, int(ends.max()))
    return Chunks(count, tuple(first), tuple(end), begin, int((ends - begin.of(numbers)).max()))


_Rows = tuple[np.ndarray, np.ndarray]
"""For each chunk the first of its rows of a stage, and the end of them."""


def _ranges(stages: Sequence[Stage], rings: Collection[str], count: int) -> list[_Rows] | None:
    """The rows of each stage. ``None`` where chunks need the same rows of what is left behind, or one has no rows."""
    later: list[tuple[Stage, _Rows]] = []
    for stage in reversed(stages):
        rows = needed = _needed(stage, later, count)
        if not stage.writes.keys() <= set(rings):
            rows = _shares(needed, stage.rows)
            if (needed[1] > rows[1]).any():
                return None
        if (rows[0] >= rows[1]).any():
            return None
        later.insert(0, (stage, rows))
    return [rows for _, rows in later]


def _shares(needed: _Rows, rows: int) -> _Rows:
    """All ``rows``, cut where the ``needed`` ones of each chunk begin; in equal parts where none are needed."""
    count = needed[0].size
    begin = np.minimum(np.arange(count) * -(-rows // count), rows) if needed[1].max() == 0 else needed[0]
    begin = np.concatenate([[0], begin[1:]])
    return begin, np.concatenate([begin[1:], [rows]])


def _needed(stage: Stage, later: Sequence[tuple[Stage, _Rows]], count: int) -> _Rows:
    """The rows of a stage that those of ``later`` stages read; where there are none, the first is behind the end."""
    first, end = np.full(count, stage.rows), np.zeros(count, np.int64)
    for reader, (begin, over) in later:
        for tensor in stage.writes.keys() & reader.reads.keys():
            rows, least, greatest = needs(stage, reader, tensor)
            for chunk in range(count):
                inside = (rows >= begin[chunk]) & (rows < over[chunk])
                first[chunk] = least[inside].min(initial=first[chunk])
                end[chunk] = greatest[inside].max(initial=end[chunk] - 1) + 1
    return first, end


def _below(values: np.ndarray, most: int) -> Line:
    """The line that is nowhere above ``values``, and closest to them where it is between 0 and ``most``."""
    return max(_lines(values, np.min), key=lambda line: _sum(line, values.size, most))


def _above(values: np.ndarray, most: int) -> Line:
    """The line that is nowhere below ``values``, and closest to them where it is between 0 and ``most``."""
    return min(_lines(values, np.max), key=lambda line: _sum(line, values.size, most))


def _lines(values: np.ndarray, extreme: Callable[[np.ndarray], np.integer]) -> list[Line]:
    """Lines with the slopes that there are between two ``values``, on one side of all."""
    numbers = np.arange(values.size)
    return [Line(slope, int(extreme(values - slope * numbers))) for slope in sorted({*map(int, np.diff(values))})]


def _sum(line: Line, count: int, most: int) -> int:
    return int(np.clip(line.of(np.arange(count)), 0, most).sum())


def _again(stages: Sequence[Stage], first: Sequence[np.ndarray], end: Sequence[np.ndarray]) -> float:
    """The share of multiplications that are done a second time."""
    done = sum(
        stage.call.macs * (int((high - low).sum()) / stage.rows)
        for stage, low, high in zip(stages, first, end, strict=True)
    )
    return done / max(1, sum(stage.call.macs for stage in stages)) - 1
