"""Contractions (conv, conv_transpose, matmul): types, meaning and multiply-accumulates.

The meaning sums in float64 (integers: int64) and rounds once at the end, so that it can judge any summation order.

Integers of 8 and 16 bits give sums in i32. Their zero points (``zero_point`` of the first operand, ``rhs_zero_point``
of a matmul's second) are subtracted first; what is padded contributes nothing. Bfloat16 give sums in f32.

With ``shift``, integers are summed in 64 bits, from a bias in i64 on, and the result is the sum divided by 2^shift and
rounded, halves up: what 32 bits hold of a sum of products of 16 bits by 16 bits.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.graph import Node
from ..ir.types import DType, TensorType
from .attributes import integer, ints
from .infer import broadcast_shapes, operand, optional
from .integer import NARROW, product_dtype, sum_shift, zero_point
from .opdef import Arrays, Attrs, Types
from .windows import (
    check_geometry,
    check_padded,
    from_channels_first,
    join_layout,
    reach,
    split_layout,
    to_channels_first,
    window_counts,
    windows,
)


def _wide(array: np.ndarray, zero: int = 0) -> np.ndarray:
    """In float64, where sums of floats hardly round and products of 16 bits are exact; other integers in int64."""
    if array.dtype == DType.BF16.numpy:
        return array.astype(np.float64)
    exact = array.dtype.kind == "f" or DType.from_numpy(array.dtype) in NARROW
    wide = array.astype(np.float64 if exact else np.int64)
    return wide - zero if zero else wide


def _narrowed(y: np.ndarray, arrays: Arrays, attrs: Attrs) -> np.ndarray:
    """Sums in the result's element type; integers keep the low bits of what is left behind a shift."""
    dtype, shift = _array(arrays, 0).dtype, sum_shift(attrs)
    if DType.from_numpy(dtype) in NARROW:
        return (y.astype(np.int64) + ((1 << shift) >> 1) >> shift).astype(np.int32)
    return y.astype(np.float32 if dtype == DType.BF16.numpy else dtype)


def _array(arrays: Arrays, position: int) -> np.ndarray:
    array = arrays[position]
    assert array is not None
    return array


def _check_bias(types: Types, position: int, channels: int, sums: DType, attrs: Attrs) -> None:
    bias, dtype = optional(types, position), DType.I64 if sum_shift(attrs) else sums
    if bias is not None and (bias.dtype is not dtype or bias.shape != (channels,)):
        raise ValueError(f"bias {bias} does not fit {channels} output channels of {dtype.value}")


def infer_conv(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, w, layout = operand(types, 0), operand(types, 1), attrs["layout"]
    dtype = product_dtype(x, w)
    batch, channels, extents = split_layout(x.shape, layout)
    out_channels, group_channels, kernel = split_layout(w.shape, layout)
    group = integer(attrs, "group")
    stride, pad, dilation = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "dilation")
    if len(kernel) != len(extents):
        raise ValueError(f"weights {w} do not fit the rank of {x}")
    if group_channels * group != channels or out_channels % group:
        raise ValueError(f"weights {w} in {group} groups do not fit the {channels} channels of {x}")
    check_geometry(len(extents), kernel, attrs)
    _check_bias(types, 2, out_channels, dtype, attrs)
    counts = window_counts(extents, kernel, stride, pad, dilation)
    return (TensorType(dtype, join_layout(batch, out_channels, counts, layout)),)


