"""Where a token stands, in operators of ONNX Runtime's own domain: rotary embeddings, biases of relative positions.

B, S, N and H below are batch, length, heads and their size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from .contrib_body import Body, Rule, Unsupported

# ---------------------------------------------------------------- rotary embeddings


def rotated(
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
    y = rotated(body, x, places, (body.input(2), body.input(3)), half, size, (batch, heads, length, size))
    return y if len(body.shape(0)) == 4 else body.merged(y, length, heads * size)


def _to_turn(body: Body, half: int) -> tuple[str, tuple[int, int, int, int]]:
    """The first operand, ``[B, S, N * H]`` or ``[B, N, S, H]``, in the latter form, and its extents."""
    shape = body.shape(0)
    if len(shape) == 4:
        return body.input(0), (shape[0], shape[1], shape[2], shape[3])
    batch, length, width = shape
    heads = int(body.attributes.get("num_heads", 0)) or width // (2 * half)
    return body.heads(body.input(0), length, heads, width // heads), (batch, heads, length, width // heads)


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
    return y if len(body.shape(0)) == 4 else body.merged(y, shape[2], shape[1] * shape[3])


def _gemma_rotary(body: Body) -> tuple[str, ...]:
    """Angles ``[B, S, D]``, queries ``[B, N, S, D]`` and turned by a quarter, keys likewise."""
    sine, cosine = (
        body.emit("Unsqueeze", body.emit("CastLike", body.emit(name, body.input(0)), body.input(1)), body.integers(1))
        for name in ("Sin", "Cos")
    )
    parts = [
        body.emit("Add", body.emit("Mul", body.input(n), cosine), body.emit("Mul", body.input(n + 1), sine))
        for n in (1, 3)
    ]
    return tuple(parts)


# ---------------------------------------------------------------- biases of relative positions


def _relative_position_bias(body: Body) -> str:
    """Of T5 (https://arxiv.org/abs/1910.10683): a table of buckets, which holds the buckets of each head one behind
    another whatever its shape says, the numbers of queries and of keys; ``[1, heads, queries, keys]``."""
    buckets, heads = body.shape(0)
    both, reach = bool(body.attributes.get("is_bidirectional", 0)), body.attributes["max_distance"]
    if buckets < (4 if both else 2) or reach <= buckets // (4 if both else 2):
        raise ValueError(f"{buckets} buckets of distances up to {reach}")
    spans = [
        body.emit("Range", body.constant(np.int64(0)), body.cast(body.reshape(body.input(n), 1), np.int64),
                  body.constant(np.int64(1)))
        for n in (1, 2)
    ]  # fmt: skip
    queries, keys = (body.emit("Unsqueeze", span, body.integers(1 - n)) for n, span in enumerate(spans))
    apart, side = body.emit("Sub", keys, queries), body.integers(0)
    if both:
        buckets //= 2
        later = body.cast(body.emit("Greater", apart, body.integers(0)), np.int64)
        side, apart = body.emit("Mul", later, body.integers(buckets)), body.emit("Abs", apart)
    else:
        apart = body.emit("Max", body.emit("Neg", apart), body.integers(0))
    exact = buckets // 2
    far = body.cast(body.emit("Max", apart, body.integers(exact)), np.float32)
    far = body.emit("Log", body.emit("Div", far, body.constant(np.float32(exact))))
    far = body.emit("Mul", body.emit("Div", far, body.constant(np.float32(math.log(reach / exact)))),
                    body.constant(np.float32(buckets - exact)))  # fmt: skip
    far = body.emit("Add", body.cast(far, np.int64), body.integers(exact))
    far = body.emit("Min", far, body.integers(buckets - 1))
    near = body.emit("Less", apart, body.integers(exact))
    bucket = body.emit("Add", side, body.emit("Where", near, apart, far))
    table = body.reshape(body.input(0), heads, -1)
    return body.emit("Unsqueeze", body.emit("Gather", table, bucket, axis=1), body.integers(0))


def _gated_relative_position_bias(body: Body) -> str:
    """Of WavLM (https://arxiv.org/abs/2110.13900): queries ``[B, S, N * H]``, their bias, biases ``[1, N, S, S]``, a
    product's weights ``[H, D]`` and bias ``[D]``, and a factor of each head ``[1, N, 1, 1]``."""
    body.refuse(6)
    heads, (batch, length, width) = body.attributes["num_heads"], body.shape(0)
    columns = body.shape(3)[1]
    if heads < 1 or width % heads or columns % 2:
        raise ValueError(f"{heads} heads of {width} columns with gates of {columns}")
    q = body.emit("Add", body.input(0), body.input(1))
    q = body.transpose(body.reshape(q, batch, length, heads, width // heads), 0, 2, 1, 3)
    gates = body.emit("Add", body.emit("MatMul", q, body.input(3)), body.input(4))
    gates = body.reshape(gates, batch, heads, length, 2, columns // 2)
    gates = body.emit("Sigmoid", body.emit("ReduceSum", gates, body.integers(4), keepdims=0))
    u, r = body.emit_all("Split", [gates], 2, axis=-1, num_outputs=2)
    factor = body.emit("Sub", body.emit("Mul", r, body.input(5)), body.number(1.0))
    factor = body.emit("Add", body.emit("Mul", u, factor), body.number(2.0))
    return body.emit("Mul", factor, body.input(2))


RULES: Mapping[str, Rule] = {
    "GatedRelativePositionBias": _gated_relative_position_bias,
    "GemmaRotaryEmbedding": _gemma_rotary,
    "MRotaryEmbedding": _three_dimensional_rotary_embedding,
    "RelativePositionBias": _relative_position_bias,
    "RotaryEmbedding": _rotary_embedding,
}
"""By name."""
