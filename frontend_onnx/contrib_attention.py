"""Attention and rotary embeddings of ONNX Runtime's own domain, in operators of ONNX.

Inside, queries are ``[batch, heads, length, size]``, keys and values ``[batch, heads, total, size]`` with what came
before in front. B, S, T, N and H below are batch, length, total, heads and size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from .contrib_body import Body, Rule, Unsupported

INT64 = 7
FILTER = -10000.0
"""Added to a score that a mask leaves out, unless the node says another number."""


def _heads(body: Body, x: str, length: int, heads: int, size: int) -> str:
    """``[B, S, N * H]`` as ``[B, N, S, H]``."""
    return body.transpose(body.reshape(x, -1, length, heads, size), 0, 2, 1, 3)


def _merged(body: Body, x: str, length: int, width: int) -> str:
    return body.reshape(body.transpose(x, 0, 2, 1, 3), -1, length, width)


def _attended(body: Body, q: str, k: str, v: str, scale: float, bias: str) -> str:
    scores = body.emit("MatMul", q, body.transpose(k, 0, 1, 3, 2))
    scores = body.emit("Mul", scores, body.number(scale))
    if bias:
        scores = body.emit("Add", scores, bias)
    return body.emit("MatMul", body.emit("Softmax", scores, axis=-1), v)


def _scale(body: Body, size: int) -> float:
    return float(body.attributes.get("scale", 0.0)) or 1 / math.sqrt(size)


def _mask(body: Body, place: int, batch: int, length: int, total: int) -> str:
    """What is added to scores ``[B, N, S, T]``: of a mask of lengths ``[B]``, of ends and starts ``[2B]``, or of
    numbers ``[B, T]`` or ``[B, S, T]``, which count where they are above 0; and of one that hides what comes later."""
    filtered = body.attributes.get("mask_filter_value", FILTER)
    added = ""
    if body.input(place):
        mask, shape = body.input(place), body.shape(place)
        if len(shape) == 1 and shape[0] in (batch, 2 * batch):
            at = body.constant(np.arange(total, dtype=body.dtype(place))[None])
            ends = body.emit("Unsqueeze", body.slice(mask, 0, 0, batch), body.integers(1))
            seen = body.emit("Less", at, ends)
            if shape[0] == 2 * batch and shape[0] != batch:
                starts = body.emit("Unsqueeze", body.slice(mask, 0, batch, 2 * batch), body.integers(1))
                seen = body.emit("And", seen, body.emit("GreaterOrEqual", at, starts))
            axes = [1, 2]
        elif len(shape) in (2, 3) and shape[-1] == total:
            seen = body.emit("Greater", mask, body.constant(np.asarray(0, body.dtype(place))))
            axes = [1, 2] if len(shape) == 2 else [1]
        else:
            raise Unsupported(f"a mask of the shape {list(shape)}")
        added = body.emit("Where", seen, body.number(0.0), body.number(filtered))
        added = body.emit("Unsqueeze", added, body.integers(*axes))
    if body.attributes.get("unidirectional", 0):
        later = np.arange(total) > np.arange(length)[:, None] + total - length
        hidden = body.constant(np.where(later, -np.inf, 0).astype(body.dtype(0))[None, None])
        if not added:
            return hidden
        added = body.emit("Where", body.constant(later[None, None]), hidden, added)
    return added


def _with_bias(body: Body, added: str, place: int) -> str:
    """``added`` and what the operand adds to scores."""
    if not body.input(place):
        return added
    return body.emit("Add", added, body.input(place)) if added else body.input(place)


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
        _heads(body, body.slice(x, 2, int(a), int(b)), length, heads, part // heads)
        for a, b, part in zip(begins, begins[1:], widths)
    )
    total = length
    if body.input(past):
        before = [
            body.emit("Squeeze", body.slice(body.input(past), 0, n, n + 1), body.integers(0)) for n in range(2)
        ]  # fmt: skip
        k, v = (body.emit("Concat", old, new, axis=2) for old, new in zip(before, (k, v)))
        total += body.shape(past)[3]
    added = _mask(body, mask, batch, length, total)
    added = _with_bias(body, added, bias) if bias >= 0 else added
    y = _merged(body, _attended(body, q, k, v, _scale(body, widths[0] // heads), added), length, widths[2])
    if not body.has(1):
        return (y,)
    return y, body.emit("Concat", *(body.emit("Unsqueeze", part, body.integers(0)) for part in (k, v)), axis=0)


# ---------------------------------------------------------------- queries, keys and values apart


def _multi_head_attention(body: Body) -> tuple[str, ...]:
    """q, k?, v?, bias?, mask of keys?, scores' bias?, past k?, past v?; q may hold k and v, k may hold v."""
    body.refuse(8, 9)
    if body.has(3):
        raise Unsupported("its output 3")
    heads, (batch, length) = int(body.attributes["num_heads"]), body.rows
    q, k, v, width = _apart(body, heads, length)
    total = _keys(body)
    if body.input(6):
        k, v = (body.emit("Concat", body.input(place), new, axis=2) for place, new in ((6, k), (7, v)))
        total += body.shape(6)[2]
    size = width[0] // heads
    added = _with_bias(body, _mask(body, 4, batch, length, total), 5)
    y = _attended(body, q, k, v, _scale(body, size), added)
    return _merged(body, y, length, width[1]), k, v


