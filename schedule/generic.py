"""Kernels without a generator of their own: the plain nest of the operator, then vectorized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ..ir.build import store
from ..ir.graph import Node, Value
from ..ir.loops import Alloc, Block, Buffer, Expr, Space, Type, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.opdef import Kind
from ..ops.table import OPS
from .body import Body, is_copy, table_names
from .border_pieces import without_idle_choices
from .greatest_of_rows import greatest_of_rows
from .kernel import KernelContext
from .parts import Part, parts
from .tensors import TensorRef, merge_dimensions

_STACK_BYTES = 256
"""Scratch memory up to this size is on the stack."""


def lower_nest(ctx: KernelContext) -> Block:
    """The anchor's nest from the operator table, with the body behind it fused into the stores."""
    node = ctx.anchor
    assert node is not None
    nest = OPS[node.op].nest
    assert nest is not None, node.op
    return ctx.vectorized(greatest_of_rows(nest(NestAdapter(ctx), node), ctx.cpu, ctx.names), once=True)


class NestAdapter:
    """The :class:`NestContext` of a kernel."""

    def __init__(self, ctx: KernelContext) -> None:
        self.ctx = ctx

    def read(self, value: Value, index: Sequence[Expr]) -> Expr:
        ref = self.ctx.refs[value.name]
        return ref[index]

    def computed(self, value: Value, index: Sequence[Expr]) -> tuple[Block, Expr]:
        body = Body(self.ctx.body, self.ctx.refs, self.ctx.names)
        element = body.element(value, index)
        return tuple(body.lets), element

    def write(self, value: Value, index: Sequence[Expr], element: Expr) -> Block:
        """The body applied to the result that it begins with; another result is stored, or not needed at all."""
        if value.name in self.ctx.refs:
            ref = self.ctx.refs[value.name]
            return (store(ref[index], element),)
        return self.ctx.store_element(index, element) if value.name == self.ctx.result.name else ()

    def scratch(self, stem: str, dtype: DType, shape: Sequence[int]) -> tuple[Buffer, Block]:
        """On the stack where it is small, else in the arena. Vectors are not to lie across two lines of the cache:
        what was just stored could not be forwarded to loads."""
        if prod(shape) * dtype.size > _STACK_BYTES:
            return self.ctx.temporary(stem, dtype, shape), ()
        buffer = Buffer(self.fresh(stem), Type(dtype), tuple(shape), Space.STACK, align=self._align)
        return buffer, (Alloc(buffer),)

    @property
    def _align(self) -> int:
        """Bytes of a vector. Microcontrollers have no such caches, and align the stack to 8."""
        lanes = max(self.ctx.cpu.f32_lanes)
        return 0 if lanes == 1 or self.ctx.cpu.microcontroller else 4 * lanes

    def fresh(self, stem: str) -> str:
        return self.ctx.names.fresh(stem)


def lower_pointwise(ctx: KernelContext) -> Block:
    """A group without anchor: one pass over the output, or one over each part that concatenations in it have."""
    passes = [_part(ctx, part) for part in parts(ctx.body, ctx.output)] or [_whole(ctx)]
    return tuple(stmt for block in passes for stmt in ctx.vectorized(without_idle_choices(block), once=True))


def _whole(ctx: KernelContext) -> Block:
    shape, refs = ctx.output.shape, ctx.refs
    if all(_keeps_places(node, shape) for node in ctx.body.nodes):
        tables = table_names(ctx.body)
        visible = ({v.name for n in ctx.body.nodes for v in n.operands} | {ctx.output.name}) - tables
        joined = {name: ref for name, ref in refs.items() if name in visible}
        shape, merged = merge_dimensions(shape, joined, rows_apart=ctx.by_rows)
        refs = {**refs, **merged}
    return _loops(ctx, shape, lambda index: _assign(ctx, index, refs))


def _keeps_places(node: Node, shape: tuple[int, ...]) -> bool:
    """Whether elements of ``shape`` come from those in the same places, or are repeated as pointwise operators do."""
    return node.output.shape == shape and (is_copy(node) or OPS[node.op].kind is Kind.POINTWISE)


def _part(ctx: KernelContext, part: Part) -> Block:
    """The loops over a part: no choice among the operands of a concatenation is left inside them."""
    shape = [part.extent if axis == part.axis else extent for axis, extent in enumerate(ctx.output.shape)]

    def assign(index: Sequence[Expr]) -> Block:
        there = [i + part.start if axis == part.axis else i for axis, i in enumerate(index)]
        return _assign(ctx, there, ctx.refs, part.operands)

    return _loops(ctx, shape, assign)


def _assign(
    ctx: KernelContext, index: Sequence[Expr], refs: dict[str, TensorRef], chosen: Mapping[str, int] | None = None
) -> Block:
    body = Body(ctx.body, refs, ctx.names, chosen=chosen)
    value = body.element(ctx.output, index)
    out = refs[ctx.output.name]
    return (*body.lets, store(out[index], value))


def _loops(ctx: KernelContext, shape: Sequence[int], body: Callable[[Sequence[Expr]], Block]) -> Block:
    axes = [Var(ctx.names.fresh("i")) for _ in shape]
    index = [axis if extent > 1 else as_expr(0) for axis, extent in zip(axes, shape)]
    block: Block = body(index)
    for axis, extent in reversed(list(zip(axes, shape))):
        block = loop(axis, extent, *block)
    return block
