"""The body behind an anchor whose results a block instruction left in scratch memory, pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import ge
from ..ir.loops import Block, Expr, If, Var
from ..ir.loops_rewrite import loop
from .kernel import KernelContext
from .tensors import TensorRef


def pixels_epilogue(
    ctx: KernelContext, refs: dict[str, TensorRef], shape: tuple[int, int], value: Callable[[Expr, Expr], Expr],
    index: Callable[[Expr, Expr], Sequence[Expr]], done: str | None = None, again: Expr | None = None,
) -> Block:  # fmt: skip
    """The loop over a ``shape`` of pixels and channels: ``value`` is what scratch memory has of each, the anchor's
    result or that of the value ``done`` of the body, and ``index`` its place in the output. The first ``again`` pixels
    were finished before."""
    slot, c = Var(ctx.names.fresh("slot")), Var(ctx.names.fresh("c"))
    block = loop(c, shape[1], *ctx.store_element(index(slot, c), value(slot, c), refs, done))
    return loop(slot, shape[0], *(block if again is None else (If(ge(slot, again), block),)))