def _keys(body: Body) -> int:
    """How many keys there are without those of the past."""
    if not body.input(1):
        return body.shape(0)[1]
    return body.shape(1)[2] if len(body.shape(1)) == 4 else body.shape(1)[1]


def _apart(body: Body, heads: int, length: int) -> tuple[str, str, str, tuple[int, int]]:
    """Queries, keys, values with their bias, and the columns of queries and of values."""
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
    if body.input(3):
        begins = np.cumsum([0, width[0], width[0], width[1]])
        for place in range(1 if ready else 3):
            part = body.slice(body.input(3), 0, int(begins[place]), int(begins[place + 1]))
            parts[place] = body.emit("Add", parts[place], part)
    q = _heads(body, parts[0], length, heads, width[0] // heads)
    if ready:
        return q, parts[1], parts[2], width
    k, v = (_heads(body, part, _keys(body), heads, w // heads) for part, w in zip(parts[1:], width))
    return q, k, v, width


def _packed(body: Body, place: int, part: int) -> str:
    """One of several in the fourth dimension, as ``[B, S, N * H]``."""
    _, length, heads, _, size = body.shape(place)
    return body.reshape(body.slice(body.input(place), 3, part, part + 1), -1, length, heads * size)


# ---------------------------------------------------------------- rotary embeddings


def _rotated(
    body: Body, x: str, places: str, caches: tuple[str, str], half: int, size: int, shape: Sequence[int]
) -> str:
    """``x[B, N, S, H]``, of that shape, with pairs of its first ``2 * half`` elements turned by the angles of places
    ``[B, S]``; pairs are neighbours where the node says ``interleaved``, else ``half`` apart."""
    cos, sin = (body.emit("Unsqueeze", body.emit("Gather", cache, places), body.integers(1)) for cache in caches)
    return _turned(body, x, (cos, sin), half, size, shape)


def _turned(body: Body, x: str, angles: tuple[str, str], half: int, size: int, shape: Sequence[int]) -> str:
    """Likewise, by cosines and sines ``[B, 1, S, half]``."""
    interleaved = bool(body.attributes.get("interleaved", 0) or body.attributes.get("rotary_interleaved", 0))
    cos, sin = angles
    first = body.slice(x, 3, 0, 2 * half)
    if interleaved:
        pairs = body.reshape(first, *shape[:3], half, 2)
        a, b = (body.emit("Squeeze", body.slice(pairs, 4, n, n + 1), body.integers(4)) for n in range(2))
    else:
        a, b = body.slice(first, 3, 0, half), body.slice(first, 3, half, 2 * half)
    real = body.emit("Sub", body.emit("Mul", a, cos), body.emit("Mul", b, sin))
    imaginary = body.emit("Add", body.emit("Mul", a, sin), body.emit("Mul", b, cos))
    if interleaved:
        both = [body.emit("Unsqueeze", part, body.integers(4)) for part in (real, imaginary)]
        turned = body.reshape(body.emit("Concat", *both, axis=4), *shape[:3], 2 * half)
    else:
        turned = body.emit("Concat", real, imaginary, axis=3)
    return turned if 2 * half == size else body.emit("Concat", turned, body.slice(x, 3, 2 * half, size), axis=3)


def _rotary_embedding(body: Body) -> str:
    """x ``[B, S, N * H]`` or ``[B, N, S, H]``, places ``[1]`` or ``[B, S]``, cosines and sines by place."""
    if body.attributes.get("is_packed_batching", 0):
        raise Unsupported("is_packed_batching")
    half = body.shape(2)[1]
    x, (batch, heads, length, size) = _to_turn(body, half)
    places = body.input(1)
    if len(body.shape(1)) < 2:
        places = body.emit("Add", places, body.constant(np.arange(length)[None].repeat(batch, 0)))
    y = _rotated(body, x, places, (body.input(2), body.input(3)), half, size, (batch, heads, length, size))
    return y if len(body.shape(0)) == 4 else _merged(body, y, length, heads * size)


def _to_turn(body: Body, half: int) -> tuple[str, tuple[int, int, int, int]]:
    """The first operand, ``[B, S, N * H]`` or ``[B, N, S, H]``, in the latter form, and its extents."""
    shape = body.shape(0)
    if len(shape) == 4:
        return body.input(0), (shape[0], shape[1], shape[2], shape[3])
    batch, length, width = shape
    heads = int(body.attributes.get("num_heads", 0)) or width // (2 * half)
    return _heads(body, body.input(0), length, heads, width // heads), (batch, heads, length, width // heads)


def _three_dimensional_rotary_embedding(body: Body) -> str:
    """x, places ``[3, B, S]`` in time, height and width, cosines and sines by place: each angle is of one of them, by
    ``mrope_section`` in as many neighbours, or in turn where ``mrope_layout`` is 1."""
    if body.attributes.get("is_packed_batching", 0):
        raise Unsupported("is_packed_batching")
    half, sections = body.shape(2)[1], list(body.attributes["mrope_section"])
    if len(sections) != 3 or min(sections) < 0 or sum(sections) != half:
        raise ValueError(f"mrope_section {sections} of {half} angles")
    x, shape = _to_turn(body, half)
    if body.attributes.get("mrope_layout", 0):
        dimension = np.zeros(half, np.int64)
        for number in (1, 2):
            dimension[number : 3 * sections[number] : 3] = number
    else:
        dimension = np.repeat(np.arange(3), sections)
    chosen = body.constant((dimension[:, None] == np.arange(3)).reshape(half, 3, 1, 1))
    angles = []
    for cache in (body.input(2), body.input(3)):
        found = body.transpose(body.emit("Gather", cache, body.input(1)), 3, 0, 1, 2)  # [half, 3, B, S]
        kept = body.emit("Where", chosen, found, body.number(0.0))
        total = body.emit("ReduceSum", kept, body.integers(1), keepdims=0)
        angles.append(body.emit("Unsqueeze", body.transpose(total, 1, 2, 0), body.integers(1)))
    y = _turned(body, x, (angles[0], angles[1]), half, shape[3], shape)
    return y if len(body.shape(0)) == 4 else _merged(body, y, shape[2], shape[1] * shape[3])


# ---------------------------------------------------------------- grouped queries with a cache


def _group_query_attention(body: Body) -> tuple[str, ...]:
    """q (with k and v behind it, where these are left out), k?, v?, past k?, past v?, lengths - 1 ``[B]``, the greatest
    length, cosines?, sines?, places?, scores' bias?, sinks of heads?

    Keys and values of this run go into the cache behind those of the past, ``lengths - S`` of them, or from the
    beginning on in the first run, when the greatest length is S.
    """
    body.refuse(12, 13, 14, 15, 16)
    if body.has(3) or not body.attributes.get("causal", 1) or body.attributes.get("sliding_window_cache", 0):
        raise Unsupported("its output 3, causal = 0 or sliding_window_cache")
    if any(body.text(name, "NONE") != "NONE" for name in ("k_quant_type", "v_quant_type")):
        raise Unsupported("a quantized cache")
    heads, groups = int(body.attributes["num_heads"]), int(body.attributes["kv_num_heads"])
    batch, length, width = body.shape(0)
    size = width // (heads if body.input(1) else heads + 2 * groups)
    parts = [body.input(place) for place in range(3)]
    if not body.input(1):
        begins = np.cumsum([0, heads, groups, groups]) * size
        parts = [body.slice(body.input(0), 2, int(a), int(b)) for a, b in pairwise(begins)]
    q, k, v = (_heads(body, part, length, n, size) for part, n in zip(parts, (heads, groups, groups)))
    total = body.emit("Cast", body.reshape(body.input(6), 1), to=INT64)
    lengths = body.emit("Cast", body.reshape(body.input(5), batch), to=INT64)
    before = body.emit("Sub", lengths, body.integers(length - 1))
    first = body.emit("Equal", total, body.integers(length))
    before = body.emit("Where", first, body.constant(np.zeros(batch, np.int64)), before)
    at = body.emit("Add", body.emit("Unsqueeze", before, body.integers(1)), body.constant(np.arange(length)[None]))
    if body.attributes.get("do_rotary", 0):
        caches, places = (body.input(7), body.input(8)), body.input(9) or at
        half = body.shape(7)[1]
        both = ((q, heads), (k, groups))
        q, k = (_rotated(body, x, places, caches, half, size, (batch, n, length, size)) for x, n in both)
    k, v, most = _cached(body, k, v, before, (batch, groups, length, size))
    bias = _window(body, at, most)
    y = _grouped(body, q, k, v, bias, (batch, heads, groups, length, most, size))
    return _merged(body, y, length, heads * size), k, v


def _cached(body: Body, k: str, v: str, before: str, shape: tuple[int, int, int, int]) -> tuple[str, str, int]:
    """The whole cache of keys and of values, and how many it has room for: as many as the model declares, at least
    those that the past has room for."""
    batch, groups, length, size = shape
    held = body.shape(3)[2] if body.input(3) else 0
    said = [body.declared(output) for output in (1, 2) if body.has(output)]
    most = max([held, length, *(extents[2] or 0 for extents in said if extents is not None and len(extents) == 4)])
    if not held and most == length:
        return k, v, length
    body.opset = 24
    found = []
    for place, new in ((3, k), (4, v)):
        room = body.constant(np.zeros((batch, groups, most - held, size), body.dtype(0)))
        old = body.input(place) if held else ""
        whole = body.emit("Concat", old, room, axis=2) if old and most > held else old or room
        found.append(body.emit("TensorScatter", whole, new, before, axis=2))
    return found[0], found[1], most


def _window(body: Body, at: str, most: int) -> str:
    """What is added to scores: nothing up to the place of a query, or so far back as the window reaches."""
    places = body.constant(np.arange(most)[None, None])
    here = body.emit("Unsqueeze", at, body.integers(2))
    seen = body.emit("LessOrEqual", places, here)
    window = int(body.attributes.get("local_window_size", -1))
    if window > 0:
        seen = body.emit("And", seen, body.emit("Greater", places, body.emit("Sub", here, body.integers(window))))
    added = body.emit("Where", seen, body.number(0.0), body.number(-np.inf))
    return body.emit("Unsqueeze", added, body.integers(1))


def _grouped(
    body: Body, q: str, k: str, v: str, added: str, shape: tuple[int, int, int, int, int, int]
) -> str:
    """Each head of keys and values serves several of queries."""
    batch, heads, groups, length, most, size = shape
    q = body.reshape(q, batch, groups, heads // groups * length, size)
    scores = body.emit("Mul", body.emit("MatMul", q, body.transpose(k, 0, 1, 3, 2)), body.number(_scale(body, size)))
    scores = body.reshape(scores, batch, heads, length, most)
    softcap = float(body.attributes.get("softcap", 0.0))
    if softcap:
        scores = body.emit("Tanh", body.emit("Div", scores, body.number(softcap)))
        scores = body.emit("Mul", scores, body.number(softcap))
    if body.input(10):
        reach = body.shape(10)[-1]
        scores = body.emit("Add", scores, _as_wide(body, body.input(10), reach, most))
    scores = body.emit("Add", scores, added)
    if body.input(11) or body.attributes.get("smooth_softmax", 0) > 0:
        sink = body.reshape(body.input(11), 1, heads, 1, 1) if body.input(11) else body.number(0.0)
        sink = body.emit("Expand", sink, body.integers(batch, heads, length, 1))
        weights = body.emit("Softmax", body.emit("Concat", scores, sink, axis=3), axis=-1)
        weights = body.slice(weights, 3, 0, most)
    else:
        weights = body.emit("Softmax", scores, axis=-1)
    weights = body.reshape(weights, batch, groups, heads // groups * length, most)
    return body.reshape(body.emit("MatMul", weights, v), batch, heads, length, size)


def _as_wide(body: Body, x: str, reach: int, most: int) -> str:
    """The last dimension of ``x`` with zeros behind it, or without what is too much."""
    if reach >= most:
        return x if reach == most else body.slice(x, 3, 0, most)
    return body.emit("Pad", x, body.integers(0, 0, 0, 0, 0, 0, 0, most - reach))


RULES: Mapping[str, Rule] = {
    "Attention": _attention,
    "GroupQueryAttention": _group_query_attention,
    "MRotaryEmbedding": _three_dimensional_rotary_embedding,
    "MultiHeadAttention": _multi_head_attention,
    "QAttention": _quantized_attention,
    "RotaryEmbedding": _rotary_embedding,
}
