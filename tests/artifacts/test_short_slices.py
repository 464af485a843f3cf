"""Slices of no more cycles than allowed: parts of layers compute the same bits, in the same memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ccml
import onnx.parser
import pytest
from ccml.artifact.emit import Emit
from ccml.artifact.options import ArtifactOptions
from ccml.artifact.short_slices import with_short_slices
from ccml.emit_llvm.jit import JitModel
from ccml.ir.slices import operations
from ccml.ir.steps import Call
from ccml.memory.check import check_plan
from ccml.program.slicing import split_calls

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import GENERIC, M4
from tests.artifacts.routes import assert_same_bits, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import INT8
from tests.cli.command_line import ccml as command
from tests.models import needs_models
from tests.tools import needs

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
KWS8 = INT8[0]


@needs_models
@pytest.mark.parametrize("count", [2, 7])
def test_parts_compute_the_same_bits(count: int, workshop: Workshop) -> None:
    program = workshop.program(KWS8, GENERIC)
    split = split_calls(program, dict.fromkeys(range(len(program.calls)), count))
    assert len(split.calls) > len(program.calls)
    assert sum(call.macs for call in split.calls) == sum(call.macs for call in program.calls)
    check_plan(split)
    (sample,) = workshop.samples(KWS8, GENERIC, 1)
    whole, parts = (JitModel(each).run(sample) for each in (program, split))
    assert_same_bits(stacked([parts]), stacked([whole]))


@needs_models
@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_the_same_bits_on_a_board(form: Emit, workshop: Workshop, tmp_path: Path) -> None:
    program = replace(with_short_slices(workshop.program(KWS8, M4), M4, 150_000), sliced=True)
    assert sum(isinstance(each, Call) for each in operations(program.body)) > 30
    samples = list(workshop.samples(KWS8, M4, 1))
    found = run_artifact(program, M4, form, tmp_path / "out", samples)
    host = JitModel(workshop.program(KWS8, GENERIC))
    assert_same_bits(stacked(found), stacked([host.run(sample) for sample in samples]))


def test_the_report_names_the_longest_slice_and_its_cycles(tmp_path: Path) -> None:
    reports = [
        ccml.compile(DIGITS, "cortex-m4", tmp_path / str(most), emit=["lib"],
                     artifact=ArtifactOptions(slices=True, slice_cycles=most)).artifacts[0].report
        for most in (None, 100_000)
    ]  # fmt: skip
    plain, short = reports
    assert plain.totals.longest_slice is not None and short.totals.longest_slice is not None
    assert plain.layers[plain.totals.longest_slice].cycles > 100_000  # type: ignore[operator]
    assert short.layers[short.totals.longest_slice].cycles <= 100_000  # type: ignore[operator]
    assert short.totals.macs == plain.totals.macs and short.totals.ram_bytes == plain.totals.ram_bytes
    assert short.totals.instructions < 1.1 * plain.totals.instructions  # type: ignore[operator]


def test_what_cannot_be_taken_apart_is_told(tmp_path: Path) -> None:
    """A softmax is one thing: its loops share what the first has found."""
    text = """<ir_version: 9, opset_import: ["" : 20]> net (float[1,500] x) => (float[1,500] y) { y = Softmax (x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    done = command("compile", tmp_path / "net.onnx", "-t", "cortex-m4", "--slice-cycles", "1000", "--emit", "lib",
                   "-o", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0
    assert "cycles, more than 1,000, and cannot be taken apart" in done.stderr


def test_too_many_slices(tmp_path: Path) -> None:
    done = command("compile", DIGITS, "-t", "cortex-m4", "--slice-cycles", "10", "-o", tmp_path / "out")
    assert done.exit_code == 2 and "slices of 10 cycles would have more than 2,000" in done.stderr


def test_cores_whose_cycles_are_not_known(tmp_path: Path) -> None:
    done = command("compile", DIGITS, "-t", "x86", "--slice-cycles", "1000", "-o", tmp_path / "out")
    assert done.exit_code == 2 and "no cycles are known of the layers for x86" in done.stderr
