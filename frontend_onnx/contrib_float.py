"""Float operators of ONNX Runtime's own domain: activations, normalizations of transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .contrib_body import Body, Rule, Unsupported

# ---------------------------------------------------------------- activations


def _bias_gelu(body: Body) -> str:
    body.opset = 20
    return body.emit("Gelu", body.emit("Add", body.input(0), body.input(1)))


def _fast_gelu(body: Body) -> str:
    return fast_gelu(body, body.emit("Add", body.input(0), body.input(1)) if body.input(1) else body.input(0))


def fast_gelu(body: Body, x: str) -> str:
    """x * (tanh(x * (0.7978846 + 0.0356774 * x^2)) + 1) / 2, as the kernels have it."""
    inner = body.emit("Mul", body.emit("Mul", x, x), body.number(0.035677408136300125))
    inner = body.emit("Mul", x, body.emit("Add", inner, body.number(0.7978845608028654)))
    half = body.emit("Mul", body.emit("Tanh", inner), body.number(0.5))
    return body.emit("Mul", x, body.emit("Add", half, body.number(0.5)))


def _quick_gelu(body: Body) -> str:
    return body.silu(body.input(0), body.number(body.attributes.get("alpha", 1.702)))


# ---------------------------------------------------------------- normalizations


def _root_mean_square(body: Body, x: str, scale: str, axis: int, epsilon: float) -> tuple[str, str]:
    """The normalized tensor, and 1 / root of the mean square."""
    square = body.emit("ReduceMean", body.emit("Mul", x, x), body.integers(axis), keepdims=1)
    root = body.emit("Sqrt", body.emit("Add", square, body.number(epsilon)))
    inverse = body.emit("Reciprocal", root)
    body.opset = 23
    return body.emit("RMSNormalization", x, scale, axis=axis, epsilon=epsilon), inverse


def _simplified(body: Body) -> tuple[str, ...]:
    axis, epsilon = body.attributes.get("axis", -1), body.attributes.get("epsilon", 1e-5)
    rank = len(body.shape(0))
    if axis % rank != rank - 1:
        raise Unsupported(f"axis {axis}")
    return _root_mean_square(body, body.input(0), body.input(1), -1, epsilon)


def _old_layer_normalization(body: Body) -> list[str]:
    """ONNX's operator, before its operator set had it."""
    names = ("axis", "epsilon", "stash_type")
    operands = [body.input(place) for place in range(3)]
    given = {name: body.attributes.get(name) for name in names}
    return body.emit_all("LayerNormalization", operands, max(len(body.wanted), 1), **given)


def _skip(body: Body, bias: int) -> str:
    total = body.emit("Add", body.input(0), body.input(1))
    return body.emit("Add", total, body.input(bias)) if body.input(bias) else total


def _skip_layer_normalization(body: Body) -> tuple[str, ...]:
    total, epsilon = _skip(body, 4), body.attributes.get("epsilon", 1e-12)
    results = body.emit_all(
        "LayerNormalization", [total, body.input(2), body.input(3)], 3 if body.has(1) or body.has(2) else 1,
        axis=-1, epsilon=epsilon,
    )  # fmt: skip
    return (*results, *[""] * (3 - len(results)), total)


def _skip_simplified(body: Body) -> tuple[str, ...]:
    total, epsilon = _skip(body, 3), body.attributes.get("epsilon", 1e-12)
    y, inverse = _root_mean_square(body, total, body.input(2), -1, epsilon)
    return y, "", inverse, total


def _group_normalization(body: Body, x: str) -> str:
    """Of images whose channels are last unless ``channels_last`` is 0; ``activation`` 1 is SiLU."""
    last, activation = bool(body.attributes.get("channels_last", 1)), body.attributes["activation"]
    if activation not in (0, 1):
        raise Unsupported(f"the activation {activation}")
    body.opset = 21
    y = body.emit(
        "GroupNormalization", body.channels_first(x, 0) if last else x, body.input(1), body.input(2),
        num_groups=body.attributes["groups"], epsilon=body.attributes.get("epsilon", 1e-5),
    )  # fmt: skip
    y = body.channels_last(y, 0) if last else y
    return body.silu(y) if activation else y


def _skip_group_normalization(body: Body) -> tuple[str, ...]:
    """X, gamma, beta, skip and a bias, each of which may have one number for each channel of an image."""
    last, rank, total = bool(body.attributes.get("channels_last", 1)), len(body.shape(0)), body.input(0)
    for place in (place for place in (3, 4) if body.input(place)):
        shape, added = body.shape(place), body.input(place)
        if len(shape) < rank:  # [N, C] or [C]
            ones = (1,) * (rank - 2)
            batch = shape[:-1] or (1,)
            added = body.reshape(added, *batch, *((*ones, shape[-1]) if last else (shape[-1], *ones)))
        total = body.emit("Add", total, added)
    return _group_normalization(body, total), total


def _embed_layer_normalization(body: Body) -> tuple[str, ...]:
    """ids, segments?, words, positions, segments' table?, gamma, beta, mask?, position ids?"""
    return _embedded(body, [body.input(place) for place in range(2, 7)], body.input(8))


