"""Models that keep something between runs, with what a test feeds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

N = helper.make_node
FLOAT = TensorProto.FLOAT


@dataclass(frozen=True)
class Stateful:
    """``copied`` are the states whose new value cannot be made in the place of the old one."""

    model: onnx.ModelProto
    states: Mapping[str, str]
    copied: frozenset[str] = frozenset()

    def feeds(self, steps: int = 4) -> list[dict[str, np.ndarray]]:
        """Inputs of a sequence, without the states. An integer input counts the steps."""
        rng = np.random.default_rng(1)
        found = []
        for step in range(steps):
            feed = {}
            for side in self.model.graph.input:
                shape = [dim.dim_value for dim in side.type.tensor_type.shape.dim]
                if side.name in self.states:
                    continue
                integer = side.type.tensor_type.elem_type != FLOAT
                feed[side.name] = np.full(shape, step) if integer else rng.standard_normal(shape).astype(np.float32)
            found.append(feed)
        return found

    def expected(self, feeds: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        """Outputs and states by ONNX Runtime, which is given the states that it put out the run before."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(self.model.SerializeToString(), options)
        shapes = {side.name: side.shape for side in session.get_inputs()}
        states = {name: np.zeros(shapes[name], np.float32) for name in self.states}
        found = []
        for feed in feeds:
            names = [side.name for side in session.get_outputs()]
            results = dict(zip(names, session.run(None, {**feed, **states}), strict=True))
            states = {name: results[output] for name, output in self.states.items()}
            found.append(results)
        return found


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int]],
    outputs: Mapping[str, Sequence[int]],
    constants: Mapping[str, np.ndarray] | None = None,
    integers: Sequence[str] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    sides = [
        [helper.make_tensor_value_info(n, TensorProto.INT64 if n in integers else FLOAT, s) for n, s in found.items()]
        for found in (inputs, outputs)
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "kept", *sides, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _weights(*shape: int) -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(shape) / 3).astype(np.float32)


def pointwise() -> Stateful:
    """A leaky sum: each element of the new state needs the same one of the old."""
    nodes = [N("Mul", ["h", "half"], ["d"]), N("Add", ["d", "x"], ["hn"]), N("Relu", ["hn"], ["y"])]
    shapes = {"x": [1, 37], "h": [1, 37]}
    made = _model(nodes, shapes, {"y": [1, 37], "hn": [1, 37]}, {"half": np.float32([0.5])})
    return Stateful(made, {"h": "hn"})


def read_late() -> Stateful:
    """The result needs the old state and the new one: the new one cannot be in the place of the old one."""
    nodes = [
        N("MatMul", ["x", "w"], ["a"]), N("Add", ["a", "h"], ["b"]), N("Tanh", ["b"], ["hn"]),
        N("MatMul", ["h", "w"], ["c"]), N("Add", ["hn", "c"], ["y"]),
    ]  # fmt: skip
    made = _model(nodes, {"x": [1, 4], "h": [1, 4]}, {"y": [1, 4], "hn": [1, 4]}, {"w": _weights(4, 4)})
    return Stateful(made, {"h": "hn"}, frozenset({"h"}))


def read_early() -> Stateful:
    """Something else that reads the old state stands behind the new one in the file, but may come first."""
    nodes = [N("Add", ["h", "x"], ["hn"]), N("MatMul", ["h", "w"], ["c"]), N("Tanh", ["c"], ["y"])]
    made = _model(nodes, {"x": [1, 8], "h": [1, 8]}, {"y": [1, 8], "hn": [1, 8]}, {"w": _weights(8, 8)})
    return Stateful(made, {"h": "hn"})


def exchanged() -> Stateful:
    """Two states that change places: one of them has to wait elsewhere."""
    nodes = [
        N("Add", ["a", "x"], ["bn"]), N("Identity", ["b"], ["an"]), N("Mul", ["a", "b"], ["y"]),
    ]  # fmt: skip
    shapes = {"x": [5], "a": [5], "b": [5]}
    made = _model(nodes, shapes, {"y": [5], "an": [5], "bn": [5]})
    return Stateful(made, {"a": "an", "b": "bn"}, frozenset({"a"}))


def window() -> Stateful:
    """The newest rows of all that were there: the cache of a causal convolution."""
    ends = {"one": np.array([1]), "end": np.array([99]), "axis": np.array([1]), "w": _weights(3, 4, 6)}
    nodes = [
        N("Concat", ["past", "x"], ["all"], axis=1), N("Slice", ["all", "one", "end", "axis"], ["present"]),
        N("Transpose", ["all"], ["t"], perm=[0, 2, 1]), N("Conv", ["t", "w"], ["y"]),
    ]  # fmt: skip
    shapes = {"x": [1, 1, 4], "past": [1, 5, 4]}
    return Stateful(_model(nodes, shapes, {"y": [1, 3, 1], "present": [1, 5, 4]}, ends), {"past": "present"})


def _sum_of_rows(nodes: Sequence[onnx.NodeProto], new: Sequence[int], at: Sequence[int], opset: int) -> Stateful:
    """What attends to a cache in the simplest way."""
    nodes = [*nodes, N("ReduceSum", ["present", "rows"], ["y"], keepdims=1)]
    shapes = {"x": new, "at": at, "past": [1, 2, 16, 8]}
    outputs = {"y": [1, 2, 1, 8], "present": [1, 2, 16, 8]}
    constants = {"rows": np.array([2])}
    return Stateful(_model(nodes, shapes, outputs, constants, ["at"], opset), {"past": "present"})


def tensor_scatter() -> Stateful:
    """A row a run, at a position of its own."""
    return _sum_of_rows([N("TensorScatter", ["past", "x", "at"], ["present"], axis=2)], [1, 2, 1, 8], [1], 24)


