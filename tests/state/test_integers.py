"""States of quantized models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.driver import ModelOptions, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.types import DType
from ccml.quantization.options import QuantizeOptions
from ccml.quantization.source import Quantization, quantize_source
from ccml.verification.c_model import CModel

from tests.state.models import MODELS, quantized
from tests.state.test_runs import compiled
from tests.tools import needs

pytest.importorskip("onnxruntime")


def test_a_state_of_a_qdq_model_is_kept_as_integers() -> None:
    """The values are those of the float state, and begin with the integer that stands for zero."""
    case = quantized()
    program = compiled(case, host_machine()).program
    (state,) = program.states
    assert (state.type.dtype, state.initial, state.copied) == (DType.I8, 5, False)
    model, feeds = JitModel(program, host_machine()), case.feeds()
    np.testing.assert_array_equal(model.state.values["h"], 5)
    for feed, wanted in zip(feeds, case.expected(feeds), strict=True):
        np.testing.assert_array_equal(model.run(feed)["y"], wanted["y"])
        np.testing.assert_array_equal((model.state.values["h"].astype(np.float32) - 5) * 0.125, wanted["hn"])


@needs("gcc")
def test_reset_in_c_gives_the_zero_point() -> None:
    case = quantized()
    program = compiled(case, host_machine()).program
    model, feeds = CModel(program, host_machine()), case.feeds()
    np.testing.assert_array_equal(model.state.values["h"], 5)
    for feed, wanted in zip(feeds, case.expected(feeds), strict=True):
        np.testing.assert_array_equal(model.run(feed)["y"], wanted["y"])


def test_states_with_two_encodings_stay_floats() -> None:
    case = quantized()
    for node in case.model.graph.node:
        if node.output[0] in ("h.dq.q", "h.dq"):
            node.input[1] = "t"
    (state,) = compiled(case, host_machine()).program.states
    assert state.type.dtype is DType.F32


@pytest.mark.parametrize("integer_io", [False, True])
@pytest.mark.parametrize("name", ["LSTM", "pointwise"])
def test_post_training_quantization_gives_both_sides_one_encoding(
    name: str, integer_io: bool, tmp_path: Path
) -> None:
    """The states that calibration needs are those of a run of the float model. They are integers where the interface
    is."""
    case = MODELS[name]()
    feeds = case.feeds(40)
    np.savez(tmp_path / "data.npz", **{name: np.stack([feed[name] for feed in feeds]) for name in feeds[0]})
    source = import_source("kept.onnx", case.model, ModelOptions(states=case.states))
    options = QuantizeOptions(integer_io=integer_io)
    graph = quantize_source(source, Quantization(tmp_path / "data.npz", options)).source.graph
    types = {value.name: value.type for value in (*graph.inputs, *graph.outputs)}
    for old, new in case.states.items():
        assert types[old] == types[new]
    assert types["h"].dtype is (DType.I8 if integer_io else DType.F32)


def test_integers_that_go_in_and_out_begin_with_what_stands_for_zero() -> None:
    """A state of int8, whose elements are moved about and then dequantized, as in models of TensorFlow Lite."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("Concat", ["h", "q"], ["all"], axis=1),
        helper.make_node("Slice", ["all", "one", "end", "one"], ["hn"]),
        helper.make_node("DequantizeLinear", ["all", "s", "z"], ["y"]),
    ]
    real, integer = TensorProto.FLOAT, TensorProto.INT8
    sides = [
        [helper.make_tensor_value_info(name, kind, [1, width]) for name, kind, width in found]
        for found in ([("x", real, 1), ("h", integer, 3)], [("y", real, 4), ("hn", integer, 3)])
    ]
    constants = {"s": np.float32(0.5), "z": np.int8(-7), "one": np.array([1]), "end": np.array([9])}
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", *sides, initializers)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    source = import_source("m.onnx", proto, ModelOptions(states={"h": "hn"}))
    program = compile_source(source, host_machine()).program
    assert [(state.type.dtype, state.initial) for state in program.states] == [(DType.I8, -7)]
    for model in (JitModel(program, host_machine()), CModel(program, host_machine())):
        rows = [model.run({"x": np.float32([[number]])})["y"][0].tolist() for number in (1, 2, 3, 4, 5)]
        assert rows == [[0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
