"""``ccml tune`` and what compiles by its file, from the command line to the artifact."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import Compiled, Goal, compile_model
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.schedule.decision import TUNED, Decision, machine_key, threaded_key
from ccml.targets import Machine
from ccml.tuning.database import Meter, Record, append_records, read_decisions, read_records
from ccml.tuning.search import Layer, layers_of
from ccml.tuning.single import singles

from tests.cli.command_line import DIGITS, DIGITS_TEST, ccml, small_model


def report_of(*args: object) -> dict[str, object]:
    found = ccml(*args, "--json")
    assert found.exit_code == 0, found.output
    data: dict[str, object] = json.loads(found.stdout)
    return data


def test_this_machine(tmp_path: Path) -> None:
    """Times are put down line by line, and the whole model is timed at the end."""
    file = tmp_path / "found.jsonl"
    found = report_of("tune", DIGITS, "--database", file, "--seconds", 3)
    records = read_records(file)
    alone = [record for record in records if not record.in_model]
    assert found["measurements"] == len(records) and alone
    assert {record.machine for record in records} == {machine_key(host_machine())}
    assert {record.meter for record in records} == {Meter.TIME}
    assert all(record.processor for record in records)
    assert found["behind"] > 0 and found["before"] > 0  # type: ignore[operator]
    layers = [name for kernel in found["kernels"] for name in kernel["layers"]]  # type: ignore[attr-defined]
    assert len(layers) == len(set(layers))


def test_what_is_known_is_not_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    arguments = ("tune", DIGITS, "-t", "linux-arm64", "--database", file, "--seconds", 20)
    first = report_of(*arguments)
    lines = file.read_text().splitlines()
    assert first["measurements"] == len(lines) > 0
    report_of(*arguments)
    decisions = [(record.kernel, record.decision) for record in read_records(file)]
    assert len(decisions) == len(set(decisions))


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus", "cortex-m55"])
def test_boards_are_predicted(target: str, tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    options = ("--quantize", "int8", "--calibration", DIGITS_TEST, "--database", file)
    found = report_of("tune", DIGITS, "-t", target, *options, "--seconds", 4)
    assert found["meter"] == "cycles" and found["before"] is None
    assert {record.meter for record in read_records(file)} == {Meter.CYCLES}
    assert all(record.value >= 1 and record.value == round(record.value, 1) for record in read_records(file))


def test_compiled_by_what_was_found(tmp_path: Path) -> None:
    """By a file that says of other loops that they are better: the report tells which layers have them, and the digits
    are told as before."""
    machine = host_machine()
    file = tmp_path / "found.jsonl"
    layers = layers_of(singles(compile_model(DIGITS, machine).optimized, machine), machine)
    append_records(file, [made_up(layer, machine) for layer in layers])
    words = ("-t", machine.name, "--cpu", "native", "--database", file)
    found = report_of("compile", DIGITS, *words, "-o", tmp_path / "out")
    generators = [layer["generator"] for layer in found["layers"]]  # type: ignore[attr-defined]
    assert sum(name.endswith(TUNED) for name in generators) == sum(len(layer.single.layers) for layer in layers) > 0
    tuned = compile_model(DIGITS, machine, goal=Goal(tuned=read_decisions(file)))
    assert [call.generator for call in tuned.program.calls] == generators
    samples = list(tuned.samples(DIGITS_TEST))[:20]
    for plain, other in zip(outputs(compile_model(DIGITS, machine), samples), outputs(tuned, samples), strict=True):
        np.testing.assert_allclose(other, plain, atol=1e-4)


@pytest.mark.parametrize("chunks", [1, 3, 16])
def test_work_split_as_decided(chunks: int) -> None:
    """For two threads into more or fewer chunks, which one of these numbers may be without a decision, too; with the
    same outputs to the last bit."""
    machine, goal = host_machine(), Goal(threads=2)
    plain = compile_model(DIGITS, machine, goal=goal)
    keys = [threaded_key(single.key, 2) for single in singles(plain.optimized, machine)]
    tuned, other = (
        compile_model(DIGITS, machine, goal=replace(goal, tuned={key: Decision("", chunks=count) for key in keys}))
        for count in (chunks, 2)
    )
    assert [kernel.body for kernel in tuned.program.kernels] != [kernel.body for kernel in other.program.kernels]
    samples = list(plain.samples(DIGITS_TEST))[:5]
    model = JitModel(tuned.program, machine)
    for sample, expected in zip(samples, outputs(plain, samples), strict=True):
        alone = model.run(sample)
        with model.threads(2):
            (both,) = model.run(sample).values()
        np.testing.assert_array_equal(both, expected)
        np.testing.assert_array_equal(next(iter(alone.values())), expected)


def test_threads(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    report_of("tune", DIGITS, "--database", file, "--seconds", 2, "--threads", 2)
    assert {record.decision.chunks for record in read_records(file)} == {None, 1, 2, 8, 16}


def outputs(compiled: Compiled, samples: Sequence[Mapping[str, np.ndarray]]) -> list[np.ndarray]:
    model = JitModel(compiled.program, compiled.machine)
    return [next(iter(model.run(sample).values())) for sample in samples]


def made_up(layer: Layer, machine: Machine) -> Record:
    """The last of the possibilities, as if it took half the time."""
    decision = list(layer.known)[-1]
    about = (layer.single.key, machine_key(machine), version("ccml"), "made up")
    return Record(*about, decision, Meter.TIME, 1e-6, 2e-6, "none")


def test_nothing_to_decide(tmp_path: Path) -> None:
    model = small_model(tmp_path / "small.onnx")
    found = ccml("tune", model, "--database", tmp_path / "found.jsonl")
    assert found.exit_code == 2
    assert "no layer of the model has loops that can be tuned" in found.stderr


def test_a_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    file.write_text("hello\n")
    for words in (("tune", DIGITS), ("compile", DIGITS, "-t", "x86", "-o", tmp_path / "out")):
        found = ccml(*words, "--database", file)
        assert found.exit_code == 2
        assert "found.jsonl, line 1" in found.stderr