def evaluate_conv(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    layout, group = attrs["layout"], integer(attrs, "group")
    x, w = (to_channels_first(_array(arrays, position), layout) for position in (0, 1))
    stride, pad, dilation = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "dilation")
    batch, channels, extents = split_layout(x.shape, "channels_first")
    out_channels, kernel = w.shape[0], w.shape[2:]
    counts = window_counts(extents, kernel, stride, pad, dilation)
    spatial = len(extents)
    padded = np.pad(_wide(x, zero_point(attrs)), [(0, 0), (0, 0), *zip(pad[:spatial], pad[spatial:])])
    patches = windows(padded, kernel, stride, dilation, counts)
    patches = patches.reshape(batch, group, channels // group, prod(counts), prod(kernel))
    lhs = patches.transpose(1, 0, 3, 2, 4).reshape(group, batch * prod(counts), -1)
    rhs = _wide(w).reshape(group, out_channels // group, -1).transpose(0, 2, 1)
    y = (lhs @ rhs).reshape(group, batch, prod(counts), -1).transpose(1, 0, 3, 2)
    return (_finish(y.reshape(batch, out_channels, *counts), arrays, attrs),)


def _finish(y: np.ndarray, arrays: Arrays, attrs: Attrs) -> np.ndarray:
    """Adds the bias, rounds and restores the layout."""
    bias = arrays[2] if len(arrays) > 2 else None
    if bias is not None:
        y = y + _wide(bias).reshape(-1, *[1] * (y.ndim - 2))
    return _narrowed(from_channels_first(y, attrs["layout"]), arrays, attrs)


def conv_macs(node: Node) -> int:
    """One for each output element, input channel of its group and tap (padding included)."""
    w = node.inputs[1]
    assert w is not None
    return node.outputs[0].type.size * prod(w.shape[1:])


def infer_conv_transpose(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, w, layout = operand(types, 0), operand(types, 1), attrs["layout"]
    dtype = product_dtype(x, w)
    batch, channels, extents = split_layout(x.shape, layout)
    in_channels, group_channels, kernel = split_layout(w.shape, layout)
    group = integer(attrs, "group")
    pad = ints(attrs, "pad")
    if len(kernel) != len(extents):
        raise ValueError(f"weights {w} do not fit the rank of {x}")
    if in_channels != channels or channels % group:
        raise ValueError(f"weights {w} in {group} groups do not fit the {channels} channels of {x}")
    check_geometry(len(extents), kernel, attrs)
    _check_bias(types, 2, group_channels * group, dtype, attrs)
    counts = _transposed_counts(extents, kernel, attrs)
    if any(count < 1 for count in counts):
        raise ValueError(f"pad {pad} leaves nothing of {x}")
    check_padded(counts, pad)
    return (TensorType(dtype, join_layout(batch, group_channels * group, counts, layout)),)


def _transposed_counts(extents: tuple[int, ...], kernel: tuple[int, ...], attrs: Attrs) -> tuple[int, ...]:
    stride, pad, extra = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "output_padding")
    spatial = len(extents)
    return tuple(
        (extent - 1) * stride[d] + span + extra[d] - pad[d] - pad[spatial + d]
        for d, (extent, span) in enumerate(zip(extents, reach(kernel, ints(attrs, "dilation"))))
    )


def evaluate_conv_transpose(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Every input element is scattered, times the kernel, at its stride; the padding is cut off."""
    layout, group = attrs["layout"], integer(attrs, "group")
    x, w = (to_channels_first(_array(arrays, position), layout) for position in (0, 1))
    stride, pad, dilation = ints(attrs, "stride"), ints(attrs, "pad"), ints(attrs, "dilation")
    batch, channels, extents = split_layout(x.shape, "channels_first")
    kernel, group_out = w.shape[2:], w.shape[1]
    counts = _transposed_counts(extents, kernel, attrs)
    spatial = len(extents)
    full = [count + pad[d] + pad[spatial + d] for d, count in enumerate(counts)]
    y = np.zeros((batch, group, group_out, *full), _wide(x).dtype)
    xg = _wide(x, zero_point(attrs)).reshape(batch, group, channels // group, prod(extents))
    wg = _wide(w).reshape(group, channels // group, group_out, *kernel)
    for tap in np.ndindex(*kernel):
        part = np.einsum("bgci,gco->bgoi", xg, wg[(..., *tap)]).reshape(batch, group, group_out, *extents)
        place: tuple[slice, ...] = tuple(
            slice(t * dilation[d], t * dilation[d] + (extents[d] - 1) * stride[d] + 1, stride[d])
            for d, t in enumerate(tap)
        )
        y[:, :, :, *place] += part
    kept = tuple(slice(pad[d], pad[d] + count) for d, count in enumerate(counts))
    y = y[:, :, :, *kept].reshape(batch, group * group_out, *counts)
    return (_finish(y, arrays, attrs),)


def conv_transpose_macs(node: Node) -> int:
    """One for each input element, output channel of its group and tap."""
    x, w = node.inputs[:2]
    assert x is not None and w is not None
    return x.type.size * prod(w.shape[1:])


def infer_matmul(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    """Operands have rank 2 at least; the importer reshapes vectors."""
    a, b = operand(types, 0), operand(types, 1)
    dtype = product_dtype(a, b)
    if a.rank < 2 or b.rank < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{a} and {b} do not multiply")
    shape = (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    _check_bias(types, 2, shape[-1], dtype, attrs)
    return (TensorType(dtype, shape),)


def evaluate_matmul(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    a, b = _array(arrays, 0), _array(arrays, 1)
    bias = arrays[2] if len(arrays) > 2 else None
    y = _wide(a, zero_point(attrs)) @ _wide(b, zero_point(attrs, "rhs_zero_point"))
    return (_narrowed(y if bias is None else y + _wide(bias), arrays, attrs),)


def matmul_macs(node: Node) -> int:
    a = node.inputs[0]
    assert a is not None
    return node.outputs[0].type.size * a.shape[-1]
