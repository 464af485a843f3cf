"""Reports -> one HTML file that needs nothing else.

Whatever comes from a report may be hostile: Jinja2 escapes all of it, JSON for the script has no character that HTML
gives a meaning to, and the policy of the page (CSP, by hashes) lets nothing run or load but its own script and style.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...printable import printable
from ..schema import Firmware, Report
from .compare import layers, totals
from .graph import shape_text
from .view import View, view

_FOLDER = Path(__file__).parent / "templates"
_SCRIPTS = ("follow.js", "table.js", "graph.js", "page.js")


def render_page(reports: Sequence[Report], clock: int | None = None, firmware: Firmware | None = None) -> str:
    """The text of the page for one report, or of a comparison for several, under what all take together where they are
    of one ``firmware``. ``clock`` is in Hz, and makes milliseconds of cycles; the page lets its reader change it."""
    labels = _labels(reports)
    views = [view(report, f"r{number}", label) for number, (report, label) in enumerate(zip(reports, labels))]
    measure, rows = layers(views) if len(views) > 1 else ("", [])
    style, script = _text("page.css"), "".join(_text(name) for name in _SCRIPTS)
    template = _environment().get_template("page.html")
    return template.render(
        views=views, totals=totals(views) if len(views) > 1 else [], compared=rows, measure=measure, clock=clock,
        firmware=firmware, title=_title(labels, firmware),
        style=Markup(style), script=Markup(script), style_hash=_digest(style), script_hash=_digest(script),
        data=Markup(_embedded([_data(each) for each in views])),
    ) + "\n"  # fmt: skip


def _title(labels: Sequence[str], firmware: Firmware | None) -> str:
    if firmware is not None:
        return f"{firmware.name}: {len(labels)} models in one library"
    return labels[0] if len(labels) == 1 else f"{len(labels)} compilations compared"


def _labels(reports: Sequence[Report]) -> list[str]:
    """Names that differ: the model and the CPU, with a letter where that does not do."""
    plain = [
        f"{r.model.name} on {r.target.name}" + (f" ({r.target.cpu})" if r.target.cpu != r.target.name else "")
        for r in reports
    ]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{number + 1}: {label}" for number, label in enumerate(plain)]


def _data(shown: View) -> dict[str, object]:
    """What the script has to know: tensors by number, and which of them layers use."""
    numbers = shown.numbers
    return {
        "key": shown.key,
        "tensors": [
            {
                "name": printable(row.name), "role": row.role, "written": row.written, "read": row.read,
                "peak": row.at_peak,
                "place": None if row.place is None
                else [row.place.pool, row.place.offset, row.place.bytes, row.place.first, row.place.last],
            }
            for row in shown.tensors
        ],
        "layers": [
            {
                "name": printable(row.layer.name), "title": printable(" + ".join(row.layer.ops)),
                "reads": [numbers[name] for name in row.layer.reads],
                "writes": [numbers[name] for name in row.layer.writes or [row.layer.output]],
                "facts": [[title, printable(value)] for title, value in _facts(shown, row.layer.index)],
                "cycles": row.layer.cycles,
            }
            for row in shown.in_order
        ],
    }  # fmt: skip


def _facts(shown: View, index: int) -> list[tuple[str, str]]:
    """What the details of a layer say, besides its tensors."""
    row = shown.in_order[index]
    layer = row.layer
    facts = [
        ("operators", " + ".join(layer.ops)),
        ("result", f"{layer.dtype} {shape_text(layer.shape)}"),
        ("share of " + ("MACs" if shown.measure == "macs" else shown.measure), f"{row.share:.1%}"),
        ("MACs", _count(layer.macs)),
        ("instructions", _count(layer.instructions)),
        ("cycles", _count(layer.cycles)),
        ("weights", _bytes(layer.weight_bytes)),
        ("code", _bytes(layer.code_bytes) + (f", shared by {row.sharing} layers" if row.sharing > 1 else "")),
        ("RAM in use", _bytes(layer.live_bytes)),
        ("kernel", f"{layer.kernel} ({layer.generator})" if layer.generator else layer.kernel),
        ("tile", ", ".join(layer.tiles)),
        ("runs", layer.within),
    ]
    facts += [("streamed", f"{r.tensor}: {_bytes(r.bytes)} of {_bytes(r.tensor_bytes)}") for r in layer.rings]
    if row.noise is not None:
        facts += [
            ("signal to noise", _decibels(row.noise.sqnr_db)), ("noise of its own", f"{row.noise.noise_share:.1%}"),
            ("cause", row.noise.cause or ""), ("mend", row.noise.mend or ""),
        ]  # fmt: skip
    return [(title, value) for title, value in facts if value not in ("", "not known")]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_finalized,
    )  # fmt: skip
    environment.filters.update(
        count=_count, bytes=_bytes, shape=shape_text, db=_decibels, percent=_percent, change=_change, px=_pixels
    )
    return environment


def _finalized(value: Any) -> Any:
    """Texts from models without characters that hide or turn what is around them."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _count(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def _bytes(value: int | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,} B" if value < 1024 else f"{value:,} B ({value / 1024:,.1f} KiB)"


def _decibels(value: float | None) -> str:
    return "exact" if value is None else f"{value:.1f} dB"


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _change(value: float) -> str:
    if value >= 9:
        return f"{value + 1:,.0f} times"
    return "same" if abs(value) < 0.0005 else f"{value:+.1%}".replace("-", "\N{MINUS SIGN}")


def _pixels(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The hash by which a policy allows an element with this content."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(content: object) -> str:
    """JSON that can stand in a script element, whatever its strings are."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
