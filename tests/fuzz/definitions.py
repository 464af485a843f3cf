"""Operators that ONNX Runtime has for other processors, or only in place, by their definitions in NumPy.

A definition takes the attributes and the operands, in float64 where these are floats and ``None`` where they are
absent, and gives the result or the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.fuzz.runtime import Arrays

Attributes = Mapping[str, Any]
Operand = Any
"""An array, or ``None``."""


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    y = np.exp(x - x.max(axis, keepdims=True))
    return y / y.sum(axis, keepdims=True)


# ---- biases, gates and activations


def _bias_add(given: Attributes, x: Operand, b: Operand, z: Operand) -> np.ndarray:
    return x + b + z


def _bias_dropout(given: Attributes, x: Operand, b: Operand, residual: Operand = None) -> Sequence[np.ndarray]:
    y = x + b
    return y if residual is None else y + residual, np.ones(y.shape, bool)


def _bias_split_gelu(given: Attributes, x: Operand, b: Operand) -> np.ndarray:
    left, right = np.split(x + b, 2, -1)
    return left * right * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(right / math.sqrt(2)))


def _gemm_fast_gelu(given: Attributes, x: Operand, w: Operand, b: Operand = None) -> np.ndarray:
    y = x @ w + (0 if b is None else b)
    return y * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))


def _matmul_activation(given: Attributes, a: Operand, b: Operand) -> np.ndarray:
    a, b = (x.swapaxes(-1, -2) if given.get(f"trans{n}") else x for n, x in (("A", a), ("B", b)))
    y = given.get("alpha", 1.0) * (a @ b)
    match given["activation"]:
        case b"Softmax":
            return softmax(y, given.get("activation_axis", -1))
        case b"LeakyRelu":
            return np.where(y < 0, given["activation_alpha"] * y, y)
        case b"Relu":
            return np.maximum(y, 0)
    raise NotImplementedError(given["activation"])


def _nhwc_fused_conv(given: Attributes, x: Operand, w: Operand, b: Operand = None, z: Operand = None) -> np.ndarray:
    """Of kernels of one element, with a ReLU."""
    y = x @ w[:, :, 0, 0].T + (0 if b is None else b) + (0 if z is None else z)
    return np.maximum(y, 0)


def _swiglu(given: Attributes, gate: Operand, up: Operand = None) -> np.ndarray:
    if up is None:
        gate, up = np.split(gate, 2, -1)
    limit = given.get("limit", 0.0)
    if limit > 0:
        gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return gate * sigmoid(given.get("activation_alpha", 1.0) * gate) * (up + given.get("activation_beta", 0.0))


def _biased_softmax(given: Attributes, x: Operand, b: Operand) -> np.ndarray:
    """Along the last dimension."""
    return softmax(x + b)


def _group_normalized(
    given: Attributes, x: Operand, gamma: Operand, beta: Operand, *added: Operand
) -> Sequence[np.ndarray]:
    """Of images whose channels are last."""
    for each in added:
        x = x + (0 if each is None else each[:, None, None] if each.ndim == 2 else each)
    groups = x.reshape(*x.shape[:3], given["groups"], -1)
    centred = groups - groups.mean(axis=(1, 2, 4), keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=(1, 2, 4), keepdims=True) + given.get("epsilon", 1e-5))
    y = (centred / deviation).reshape(x.shape) * gamma + beta
    return y * sigmoid(y) if given["activation"] else y, x


def _all_finite(given: Attributes, *operands: Operand) -> np.ndarray:
    nan = not given.get("isinf_only") and any(np.isnan(x).any() for x in operands)
    infinite = not given.get("isnan_only") and any(np.isinf(x).any() for x in operands)
    return np.array(not nan and not infinite)


# ---- places


def buckets(queries: int, keys: int, count: int, reach: int, both: bool) -> np.ndarray:
    """Of the distances of T5, one by one."""
    found = np.zeros((queries, keys), int)
    for q in range(queries):
        for k in range(keys):
            side, n, apart = 0, count, k - q
            if both:
                n = count // 2
                side, apart = (n if apart > 0 else 0), abs(apart)
            else:
                apart = max(-apart, 0)
            exact = n // 2
            if apart >= exact:
                far = np.log(np.float32(apart / exact)) / np.float32(np.log(reach / exact)) * np.float32(n - exact)
                apart = min(exact + int(far), n - 1)
            found[q, k] = side + apart
    return found


def _relative(given: Attributes, table: Operand, queries: Operand, keys: Operand) -> np.ndarray:
    """The table holds the buckets of a head one behind another."""
    count, heads = table.shape
    both, reach = bool(given.get("is_bidirectional")), given["max_distance"]
    found = buckets(int(queries.reshape(())), int(keys.reshape(())), count, reach, both)
    return table.reshape(heads, count)[:, found][None]


def _gated(
    given: Attributes, q: Operand, bias: Operand, rel: Operand, w: Operand, b: Operand, eco: Operand
) -> np.ndarray:
    heads = (q + bias).reshape(*q.shape[:2], given["num_heads"], -1).transpose(0, 2, 1, 3)
    gates = sigmoid((heads @ w + b).reshape(*heads.shape[:3], 2, -1).sum(-1))
    u, r = gates[..., :1], gates[..., 1:]
    return (u * (r * eco - 1) + 2) * rel


def _gemma_rotary(given: Attributes, emb: Operand, *operands: Operand) -> Sequence[np.ndarray]:
    cosine, sine = np.cos(emb)[:, None], np.sin(emb)[:, None]
    return [operands[n] * cosine + operands[n + 1] * sine for n in (0, 2)]


# ---- integers, complex numbers and spectra


def _mul_integer(given: Attributes, a: Operand, za: Operand, b: Operand, zb: Operand = None) -> np.ndarray:
    a, b = (x.astype(np.int32) - (0 if z is None else z.astype(np.int32)) for x, z in ((a, za), (b, zb)))
    return a * b


def _sum_integer(given: Attributes, x: Operand) -> np.ndarray:
    wide = np.int32 if x.dtype == np.int8 else np.uint32
    return x.sum(tuple(given["axes"]), dtype=wide, keepdims=bool(given["keepdims"]))


def _complex(x: np.ndarray) -> np.ndarray:
    return np.asarray(x[..., 0] + 1j * x[..., 1])


def _pairs(y: np.ndarray) -> np.ndarray:
    return np.stack([y.real, y.imag], -1)


def _product(given: Attributes, a: Operand, b: Operand) -> np.ndarray:
    return _pairs(_complex(a) * _complex(b))


def _conjugate_product(given: Attributes, a: Operand, b: Operand) -> np.ndarray:
    return _pairs(_complex(a) * _complex(b).conj())


def _spectrum(given: Attributes, x: Operand) -> np.ndarray:
    return _pairs(np.fft.rfft(x))


def _inverse(given: Attributes, x: Operand) -> np.ndarray:
    return np.fft.irfft(_complex(x))


# ---- sparse attention


def _sparse_attention(given: Attributes, *operands: Operand) -> Sequence[np.ndarray]:
    """Without rotary embeddings, of queries, keys and values apart; query by query."""
    q, k, v, keys, values, begins, columns, total, lengths = operands
    heads, groups, block = (given[name] for name in ("num_heads", "kv_num_heads", "sparse_block_size"))
    batch, length, width = q.shape
    size = width // heads
    keys, values, y = keys.copy(), values.copy(), np.zeros((batch, length, heads, size))
    for n in range(batch):
        before = 0 if int(total.reshape(())) == length else int(lengths[n]) - length
        for cache, new in ((keys, k), (values, v)):
            cache[n, :, before : before + length] = new[n].reshape(length, groups, size).swapaxes(0, 1)
        for head in range(heads):
            layout, group = head % len(begins), head // (heads // groups)
            for token in range(length):
                place = before + token
                row = begins[layout, place // block : place // block + 2]
                held = set(columns[layout, row[0] : row[1]].tolist())
                seen = [key for key in range(place + 1) if key // block in held]
                scores = keys[n, group, seen] @ q[n, token].reshape(heads, size)[head]
                shares = softmax(given.get("scale", 1 / math.sqrt(size)) * scores)
                y[n, token, head] = shares @ values[n, group, seen]
    return y.reshape(batch, length, width), keys, values


DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    "BiasAdd": _bias_add, "BiasDropout": _bias_dropout, "BiasSoftmax": _biased_softmax,
    "BiasSplitGelu": _bias_split_gelu, "ComplexMul": _product, "ComplexMulConj": _conjugate_product,
    "FusedMatMulActivation": _matmul_activation, "GatedRelativePositionBias": _gated,
    "GemmFastGelu": _gemm_fast_gelu, "GemmaRotaryEmbedding": _gemma_rotary, "GroupNorm": _group_normalized,
    "Irfft": _inverse, "IsAllFinite": _all_finite, "MulInteger": _mul_integer, "NhwcFusedConv": _nhwc_fused_conv,
    "ReduceSumInteger": _sum_integer, "RelativePositionBias": _relative, "Rfft": _spectrum,
    "SkipGroupNorm": _group_normalized, "SparseAttention": _sparse_attention, "SwiGLU": _swiglu,
}  # fmt: skip
"""By the name of the operator in ONNX Runtime's own domain."""


def defined(op_type: str, attributes: Attributes, operands: Sequence[np.ndarray | None], outputs: int) -> Arrays:
    """The results, floats in float32."""
    wide = [x.astype(np.float64) if x is not None and x.dtype == np.float32 else x for x in operands]
    with np.errstate(all="ignore"):
        found = DEFINITIONS[op_type](attributes, *wide)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    return tuple(
        np.asarray(y, np.float32 if np.asarray(y).dtype == np.float64 else None) for y in results[:outputs]
    )  # fmt: skip
