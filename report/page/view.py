"""What the page shows of one report: figures, shares and pictures, in the order in which they stand there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from ...record import record
from ..accuracy import LayerAccuracy
from ..schema import Layer, Placement, Report
from .flow import sinks, sources
from .graph import Picture, picture
from .memory import PoolPicture, pool_pictures


@record
class LayerRow:
    """A layer with its part of the cost, 0 to 1. ``sharing``: how many layers use its kernel."""

    layer: Layer
    cost: int
    share: float
    sharing: int
    noise: LayerAccuracy | None

    @property
    def flash(self) -> int:
        """Bytes of its weights and of its code, as far as that is known."""
        return self.layer.weight_bytes + (self.layer.code_bytes or 0)


@record
class KernelRow:
    """A kernel, the code of which layers share."""

    name: str
    code_bytes: int | None
    weight_bytes: int
    layers: list[int]


@record
class TensorRow:
    """A tensor with all its places: in memory, and the layers that write and read it."""

    number: int
    name: str
    place: Placement | None
    written: list[int]
    read: list[int]
    role: str
    at_peak: bool


@record
class View:
    """One report. ``measure`` is the field of layers by which ``rows`` are sorted: the best that is known of what a run
    costs. ``key`` is the prefix of its elements' ids, ``label`` what tells it from the others of the page."""

    key: str
    label: str
    report: Report
    measure: str
    rows: list[LayerRow]
    kernels: list[KernelRow]
    tensors: list[TensorRow]
    graph: Picture
    pools: list[PoolPicture]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each tensor by its name."""
        found = {row.name: row.number for row in self.tensors}
        for row in self.noise:
            if row.tensor not in found and stored_name(row.tensor) in found:
                found[row.tensor] = found[stored_name(row.tensor)]
        return found

    @cached_property
    def in_order(self) -> list[LayerRow]:
        return sorted(self.rows, key=lambda row: row.layer.index)

    @cached_property
    def noise(self) -> list[LayerAccuracy]:
        """The layers of a quantized model in the order of execution."""
        accuracy = self.report.accuracy
        return [] if accuracy is None else sorted(accuracy.layers, key=lambda row: row.index)

    @cached_property
    def decibels(self) -> float:
        """The end of the axis of signal-to-noise ratios."""
        values = [value for row in self.noise for value in (row.sqnr_db, row.own_sqnr_db) if value is not None]
        return max([10.0, *(10.0 * (value // 10 + 1) for value in values)])


def stored_name(tensor: str) -> str:
    """The name of the integers that a quantized ``tensor`` is stored as (``quantization/insert.py``)."""
    return f"{tensor}.q"


MEASURES = ("cycles", "instructions", "macs")
"""What a run costs, the best known first."""


def measure_of(reports: Sequence[Report]) -> str:
    """The best measure of cost that is known of all layers of all reports."""
    layers = [layer for report in reports for layer in report.layers]
    known = [name for name in MEASURES if all(getattr(layer, name) is not None for layer in layers)]
    return known[0]


def view(report: Report, key: str, label: str) -> View:
    """What the page shows of ``report``."""
    measure = measure_of([report])
    costs = [getattr(layer, measure) for layer in report.layers]
    total = sum(costs)
    kernels = Counter(layer.kernel for layer in report.layers)
    noise = {} if report.accuracy is None else {row.tensor: row for row in report.accuracy.layers}
    noise |= {stored_name(name): row for name, row in noise.items()}
    shares = [cost / total if total else 0.0 for cost in costs]
    rows = [
        LayerRow(layer, cost, share, kernels[layer.kernel], noise.get(layer.output))
        for layer, cost, share in zip(report.layers, costs, shares)
    ]
    rows.sort(key=lambda row: (-row.cost, row.layer.index))
    return View(
        key, label, report, measure, rows, _kernels(report), _tensors(report), picture(report, shares),
        pool_pictures(report),
    )  # fmt: skip


def _kernels(report: Report) -> list[KernelRow]:
    """The kernels with the code and weights of their layers, the largest first."""
    found: dict[str, KernelRow] = {}
    for layer in report.layers:
        row = found.setdefault(layer.kernel, KernelRow(layer.kernel, layer.code_bytes, 0, []))
        layers = [*row.layers, layer.index]
        found[layer.kernel] = KernelRow(layer.kernel, row.code_bytes, row.weight_bytes + layer.weight_bytes, layers)
    return sorted(found.values(), key=lambda row: -(row.weight_bytes + (row.code_bytes or 0)))


def _tensors(report: Report) -> list[TensorRow]:
    """Every tensor of the report, those with a place in memory first, in the order in which they appear."""
    places = {place.tensor: place for place in report.memory}
    written: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    for layer in report.layers:
        for name in layer.writes or [layer.output]:
            written.setdefault(name, []).append(layer.index)
        for name in layer.reads:
            read.setdefault(name, []).append(layer.index)
    roles = {side.tensor: side.kind for side in (*sources(report), *sinks(report)) if side.tensor}
    ordered = sorted(report.memory, key=lambda place: (place.first, place.offset))
    names = dict.fromkeys([*(place.tensor for place in ordered), *roles, *written, *read])
    peak = {name for pool in report.totals.pools for name in pool.peak_tensors}
    return [
        TensorRow(
            number, name, places.get(name), written.get(name, []), read.get(name, []), roles.get(name, ""), name in peak
        )
        for number, name in enumerate(names)
    ]
