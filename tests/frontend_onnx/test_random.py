"""Operators that draw random numbers: their ranges and distributions, that seeds decide, and what dropout keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import Range, import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import TensorProto

from tests.frontend_onnx.compiled import compiled
from tests.frontend_onnx.graphs import model, one_node, value
from tests.frontend_onnx.ranged_models import make

SIZE = 20000
"""Of numbers drawn: a mean is within 5 deviations of its expectation."""


def drawn(op: str, arrays: list[np.ndarray] | None = None, opset: int = 22, outputs: int = 1, **attrs: Any) -> Any:
    found = compiled(*one_node(op, arrays or [], opset, outputs=outputs, **attrs))
    return found[0] if outputs == 1 else found


def assert_mean(found: np.ndarray, mean: float, deviation: float) -> None:
    assert abs(float(found.mean()) - mean) < 5 * deviation / found.size**0.5


@pytest.mark.parametrize("like", [False, True])
def test_uniform(like: bool) -> None:
    low, high = -2.0, 6.0
    if like:
        found = drawn("RandomUniformLike", [np.zeros((4, SIZE // 4), np.float32)], low=low, high=high)
    else:
        found = drawn("RandomUniform", shape=[4, SIZE // 4], low=low, high=high)
    assert found.shape == (4, SIZE // 4) and found.dtype == np.float32
    assert low <= found.min() and found.max() < high
    assert_mean(found, 2.0, 8 / 12**0.5)
    quarters = np.histogram(found, 4, (low, high))[0]
    assert np.abs(quarters - SIZE / 4).max() < 5 * (SIZE * 3 / 16) ** 0.5


@pytest.mark.parametrize("like", [False, True])
def test_normal(like: bool) -> None:
    if like:
        found = drawn("RandomNormalLike", [np.zeros(SIZE, np.float16)], mean=3.0, scale=2.0, dtype=TensorProto.DOUBLE)
    else:
        found = drawn("RandomNormal", shape=[SIZE], mean=3.0, scale=2.0, dtype=TensorProto.DOUBLE)
    assert found.dtype == np.float64
    z = (found - 3) / 2
    for power, moment, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert_mean(z**power, moment, deviation)


def test_types() -> None:
    for dtype, numpy in ((TensorProto.FLOAT16, np.float16), (TensorProto.DOUBLE, np.float64)):
        assert drawn("RandomUniform", shape=[3], dtype=dtype).dtype == numpy
    assert drawn("RandomNormalLike", [np.zeros(3, np.float64)]).dtype == np.float64


def test_seeds_decide() -> None:
    """The same numbers by the same seed, others by another, and of each node by its name."""
    first, again, other = (drawn("RandomUniform", shape=[50], seed=seed) for seed in (1.0, 1.0, 2.0))
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)
    assert not np.any(drawn("RandomUniform", shape=[50]) == first)


def test_bernoulli() -> None:
    p = np.repeat(np.array([0.0, 0.25, 1.0], np.float32), SIZE)
    found = drawn("Bernoulli", [p], dtype=TensorProto.INT32).reshape(3, SIZE)
    assert found.dtype == np.int32 and not found[0].any() and found[2].all()
    assert_mean(found[1], 0.25, (3 / 16) ** 0.5)
    assert set(np.unique(drawn("Bernoulli", [p]))) == {0.0, 1.0}


@pytest.mark.parametrize("dtype", [TensorProto.INT32, TensorProto.INT64])
def test_multinomial(dtype: int) -> None:
    """Classes by their probabilities, whatever is added to all logarithms; a class of probability 0 never."""
    p = np.array([[0.5, 0.2, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
    with np.errstate(divide="ignore"):
        logs = (np.log(p) + 7).astype(np.float32)
    found = drawn("Multinomial", [logs], sample_size=SIZE, dtype=dtype)
    assert found.shape == (2, SIZE) and (found[1] == 3).all()
    for label, share in enumerate(p[0]):
        assert_mean(found[0] == label, share, (share * (1 - share)) ** 0.5 + 1e-12)


def dropped(training: bool, ratio: float, **attrs: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).uniform(1, 2, SIZE).astype(np.float32)
    arrays = [x, np.asarray(ratio, np.float32), np.asarray(training)]
    y, mask = drawn("Dropout", arrays, outputs=2, seed=4, **attrs)
    return x, y, mask


def test_dropout_whose_mode_is_an_operand() -> None:
    """All operands are inputs of the model: whether anything is dropped shows in a run."""
    x, y, mask = dropped(training=False, ratio=0.4)
    np.testing.assert_array_equal(y, x)
    assert mask.all() and mask.dtype == bool
    x, y, mask = dropped(training=True, ratio=0.4)
    assert_mean(mask, 0.6, 0.24**0.5)
    np.testing.assert_allclose(y, np.where(mask, x / np.float32(0.6), 0), rtol=1e-6)
    x, y, mask = dropped(training=True, ratio=0.0)
    np.testing.assert_array_equal(y, x)
    assert mask.all()


def test_what_is_certain_has_as_many_elements_as_a_run() -> None:
    proto = model([make("Bernoulli", ["p"], ["y"])], [value("p", ["n", 3])], ["y"])
    graph = optimize(import_model(proto, {"n": Range(1, 5)}))
    jit = JitModel(lower_graph(graph, host_machine()))
    for n in (5, 2, 1):
        p = (np.arange(3 * n, dtype=np.float32) % 2).reshape(n, 3)
        np.testing.assert_array_equal(jit.run({"p": p})["y"], p)


def test_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    drawn("RandomNormal", shape=[3])
    assert caplog.text.count("random numbers are drawn once, when the model is compiled") == 1
