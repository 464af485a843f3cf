"""The int8 models of MLPerf Tiny as TensorFlow Lite files."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import onnx
import onnxruntime
import pytest
from ccml.api import find_machine
from ccml.driver import compile_model
from ccml.emit_llvm.jit import host_machine
from ccml.frontend_tflite import read_tflite
from ccml.frontend_tflite.reader import read_model
from ccml.verification.c_model import CModel

from tests.frontend_tflite.kernels import run
from tests.models import models_dir, needs_models

MODELS = {
    "kws_ref_model": 8, "pretrainedResnet_quant": 16, "vww_96_int8": 4, "ad01_int8": 4, "str_ww_ref_model": 10,
}  # fmt: skip
"""How far results may be apart from those of TensorFlow Lite's kernels, where each operator is one step at most."""


def _path(name: str) -> Path:
    return models_dir() / "tflite" / f"{name}.tflite"


def _inputs(name: str, count: int) -> np.ndarray:
    shape = [d.dim_value for d in read_tflite(_path(name)).graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(5)
    smooth = rng.normal(size=(count, 1)) * 40 + rng.normal(size=(count, int(np.prod(shape)))) * 30
    return np.clip(smooth, -128, 127).astype(np.int8).reshape(count, *shape)


@needs_models
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_the_qdq_model(name: str, tmp_path: Path) -> None:
    """The same bytes as from its file, and as from C. ONNX Runtime sums floats and finds a step elsewhere here and
    there, of which softmax makes more."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    proto = read_tflite(_path(name))
    onnx.save(proto, tmp_path / "m.onnx")
    for node in proto.graph.node:  # ONNX Runtime wants names that differ; here they are those of layers
        node.name = ""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    model, qdq = ccml.load(_path(name)), ccml.load(tmp_path / "m.onnx")
    compiled = compile_model(_path(name), host_machine())
    sources = CModel(compiled.program, compiled.machine)
    same = 0
    for x in _inputs(name, 5):
        (found,) = model.run(x).values()
        np.testing.assert_array_equal(found, next(iter(qdq.run(x).values())))
        feeds = {proto.graph.input[0].name: x}
        np.testing.assert_array_equal(found, next(iter(sources.run(feeds).values())))
        wanted = session.run(None, feeds)[0]
        assert np.abs(found.astype(int) - wanted.astype(int)).max() <= MODELS[name]
        same += np.array_equal(found, wanted)
    assert same >= 3


@needs_models
@pytest.mark.parametrize("name", MODELS)
def test_results_against_the_kernels_of_tensorflow_lite(name: str) -> None:
    """End to end, where steps of early layers go through all that follow: the same class, and for noise, which leaves
    these nets undecided, at most so many 256ths of a probability."""
    model = read_model(_path(name).read_bytes(), name)
    compiled = ccml.load(_path(name))
    for x in _inputs(name, 3):
        found = next(iter(compiled.run(x).values()))
        wanted = run(model, x)[model.subgraphs[0].outputs[0]]
        assert np.abs(found.astype(int) - wanted.astype(int)).max() <= MODELS[name]
        if name != "ad01_int8":
            assert found.argmax() == wanted.argmax()


@needs_models
@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("kws_ref_model", "kws_dscnn"),
        ("pretrainedResnet_quant", "ic_resnet8"),
        ("str_ww_ref_model", "streaming_wakeword"),
    ],
)
def test_no_layout_is_left_behind(name: str, peer: str) -> None:
    """As many kernels as the QDQ ONNX model has without its conversions at the ends, and no more RAM, on a core where
    that does not hang on how results are requantized."""
    machine = find_machine("cortex-m3")
    own = compile_model(_path(name), machine)
    other = compile_model(models_dir() / f"mlperf_tiny_{peer}_qdq_int8.onnx", machine)
    assert not any("transpose" in node.op for node in own.optimized.nodes)
    assert len(own.program.calls) <= len(other.program.calls)
    assert sum(pool.size for pool in own.program.plan.pools) <= sum(pool.size for pool in other.program.plan.pools)
