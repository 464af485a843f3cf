"""Rows of float operators of ONNX Runtime's domain."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.fuzz.build import Builder, Tensor
from tests.fuzz.row import Row
from tests.fuzz.rows_contraction import kernel_of, spatial_shape, window_attributes
from tests.fuzz.rows_quantized import MICROSOFT, byte, scale, stored, weights_of, zero_point

F32 = "float32"


def node(b: Builder, op: str, operands: list[Tensor | None], outputs: int = 1, **attrs: Any) -> list[Tensor]:
    return b.node(op, operands, outputs, domain=MICROSOFT, **attrs)


def ids(b: Builder, shape: tuple[int, ...], below: int, dtype: str = "int32") -> Tensor:
    return b.data(dtype, shape, 0, below - 1, exact=True)


def activation(op: str, b: Builder) -> list[Tensor]:
    shape = b.shape(1, 4)
    bias = b.weight(F32, shape[-1:]) if op == "BiasGelu" or (op == "FastGelu" and b.flip()) else None
    more = b.some(alpha=b.uniform(0.5, 2)) if op == "QuickGelu" else {}
    return node(b, op, [b.data(F32, shape), bias], **more)


def fused_conv(b: Builder) -> list[Tensor]:
    shape = spatial_shape(b, b.between(1, 4))[:4]
    shape = (*shape, *[3] * (4 - len(shape)))
    kernel = kernel_of(b, shape[2:])
    more = window_attributes(b, shape[2:], kernel, same=False)
    name, parameters = b.pick([("Relu", None), ("LeakyRelu", [0.25]), ("Clip", [-0.5, 1.5]), ("Tanh", None)])
    w = b.weight(F32, (b.between(1, 4), shape[1], *kernel))
    bias = b.weight(F32, w.shape[:1]) if b.flip() else None
    given = {} if parameters is None else {"activation_params": parameters}
    return node(b, "FusedConv", [b.data(F32, shape), w, bias], activation=name, **given, **more)


def fused_gemm(b: Builder) -> list[Tensor]:
    (m, k), n, trans = b.shape(2, 2), b.between(1, 5), b.between(0, 1)
    w, c = b.weight(F32, (n, k) if trans else (k, n)), b.weight(F32, (n,)) if b.flip() else None
    more = b.some(alpha=b.uniform(0.2, 2))
    given = b.pick([{"activation": "Relu"}, {"activation": "LeakyRelu", "activation_alpha": 0.25}])
    return node(b, "FusedGemm", [b.data(F32, (m, k)), w, c], transB=trans, **given, **more)


def fused_matmul(op: str, b: Builder) -> list[Tensor]:
    batch, (m, k), n = b.shape(0, 2), b.shape(2, 2), b.between(1, 5)
    a, c = b.between(0, 1), b.between(0, 1)
    x = b.data(F32, (*batch, *((k, m) if a else (m, k))))
    y = b.weight(F32, (*batch, *((n, k) if c else (k, n))))
    return node(b, op, [x, y], transA=a, transB=c, **b.some(alpha=b.uniform(0.2, 2)))


def normalized(op: str, b: Builder) -> list[Tensor]:
    shape = (b.between(1, 3), b.between(1, 4), b.between(2, 8))
    x, gamma = b.data(F32, shape, -2, 2, exact=True), b.weight(F32, shape[2:])
    epsilon = b.pick([1e-5, 1e-3])
    if op == "SimplifiedLayerNormalization":
        return b.node(op, [x, gamma], axis=-1, epsilon=epsilon)
    skip = b.weight(F32, shape)
    bias = b.weight(F32, shape[2:]) if b.flip() else None
    beta = [] if op == "SkipSimplifiedLayerNormalization" else [b.weight(F32, shape[2:]) if b.flip() else None]
    return node(b, op, [x, skip, gamma, *beta, bias], epsilon=epsilon)


def embedded(b: Builder) -> list[Tensor]:
    batch, length, width, words = b.between(1, 3), b.between(1, 4), b.between(2, 6), b.between(1, 5)
    tables = [b.param(b.values(F32, (rows, width))) for rows in (words, length + 1, 2)]
    mask = ids(b, (batch, length), 2) if b.flip() else None
    gamma, beta = (b.weight(F32, (width,)) for _ in range(2))
    operands = [ids(b, (batch, length), words), ids(b, (batch, length), 2), *tables, gamma, beta, mask]
    return node(b, "EmbedLayerNormalization", operands, 2, **b.some(epsilon=1e-4))


def attention(b: Builder) -> list[Tensor]:
    batch, length, width, heads, size = (b.between(1, n) for n in (2, 5, 5, 3, 4))
    columns = 3 * heads * size
    mask = None
    if b.flip():
        mask = b.pick([ids(b, (batch, length), 2), b.param(b.values("int32", (batch,), 1, length))])
    operands = [b.data(F32, (batch, length, width)), b.weight(F32, (width, columns)), b.weight(F32, (columns,)), mask]
    return node(b, "Attention", operands, num_heads=heads, **b.some(unidirectional=b.between(0, 1), scale=0.5))


def multi_head(b: Builder) -> list[Tensor]:
    batch, length, total, heads, size = (b.between(1, n) for n in (2, 4, 5, 3, 4))
    q, k, v = (b.data(F32, (batch, rows, heads * size)) for rows in (length, total, total))
    bias = b.weight(F32, (3 * heads * size,)) if b.flip() else None
    mask = ids(b, (batch, total), 2) if b.flip() else None
    return node(b, "MultiHeadAttention", [q, k, v, bias, mask], num_heads=heads, **b.some(scale=0.5))


def grouped(b: Builder) -> list[Tensor]:
    batch, length, groups, more, size = (b.between(1, n) for n in (2, 4, 2, 2, 2))
    heads, size = groups * more, 8 * size
    q, k, v = (b.data(F32, (batch, length, n * size)) for n in (heads, groups, groups))
    lengths = b.param(np.full(batch, length - 1, np.int32))
    operands = [q, k, v, None, None, lengths, b.param(np.asarray(length, np.int32))]
    attrs = b.some(local_window_size=b.between(1, 4), softcap=2.0)
    if b.flip():
        attrs["qk_output"] = b.between(1, 2)
    outputs = 4 if "qk_output" in attrs else 3
    return node(b, "GroupQueryAttention", operands, outputs, num_heads=heads, kv_num_heads=groups, **attrs)


def experts(b: Builder) -> list[Tensor]:
    tokens, count, width, inner = b.between(1, 3), b.between(2, 6), b.between(2, 6), b.between(2, 6)
    chosen, kind = b.between(1, 2), b.pick(("relu", "gelu", "silu", "identity"))
    scores = b.data(F32, (tokens, count))
    weights = [b.weight(F32, shape) for shape in ((count, inner, width), (count, inner), (count, width, inner))]
    return node(b, "MoE", [b.data(F32, (tokens, width)), scores, *weights], k=chosen, activation_type=kind)


def quantized_experts(b: Builder) -> list[Tensor]:
    tokens, count, width, inner = b.between(1, 3), b.between(2, 6), 16 * b.between(1, 2), 16 * b.between(1, 2)
    bits, block = b.pick((4, 8)), b.pick((0, 16))
    bits = 4 if block else bits  # ONNX Runtime's kernel rounds tokens to bytes for 8 bits in blocks
    layers = []
    for rows, columns in ((inner, width), (width, inner)):
        scales = (count, rows, columns // block) if block else (count, rows)
        codes = b.param(b.values("uint8", (count, rows, columns * bits // 8), 0, 255))
        layers += [codes, b.param(np.abs(b.values(F32, scales, 0, 1)) * np.float32(0.1)), b.weight(F32, (count, rows))]
    operands = [b.data(F32, (tokens, width)), b.data(F32, (tokens, count)), *layers]
    attrs = {"expert_weight_bits": bits, "normalize_routing_weights": 1, **({"block_size": block} if block else {})}
    return node(b, "QMoE", operands, k=b.between(1, 2), activation_type=b.pick(("relu", "silu", "identity")), **attrs)


def quantized_attention(b: Builder) -> list[Tensor]:
    batch, length, width, heads, size = (b.between(1, n) for n in (2, 4, 5, 2, 4))
    columns, kind = 3 * heads * size, byte(b)
    x, w = stored(b, "uint8", (batch, length, width)), weights_of(b, kind, (width, columns))
    operands = [
        x, w, b.weight(F32, (columns,)), b.param(np.float32(0.01)), b.param(np.float32(0.01)), None,
        zero_point(b, "uint8"), zero_point(b, kind),
    ]  # fmt: skip
    return node(b, "QAttention", operands, num_heads=heads, **b.some(unidirectional=b.between(0, 1)))


def rotary(b: Builder) -> list[Tensor]:
    batch, length, heads, half = (b.between(1, n) for n in (2, 4, 3, 3))
    angles = b.values(F32, (8, half))
    places = b.param(b.values("int64", (batch, length), 0, 7)) if b.flip() else b.param(np.array([3]))
    x = b.data(F32, (batch, length, heads * 2 * half))
    caches = [b.param(np.cos(angles)), b.param(np.sin(angles))]
    return node(b, "RotaryEmbedding", [x, places, *caches], **b.some(interleaved=b.between(0, 1)))


def lstm_of_bytes(b: Builder) -> list[Tensor]:
    steps, batch, width, hidden, directions = (b.between(1, n) for n in (3, 2, 5, 4, 2))
    weights = [weights_of(b, "int8", (directions, n, 4 * hidden)) for n in (width, hidden)]
    state = [b.weight(F32, (directions, batch, hidden)) for _ in range(2)] if b.flip() else [None, None]
    biases = b.param(b.values(F32, (directions, 8 * hidden), -1, 1)) if b.flip() else None
    factors = [b.param(b.values(F32, (directions,), 0.002, 0.01)) for _ in range(2)]
    zeros = [b.param(np.zeros(directions, np.int8)) for _ in range(2)]
    # of several sequences ONNX Runtime quantizes states behind an end as well, which count nowhere
    lengths = b.data("int32", (batch,), 1, steps, exact=True) if batch == 1 and b.flip() else None
    operands = [
        b.data(F32, (steps, batch, width)), *weights, biases, lengths, *state, None, factors[0], zeros[0], factors[1],
        zeros[1],
    ]  # fmt: skip
    direction = "bidirectional" if directions == 2 else b.pick(["forward", "reverse"])
    return node(b, "DynamicQuantizeLSTM", operands, 3, hidden_size=hidden, direction=direction)


def ngrams(b: Builder) -> list[Tensor]:
    batch, length, words = b.between(1, 3), b.between(1, 6), b.between(2, 5)
    return node(
        b, "NGramRepeatBlock", [ids(b, (batch, length), words, "int64"), b.data(F32, (batch, words))],
        ngram_size=b.between(1, 3),
    )  # fmt: skip


def bias_softmax(b: Builder) -> list[Tensor]:
    shape = b.shape(2, 4)
    bias = b.weight(F32, (*[1] * (len(shape) - 1), shape[-1]))
    return node(b, "BiasSoftmax", [b.data(F32, shape), bias], axis=len(shape) - 1, is_inner_broadcast=0)


def distances(b: Builder) -> list[Tensor]:
    m, n, k = (b.between(1, 5) for _ in range(3))
    return node(b, "CDist", [b.data(F32, (m, k)), b.weight(F32, (n, k))], metric=b.pick(["euclidean", "sqeuclidean"]))


def masked_pool(b: Builder) -> list[Tensor]:
    rank = b.between(1, 3)
    shape = (b.between(1, 2), b.between(1, 3), *(b.between(2, 6) for _ in range(rank)))
    kernel = [b.between(1, min(3, extent)) for extent in shape[2:]]
    more = b.pick([{}, {"strides": [b.between(1, 2) for _ in kernel]}, {"pads": [k - 1 for k in kernel] * 2}])
    masks = b.pick([(1, 1), shape[:2]])
    mask = b.data("int32", (*masks, *shape[2:]), 0, 1, exact=True)
    return node(b, "MaxpoolWithMask", [b.data(F32, shape), mask], kernel_shape=kernel, **more)


def words(b: Builder) -> list[Tensor]:
    """Each begins with a letter: what ONNX Runtime has for one without is what was in memory."""
    count, length, letters, width, filters = (b.between(1, n) for n in (4, 6, 7, 5, 4))
    window = b.between(1, length)
    sequence = b.data("int32", (count, length), 1, letters, exact=True)
    operands = [b.weight(F32, shape) for shape in ((filters, 1, window, width), (filters,), (letters + 1, width))]
    return node(b, "WordConvEmbedding", [sequence, *operands], **b.some(conv_window_size=window))


def rows_of_blocks(b: Builder) -> list[Tensor]:
    count, blocks = b.between(2, 6), b.between(1, 3)
    data = b.param(b.values("uint8", (count, blocks * 8), 0, 255))
    scales = b.param(b.values(F32, (count, blocks), 0.01, 0.1))
    zero = b.param(b.values("uint8", (count, -(-blocks // 2)), 0, 255)) if b.flip() else None
    chosen = ids(b, b.shape(0, 2), count, "int64")
    operands = [data, chosen, scales, zero]
    return node(b, "GatherBlockQuantized", operands, block_size=16, quantize_axis=1, **b.some(gather_axis=0))


def conv_of_bytes(b: Builder) -> list[Tensor]:
    dtype, shape = byte(b), (1, b.between(2, 5), b.between(2, 5), b.between(1, 4))
    kernel = kernel_of(b, shape[1:3])
    more = window_attributes(b, shape[1:3], kernel, same=False)
    w = b.param(b.values("int8" if dtype == "int8" else byte(b), (b.between(1, 4), shape[3], *kernel), -128, 255))
    operands = [
        stored(b, dtype, shape), scale(b), zero_point(b, dtype), w, scale(b), zero_point(b, w.dtype), scale(b),
        zero_point(b, dtype),
    ]  # fmt: skip
    return node(b, "QLinearConv", operands, channels_last=1, **more)


def conv_channels_last(b: Builder) -> list[Tensor]:
    group, image = b.pick([1, 1, 2]), (b.between(2, 5), b.between(2, 5))
    shape = (b.between(1, 2), *image, group * b.between(1, 3))
    kernel = kernel_of(b, image)
    w = b.weight(F32, (group * b.between(1, 3), *kernel, shape[3] // group))
    bias = b.weight(F32, w.shape[:1]) if b.flip() else None
    more = window_attributes(b, image, kernel, same=False)
    return node(b, "NhwcConv", [b.data(F32, shape), w, bias], group=group, **more)


def group_normalized(op: str, b: Builder) -> list[Tensor]:
    groups, batch = b.between(1, 3), b.between(1, 2)
    shape = (batch, b.between(1, 4), b.between(1, 4), groups * b.between(1, 3))
    x = b.data(F32, shape, -2, 2, exact=True)
    gamma, beta = (b.weight(F32, shape[3:]) for _ in range(2))
    attrs = {"groups": groups, "epsilon": b.pick([1e-2, 1e-3]), "activation": b.between(0, 1)}
    if op == "GroupNorm":
        return node(b, op, [x, gamma, beta], **attrs)
    skip = b.weight(F32, b.pick([shape, (batch, 1, 1, shape[3]), (batch, shape[3])]))
    bias = b.weight(F32, shape[3:]) if b.flip() else None
    return node(b, op, [x, gamma, beta, skip, bias], 2, **attrs)


def max_pool_of_bytes(b: Builder) -> list[Tensor]:
    shape = (1, b.between(2, 5), b.between(2, 5), b.between(1, 4))
    kernel = kernel_of(b, shape[1:3])
    more = window_attributes(b, shape[1:3], kernel, dilated=False, same=False)
    return node(b, "NhwcMaxPool", [stored(b, byte(b), shape)], kernel_shape=list(kernel), **more)


def moved(op: str, b: Builder) -> list[Tensor]:
    """Operators that ONNX has by now."""
    x = b.data(F32, b.shape(2, 3, (1, 2, 3, 4)))
    rank = len(x.shape)
    if op == "ExpandDims":
        return node(b, op, [x, b.param(np.asarray(b.between(0, rank), np.int32))])
    if op == "GatherND":
        return node(b, op, [x, b.param(b.values("int64", (3, 1), 0, x.shape[0] - 1))])
    if op == "Pad":
        pads = b.ints([b.between(0, 2) for _ in range(2 * rank)])
        return node(b, op, [x, pads, b.param(np.float32(1.5))], mode="constant")
    if op == "Range":
        return node(b, op, [b.param(np.float32(n)) for n in (b.between(0, 3), b.between(5, 9), b.between(1, 2))])
    return node(b, op, [x], **b.some(upper=b.between(0, 1)))


def first(op: str, b: Builder) -> list[Tensor]:
    """Operators that ONNX had for trial, without a domain."""
    if op == "Crop":
        left, top, right, bottom = border = [b.between(0, 2) for _ in range(4)]
        x = b.data(F32, (*b.shape(2, 2), top + bottom + b.between(1, 4), left + right + b.between(1, 4)))
        return b.node(op, [x], border=border, **b.some(scale=[1, 1]))
    if op == "ImageScaler":
        x = b.data(F32, b.shape(4, 4))
        return b.node(op, [x], bias=[float(n) for n in range(x.shape[1])], **b.some(scale=0.5))
    names = ("scale",) if op == "Scale" else ("alpha", "beta")
    return b.node(op, [b.data(F32, b.shape())], **{name: b.pick([0.5, 1.0, 2.0]) for name in names})


ROWS: dict[str, Row] = {
    **{
        op: Row(partial(first, op), 9)
        for op in ("Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh")
    },
    "SimplifiedLayerNormalization": Row(partial(normalized, "SimplifiedLayerNormalization"), 18),
    **{
        f"{MICROSOFT}.{op}": Row(partial(write, op))
        for write, names in (
            (activation, ("BiasGelu", "FastGelu", "QuickGelu")), (fused_matmul, ("FusedMatMul", "TransposeMatMul")),
            (normalized, ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")),
            (group_normalized, ("GroupNorm", "SkipGroupNorm")),
            (moved, ("ExpandDims", "GatherND", "Pad", "Range", "Trilu")),
        )
        for op in names
    },
    **{
        f"{MICROSOFT}.{op}": Row(write)
        for op, write in {
            "Attention": attention, "BiasSoftmax": bias_softmax, "CDist": distances,
            "DynamicQuantizeLSTM": lstm_of_bytes,
            "EmbedLayerNormalization": embedded, "FusedConv": fused_conv, "FusedGemm": fused_gemm,
            "GatherBlockQuantized": rows_of_blocks, "GroupQueryAttention": grouped, "MoE": experts,
            "QMoE": quantized_experts,
            "MultiHeadAttention": multi_head,
            "MaxpoolWithMask": masked_pool,
            "NGramRepeatBlock": ngrams, "NhwcConv": conv_channels_last, "NhwcMaxPool": max_pool_of_bytes,
            "QAttention": quantized_attention,
            "QLinearConv": conv_of_bytes, "RotaryEmbedding": rotary, "WordConvEmbedding": words,
        }.items()
    },
}  # fmt: skip
