"""report.json as it is read back: what ccml wrote, and what somebody else did."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ccml
import pytest
from ccml.errors import CcmlError, ErrorCode

from tests.report.page_reports import long_report


def saved(path: Path, change: Callable[[dict[str, Any]], object] = lambda content: None) -> Path:
    """A report of three layers in a file, after ``change``."""
    content = json.loads(long_report(3).to_json())
    change(content)
    file = path / "report.json"
    file.write_text(json.dumps(content))
    return file


def refused(file: Path) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        ccml.read_reports(file)
    assert caught.value.kind is ErrorCode.BAD_INPUT
    return caught.value


def test_a_report_reads_back(tmp_path: Path) -> None:
    assert ccml.read_reports(saved(tmp_path)) == [long_report(3)]
    assert ccml.read_reports(tmp_path) == [long_report(3)]


def test_what_newer_versions_add_is_left_out(tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["added"] = content["layers"][0]["added"] = {"x": [1]}
        del content["layers"][1]["tiles"]

    report = ccml.read_reports(saved(tmp_path, change))[0]
    assert [layer.tiles for layer in report.layers] == [["gemm_3x2_i8"], [], ["gemm_3x2_i8"]]


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "version": (lambda c: c.update(schema=2), "has version 2 of the format, and this ccml reads version 1"),
    "odd version": (lambda c: c.update(schema="1" * 500), "has version"),
    "no version": (lambda c: c.pop("schema"), "no field 'schema'"),
    "missing": (lambda c: c["totals"].pop("ram_bytes"), "totals.ram_bytes is missing"),
    "text for a number": (lambda c: c["layers"][1].update(macs="7"), r"layers\[1\].macs is not a whole number"),
    "true for a number": (lambda c: c["layers"][1].update(macs=True), r"layers\[1\].macs is not a whole number"),
    "negative": (lambda c: c["memory"][0].update(offset=-4), r"memory\[0\].offset is not a whole number"),
    "huge": (lambda c: c["layers"][0].update(cycles=10**400), r"layers\[0\].cycles is not a whole number"),
    "huge share": (lambda c: c["accuracy"]["layers"][0].update(noise_share=10**400), "noise_share is not a number"),
    "infinite": (lambda c: c["accuracy"]["layers"][0].update(cosine=float("inf")), "cosine is not a number"),
    "not a list": (lambda c: c.update(layers={}), "layers is not an array"),
    "not an object": (lambda c: c["layers"].append(7), r"layers\[3\] is not an object"),
    "order": (lambda c: c["layers"][1].update(index=5), r"layers\[1\].index is 5"),
    "beyond the layers": (lambda c: c["memory"][1].update(last=3), r"memory\[1\] lives from 0 to 3, of 3 layers"),
    "too many": (lambda c: c.update(layers=[0] * 20_001), "layers are more than 20,000"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_report_is_refused(tmp_path: Path, name: str) -> None:
    change, reason = WRONG[name]
    assert refused(saved(tmp_path, change)).hint
    with pytest.raises(CcmlError, match=reason):
        ccml.read_reports(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"schema": 1', "\xff\xfe", '{"schema": ' + "9" * 5000])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(text.encode("latin-1"))
    assert str(file) in str(refused(file))


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path).reason


def test_reports_of_several_models(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        saved(tmp_path / name)
    index = {"schema": 1, "ccml": "0", "reports": {name: f"{name}/report.json" for name in "ab"}, "files": []}
    (tmp_path / "report.json").write_text(json.dumps(index))
    assert ccml.read_reports(tmp_path) == [long_report(3)] * 2


@pytest.mark.parametrize("path", ["../report.json", "/etc/passwd", "a/../../x", "C:/x", "a\\..\\b", 7, "x\0y", "link"])
def test_reports_elsewhere_are_refused(tmp_path: Path, path: object) -> None:
    saved(tmp_path)
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "report.json")
    (folder / "report.json").write_text(json.dumps({"schema": 1, "models": {"m": path}}))
    assert "outside of its folder" in refused(folder).reason


def test_a_report_that_lists_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps({"schema": 1, "models": {"m": "report.json"}}))
    assert "ccml is missing" in refused(tmp_path).reason
