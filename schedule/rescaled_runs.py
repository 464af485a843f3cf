"""Sums of what a contraction left as bytes in scratch memory and another tensor, run by run through a block instruction
(``blocks/rescaling.py``)::

    for slot, c:                                                         for some neighbouring pixels:
      y[.., c] = clamp((x[.., c] * m1 + values[slot, c] * m2 + bias)  ->   invoke the block for all of their channels
                       >> shift)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..blocks import has_block
from ..blocks.rescaling import SHIFT, TOGETHER
from ..ir.graph import Node, Value
from ..ir.loops import Block, Buffer, Expr, Invoke, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import integer
from ..record import record
from .kernel import KernelContext
from .tensors import TensorRef

BLOCK = "rescale_run"


@record
class Rescaling:
    """``clamp((other * m + value * own + bias) >> SHIFT)`` of bytes, for every element."""

    other: TensorRef
    y: TensorRef
    m: int
    own: int
    bias: int

    def pixels(
        self, names: Callable[[str], str], values: Buffer, count: int, index: Callable[[Expr, int], Sequence[Expr]],
        together: int, begin: Expr | int = 0,
    ) -> Block | None:  # fmt: skip
        """The loop over ``count`` pixels of ``values`` from ``begin`` on, of which as many as ``together`` are
        neighbours in the tensors; ``index`` is the place of a channel of each. ``None`` where their channels are no
        whole steps."""
        channels = values.shape[-1]
        if together > 1 and not all(ref.buffer.shape[-1] == channels for ref in (self.other, self.y)):
            together = 1
        if channels * together % TOGETHER:
            return None
        run = Var(names("run"))
        first = run * together
        place = index(first, 0)
        pointers = (
            Pointer(self.other.buffer, self.other.at(tuple(place))),
            Pointer(values, (begin + first, as_expr(0))),
            Pointer(self.y.buffer, self.y.at(tuple(place))),
        )
        scalars = (channels * together, self.m, self.own, self.bias)
        return loop(run, count // together, Invoke(BLOCK, pointers, scalars))


def rescaling_behind(ctx: KernelContext, refs: dict[str, TensorRef], done: str | None) -> Rescaling | None:
    """What follows the value ``done`` of the body, where it is the sum with one more tensor of bytes and nothing else,
    by factors that leave 32 bits room for :data:`SHIFT`."""
    node = ctx.body.nodes[-1]
    if done is None or node.op != "rescale" or len(ctx.body.nodes) != 3 or len(node.operands) != 2:
        return None
    if not has_block(BLOCK, ctx.cpu.extensions) or "mve" in ctx.cpu.extensions:
        return None
    own = [value.name == done for value in node.operands]
    if own.count(True) != 1 or not _is_byte_sum(ctx, node):
        return None
    other = refs.get(node.operands[own.index(False)].name)
    factors = _factors(node)
    if other is None or factors is None or other.buffer.dtype is not DType.I8:
        return None
    m = factors if own[1] else (factors[1], factors[0], factors[2])
    return Rescaling(other, refs[ctx.output.name], *m)


def _is_byte_sum(ctx: KernelContext, node: Node) -> bool:
    """Whether operands and result are signed bytes in one shape, and results are clamped to bytes alone."""
    values: tuple[Value, ...] = (*node.operands, node.output)
    same = all(value.dtype is DType.I8 and value.shape == ctx.output.shape for value in values)
    return same and (integer(node.attrs, "lo"), integer(node.attrs, "hi")) == (-128, 127)


def _factors(node: Node) -> tuple[int, int, int] | None:
    """Both factors and the bias, for :data:`SHIFT`."""
    left = SHIFT - integer(node.attrs, "shift")
    m1, m2, bias = (integer(node.attrs, name) << max(left, 0) for name in ("m1", "m2", "bias"))
    fits = 128 * (abs(m1) + abs(m2)) + abs(bias) < 1 << 31
    return (m1, m2, bias) if left >= 0 and fits else None
