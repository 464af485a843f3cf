"""Verification finds faults: in a pass, in the generated code, in the import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.driver import compile_source, find_machine, read
from ccml.emit_llvm.jit import host_machine
from ccml.errors import CcmlError
from ccml.ir.graph import Graph
from ccml.passes import pipeline
from ccml.passes.precision import FloatFormat
from ccml.verification.compare_model import CODE_GENERATION, Stages, Verification, compare
from ccml.verification.reference import Arrays, Reference, find_reference
from onnx import TensorProto, helper

from tests.cli.command_line import DIGITS, save_model
from tests.frontend_onnx.graphs import model, value
from tests.tools import needs


def verified(path: Path, samples: int = 1) -> Verification:
    return ccml.verify(path, samples=samples)


def test_a_sound_model() -> None:
    found = verified(DIGITS, samples=2)
    assert (found.ok, found.first_layer, found.first_stage) == (True, None, None)
    assert {row.reference for row in found.layers} == {"onnx"}
    assert len(found.layers) == 7
    found.require()


def test_tensors_of_bfloat16_are_compared_as_numbers() -> None:
    """Those between layers are in memory as their bits."""
    options = ccml.ModelOptions(precision=FloatFormat.BF16)
    found = ccml.verify(DIGITS, samples=2, options=options, tolerance=FloatFormat.BF16.tolerance)
    assert found.ok and {row.reference for row in found.layers} == {"graph", "onnx"}
    assert 1e-4 < found.outputs[0].difference.relative_l2 < 0.02


def scaled(graph: Graph, loc: str, factor: float) -> Graph:
    """``graph`` with the weights of the node whose ONNX name is ``loc`` multiplied."""
    weights = next(node for node in graph.nodes if node.loc == loc).operands[1].name
    array = graph.constants[weights] * np.float32(factor)
    array.flags.writeable = False
    return replace(graph, constants={**graph.constants, weights: array})


def add_pass(monkeypatch: pytest.MonkeyPatch, name: str, run: Callable[[Graph], Graph]) -> None:
    first, *rest = pipeline.PASSES
    monkeypatch.setattr(pipeline, "PASSES", (first, (name, run), *rest))


@pytest.mark.parametrize("layer", ["widen", "block.pointwise"])
def test_a_wrong_pass_is_named(monkeypatch: pytest.MonkeyPatch, layer: str) -> None:
    add_pass(monkeypatch, "broken_pass", lambda graph: scaled(graph, layer, 1.01))
    found = verified(DIGITS)
    assert not found.ok
    assert found.first_layer is not None and found.first_layer.node.startswith(layer)
    assert found.first_stage == "02-broken_pass"
    with pytest.raises(ccml.CcmlError, match="02-broken_pass") as caught:
        found.require()
    assert caught.value.kind is ccml.ErrorCode.MISMATCH
    assert caught.value.loc is not None and caught.value.loc.startswith(layer)


def test_wrong_code_is_named() -> None:
    source = read(DIGITS)
    stages: Stages = [("00-import", source.graph)]
    compiled = compile_source(source, host_machine())
    call = next(call for call in compiled.program.calls if call.loc.startswith("block.depthwise"))
    weights = next(name for name in call.args if name in compiled.program.constants)
    wrong = compiled.program.constants[weights] * np.float32(1.5)
    constants = {**compiled.program.constants, weights: wrong}
    compiled = replace(compiled, program=replace(compiled.program, constants=constants))
    found = compare(compiled, stages, compiled.samples(count=1), tolerance=1e-4)
    assert found.first_layer is not None and found.first_layer.node.startswith("block.depthwise")
    assert found.first_stage == CODE_GENERATION


def test_a_wrong_import_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"], "only"))
    source = read(path)
    node = source.graph.nodes[0]
    wrong = replace(source, graph=source.graph.with_nodes([replace(node, op="neg", attrs={})]))
    monkeypatch.setattr("ccml.api.read", lambda *_: wrong)
    found = verified(path)
    assert found.first_layer is not None and found.first_layer.node == "only"
    assert found.first_stage == "00-import"


def test_a_pass_may_give_a_tensor_another_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """relu(x 2A) B/2 = relu(x A) B: the tensor in between is twice what its name stands for in the model."""
    nodes = (
        helper.make_node("MatMul", ["x", "a"], ["xa"], "first"),
        helper.make_node("Relu", ["xa"], ["h"], "relu"),
        helper.make_node("MatMul", ["h", "b"], ["y"], "second"),
    )
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal((3, 3)).astype(np.float32) for name in "ab"}
    path = save_model(tmp_path / "m.onnx", *nodes, **weights)
    add_pass(monkeypatch, "move_factor", lambda graph: scaled(scaled(graph, "first", 2), "second", 0.5))
    found = verified(path)
    assert found.ok
    assert {row.tensor: row.reference for row in found.layers} == {"h": "graph", "y": "onnx"}

    add_pass(monkeypatch, "lose_factor", lambda graph: scaled(graph, "first", 0.5))
    lost = verified(path)
    assert lost.first_layer is not None and lost.first_layer.tensor == "y"
    assert lost.first_stage == "02-lose_factor"


RNG = np.random.default_rng(0)
FAULTS = {
    "statistics of the batch instead of the model's, before opset 14": (
        helper.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], ["y"]), (2, 3, 4), 13,
        {name: np.full(3, number, np.float32) for name, number in zip(("scale", "bias", "mean", "var"), (2, 1, 5, 4))},
    ),
    "positions of opset 11 for those of 10": (
        helper.make_node("Resize", ["x", "scales"], ["y"]), (1, 1, 4, 6), 10,
        {"scales": np.array([1, 1, 1.5, 1.5], np.float32)},
    ),
    "biases of the first group for all": (
        helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], group=3), (1, 3, 4), 21,
        {"w": RNG.standard_normal((3, 1, 2)).astype(np.float32), "b": np.array([1, 2, 3], np.float32)},
    ),
    "lengths of sequences are not looked at": (
        helper.make_node("GRU", ["x", "w", "r", "", "lengths"], ["y"], hidden_size=2), (4, 2, 3), 14,
        {"w": RNG.standard_normal((1, 6, 3)).astype(np.float32), "r": RNG.standard_normal((1, 6, 2)).astype(np.float32),
         "lengths": np.array([4, 2], np.int32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_reference_evaluator_are_avoided(fault: str, tmp_path: Path) -> None:
    node, shape, opset, constants = FAULTS[fault]
    onnx.save(model([node], [value("x", shape)], ["y"], constants, opset), tmp_path / "m.onnx")
    assert verified(tmp_path / "m.onnx").ok


def test_what_lies_beyond_the_extents_of_a_sample_is_not_compared(tmp_path: Path) -> None:
    """Positions of a resize are those of the bounds in the import, and of the sample in the code."""
    nodes = [helper.make_node("Resize", ["x", "", "", "sizes"], ["y"])]
    path, sizes = tmp_path / "m.onnx", {"sizes": np.array([1, 1, 9, 9])}
    onnx.save(model(nodes, [value("x", (1, 1, "h", 6))], ["y"], sizes, opset=18), path)
    options = ccml.ModelOptions(dims={"h": ccml.Range(2, 9)})
    for rows, layers in ((9, True), (4, False)):
        np.save(tmp_path / "x.npy", RNG.standard_normal((1, 1, rows, 6)).astype(np.float32))
        found = ccml.verify(path, options, tmp_path / "x.npy", samples=1)
        assert found.ok and bool(found.layers) == layers


def test_a_model_that_the_reference_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise NotImplementedError("no such operator")

    monkeypatch.setattr("onnx.reference.ReferenceEvaluator", fail)
    source = read(save_model(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"])))
    inputs = {"x": np.ones((2, 3), np.float32)}
    reference = find_reference(source, inputs)
    assert reference.kind == "import"
    np.testing.assert_array_equal(reference.values(inputs)["y"], inputs["x"])


@pytest.mark.parametrize(
    ("elements", "steps", "ok"), [(1, 1, True), (1, 2, False), (2, 1, False)], ids=["a tie", "two steps", "two ties"]
)
def test_the_reference_may_round_a_tie_otherwise(
    elements: int, steps: int, ok: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its 64 elements of y, some of them a step or two from what the text of the operators gives."""
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"], "neg"),
        helper.make_node("QuantizeLinear", ["b", "scale", "zero"], ["y"]),
    ]
    constants = {"scale": np.float32(0.1), "zero": np.int8(0)}
    path = save_model(tmp_path / "m.onnx", *nodes, shape=(64,), element=TensorProto.INT8, **constants)
    values = Reference.values

    def moved(self: Reference, inputs: Arrays) -> Arrays:
        found = dict(values(self, inputs))
        y = found["y"].astype(np.int16)
        y[:elements] -= np.where(y[:elements] > 0, steps, -steps).astype(np.int16)
        return {**found, "y": y.astype(np.int8)}

    monkeypatch.setattr(Reference, "values", moved)
    assert verified(path).ok == ok


