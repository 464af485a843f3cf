"""The accuracy of a quantized model as an SVG picture: a bar for each layer, from input to output."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

from .accuracy import Accuracy, LayerAccuracy
from .text import shortened

_LEFT, _WIDTH, _RIGHT = 330, 480, 250
"""Pixels for names, bars and notes."""
_TOP, _ROW, _BOTTOM = 96, 22, 48
_NAME = 42
"""Characters of a name."""
_TICKS = 10
_COLORS = {"rounding": "#4e79a7", "clipping": "#e15759", "weights": "#f28e2b", None: "#a0a0a0"}
_OWN = "#202020"


def accuracy_chart(accuracy: Accuracy, title: str) -> str:
    """The text of the SVG file."""
    rows = sorted(accuracy.layers, key=lambda row: row.index)
    limit = _limit(rows)
    height = _TOP + _ROW * len(rows) + _BOTTOM
    svg = Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "width": str(_LEFT + _WIDTH + _RIGHT), "height": str(height),
        "viewBox": f"0 0 {_LEFT + _WIDTH + _RIGHT} {height}",
        "font-family": "Helvetica, Arial, sans-serif", "font-size": "12",
    })  # fmt: skip
    SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": "white"})
    _text(svg, 16, 28, title, size=16, weight="bold")
    _text(svg, 16, 48, _subtitle(accuracy), color="#555")
    _legend(svg)
    _axis(svg, limit, len(rows))
    names = shortened([row.layer for row in rows], _NAME)
    for number, (row, name) in enumerate(zip(rows, names)):
        _bar(svg, row, name, _TOP + _ROW * number, limit)
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _limit(rows: list[LayerAccuracy]) -> int:
    """The end of the axis, in dB: a multiple of the ticks."""
    values = [value for row in rows for value in (row.sqnr_db, row.own_sqnr_db) if value is not None]
    return max(4, int(max(values, default=0.0)) // _TICKS + 1) * _TICKS


def _subtitle(accuracy: Accuracy) -> str:
    parts = [f"{accuracy.test_samples} {'held-out' if accuracy.held_out else 'calibration'} samples"]
    for output in accuracy.outputs:
        if output.equal is not None:
            parts.append(f"{output.name}: {output.equal:.1%} equal")
            continue
        agreement = f", top-1 agreement {output.top1_agreement:.1%}" if output.top1_agreement is not None else ""
        parts.append(f"{output.name}: {decibel_text(output.sqnr_db)} dB{agreement}")
    return "; ".join(parts)


def decibel_text(value: float | None) -> str:
    return "exact" if value is None else f"{value:.1f}"


def _legend(svg: Element) -> None:
    _text(svg, _LEFT - 8, 74, "bar: SQNR at the tensor; the layer loses most to", anchor="end", color="#555")
    x = float(_LEFT)
    for cause in ("rounding", "clipping", "weights"):
        SubElement(svg, "rect", {"x": f"{x:g}", "y": "64", "width": "12", "height": "12", "fill": _COLORS[cause]})
        _text(svg, x + 17, 74, cause)
        x += 82
    _mark(svg, x + 3, 61, 18)
    _text(svg, x + 12, 74, "SQNR of the layer alone, on correct inputs")


def _axis(svg: Element, limit: int, rows: int) -> None:
    bottom = _TOP + _ROW * rows
    for tick in range(0, limit + 1, _TICKS):
        x = f"{_place(tick, limit):g}"
        SubElement(svg, "line", {"x1": x, "x2": x, "y1": str(_TOP - 4), "y2": str(bottom), "stroke": "#ddd"})
        _text(svg, float(x), bottom + 18, str(tick), anchor="middle", color="#555")
    _text(svg, _LEFT + _WIDTH / 2, bottom + 36, "dB (10 dB more: a tenth of the noise)", anchor="middle", color="#555")


def _bar(svg: Element, row: LayerAccuracy, name: str, top: int, limit: int) -> None:
    """A tensor without noise has a bar to the end."""
    end = _place(limit if row.sqnr_db is None else max(row.sqnr_db, 0.0), limit)
    shown = {
        "x": str(_LEFT), "y": str(top + 3), "width": f"{end - _LEFT:.1f}", "height": str(_ROW - 6),
        "fill": _COLORS[row.cause],
    }  # fmt: skip
    bar = SubElement(svg, "rect", shown)
    SubElement(bar, "title").text = f"{row.layer} ({row.tensor}, {row.dtype})"
    _text(svg, 16, top + 15, str(row.index), color="#555")
    _text(svg, _LEFT - 8, top + 15, name, anchor="end")
    if row.own_sqnr_db is not None:
        _mark(svg, _place(max(row.own_sqnr_db, 0.0), limit), top + 1, _ROW - 2)
    _text(svg, _LEFT + _WIDTH + 12, top + 15, "  ".join(_notes(row)))


def _notes(row: LayerAccuracy) -> Iterator[str]:
    yield f"{row.dtype}, {decibel_text(row.sqnr_db)} dB, {row.noise_share:.0%} of the noise"
    if row.saturation >= 0.001:
        yield f"{row.saturation:.1%} clipped"


def _place(value: float, limit: int) -> float:
    return _LEFT + _WIDTH * min(value / limit, 1.0)


def _mark(svg: Element, x: float, top: float, height: float) -> None:
    shown = {"x": f"{x - 1.5:.1f}", "y": f"{top:g}", "width": "3", "height": f"{height:g}", "fill": _OWN}
    SubElement(svg, "rect", shown)


def _text(
    svg: Element, x: float, y: float, text: str, *, size: int = 12, weight: str = "normal", anchor: str = "start",
    color: str = "#202020",
) -> None:  # fmt: skip
    shown = {
        "x": f"{x:g}", "y": f"{y:g}", "font-size": str(size), "font-weight": weight, "text-anchor": anchor,
        "fill": color,
    }  # fmt: skip
    SubElement(svg, "text", shown).text = text
