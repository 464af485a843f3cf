"""Convolutions in groups on a copy of what a group sees, border included.

                                                    part = zero points
    for group:                                      for group:
      for tiles of pixels:                            the group's channels of x within part
        stage what they see, tap by tap        ->     for tiles of pixels:
        multiply                                        stage what they see, row of taps by row of taps
                                                        multiply

In the copy the taps of a row lie side by side, and none is beyond a border.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ...ir.build import store
from ...ir.loops import I8, Block, Expr, Load, Var
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ..block_contraction import Contraction
from ..kernel import KernelContext
from ..tensors import TensorRef
from ..window import Window

WORD = 4
SHARE = 4
"""A copy takes at most this part of the operand."""


def gathered(ctx: KernelContext, merged: int) -> Contraction:
    """The contraction that takes so many groups as one; on a copy, where that is small and holds what is not side by
    side."""
    work = _Gathered(ctx, merged=merged)
    return work if work.is_worth_it else Contraction(ctx, merged=merged)


class _Gathered(Contraction):
    def __init__(self, ctx: KernelContext, *, merged: int) -> None:
        super().__init__(ctx, merged=merged)
        self.source, self.seen = self.x, self.window
        self.borders: Block = ()
        if self.window.kernel:
            self.window = _bordered(self.window)

    @property
    def is_worth_it(self) -> bool:
        seen = self.seen
        if prod(seen.kernel) == 1 or seen.depth == seen.channels or seen.depth % WORD or self.one_pixel:
            return False
        small = SHARE * prod(self.window.extent) * seen.depth <= prod(seen.extent) * seen.channels
        return small and not self.ctx.by_rows

    def gather(self) -> Block:
        window, names, batches = self.window, self.names, self.source.shape[0]
        part = self.ctx.temporary("part", DType.I8, (batches, *window.extent, window.depth), align=WORD)
        self.x = TensorRef.whole(part)
        if window.extent != self.seen.extent:
            self.borders = _loops(self, part.shape, lambda index: (store(part[index], I8(self.zero)),))
        word = Var(names.fresh("word"))

        def copy(index: tuple[Expr, ...]) -> Block:
            place = (index[0], *(i + pad for i, pad in zip(index[1:], self.seen.pad, strict=True)))
            four = Load(self.source.buffer, self.source.at((*index, word * WORD)), WORD)
            return loop(word, window.depth // WORD, store(part[(*place, word * WORD)], four))

        return _loops(self, (batches, *self.seen.extent), copy)

    def over_groups(self, block: Block) -> Block:
        """Borders are the same for all groups."""
        return (*self.borders, *super().over_groups(block))


def _bordered(window: Window) -> Window:
    """``window`` on an input with all that it sees beyond the border."""
    extents = []
    for kernel, stride, dilation, pad, extent, outputs in zip(
        window.kernel, window.stride, window.dilation, window.pad, window.extent, window.outputs, strict=True
    ):
        extents.append(max(pad + extent, (outputs - 1) * stride + (kernel - 1) * dilation + 1))
    return replace(window, pad=(0,) * len(extents), extent=tuple(extents), channels=window.depth)


def _loops(work: Contraction, shape: Sequence[int], body: Callable[[tuple[Expr, ...]], Block]) -> Block:
    variables = [Var(work.names.fresh("i")) for _ in shape]
    block = body(tuple(variables))
    for variable, extent in reversed(list(zip(variables, shape, strict=True))):
        block = loop(variable, extent, *block)
    return block
