"""Operators that scatter, sort, read between elements and transform, on emulated boards: one model with all of them.

What they compute is tested on the host (tests/frontend_onnx). Here the same code runs where indices have 32 bits,
memory is scarce, results share it with operands, and there may be no floating-point unit.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit
from ccml.frontend_onnx import import_model
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select
from onnx import helper

from tests.artifacts.built import run_artifact
from tests.artifacts.machines import machine_id
from tests.frontend_onnx.graphs import model, one_node, value
from tests.tools import needs

CORES = [select("cortex-m0"), select("cortex-m4"), select("cortex-m55")]


@cache
def everything() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Each operator between a pointwise operator and another, so that nothing is an input or output of the model."""
    rng = np.random.default_rng(0)
    feeds: dict[str, np.ndarray] = {}
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    outputs: list[str] = []

    def real(*shape: int) -> str:
        return moved(rng.standard_normal(shape).astype(np.float32))

    def moved(array: np.ndarray) -> str:
        """The array as an input; floats are negated before they are used."""
        name = f"x{len(feeds)}"
        feeds[name] = array
        if array.dtype != np.float32:
            return name
        nodes.append(helper.make_node("Neg", [name], [f"n{name}"]))
        return f"n{name}"

    def constant(array: Any) -> str:
        name = f"c{len(constants)}"
        constants[name] = np.asarray(array)
        return name

    def add(op: str, operands: list[str], count: int = 1, **attrs: Any) -> None:
        made = [f"y{len(outputs) + n}" for n in range(count)]
        nodes.append(helper.make_node(op, operands, [f"m{name}" for name in made], **attrs))
        nodes.extend(helper.make_node("Abs", [f"m{name}"], [name]) for name in made)
        outputs.extend(made)

    add("ScatterElements", [real(4, 5), moved(rng.integers(-4, 4, (3, 5))), real(3, 5)], axis=0, reduction="add")
    add("ScatterND", [real(4, 5), moved(rng.integers(-4, 4, (3, 1)).astype(np.int64)), real(3, 5)], reduction="max")
    add("TensorScatter", [real(2, 6, 3), real(2, 2, 3), moved(np.array([5, 1]))], mode="circular")
    add("TopK", [real(3, 40), constant(np.array([7]))], 2, largest=0)
    add("ReverseSequence", [real(5, 3), moved(np.array([5, 2, 3]))])
    add("CumProd", [real(3, 4), constant(np.array(1))], reverse=1)
    add("BitCast", [real(7)], to=onnx.TensorProto.INT32)
    add("MaxPool", [real(1, 2, 6, 6)], 2, kernel_shape=[3, 2], pads=[1, 0, 1, 0])
    grid = rng.uniform(-1.5, 1.5, (1, 4, 3, 2)).astype(np.float32)
    for mode, border in (("cubic", "reflection"), ("linear", "zeros"), ("nearest", "border")):
        add("GridSample", [real(1, 5, 4, 4), moved(grid)], mode=mode, padding_mode=border)
    regions = np.array([[0, 1, 5, 4], [-2, -2, 9, 3]], np.float32)
    add("RoiAlign", [real(1, 5, 6, 6), constant(regions), moved(np.array([0, 0]))], output_height=2, output_width=2)
    add("DeformConv", [real(1, 2, 5, 5), real(3, 2, 2, 2), real(1, 8, 4, 4)])
    add("Col2Im", [real(1, 12, 12), constant([4, 5]), constant([2, 2])])
    add("Det", [real(2, 9, 9)])
    add("DFT", [real(2, 60, 2)], inverse=1)
    add("DFT", [real(1, 128, 1)], onesided=1)
    add("STFT", [real(1, 48, 1), constant(np.array(8)), constant(np.hanning(16).astype(np.float32))])
    gates = [real(5, 3, 4), real(1, 9, 4), real(1, 9, 3), "", moved(np.array([5, 2, 0], np.int32))]
    add("GRU", gates, 2, hidden_size=3, direction="reverse")
    add(
        "TfIdfVectorizer", [moved(rng.integers(0, 3, (2, 9)))], mode="TF", min_gram_length=1, max_gram_length=2,
        max_skip_count=1, ngram_counts=[0, 2], ngram_indexes=[0, 1, 2, 3], pool_int64s=[0, 2, 0, 1, 2, 2],
    )  # fmt: skip
    inputs = [value(name, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for name, a in feeds.items()]
    return model(nodes, inputs, outputs, constants, opset=26), feeds


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("machine", CORES, ids=machine_id)
def test_roots_of_doubles_on_boards(machine: Machine, tmp_path: Path) -> None:
    """A Cortex-M4 passes doubles in registers of its unit for floats, which has no root of them."""
    x = np.array([1.7, 2.0, 9.0, 0.0, 1e300])
    proto, feeds = one_node("Sqrt", [x], 21)
    program = lower_graph(optimize(import_model(proto)), machine)
    (found,) = run_artifact(program, machine, Emit.OBJECT, tmp_path, [feeds])
    np.testing.assert_array_equal(found["y0"], np.sqrt(x))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
@pytest.mark.parametrize("machine", CORES, ids=machine_id)
def test_on_boards(machine: Machine, route: Emit, tmp_path: Path) -> None:
    """Integers exactly; floats may differ from the definition in float64 by roundings of single precision."""
    proto, feeds = everything()
    graph = import_model(proto)
    program = lower_graph(optimize(graph), machine)
    (found,) = run_artifact(program, machine, route, tmp_path, [feeds])
    expected = evaluate_graph(graph, feeds)
    for output in proto.graph.output:
        result, wanted = found[output.name], expected[output.name]
        if result.dtype.kind == "f":
            scale = float(np.abs(wanted).max())
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5 * scale, err_msg=output.name)
        else:
            np.testing.assert_array_equal(result, wanted, err_msg=output.name)
