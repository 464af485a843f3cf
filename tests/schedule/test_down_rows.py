"""Loops down the rows of a matrix: some vectors of a row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule.names import Names
from ccml.schedule.vectorize import vectorize

from tests.frontend_onnx.graphs import one_node
from tests.schedule.kernel_texts import expected, parsed, printed


def in_vectors(text: str) -> str:
    kernel = parsed(text)
    return printed(kernel, vectorize(kernel.body, (4,), Names.of(kernel)))


def test_neighbouring_vectors_share_the_loop_over_rows() -> None:
    before = """
        kernel k(x: f32[20,36] const, y: f32[36] out)
          for j:36
            reg acc: f32[1]
            acc[0] = 0.0f32
            for r:20
              acc[0] = acc[0] + x[r, j]
            y[j] = acc[0]
    """
    after = """
        kernel k(x: f32[20,36] const, y: f32[36] out)
          for j_1:2
            reg acc_1: f32x4[1]
            reg acc_2: f32x4[1]
            reg acc_3: f32x4[1]
            reg acc_4: f32x4[1]
            acc_1[0] = 0.0f32x4
            acc_2[0] = 0.0f32x4
            acc_3[0] = 0.0f32x4
            acc_4[0] = 0.0f32x4
            for r_1:20
              acc_1[0] = acc_1[0] + x[r_1, j_1*16 : 4]
              acc_2[0] = acc_2[0] + x[r_1, j_1*16+4 : 4]
              acc_3[0] = acc_3[0] + x[r_1, j_1*16+8 : 4]
              acc_4[0] = acc_4[0] + x[r_1, j_1*16+12 : 4]
            y[j_1*16 : 4] = acc_1[0]
            y[j_1*16+4 : 4] = acc_2[0]
            y[j_1*16+8 : 4] = acc_3[0]
            y[j_1*16+12 : 4] = acc_4[0]
          reg acc_5: f32x4[1]
          acc_5[0] = 0.0f32x4
          for r_5:20
            acc_5[0] = acc_5[0] + x[r_5, 32 : 4]
          y[32 : 4] = acc_5[0]
    """
    assert in_vectors(before) == expected(after)


@pytest.mark.parametrize(("rows", "row"), [(15, "r"), (20, "0")])
def test_few_rows_and_one_row_over_and_over_stay_one_vector(rows: int, row: str) -> None:
    text = f"""
        kernel k(x: f32[20,32] const, y: f32[32] out)
          for j:32
            reg acc: f32[1]
            acc[0] = 0.0f32
            for r:{rows}
              acc[0] = acc[0] + x[{row}, j]
            y[j] = acc[0]
    """
    assert in_vectors(text).count("reg acc") == 1


@pytest.mark.parametrize("columns", [63, 64, 65, 130, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(("op", "attrs"), [
    ("CumSum", {}), ("CumSum", {"exclusive": 1, "reverse": 1}), ("ArgMax", {"axis": 0, "keepdims": 0}),
    ("ArgMin", {"axis": 0, "keepdims": 0, "select_last_index": 1}), ("ReduceMax", {"axes": [0], "keepdims": 0}),
])  # fmt: skip
def test_values(op: str, attrs: dict[str, Any], dtype: type[Any], columns: int) -> None:
    x = np.random.default_rng(columns).integers(-9, 9, (40, columns)).astype(dtype)
    proto, feeds = one_node(op, [x, np.array(0)] if op == "CumSum" else [x], 13, [1] if op == "CumSum" else [], **attrs)
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    shifted = np.vstack([np.cumsum(x[::-1], 0)[:-1][::-1], np.zeros((1, columns))])
    wanted = {
        "CumSum": shifted if attrs else np.cumsum(x, 0), "ArgMax": x.argmax(0), "ArgMin": 39 - x[::-1].argmin(0),
        "ReduceMax": x.max(0),
    }[op]  # fmt: skip
    np.testing.assert_array_equal(got, wanted)
