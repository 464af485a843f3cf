"""Pools of images with few channels, whose rows are combined first, against NumPy's windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.graph_text import parse_graph
from ccml.ir.program import Program
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph

Numbers = tuple[int, ...]

CASES: list[tuple[Numbers, Numbers, Numbers, Numbers, Numbers]] = [
    ((1, 9, 40, 1), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)), ((2, 8, 23, 3), (5, 5), (1, 1), (2, 2, 2, 2), (1, 1)),
    ((1, 11, 71, 1), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), ((1, 8, 38, 1), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)),
    ((1, 7, 45, 1), (4, 5), (1, 2), (3, 0, 2, 4), (1, 3)), ((2, 7, 30, 2), (3, 3), (2, 2), (1, 0, 0, 1), (1, 1)),
    ((1, 9, 29, 5), (2, 4), (1, 1), (0, 3, 0, 0), (3, 2)), ((1, 5, 33, 1), (3, 4), (3, 3), (0, 1, 0, 1), (1, 1)),
    ((1, 90, 1), (3,), (1,), (1, 1), (1,)), ((3, 50, 3), (4,), (1,), (0, 3), (2,)),
    ((1, 41, 1), (17,), (2,), (16, 16), (1,)),
    ((1, 4, 5, 20, 1), (2, 3, 3), (1, 2, 1), (1, 1, 1, 0, 1, 1), (1, 1, 1)),
    ((2, 3, 1, 1), (3, 1), (1, 1), (1, 0, 1, 0), (1, 1)),
    ((1, 2, 9000, 1), (2, 3), (1, 1), (0, 1, 0, 1), (1, 1)), ((1, 3, 3, 7), (3, 3), (1, 1), (2, 2, 2, 2), (1, 1)),
]  # fmt: skip


def windows(x: np.ndarray, fill: float, case: tuple[Numbers, ...]) -> np.ndarray:
    _, kernel, stride, pads, dilation = case
    rank = len(kernel)
    padded = np.pad(x, [(0, 0), *zip(pads[:rank], pads[rank:]), (0, 0)], constant_values=fill)
    reach = [(extent - 1) * step + 1 for extent, step in zip(kernel, dilation)]
    found = np.lib.stride_tricks.sliding_window_view(padded, reach, tuple(range(1, rank + 1)))
    steps = [slice(None), *(slice(None, None, step) for step in stride), slice(None)]
    return found[(*steps, *(slice(None, None, step) for step in dilation))]


def pooled(x: np.ndarray, case: tuple[Numbers, ...], kind: str, included: bool = False) -> tuple[Program, np.ndarray]:
    shape, kernel, stride, pads, dilation = case
    result = windows(x, 0, case).shape[: len(shape)]
    dtype = {"f": "f", "i": "i", "u": "u"}[x.dtype.kind] + str(8 * x.dtype.itemsize)
    attrs = ", ".join(f"{name}={list(value)}" for name, value in (
        ("kernel", kernel), ("stride", stride), ("pad", pads), ("dilation", dilation)
    ))  # fmt: skip
    text = f"""
    graph g(%x: {dtype}{list(shape)}) -> (%y)
      %y : {dtype}{list(result)} = pool(%x) {{kind="{kind}", {attrs}, ceil_mode=false,
        count_include_pad={str(included).lower()}, layout="channels_last"}}
    """.replace("\n        ", " ")
    program = lower_graph(optimize(parse_graph(text)), host_machine())
    return program, JitModel(program).run({"x": x})["y"]


def data(shape: Numbers, dtype: Any = np.float32) -> np.ndarray:
    x = np.random.default_rng(1).standard_normal(shape) * 50
    return x.clip(0 if np.dtype(dtype).kind == "u" else -128, 127).astype(dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int64])
def test_maxima(case: tuple[Numbers, ...], dtype: Any) -> None:
    x = data(case[0], dtype)
    program, got = pooled(x, case, "max")
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(dtype).min
    axes = tuple(range(len(case[0]), len(case[0]) + len(case[1])))
    np.testing.assert_array_equal(got, windows(x, least, case).max(axes))
    assert {call.generator for call in program.calls} == {"rows of pools"}


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("included", [False, True])
def test_means(case: tuple[Numbers, ...], included: bool) -> None:
    x = data(case[0])
    program, got = pooled(x, case, "avg", included)
    axes = tuple(range(len(case[0]), len(case[0]) + len(case[1])))
    total = windows(x.astype(np.float64), 0, case).sum(axes)
    inside = windows(np.ones(case[0]), float(included), case).sum(axes)
    np.testing.assert_allclose(got, total / inside, rtol=0, atol=2e-5)
    assert {call.generator for call in program.calls} == {"rows of pools"}


def test_an_infinite_element_makes_its_windows_infinite() -> None:
    case = CASES[0]
    x = data(case[0])
    x[0, 4, 20, 0] = np.inf
    _, got = pooled(x, case, "avg")
    axes = (4, 5)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(windows(x, 0, case).sum(axes)))


@pytest.mark.parametrize(("channels", "kernel", "stride"), [(16, 3, 1), (64, 3, 1), (1, 2, 3)])
def test_many_channels_and_columns_apart_have_other_loops(channels: int, kernel: int, stride: int) -> None:
    case = ((1, 12, 30, channels), (kernel,) * 2, (stride,) * 2, (0,) * 4, (1, 1))
    program, _ = pooled(data(case[0]), case, "max")
    assert "rows of pools" not in {call.generator for call in program.calls}
