"""Models of one operator of ai.onnx.ml, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import check_compiled, onnxruntime

ML = "ai.onnx.ml"


def ml_node(
    op: str, arrays: Sequence[np.ndarray], outputs: int = 1, version: int = 3, **attrs: Any
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model with the operator alone, of that version of the domain, and its inputs. Types of results are open."""
    feeds = {f"x{n}": np.asarray(array) for n, array in enumerate(arrays)}
    node = helper.make_node(op, list(feeds), [f"y{n}" for n in range(outputs)], domain=ML, **attrs)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in feeds.items()
    ]
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output]
    graph = helper.make_graph([node], "ml", inputs, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


def agrees(
    op: str, *arrays: np.ndarray, outputs: int = 1, version: int = 3, rtol: float = 1e-5, atol: float = 1e-6,
    **attrs: Any,
) -> list[np.ndarray]:  # fmt: skip
    """The results, which are those of ONNX Runtime."""
    proto, feeds = ml_node(op, arrays, outputs, version, **attrs)
    return check_compiled(proto, feeds, onnxruntime, rtol, atol)


def floats(*shape: int, seed: int = 0, dtype: type[Any] = np.float32) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


FLOAT = int(TensorProto.FLOAT)
