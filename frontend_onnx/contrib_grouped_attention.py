"""Attention with a cache of keys and values that several heads of queries share, of ONNX Runtime's own domain.

Inside, queries are ``[batch, heads, length, size]``, keys and values ``[batch, groups, room, size]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..record import record
from .contrib_attention import attention_scale
from .contrib_body import Body, Rule, Unsupported
from .contrib_positions import rotated

# ---------------------------------------------------------------- queries, keys and values


@record
class _Heads:
    """``q[batch, heads, length, size]``, ``k`` and ``v[batch, groups, length, size]``."""

    q: str
    k: str
    v: str
    batch: int
    heads: int
    groups: int
    length: int
    size: int

    def turned(self, body: Body, places: str, caches: tuple[str, str], half: int) -> _Heads:
        """Queries and keys by the angles of places ``[batch, length]``."""
        q, k = (
            rotated(body, x, places, caches, half, self.size, (self.batch, n, self.length, self.size))
            for x, n in ((self.q, self.heads), (self.k, self.groups))
        )
        return replace(self, q=q, k=k)


def _parts(body: Body) -> _Heads:
    """Of the first three operands, or of the first alone where it has keys and values behind the queries."""
    heads, groups = int(body.attributes["num_heads"]), int(body.attributes["kv_num_heads"])
    batch, length, width = body.shape(0)
    size = width // (heads if body.input(1) else heads + 2 * groups)
    parts = [body.input(place) for place in range(3)]
    if not body.input(1):
        begins = np.cumsum([0, heads, groups, groups]) * size
        parts = [body.slice(body.input(0), 2, int(a), int(b)) for a, b in pairwise(begins)]
    q, k, v = (body.heads(part, length, n, size) for part, n in zip(parts, (heads, groups, groups)))
    return _Heads(q, k, v, batch, heads, groups, length, size)


def _normalized(body: Body, parts: _Heads) -> _Heads:
    """Queries and keys with the root mean square of each head 1, where the node has scales of that."""
    if not body.input(14):
        return parts
    body.opset = 23
    same = body.attributes.get("qk_norm_epsilon", 1e-6)
    q, k = (
        body.emit("RMSNormalization", x, body.input(place), axis=-1, epsilon=body.attributes.get(name, same))
        for x, place, name in ((parts.q, 14, "q_norm_epsilon"), (parts.k, 15, "k_norm_epsilon"))
    )
    return replace(parts, q=q, k=k)


def _before(body: Body, parts: _Heads, total: int, lengths: str) -> str:
    """How many keys ``[batch]`` were there: ``lengths`` of all but those of this run; none in the first run, when the
    greatest length, the operand ``total``, is that of the queries."""
    most = body.cast(body.reshape(body.input(total), 1), np.int64)
    first = body.emit("Equal", most, body.integers(parts.length))
    return body.emit("Where", first, body.constant(np.zeros(parts.batch, np.int64)), lengths)


def _lengths(body: Body, place: int, batch: int, less: int) -> str:
    """The operand ``[batch]`` less a number, as int64."""
    lengths = body.cast(body.reshape(body.input(place), batch), np.int64)
    return body.emit("Sub", lengths, body.integers(less))


def _places(body: Body, before: str, length: int) -> str:
    """Of the queries, ``[batch, length]``."""
    return body.emit("Add", body.emit("Unsqueeze", before, body.integers(1)), body.constant(np.arange(length)[None]))


# ---------------------------------------------------------------- the operators

_SCORES, _WEIGHTS = 1, 2
"""What the output of scores has (``qk_output``)."""


def _group_query_attention(body: Body) -> tuple[str, ...]:
    """q (with k and v behind it, where these are left out), k?, v?, past k?, past v?, lengths - 1 ``[B]``, the greatest
    length, cosines?, sines?, places?, scores' bias?, sinks of heads?, two scales of a quantized cache, scales of a norm
    of queries? and of keys?, how many tokens of this run count ``[B]``?

    Keys and values of this run go into the cache behind those of the past, ``lengths - S`` of them, or from the
    beginning on in the first run, when the greatest length is S; or behind ``lengths`` less those that count. The
    fourth result has scores, or their softmax, of as many keys as the greatest length, 0 for those that are not seen.
    """
    body.refuse(12, 13)
    if body.attributes.get("sliding_window_cache", 0):
        raise Unsupported("sliding_window_cache")
    shown = int(body.attributes.get("qk_output", 0)) if body.has(3) else 0
    if shown not in (_SCORES, _WEIGHTS) and body.has(3):
        raise ValueError(f"an output of scores with qk_output {shown}")
    if any(body.text(name, "NONE") != "NONE" for name in ("k_quant_type", "v_quant_type")):
        raise Unsupported("a quantized cache")
    parts = _normalized(body, _parts(body))
    if body.input(16):
        counted = body.cast(body.reshape(body.input(16), parts.batch), np.int64)
        before = body.emit("Sub", _lengths(body, 5, parts.batch, -1), counted)
    else:
        before = _before(body, parts, 6, _lengths(body, 5, parts.batch, parts.length - 1))
    at = _places(body, before, parts.length)
    if body.attributes.get("do_rotary", 0):
        caches, places = (body.input(7), body.input(8)), body.input(9) or at
        parts = parts.turned(body, places, caches, body.shape(7)[1])
    parts, most = _cached(body, parts, before)
    scores = _scores(body, parts, most)
    softcap = float(body.attributes.get("softcap", 0.0))
    if softcap:
        scores = body.emit("Tanh", body.emit("Div", scores, body.number(softcap)))
        scores = body.emit("Mul", scores, body.number(softcap))
    if body.input(10):
        scores = body.emit("Add", scores, body.widened(10, most))
    seen = _window(body, at, most)
    told = ""
    if shown == _SCORES:
        told = body.emit("Where", body.emit("Unsqueeze", seen, body.integers(1)), scores, body.number(0.0))
    scores = body.emit("Add", scores, _added(body, seen))
    if body.input(11) or body.attributes.get("smooth_softmax", 0) > 0:
        sink = body.reshape(body.input(11), 1, parts.heads, 1, 1) if body.input(11) else body.number(0.0)
        sink = body.emit("Expand", sink, body.integers(parts.batch, parts.heads, parts.length, 1))
        weights = body.emit("Softmax", body.emit("Concat", scores, sink, axis=3), axis=-1)
        weights = body.slice(weights, 3, 0, most)
    else:
        weights = body.emit("Softmax", scores, axis=-1)
    if shown:
        total = body.cast(body.reshape(body.input(6), 1), np.int64)
        told = body.emit("Slice", told or weights, body.integers(0), total, body.integers(3))
    return _weighted(body, parts, weights, most), parts.k, parts.v, told


def _sparse_attention(body: Body) -> tuple[str, ...]:
    """q (with k and v behind it, where these are left out), k?, v?, past k, past v, the beginnings of the rows of
    blocks ``[layouts, rows + 1]``, the columns of blocks ``[layouts, blocks]``, the greatest length, lengths ``[B]``,
    cosines?, sines?

    A query sees the keys up to its own that are in a block of its layout; heads have the layouts in turn.
    """
    block = int(body.attributes["sparse_block_size"])
    parts = _parts(body)
    layouts, rows = body.shape(5)[0], body.shape(5)[1] - 1
    room = body.shape(3)[2]
    if block < 1 or layouts < 1 or parts.heads % layouts or rows * block < room:
        raise ValueError(f"{layouts} layouts of {rows} rows of {block} keys for {parts.heads} heads and {room} keys")
    before = _before(body, parts, 7, _lengths(body, 8, parts.batch, parts.length))
    at = _places(body, before, parts.length)
    if body.attributes.get("do_rotary", 0):
        parts = parts.turned(body, at, (body.input(9), body.input(10)), body.shape(9)[1])
    parts, most = _cached(body, parts, before)
    blocks = body.emit("Gather", _blocks(body, layouts, rows), body.constant(np.arange(most) // block), axis=2)
    seen = body.emit("Gather", blocks, body.emit("Div", at, body.integers(block)), axis=1)
    seen = body.emit("Unsqueeze", body.transpose(seen, 1, 0, 2, 3), body.integers(1))
    repeated = (parts.batch, parts.heads // layouts, layouts, parts.length, most)
    seen = body.reshape(body.emit("Expand", seen, body.integers(*repeated)), parts.batch, parts.heads, *repeated[3:])
    seen = body.emit("And", seen, body.emit("Unsqueeze", _window(body, at, most), body.integers(1)))
    lowest = body.number(float(np.finfo(body.dtype(0)).min))
    scores = body.emit("Where", seen, _scores(body, parts, most), lowest)
    return _weighted(body, parts, body.emit("Softmax", scores, axis=-1), most), parts.k, parts.v


def _blocks(body: Body, layouts: int, rows: int) -> str:
    """Which blocks ``[layouts, rows, rows]`` the compressed rows of a layout hold."""
    count = body.shape(6)[1]
    begins = body.emit("Unsqueeze", body.slice(body.input(5), 1, 1, rows + 1), body.integers(1))
    number = body.constant(np.arange(count, dtype=body.dtype(5))[:, None])
    ended = body.cast(body.emit("LessOrEqual", begins, number), np.int64)
    row = body.emit("ReduceSum", ended, body.integers(2), keepdims=0)  # [layouts, blocks]
    column = body.cast(body.input(6), np.int64)
    kept = body.emit("And", body.emit("Less", row, body.integers(rows)),
                     body.emit("GreaterOrEqual", column, body.integers(0)))  # fmt: skip
    at = body.emit("Add", body.emit("Mul", row, body.integers(rows)), column)
    at = body.emit("Where", kept, at, body.integers(rows * rows))
    none = body.constant(np.zeros((layouts, rows * rows + 1), np.int32))
    held = body.emit("ScatterElements", none, at, body.constant(np.ones((layouts, count), np.int32)), axis=1)
    return body.cast(body.reshape(body.slice(held, 1, 0, rows * rows), layouts, rows, rows), np.bool_)


# ---------------------------------------------------------------- the cache and the scores


def _cached(body: Body, parts: _Heads, before: str) -> tuple[_Heads, int]:
    """With the whole cache of keys and of values, and how many it has room for: as many as the model declares, at least
    those that the past has room for."""
    held = body.shape(3)[2] if body.input(3) else 0
    said = [body.declared(output) for output in (1, 2) if body.has(output)]
    declared = (extents[2] or 0 for extents in said if extents is not None and len(extents) == 4)
    most = max([held, parts.length, *declared])
    if not held and most == parts.length:
        return parts, most
    body.opset = 24
    found = []
    for place, new in ((3, parts.k), (4, parts.v)):
        room = body.constant(np.zeros((parts.batch, parts.groups, most - held, parts.size), body.dtype(0)))
        old = body.input(place) if held else ""
        whole = body.emit("Concat", old, room, axis=2) if old and most > held else old or room
        found.append(body.emit("TensorScatter", whole, new, before, axis=2))
    return replace(parts, k=found[0], v=found[1]), most


def _window(body: Body, at: str, most: int) -> str:
    """Which keys ``[batch, length, most]`` a query sees: up to its place, and so far back as a window reaches; or up to
    the place of the last query."""
    places = body.constant(np.arange(most)[None, None])
    here = body.emit("Unsqueeze", at, body.integers(2))
    if not body.attributes.get("causal", 1):
        here = body.emit("ReduceMax", here, body.integers(1))
    seen = body.emit("LessOrEqual", places, here)
    window = int(body.attributes.get("local_window_size", -1))
    if window > 0:
        seen = body.emit("And", seen, body.emit("Greater", places, body.emit("Sub", here, body.integers(window))))
    return seen


def _added(body: Body, seen: str) -> str:
    """To the scores of all heads: nothing where a key is seen."""
    return body.emit("Unsqueeze", body.emit("Where", seen, body.number(0.0), body.number(-np.inf)), body.integers(1))


def _scores(body: Body, parts: _Heads, most: int) -> str:
    """``[batch, heads, length, most]``, where each head of keys serves several of queries."""
    q = body.reshape(parts.q, parts.batch, parts.groups, parts.heads // parts.groups * parts.length, parts.size)
    scale = body.number(attention_scale(body, parts.size))
    scores = body.emit("Mul", body.emit("MatMul", q, body.transpose(parts.k, 0, 1, 3, 2)), scale)
    return body.reshape(scores, parts.batch, parts.heads, parts.length, most)


def _weighted(body: Body, parts: _Heads, weights: str, most: int) -> str:
    """The values by the weights of their keys, ``[batch, length, heads * size]``."""
    rows = parts.heads // parts.groups * parts.length
    weights = body.reshape(weights, parts.batch, parts.groups, rows, most)
    y = body.emit("MatMul", weights, parts.v)
    y = body.reshape(y, parts.batch, parts.heads, parts.length, parts.size)
    return body.merged(y, parts.length, parts.heads * parts.size)


RULES: Mapping[str, Rule] = {
    "GroupQueryAttention": _group_query_attention,
    "SparseAttention": _sparse_attention,
}
"""By name."""
