"""Rows of ONNX Runtime's operators of language models: linear attention, hyper-connections, norms and gates."""

from __future__ import annotations

import numpy as np

from tests.fuzz.build import Builder, Tensor
from tests.fuzz.row import Row
from tests.fuzz.rows_contrib import F32, ids, node
from tests.fuzz.rows_quantized import MICROSOFT, weights_of

UPDATES = ("linear", "gated", "delta", "gated_delta")


def small(b: Builder, shape: tuple[int, ...], low: float = -0.5, high: float = 0.5) -> Tensor:
    """Numbers with which a state stays bounded."""
    return b.data(F32, shape, low, high, exact=True)


def linear_attention(b: Builder) -> list[Tensor]:
    batch, tokens, heads, more, size, wide = (b.between(1, n) for n in (2, 5, 2, 2, 4, 4))
    queries, of_state = b.pick([(heads, heads), (heads * more, heads), (heads, heads * more)])
    rule = b.pick(UPDATES)
    q, k, v = (
        small(b, (batch, tokens, n * s)) for n, s in ((queries, size), (of_state, size), (of_state, wide))
    )
    state = b.weight(F32, (batch, of_state, size, wide)) if b.flip() else None
    decay = small(b, (batch, tokens, of_state * b.pick([1, size])), -2, 0) if "gated" in rule else None
    rate = small(b, (batch, tokens, b.pick([1, of_state])), 0, 1) if "delta" in rule else None
    attrs = {"q_num_heads": queries, "kv_num_heads": of_state, "update_rule": rule, **b.some(scale=0.5)}
    return node(b, "LinearAttention", [q, k, v, state, decay, rate], 2, **attrs)


def gated_delta_net(b: Builder) -> list[Tensor]:
    batch, tokens, heads, more, size, wide = (b.between(1, n) for n in (2, 4, 2, 2, 4, 4))
    of_state, rule = heads * more, b.pick(UPDATES)
    ahead = b.pick([(batch, tokens), (batch * tokens,)])
    q, k, v = (small(b, (*ahead, n, s)) for n, s in ((heads, size), (heads, size), (of_state, wide)))
    decay = small(b, (*ahead, of_state), -2, 0) if "gated" in rule else None
    rate = small(b, (*ahead, of_state), 0, 1) if "delta" in rule else None
    state = b.weight(F32, (batch, of_state, wide, size))
    return node(b, "GatedDeltaNet", [q, k, v, None, decay, rate, state], 2, update_rule=rule, **b.some(qk_l2_norm=1))


def gate(b: Builder) -> list[Tensor]:
    shape = (b.between(1, 2), b.between(1, 4), b.between(1, 4))
    bias, factor = b.weight(F32, shape[2:]), b.weight(F32, shape[2:], -1, 0)
    return node(b, "LinearAttentionGate", [b.data(F32, shape), bias, factor, b.data(F32, shape)], 2)


def causal_convolution(b: Builder) -> list[Tensor]:
    batch, channels, tokens, kernel, dilation = (b.between(1, n) for n in (2, 4, 5, 4, 2))
    last, before = b.between(0, 1), (kernel - 1) * dilation
    shape, past = (batch, channels, tokens), (batch, channels, before)
    if last:
        shape, past = (batch, tokens, channels), (batch, before, channels)
    bias = b.weight(F32, (channels,)) if b.flip() else None
    state = b.weight(F32, past) if before and b.flip() else None
    operands = [b.data(F32, shape), b.weight(F32, (channels, 1, kernel)), bias, state]
    attrs = b.some(activation=b.pick(["silu", "none"]))
    return node(b, "CausalConvWithState", operands, 2, dilation=dilation, channels_last=last, **attrs)


def gated_norm(b: Builder) -> list[Tensor]:
    width, groups = b.between(2, 5), b.between(1, 3)
    shape = (*b.shape(1, 2, (1, 2, 3)), groups * width)
    operands = [b.data(F32, shape, -2, 2, exact=True), b.weight(F32, (width,)), b.data(F32, shape)]
    return node(b, "GatedRMSNorm", operands, epsilon=1e-3, **b.some(activation=b.pick(["silu", "sigmoid"])))


def branches(b: Builder) -> tuple[Tensor, tuple[int, ...], int, int, dict[str, int]]:
    """Streams, what stands in front of them, how many branches and how wide, apart or flat."""
    ahead, count, width = b.shape(1, 2, (1, 2, 3)), b.between(2, 3), b.between(2, 4)
    flat = b.flip()
    x = b.data(F32, (*ahead, count * width) if flat else (*ahead, count, width), -2, 2, exact=True)
    return x, ahead, count, width, {"num_branches": count} if flat else {}


def branchwise_norm(b: Builder) -> list[Tensor]:
    x, _, count, width, attrs = branches(b)
    scale = b.weight(F32, b.pick([(width,), (count, width), (count * width,)])) if b.flip() else None
    return node(b, "BranchwiseRMSNorm", [x, scale], epsilon=1e-3, **attrs)


def reduced(b: Builder) -> list[Tensor]:
    x, ahead, count, width, attrs = branches(b)
    gates = b.weight(F32, (*ahead, *b.pick([(count,), (count, 1), (count, width)])))
    return node(b, "HyperConnectionPreMix", [x, gates], **attrs, **b.some(reduction_scale=0.5))


