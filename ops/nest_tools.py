"""What the nests of anchors are built with: loops over index spaces, accumulators, and names for shared values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..ir.build import convert, store
from ..ir.graph import Node, Value
from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    ExprLike,
    Let,
    LoopKind,
    Space,
    Stmt,
    Store,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..record import record
from .opdef import NestContext

ZERO = INDEX(0)
Index = tuple[Expr, ...]


class Lets:
    """Names values: ``bind`` is the :data:`~ccml.ops.opdef.Bind` of the statements that follow :attr:`block`."""

    def __init__(self, ctx: NestContext) -> None:
        self._ctx = ctx
        self._stmts: list[Stmt] = []

    @property
    def block(self) -> Block:
        return tuple(self._stmts)

    def bind(self, stem: str, value: Expr) -> Expr:
        if isinstance(value, (Var, Const)):
            return value
        var = Var(self._ctx.fresh(stem), value.type)
        self._stmts.append(Let(var, value))
        return var


def loops(
    ctx: NestContext,
    stems: Sequence[str],
    extents: Sequence[ExprLike],
    body: Callable[[Index], Block],
    kind: LoopKind = LoopKind.PARALLEL,
) -> Block:
    """A loop for each extent, the first outermost, around ``body(index)``. An extent of 1 needs no loop."""
    bounds = [as_expr(extent) for extent in extents]
    index = tuple(ZERO if _is_one(bound) else Var(ctx.fresh(stem)) for stem, bound in zip(stems, bounds, strict=True))
    block = body(index)
    for var, bound in zip(reversed(index), reversed(bounds)):
        if isinstance(var, Var):
            block = loop(var, bound, *block, kind=kind)
    return block


def serial_loops(
    ctx: NestContext, stems: Sequence[str], extents: Sequence[ExprLike], body: Callable[[Index], Block]
) -> Block:
    """:func:`loops` whose iterations depend on one another."""
    return loops(ctx, stems, extents, body, LoopKind.SERIAL)


def serial_loop(ctx: NestContext, stem: str, extent: ExprLike, body: Callable[[Expr], Block]) -> Block:
    return serial_loops(ctx, (stem,), (extent,), lambda index: body(index[0]))


def _is_one(bound: Expr) -> bool:
    return isinstance(bound, Const) and bound.value == 1


def dim_stems(rank: int) -> tuple[str, ...]:
    """Loop variables over the dimensions of a tensor: ``i0``, ``i1``, ..."""
    return tuple(f"i{d}" for d in range(rank))


def spatial_stems(prefix: str, rank: int) -> tuple[str, ...]:
    """Loop variables over spatial dimensions: ``oh``, ``ow`` for the prefix ``o``."""
    return tuple(prefix + name for name in "dhw"[-rank:]) if 0 < rank <= 3 else dim_stems(rank)


# ---------------------------------------------------------------- accumulators and scratch


def accumulator_dtype(dtype: DType) -> DType:
    """What sums of ``dtype`` are held in: f16 in f32, 8 and 16 bits in 32 bits (the low bits are the same)."""
    if dtype is DType.F16:
        return DType.F32
    if dtype.is_integer and dtype.size < 4:
        return DType.I32
    return dtype


def register(ctx: NestContext, stem: str, dtype: DType) -> Buffer:
    """A scalar in a register."""
    return Buffer(ctx.fresh(stem), Type(dtype), (1,), Space.REG)


def scratch(ctx: NestContext, stem: str, dtype: DType, *shape: int) -> Buffer:
    """A buffer on the stack."""
    return Buffer(ctx.fresh(stem), Type(dtype), shape, Space.STACK)


def accumulate(op: str, buffer: Buffer, value: Expr) -> Store:
    """``acc = op(acc, value)``: the form in which a reduction is recognised."""
    return store(buffer[0], Binary(op, buffer[0], value))


def accumulator(ctx: NestContext, stem: str, dtype: DType, start: Expr | float) -> tuple[Buffer, Block]:
    """A register, and the statements that allocate it and set it to ``start``."""
    acc = register(ctx, stem, dtype)
    return acc, (Alloc(acc), store(acc[0], start))


# ---------------------------------------------------------------- operands


def operand(node: Node, position: int) -> Value:
    """An operand that must be there."""
    value = node.inputs[position]
    assert value is not None
    return value


def optional(node: Node, position: int) -> Value | None:
    return node.inputs[position] if position < len(node.inputs) else None


def read_as(ctx: NestContext, value: Value, index: Sequence[Expr], dtype: DType, zero_point: int = 0) -> Expr:
    """An element of an operand as ``dtype``, less the zero point of a quantized one."""
    element = convert(ctx.read(value, index), dtype)
    return element - zero_point if zero_point else element


def write_as(ctx: NestContext, value: Value, index: Sequence[Expr], element: Expr) -> Block:
    """Stores ``element`` in the type of the output."""
    return ctx.write(value, index, convert(element, value.dtype))


# ---------------------------------------------------------------- reductions over some dimensions


@record
class AxisSplit:
    """The dimensions of ``shape``, divided into ``axes`` (ascending) and those that stay."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @staticmethod
    def of(value: Value, axes: Sequence[int]) -> AxisSplit:
        return AxisSplit(value.shape, tuple(sorted(axes)))

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.shape)) if d not in self.axes)

    @property
    def count(self) -> int:
        """Elements along the axes."""
        return prod(self.shape[d] for d in self.axes)

    @property
    def innermost(self) -> bool:
        """Whether neighbours along the last of the axes are neighbours in memory."""
        return prod(self.shape[self.axes[-1] + 1 :]) == 1 if self.axes else False

    def kept_loops(self, ctx: NestContext, body: Callable[[Index], Block]) -> Block:
        """Independent loops over the dimensions that stay."""
        return loops(ctx, [f"i{d}" for d in self.kept], [self.shape[d] for d in self.kept], body)

    def axis_loops(self, ctx: NestContext, body: Callable[[Index], Block], kind: LoopKind = LoopKind.SERIAL) -> Block:
        """Loops over the axes."""
        return loops(ctx, [f"r{d}" for d in self.axes], [self.shape[d] for d in self.axes], body, kind)

    def merge(self, kept: Index, along: Index) -> Index:
        """The index in the whole of ``shape``."""
        position = dict(zip((*self.kept, *self.axes), (*kept, *along)))
        return tuple(position[d] for d in range(len(self.shape)))
