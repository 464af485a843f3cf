"""Products with a constant matrix whose columns are mostly zeros, such as mel filters.

What is not zero of column n lies between row ``start[n]`` and ``start[n] + width``, so that only a band is stored and
added up::

    y[m, n] = bias[n] + sum over k < width of  x[m, start[n] + k] * band[n, k]

Sums are in the order of the whole matrix; terms that are left out are products with zero.
"""

from __future__ import annotations

import numpy as np

from ..ir.build import convert
from ..ir.loops import INDEX, Block, Expr
from ..ops.integer import zero_point
from ..ops.nest_tools import (
    Index,
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    dim_stems,
    loops,
    operand,
    optional,
    read_as,
    serial_loop,
    write_as,
)
from .generic import NestAdapter
from .kernel import KernelContext

_LEAST_SAVED = 3
"""The whole matrix is so many times the band, at least."""


def band(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``start[n]`` and ``band[n, width]`` of ``weights[k, n]``; the width is that of the widest column."""
    rows = len(weights)
    used = weights != 0
    any_used = used.any(axis=0)
    first = np.where(any_used, used.argmax(axis=0), 0)
    behind = np.where(any_used, rows - used[::-1].argmax(axis=0), 0)
    width = max(int((behind - first).max(initial=1)), 1)
    start = np.minimum(first, rows - width)
    return start, weights[start[:, None] + np.arange(width), np.arange(weights.shape[1])[:, None]]


def is_banded(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` without zero points whose second matrix is constant and a narrow band, also in
    comparison with vectors that take it whole."""
    node, weights = ctx.contraction
    if weights is None or weights.ndim != 2 or 0 in weights.shape or len(operand(node, 0).shape) < 2:
        return False
    if zero_point(node.attrs) or zero_point(node.attrs, "rhs_zero_point"):
        return False
    widest = weights.shape[0] // max(_LEAST_SAVED, *ctx.cpu.f32_lanes)
    return band(weights[:, :1])[1].shape[1] <= widest and band_width(ctx) <= widest


def band_width(ctx: KernelContext) -> int:
    """Elements that are added up for a result."""
    _, weights = ctx.contraction
    assert weights is not None
    return band(weights)[1].shape[1]


def lower_banded(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_banded` holds."""
    node, weights = ctx.contraction
    assert weights is not None
    nest = NestAdapter(ctx)
    start, rows = band(weights)
    starts = ctx.pack("start", start.astype(np.uint16 if len(weights) <= 1 << 16 else np.int32))
    packed = ctx.pack("band", rows)
    a, bias, dtype = operand(node, 0), optional(node, 2), accumulator_dtype(node.output.dtype)

    def element(at: Index) -> Block:
        *batch, n = at
        lets = Lets(nest)
        first = lets.bind("first", convert(starts[n], INDEX.dtype))
        acc, init = accumulator(nest, "acc", dtype, 0 if bias is None else read_as(nest, bias, (n,), dtype))

        def term(k: Expr) -> Block:
            value = read_as(nest, a, (*batch, first + k), dtype)
            return (accumulate("add", acc, value * convert(packed[n, k], dtype)),)

        total = serial_loop(nest, "k", rows.shape[1], term)
        return (*lets.block, *init, *total, *write_as(nest, node.output, at, acc[0]))

    stems = (*dim_stems(node.output.type.rank - 1), "n")
    return ctx.vectorized(loops(nest, stems, node.output.shape, element))
