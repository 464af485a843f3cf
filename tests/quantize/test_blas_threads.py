"""Quantizing takes one thread of NumPy's matrix products, and leaves their number as it was."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from ccml.quantization import quantize, quantize_graph
from ccml.quantization.blas_threads import one_blas_thread
from ccml.samples import match_samples

from tests.quantize.networks import Network


def threads() -> Callable[[], int]:
    library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    count = getattr(library, "scipy_openblas_get_num_threads64_", None)
    if count is None:
        pytest.skip("NumPy has another library for matrix products")
    return count  # type: ignore[no-any-return]


def test_one_thread_for_a_while() -> None:
    count = threads()
    before = count()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        assert count() == 1
        raise ZeroDivisionError
    assert count() == before


def test_quantizing_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    count, seen = threads(), []
    prepare = quantize.prepare

    def watched(*given: object) -> object:
        seen.append(count())
        return prepare(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(quantize, "prepare", watched)
    net = Network((1, 8))
    graph = net.graph(net.dense(net.x, 4))
    x = np.random.default_rng(0).standard_normal((6, 1, 8)).astype(np.float32)
    quantize_graph(graph, match_samples({"x": x}, graph.inputs, ()))
    assert seen == [1]
