"""The drawing of a model's layers: boxes, frames of branches and loops, and the tensors between them as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ...printable import printable
from ...record import record
from ..schema import Layer, Report
from .flow import Flow, Side, bodies_around, flows, sinks, sources
from .layout import Drawing, Size, layered
from .lines import columns_of, wrapped

LINE = 15.0
"""Pixels from line to line."""
_CHAR = 6.7
"""Pixels of a character of 11 pixels in a fixed-width font."""
_COLUMNS, _MOST_LINES = 44, 14
_PAD = 10.0
_FRAME = 18.0
_MARGIN = 16.0


@record
class Box:
    """A layer, or an input, output or state of the model. ``text`` are its lines with their baselines; ``bar`` is the
    width of the bar that shows its share of the cost."""

    kind: str
    layer: int | None
    tensor: str
    x: float
    y: float
    width: float
    height: float
    text: list[tuple[float, str]]
    label: str
    bar: float = 0.0


@record
class Frame:
    """A body of a branch or a loop."""

    x: float
    y: float
    width: float
    height: float
    text: list[tuple[float, str]]
    label: str


@record
class Line:
    """A tensor on its way from a box to another, as the path of SVG. ``back``: to the next pass of a loop."""

    tensor: str
    path: str
    back: bool


@record
class Picture:
    width: float
    height: float
    boxes: list[Box]
    frames: list[Frame]
    lines: list[Line]


def picture(report: Report, shares: Sequence[float]) -> Picture:
    """The drawing of ``report``; ``shares`` are the layers' parts of what a run costs, 0 to 1."""
    before, after = sources(report), sinks(report)
    largest = max(shares, default=0.0)
    drafts = [
        *(_side_draft(side) for side in before),
        *(_layer_draft(layer, share, share / largest if largest else 0.0)
          for layer, share in zip(report.layers, shares)),
        *(_side_draft(side) for side in after),
    ]  # fmt: skip
    edges = flows(before, report.layers, after)
    around = [*[()] * len(before), *map(bodies_around, report.layers), *[()] * len(after)]
    root = _group(list(range(len(drafts))), around, 0, "")
    _distribute(root, [edge for edge in edges if not edge.back])
    canvas = _Canvas(drafts)
    size = canvas.measure(root)
    canvas.place(root, _MARGIN, _MARGIN)
    lines = [*canvas.lines(root), *(canvas.back(edge) for edge in edges if edge.back)]
    return Picture(size.width + 2 * _MARGIN, size.height + 2 * _MARGIN, canvas.boxes(), canvas.frames, lines)


@record
class _Draft:
    """A box that has no place yet."""

    kind: str
    layer: int | None
    tensor: str
    lines: list[str]
    label: str
    bar: float = 0.0

    @property
    def size(self) -> Size:
        width = max(map(columns_of, self.lines)) * _CHAR + 2 * _PAD
        return Size(max(width, 120.0), len(self.lines) * LINE + 2 * _PAD - 2)


def _side_draft(side: Side) -> _Draft:
    shape = f"{side.dtype} {shape_text(side.shape)}"
    title = f"{side.kind} " if side.kind != "state" else "state " if side.is_source else "next state "
    lines = [title, *wrapped(printable(side.name), _COLUMNS, _MOST_LINES), shape]
    return _Draft(side.kind, None, side.tensor, lines, f"{title}{printable(side.name)}, {shape}")


def _layer_draft(layer: Layer, share: float, bar: float) -> _Draft:
    title = f"{layer.index} {printable(' + '.join(layer.ops))}"
    note = f"{layer.dtype} {shape_text(layer.shape)}" + (f"  {share:.1%}" if share else "")
    name = printable(layer.name)
    lines = [*wrapped(title, _COLUMNS, 4), *wrapped(name, _COLUMNS, _MOST_LINES), note]
    return _Draft("layer", layer.index, "", lines, f"layer {title}: {name}, {note}", bar)


def shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


@dataclass
class _Group:
    """Boxes and groups in the order of execution. ``leaves`` tells in which child each box is, ``edges`` are those
    between the children ``pairs``."""

    label: str
    children: list[int | _Group]
    leaves: Mapping[int, int]
    edges: list[Flow] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    drawing: Drawing | None = None
    x: float = 0.0
    y: float = 0.0
    size: Size = field(default_factory=lambda: Size(0, 0))
    head: list[str] = field(default_factory=list)


def _group(numbers: Sequence[int], around: Sequence[tuple[str, ...]], depth: int, label: str) -> _Group:
    children: list[int | _Group] = []
    leaves: dict[int, int] = {}
    for key, part in groupby(numbers, key=lambda i: around[i][depth] if len(around[i]) > depth else None):
        for members in [[i] for i in part] if key is None else [list(part)]:
            leaves.update(dict.fromkeys(members, len(children)))
            children.append(members[0] if key is None else _group(members, around, depth + 1, key))
    return _Group(label, children, leaves)


