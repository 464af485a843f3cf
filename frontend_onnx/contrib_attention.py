"""Attention of ONNX Runtime's own domain, in operators of ONNX.

Inside, queries are ``[batch, heads, length, size]``, keys and values ``[batch, heads, total, size]`` with what came
before in front. B, S, T, N and H below are batch, length, total, heads and size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .contrib_body import Body, Rule, Unsupported

FILTER = -10000.0
"""Added to a score that a mask leaves out, unless the node says another number."""


def _attended(body: Body, q: str, k: str, v: str, scale: float, *added: str) -> tuple[str, str]:
    """The values by their weights, and the scores from which these are; names of what is ``added`` may be empty."""
    scores = body.emit("Mul", body.emit("MatMul", q, body.transpose(k, 0, 1, 3, 2)), body.number(scale))
    for each in added:
        scores = body.emit("Add", scores, each) if each else scores
    return body.emit("MatMul", body.emit("Softmax", scores, axis=-1), v), scores


def attention_scale(body: Body, size: int) -> float:
    """Of scores, unless the node says another one."""
    return float(body.attributes.get("scale", 0.0)) or 1 / math.sqrt(size)


def _mask(body: Body, place: int, batch: int, length: int, total: int) -> str:
    """What is added to scores ``[B, N, S, T]``: of a mask of lengths ``[B]``, of ends and starts ``[2B]``, or of
    numbers ``[B, T]`` or ``[B, S, T]``, which count where they are above 0; and of one that hides what comes later."""
    added = ""
    if body.input(place):
        mask, shape = body.input(place), body.shape(place)
        if len(shape) == 1 and shape[0] in (batch, 2 * batch):
            at = body.constant(np.arange(total, dtype=body.dtype(place))[None])
            both = shape[0] == 2 * batch and shape[0] != batch
            ends = body.emit("Unsqueeze", body.slice(mask, 0, 0, batch) if both else mask, body.integers(1))
            seen = body.emit("Less", at, ends)
            if both:
                starts = body.emit("Unsqueeze", body.slice(mask, 0, batch, 2 * batch), body.integers(1))
                seen = body.emit("And", seen, body.emit("GreaterOrEqual", at, starts))
            axes = [1, 2]
        elif len(shape) in (2, 3) and shape[-1] == total:
            seen = _counted(body, mask, place)
            axes = [1, 2] if len(shape) == 2 else [1]
        else:
            raise Unsupported(f"a mask of the shape {list(shape)}")
        added = _hidden(body, seen, *axes)
    if body.attributes.get("unidirectional", 0):
        later = np.arange(total) > np.arange(length)[:, None] + total - length
        hidden = body.constant(np.where(later, -np.inf, 0).astype(body.dtype(0))[None, None])
        if not added:
            return hidden
        added = body.emit("Where", body.constant(later[None, None]), hidden, added)
    return added


def _counted(body: Body, mask: str, place: int) -> str:
    """Where a mask of the type of an operand is above 0."""
    return body.emit("Greater", mask, body.constant(np.asarray(0, body.dtype(place))))


def _hidden(body: Body, seen: str, *axes: int) -> str:
    """What is added to scores, with new axes."""
    filtered = body.attributes.get("mask_filter_value", FILTER)
    added = body.emit("Where", seen, body.number(0.0), body.number(filtered))
    return body.emit("Unsqueeze", added, body.integers(*axes))


# ---------------------------------------------------------------- queries, keys and values of one operand


def _attention(body: Body) -> tuple[str, ...]:
    """x ``[B, S, D]``, weights, bias?, mask?, past?, scores' bias?"""
    body.refuse(6)
    if body.attributes.get("do_rotary", 0):
        raise Unsupported("do_rotary")
    projected = body.emit("MatMul", body.input(0), body.input(1))
    if body.input(2):
        projected = body.emit("Add", projected, body.input(2))
    return _of_projection(body, projected, body.shape(1)[1], body.rows, mask=3, past=4, bias=5)


def _quantized_attention(body: Body) -> tuple[str, ...]:
    """x and weights of bytes, bias, their scales, mask?, their zero points?, past?"""
    if body.attributes.get("do_rotary", 0):
        raise Unsupported("do_rotary")
    summed = body.emit("MatMulInteger", body.input(0), body.input(1), body.input(6), body.input(7))
    steps = body.emit("Mul", body.input(3), body.input(4))
    projected = body.emit("Mul", body.emit("CastLike", summed, steps), steps)
    projected = body.emit("Add", projected, body.input(2))
    rows = body.rows
    body.operands = [body.operands[2], *body.operands[1:]]  # numbers are of the type of the bias
    return _of_projection(body, projected, body.shape(1)[1], rows, mask=5, past=8, bias=-1)