def _quantized_embed_layer_normalization(body: Body) -> tuple[str, ...]:
    """Tables, gamma and beta as bytes; their scales begin at the input 8, their zero points at 13."""
    tables = [
        body.emit("DequantizeLinear", *(body.input(place) for place in (2 + n, 8 + n, 13 + n)))
        if body.input(2 + n)
        else ""
        for n in range(5)
    ]
    return _embedded(body, tables, "")[:2]


def _embedded(body: Body, tables: Sequence[str], places: str) -> tuple[str, ...]:
    """``tables`` of words, places and segments, gamma and beta."""
    batch, length = body.shape(0)
    total = body.emit("Gather", tables[0], body.input(0))
    total = body.emit("Add", total, body.emit("Gather", tables[1], places or body.constant(np.arange(length))))
    if tables[2]:
        segments = body.input(1) or body.constant(np.zeros((batch, length), np.int64))
        total = body.emit("Add", total, body.emit("Gather", tables[2], segments))
    y = body.emit(
        "LayerNormalization", total, *tables[3:], axis=-1, epsilon=body.attributes.get("epsilon", 1e-12)
    )  # fmt: skip
    index = body.constant(np.zeros(batch, np.int32))
    if body.input(7):
        ones = body.emit("Equal", body.input(7), body.constant(np.asarray(1, body.dtype(7))))
        counted = body.cast(ones, np.int32)
        index = body.emit("ReduceSum", counted, body.integers(1), keepdims=0)
    return y, index, total


# ---------------------------------------------------------------- others


def _bias_softmax(body: Body) -> str:
    """The bias is repeated along the dimensions inside of its batch, or outside of it."""
    rank, axis = len(body.shape(0)), body.attributes.get("axis", 1)
    bias = body.shape(1)
    inner = bool(body.attributes["is_inner_broadcast"])
    if inner and len(bias) != rank:
        kept = [*bias[: len(bias) - (rank - axis % rank)], *[1] * (rank - len(bias)), *bias[-(rank - axis % rank) :]]
        total = body.emit("Add", body.input(0), body.reshape(body.input(1), *kept))
    else:
        total = body.emit("Add", body.input(0), body.input(1))
    body.opset = 11  # the dimensions from the axis on are one
    return body.emit("Softmax", total, axis=axis)


def _same_as(op_type: str, opset: int) -> Rule:
    """An operator that ONNX has by now."""

    def rule(body: Body) -> str:
        body.opset = opset
        return body.emit(op_type, *(body.input(place) for place in range(len(body.inputs))), **body.attributes)

    return rule


def _expand_dims(body: Body) -> str:
    """The axis is an operand of one element."""
    return body.emit("Unsqueeze", body.input(0), body.emit("Reshape", body.input(1), body.integers(1)))


def _unique(body: Body) -> tuple[str, ...]:
    """Values in the order in which they occur, where each value of x is among them, and how often."""
    values, _, places, counts = body.emit_all("Unique", [body.input(0)], 4, sorted=0)
    return values, places, counts


def _windows(body: Body) -> str:
    """Slices of ``size`` along ``dim``, ``step`` apart, whose elements are in a last dimension of their own."""
    rank = len(body.shape(0))
    axis, size, step = int(body.attributes.get("dim", -1)), body.attributes["size"], body.attributes.get("step", 1)
    extent = body.shape(0)[axis]
    if not 0 < size <= extent or step < 1:
        raise ValueError(f"slices of {size} elements, {step} apart, of {extent}")
    axis %= rank
    at = np.arange(0, extent - size + 1, step)[:, None] + np.arange(size)
    y = body.emit("Gather", body.input(0), body.constant(at), axis=axis)
    return body.transpose(y, *range(axis + 1), *range(axis + 2, rank + 1), axis + 1)


RULES: Mapping[str, Rule] = {
    "BiasGelu": _bias_gelu,
    "BiasSoftmax": _bias_softmax,
    "EmbedLayerNormalization": _embed_layer_normalization,
    "ExpandDims": _expand_dims,
    "FastGelu": _fast_gelu,
    "GatherND": _same_as("GatherND", 13),
    "GridSample": _same_as("GridSample", 16),
    "GroupNorm": lambda body: _group_normalization(body, body.input(0)),
    "Pad": _same_as("Pad", 13),
    "QEmbedLayerNormalization": _quantized_embed_layer_normalization,
    "QuickGelu": _quick_gelu,
    "Range": _same_as("Range", 11),
    "SkipGroupNorm": _skip_group_normalization,
    "SkipLayerNormalization": _skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": _skip_simplified,
    "Trilu": _same_as("Trilu", 14),
    "UnfoldTensor": _windows,
    "Unique": _unique,
}
ONNX_RULES: Mapping[str, Rule] = {
    "LayerNormalization": _old_layer_normalization,
    "SimplifiedLayerNormalization": _simplified,
}
"""In ONNX's domain."""
