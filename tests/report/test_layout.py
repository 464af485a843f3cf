"""Layered drawings: boxes apart, edges downwards, whatever the graph."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from ccml.report.page.flow import Flow, flows
from ccml.report.page.graph import picture
from ccml.report.page.layout import GAP_X, GAP_Y, Drawing, Size, layered
from ccml.report.page.lines import columns_of, wrapped

from tests.report.page_reports import long_report


def boxes_of(drawing: Drawing, sizes: list[Size]) -> list[tuple[float, float, float, float]]:
    return [(x, y, x + size.width, y + size.height) for (x, y), size in zip(drawing.places, sizes)]


def check(sizes: list[Size], edges: list[tuple[int, int]]) -> Drawing:
    """No two boxes meet, all are inside, and edges go down through their bends."""
    drawing = layered(sizes, edges)
    boxes = boxes_of(drawing, sizes)
    for left, top, right, bottom in boxes:
        assert left >= -1e-6 and top >= 0 and right <= drawing.width + 1e-6 and bottom <= drawing.height + 1e-6
    for i, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            assert right + GAP_X / 2 < other[0] or other[2] + GAP_X / 2 < left or bottom < other[1] or other[3] < top
    for (start, end), bends in zip(edges, drawing.bends):
        levels = [boxes[start][3], *(y for _, y in bends), boxes[end][1]]
        assert all(a <= b for a, b in pairwise(levels)), (start, end)
    return drawing


def test_a_chain_is_straight() -> None:
    drawing = check([Size(50, 20), Size(90, 20), Size(70, 30)], [(0, 1), (1, 2)])
    assert [x + size / 2 for (x, _), size in zip(drawing.places, (50, 90, 70))] == pytest.approx([45, 45, 45])
    assert [y for _, y in drawing.places] == [0, 20 + GAP_Y, 40 + 2 * GAP_Y]


def test_a_chain_with_shortcuts_does_not_drift() -> None:
    edges = sorted([(n, n + 1) for n in range(89)] + [(n, n + 2) for n in range(0, 87, 3)])
    drawing = check([Size(100, 20)] * 90, edges)
    assert max(x for x, _ in drawing.places) - min(x for x, _ in drawing.places) < 10
    assert drawing.width < 100 + 4 * GAP_X


def test_a_shortcut_passes_beside_the_box() -> None:
    drawing = check([Size(60, 20)] * 3, [(0, 1), (0, 2), (1, 2)])
    (bend, _), _ = drawing.bends[1]
    left = drawing.places[1][0]
    assert bend < left or bend > left + 60


def test_branches_that_could_cross_do_not() -> None:
    drawing = check([Size(40, 20)] * 6, [(0, 3), (1, 2), (2, 4), (3, 5)])
    x = [place[0] for place in drawing.places]
    assert (x[0] < x[1]) == (x[3] < x[2]) == (x[5] < x[4])


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 60)
    sizes = [Size(rng.uniform(20, 200), rng.uniform(10, 60)) for _ in range(count)]
    pairs = [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randrange(3 * count))]
    edges = {(start, end) for start, end in pairs if start < end}
    first = check(sizes, sorted(edges))
    assert layered(sizes, sorted(edges)) == first


def test_nothing_to_draw() -> None:
    assert layered([], []) == Drawing([], [], 0.0, 0.0)


def test_bends_are_bounded() -> None:
    """A dense network: every layer reads all before it, over half a million ranks are passed."""
    count = 160
    edges = [(a, b) for b in range(count) for a in range(b)]
    drawing = layered([Size(50, 20)] * count, edges)
    assert 0 < sum(map(len, drawing.bends)) <= 2 * 20_000
    assert len(drawing.places) == count


def test_boxes_of_a_report_do_not_meet() -> None:
    report = long_report(40)
    drawn = picture(report, [1 / 40] * 40)
    assert [box.layer for box in drawn.boxes] == [None, *range(40), None]
    spots = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in drawn.boxes]
    for i, one in enumerate(spots):
        for other in spots[:i]:
            assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
    names = ["".join(text for _, text in box.text).replace(" ", "") for box in drawn.boxes]
    assert all(layer.name in name for layer, name in zip(report.layers, names[1:-1]))


def test_flows_of_shortcuts() -> None:
    found = flows([], long_report(4).layers, [])
    name = "model/block_{0}/conv2d_{0}/BiasAdd;model/block_{0}/Relu:0"
    assert found == [Flow(0, 1, name.format(0)), Flow(1, 2, name.format(1)), Flow(0, 2, name.format(0)),
                     Flow(2, 3, name.format(2))]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("model/conv/BiasAdd", ["model/", "conv/", "BiasAdd"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("層" * 6, ["層" * 4, "層" * 2]),
        ("a + b + c + d", ["a + b +", "c + d"]),
        ("", [""]),
    ],
)
def test_names_in_lines(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8, 9) == lines
    assert all(columns_of(line) <= 8 for line in wrapped(text, 8, 9))


def test_endless_names_are_cut_with_a_mark() -> None:
    lines = wrapped("x" * 100_000, 20, 3)
    assert len(lines) == 3
    assert lines[-1].endswith("…")
