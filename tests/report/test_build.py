"""The report adds up, and agrees with the artifact."""

from __future__ import annotations

import json
import re
from pathlib import Path

import ccml
import pytest
from ccml.api import Result
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.report.build import Identity, build_report
from ccml.report.schema import Options, Report
from ccml.targets import select

from tests.schedule.chains import LARGE

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return ccml.compile(DIGITS, "arm", tmp_path_factory.mktemp("digits") / "out")


@pytest.fixture(scope="module")
def report(result: Result) -> Report:
    return result.artifacts[0].report


def test_identity(report: Report) -> None:
    assert (report.model.name, report.model.file, report.model.parameters) == ("digits", "digits.onnx", 36202)
    assert (report.target.name, report.target.abi) == ("cortex-m4", "eabihf")
    assert report.options.emit == ["c", "lib"]
    assert report.ccml == ccml.__version__


def test_layers(report: Report) -> None:
    names = [layer.name.split(" ")[0] for layer in report.layers if "copy" not in layer.ops]
    assert names == [
        "stem", "widen", "block.depthwise", "block.pointwise", "reduce", "node_avg_pool2d", "classify",
    ]  # fmt: skip
    depthwise = next(layer for layer in report.layers if layer.name.startswith("block.depthwise"))
    assert (depthwise.ops, depthwise.shape, depthwise.macs) == (["conv", "relu"], [1, 8, 8, 48], 8 * 8 * 48 * 9)


def test_costs(report: Report) -> None:
    """As many instructions as multiply-accumulates at least, and a frame for each of two functions on the stack."""
    assert report.totals.instructions is not None
    assert report.totals.stack_bytes is not None
    assert report.totals.instructions > report.totals.macs
    assert 16 <= report.totals.stack_bytes <= 1024
    assert all(layer.instructions is not None and layer.instructions > layer.macs for layer in report.layers)


def test_totals(report: Report) -> None:
    totals = report.totals
    assert totals.macs == sum(layer.macs for layer in report.layers)
    assert totals.peak_live_bytes == max(layer.live_bytes for layer in report.layers) <= totals.ram_bytes
    assert totals.ram_bytes % totals.arena_align == 0
    assert totals.flash_bytes == sum((report.sections or {}).values())
    assert totals.code_bytes == (report.sections or {})[".text"]
    assert totals.flash_bytes is not None and totals.code_bytes is not None
    assert totals.flash_bytes >= totals.code_bytes + totals.weight_bytes


def test_memory(report: Report) -> None:
    for place in report.memory:
        assert place.offset + place.bytes <= report.totals.ram_bytes
        assert 0 <= place.first <= place.last < len(report.layers)
    for layer in report.layers:
        live = [place for place in report.memory if place.first <= layer.index <= place.last]
        taken = {byte for place in live for byte in range(place.offset, place.offset + place.bytes)}
        assert layer.live_bytes == len(taken)


def test_inputs_and_outputs_have_a_place(report: Report) -> None:
    places = {place.tensor: place for place in report.memory}
    assert [places[tensor.name].first for tensor in report.inputs] == [0]
    assert [places[tensor.name].last for tensor in report.outputs] == [len(report.layers) - 1]


def test_the_tensors_of_the_peak(report: Report) -> None:
    peak = next(layer for layer in report.layers if layer.live_bytes == report.totals.peak_live_bytes)
    live = {place.tensor for place in report.memory if place.first <= peak.index <= place.last}
    assert set(report.totals.peak_tensors) == live


def test_the_header_says_the_same(result: Result, report: Report) -> None:
    macros = dict(re.findall(r"#define DIGITS_(\w+) (\d+)", (result.folder / "digits.h").read_text()))
    totals = report.totals
    assert int(macros["ARENA_SIZE"]) == totals.arena_bytes
    assert int(macros["ARENA_SIZE_WITH_IO"]) == totals.ram_bytes
    assert int(macros["ARENA_ALIGN"]) == totals.arena_align
    assert int(macros["WEIGHTS_SIZE"]) == totals.weight_bytes
    assert int(macros["MACS"]) == totals.macs


def test_the_file_is_the_report(result: Result, report: Report) -> None:
    text = (result.folder / "report.json").read_text()
    assert text == report.to_json()
    assert json.loads(text)["layers"][1]["ops"] == ["conv", "relu"]


def test_options_are_recorded(tmp_path: Path) -> None:
    options = ccml.ModelOptions(shapes={"image": (1, 1, 8, 8)}, name="d")
    made = ccml.compile(DIGITS, "generic", tmp_path / "out", emit=["c"], options=options).artifacts[0].report
    assert made.options.shapes == {"image": [1, 1, 8, 8]}
    assert made.options.emit == ["c"]
    assert made.model.name == "d"
    assert made.sections is None
    assert made.totals.code_bytes is None
    assert made.totals.flash_bytes is None


def test_streams() -> None:
    """A stream is one layer: the operators of all that it runs, the last result, and what is kept of the others."""
    graph, machine = LARGE["residual"], select("cortex-m4")
    program = lower_graph(graph, machine, Goal(Optimize.RAM))
    report = build_report(Identity("", "", "", Options({}, {}, [])), graph, graph, program, machine)
    layer = report.layers[0]
    assert (len(report.layers), layer.output, layer.shape) == (1, "t1", [1, 14, 12, 16])
    assert layer.ops == ["conv", "requantize", "conv", "requantize", "rescale"]
    assert [(ring.tensor, ring.bytes, ring.tensor_bytes) for ring in layer.rings] == [("t0", 3 * 192, 14 * 192)]
