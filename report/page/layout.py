"""Layered drawings of directed graphs.

The steps are those of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): nodes get ranks by longest paths, edges that pass ranks get a bend in each, the order within ranks is improved
by barycenters, and the places in a rank are the least-squares fit to those of the neighbours that keeps order and
distances (isotonic regression by pooling adjacent violators). Each takes time about linear in nodes and bends, whose
number is bounded.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ...record import record

GAP_X = 24.0
"""Between boxes of a rank."""
GAP_Y = 40.0
"""Between ranks."""
_BEND = 10.0
"""The room of a bend."""
_MOST_BENDS = 20_000
_SWEEPS = 6
_FIRM = 1000.0
"""How much more a box keeps its place than a bend, which goes around it."""
_COUNTED = 4000
"""Nodes and bends up to which crossings are counted, to keep the best order instead of the last."""


@record
class Size:
    """The extent of a box."""

    width: float
    height: float


@record
class Drawing:
    """``places`` are the upper left corners of boxes, ``bends`` the points where each edge passes ranks, from above to
    below, all within ``width`` and ``height``."""

    places: list[tuple[float, float]]
    bends: list[list[tuple[float, float]]]
    width: float
    height: float


def layered(sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> Drawing:
    """Boxes from above to below along ``edges``, pairs of numbers of boxes of which the first is the smaller one."""
    ranks = _ranks(len(sizes), edges)
    chains, cells = _with_bends(sizes, ranks, edges)
    neighbours = _Neighbours(len(cells), chains)
    rows = _ordered(cells, neighbours)
    centers = _centers(rows, cells, neighbours)
    tops, heights = _levels(rows, sizes)
    left = min((centers[i] - cell.width / 2 for i, cell in enumerate(cells)), default=0.0)
    right = max((centers[i] + cell.width / 2 for i, cell in enumerate(cells)), default=0.0)
    places = [
        (centers[i] - left - size.width / 2, tops[ranks[i]] + (heights[ranks[i]] - size.height) / 2)
        for i, size in enumerate(sizes)
    ]
    bends = [
        [
            (centers[i] - left, y)
            for i in chain[1:-1]
            for y in (tops[cells[i].rank], tops[cells[i].rank] + heights[cells[i].rank])
        ]
        for chain in chains
    ]
    return Drawing(places, bends, right - left, tops[-1] + heights[-1] if tops else 0.0)


@record
class _Cell:
    """A box, or the place where an edge passes a rank."""

    rank: int
    width: float
    weight: float


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to each box; what has nothing above it is right above what it leads to."""
    below: list[list[int]] = [[] for _ in range(count)]
    entered = [False] * count
    for start, end in edges:
        below[start].append(end)
        entered[end] = True
    ranks = [0] * count
    for start in range(count):
        for end in below[start]:
            ranks[end] = max(ranks[end], ranks[start] + 1)
    for start in range(count):
        if not entered[start] and below[start]:
            ranks[start] = min(ranks[end] for end in below[start]) - 1
    return ranks


def _with_bends(
    sizes: Sequence[Size], ranks: Sequence[int], edges: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], list[_Cell]]:
    """For each edge the cells on its way, and all cells, boxes first. Where there would be too many bends, the longest
    edges get none."""
    cells = [_Cell(rank, size.width, _FIRM) for size, rank in zip(sizes, ranks)]
    lengths = sorted(ranks[end] - ranks[start] - 1 for start, end in edges)
    room, longest = _MOST_BENDS, 0
    for length in lengths:
        room -= length
        if room < 0:
            longest = length - 1
            break
        longest = length
    chains = []
    for start, end in edges:
        chain = [start]
        if ranks[end] - ranks[start] - 1 <= longest:
            for rank in range(ranks[start] + 1, ranks[end]):
                chain.append(len(cells))
                cells.append(_Cell(rank, _BEND, 1.0))
        chains.append([*chain, end])
    return chains, cells


