"""What is drawn and printed from a report: the memory chart and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ccml.report.chart import legend, memory_chart
from ccml.report.lifetimes import live_bytes
from ccml.report.schema import (
    Layer,
    Model,
    Options,
    Placement,
    PoolTotals,
    Report,
    TargetInfo,
    Totals,
    finite,
    json_text,
)

PLACES = [Placement("in", 0, 64, 0, 1), Placement("mid", 64, 64, 1, 2), Placement("out", 0, 32, 2, 2)]


def report(places: list[Placement], steps: int, ram: int) -> Report:
    live = live_bytes(places, steps)
    pools = [PoolTotals("arena", ram, ram, 16, None, max(live), [], 0)]
    layers = [Layer(i, f"layer{i}", "k", ["conv"], "t", "f32", [1], 0, 0, live[i], None) for i in range(steps)]
    return Report(
        1, "0", Model("m", "m.onnx", "", 0), TargetInfo("t", "a", "c", "x"), Options({}, {}, []),
        Totals(ram, ram, 16, max(live), [], 0, None, None, None, 0, pools=pools), [], [], layers, places, None, [],
    )  # fmt: skip


def test_live_bytes() -> None:
    assert live_bytes(PLACES, 3) == [64, 128, 96]


def test_shared_bytes_count_once() -> None:
    places = [Placement("x", 16, 64, 0, 1), Placement("y", 0, 64, 1, 1), Placement("inside", 20, 8, 1, 1)]
    assert live_bytes(places, 2) == [64, 80]


def test_chart() -> None:
    assert memory_chart(report(PLACES, 3, 128), width=8) == [
        "0 |AAAA....|        64",
        "1 |AAAABBBB|       128",
        "2 |CC..BBBB|        96",
    ]


def test_chart_of_pools() -> None:
    """Each has columns by its share of memory, but never too few to see something; the same offset in two pools is not
    the same memory."""
    places = [
        Placement("a", 0, 256, 0, 1, "sram"), Placement("b", 0, 8, 0, 0, "dtcm"), Placement("c", 8, 8, 1, 1, "dtcm"),
    ]  # fmt: skip
    assert live_bytes(places, 2) == [264, 264]
    pools = [PoolTotals(name, ram, ram, 16, None, 0, [], 0) for name, ram in (("dtcm", 16), ("sram", 512))]
    found = report(places, 2, 528)
    found = replace(found, totals=replace(found.totals, pools=pools))
    assert memory_chart(found, width=16) == [
        "   dtcm     sram           ",
        "0 |BBBB....|AAAAAAAA.......|       264",
        "1 |....CCCC|AAAAAAAA.......|       264",
    ]


def test_tensors_that_share_a_column() -> None:
    places = [Placement("a", 0, 16, 0, 0), Placement("b", 16, 16, 0, 0)]
    assert memory_chart(report(places, 1, 128), width=4) == ["0 |*...|        32"]


def test_legend() -> None:
    assert [(letter, place.tensor) for letter, place in legend(report(PLACES, 3, 128))] == [
        ("A", "in"), ("B", "mid"), ("C", "out"),
    ]  # fmt: skip


def test_no_arena() -> None:
    assert memory_chart(report([Placement("a", 0, 0, 0, 0)], 1, 0)) == ["the model needs no arena"]


@pytest.mark.parametrize("content", [{}, [], {"a": []}, [[1, 2], [3]], {"a": {"b": [1, {"c": "é"}]}, "d": None}, [{}]])
def test_json_reads_back(content: Any) -> None:
    assert json.loads(json_text(content)) == content


def test_lists_of_scalars_take_one_line() -> None:
    assert json_text({"shape": [1, 2], "x": [{"y": "[1,\n2]"}]}) == (
        '{\n  "shape": [1, 2],\n  "x": [\n    {\n      "y": "[1,\\n2]"\n    }\n  ]\n}\n'
    )


def test_json_has_no_infinities() -> None:
    assert [finite(number) for number in (1.5, float("inf"), float("nan"))] == [1.5, None, None]
    with pytest.raises(ValueError, match="Out of range"):
        json_text([float("nan")])


@pytest.mark.parametrize(("count", "label"), [(52, 1), (53, 2), (676, 2), (677, 3)])
def test_letters_do_not_repeat(count: int, label: int) -> None:
    places = [Placement(f"t{n}", 64 * (n % 2), 64, n, n + 1) for n in range(count)]
    shown = legend(report(places, count + 1, 128))
    letters = [letter for letter, _ in shown]
    assert len(set(letters)) == count
    assert {len(letter) for letter in letters} == {label}
    lines = memory_chart(report(places, count + 1, 128), width=12)
    assert letters[1] * (6 // label) in lines[1]
    assert len({line.rpartition("|")[2] for line in lines[1:-1]}) == 1
    assert {line.index("|") + 13 for line in lines} == {line.rindex("|") for line in lines}
