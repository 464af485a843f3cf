"""Mixtures of experts of ONNX Runtime's own domain, in operators of ONNX.

T, E, H and I below are tokens, experts, the width of the tokens and that of the experts. Where a run chooses fewer
experts for all tokens together than there are, their weights are gathered; else all experts see all tokens, and those
that were not chosen count 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..record import record
from .contrib_body import Body, Rule, Unsupported
from .contrib_quantized import unpacked

_FLOAT_ATTRIBUTES = {"activation_alpha": 1.0, "activation_beta": 0.0}
_INTERLEAVED = 1


@record
class _Layer:
    """Weights ``[E, rows, columns]`` of a product with each expert, and its bias ``[E, rows]`` or none."""

    weights: str
    bias: str
    rows: int


def _moe(body: Body) -> str:
    """x ``[T, H]`` or ``[B, S, H]``, scores of experts ``[T, E]``, weights ``[E, I, H]``, bias?, weights ``[E, H, I]``,
    bias?; of a SwiGLU, the first weights have 2I rows."""
    body.refuse(6, 7)
    layers = (_Layer(body.input(place), body.input(place + 1), body.shape(place)[1]) for place in (2, 4))
    return _mixture(body, *layers)


def _quantized_moe(body: Body) -> str:
    """The weights of both layers as integers, ``8 // bits`` in a byte along their last axis, behind each its scales and
    its bias; zero points are the inputs 11 and 12. Scales and zero points are those of a row, or of ``block_size``
    columns of a row."""
    kind, mixed = body.text("quant_type", "int"), body.attributes.get("swiglu_limit_after_activation", 0)
    if kind != "int" or mixed:
        raise Unsupported(f"quant_type {kind!r}" if kind != "int" else "swiglu_limit_after_activation")
    body.refuse(8, 9, 10, 13, *range(15, len(body.node.input)))
    common = body.attributes.get("expert_weight_bits", 4)
    layers = []
    for number, place in ((1, 2), (2, 5)):
        bits = body.attributes.get(f"fc{number}_expert_weight_bits", common)
        weights = _weights(body, place, 10 + number, bits)
        layers.append(_Layer(weights, body.input(place + 2), body.shape(place)[1]))
    return _mixture(body, *layers)


def _weights(body: Body, place: int, zeros: int, bits: int) -> str:
    """Floats ``[E, rows, columns]`` of the integers at ``place``, in front of their scales."""
    if bits not in (2, 4, 8):
        raise Unsupported(f"expert_weight_bits {bits}")
    experts, rows, stored = body.shape(place)
    columns, per = stored * 8 // bits, 8 // bits
    block = body.attributes.get("block_size", 0) or columns
    if block < 0 or columns % block:
        raise ValueError(f"block_size {block} of {columns} columns")
    blocks, lists = columns // block, experts * rows
    integers = unpacked(body, body.input(place), bits, (lists, columns), (lists, columns))
    if not body.input(zeros):
        zero = body.constant(np.full((lists, blocks), 1 << bits - 1, np.uint8))
    elif len(body.shape(zeros)) == 2:  # those of an expert's rows are packed together
        width = body.shape(zeros)[1] * per
        zero = body.reshape(unpacked(body, body.input(zeros), bits, (experts, width), (experts, rows)), lists, 1)
    else:
        width = body.shape(zeros)[2] * per
        zero = unpacked(body, body.input(zeros), bits, (lists, width), (lists, blocks))
    scale = body.reshape(body.input(place + 1), lists, blocks)
    real = body.emit("DequantizeLinear", integers, scale, zero, axis=1, block_size=block)
    return body.reshape(real, experts, rows, columns)


def _mixture(body: Body, first: _Layer, second: _Layer) -> str:
    if body.attributes.get("use_sparse_mixer", 0):
        raise Unsupported("use_sparse_mixer")
    tokens, experts = body.shape(1)
    width, chosen = body.shape(0)[-1], int(body.attributes.get("k", 1))
    if int(np.prod(body.shape(0)[:-1])) != tokens or not 0 < chosen <= experts:
        raise ValueError(f"{chosen} of {experts} experts for {tokens} tokens of {list(body.shape(0))}")
    shares, places = _shares(body, chosen)
    x = body.reshape(body.input(0), tokens, 1, width)

    def both(x: str, places: str) -> str:
        """``[E, T, H]`` of all experts, or of those at ``places``: ``[T, k, 1, H]``."""
        return _product(body, _activated(body, _product(body, x, first, places), first.rows), second, places)

    if tokens * chosen < experts:
        x = body.emit("Unsqueeze", x, body.integers(1))
        y = both(x, places)
        y = body.emit("Mul", y, body.reshape(shares, tokens, chosen, 1, 1))
        y = body.emit("ReduceSum", y, body.integers(1, 2), keepdims=0)
    else:
        y = both(body.reshape(x, 1, tokens, width), "")
        each = body.emit("OneHot", places, body.integers(experts), body.constant(np.array([0, 1], body.dtype(0))))
        each = body.emit("Mul", each, body.emit("Unsqueeze", shares, body.integers(2)))
        each = body.emit("ReduceSum", each, body.integers(1), keepdims=0)
        y = body.emit("Mul", y, body.emit("Unsqueeze", body.transpose(each, 1, 0), body.integers(2)))
        y = body.emit("ReduceSum", y, body.integers(0), keepdims=0)
    return body.reshape(y, *body.shape(0))


def _shares(body: Body, chosen: int) -> tuple[str, str]:
    """How much each chosen expert counts ``[T, k]``, and their numbers: of those with the same score the last ones.
    Input 14 of QMoE, where it is there, tells the former."""
    scores, experts = body.input(1), body.shape(1)[1]
    before, last, axis = body.integers(-experts - 1), body.integers(-1), body.integers(1)
    backwards = body.emit("Slice", scores, last, before, axis, last)
    _, places = body.emit_all("TopK", [backwards, body.integers(chosen)], 2, axis=-1)
    places = body.emit("Sub", body.integers(experts - 1), places)
    told = body.node.op_type == "QMoE" and body.input(14)
    shares = body.emit("GatherElements", told or body.emit("Softmax", scores, axis=-1), places, axis=1)
    if body.attributes.get("normalize_routing_weights", 0):
        shares = body.emit("Div", shares, body.emit("ReduceSum", shares, body.integers(1), keepdims=1))
    return shares, places


def _product(body: Body, x: str, layer: _Layer, places: str) -> str:
    """``x`` with the matrices of all experts, or of those at ``places``."""
    matrix = body.transpose(layer.weights, 0, 2, 1)
    added = body.emit("Unsqueeze", layer.bias, body.integers(1)) if layer.bias else ""
    if places:
        matrix = body.emit("Gather", matrix, places, axis=0)
        added = body.emit("Gather", added, places, axis=0) if added else ""
    y = body.emit("MatMul", x, matrix)
    return body.emit("Add", y, added) if added else y


def _activated(body: Body, x: str, rows: int) -> str:
    match body.text("activation_type", "relu"):
        case "relu":
            return body.emit("Relu", x)
        case "gelu":
            return body.emit("Gelu", x, approximate="tanh")
        case "silu":
            return body.silu(x)
        case "identity":
            return x
        case "swiglu" if body.attributes.get("swiglu_fusion", 0) == _INTERLEAVED:
            return _swiglu(body, x, rows)
        case other:
            raise Unsupported(f"activation_type {other!r}, or its swiglu_fusion")


def _swiglu(body: Body, x: str, rows: int) -> str:
    """gate * sigmoid(alpha * gate) * (linear + beta) of pairs (gate, linear), after both were limited."""
    ends, axis, step = body.integers(rows), body.integers(-1), body.integers(2)
    gate, linear = (body.emit("Slice", x, body.integers(n), ends, axis, step) for n in range(2))
    limit = body.attributes.get("swiglu_limit")
    if limit is not None:
        gate = body.emit("Min", gate, body.number(limit))
        linear = body.emit("Clip", linear, body.number(-limit), body.number(limit))
    alpha, beta = (float(body.attributes.get(name, default)) for name, default in _FLOAT_ATTRIBUTES.items())
    return body.emit("Mul", body.silu(gate, body.number(alpha)), body.emit("Add", linear, body.number(beta)))


# ---------------------------------------------------------------- choice by groups


def _group_router(body: Body) -> tuple[str, ...]:
    """Scores of experts ``[..., E]``, or tokens ``[T, H]`` in front of a product with the third operand ``[E, H]``, and
    biases of experts ``[E]``: the logarithms of the sigmoids of chosen experts, or all sigmoids with and without bias.

    The best groups by the sum of their best experts are chosen, then the best experts of these
    (https://arxiv.org/abs/2412.19437, section 2.1.2).
    """
    experts = body.shape(1)[0]
    scores = body.wide(0)
    if body.input(2):
        scores = body.emit("MatMul", scores, body.transpose(body.wide(2), 1, 0))
    shares = body.emit("Sigmoid", body.reshape(scores, -1, experts))
    biased = body.emit("Add", shares, body.wide(1))
    if body.has(1) or body.has(2):
        return "", biased, shares
    groups, kept = (int(body.attributes.get(name, 1)) for name in ("n_group", "topk_group"))
    best = int(body.attributes.get("group_topk", 2))
    chosen = int(body.attributes["top_k"])
    if not 0 < kept <= groups or experts % groups or best < 1 or not 0 < chosen <= kept * (experts // groups):
        raise ValueError(f"{chosen} experts of {kept} of {groups} groups of {experts} experts")
    lowest = body.constant(np.float32(-np.inf))
    if kept < groups:
        grouped = body.reshape(biased, -1, groups, experts // groups)
        top, _ = body.emit_all("TopK", [grouped, body.integers(min(best, experts // groups))], 2, axis=2)
        sums = body.emit("ReduceSum", top, body.integers(2), keepdims=0)
        open_groups = body.emit("Unsqueeze", _best(body, sums, groups, kept), body.integers(2))
        biased = body.reshape(body.emit("Where", open_groups, grouped, lowest), -1, experts)
    logarithms = body.emit("Log", body.emit("Max", shares, body.constant(np.float32(1e-20))))
    sentinel = body.constant(np.float32(body.attributes.get("router_sentinel", -1e4)))
    routed = body.emit("Where", _best(body, biased, experts, chosen), logarithms, sentinel)
    return (body.emit("CastLike", routed, body.input(0)),)


def _best(body: Body, scores: str, columns: int, chosen: int) -> str:
    """Which of the columns of each row are the greatest ones."""
    _, places = body.emit_all("TopK", [scores, body.integers(chosen)], 2, axis=1)
    each = body.emit("OneHot", places, body.integers(columns), body.constant(np.array([0, 1], np.int32)))
    return body.cast(body.emit("ReduceSum", each, body.integers(1), keepdims=0), np.bool_)


RULES: Mapping[str, Rule] = {"MoE": _moe, "MoEGroupRouter": _group_router, "QMoE": _quantized_moe}
