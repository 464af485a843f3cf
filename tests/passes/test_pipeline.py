"""The whole pipeline on random graphs and on real models."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from ccml.frontend_onnx import import_model, load_model
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.cancel_transposes import transposed_elements
from ccml.passes.channels_last import channels_last
from ccml.passes.pipeline import PASSES, optimize
from ccml.passes.precision import FloatFormat

from tests.models import models_dir, needs_models
from tests.passes.random_graphs import random_graph
from tests.passes.rewriting import assert_same_meaning

DIMS = {"digits_cnn": {"N": 1}, "digits_cnn_qdq_int8": {"N": 1}, "silero_vad_16k_op15": {"batch": 1, "sequence": 576}}

# Model -> its kernels: how many there are, by their first operator.
KERNELS = {
    "mlperf_tiny_kws_dscnn": {"conv": 9, "reduce": 1, "matmul": 1, "softmax": 1},
    "mlperf_tiny_ic_resnet8": {"conv": 9, "reduce": 1, "matmul": 1, "softmax": 1},
    "mlperf_tiny_vww_mobilenetv1_025": {"conv": 27, "reduce": 1, "matmul": 1, "softmax": 1},
    "mlperf_tiny_ad_autoencoder": {"matmul": 10},
    "mlperf_tiny_streaming_wakeword": {"conv": 8, "matmul": 1, "softmax": 1},
    "digits_cnn": {"conv": 6, "reduce": 1, "matmul": 1},
}
# Attention transposes its heads, silero slices and joins its state.
OTHERS = ["transformer_2l_d64", "silero_vad_16k_op15"]
QUANTIZED = ["mlperf_tiny_kws_dscnn", "mlperf_tiny_ic_resnet8", "mlperf_tiny_streaming_wakeword", "digits_cnn"]


def imported(name: str) -> Graph:
    file = models_dir() / f"{name}.onnx"
    return import_model(load_model(file), dims=DIMS.get(name))


def model_inputs(graph: Graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        value.name: rng.standard_normal(value.shape).astype(value.dtype.numpy)
        if value.dtype.is_float
        else np.full(value.shape, 16000, value.dtype.numpy)
        for value in graph.inputs
    }


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    """Folding rounds differently; a dozen operators later 1e-5 of the largest value is ample."""
    graph = random_graph(seed)
    optimized = optimize(graph)
    assert_same_meaning(graph, optimized, tolerance=1e-5, seed=seed)
    assert all(node.op in ("fused", "reshape") for node in optimized.nodes)


def test_transposes_never_grow() -> None:
    for seed in range(60):
        graph = random_graph(seed)
        steps: dict[str, Graph] = {}
        optimize(graph, dump=steps.__setitem__)
        named = {name.partition("-")[2]: step for name, step in steps.items()}
        before = transposed_elements(channels_last(named["integerize"]))
        assert transposed_elements(named["settle_layout"]) <= before


@needs_models
@pytest.mark.parametrize("name", KERNELS)
def test_no_transposes_remain(name: str) -> None:
    optimized = optimize(imported(name))
    bodies = [body for node in optimized.nodes if isinstance(body := node.attrs.get("body"), Graph)]
    assert Counter(body.nodes[0].op for body in bodies) == KERNELS[name]
    assert not [node for body in bodies for node in body.nodes if node.op == "transpose"]
    assert {node.op for node in optimized.nodes} <= {"fused", "reshape"}


@needs_models
@pytest.mark.parametrize("name", [*KERNELS, *OTHERS, *(f"{name}_qdq_int8" for name in QUANTIZED)])
def test_models_keep_their_meaning(name: str) -> None:
    """Quantized models exactly: weights are not rounded anew, and the oracle sums without rounding."""
    graph = imported(name)
    inputs = model_inputs(graph)
    wanted, got = evaluate_graph(graph, inputs), evaluate_graph(optimize(graph), inputs)
    for value in graph.outputs:
        scale = float(np.max(np.abs(wanted[value.name])))
        tolerance = 0 if name.endswith("int8") else 2e-6 * scale
        np.testing.assert_allclose(got[value.name], wanted[value.name], rtol=0, atol=tolerance)


@pytest.mark.parametrize("precision", FloatFormat)
@pytest.mark.parametrize("bytes_as", [None, DType.I8, DType.U8])
def test_dumps_are_numbered_and_all_verified(bytes_as: DType | None, precision: FloatFormat) -> None:
    names: list[str] = []

    def dump(name: str, graph: Graph) -> None:
        names.append(name)

    optimize(random_graph(0), dump=dump, bytes_as=bytes_as, precision=precision)
    signs = {"signed_bytes": bytes_as is DType.I8, "unsigned_bytes": bytes_as is DType.U8}
    wanted = {**signs, "halves": precision is FloatFormat.FP16, "bfloats": precision is FloatFormat.BF16}
    passes = [name for name, _ in PASSES if wanted.get(name, True)]
    assert names == ["00-import", *(f"{number:02}-{name}" for number, name in enumerate(passes, 1))]


def test_the_result_is_the_same_every_time() -> None:
    first, second = (optimize(random_graph(3)) for _ in range(2))
    assert [node.output.name for node in first.nodes] == [node.output.name for node in second.nodes]