def _distribute(group: _Group, edges: Sequence[Flow]) -> None:
    """Gives each edge to the innermost group that holds both of its ends."""
    within: dict[int, list[Flow]] = {}
    for edge in edges:
        pair = group.leaves[edge.start], group.leaves[edge.end]
        if pair[0] == pair[1]:
            within.setdefault(pair[0], []).append(edge)
        else:
            group.edges.append(edge)
            group.pairs.append(pair)
    for number, inside in within.items():
        child = group.children[number]
        assert isinstance(child, _Group)
        _distribute(child, inside)


class _Canvas:
    """Gives places to boxes, level by level: a group is a box for the level around it."""

    def __init__(self, drafts: Sequence[_Draft]) -> None:
        self.drafts = drafts
        self.at: list[tuple[float, float]] = [(0.0, 0.0)] * len(drafts)
        self.frames: list[Frame] = []

    def measure(self, group: _Group) -> Size:
        sizes = [
            self.measure(child) if isinstance(child, _Group) else self.drafts[child].size for child in group.children
        ]
        group.drawing = layered(sizes, sorted(set(group.pairs)))
        inner = Size(group.drawing.width, group.drawing.height)
        if group.label:
            group.head = wrapped(printable(group.label), _COLUMNS, 3)
            head = max(map(columns_of, group.head)) * _CHAR
            inner = Size(max(inner.width, head) + 2 * _FRAME, inner.height + 2 * _FRAME + len(group.head) * LINE)
        group.size = inner
        return inner

    def place(self, group: _Group, x: float, y: float) -> None:
        assert group.drawing is not None
        group.x, group.y = x, y
        if group.label:
            text = [(y + LINE * (n + 1), line) for n, line in enumerate(group.head)]
            self.frames.append(Frame(x, y, group.size.width, group.size.height, text, printable(group.label)))
            x += (group.size.width - group.drawing.width) / 2
            y += _FRAME + len(group.head) * LINE
        for child, (dx, dy) in zip(group.children, group.drawing.places):
            if isinstance(child, _Group):
                self.place(child, x + dx, y + dy)
            else:
                self.at[child] = x + dx, y + dy
        group.x, group.y = x, y

    def boxes(self) -> list[Box]:
        found = []
        for draft, (x, y) in zip(self.drafts, self.at):
            text = [(y + _PAD + LINE * (n + 0.75), line) for n, line in enumerate(draft.lines)]
            size = draft.size
            bar = draft.bar * size.width
            found.append(
                Box(draft.kind, draft.layer, draft.tensor, x, y, size.width, size.height, text, draft.label, bar)
            )
        return found

    def lines(self, group: _Group) -> list[Line]:
        """The lines between the children of a group, and those within each."""
        assert group.drawing is not None
        bends = dict(zip(sorted(set(group.pairs)), group.drawing.bends))
        found = [
            Line(edge.tensor, _curve(self._points(group, edge, pair, bends[pair])), False)
            for edge, pair in zip(group.edges, group.pairs)
        ]
        for child in group.children:
            if isinstance(child, _Group):
                found += self.lines(child)
        return found

    def _points(
        self, group: _Group, edge: Flow, pair: tuple[int, int], bends: Sequence[tuple[float, float]]
    ) -> list[tuple[float, float]]:
        """From the lower side of a box through the frame around it, past other ranks, to the upper side of another."""
        assert group.drawing is not None
        points = [self._port(edge.start, lower=True)]
        for number, lower in zip(pair, (True, False)):
            child = group.children[number]
            if isinstance(child, _Group):
                top = group.y + group.drawing.places[number][1]
                box = self._port(edge.start if lower else edge.end, lower)
                points.append((box[0], top + child.size.height if lower else top))
            if lower:
                points += [(group.x + x, group.y + y) for x, y in bends]
        return [*points, self._port(edge.end, lower=False)]

    def _port(self, box: int, lower: bool) -> tuple[float, float]:
        (x, y), size = self.at[box], self.drafts[box].size
        return x + size.width / 2, y + (size.height if lower else 0)

    def back(self, edge: Flow) -> Line:
        """To the box of an earlier layer: from right side to right side."""
        (x, y), size = self.at[edge.start], self.drafts[edge.start].size
        (to_x, to_y), to_size = self.at[edge.end], self.drafts[edge.end].size
        start, end = (x + size.width, y + size.height / 2), (to_x + to_size.width, to_y + to_size.height / 2)
        out = max(start[0], end[0]) + 28
        bow = f"{out:.0f} {start[1]:.0f} {out:.0f} {end[1]:.0f}"
        return Line(edge.tensor, f"M{start[0]:.0f} {start[1]:.0f}C{bow} {end[0]:.0f} {end[1]:.0f}", True)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Through the points, which go downwards, with vertical tangents."""
    x, y = points[0]
    path = [f"M{x:.0f} {y:.0f}"]
    for to_x, to_y in points[1:]:
        middle = (y + to_y) / 2
        if abs(x - to_x) < 0.5:
            path.append(f"V{to_y:.0f}")
        else:
            path.append(f"C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}")
        x, y = to_x, to_y
    return "".join(path)
