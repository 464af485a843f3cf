"""Working memory over time as a picture: a rectangle for each tensor, layers from left to right, addresses upwards."""

from __future__ import annotations

from collections.abc import Iterator

from ...record import record
from ..schema import Placement, PoolTotals, Report

_LEAST = 1 / 160
"""The height of the smallest tensor, as a part of the picture."""


@record
class Area:
    """A tensor: layers along x, bytes along y, from above."""

    place: Placement
    x: int
    y: int
    width: int
    height: int


@record
class PoolPicture:
    """``marks`` are bytes for the axis, the least first; ``peak`` is the first layer at which most bytes are taken."""

    pool: PoolTotals
    steps: int
    bytes: int
    areas: list[Area]
    marks: list[int]
    peak: int | None


def pool_pictures(report: Report) -> list[PoolPicture]:
    """A picture of each pool that is used."""
    return [_pool_picture(report, pool) for pool in report.totals.pools if pool.ram_bytes]


def _pool_picture(report: Report, pool: PoolTotals) -> PoolPicture:
    inside = [place for place in report.memory if place.pool == pool.name]
    most = max([pool.ram_bytes, *(place.offset + place.bytes for place in inside)])
    areas = list(_areas(inside, most))
    steps = max(len(report.layers), 1)
    return PoolPicture(pool, steps, most, areas, _marks(most), _peak(inside, pool))


def _areas(places: list[Placement], most: int) -> Iterator[Area]:
    """Large tensors first, so that the small ones can be seen and met."""
    least = max(int(most * _LEAST), 1)
    for place in sorted(places, key=lambda place: (-place.bytes, place.first, place.offset)):
        height = max(place.bytes, least)
        top = max(most - place.offset - height, 0)
        yield Area(place, place.first, top, place.last - place.first + 1, height)


def _marks(most: int) -> list[int]:
    """Bytes at even distances, from 0 to all of them."""
    return [most * quarter // 4 for quarter in range(5)]


def _peak(places: list[Placement], pool: PoolTotals) -> int | None:
    """The first layer at which all tensors of the peak live."""
    names = set(pool.peak_tensors)
    return max((place.first for place in places if place.tensor in names), default=None)
