"""Operators without a generator: their nests become vectors where memory lies in a row, for machines that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
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
    ],
)  # fmt: skip
def test_channels_and_rows_become_vectors(
    kernel: str, op: str, arrays: list[np.ndarray], opset: int, frozen: list[int], attrs: dict[str, Any]
) -> None:
    proto, _ = one_node(op, arrays, opset, frozen, **attrs)
    assert lanes(kernels(proto)[kernel]) == 16
