"""Operators without a generator: their nests become vectors where memory lies in a row, for machines that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.loops import Kernel, Store
from ccml.ir.loops_rewrite import walk_stmts
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node

X86 = select("x86", cpu="x86-64-v4")


def kernels(proto: onnx.ModelProto) -> dict[str, Kernel]:
    return {kernel.name.rsplit("_", 1)[0]: kernel for kernel in lower_graph(optimize(import_model(proto)), X86).kernels}


def lanes(kernel: Kernel) -> int:
    """The most elements that one store of the kernel writes."""
    stores = [stmt for stmt in walk_stmts(kernel.body) if isinstance(stmt, Store)]
    return max(stmt.value.type.lanes for stmt in stores)


def zeros(*shape: int, dtype: type[Any] = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("kernel", "op", "arrays", "opset", "frozen", "attrs"),
    [
        ("sample", "GridSample", [zeros(1, 32, 9, 9), zeros(1, 4, 4, 2)], 20, [], {}),
        ("sample", "GridSample", [zeros(1, 32, 9, 9), zeros(1, 4, 4, 2)], 20, [], {"mode": "cubic"}),
        (
            "roi_align", "RoiAlign", [zeros(1, 32, 9, 9), zeros(2, 4), zeros(2, dtype=np.int64)], 16, [],
            {"output_height": 2, "output_width": 2},
        ),
        (
            "scatter", "ScatterND", [zeros(9, 64), zeros(3, 1, dtype=np.int64), zeros(3, 64)], 18, [],
            {"reduction": "add"},
        ),
        ("scatter", "TensorScatter", [zeros(2, 9, 64), zeros(2, 1, 64), zeros(2, dtype=np.int64)], 24, [], {}),
        ("matmul", "DFT", [zeros(4, 96, 2)], 20, [], {}),
        ("cumprod", "CumProd", [zeros(9, 64), np.array(0)], 26, [1], {}),
        ("softmax", "Softmax", [zeros(2, 21, 64)], 20, [], {"axis": 1}),
        ("softmax", "Softmax", [zeros(2, 300, 64)], 20, [], {"axis": 1}),
        ("log_softmax", "LogSoftmax", [zeros(2, 21, 64)], 20, [], {"axis": 1}),
        ("pool", "LRN", [zeros(1, 5, 6, 8)], 13, [], {"size": 3}),
    ],
)  # fmt: skip
def test_channels_and_rows_become_vectors(
    kernel: str, op: str, arrays: list[np.ndarray], opset: int, frozen: list[int], attrs: dict[str, Any]
) -> None:
    proto, _ = one_node(op, arrays, opset, frozen, **attrs)
    assert lanes(kernels(proto)[kernel]) == 16


@pytest.mark.parametrize(("kernel", "op", "arrays", "attrs"), [
    ("add", "Add", [zeros(9, 64, dtype=np.float64)] * 2, {}),
    ("reduce", "ReduceMax", [zeros(9, 64, dtype=np.float64)], {"axes": [0], "keepdims": 0}),
    ("cumsum", "CumSum", [zeros(9, 64, dtype=np.float64), np.array(0)], {}),
])  # fmt: skip
def test_doubles_become_vectors(kernel: str, op: str, arrays: list[np.ndarray], attrs: dict[str, Any]) -> None:
    proto, _ = one_node(op, arrays, 13, [1] if op == "CumSum" else [], **attrs)
    assert lanes(kernels(proto)[kernel]) == 8


def is_vectorized(kernel: Kernel) -> bool:
    """Whether nothing is stored element by element."""
    return all(stmt.value.type.lanes > 1 for stmt in walk_stmts(kernel.body) if isinstance(stmt, Store))


@pytest.mark.parametrize("rows", [21, 256, 257, 3000])
def test_softmax_over_rows_of_other_axes_has_a_row_in_each_lane(rows: int) -> None:
    """In an image, for example, classes of a pixel are as far apart as the image is large."""
    proto, _ = one_node("Softmax", [zeros(2, rows, 48)], 20, [], axis=1)
    assert is_vectorized(kernels(proto)["softmax"])


@pytest.mark.parametrize(("shape", "axis"), [((3, 21, 37), 1), ((257, 19), 0), ((2, 300, 5, 7), 1), ((2, 5, 1), 1)])
def test_softmax_over_other_axes(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(3).normal(0, 9, shape).astype(np.float32)
    proto, _ = one_node("Softmax", [x], 20, [], axis=axis)
    exact = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    program = lower_graph(optimize(import_model(proto)), host_machine())
    (got,) = JitModel(program).run({program.inputs[0].name: x}).values()
    np.testing.assert_allclose(got, exact / exact.sum(axis, keepdims=True), rtol=2e-5, atol=1e-12)
