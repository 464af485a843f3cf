"""Operators of ai.onnx.preview and ai.onnx.preview.training, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.frontend_onnx import import_model
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import check_compiled, reference
from tests.frontend_onnx.graphs import model, value

TRAINING = "ai.onnx.preview.training"


def floats(*shape: int, seed: int = 0, dtype: type[Any] = np.float32) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def step_model(op: str, states: int, step: int, dtype: type[Any], **attrs: object) -> tuple[Any, dict[str, np.ndarray]]:
    """One step of an optimizer for two tensors, with pointwise operators before and behind."""
    shapes = [(2, 3), (5,)]
    feeds: dict[str, np.ndarray] = {"rate": np.asarray(0.1, dtype), "step": np.asarray(step, np.int64)}
    for kind in range(2 + states):
        for n, shape in enumerate(shapes):
            array = floats(*shape, seed=10 * kind + n, dtype=dtype)
            feeds[f"in{kind}_{n}"] = np.abs(array) if kind == 1 + states else array
    operands, results = list(feeds), [f"y{n}" for n in range(2 * (1 + states))]
    nodes = [
        helper.make_node("Neg", ["in1_0"], ["gradient"]),
        helper.make_node(
            op, ["gradient" if name == "in1_0" else name for name in operands], results, domain=TRAINING, **attrs
        ),
        *(helper.make_node("Tanh", [name], [f"z{name}"]) for name in results),
    ]
    inputs = [value(n, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in feeds.items()]
    shown = [*results[:2], *(f"z{name}" for name in results)]
    return model(nodes, inputs, shown, domains={TRAINING: 1}), feeds


@pytest.mark.parametrize("step", [0, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "states", "attrs"),
    [
        ("Adagrad", 1, {"norm_coefficient": 0.01, "decay_factor": 0.1, "epsilon": 1e-3}),
        ("Adam", 2, {"norm_coefficient": 0.01, "epsilon": 1e-3, "norm_coefficient_post": 0.05}),
        ("Momentum", 1, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.5, "mode": "standard"}),
        ("Momentum", 1, {"norm_coefficient": 0.0, "alpha": 0.9, "beta": 0.5, "mode": "nesterov"}),
    ],
)
def test_optimizers(op: str, states: int, attrs: dict[str, object], dtype: type[Any], step: int) -> None:
    def in_type(*args: Any) -> list[np.ndarray]:
        """The reference makes float32 of some results."""
        return [result.astype(dtype) for result in reference(*args)]

    check_compiled(*step_model(op, states, step, dtype, **attrs), in_type, rtol=1e-4)


def test_tensors_of_an_optimizer_have_one_type() -> None:
    proto, _ = step_model("Adagrad", 1, 0, np.float32)
    proto.graph.input[3].type.tensor_type.shape.dim[0].dim_value = 4
    with pytest.raises(CcmlError, match="differ in type"):
        import_model(proto)


def test_flex_attention_with_its_graphs() -> None:
    """The modifications are graphs in attributes; heads of the queries share those of keys and values."""
    def graph(name: str, op: str, number: float) -> Any:
        constant = helper.make_tensor("c", TensorProto.FLOAT, [], [number])
        return helper.make_graph(
            [helper.make_node(op, ["s", "c"], ["t"])], name, [value("s", ["B", "H", "L", "S"])],
            [value("t", ["B", "H", "L", "S"])], [constant],
        )  # fmt: skip

    feeds = {"q": floats(1, 4, 3, 8), "k": floats(1, 2, 5, 8), "v": floats(1, 2, 5, 6)}
    node = helper.make_node(
        "FlexAttention", list(feeds), ["y"], domain="ai.onnx.preview",
        score_mod=graph("bias", "Add", 0.5), prob_mod=graph("scale", "Mul", 2.0),
    )  # fmt: skip
    inputs = [value(name, array.shape) for name, array in feeds.items()]
    check_compiled(model([node], inputs, ["y"], opset=26, domains={"ai.onnx.preview": 1}), feeds)
