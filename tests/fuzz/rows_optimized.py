"""Rows of what optimizers write in ONNX Runtime's own domain: fused biases and activations, attention of decoders,
relative positions, images, spectra, routers."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.fuzz.build import Builder, Tensor
from tests.fuzz.row import Row
from tests.fuzz.rows_contrib import F32, ids, node
from tests.fuzz.rows_quantized import MICROSOFT, byte, stored, weights_of, zero_point


def bias_add(b: Builder) -> list[Tensor]:
    shape = (b.between(1, 2), b.between(1, 4), b.between(1, 6))
    return node(b, "BiasAdd", [b.data(F32, shape), b.weight(F32, shape[2:]), b.weight(F32, shape)])


def bias_dropout(b: Builder) -> list[Tensor]:
    shape = b.shape(1, 3)
    residual = b.weight(F32, shape) if b.flip() else None
    return node(b, "BiasDropout", [b.data(F32, shape), b.weight(F32, shape[-1:]), residual], b.between(1, 2))


def bias_split_gelu(b: Builder) -> list[Tensor]:
    shape = (b.between(1, 2), b.between(1, 4), 2 * b.between(1, 4))
    return node(b, "BiasSplitGelu", [b.data(F32, shape), b.weight(F32, shape[2:])])


def gemm_fast_gelu(b: Builder) -> list[Tensor]:
    (*rows, k), n = b.shape(2, 3), b.between(1, 5)
    return node(b, "GemmFastGelu", [b.data(F32, (*rows, k)), b.weight(F32, (k, n)), b.weight(F32, (n,))])


def matmul_activation(b: Builder) -> list[Tensor]:
    (m, k), n, flipped = b.shape(2, 2), b.between(1, 5), b.between(0, 1)
    given = b.pick([
        {"activation": "Relu"}, {"activation": "LeakyRelu", "activation_alpha": 0.25},
        {"activation": "Softmax", "activation_axis": b.between(0, 1)},
    ])  # fmt: skip
    x, w = b.data(F32, (k, m) if flipped else (m, k)), b.weight(F32, (k, n))
    return node(b, "FusedMatMulActivation", [x, w], transA=flipped, **given, **b.some(alpha=b.uniform(0.2, 2)))


def nhwc_fused_conv(b: Builder) -> list[Tensor]:
    shape, filters = (1, b.between(1, 4), b.between(1, 4), b.between(1, 4)), b.between(1, 5)
    bias = b.weight(F32, (filters,)) if b.flip() else None
    added = b.weight(F32, (*shape[:3], filters)) if b.flip() else None
    operands = [b.data(F32, shape), b.param(b.values(F32, (filters, shape[3], 1, 1), -1, 1)), bias, added]
    return node(b, "NhwcFusedConv", operands, activation="Relu")


def swiglu(b: Builder) -> list[Tensor]:
    *rows, width = b.shape(1, 3)
    up = b.weight(F32, (*rows, width)) if b.flip() else None
    gate = b.data(F32, (*rows, width if up else 2 * width))
    return node(b, "SwiGLU", [gate, up], **b.some(activation_alpha=1.7, activation_beta=1.0, limit=0.5))


def all_finite(b: Builder) -> list[Tensor]:
    operands = [b.data(F32, b.shape(0, 3)), *(b.weight(F32, b.shape(0, 2)) for _ in range(b.between(0, 2)))]
    return node(b, "IsAllFinite", operands, **b.pick([{}, {"isnan_only": 1}, {"isinf_only": 1}]))


def mul_integer(b: Builder) -> list[Tensor]:
    kind, shape = byte(b), b.shape(1, 3)
    zeros = [zero_point(b, kind) if b.flip() else None for _ in range(2)]
    other = weights_of(b, kind, b.pick([shape, shape[-1:]]))
    return node(b, "MulInteger", [stored(b, kind, shape), zeros[0], other, zeros[1]])


def sum_integer(b: Builder) -> list[Tensor]:
    x = stored(b, byte(b), b.shape(1, 4))
    axes = sorted({b.between(0, len(x.shape) - 1) for _ in range(2)})
    return node(b, "ReduceSumInteger", [x], axes=axes, keepdims=b.between(0, 1))


def relative_bias(b: Builder) -> list[Tensor]:
    both, queries = b.between(0, 1), b.between(1, 9)
    keys = queries if b.flip() else b.between(1, 9)
    table = b.weight(F32, (b.pick([4, 8]), b.between(1, 3)))
    return node(
        b, "RelativePositionBias", [table, b.ints([queries]), b.ints([keys])], max_distance=b.pick([5, 8]),
        is_bidirectional=both,
    )  # fmt: skip


def gated_relative_bias(b: Builder) -> list[Tensor]:
    batch, length, heads, size, half = (b.between(1, n) for n in (2, 4, 2, 4, 3))
    operands = [
        b.data(F32, (batch, length, heads * size)), b.weight(F32, (heads * size,)),
        b.weight(F32, (1, heads, length, length)), b.weight(F32, (size, 2 * half)), b.weight(F32, (2 * half,)),
        b.weight(F32, (1, heads, 1, 1)),
    ]  # fmt: skip
    return node(b, "GatedRelativePositionBias", operands, num_heads=heads)


def gemma_rotary(b: Builder) -> list[Tensor]:
    batch, length, heads, size = (b.between(1, n) for n in (2, 4, 3, 4))
    angles = b.data(F32, (batch, length, size))
    states = [b.weight(F32, (batch, n, length, size)) for n in (heads, heads, 1, 1)]
    return node(b, "GemmaRotaryEmbedding", [angles, *states], 2)


def complex_product(op: str, b: Builder) -> list[Tensor]:
    shape = (*b.shape(0, 3), 2)
    return node(b, op, [b.data(F32, shape), b.weight(F32, shape)])


def spectrum(b: Builder) -> list[Tensor]:
    return node(b, "Rfft", [b.data(F32, (*b.shape(0, 2), 2 * b.between(1, 8)))], signal_ndim=1)


def inverse(b: Builder) -> list[Tensor]:
    """Of a spectrum whose first and last numbers are real, as those of real signals are."""
    *rows, half = *b.shape(0, 2), b.between(2, 6)
    real = np.ones((half, 2), np.float32)
    real[0, 1] = real[-1, 1] = 0
    x = b.node("Mul", [b.data(F32, (*rows, half, 2)), b.param(real)])
    return node(b, "Irfft", x, signal_ndim=1)


def crossed(b: Builder) -> list[Tensor]:
    batch, total, heads, size = (b.between(1, n) for n in (2, 5, 3, 4))
    keys, values = (b.weight(F32, (batch, heads, total, size)) for _ in range(2))
    mask = ids(b, (batch, total), 2) if b.flip() else None
    operands = [b.data(F32, (batch, 1, heads * size)), keys, values, mask]
    return node(b, "DecoderMaskedMultiHeadAttention", operands, num_heads=heads, **b.some(scale=0.5))


def sparse_attention(b: Builder) -> list[Tensor]:
    """Of blocks of sixteen keys, the first and that of the query among them."""
    batch, groups, more, size = (b.between(1, n) for n in (2, 2, 2, 3))
    heads, room = groups * more, 16 * b.between(1, 3)
    length = b.pick([1, b.between(1, room)])
    total = b.between(length, room)
    rows = room // 16
    layouts = 1 if b.flip() else heads
    seen = b.rng.random((layouts, rows, rows)) < 0.5
    seen[:, :, 0] = seen[:, range(rows), range(rows)] = True
    columns = [np.nonzero(np.tril(layout))[1] for layout in seen]
    widest = max(map(len, columns))
    begins = np.concatenate([np.zeros((layouts, 1), int), np.tril(seen).sum(2).cumsum(1)], 1)
    padded = np.stack([np.pad(c, (0, widest - len(c)), constant_values=-1) for c in columns])
    q, k, v = (b.data(F32, (batch, length, n * size)) for n in (heads, groups, groups))
    cache = [b.weight(F32, (batch, groups, room, size)) for _ in range(2)]
    lengths = b.param(np.full(batch, total, np.int32))
    tables = [b.param(x.astype(np.int32)) for x in (begins, padded)]
    operands = [q, k, v, *cache, *tables, b.param(np.int32(total)), lengths]
    attrs = {"num_heads": heads, "kv_num_heads": groups, "sparse_block_size": 16, **b.some(scale=0.5)}
    return node(b, "SparseAttention", operands, 3, **attrs)


def router(b: Builder) -> list[Tensor]:
    groups, each = b.between(1, 4), b.between(1, 4)
    kept, experts = b.between(1, groups), groups * each
    scores = b.data(F32, (*b.shape(1, 2, (1, 2, 3)), experts))
    attrs = {"n_group": groups, "topk_group": kept, "top_k": b.between(1, kept * each)}
    return node(b, "MoEGroupRouter", [scores, b.weight(F32, (experts,))], **attrs, **b.some(group_topk=b.between(1, 3)))


def hashes(b: Builder) -> list[Tensor]:
    kind, batch, length = b.pick(["int32", "int64"]), b.between(1, 2), b.between(1, 6)
    order, heads = b.between(2, 4), b.between(1, 3)
    words = b.param(b.values(kind, ((order - 1) * heads,), 3, 31))
    factors = b.param(b.values(kind, (order,), -99, 99))
    past = b.weight(kind, (batch, order - 1), 0, 9) if b.flip() else None
    added = b.param(b.values(kind, words.shape, 0, 99)) if b.flip() else None
    end = b.param(np.asarray(2, kind)) if b.flip() else None
    segments = b.weight("int32", (batch, length), 0, 2) if b.flip() else None
    operands = [b.data(kind, (batch, length), 0, 9, exact=True), factors, words, past, added, end, segments]
    return node(
        b, "NGramHashMapping", operands, 2, pad_id=1, max_ngram_size=order, n_head_per_ngram=heads,
        **b.some(reset_on_eos=1),
    )  # fmt: skip


def crops(b: Builder) -> list[Tensor]:
    shape, boxes = (b.between(1, 2), b.between(1, 3), b.between(1, 6), b.between(1, 6)), b.between(1, 4)
    at = b.param(b.values(F32, (boxes, 4), -0.2, 1.2))
    image = ids(b, (boxes,), shape[0])
    size = b.param(np.array([b.between(1, 4), b.between(1, 4)], np.int32))
    return node(b, "CropAndResize", [b.data(F32, shape), at, image, size], **b.some(extrapolation_value=0.5))


def padded_transpose(b: Builder) -> list[Tensor]:
    x = b.data(F32, (b.between(1, 2), b.between(1, 3), b.between(2, 5), b.between(2, 5)))
    kernel = [b.between(2, 3), b.between(2, 3)]
    w = b.weight(F32, (x.shape[1], b.between(1, 3), *kernel))
    pads = b.ints([b.between(0, 1) for _ in range(4)])
    bias = b.weight(F32, w.shape[1:2]) if b.flip() else None
    strides = [b.between(1, 2), b.between(1, 2)]
    return node(b, "ConvTransposeWithDynamicPads", [x, w, pads, bias], kernel_shape=kernel, strides=strides)


ROWS: dict[str, Row] = {
    f"{MICROSOFT}.{op}": Row(write)
    for op, write in {
        "BiasAdd": bias_add, "BiasDropout": bias_dropout, "BiasSplitGelu": bias_split_gelu,
        "ComplexMul": partial(complex_product, "ComplexMul"),
        "ComplexMulConj": partial(complex_product, "ComplexMulConj"),
        "ConvTransposeWithDynamicPads": padded_transpose, "CropAndResize": crops,
        "DecoderMaskedMultiHeadAttention": crossed, "FusedMatMulActivation": matmul_activation,
        "GatedRelativePositionBias": gated_relative_bias, "GemmFastGelu": gemm_fast_gelu,
        "GemmaRotaryEmbedding": gemma_rotary, "Irfft": inverse, "IsAllFinite": all_finite, "MoEGroupRouter": router,
        "MulInteger": mul_integer, "NGramHashMapping": hashes, "NhwcFusedConv": nhwc_fused_conv,
        "ReduceSumInteger": sum_integer, "RelativePositionBias": relative_bias, "Rfft": spectrum,
        "SparseAttention": sparse_attention, "SwiGLU": swiglu,
    }.items()
}  # fmt: skip
