"""Work in processes: what comes back, in which order, and that artifacts are the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType

import ccml
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.problems import LimitError
from ccml.processes import allowed, mapped

from tests.cli.command_line import DIGITS


@pytest.fixture(params=["forked", "spawned"])
def start(request: pytest.FixtureRequest) -> Iterator[None]:
    """With a second thread here, processes are not forked."""
    if request.param == "forked":
        yield
        return
    done = Event()
    other = Thread(target=done.wait)
    other.start()
    yield
    done.set()
    other.join()


def with_process(number: int) -> tuple[int, int, MappingProxyType[str, int]]:
    return number, os.getpid(), MappingProxyType({"number": number})


def nested(number: int) -> list[int]:
    return [process for _, process, _ in mapped(with_process, [number, number])]


def refuse(number: int) -> int:
    if number == 2:
        raise CcmlError(ErrorCode.BUDGET, "too large", loc="conv_2", hint="take less", deciding=["x"])
    if number == 5:
        raise LimitError("grows", hint="stop")
    return number


def test_results_come_in_order_from_other_processes(start: None) -> None:
    with allowed(3):
        found = mapped(with_process, range(7))
    assert [number for number, _, _ in found] == list(range(7))
    assert all(also == {"number": number} for number, _, also in found)
    assert os.getpid() not in {process for _, process, _ in found}


def test_one_job_is_this_process(start: None) -> None:
    assert {process for _, process, _ in mapped(with_process, range(3))} == {os.getpid()}
    with allowed(4):
        assert {process for _, process, _ in mapped(with_process, [1])} == {os.getpid()}
        assert all(len(set(pair)) == 1 for pair in mapped(nested, [1, 2])), "processes begin no more of them"
    assert {process for _, process, _ in mapped(with_process, range(3))} == {os.getpid()}


def test_errors_come_back_whole(start: None) -> None:
    with allowed(2):
        with pytest.raises(CcmlError) as caught:
            mapped(refuse, [1, 2, 3])
        error = caught.value
        assert (error.kind, error.reason, error.loc, error.hint, error.deciding) == (
            ErrorCode.BUDGET, "too large", "conv_2", "take less", ("x",)
        )  # fmt: skip
        assert str(error) == "[E501] conv_2: too large\n  hint: take less"
        with pytest.raises(LimitError, match="grows") as limit:
            mapped(refuse, [4, 5])
        assert limit.value.hint == "stop"


def test_the_number_of_jobs_is_checked() -> None:
    for jobs in (0, -1, 257):
        with pytest.raises(CcmlError, match=f"{jobs} jobs"):
            ccml.compile(DIGITS, "x86", jobs=jobs)


def test_artifacts_are_the_same(start: None, tmp_path: Path) -> None:
    folders = [tmp_path / str(jobs) for jobs in (1, 3)]
    for folder, jobs in zip(folders, (1, 3), strict=True):
        result = ccml.compile(DIGITS, "x86", folder, emit=["obj"], jobs=jobs)
        assert len(result.artifacts[0].report.levels) > 1
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
