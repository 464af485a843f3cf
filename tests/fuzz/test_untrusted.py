"""A slice of the damaged files, each in a process with bounds; ``python -m tests.fuzz.untrusted`` does the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode

from tests.fuzz.expensive import model, node
from tests.fuzz.sandbox import BAD, Bounds, End, confined
from tests.fuzz.untrusted import Finding, compile_file, examine


def bad(findings: list[Finding]) -> list[str]:
    return [f"{finding.name}: {finding.cost}" for finding in findings if finding.cost.end in BAD]


def test_damaged_models() -> None:
    findings = examine("models", range(150), None)
    assert not bad(findings)
    assert sum(finding.cost.end is End.RESULT for finding in findings) > 20


def test_damaged_tensorflow_lite_models() -> None:
    findings = examine("tflite", range(150), None)
    assert not bad(findings)
    assert sum(finding.cost.end is End.RESULT for finding in findings) > 20


def test_damaged_data() -> None:
    findings = examine("data", range(400), None)
    assert not bad(findings)
    assert sum(finding.cost.end is End.RESULT for finding in findings) > 20


def endless() -> None:
    while True:
        pass


def greedy() -> None:
    bytearray(4 << 30)


def refuse() -> None:
    raise CcmlError(ErrorCode.INVALID_MODEL, "no")


def fail() -> None:
    raise CcmlError(ErrorCode.IR_INVALID, "no")


@pytest.mark.parametrize(
    ("work", "end"),
    [(endless, End.SLOW), (greedy, End.MEMORY), (refuse, End.ERROR), (fail, End.INTERNAL), (Path, End.RESULT)],
)
def test_bounds_are_kept(work, end) -> None:  # type: ignore[no-untyped-def]
    assert confined(work, Bounds(1, 1 << 30)).end is end


def test_results_that_memory_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    path.write_bytes(model([node("Expand", "x s", "y")], constants={"s": np.array([2**29, 4])}))
    cost = confined(lambda: compile_file(path), Bounds(10, 2 << 30))
    assert cost.end is End.ERROR and "[E501] a run takes 8,589,934,592 bytes" in cost.what
