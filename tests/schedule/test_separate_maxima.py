"""Maxima of large windows, rows first and then columns, against NumPy's windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.program import Program
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

from tests.frontend_onnx.graphs import one_node

CASES = [
    ((1, 16, 20, 20), (5, 5), (1, 1), (2, 2, 2, 2), (1, 1)), ((2, 19, 17, 14), (13, 13), (1, 1), (6, 6, 6, 6), (1, 1)),
    ((1, 33, 9, 11), (7, 8), (2, 1), (0, 3, 5, 2), (1, 1)), ((1, 21, 30, 31), (6, 7), (1, 1), (2, 0, 3, 4), (2, 3)),
    ((1, 17, 6, 30), (4, 5), (1, 1), (0, 0, 0, 0), (1, 1)),
    ((1, 64, 12, 12), (12, 12), (1, 1), (11, 11, 11, 11), (1, 1)),
]  # fmt: skip
Numbers = tuple[int, ...]


def compiled(x: np.ndarray, **attrs: Any) -> tuple[Program, np.ndarray]:
    proto, feeds = one_node("MaxPool", [x], 12, **attrs)
    program = lower_graph(optimize(import_model(proto)), host_machine())
    (got,) = JitModel(program).run(feeds).values()
    return program, got


@pytest.mark.parametrize(("shape", "kernel", "stride", "pads", "dilation"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8])
def test_values(
    shape: Numbers, kernel: Numbers, stride: Numbers, pads: Numbers, dilation: Numbers, dtype: type[Any]
) -> None:
    x = (np.random.default_rng(1).standard_normal(shape) * 50).clip(-128 if dtype is not np.uint8 else 0, 127)
    x = x.astype(dtype)
    program, got = compiled(x, kernel_shape=kernel, strides=stride, pads=pads, dilations=dilation)
    least = -np.inf if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).min
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=least)
    reach = [(extent - 1) * step + 1 for extent, step in zip(kernel, dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    taken = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    np.testing.assert_array_equal(got, taken.max((-2, -1)))
    assert "separate maxima" in {call.generator for call in program.calls}


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (4, 4), (7, 4)])
def test_small_windows_and_those_that_share_little_are_one_loop(kernel: int, stride: int) -> None:
    x = np.zeros((1, 32, 24, 24), np.float32)
    program, _ = compiled(x, kernel_shape=[kernel] * 2, strides=[stride] * 2)
    assert "separate maxima" not in {call.generator for call in program.calls}