class _Neighbours:
    """The cells right above and below each cell."""

    def __init__(self, count: int, chains: Iterable[Sequence[int]]) -> None:
        self.above: list[list[int]] = [[] for _ in range(count)]
        self.below: list[list[int]] = [[] for _ in range(count)]
        for chain in chains:
            for start, end in pairwise(chain):
                self.below[start].append(end)
                self.above[end].append(start)


def _ordered(cells: Sequence[_Cell], neighbours: _Neighbours) -> list[list[int]]:
    """The cells of each rank from left to right."""
    rows: list[list[int]] = [[] for _ in range(max((cell.rank for cell in cells), default=-1) + 1)]
    for i, cell in enumerate(cells):
        rows[cell.rank].append(i)
    if len(cells) == len(rows):
        return rows
    best, fewest = [list(row) for row in rows], _crossings(rows, neighbours)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        _sweep(rows if down else rows[::-1], neighbours.above if down else neighbours.below)
        count = _crossings(rows, neighbours)
        if count is None or fewest is None or count < fewest:
            best, fewest = [list(row) for row in rows], count
        if fewest == 0:
            break
    return best


def _sweep(rows: Sequence[list[int]], toward: Sequence[Sequence[int]]) -> None:
    """Orders each row by the mean place of its neighbours in the rows before; what has none stays where it is."""
    place: dict[int, float] = {}
    for row in rows:
        means = {}
        for number, i in enumerate(row):
            known = [place[other] for other in toward[i] if other in place]
            means[i] = sum(known) / len(known) if known else number / max(len(row), 1)
        row.sort(key=means.__getitem__)
        place.update((i, (number + 0.5) / len(row)) for number, i in enumerate(row))


def _crossings(rows: Sequence[Sequence[int]], neighbours: _Neighbours) -> int | None:
    """How often edges cross between neighbouring ranks; ``None`` where that would take long to count."""
    if sum(map(len, rows)) > _COUNTED:
        return None
    place = {i: number for row in rows for number, i in enumerate(row)}
    total = 0
    for row in rows:
        seen: list[int] = []
        for i in row:
            ends = sorted(place[other] for other in neighbours.below[i])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _centers(rows: Sequence[Sequence[int]], cells: Sequence[_Cell], neighbours: _Neighbours) -> list[float]:
    """The middle of each cell, from left to right."""
    centers = [0.0] * len(cells)
    for row in rows:
        at = 0.0
        for i in row:
            centers[i] = at + cells[i].width / 2
            at += cells[i].width + GAP_X
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            _fit(row, cells, neighbours.above if down else neighbours.below, centers)
    return centers


def _fit(row: Sequence[int], cells: Sequence[_Cell], toward: Sequence[Sequence[int]], centers: list[float]) -> None:
    """Moves the cells of a row toward the mean of their neighbours; each keeps its distance from the one before. A box
    looks at boxes, where there are any, so that a chain beside which edges pass is straight."""
    shift = 0.0
    shifts: list[float] = []
    blocks: list[tuple[float, float, int]] = []  # mean, weight, cells
    for number, i in enumerate(row):
        if number:
            shift += (cells[row[number - 1]].width + cells[i].width) / 2 + GAP_X
        shifts.append(shift)
        near = [other for other in toward[i] if cells[other].weight == _FIRM] or toward[i]
        wanted = sum(centers[other] for other in near) / len(near) if near else centers[i]
        weight = cells[i].weight if near else cells[i].weight / _FIRM
        blocks.append((wanted - shift, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, heavy, many), (other, light, few) = blocks[-2], blocks[-1]
            blocks[-2:] = [((mean * heavy + other * light) / (heavy + light), heavy + light, many + few)]
    number = 0
    for mean, _, count in blocks:
        for _ in range(count):
            centers[row[number]] = mean + shifts[number]
            number += 1


def _levels(rows: Sequence[Sequence[int]], sizes: Sequence[Size]) -> tuple[list[float], list[float]]:
    """The upper end of each rank, and its height."""
    tops, heights = [], []
    at = 0.0
    for row in rows:
        height = max((sizes[i].height for i in row if i < len(sizes)), default=0.0)
        tops.append(at)
        heights.append(height)
        at += height + GAP_Y
    return tops, heights