def scatter_elements() -> Stateful:
    """The same by single elements."""
    nodes = [N("ScatterElements", ["past", "at", "x"], ["present"], axis=2)]
    return _sum_of_rows(nodes, [1, 2, 1, 8], [1, 2, 1, 8], 18)


def scatter_nd() -> Stateful:
    """Row 0 of one head, then of the other: two scatters, one behind the other."""
    nodes = [
        N("ScatterND", ["flat_past", "at", "x"], ["once"]), N("Add", ["at", "sixteen"], ["behind"]),
        N("ScatterND", ["once", "behind", "x"], ["flat"]), N("Reshape", ["flat", "four"], ["present"]),
        N("ReduceSum", ["present", "rows"], ["y"], keepdims=1),
    ]  # fmt: skip
    nodes.insert(0, N("Reshape", ["past", "two"], ["flat_past"]))
    constants = {
        "rows": np.array([2]), "sixteen": np.array([16]), "two": np.array([32, 8]), "four": np.array([1, 2, 16, 8]),
    }  # fmt: skip
    shapes = {"x": [1, 8], "at": [1, 1], "past": [1, 2, 16, 8]}
    made = _model(nodes, shapes, {"y": [1, 2, 1, 8], "present": [1, 2, 16, 8]}, constants, ["at"], 18)
    return Stateful(made, {"past": "present"})


def attention() -> Stateful:
    """ONNX's own form of a cache: rows are scattered, and attention is told how many there are."""
    nodes = [
        N("TensorScatter", ["k", "x", "at"], ["kn"], axis=2), N("TensorScatter", ["v", "z", "at"], ["vn"], axis=2),
        N("Add", ["at", "one"], ["count"]), N("Attention", ["q", "kn", "vn", "", "", "", "count"], ["y"]),
    ]  # fmt: skip
    row, cache = [1, 2, 1, 8], [1, 2, 16, 8]
    inputs = {"q": row, "x": row, "z": row, "at": [1], "k": cache, "v": cache}
    outputs = {"y": row, "kn": cache, "vn": cache}
    made = _model(nodes, inputs, outputs, {"one": np.array([1])}, ["at"], 24)
    return Stateful(made, {"k": "kn", "v": "vn"})


def attention_window() -> Stateful:
    """Attention's own past and present, of which the oldest row is dropped."""
    nodes = [
        N("Attention", ["q", "x", "z", "", "k", "v"], ["y", "all_k", "all_v"]),
        N("Slice", ["all_k", "one", "end", "axis"], ["kn"]), N("Slice", ["all_v", "one", "end", "axis"], ["vn"]),
    ]  # fmt: skip
    row, cache = [1, 2, 1, 8], [1, 2, 6, 8]
    inputs = {"q": row, "x": row, "z": row, "k": cache, "v": cache}
    ends = {"one": np.array([1]), "end": np.array([99]), "axis": np.array([2])}
    made = _model(nodes, inputs, {"y": row, "kn": cache, "vn": cache}, ends, opset=23)
    return Stateful(made, {"k": "kn", "v": "vn"})


def recurrent(op: str) -> Callable[[], Stateful]:
    """A layer of 3 units for 2 steps a run."""

    def made() -> Stateful:
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
        constants = {"w": _weights(1, 3 * gates, 5), "r": _weights(1, 3 * gates, 3)}
        cell = op == "LSTM"
        operands = ["x", "w", "r", "", "", "h", *(["c"] if cell else [])]
        nodes = [N(op, operands, ["y", "hn", *(["cn"] if cell else [])], hidden_size=3)]
        inputs = {"x": [2, 1, 5], "h": [1, 1, 3], **({"c": [1, 1, 3]} if cell else {})}
        outputs = {"y": [2, 1, 1, 3], "hn": [1, 1, 3], **({"cn": [1, 1, 3]} if cell else {})}
        states = {"h": "hn", **({"c": "cn"} if cell else {})}
        return Stateful(_model(nodes, inputs, outputs, constants), states)

    return made


MODELS: Mapping[str, Callable[[], Stateful]] = {
    "pointwise": pointwise, "read late": read_late, "read early": read_early, "exchanged": exchanged, "window": window,
    "Attention": attention, "Attention over a window": attention_window,
    "TensorScatter": tensor_scatter, "ScatterElements": scatter_elements, "ScatterND": scatter_nd,
    **{op: recurrent(op) for op in ("RNN", "GRU", "LSTM")},
}  # fmt: skip


def quantized() -> Stateful:
    """A leaky sum in QDQ form: the state has one encoding where it is read and where it is made."""
    constants = {"s": np.float32(0.125), "z": np.int8(5), "half": np.float32([0.5]), "t": np.float32(1 / 64)}
    nodes = [
        *_stored("h", "h.dq", "s", "z"), N("Mul", ["h.dq", "half"], ["d"]), *_stored("d", "d.dq", "s", "z"),
        *_stored("x", "x.dq", "t"), N("Add", ["d.dq", "x.dq"], ["a"]), *_stored("a", "hn", "s", "z"),
        N("Relu", ["hn"], ["r"]), *_stored("r", "y", "t"),
    ]  # fmt: skip
    shapes = {"x": [1, 40], "h": [1, 40]}
    return Stateful(_model(nodes, shapes, {"y": [1, 40], "hn": [1, 40]}, constants), {"h": "hn"})


def _stored(x: str, y: str, *parameters: str) -> list[onnx.NodeProto]:
    return [N("QuantizeLinear", [x, *parameters], [f"{y}.q"]), N("DequantizeLinear", [f"{y}.q", *parameters], [y])]
