"""Gemm with every shape of C that ONNX allows, compiled."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.driver import compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Value
from ccml.ir.types import DType, TensorType
from ccml.ops.table import infer_types
from onnx import helper

from tests.frontend_onnx.graphs import model, value

Shape = tuple[int, ...]


def compiled(feeds: dict[str, np.ndarray], proto: onnx.ModelProto) -> dict[str, np.ndarray]:
    program = compile_source(import_source(Path("gemm.onnx"), proto), host_machine()).program
    return JitModel(program, host_machine()).run(feeds)


@pytest.mark.parametrize("constant", ["", "b", "bc"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (1, 4), (4, 1), (3, 5), (1, 1)])
def test_every_shape_of_c(rows: int, columns: int, constant: str) -> None:
    """One model has a node for every shape and pair of factors."""
    rng = np.random.default_rng(3)
    shapes: set[Shape] = {(), (1,), (1, 1), (columns,), (1, columns), (rows, 1), (rows, columns)}
    arrays = {"a": rng.standard_normal((rows, 4)), "b": rng.standard_normal((4, columns))}
    nodes, expected = [], {}
    for shape, alpha, beta in product(sorted(shapes), (1.0, 0.5), (1.0, 2.0)):
        c, y = (f"{stem}{len(nodes)}" for stem in "cy")
        arrays[c] = rng.standard_normal(shape)
        nodes.append(helper.make_node("Gemm", ["a", "b", c], [y], alpha=alpha, beta=beta))
        expected[y] = alpha * arrays["a"] @ arrays["b"] + beta * arrays[c]
    singles = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
    constants = {name: array for name, array in singles.items() if name[0] in constant}
    feeds = {name: array for name, array in singles.items() if name not in constants}
    inputs = [value(name, array.shape) for name, array in feeds.items()]
    found = compiled(feeds, model(nodes, inputs, list(expected), constants))
    for node, (name, wanted) in zip(nodes, expected.items(), strict=True):
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-5, err_msg=str(node))


@pytest.mark.parametrize("shape", [(2,), (4, 3), (1, 3, 3)])
def test_c_that_does_not_fit(shape: Shape) -> None:
    arrays = {"a": np.zeros((3, 4), np.float32), "b": np.zeros((4, 3), np.float32), "c": np.zeros(shape, np.float32)}
    inputs = [value(name, array.shape) for name, array in arrays.items()]
    proto = model([helper.make_node("Gemm", list(arrays), ["y"])], inputs, ["y"])
    with pytest.raises(CcmlError, match="does not broadcast to 3 rows of 3") as caught:
        import_source(Path("gemm.onnx"), proto)
    assert caught.value.kind is ErrorCode.INVALID_MODEL


@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (3, 3), (1, 3)])
def test_the_bias_of_a_core_matmul_is_a_row(shape: Shape) -> None:
    a, b, bias = (Value(name, TensorType(DType.F32, s)) for name, s in (("a", (3, 4)), ("b", (4, 3)), ("c", shape)))
    with pytest.raises(CcmlError, match="does not fit 3 output channels of f32"):
        infer_types("matmul", [a, b, bias], {}, "node")
