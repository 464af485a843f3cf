"""The order that TopK of opset 11 defines, and compiled models that are to have it."""

from __future__ import annotations

from typing import Any

import numpy as np
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

from tests.frontend_onnx.graphs import one_node


def with_specials(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """``x`` with NaN, infinities, zeros of both signs and denormals among floats, and the limits among integers."""
    floats = np.issubdtype(x.dtype, np.floating)
    limits = () if floats else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    for special in (np.nan, -np.inf, np.inf, -0.0, 0.0, -1e-40, 3.5) if floats else limits:
        x[rng.random(x.shape) < 0.08] = special
    return x


def check_order(x: np.ndarray, axis: int, k: int, largest: int) -> None:
    """By value, NaN the greatest and 0.0 as -0.0, and where equal by index."""
    key = np.nan_to_num(x.astype(np.float64), nan=1e300, posinf=1e200, neginf=-1e200)
    want = np.argsort(-key if largest else key, axis=axis, kind="stable").take(range(k), axis)
    options: dict[str, Any] = {"axis": axis, "largest": largest}
    proto, feeds = one_node("TopK", [x, np.array([k])], 13, [1], outputs=2, **options)
    got = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds)
    np.testing.assert_array_equal(got["y1"], want)
    np.testing.assert_array_equal(got["y0"], np.take_along_axis(x, want, axis))
