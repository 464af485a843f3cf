"""Quantizing takes one thread of NumPy's matrix products, and leaves their number as it was."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.quantization import quantize, quantize_graph
from ccml.samples import match_samples
from threadpoolctl import threadpool_info, threadpool_limits

from tests.quantize.networks import Network


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_quantizing_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    prepare = quantize.prepare

    def watched(*given: object) -> object:
        seen.append(threads())
        return prepare(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(quantize, "prepare", watched)
    net = Network((1, 8))
    graph = net.graph(net.dense(net.x, 4))
    x = np.random.default_rng(0).standard_normal((6, 1, 8)).astype(np.float32)
    with threadpool_limits(2, "blas"):
        before = threads()
        assert before and set(before) == {2}
        quantize_graph(graph, match_samples({"x": x}, graph.inputs, ()))
        assert threads() == before
    assert seen == [[1] * len(before)]
