"""Several reports side by side: their totals, and their layers by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...record import record
from ..schema import Report
from .view import View, measure_of


@record
class Cell:
    """A figure, and how it compares with that of the first report: 0.25 is a quarter more."""

    value: int | float | str | None
    change: float | None = None


@record
class Row:
    """A figure of all reports. ``kind`` says how it is written: ``bytes``, ``count``, ``db`` or ``text``."""

    title: str
    kind: str
    cells: list[Cell]


_TOTALS: tuple[tuple[str, str, Callable[[Report], int | float | str | None]], ...] = (
    ("model file", "text", lambda report: report.model.file),
    ("target", "text", lambda report: f"{report.target.name}, {report.target.abi}"),
    ("CPU", "text", lambda report: report.target.cpu),
    ("optimized for", "text", lambda report: report.options.optimize),
    ("parameters", "count", lambda report: report.model.parameters),
    ("RAM", "bytes", lambda report: report.totals.ram_bytes),
    ("states", "bytes", lambda report: report.totals.state_bytes),
    ("stack", "bytes", lambda report: report.totals.stack_bytes),
    ("flash", "bytes", lambda report: report.totals.flash_bytes),
    ("weights", "bytes", lambda report: report.totals.weight_bytes),
    ("code", "bytes", lambda report: report.totals.code_bytes),
    ("MACs", "count", lambda report: report.totals.macs),
    ("instructions", "count", lambda report: report.totals.instructions),
    ("cycles", "cycles", lambda report: report.totals.cycles),
    ("signal to quantization noise", "db", lambda report: _sqnr(report)),
)


def _sqnr(report: Report) -> float | None:
    """Of the worst output."""
    if report.accuracy is None:
        return None
    return min((side.sqnr_db for side in report.accuracy.outputs if side.sqnr_db is not None), default=None)


def totals(views: Sequence[View]) -> list[Row]:
    """The figures of whole models, without those that no report has."""
    rows = []
    for title, kind, of in _TOTALS:
        values = [of(view.report) for view in views]
        if any(value not in (None, 0, "") for value in values):
            rows.append(Row(title, kind, _cells(values, kind != "db")))
    return rows


def layers(views: Sequence[View]) -> tuple[str, list[Row]]:
    """What layers cost, those that cost most first, and the measure. Layers whose first ONNX node has the same name are
    the same one, whatever else is computed in them: an activation is part of a float layer, and of none where its range
    says it all. No rows where the models have none in common."""
    measure = measure_of([view.report for view in views])
    columns = [_by_first_node(view.report, measure) for view in views]
    names = list(dict.fromkeys(name for column in columns for name in column))
    if not any(sum(name in column for column in columns) > 1 for name in names):
        return measure, []
    rows = [Row(name, "count", _cells([column.get(name) for column in columns])) for name in names]
    rows.sort(key=lambda row: -max(cell.value for cell in row.cells if isinstance(cell.value, int)))
    return measure, rows


def _by_first_node(report: Report, measure: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for layer in report.layers:
        first = layer.name.split(" + ")[0]
        found[first] = found.get(first, 0) + getattr(layer, measure)
    return found


def _cells(values: Sequence[int | float | str | None], relative: bool = True) -> list[Cell]:
    first = values[0]
    return [
        Cell(value, value / first - 1)
        if relative and number and isinstance(value, (int, float)) and isinstance(first, (int, float)) and first
        else Cell(value)
        for number, value in enumerate(values)
    ]
