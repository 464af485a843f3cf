"""The example of a farm: a local cluster of Dask measures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ccml.tuning.database import Meter, read_records

from tests.cli.command_line import DIGITS

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "farm" / "farm.py"


def test_a_local_cluster(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    words = [sys.executable, EXAMPLE, DIGITS, "--seconds", "4", "--database", file]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0
    records = read_records(file)
    assert f"{len(records)} decisions measured by 2 workers" in done.stdout
    assert {record.meter for record in records} == {Meter.TIME} and all(record.processor for record in records)
