"""Plain nests of what reads weights that are stored as integers."""

from __future__ import annotations

from ..ir.graph import Node, Value
from ..ir.loops import Block, Expr
from ..ir.types import DType
from .attributes import integer
from .nest_tools import (
    Index,
    accumulate,
    accumulator,
    dim_stems,
    loops,
    operand,
    optional,
    read_as,
    serial_loop,
    write_as,
)
from .opdef import NestContext


def dequantize_blocks(ctx: NestContext, node: Node) -> Block:
    """One element after the other."""
    x, scale, zero = operand(node, 0), operand(node, 1), optional(node, 2)
    axis, block = integer(node.attrs, "axis"), integer(node.attrs, "block")

    def element(at: Index) -> Block:
        place = tuple(i // block if d == axis else i for d, i in enumerate(at))
        return write_as(ctx, node.output, at, _real(ctx, x, at, zero, place) * ctx.read(scale, place))

    return loops(ctx, dim_stems(node.output.type.rank), node.output.shape, element)


def weight_matmul(ctx: NestContext, node: Node) -> Block:
    """Every weight becomes a float on its way."""
    x, w, scale, zero = operand(node, 0), operand(node, 1), operand(node, 2), optional(node, 3)
    block = integer(node.attrs, "block")

    def element(at: Index) -> Block:
        *rows, n = at
        acc, start = accumulator(ctx, "acc", DType.F32, 0.0)

        def term(k: Expr) -> Block:
            place = (k // block, n)
            weight = _real(ctx, w, (k, n), zero, place) * ctx.read(scale, place)
            return (accumulate("add", acc, ctx.read(x, (*rows, k)) * weight),)

        return (*start, *serial_loop(ctx, "k", w.shape[0], term), *write_as(ctx, node.output, at, acc[0]))

    return loops(ctx, dim_stems(node.output.type.rank), node.output.shape, element)


def _real(ctx: NestContext, x: Value, at: Index, zero: Value | None, place: Index) -> Expr:
    stored = read_as(ctx, x, at, DType.F32)
    return stored if zero is None else stored - read_as(ctx, zero, place, DType.F32)
