"""Whole models by the reference kernels of TensorFlow Lite in fixed point, operator after operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from ccml.frontend_tflite.model import Model, Operator, Tensor

from tests.frontend_tflite.fixed_point import (
    added,
    clamped,
    mean_of_window,
    patches,
    requantized,
    same_pads,
    softmax_int8,
)

_BOUNDS = {0: None, 1: (0.0, np.inf), 3: (0.0, 6.0)}
Values = Mapping[int, np.ndarray]


def run(model: Model, x: np.ndarray) -> dict[int, np.ndarray]:
    """The integers of every tensor of the first subgraph, for one input."""
    graph = model.subgraphs[0]
    values = {n: tensor.array for n, tensor in enumerate(graph.tensors) if tensor.data is not None}
    values[graph.inputs[0]] = x
    for op in graph.operators:
        values[op.outputs[0]] = _KERNELS[op.name](op, graph.tensors, values)
    return values


def _parameters(tensor: Tensor) -> tuple[float, int]:
    assert tensor.quantization is not None
    return float(tensor.quantization.scale[0]), int(tensor.quantization.zero_point[0])


def _finish(op: Operator, tensors: tuple[Tensor, ...], acc: np.ndarray) -> np.ndarray:
    """Accumulators of a contraction as its output has them."""
    x, w, y = (tensors[n] for n in (op.inputs[0], op.inputs[1], op.outputs[0]))
    so, zo = _parameters(y)
    assert w.quantization is not None
    factors = _parameters(x)[0] * w.quantization.scale.astype(np.float64) / so
    activation = _BOUNDS[int(op.options.get("FusedActivationFunction", 0))]  # type: ignore[arg-type]
    return clamped(requantized(acc, factors, False), np.int8, activation, so, zo)


def _windows(op: Operator, x: np.ndarray, kernel: tuple[int, int], zero: int) -> np.ndarray:
    stride = int(op.options["StrideH"]), int(op.options["StrideW"])  # type: ignore[arg-type]
    pads = same_pads(x.shape[1:3], kernel, stride) if op.options.get("Padding", 0) == 0 else ((0, 0), (0, 0))  # type: ignore[arg-type]
    return patches(x.astype(np.int64) - zero, kernel, stride, pads)


def _conv(op: Operator, tensors: tuple[Tensor, ...], values: Values) -> np.ndarray:
    x, w, b = (values[n] for n in op.inputs)
    zero = _parameters(tensors[op.inputs[0]])[1]
    windows = _windows(op, x, w.shape[1:3], zero)  # type: ignore[arg-type]
    if op.name == "CONV_2D":
        acc = np.einsum("nhwklc,oklc->nhwo", windows, w.astype(np.int64), optimize=True)
    else:
        acc = np.einsum("nhwklc,klc->nhwc", windows, w[0].astype(np.int64), optimize=True)
    return _finish(op, tensors, acc + b)


def _fully_connected(op: Operator, tensors: tuple[Tensor, ...], values: Values) -> np.ndarray:
    x, w, b = (values[n] for n in op.inputs)
    zero = _parameters(tensors[op.inputs[0]])[1]
    return _finish(op, tensors, (x.reshape(-1, w.shape[1]).astype(np.int64) - zero) @ w.T.astype(np.int64) + b)


def _add(op: Operator, tensors: tuple[Tensor, ...], values: Values) -> np.ndarray:
    (sx, zx), (sy, zy), (so, zo) = (_parameters(tensors[n]) for n in (*op.inputs, *op.outputs))
    total = added(values[op.inputs[0]], values[op.inputs[1]], sx, zx, sy, zy, so, 1)
    return clamped(total, np.int8, _BOUNDS[int(op.options.get("FusedActivationFunction", 0))], so, zo)  # type: ignore[arg-type]


def _average_pool(op: Operator, tensors: tuple[Tensor, ...], values: Values) -> np.ndarray:
    kernel = int(op.options["FilterHeight"]), int(op.options["FilterWidth"])  # type: ignore[arg-type]
    windows = _windows(op, values[op.inputs[0]], kernel, 0)
    return mean_of_window(windows, np.ones_like(windows)).astype(np.int8)


def _reshape(op: Operator, tensors: tuple[Tensor, ...], values: Values) -> np.ndarray:
    return values[op.inputs[0]].reshape(tensors[op.outputs[0]].shape)


def _softmax(op: Operator, tensors: tuple[Tensor, ...], values: Values) -> np.ndarray:
    return softmax_int8(values[op.inputs[0]], _parameters(tensors[op.inputs[0]])[0], 1.0)


_KERNELS: Mapping[str, Callable[[Operator, tuple[Tensor, ...], Values], np.ndarray]] = {
    "ADD": _add,
    "AVERAGE_POOL_2D": _average_pool,
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _conv,
    "FULLY_CONNECTED": _fully_connected,
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
}
