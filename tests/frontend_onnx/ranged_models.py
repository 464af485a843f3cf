"""Models with dimensions that are open, and the ranges that they are compiled for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from ccml.frontend_onnx import Range
from onnx import TensorProto, helper

from tests.frontend_onnx.graphs import Operand, model, value

make = helper.make_node


@dataclass(frozen=True)
class Ranged:
    """A model, the ranges of its dimensions, and arrays of its inputs for some extents."""

    proto: onnx.ModelProto
    ranges: Mapping[str, Range]
    arrays: Callable[[Mapping[str, int], np.random.Generator], dict[str, np.ndarray]]


def _weights(*shape: int) -> np.ndarray:
    return (np.random.default_rng(shape).standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def mlp() -> Ranged:
    nodes = [
        make("Gemm", ["x", "w", "b"], ["h"]), make("Relu", ["h"], ["r"]), make("MatMul", ["r", "v"], ["l"]),
        make("Softmax", ["l"], ["y"], axis=-1),
    ]  # fmt: skip
    constants = {"w": _weights(9, 16), "b": _weights(16), "v": _weights(16, 5)}
    proto = model(nodes, [value("x", ["batch", 9])], ["y"], constants)
    return Ranged(proto, {"batch": Range(1, 8)}, lambda n, rng: {"x": _normal(rng, n["batch"], 9)})


def cnn() -> Ranged:
    """With the shape arithmetic of an exporter between the convolutions and the layer behind them."""
    nodes = [
        make("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), make("Relu", ["c"], ["r"]),
        make("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Conv", ["p", "v"], ["d"], group=8, pads=[1, 1, 1, 1]), make("GlobalAveragePool", ["d"], ["g"]),
        make("Shape", ["g"], ["s"]), make("Gather", ["s", "zero"], ["n"]), make("Unsqueeze", ["n", "first"], ["u"]),
        make("Concat", ["u", "rest"], ["shape"], axis=0), make("Reshape", ["g", "shape"], ["f"]),
        make("Gemm", ["f", "m"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "w": _weights(8, 3, 3, 3), "b": _weights(8), "v": _weights(8, 1, 3, 3), "m": _weights(8, 4),
        "zero": np.array(0), "first": np.array([0]), "rest": np.array([-1]),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["n", 3, 8, 8])], ["y"], constants)
    return Ranged(proto, {"n": Range(1, 4)}, lambda n, rng: {"x": _normal(rng, n["n"], 3, 8, 8)})


def encoder() -> Ranged:
    """A block of a transformer: embeddings of tokens and positions, attention of two heads under a mask."""
    heads, width = 2, 8
    split = [make("Reshape", ["{}", "apart"], ["{}a"]), make("Transpose", ["{}a"], ["{}h"], perm=[0, 2, 1, 3])]
    nodes = [
        make("Gather", ["table", "ids"], ["tokens"]), make("Shape", ["ids"], ["shape"]),
        make("Gather", ["shape", "one"], ["length"]), make("Range", ["zero", "length", "one"], ["places"]),
        make("Gather", ["positions", "places"], ["where"]), make("Add", ["tokens", "where"], ["x"]),
        *(make("MatMul", ["x", f"w{name}"], [name]) for name in "qkv"),
    ]  # fmt: skip
    for name in "qkv":
        for node in split:
            made = onnx.NodeProto()
            made.CopyFrom(node)
            made.input[0], made.output[0] = made.input[0].format(name), made.output[0].format(name)
            nodes.append(made)
    nodes += [
        make("Transpose", ["kh"], ["kt"], perm=[0, 1, 3, 2]), make("MatMul", ["qh", "kt"], ["raw"]),
        make("Mul", ["raw", "scale"], ["scores"]), make("Cast", ["mask"], ["m"], to=TensorProto.FLOAT),
        make("Sub", ["fone", "m"], ["im"]), make("Mul", ["im", "minus"], ["bias"]),
        make("Unsqueeze", ["bias", "axes"], ["wide"]), make("Add", ["scores", "wide"], ["masked"]),
        make("Softmax", ["masked"], ["attention"], axis=-1), make("MatMul", ["attention", "vh"], ["context"]),
        make("Transpose", ["context"], ["back"], perm=[0, 2, 1, 3]), make("Reshape", ["back", "together"], ["joined"]),
        make("MatMul", ["joined", "wo"], ["out"]), make("Add", ["x", "out"], ["residual"]),
        make("LayerNormalization", ["residual", "gamma", "beta"], ["y"], axis=-1),
        make("ReduceMean", ["y", "ones"], ["pooled"], keepdims=0), make("Gather", ["y", "zero"], ["first"], axis=1),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "table": _weights(20, width), "positions": _weights(16, width), "one": np.array(1), "zero": np.array(0),
        **{f"w{name}": _weights(width, width) for name in "qkvo"}, "apart": np.array([0, 0, heads, width // heads]),
        "together": np.array([0, 0, width]), "scale": np.float32(0.5), "fone": np.float32(1), "ones": np.array([1]),
        "minus": np.float32(-1e4), "axes": np.array([1, 2]), "gamma": _weights(width), "beta": _weights(width),
    }  # fmt: skip
    inputs = [value(name, ["batch", "seq"], TensorProto.INT64) for name in ("ids", "mask")]
    proto = model(nodes, inputs, ["y", "pooled", "first"], constants)

    def arrays(n: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
        shape = n["batch"], n["seq"]
        mask = np.arange(shape[1]) < rng.integers(1, shape[1] + 1, (shape[0], 1))
        return {"ids": rng.integers(0, 20, shape), "mask": mask.astype(np.int64)}

    return Ranged(proto, {"batch": Range(1, 3), "seq": Range(1, 12)}, arrays)


def gru() -> Ranged:
    nodes = [
        make("GRU", ["x", "w", "r", "b"], ["all", "last"], hidden_size=4, direction="bidirectional"),
        make("Transpose", ["all"], ["t"], perm=[2, 0, 1, 3]), make("Reshape", ["t", "flat"], ["y"]),
    ]  # fmt: skip
    constants = {"w": _weights(2, 12, 3), "r": _weights(2, 12, 4), "b": _weights(2, 24), "flat": np.array([0, 0, 8])}
    proto = model(nodes, [value("x", ["seq", 2, 3])], ["y", "last"], constants)
    return Ranged(proto, {"seq": Range(1, 9)}, lambda n, rng: {"x": _normal(rng, n["seq"], 2, 3)})


def reductions() -> Ranged:
    nodes = [
        make("ReduceSum", ["x", "one"], ["sum"]), make("ReduceMax", ["x", "one"], ["max"]),
        make("ReduceMin", ["x", "one"], ["min"]), make("ArgMax", ["x"], ["arg"], axis=1),
        make("Softmax", ["x"], ["soft"], axis=1), make("LogSoftmax", ["x"], ["log"], axis=1),
        make("ReduceL2", ["x", "one"], ["norm"]), make("CumSum", ["x", "single"], ["running"], reverse=1),
        make("MatMul", ["t", "x"], ["gram"]), make("ReduceMean", ["x", "both"], ["mean"]),
    ]  # fmt: skip
    nodes.insert(0, make("Transpose", ["x"], ["t"], perm=[0, 2, 1]))
    names = ["sum", "max", "min", "arg", "soft", "log", "norm", "running", "gram", "mean"]
    constants: dict[str, Operand] = {"one": np.array([1]), "single": np.array(1), "both": np.array([1, 2])}
    proto = model(nodes, [value("x", [2, "k", 3])], names, constants)
    return Ranged(proto, {"k": Range(1, 7)}, lambda n, rng: {"x": _normal(rng, 2, n["k"], 3) - 3})


def offsets() -> Ranged:
    """Where each row begins among all elements, and where the last one ends."""
    nodes = [
        make("Size", ["x"], ["all"]), make("Range", ["zero", "all", "five"], ["starts"]),
        make("Reshape", ["all", "one"], ["end"]), make("Concat", ["starts", "end"], ["places"], axis=0),
        make("Cast", ["places"], ["y"], to=TensorProto.FLOAT), make("Neg", ["x"], ["z"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {"zero": np.array(0), "five": np.array(5), "one": np.array([1])}
    proto = model(nodes, [value("x", ["n", 5])], ["y", "z"], constants)
    return Ranged(proto, {"n": Range(1, 4)}, lambda n, rng: {"x": _normal(rng, n["n"], 5)})


def relative_positions() -> Ranged:
    """Scores of two heads by distance, which a reshape moves to positions (Transformer-XL, appendix B)."""
    nodes = [
        make("Slice", ["all", "one", "most", "one"], ["x"]), make("Shape", ["x"], ["t"], start=1, end=2),
        make("Sub", ["middle", "t"], ["before"]), make("Add", ["before", "one"], ["from"]),
        make("Add", ["middle", "t"], ["to"]), make("Slice", ["table", "from", "to"], ["near"]),
        make("Transpose", ["near"], ["turned"], perm=[1, 0]), make("MatMul", ["x", "turned"], ["scores"]),
        make("Pad", ["scores", "border"], ["wide"]), make("Mul", ["t", "two"], ["twice"]),
        make("Concat", ["two", "twice", "t"], ["shape"], axis=0), make("Reshape", ["wide", "shape"], ["moved"]),
        make("Slice", ["moved", "one", "twice", "one"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "middle": np.array([7]), "one": np.array([1]), "two": np.array([2]), "table": _weights(15, 4),
        "border": np.array([0, 0, 1, 0, 0, 0]), "most": np.array([2**62]),
    }  # fmt: skip
    proto = model(nodes, [value("all", [2, "t", 4])], ["y"], constants)
    return Ranged(proto, {"t": Range(2, 7)}, lambda n, rng: {"all": _normal(rng, 2, n["t"], 4)})


def places_of_constants() -> Ranged:
    """NonZero of what follows from shapes alone: of all, and of some places."""
    nodes = [
        make("Shape", ["x"], ["shape"]), make("Expand", ["yes", "shape"], ["full"]), make("NonZero", ["full"], ["all"]),
        make("Transpose", ["all"], ["rows"], perm=[1, 0]), make("GatherND", ["x", "rows"], ["flat"]),
        make("Reshape", ["flat", "shape"], ["again"]), make("Add", ["again", "x"], ["y"]),
        make("Gather", ["shape", "zero"], ["n"]), make("Range", ["zero", "n", "one"], ["numbers"]),
        make("Greater", ["numbers", "one"], ["above"]), make("NonZero", ["above"], ["some"]),
        make("Squeeze", ["some", "first"], ["chosen"]), make("Gather", ["x", "chosen"], ["z"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "yes": np.array([[[True]]]), "zero": np.array(0), "one": np.array(1), "first": np.array([0]),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["n", 1, "m"])], ["all", "y", "z"], constants)
    return Ranged(proto, {"n": Range(1, 4), "m": Range(1, 3)}, lambda n, rng: {"x": _normal(rng, n["n"], 1, n["m"])})


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


RANGED: Mapping[str, Callable[[], Ranged]] = {
    "mlp": mlp, "cnn": cnn, "encoder": encoder, "gru": gru, "offsets": offsets, "reductions": reductions,
    "relative positions": relative_positions, "places of constants": places_of_constants,
}  # fmt: skip
