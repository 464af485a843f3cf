"""Quantized models with states, of which each run has extents of its own: calibrated on the steps of a sequence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.api import load, quantize
from ccml.driver import ModelOptions, Range, compile_source, read
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph import Graph
from ccml.ir.program import Program
from ccml.ir.types import DType
from ccml.quantization.device import Device
from ccml.quantization.meter import Price
from ccml.quantization.options import QuantizeOptions
from ccml.quantization.ranged import extents_of
from ccml.quantization.sequences import States, states_of
from ccml.quantization.source import Quantization, quantize_source
from ccml.report.budget import Budget, Need
from ccml.samples import read_arrays
from ccml.targets import Machine, select
from ccml.verification.c_model import CModel
from ccml.verification.emulated_model import EmulatedModel

from tests.state.test_extents import HEADS, STATES, WIDTH, decoder, recurrence
from tests.tools import needs

DIMS = {"batch": 1, "length": Range(0, 30), "new": Range(1, 4)}
Arrays = Mapping[str, np.ndarray]


def written(folder: Path, proto: onnx.ModelProto, **arrays: np.ndarray) -> tuple[Path, Path]:
    onnx.save(proto, folder / "model.onnx")
    np.savez(folder / "data.npz", **arrays)
    return folder / "model.onnx", folder / "data.npz"


def normal(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compiled(path: Path, data: Path | None, options: ModelOptions, machine: Machine, **how: object) -> JitModel:
    source = read(path, options)
    if data is not None:
        source = quantize_source(source, Quantization(data, QuantizeOptions(**how))).source  # type: ignore[arg-type]
    return JitModel(compile_source(source, machine).program, machine)


def fed(program: Program) -> list[Arrays]:
    """Steps of a sequence of 23 tokens, of one to four at a time."""
    counts = (1, 4, 3, 1, 4, 4, 2, 4)
    tokens = [stored(program, normal(1, count, 6, seed=number)) for number, count in enumerate(counts)]
    return [{"x": x, "length": np.array(sum(counts[:number]))} for number, x in enumerate(tokens)]


def decoded(model: JitModel) -> list[Arrays]:
    return [model.run(inputs) for inputs in fed(model.program)]


def stored(program: Program, x: np.ndarray) -> np.ndarray:
    """The input as the model takes it."""
    quant = next(side.type.quant for side in program.inputs if side.name == "x")
    if quant is None:
        return x
    return np.clip(np.rint(x / quant.scale[0]) + quant.zero_point[0], -128, 127).astype(np.int8)


def reals(program: Program, found: Arrays) -> Arrays:
    """The output ``y`` as floats."""
    quant = next(side.type.quant for side in program.outputs if side.name == "y")
    return found if quant is None else {"y": (found["y"].astype(np.float32) - quant.zero_point[0]) * quant.scale[0]}


def sqnr(found: list[Arrays], wanted: list[Arrays]) -> float:
    noise = sum(np.square(one["y"] - other["y"]).sum() for one, other in zip(found, wanted, strict=True))
    return float(10 * np.log10(sum(np.square(one["y"]).sum() for one in wanted) / noise))


@pytest.mark.parametrize(("tokens", "integer_io"), [(1, False), (3, False), (3, True)])
def test_a_cache_that_grows(tmp_path: Path, tokens: int, integer_io: bool) -> None:
    """Of 90 tokens several sequences are made; those of the runs come in other numbers."""
    path, data = written(tmp_path, decoder(), x=normal(90 // tokens, 1, tokens, 6))
    options = ModelOptions(dims=DIMS, states=STATES)
    exact = decoded(compiled(path, None, options, host_machine()))
    source = read(path, options)
    given = Quantization(data, QuantizeOptions(integer_io=integer_io))
    graph = quantize_source(source, given).source.graph
    types = {value.name: value.type for value in graph.inputs}
    assert types["past"].dtype is DType.I8
    assert types["past"].shape == (1, HEADS, 34, WIDTH)
    assert sum(node.op == "quantize" for node in graph.nodes) > 4
    quantized = compiled(path, data, options, host_machine(), integer_io=integer_io)
    assert sqnr([reals(quantized.program, found) for found in decoded(quantized)], exact) > 25


@needs("gcc", "qemu-system-arm", "arm-none-eabi-gcc")
def test_the_same_by_all_routes(tmp_path: Path) -> None:
    path, data = written(tmp_path, decoder(), x=normal(30, 1, 2, 6))
    given = Quantization(data, QuantizeOptions(integer_io=True))
    source = quantize_source(read(path, ModelOptions(dims=DIMS, states=STATES)), given).source
    here, there = (compile_source(source, machine) for machine in (host_machine(), select("cortex-m4")))
    inputs = fed(here.program)
    sources = CModel(here.program, here.machine)
    wanted = decoded(JitModel(here.program))
    for found in ([sources.run(each) for each in inputs], EmulatedModel(there, "c").run_sequence(inputs)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one["y"].astype(int), other["y"], atol=1)  # its softmax is of floats


def test_steps_of_a_sequence_are_those_of_the_float_model(tmp_path: Path) -> None:
    """States as long as they are there; where one more would not fit, a sequence begins."""
    path, _ = written(tmp_path, decoder(), x=normal(1))
    source = read(path, ModelOptions(dims={**DIMS, "length": Range(0, 7)}, states=STATES))
    x = normal(6, 1, 3, 6)
    found = states_of(source.graph, extents_of(source), [{"x": each} for each in x])
    assert found.extents["length"].tolist() == [0, 3, 6, 0, 3, 6]
    keys = x @ onnx.numpy_helper.to_array(next(c for c in decoder().graph.initializer if c.name == "k"))
    for number, past in enumerate(found.arrays["past"]):
        begin = number // 3 * 3
        wanted = keys[begin:number].reshape(-1, HEADS, WIDTH).transpose(1, 0, 2)
        np.testing.assert_allclose(past[0], wanted, rtol=1e-5, atol=1e-6)


def test_states_are_repeated_beyond_their_extents() -> None:
    states = States({"h": [np.zeros((1, 0)), np.array([[1.0, 2.0]])]}, {"n": np.array([0, 2])})
    assert states.longest == {"n": 2}
    assert states.stacked({"h": (2, 5)})["h"].tolist() == [[[0] * 5] * 2, [[1, 2, 1, 2, 1]] * 2]


def test_states_of_a_batch(tmp_path: Path) -> None:
    """Samples are steps of one row; rows of a batch are sequences of their own."""
    path, data = written(tmp_path, recurrence(), x=normal(30, 2, 1, 3))
    options = ModelOptions(dims={"time": Range(1, 5), "batch": Range(1, 4)}, states={"h": "hn"})
    model, exact = (compiled(path, given, options, host_machine(), integer_io=given is not None)
                    for given in (data, None))  # fmt: skip
    found, wanted = [], []
    for number, time in enumerate((2, 5, 1, 3)):
        x = normal(time, 3, 3, seed=number)
        found.append(reals(model.program, model.run({"x": stored(model.program, x)})))
        wanted.append(exact.run({"x": x}))
    assert sqnr(found, wanted) > 20


def test_a_budget_is_that_of_the_greatest_extents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is priced has room for the longest sequence, which those of the samples are not."""
    path, data = written(tmp_path, decoder(), x=normal(6, 1, 1, 6))
    priced = []

    def meter(graph: Graph) -> Price:
        priced.append(next(value.shape for value in graph.inputs if value.name == "past"))
        return Price(1.0, 1, None, 0, {}, (Need("cycles", 1, 2),))

    monkeypatch.setattr(Device, "meter", lambda self, source: meter)
    options = ModelOptions(dims=DIMS, states=STATES)
    quantize(path, Quantization(data), options=options, target="cortex-m4", budget=Budget(max_cycles=2))
    assert set(priced) == {(1, HEADS, 34, WIDTH)}


def test_a_quality_is_demanded(tmp_path: Path) -> None:
    path, data = written(tmp_path, decoder(), x=normal(20, 1, 2, 6))
    source = read(path, ModelOptions(dims=DIMS, states=STATES))
    for goal in (10.0, 60.0):
        outputs = quantize_source(source, Quantization(data, QuantizeOptions(min_sqnr=goal))).accuracy.outputs
        floats = [each.sqnr_db for each in outputs if each.equal is None]
        assert all(sqnr_db is None or sqnr_db >= goal for sqnr_db in floats)


def test_calibration_data_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = written(tmp_path, decoder(), x=normal(16, 1, 2, 6))
    read_files = []

    def counted(file: Path) -> dict[str, np.ndarray]:
        read_files.append(file)
        return read_arrays(file)

    monkeypatch.setattr("ccml.quantization.calibration.read_arrays", counted)
    load(path, ModelOptions(dims=DIMS, states=STATES), Quantization(data))
    assert read_files == [data]
