"""Files of measurements: what they say, joined ones, and damaged ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ccml.errors import CcmlError
from ccml.schedule.decision import BlockShape, Decision
from ccml.tuning.database import Meter, Record, append_records, best_decisions, ratios, read_records

WIDE, HIGH = (Decision("contraction", BlockShape("fma", 8, rows, vectors)) for rows, vectors in ((2, 6), (6, 2)))
TILED = Decision("winograd F(4x4,3x3)", None, (1, 2, 7))
RECORD = Record("00ff", "x86/x86_64/x86-64-v3", "1.0", "conv 3x3", WIDE, Meter.TIME, 0.9e-3, 1e-3, "a processor")


def measured(decision: Decision, ratio: float, **changed: object) -> Record:
    return replace(RECORD, decision=decision, value=ratio * RECORD.reference, **changed)  # type: ignore[arg-type]


def test_records_come_back(tmp_path: Path) -> None:
    file = tmp_path / "tuning.jsonl"
    records = [RECORD, measured(TILED, 0.8, in_model=True), measured(Decision("dsp contraction", form=3), 2.0)]
    append_records(file, records[:1])
    append_records(file, records[1:])
    assert read_records(file) == records


def test_joined_files_count_each_processor_once(tmp_path: Path) -> None:
    """The last measurement of each; the geometric mean of 0.5 and 2 is 1."""
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    append_records(one, [measured(WIDE, 7.0), measured(WIDE, 0.5)])
    append_records(other, [measured(WIDE, 2.0, processor="another")])
    one.write_text(one.read_text() + other.read_text())
    assert ratios(read_records(one)) == {"00ff": {WIDE: pytest.approx(1.0)}}


def test_the_best_decision_is_taken() -> None:
    records = [measured(WIDE, 0.9), measured(HIGH, 0.8), measured(TILED, 1.2), measured(HIGH, 0.7, kernel="11")]
    assert best_decisions(records, "1.0") == {"00ff": HIGH, "11": HIGH}


@pytest.mark.parametrize("ratio", [0.995, 1.0, 3.0])
def test_what_is_no_better_than_the_choice_is_none(ratio: float) -> None:
    assert best_decisions([measured(WIDE, ratio)], "1.0") == {}


def test_a_whole_model_tells_more_than_a_kernel_alone() -> None:
    records = [measured(WIDE, 1.1, in_model=True), measured(WIDE, 0.5), measured(HIGH, 0.9)]
    assert best_decisions(records, "1.0") == {"00ff": HIGH}


def test_other_versions_do_not_count(caplog: pytest.LogCaptureFixture) -> None:
    assert best_decisions([RECORD, measured(HIGH, 0.1, version="0.9")], "1.0") == {"00ff": WIDE}
    assert "1 measurements of other versions" in caplog.text


def test_times_come_before_predictions() -> None:
    records = [measured(WIDE, 0.9), measured(HIGH, 0.1, meter=Meter.ESTIMATE)]
    assert best_decisions(records, "1.0") == {"00ff": WIDE}


DAMAGED = {
    "no JSON": "{",
    "no object": "[]",
    "a number": "7",
    "nested": "[" * 10_000,
    "long": '{"schema": 1, "about": "' + "x" * 20_000 + '"}',
    "another schema": json.dumps({**json.loads(RECORD.line()), "schema": 99}),
    "a field is missing": json.dumps({k: v for k, v in json.loads(RECORD.line()).items() if k != "value"}),
    "a field too many": json.dumps({**json.loads(RECORD.line()), "more": 1}),
    "another meter": json.dumps({**json.loads(RECORD.line()), "meter": "ruler"}),
    "no number": RECORD.line().replace("0.001", "NaN"),
    "a number as text": RECORD.line().replace("0.001", '"0.001"'),
    "nothing": RECORD.line().replace("0.001", "0"),
    "a number as key": RECORD.line().replace('"00ff"', "17"),
    "rows beyond all registers": RECORD.line().replace('"rows":2', '"rows":2000000000'),
    "no rows": RECORD.line().replace('"rows":2', '"rows":0'),
    "rows as text": RECORD.line().replace('"rows":2', '"rows":"2"'),
    "tiles": RECORD.line().replace('"tiles":null', '"tiles":[1,2]'),
    "chunks": RECORD.line().replace('"chunks":null', '"chunks":1000'),
    "form": RECORD.line().replace('"form":null', '"form":-1'),
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
def test_damaged_lines_are_named(line: str, tmp_path: Path) -> None:
    assert line + "\n" != RECORD.line()
    file = tmp_path / "tuning.jsonl"
    file.write_text(RECORD.line() + line + "\n")
    with pytest.raises(CcmlError, match=r"tuning\.jsonl, line 2: no record of a measurement") as raised:
        read_records(file)
    assert raised.value.kind.code == "E201"


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match="cannot be read") as raised:
        read_records(tmp_path / "none.jsonl")
    assert "ccml tune" in str(raised.value.hint)
