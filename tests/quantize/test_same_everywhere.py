"""A quantized model is the same, to the byte, whatever the processor and the number of threads that quantize it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from ccml.ops.stacked import Operand, evaluate_node
from ccml.quantization.moments import Moments

from tests.models import models_dir, needs_models
from tests.ops.test_stacked import node_of

QUANTIZING = """
import hashlib, sys
from pathlib import Path
import numpy as np
from ccml.driver import read
from ccml.frontend_onnx.export import export_model
from ccml.quantization import quantize_graph
from ccml.samples import match_samples

for stem in sys.argv[2:]:
    graph = read(Path(sys.argv[1]) / f"{stem}.onnx").graph
    data = np.load(Path(sys.argv[1]) / f"{stem}_calib.npz")
    quantized = quantize_graph(graph, match_samples(dict(data), graph.inputs, ())).graph
    print(stem, hashlib.sha256(export_model(quantized).SerializeToString()).hexdigest())
"""
NETWORKS = ["mlperf_tiny_ic_resnet8", "mlperf_tiny_ad_autoencoder", "transformer_2l_d64"]
"""Those that differed between one and two threads, which add up floats in another order."""
ANOTHER_PROCESSOR = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3"}
"""Kernels without fused products, and vectors of half the length."""


def quantized_under(environment: dict[str, str]) -> str:
    command = [sys.executable, "-W", "ignore", "-c", QUANTIZING, str(models_dir()), *NETWORKS]
    found = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


@needs_models
def test_threads_and_processors() -> None:
    wanted = quantized_under({"OPENBLAS_NUM_THREADS": "1"})
    assert len(wanted.splitlines()) == len(NETWORKS)
    assert quantized_under({"OPENBLAS_NUM_THREADS": "2", **ANOTHER_PROCESSOR}) == wanted


def test_precise_sums_are_rounded_once() -> None:
    """2^24 + 1 + 1 - 2^24: float32 loses both ones, one after the other."""
    x = np.array([[2.0**24, 1.0, 1.0, -(2.0**24)]], np.float32)
    weights = np.ones((4, 1), np.float32)
    node = node_of("matmul", [x, weights, None], {})
    (found,) = evaluate_node(node, [Operand(x[np.newaxis], True), Operand(weights, False), None], 1, precise=True)
    assert found.dtype == np.float32 and found.tolist() == [[[2.0]]]


@pytest.mark.parametrize("op", ["exp", "tanh", "sigmoid", "log", "softplus"])
def test_precise_functions_are_rounded_once(op: str) -> None:
    x = np.random.default_rng(0).uniform(0.1, 3.0, (8, 64)).astype(np.float32)
    node = node_of(op, [x[0]], {})
    (found,) = evaluate_node(node, [Operand(x, True)], len(x), precise=True)
    functions = {"sigmoid": lambda v: 1 / (1 + np.exp(-v)), "softplus": lambda v: np.log1p(np.exp(v))}
    wanted = functions.get(op, getattr(np, op, None))(x.astype(np.float64)).astype(np.float32)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wanted)


def test_moments_of_bytes_are_exact() -> None:
    """By sums of Python's integers, of rows so many that float32 could not hold the sums."""
    integers = np.random.default_rng(1).integers(-255, 256, (1, 700, 3))
    step = 0.25
    found = Moments.of((integers * step).astype(np.float32), True, step)
    rows = integers[0].tolist()
    count = len(rows)
    for k in range(3):
        assert found.mean[0, k] == sum(row[k] for row in rows) * step / count
        for m in range(3):
            product = sum(row[k] * row[m] for row in rows)
            apart = count * product - sum(row[k] for row in rows) * sum(row[m] for row in rows)
            assert found.second[0, k, m] == pytest.approx(apart * (step / count) ** 2, rel=1e-15)


def test_constant_rows_have_no_moments() -> None:
    rows = np.full((1, 300, 2), 77 * 0.1, np.float32)
    assert not Moments.of(rows, True, 0.1).second.any()
