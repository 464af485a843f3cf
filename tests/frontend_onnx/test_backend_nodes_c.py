"""The ONNX backend suite by way of C: the sources of many models in one library, compiled and run together."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.targets import select

from tests.c_batch import CaseFailed, run_batch
from tests.frontend_onnx.backend_nodes import NodeCase, expected_to_pass, node_tests, prepare
from tests.tools import needs

EXPECTED = [name for name in expected_to_pass() if name in node_tests()]
BATCH = 64
CACHE = Path(__file__).parents[2] / "build" / "c_batches"


@pytest.mark.check
@needs("gcc")
@pytest.mark.parametrize("first", range(0, len(EXPECTED), BATCH))
def test_nodes(first: int) -> None:
    """All cases of a batch, so that one failure does not hide another."""
    machine = select("x86")
    names = EXPECTED[first : first + BATCH]
    cases = [prepare(node_tests()[name], expected_to_pass()[name]) for name in names]
    programs = [case.compiled(machine, f"case_{first + number}") for number, case in enumerate(cases)]
    results = run_batch(programs, machine, [case.feeds for case in cases], CACHE)
    wrong = {name: error for name, case, result in zip(names, cases, results) if (error := _error(case, result))}
    assert not wrong


def _error(case: NodeCase, result: dict | CaseFailed) -> str:
    if isinstance(result, CaseFailed):
        return result.reason
    try:
        case.judge(result)
    except AssertionError as error:
        return str(error)
    return ""
