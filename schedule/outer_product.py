"""Outer products of floats on machines with vectors: a[M, 1] @ b[1, N] by loops that store whole rows.

Each sum has a single product, so that there is nothing to accumulate in tiles. What is stored is less in the way of
the caches row by row.
"""

from __future__ import annotations

from ..ir.loops import Block
from ..ir.types import DType
from ..ops.nest_tools import Index, dim_stems, loops
from .generic import NestAdapter
from .kernel import KernelContext, has_vectors


def is_outer_product(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``matmul`` of floats over one element, without a bias."""
    node = ctx.anchor
    assert node is not None
    lhs, rhs = node.operands[:2]
    floats = node.output.dtype in (DType.F32, DType.F64) and lhs.dtype is rhs.dtype is node.output.dtype
    plain = len(node.operands) == 2 and min(len(lhs.shape), len(rhs.shape)) >= 2 and lhs.shape[-1] == 1
    return has_vectors(ctx) and floats and plain and {lhs.name, rhs.name} <= ctx.refs.keys()


def lower_outer_product(ctx: KernelContext) -> Block:
    """``matmul``, for which :func:`is_outer_product` holds."""
    assert ctx.anchor is not None
    shape = ctx.anchor.output.shape
    lhs, rhs = (ctx.refs[value.name] for value in ctx.anchor.operands)

    def element(at: Index) -> Block:
        return ctx.store_element(at, lhs[lhs.broadcast_index(at)] * rhs[rhs.broadcast_index(at)])

    return ctx.vectorized(loops(NestAdapter(ctx), dim_stems(len(shape)), shape, element), once=True)
