"""Mixtures of experts of ONNX Runtime's own domain, in operators of ONNX.

T, E, H and I below are tokens, experts, the width of the tokens and that of the experts. Where a run chooses fewer
experts for all tokens together than there are, their weights are gathered; else all experts see all tokens, and those
that were not chosen count 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .contrib_body import Body, Rule, Unsupported

_FLOAT_ATTRIBUTES = {"activation_alpha": 1.0, "activation_beta": 0.0}
_INTERLEAVED = 1


def _moe(body: Body) -> str:
    """x ``[T, H]`` or ``[B, S, H]``, scores of experts ``[T, E]``, weights ``[E, I, H]``, bias?, weights ``[E, H, I]``,
    bias?; of a SwiGLU, the first weights have 2I rows."""
    body.refuse(6, 7)
    if body.attributes.get("use_sparse_mixer", 0):
        raise Unsupported("use_sparse_mixer")
    tokens, experts = body.shape(1)
    width, chosen = body.shape(0)[-1], int(body.attributes.get("k", 1))
    if int(np.prod(body.shape(0)[:-1])) != tokens or not 0 < chosen <= experts:
        raise ValueError(f"{chosen} of {experts} experts for {tokens} tokens of {list(body.shape(0))}")
    shares, places = _shares(body, chosen)
    x = body.reshape(body.input(0), tokens, 1, width)
    if tokens * chosen < experts:
        x = body.emit("Unsqueeze", x, body.integers(1))
        y = _experts(body, x, places)
        y = body.emit("Mul", y, body.reshape(shares, tokens, chosen, 1, 1))
        y = body.emit("ReduceSum", y, body.integers(1, 2), keepdims=0)
    else:
        y = _experts(body, body.reshape(x, 1, tokens, width), "")
        each = body.emit("OneHot", places, body.integers(experts), body.constant(np.array([0, 1], body.dtype(0))))
        each = body.emit("Mul", each, body.emit("Unsqueeze", shares, body.integers(2)))
        each = body.emit("ReduceSum", each, body.integers(1), keepdims=0)
        y = body.emit("Mul", y, body.emit("Unsqueeze", body.transpose(each, 1, 0), body.integers(2)))
        y = body.emit("ReduceSum", y, body.integers(0), keepdims=0)
    return body.reshape(y, *body.shape(0))


def _shares(body: Body, chosen: int) -> tuple[str, str]:
    """How much each chosen expert counts ``[T, k]``, and their numbers."""
    found = body.emit_all("TopK", [body.emit("Softmax", body.input(1), axis=-1), body.integers(chosen)], 2, axis=-1)
    shares, places = found
    if body.attributes.get("normalize_routing_weights", 0):
        shares = body.emit("Div", shares, body.emit("ReduceSum", shares, body.integers(1), keepdims=1))
    return shares, places


def _experts(body: Body, x: str, places: str) -> str:
    """Both layers of all experts ``[E, T, H]``, or of those at ``places``: ``[T, k, 1, H]``."""

    def layer(x: str, weights: int, bias: int) -> str:
        matrix = body.transpose(body.input(weights), 0, 2, 1)
        added = body.emit("Unsqueeze", body.input(bias), body.integers(1)) if body.input(bias) else ""
        if places:
            matrix = body.emit("Gather", matrix, places, axis=0)
            added = body.emit("Gather", added, places, axis=0) if added else ""
        y = body.emit("MatMul", x, matrix)
        return body.emit("Add", y, added) if added else y

    return layer(_activated(body, layer(x, 2, 3)), 4, 5)


def _activated(body: Body, x: str) -> str:
    match body.text("activation_type", "relu"):
        case "relu":
            return body.emit("Relu", x)
        case "gelu":
            return body.emit("Gelu", x, approximate="tanh")
        case "silu":
            return body.emit("Mul", x, body.emit("Sigmoid", x))
        case "identity":
            return x
        case "swiglu" if body.attributes.get("swiglu_fusion", 0) == _INTERLEAVED:
            return _swiglu(body, x)
        case other:
            raise Unsupported(f"activation_type {other!r}, or its swiglu_fusion")


def _swiglu(body: Body, x: str) -> str:
    """gate * sigmoid(alpha * gate) * (linear + beta) of pairs (gate, linear), after both were limited."""
    rows = body.shape(2)[1]
    ends, axis, step = body.integers(rows), body.integers(-1), body.integers(2)
    gate, linear = (body.emit("Slice", x, body.integers(n), ends, axis, step) for n in range(2))
    limit = body.attributes.get("swiglu_limit")
    if limit is not None:
        gate = body.emit("Min", gate, body.number(limit))
        linear = body.emit("Clip", linear, body.number(-limit), body.number(limit))
    alpha, beta = (float(body.attributes.get(name, default)) for name, default in _FLOAT_ATTRIBUTES.items())
    opened = body.emit("Mul", gate, body.emit("Sigmoid", body.emit("Mul", gate, body.number(alpha))))
    return body.emit("Mul", opened, body.emit("Add", linear, body.number(beta)))


RULES: Mapping[str, Rule] = {"MoE": _moe}
