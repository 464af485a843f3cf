"""Operands computed at run time, on an emulated board: shapes by declaration, values by arithmetic and selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select
from onnx import helper

from tests.artifacts.built import run_artifact
from tests.frontend_onnx.compiled import reference
from tests.frontend_onnx.graphs import checked_import, model, value
from tests.frontend_onnx.runtime import declared
from tests.tools import needs

M4 = select("cortex-m4")


def each_kind() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Operators of each kind behind a pointwise one, with operands that are inputs of the model."""
    rng = np.random.default_rng(0)
    feeds: dict[str, np.ndarray] = {"x": rng.standard_normal((4, 4)).astype(np.float32)}
    nodes = [helper.make_node("Neg", ["x"], ["n"])]
    outputs: list[str] = []

    def add(op: str, *operands: Any, data: bool = True, **attrs: Any) -> None:
        names = ["n"] if data else []
        for array in operands:
            names.append("" if array is None else f"x{len(feeds)}")
            if array is not None:
                feeds[names[-1]] = np.asarray(array)
        outputs.append(f"y{len(outputs)}")
        nodes.append(helper.make_node(op, names, outputs[-1:], **attrs))

    add("Reshape", [2, 8])
    add("ReduceSum", [-2], keepdims=0)
    add("CumSum", np.int64(1), reverse=1)
    add("Trilu", np.int64(-1))
    add("Slice", [-1, 0], [-100, 4], [1, 0], [-2, 3])
    add("Pad", [1, 0, 0, 2], np.float32(5))
    add("Pad", [2, 1, 0, 1], mode="reflect")
    add("Resize", None, np.float32([0.6, 1.7]), mode="linear")
    add("Resize", None, np.float32([1.5, 0.5]), mode="nearest")
    add("Range", np.int32(7), np.int32(-4), np.int32(-3), data=False)
    inputs = [value(name, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for name, a in feeds.items()]
    proto = model(nodes, inputs, outputs, opset=21)
    return declared(proto, feeds), feeds


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_on_a_board(route: Emit, tmp_path: Path) -> None:
    proto, feeds = each_kind()
    program = lower_graph(optimize(checked_import(proto)), M4)
    (found,) = run_artifact(program, M4, route, tmp_path, [feeds])
    for output, expected in zip(proto.graph.output, reference(proto, feeds), strict=True):
        np.testing.assert_allclose(found[output.name], expected, rtol=1e-5, atol=1e-5, err_msg=output.name)
