"""Loop IR and C of five small models, as they were when somebody last looked at them.

A change of the generators shows in the difference of these files. Where it is meant, ``pytest tests/golden --bless``
writes them anew, and the difference is for the reader of the commit.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.artifact.dump import kernels_text
from ccml.driver import ModelOptions, compile_model
from ccml.emit_c.artifact import write_c
from ccml.ir.program import Program
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select
from onnx import TensorProto, helper, numpy_helper

from tests.integerize.building import Qdq
from tests.schedule.graphs import conv_graph

FOLDER = Path(__file__).parent / "files"


def integer_conv(machine: Machine, folder: Path) -> Program:
    """3x3 with a stride, depthwise 3x3, 1x1, the mean over all pixels."""
    rng = np.random.default_rng(0)
    q = Qdq()
    x = q.input((1, 4, 12, 12))
    for shape, geometry in (
        ((8, 4, 3, 3), {"stride": (2, 2), "pad": (1, 1, 1, 1)}),
        ((8, 1, 3, 3), {"group": 8, "pad": (1, 1, 1, 1)}),
        ((8, 8, 1, 1), {}),
    ):
        w = q.weights(rng.integers(-127, 128, shape).astype(np.int8), [0.01] * 8)
        x = q.requantized(q.op("relu", q.conv(x, w, **geometry)), 0.05, -128)
    mean = q.op("reduce", x, kind="mean", axes=(2, 3), keepdims=True)
    return lower_graph(optimize(q.graph(q.quantize(mean))), machine)


def float_conv(machine: Machine, folder: Path) -> Program:
    return lower_graph(conv_graph((1, 6, 6, 8), (16, 3, 3, 8)), machine)


def recurrent(machine: Machine, folder: Path) -> Program:
    """A GRU of four units over five steps."""
    rng = np.random.default_rng(0)
    shapes = {"w": (1, 12, 3), "r": (1, 12, 4), "b": (1, 24)}
    weights = [numpy_helper.from_array(rng.normal(0, 1, shape).astype("f"), name) for name, shape in shapes.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 1, 3))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (5, 1, 1, 4))
    node = helper.make_node("GRU", ["x", *shapes], ["y"], name="gru", hidden_size=4, linear_before_reset=1)
    graph = helper.make_graph([node], "gru", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "gru.onnx"
    onnx.save(model, path)
    return compile_model(path, machine, ModelOptions(name="model")).program


MODELS: dict[str, tuple[Callable[[Machine, Path], Program], Machine]] = {
    "int8-conv-cortex-m4": (integer_conv, select("cortex-m4")),
    "int8-conv-cortex-m55": (integer_conv, select("cortex-m55")),
    "conv-x86": (float_conv, select("x86")),
    "conv-arm64": (float_conv, select("linux-arm64")),
    "gru-generic": (recurrent, select("generic")),
}


@pytest.mark.parametrize("name", MODELS)
def test_as_it_was(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    build, machine = MODELS[name]
    program = replace(build(machine, tmp_path), name="model")
    write_c(program, machine, tmp_path / "c")
    found = {f"{name}.ccml": kernels_text(program), f"{name}.c": (tmp_path / "c" / "model.c").read_text()}
    if request.config.getoption("--bless", default=False):
        FOLDER.mkdir(exist_ok=True)
        for file, text in found.items():
            (FOLDER / file).write_text(text)
    for file, text in found.items():
        blessed = (FOLDER / file).read_text().splitlines(keepends=True)
        difference = list(difflib.unified_diff(blessed, text.splitlines(keepends=True), "blessed", "now"))
        assert not difference, "".join([*difference[:60], "\nIf that is meant: pytest tests/golden --bless"])


def test_no_file_is_left_over() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(MODELS)
