"""Small models and data under the names that the pages use for those of a reader."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.frontend_tflite.build import G, Op, build, const
from tests.frontend_tflite.build import T as Tensor

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def write_stand_ins(folder: Path) -> None:
    """Writes all of them into ``folder``."""
    rng = np.random.default_rng(5)
    _keyword_spotting(folder, rng)
    _others(folder, rng)
    shutil.copy(EXAMPLES / "custom-operator" / "sensor.onnx", folder)
    for file in ("median.c", "median.py", "median.toml"):
        shutil.copy(EXAMPLES / "custom-operator" / file, folder)
    for file in ("digits.onnx", "digits_calibration.npz", "digits_test.npz"):
        shutil.copy(EXAMPLES / "digits" / file, folder)
    (folder / "main.c").write_text('#include "kws.h"\nint main(void) { return KWS_NUM_INPUTS - 1; }\n')


def _keyword_spotting(folder: Path, rng: np.random.Generator) -> None:
    """``kws.onnx`` and its form in 8 bits, with data."""
    shape = [1, 49, 10, 1]
    nodes = [
        helper.make_node("Transpose", ["features"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["planes", "w0"], ["hidden"], kernel_shape=[5, 4], strides=[4, 3]),
        helper.make_node("Relu", ["hidden"], ["positive"]),
        helper.make_node("Flatten", ["positive"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w1"], ["scores"]),
    ]
    weights = {"w0": _normal(rng, 4, 1, 5, 4), "w1": _normal(rng, 144, 12)}
    _save(folder / "kws.onnx", nodes, [("features", T.FLOAT, shape)], [("scores", T.FLOAT, [1, 12])], weights)
    for name, count in (("typical", 12), ("samples", 2), ("sample", 1)):
        np.savez(folder / f"{name}.npz", features=_normal(rng, count, *shape[1:]))
    ccml.quantize(folder / "kws.onnx", ccml.Quantization(folder / "typical.npz"), folder / "kws_int8.onnx")


def _others(folder: Path, rng: np.random.Generator) -> None:
    dense = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    sides = [("x", T.FLOAT, [1, 16])], [("y", T.FLOAT, [1, 4])]
    _save(folder / "model.onnx", dense, *sides, {"w": _normal(rng, 16, 4)})
    shutil.copy(folder / "kws.onnx", folder / "detector.onnx")
    for name in ("vww", "person"):
        nodes = [helper.make_node("Conv", ["image", "w"], ["maps"], strides=[4, 4]),
                 helper.make_node("GlobalAveragePool", ["maps"], ["scores"])]  # fmt: skip
        image, scores = ("image", T.FLOAT, [1, 3, 96, 96]), ("scores", T.FLOAT, [1, 2, 1, 1])
        _save(folder / f"{name}.onnx", nodes, [image], [scores], {"w": _normal(rng, 2, 3, 4, 4)})
    np.savez(folder / "pictures.npz", image=_normal(rng, 4, 3, 96, 96))
    ccml.quantize(folder / "vww.onnx", ccml.Quantization(folder / "pictures.npz"), folder / "cam.onnx")
    steps = [helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"], ["y", "hn", "cn"], hidden_size=4)]
    states = [(name, T.FLOAT, [1, 1, 4]) for name in ("h", "c", "hn", "cn")]
    inputs, outputs = [("x", T.FLOAT, [1, 1, 3]), *states[:2]], [("y", T.FLOAT, [1, 1, 1, 4]), *states[2:]]
    recurrent = {"w": _normal(rng, 1, 16, 3), "r": _normal(rng, 1, 16, 4)}
    _save(folder / "wake.onnx", steps, inputs, outputs, recurrent)
    np.savez(folder / "frames.npz", x=_normal(rng, 20, 1, 1, 3))
    words = [helper.make_node("StringConcat", ["text", "text"], ["twice"])]
    _save(folder / "words.onnx", words, [("text", T.STRING, [2])], [("twice", T.STRING, [2])], {})
    encoder = [helper.make_node("MatMul", ["tokens", "w"], ["encoded"])]
    both = [(name, T.FLOAT, ["batch", "seq", 4]) for name in ("tokens", "encoded")]
    _save(folder / "encoder.onnx", encoder, both[:1], both[1:], {"w": _normal(rng, 4, 4)})
    names = ("positions", "tokens")
    ranges = [helper.make_node("Range", ["zero", f"{name}_end", "one"], [name]) for name in names]
    ends, counted = [(f"{name}_end", T.INT64, []) for name in names], [(name, T.INT64, [None]) for name in names]
    _save(folder / "decoder.onnx", ranges, ends, counted, {"zero": np.array(0), "one": np.array(1)})
    _cached_attention(folder, rng)
    _save(folder / "forest.onnx", [_stump()], [("x", T.FLOAT, [1, 2])], [("y", T.FLOAT, [1, 1])], {})
    (folder / "kws.tflite").write_bytes(_dense_lite(rng))
    (folder / "keyword.tflite").write_bytes(_state_lite(rng))


def _cached_attention(folder: Path, rng: np.random.Generator) -> None:
    """``gpt.onnx``: a layer of attention that appends its keys and values to those of the tokens before."""
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"])]
    for name in "kv":
        nodes += [
            helper.make_node("Reshape", ["rows", "heads"], [f"{name}_rows"]),
            helper.make_node("Transpose", [f"{name}_rows"], [f"new_{name}"], perm=[0, 2, 1, 3]),
            helper.make_node("Concat", [f"past_{name}", f"new_{name}"], [f"present_{name}"], axis=2),
        ]
    nodes += [
        helper.make_node("Transpose", ["present_k"], ["columns"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["new_k", "columns"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"]),
        helper.make_node("MatMul", ["shares", "present_v"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["by_tokens"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["by_tokens", "flat"], ["states"]),
        helper.make_node("MatMul", ["states", "w"], ["logits"]),
    ]
    past = [(f"past_{name}", T.FLOAT, [1, 4, "past", 16]) for name in "kv"]
    present = [(f"present_{name}", T.FLOAT, [1, 4, None, 16]) for name in "kv"]
    constants = {"table": _normal(rng, 32, 64), "w": _normal(rng, 64, 32), "heads": np.array([0, 0, 4, 16]),
                 "flat": np.array([0, 0, 64])}  # fmt: skip
    inputs, outputs = [("ids", T.INT64, [1, "seq"]), *past], [("logits", T.FLOAT, [1, "seq", 32]), *present]
    _save(folder / "gpt.onnx", nodes, inputs, outputs, constants)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _stump() -> onnx.NodeProto:
    """A tree of one decision."""
    return helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_values=[0.5, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0],
    )  # fmt: skip


def _save(
    path: Path, nodes: Sequence[onnx.NodeProto], inputs: Sequence[Any], outputs: Sequence[Any],
    constants: dict[str, np.ndarray],
) -> None:  # fmt: skip
    sides = [[helper.make_tensor_value_info(*side) for side in part] for part in (inputs, outputs)]
    arrays = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(helper.make_graph(nodes, path.stem, *sides, arrays), opset_imports=opsets,
                                ir_version=9), path)  # fmt: skip


def _dense_lite(rng: np.random.Generator) -> bytes:
    tensors = [Tensor("features", (1, 49, 10, 1)), const("w", _normal(rng, 4, 490), np.float32),
               const("b", _normal(rng, 4), np.float32), Tensor("scores", (1, 4))]  # fmt: skip
    op = Op("FULLY_CONNECTED", ["features", "w", "b"], ["scores"], "FullyConnectedOptions")
    return build(G(tensors, [op], ["features"], ["scores"]))


def _state_lite(rng: np.random.Generator) -> bytes:
    """A filter over the last three vectors, whose state is called ``features``."""
    shapes = {"f": (4, 5), "t": (4, 3), "b": (4,)}
    constants = [const(name, _normal(rng, *shape), np.float32) for name, shape in shapes.items()]
    tensors = [Tensor("x", (1, 5)), *constants, Tensor("features", (1, 12), variable=True), Tensor("y", (1, 4))]
    op = Op("SVDF", ["x", "f", "t", "b", "features"], ["y"], "SVDFOptions", {"Rank": 1})
    return build(G(tensors, [op], ["x"], ["y"]))
