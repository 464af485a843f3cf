"""The output folder: what is written, removed and left alone."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from ccml.artifact.folder import list_files, publish, staging
from ccml.errors import CcmlError, ErrorCode


def write(out: Path, **files: str) -> None:
    """Publishes files as a compilation does, with a report that lists them; ``__`` in a name stands for ``/``."""
    with staging(out) as stage:
        for name, text in files.items():
            path = stage / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        listed = [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in list_files(stage)]
        (stage / "report.json").write_text(json.dumps({"ccml": "0", "files": listed}))
        publish(stage, out)


def content(out: Path) -> dict[str, str]:
    paths = (path for path in out.rglob("*") if path.is_file() and path.name != "report.json")
    return {path.relative_to(out).as_posix(): path.read_text() for path in paths}


def test_stale_files_and_empty_folders_go(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1", b="2", sub__c="3")
    write(tmp_path / "out", a="4")
    assert content(tmp_path / "out") == {"a": "4"}
    assert not (tmp_path / "out" / "sub").exists()


def test_files_of_others_stay(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1", sub__c="3")
    (tmp_path / "out" / "mine").write_text("mine")
    (tmp_path / "out" / "sub" / "mine").write_text("mine, too")
    write(tmp_path / "out", b="2")
    assert content(tmp_path / "out") == {"b": "2", "mine": "mine", "sub/mine": "mine, too"}


def test_a_stale_file_that_was_changed_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "out", a="1", b="2")
    (tmp_path / "out" / "b").write_text("edited")
    with caplog.at_level(logging.WARNING):
        write(tmp_path / "out", a="1")
    assert content(tmp_path / "out") == {"a": "1", "b": "edited"}
    assert "was changed since" in caplog.text


def test_own_files_are_replaced_even_when_changed(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1")
    (tmp_path / "out" / "a").write_text("edited")
    write(tmp_path / "out", a="2")
    assert content(tmp_path / "out") == {"a": "2"}


def test_equal_files_are_not_touched(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1")
    before = (tmp_path / "out" / "a").stat()
    write(tmp_path / "out", a="1", b="2")
    after = (tmp_path / "out" / "a").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_foreign_file_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1")
    (tmp_path / "out" / "b").write_text("mine")
    with pytest.raises(CcmlError) as caught:
        write(tmp_path / "out", a="2", b="3")
    assert caught.value.kind is ErrorCode.OUTPUT_FOLDER
    assert content(tmp_path / "out") == {"a": "1", "b": "mine"}


def test_a_failure_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "out", a="1")
    with pytest.raises(RuntimeError), staging(tmp_path / "out") as stage:
        (stage / "a").write_text("2")
        raise RuntimeError
    assert content(tmp_path / "out") == {"a": "1"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"a", "report.json"}


@pytest.mark.parametrize(
    "report",
    [
        "no json",
        "[]",
        "null",
        '{"ccml": "0"}',
        '{"ccml": "0", "files": [1]}',
        '{"files": [{"path": "mine", "sha256": ""}]}',
        '{"ccml": "0", "files": [{"path": "../outside", "sha256": "x"}, {"path": "/etc/hostname", "sha256": "x"}]}',
    ],
)
def test_a_strange_report_removes_nothing(tmp_path: Path, report: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "outside").write_text("outside")
    (out / "mine").write_text("mine")
    (out / "report.json").write_text(report)
    try:
        write(out, a="1")
    except CcmlError as error:
        assert "report.json" in error.reason
    assert (tmp_path / "outside").read_text() == "outside"
    assert (out / "mine").read_text() == "mine"


def test_nothing_is_removed_through_a_symbolic_link(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    write(out, a="1", sub__c="3")
    elsewhere.mkdir()
    (out / "sub" / "c").replace(elsewhere / "c")
    (out / "sub").rmdir()
    (out / "sub").symlink_to(elsewhere)
    write(out, a="1")
    assert (elsewhere / "c").read_text() == "3"
