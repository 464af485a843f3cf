"""The page: one file, safe for names that are hostile, with all figures; several reports side by side."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ccml.report.page.graph import picture
from ccml.report.page.render import render_page
from ccml.report.page.view import view

from tests.cli.command_line import DIGITS, ccml
from tests.report.page_reports import HOSTILE, branches_and_loops, compiled_report, hostile_report, long_report


class Page(HTMLParser):
    """Elements with their attributes, and the text of each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "rect", "path", "line"):
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        for tag in set(self.inside):
            self.texts.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str) -> str:
        return "".join(self.texts[tag])


def test_hostile_names_stay_names() -> None:
    text = render_page([hostile_report()])
    page = Page(text)
    assert [attributes.get("type") for attributes in page.all("script")] == ["application/json", None]
    assert page.all("img") == []
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not [attributes for _, attributes in page.elements if "javascript:" in str(attributes)]
    assert {attributes["href"] for attributes in page.all("a")} >= {"#main"}
    assert all((attributes["href"] or "").startswith("#") for attributes in page.all("a"))
    assert "<script>document.title='owned'</script>" in page.text("main")
    assert not re.search("[\u202e\u2028\x07]", text)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text).group(1))  # type: ignore[union-attr]
    assert data[0]["layers"][3]["name"].startswith(HOSTILE[:40])


def test_nothing_is_loaded_and_nothing_else_may_run() -> None:
    """The policy allows the one style and the one script that are there, by their hashes."""
    text = render_page([hostile_report(), long_report(4)])
    page = Page(text)
    assert not [a for _, a in page.elements if a.get("src")]
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none';")
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content.group(1).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "style" not in {name for _, attributes in page.elements for name in attributes}


def test_the_page_is_the_same_each_time() -> None:
    assert render_page([long_report(20)]) == render_page([long_report(20)])


def test_three_hundred_layers_are_less_than_three_megabytes() -> None:
    text = render_page([long_report(300)])
    assert len(text.encode()) < 3_000_000
    rows = re.findall(r'<tr data-layer="(\d+)">', text)
    report = long_report(300)
    cycles = [report.layers[int(row)].cycles or 0 for row in rows]
    assert sorted(map(int, rows)) == list(range(300))
    assert cycles == sorted(cycles, reverse=True)


def test_every_name_is_there_in_full() -> None:
    report = long_report(5, "a/very/long/scope/" * 20 + "{0}")
    text = Page(render_page([report])).text("main")
    assert all(layer.name in text for layer in report.layers)


def test_figures_of_a_layer() -> None:
    text = Page(render_page([long_report(30)], clock=80_000_000)).text("main")
    for figure in ("9,814", "0.123", "5,022", "gemm_3x2_i8", "dsp contraction", 'precision = "int16"', "5,120 B"):
        assert figure in text, figure


def test_cost_falls_back_to_what_is_known() -> None:
    report = long_report(5)
    bare = replace(report, layers=[replace(each, cycles=None, instructions=None) for each in report.layers])
    assert view(report, "r0", "").measure == "cycles"
    assert view(bare, "r0", "").measure == "macs"
    assert "Layers, by MACs" in render_page([bare])


def test_a_tensor_knows_its_places() -> None:
    shown = view(long_report(6), "r0", "")
    row = next(row for row in shown.tensors if row.name.startswith("model/block_0/"))
    assert (row.written, row.read) == ([0], [1, 2])
    assert row.place is not None and (row.place.first, row.place.last) == (0, 2)


def test_bodies_of_branches_and_loops_are_frames(tmp_path: Path) -> None:
    report = compiled_report(tmp_path, branches_and_loops())
    drawn = picture(report, [0.0] * len(report.layers))
    assert sorted(frame.label for frame in drawn.frames) == ["else of choose", "passes of again", "then of choose"]
    for frame in drawn.frames:
        inside = [
            box.layer for box in drawn.boxes
            if frame.x < box.x and box.x + box.width < frame.x + frame.width
            and frame.y < box.y and box.y + box.height < frame.y + frame.height
        ]  # fmt: skip
        assert inside == [layer.index for layer in report.layers if layer.within == frame.label]
    assert any(line.back for line in drawn.lines)


def test_reports_of_compilations_say_which_tensors_layers_use(tmp_path: Path) -> None:
    assert ccml("compile", DIGITS, "-t", "arm", "-o", tmp_path, "--page", tmp_path / "p.html").exit_code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    made = {report["inputs"][0]["tensor"]}
    for layer in report["layers"]:
        assert set(layer["reads"]) <= made
        made |= set(layer["writes"])
        assert layer["output"] in layer["writes"]
    assert report["outputs"][0]["tensor"] in made
    assert {place["tensor"] for place in report["memory"]} <= made
    assert any(layer["tiles"] for layer in report["layers"])
    assert report["layers"][0]["name"] in Page((tmp_path / "p.html").read_text(encoding="utf-8")).text("main")


def test_several_reports_side_by_side(tmp_path: Path) -> None:
    report = long_report(4)
    slower = replace(
        report,
        target=replace(report.target, name="cortex-m3", cpu="cortex-m3"),
        totals=replace(report.totals, cycles=(report.totals.cycles or 0) * 2),
        layers=[replace(each, cycles=(each.cycles or 0) * 3) for each in report.layers],
    )
    for name, each in (("a", report), ("b", slower)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(each.to_json())
    file = tmp_path / "both.html"
    result = ccml("page", tmp_path / "a", tmp_path / "b" / "report.json", "-o", file, "--clock", "80MHz")
    assert result.exit_code == 0, result.stderr
    page = Page(file.read_text(encoding="utf-8"))
    text = page.text("main")
    assert "net on cortex-m3" in text
    assert text.count("+100.0%") == 1
    assert text.count("+200.0%") == 4
    assert [a["id"] for a in page.all("article")] == ["r0", "r1"]


def test_layers_are_compared_by_the_node_that_they_begin_with() -> None:
    """What a layer has taken in differs between a float model and a quantized one, and so may costs by far."""
    whole = long_report(2)
    plain = replace(
        whole,
        layers=[replace(each, name=f"{each.name} + Relu_7", cycles=(each.cycles or 0) * 40) for each in whole.layers],
    )
    text = Page(render_page([whole, plain])).text("main")
    assert text.count("40 times") == len(whole.layers) == 2


def test_equal_reports_have_different_labels() -> None:
    text = render_page([long_report(2), long_report(2)])
    assert "1: net on cortex-m4" in text and "2: net on cortex-m4" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("page", "nowhere"), "cannot read the file"),
        (("page", "nowhere", "-o", "x.txt"), "what is written is a page of HTML"),
        (("page", "nowhere", "--clock", "fast"), "'fast' is no clock such as 80MHz"),
        (("page", "nowhere", "--clock", "0MHz"), "'0MHz' is no clock"),
    ],
)
def test_errors_of_the_command(words: tuple[str, ...], message: str) -> None:
    result = ccml(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert all(len(line) <= 80 for line in result.stderr.splitlines())
