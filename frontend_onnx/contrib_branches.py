"""Branches of language models with hyper-connections, of ONNX Runtime's own domain: their norms, gates and mixtures.

C branches of the width H stand in the last two dimensions of a tensor, or in its last one where the node has the number
of branches as an attribute. Sums and norms are in float32, and results rounded once unless an operator says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .contrib_body import Body, Rule, Unsupported


def _apart(body: Body, x: str, place: int) -> tuple[str, int, int]:
    """``x``, of the shape of an operand, as ``[.., C, H]``, and C and H."""
    shape, count = body.shape(place), int(body.attributes.get("num_branches", 0))
    if not count:
        return x, shape[-2], shape[-1]
    if shape[-1] % count:
        raise ValueError(f"{count} branches of {list(shape)}")
    return body.reshape(x, *[0] * (len(shape) - 1), count, shape[-1] // count), count, shape[-1] // count


def _together(body: Body, x: str, place: int) -> str:
    """``[.., C, H]`` in the form and the type of an operand."""
    if body.attributes.get("num_branches", 0):
        x = body.reshape(x, *[0] * (len(body.shape(place)) - 1), -1)
    return body.emit("CastLike", x, body.input(place))


def _norm(body: Body, x: str, epsilon: float) -> str:
    """``x`` by the root of its mean square along the last dimension."""
    square = body.emit("ReduceMean", body.emit("Mul", x, x), body.integers(-1), keepdims=1)
    added = body.emit("Add", square, body.constant(np.asarray(epsilon, np.float32)))
    return body.emit("Div", x, body.emit("Sqrt", added))


def _branchwise_norm(body: Body) -> str:
    """x, scale ``[C * H]``, ``[C, H]`` or ``[H]``?"""
    x, count, width = _apart(body, body.wide(0), 0)
    y = _norm(body, x, float(body.attributes.get("epsilon", 1e-5)))
    if body.input(1):
        scale = body.wide(1)
        y = body.emit("Mul", y, scale if body.shape(1) == (width,) else body.reshape(scale, count, width))
    return _together(body, y, 0)


def _gates(body: Body, place: int, like: int, width: int) -> str:
    """``[.., C, 1 or H]`` of gates for branches, or for each of their elements, to which operand ``like`` belongs."""
    gates, shape = body.wide(place), body.shape(place)
    count = int(body.attributes.get("num_branches", 0)) or body.shape(like)[-2]
    leading = len(body.shape(like)) - (1 if body.attributes.get("num_branches", 0) else 2)
    if len(shape) == leading + 2:
        return gates
    return body.reshape(gates, *[0] * leading, count, 1 if shape[-1] == count else width)


def _reduced(body: Body) -> str:
    """streams, gates -> the sum of all branches, each times its gate."""
    x, _, width = _apart(body, body.wide(0), 0)
    total = body.emit(
        "ReduceSum", body.emit("Mul", x, _gates(body, 1, 0, width)), body.integers(-2), keepdims=0
    )
    factor = float(body.attributes.get("reduction_scale", 1.0))
    if factor != 1.0:
        total = body.emit("Mul", total, body.constant(np.asarray(factor, np.float32)))
    return body.emit("CastLike", total, body.input(0))


def _injected(body: Body) -> str:
    """streams, x ``[.., H]``, gates, mixture ``[.., C, C]``? -> mixed streams, and x times its gates."""
    streams, _, width = _apart(body, body.wide(0), 0)
    added = body.emit("Mul", body.emit("Unsqueeze", body.wide(1), body.integers(-2)), _gates(body, 2, 0, width))
    if body.input(3):
        rank = len(body.shape(3))
        mixture = body.transpose(body.wide(3), *range(rank - 2), rank - 1, rank - 2)
        streams = body.emit("MatMul", mixture, streams)
    return _together(body, body.emit("Add", streams, added), 0)


def _engram_gate(body: Body) -> tuple[str, ...]:
    """keys, queries ``[B, T, C, H]``, values ``[B, T, H]``, scales of their norms ``[C, H]``, of the result's?"""
    epsilon, width = float(body.attributes.get("epsilon", 1e-5)), body.shape(0)[-1]
    normed = [body.emit("Mul", _norm(body, body.wide(n), epsilon), body.wide(n + 3)) for n in range(2)]
    dot = body.emit("ReduceSum", body.emit("Mul", *normed), body.integers(-1), keepdims=1)
    dot = body.emit("Mul", dot, body.constant(np.asarray(width**-0.5, np.float32)))
    size = body.emit("Max", body.emit("Abs", dot), body.constant(np.asarray(1e-6, np.float32)))
    gate = body.emit("Sigmoid", body.emit("Mul", body.emit("Sign", dot), body.emit("Sqrt", size)))
    y = body.emit("Mul", gate, body.emit("Unsqueeze", body.wide(2), body.integers(2)))
    results = [y, body.emit("Mul", _norm(body, y, epsilon), body.wide(5))] if body.has(1) else [y]
    return tuple(body.emit("CastLike", result, body.input(0)) for result in results)


def _gated_add(body: Body) -> str:
    """x + y * gate, a gate for each row; the product is rounded."""
    if body.input(3):
        raise Unsupported("gate_weight")
    return body.emit("Add", body.input(0), body.emit("Mul", body.input(1), body.input(2)))


def _scaled_silu(body: Body) -> str:
    """z * sigmoid(z) of z = scale * x, each rounded."""
    factor = body.wide(1) if body.input(1) else body.constant(np.asarray(body.attributes.get("alpha", 1.0), "f4"))
    z = body.emit("CastLike", body.emit("Mul", body.wide(0), factor), body.input(0))
    return body.silu(z)


RULES: Mapping[str, Rule] = {
    "BranchwiseRMSNorm": _branchwise_norm,
    "EngramGate": _engram_gate,
    "GatedAdd": _gated_add,
    "HyperConnectionPostMix": _injected,
    "HyperConnectionPreMix": _reduced,
    "ScaledSiLU": _scaled_silu,
}
"""By name."""