@needs("qemu-system-arm", "arm-none-eabi-gcc")
def test_the_passes_of_a_target_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs is what ``compile`` makes for the target, not the graph of this machine."""
    passes = dict.fromkeys(["signed_bytes"], lambda graph: scaled(graph, "widen", 1.01))
    monkeypatch.setattr(pipeline, "PASSES", [(name, passes.get(name, run)) for name, run in pipeline.PASSES])
    found = ccml.verify(DIGITS, samples=1, target="cortex-m4", backend="llvm")
    assert not found.ok
    assert found.first_stage is not None and found.first_stage.endswith("signed_bytes")


@needs("qemu-system-arm", "arm-none-eabi-gcc")
def test_a_target_is_verified_by_the_route_of_its_library() -> None:
    assert ccml.verify(DIGITS, samples=1, target="cortex-m4").backend == "llvm"
    assert ccml.verify(DIGITS, samples=1).backend == "jit"
    with pytest.raises(CcmlError, match="the backend jit is none for a target"):
        ccml.verify(DIGITS, target="cortex-m4", backend="jit")
    with pytest.raises(CcmlError, match="the backend llvm is none on this machine"):
        ccml.verify(DIGITS, backend="llvm")


@needs("qemu-system-arm", "arm-none-eabi-gcc")
def test_integers_of_a_target_have_to_equal_the_hosts(tmp_path: Path) -> None:
    """Whatever the tolerance: the host adds 101 where the target, like the reference, adds 100."""
    addend = np.full((2, 3), 100, np.int32)
    add = helper.make_node("Add", ["x", "w"], ["y"])
    source = read(save_model(tmp_path / "m.onnx", add, element=TensorProto.INT32, w=addend))
    board, host = compile_source(source, find_machine("cortex-m4")), compile_source(source, host_machine())
    wrong = {name: array + np.int32(1) for name, array in host.program.constants.items()}
    host = replace(host, program=replace(host.program, constants=wrong))
    found = compare(board, [], host.samples(count=1), tolerance=0.5, backend="llvm", host=host)
    assert [(row.reference, row.ok) for row in found.outputs] == [("onnx", True), ("host", False)]
    assert (found.ok, found.target, found.first_stage) == (False, "cortex-m4", CODE_GENERATION)
