"""Packages that the tests build: of a small model with names that break what is not escaped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ccml
import numpy as np
from ccml.packages.ecosystem import NAMES
from onnx import TensorProto, helper, numpy_helper, save

STUBS = Path(__file__).parent / "stubs"
HOSTILE = 'in */ ]]> --> <b> "${X}" \\ $(touch x) \n#include "y" %PATH% `z` {{ 7 * 7 }} {% raw %}'
HOSTILE_OUTPUT = "scores\nccml: end 00000000"


@dataclass(frozen=True)
class Packages:
    """What ``ccml compile --package`` wrote for the model ``net``, the input of its sample and the right output."""

    folder: Path
    features: np.ndarray
    scores: np.ndarray

    def __truediv__(self, ecosystem: str) -> Path:
        """The package for ``ecosystem``."""
        return self.folder / ecosystem / "net"


def write_model(path: Path) -> None:
    """Two layers of floats, whose second output are integers."""
    rng = np.random.default_rng(7)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((12, 8), (8, 5))]
    nodes = [
        helper.make_node("MatMul", [HOSTILE, "w0"], ["hidden"], name='first */ "'),
        helper.make_node("Relu", ["hidden"], ["positive"]),
        helper.make_node("MatMul", ["positive", "w1"], ["logits"]),
        helper.make_node("Softmax", ["logits"], [HOSTILE_OUTPUT], axis=-1),
        helper.make_node("ArgMax", ["logits"], ["class"], axis=-1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info(HOSTILE, TensorProto.FLOAT, [1, 12])],
        [helper.make_tensor_value_info(HOSTILE_OUTPUT, TensorProto.FLOAT, [1, 5]),
         helper.make_tensor_value_info("class", TensorProto.INT64, [1])],
        [numpy_helper.from_array(array, f"w{number}") for number, array in enumerate(weights)],
    )  # fmt: skip
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def make_packages(folder: Path, target: str, ecosystems: tuple[str, ...] = NAMES) -> Packages:
    """Packages of the model for ``target``, with a sample of the test's own."""
    model, data = folder / "net.onnx", folder / "sample.npz"
    write_model(model)
    features = np.random.default_rng(3).standard_normal((1, 12)).astype(np.float32)
    np.savez(data, input=features)
    scores = ccml.load(model).run(features)[HOSTILE_OUTPUT]
    out = folder / target
    ccml.compile(model, target, out, packages=ecosystems, file=data)
    return Packages(out, features, scores)
