"""Runs the command line in this process, and small models to run it on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from ccml.cli.main import cli
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, numpy_helper

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
DIGITS_TEST = DIGITS.with_name("digits_test.npz")


def ccml(*args: object) -> Result:
    """``ccml args...``: its exit code, stdout and stderr."""
    return CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="ccml")


def save_model(
    path: Path,
    *nodes: onnx.NodeProto,
    shape: tuple[int | str, ...] = (2, 3),
    opset: int = 17,
    element: int = TensorProto.FLOAT,
    **constants: object,
) -> Path:
    """A model from ``x`` to ``y`` (``element`` and ``shape`` of both), the nodes in between, and constants by name."""
    sides = [helper.make_tensor_value_info(name, element, shape) for name in ("x", "y")]
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "model", sides[:1], sides[1:], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def small_model(path: Path) -> Path:
    """y = relu(x + x)."""
    return save_model(path, helper.make_node("Add", ["x", "x"], ["t"]), helper.make_node("Relu", ["t"], ["y"]))


def files_in(folder: Path) -> set[str]:
    """The files below ``folder``."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