def injected(b: Builder) -> list[Tensor]:
    x, ahead, count, width, attrs = branches(b)
    added = b.weight(F32, (*ahead, width))
    gates = b.weight(F32, (*ahead, *b.pick([(count,), (count, 1), (count, width)])))
    mixture = b.weight(F32, (*ahead, count, count)) if b.flip() else None
    return node(b, "HyperConnectionPostMix", [x, added, gates, mixture], **attrs)


def engram(b: Builder) -> list[Tensor]:
    batch, tokens, count, width = (b.between(1, n) for n in (2, 3, 3, 4))
    keys = b.data(F32, (batch, tokens, count, width), -2, 2, exact=True)
    queries, values = b.weight(F32, keys.shape), b.weight(F32, (batch, tokens, width))
    scales = [b.weight(F32, (count, width)) for _ in range(3)]
    return node(b, "EngramGate", [keys, queries, values, *scales], 2, epsilon=1e-2)


def gated_sum(b: Builder) -> list[Tensor]:
    shape = b.shape(2, 3)
    return node(b, "GatedAdd", [b.data(F32, shape), b.weight(F32, shape), b.weight(F32, (*shape[:-1], 1))])


def scaled_silu(b: Builder) -> list[Tensor]:
    factor = b.param(np.float32(0.5)) if b.flip() else None
    return node(b, "ScaledSiLU", [b.data(F32, b.shape(1, 3)), factor], **b.some(alpha=2.0))


def rotary_in_three(b: Builder) -> list[Tensor]:
    batch, tokens, heads = (b.between(1, n) for n in (2, 4, 2))
    sections = [b.between(0, 2), b.between(0, 2), b.between(1, 2)]
    half = sum(sections)
    angles = b.values(F32, (8, half))
    places = b.param(b.values("int64", (3, batch, tokens), 0, 7))
    caches = [b.param(np.cos(angles)), b.param(np.sin(angles))]
    attrs = {"mrope_section": sections, "num_heads": heads, **b.some(interleaved=1)}
    return node(b, "MRotaryEmbedding", [b.data(F32, (batch, tokens, heads * 2 * half)), places, *caches], **attrs)


def embedded_bytes(b: Builder) -> list[Tensor]:
    batch, tokens, width, words = b.between(1, 3), b.between(1, 4), b.between(2, 6), b.between(1, 5)
    extents = ((words, width), (tokens + 1, width), (2, width), (width,), (width,))
    tables = [weights_of(b, "uint8", shape) for shape in extents]
    scales = [b.param(np.float32(0.01 * (n + 1))) for n in range(5)]
    zeros = [b.param(np.uint8(120 + n)) for n in range(5)]
    operands = [ids(b, (batch, tokens), words), ids(b, (batch, tokens), 2), *tables, None, *scales, *zeros]
    return node(b, "QEmbedLayerNormalization", operands, 2, epsilon=1e-3)


def inverse(b: Builder) -> list[Tensor]:
    """Of matrices whose diagonals outweigh their rows."""
    n = b.between(1, 4)
    x = b.data(F32, (*b.shape(0, 2, (1, 2)), n, n), -0.2, 0.2, exact=True)
    return node(b, "Inverse", b.node("Add", [x, b.param(np.eye(n, dtype=np.float32))]))


def sampled(b: Builder) -> list[Tensor]:
    batch, channels = b.between(1, 2), b.between(1, 3)
    x = b.data(F32, (batch, channels, b.between(2, 5), b.between(2, 5)))
    grid = b.param(b.values(F32, (batch, b.between(1, 3), b.between(1, 3), 2), -1.2, 1.2))
    return node(b, "GridSample", [x, grid], mode="bilinear", **b.some(padding_mode=b.pick(["border", "zeros"])))


def windows(b: Builder) -> list[Tensor]:
    x = b.data(F32, b.shape(1, 3))
    axis = b.between(0, len(x.shape) - 1)
    return node(b, "UnfoldTensor", [x], dim=axis, size=b.between(1, x.shape[axis]), step=b.between(1, 2))


def wide_product(b: Builder) -> list[Tensor]:
    (m, k), n = b.shape(2, 2), b.between(1, 5)
    return node(b, "MatMulInteger16", [b.data("int16", (m, k), -999, 999, exact=True), weights_of(b, "int16", (k, n))])


def different(b: Builder) -> list[Tensor]:
    return node(b, "Unique", [b.data(F32, (b.between(1, 7),), -2, 2)], 3)


ROWS: dict[str, Row] = {
    f"{MICROSOFT}.{op}": Row(write)
    for op, write in {
        "BranchwiseRMSNorm": branchwise_norm, "CausalConvWithState": causal_convolution, "EngramGate": engram,
        "GatedAdd": gated_sum, "GatedDeltaNet": gated_delta_net, "GatedRMSNorm": gated_norm, "GridSample": sampled,
        "HyperConnectionPostMix": injected, "HyperConnectionPreMix": reduced, "Inverse": inverse,
        "LinearAttention": linear_attention, "LinearAttentionGate": gate, "MRotaryEmbedding": rotary_in_three,
        "MatMulInteger16": wide_product, "QEmbedLayerNormalization": embedded_bytes, "ScaledSiLU": scaled_silu,
        "UnfoldTensor": windows, "Unique": different,
    }.items()
}  # fmt: skip
