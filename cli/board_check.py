"""What ``ccml verify --from-log`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .output import print_facts, print_table, shape_text
from .table import columns

if TYPE_CHECKING:
    from ..verification.board import BoardCheck


def print_check(check: BoardCheck) -> None:
    """Layers, outputs and the sum of both."""
    unit = "cycles" if check.is_cycles else "ticks"
    if check.layers:
        head = columns("#", "@layer", f"#{unit}", "#predicted", "#measured / predicted", "#share")
        rows = [
            (row.index, row.node, row.ticks, row.predicted, _ratio(row.ticks, row.predicted), _share(row.ticks, check))
            for row in check.layers
        ]
        print_table(f"layers on {check.target}", head, rows)
        click.echo()
    head = columns("@output", "shape", "#relative L2", "#max abs", "")
    outputs = [
        (row.tensor, shape_text(row.shape), f"{row.difference.relative_l2:.2e}", f"{row.difference.max_abs:.2e}",
         "" if row.ok else "DIFFERS")
        for row in check.outputs
    ]  # fmt: skip
    print_table("outputs, against this machine's", head, outputs)
    click.echo()
    facts: list[tuple[str, object]] = [(f"{unit} of a run", check.ticks)]
    if check.hertz:
        facts.append(("time of a run", f"{1000 * check.ticks / check.hertz:.3f} ms at {check.hertz / 1e6:g} MHz"))
    if check.predicted:
        ratio = _ratio(check.ticks, check.predicted)
        spread = f"{check.predicted_low:,} to {check.predicted_high:,}"
        facts.append(("predicted", f"{check.predicted:,} cycles ({spread}); measured {ratio} of it"))
    print_facts(facts)
    if check.ok:
        click.echo("ok: integers equal this machine's, relative L2 error at most " + f"{check.tolerance:g}")


def described_check(check: BoardCheck) -> dict[str, object]:
    """The same for JSON."""
    from ..report.schema import finite

    return {
        "ok": check.ok, "target": check.target, "tolerance": check.tolerance, "ticks": check.ticks,
        "hertz": check.hertz or None, "is_cycles": check.is_cycles, "predicted": check.predicted,
        "predicted_low": check.predicted_low, "predicted_high": check.predicted_high,
        "layers": [
            {"index": row.index, "layer": row.node, "ticks": row.ticks, "predicted": row.predicted}
            for row in check.layers
        ],
        "outputs": [
            {"tensor": row.tensor, "shape": list(row.shape), "ok": row.ok,
             "relative_l2": finite(row.difference.relative_l2), "max_abs": finite(row.difference.max_abs)}
            for row in check.outputs
        ],
    }  # fmt: skip


def _ratio(measured: int, predicted: int | None) -> str | None:
    return f"{measured / predicted:.2f}" if predicted else None


def _share(ticks: int, check: BoardCheck) -> str | None:
    return f"{100 * ticks / check.ticks:.1f} %" if check.ticks else None