def _of_projection(
    body: Body, x: str, width: int, rows: tuple[int, int], mask: int, past: int, bias: int
) -> tuple[str, ...]:
    heads = int(body.attributes["num_heads"])
    widths = tuple(body.attributes.get("qkv_hidden_sizes", ())) or (width // 3,) * 3
    batch, length = rows
    if sum(widths) != width or any(part % heads for part in widths) or widths[0] != widths[1]:
        raise ValueError(f"{width} columns are not queries, keys and values of {heads} heads")
    begins = np.cumsum([0, *widths])
    q, k, v = (
        body.heads(body.slice(x, 2, int(a), int(b)), length, heads, part // heads)
        for a, b, part in zip(begins, begins[1:], widths)
    )
    total = length
    if body.input(past):
        before = [
            body.emit("Squeeze", body.slice(body.input(past), 0, n, n + 1), body.integers(0)) for n in range(2)
        ]  # fmt: skip
        k, v = (body.emit("Concat", old, new, axis=2) for old, new in zip(before, (k, v)))
        total += body.shape(past)[3]
    added = (_mask(body, mask, batch, length, total), body.input(bias) if bias >= 0 else "")
    y, _ = _attended(body, q, k, v, attention_scale(body, widths[0] // heads), *added)
    y = body.merged(y, length, widths[2])
    if not body.has(1):
        return (y,)
    return y, body.emit("Concat", *(body.emit("Unsqueeze", part, body.integers(0)) for part in (k, v)), axis=0)


# ---------------------------------------------------------------- queries, keys and values apart


def _multi_head_attention(body: Body) -> tuple[str, ...]:
    """q, k?, v?, bias?, mask of keys?, scores' bias?, past k?, past v?; q may hold k and v, k may hold v."""
    body.refuse(8, 9)
    heads, (batch, length) = int(body.attributes["num_heads"]), body.rows
    q, k, v, width = _apart(body, heads, length, 3)
    total = _keys(body)
    if body.input(6):
        k, v = (body.emit("Concat", body.input(place), new, axis=2) for place, new in ((6, k), (7, v)))
        total += body.shape(6)[2]
    added = (_mask(body, 4, batch, length, total), body.input(5))
    y, scores = _attended(body, q, k, v, attention_scale(body, width[0] // heads), *added)
    return body.merged(y, length, width[1]), k, v, scores


def _decoder_attention(body: Body) -> tuple[str, ...]:
    """Of one token: q, k, v, mask of keys?, scores' bias?, past k?, past v?, how many keys of the past count where
    these are in the memory of the present, beams?, their order?, bias of q, k and v?"""
    body.refuse(9)
    heads, (batch, length) = int(body.attributes["num_heads"]), body.rows
    if length != 1:
        raise ValueError(f"{length} tokens")
    if not body.input(1):
        raise Unsupported("an operand of queries, keys and values")
    q, k, v, width = _apart(body, heads, length, 10)
    total, seen = _keys(body), ""
    if body.input(5) and body.attributes.get("past_present_share_buffer", 0):
        body.opset = 24
        total, before = body.shape(5)[2], body.cast(body.reshape(body.input(7), 1), np.int64)
        begins = body.emit("Expand", before, body.integers(batch))
        k, v = (body.emit("TensorScatter", body.input(n), new, begins, axis=2) for n, new in ((5, k), (6, v)))
        seen = body.emit("LessOrEqual", body.constant(np.arange(total)), before)
        seen = body.emit("Where", seen, body.number(0.0), body.number(-np.inf))
    elif body.input(5):
        k, v = (body.emit("Concat", body.input(n), new, axis=2) for n, new in ((5, k), (6, v)))
        total += body.shape(5)[2]
    mask = body.input(3) and _hidden(body, _counted(body, body.widened(3, total), 3), 1, 2)
    bias = body.input(4) and body.widened(4, total)
    y, scores = _attended(body, q, k, v, attention_scale(body, width[0] // heads), seen, mask, bias)
    return body.merged(y, length, width[1]), k, v, scores


def _keys(body: Body) -> int:
    """How many keys there are without those of the past."""
    if not body.input(1):
        return body.shape(0)[1]
    return body.shape(1)[2] if len(body.shape(1)) == 4 else body.shape(1)[1]


def _apart(body: Body, heads: int, length: int, bias: int) -> tuple[str, str, str, tuple[int, int]]:
    """Queries, keys, values with their bias, an operand, and the columns of queries and of values."""
    shape = body.shape(0)
    if len(shape) == 5:  # [B, S, N, 3, H]
        size = shape[4]
        parts = [_packed(body, 0, place) for place in range(3)]
        width = (heads * size, heads * size)
    elif len(body.shape(1)) == 5:  # [B, T, N, 2, H]
        parts = [body.input(0), _packed(body, 1, 0), _packed(body, 1, 1)]
        width = (shape[2], shape[2])
    else:
        parts = [body.input(place) for place in range(3)]
        values = body.shape(2)
        width = (shape[2], values[2] if len(values) == 3 else values[1] * values[3])
    ready = len(body.shape(1)) == 4 if body.input(1) else False
    if body.input(bias):
        begins = np.cumsum([0, width[0], width[0], width[1]])
        for place in range(1 if ready else 3):
            part = body.slice(body.input(bias), 0, int(begins[place]), int(begins[place + 1]))
            parts[place] = body.emit("Add", parts[place], part)
    q = body.heads(parts[0], length, heads, width[0] // heads)
    if ready:
        return q, parts[1], parts[2], width
    k, v = (body.heads(part, _keys(body), heads, w // heads) for part, w in zip(parts[1:], width))
    return q, k, v, width


def _packed(body: Body, place: int, part: int) -> str:
    """One of several in the fourth dimension, as ``[B, S, N * H]``."""
    _, length, heads, _, size = body.shape(place)
    return body.reshape(body.slice(body.input(place), 3, part, part + 1), -1, length, heads * size)


RULES: Mapping[str, Rule] = {
    "Attention": _attention,
    "DecoderMaskedMultiHeadAttention": _decoder_attention,
    "MultiHeadAttention": _multi_head_attention,
    "QAttention": _quantized_attention,
}
"""By name."""
