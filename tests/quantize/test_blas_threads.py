"""Quantizing takes one thread of NumPy's matrix products, and leaves their number as it was."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from ccml.driver import read
from ccml.quantization import quantize, quantize_graph, source
from ccml.samples import match_samples
from threadpoolctl import threadpool_info, threadpool_limits

from tests.cli.command_line import DIGITS
from tests.quantize.networks import Network


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, str], list[list[int]]]:
    """Watches a function of a module: the list gets the numbers of threads that each call sees."""

    def watched(module: ModuleType, name: str) -> list[list[int]]:
        seen: list[list[int]] = []
        function = getattr(module, name)

        def noting(*given: object) -> object:
            seen.append(threads())
            return function(*given)

        monkeypatch.setattr(module, name, noting)
        return seen

    return watched


def test_quantizing_takes_one_thread(watch: Callable[[ModuleType, str], list[list[int]]]) -> None:
    seen = watch(quantize, "prepare")
    net = Network((1, 8))
    graph = net.graph(net.dense(net.x, 4))
    x = np.random.default_rng(0).standard_normal((6, 1, 8)).astype(np.float32)
    with threadpool_limits(2, "blas"):
        before = threads()
        assert before and set(before) == {2}
        quantize_graph(graph, match_samples({"x": x}, graph.inputs, ()))
        assert threads() == before
    assert seen == [[1] * len(before)]


def test_measuring_takes_one_thread(watch: Callable[[ModuleType, str], list[list[int]]]) -> None:
    seen = watch(source, "measure")
    samples = np.random.default_rng(0).random((6, 1, 8, 8), np.float32)
    with threadpool_limits(2, "blas"):
        before = threads()
        source.quantize_source(read(DIGITS), source.Quantization(samples))
        assert threads() == before
    assert seen == [[1] * len(before)]
