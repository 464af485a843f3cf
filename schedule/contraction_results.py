"""Where the results of a contraction through block instructions go, and what follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from math import prod
from typing import Self

from ..ir.loops import Block, Buffer, Expr, Pointer, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .epilogue import pixels_epilogue
from .kernel import KernelContext
from .names import Names
from .requantization import Requantization
from .rescaled_runs import rescaling_behind
from .tensors import TensorRef

Position = Callable[[Expr], tuple[Expr, ...]]
"""The index of the ``n``-th of some pixels, without the channel."""


class Results:
    """``channels`` of each pixel of a ``shape``, from channel ``first`` of the output on; those of one ``group`` of
    ``groups``, which is the variable of a loop. ``refs`` are the tensors of the kernel under that shape, ``y`` is where
    the channels go, ``requantization`` what follows first, if it is one that blocks compute."""

    ctx: KernelContext
    names: Names
    refs: dict[str, TensorRef]
    shape: tuple[int, ...]
    y: TensorRef
    channels: int
    requantization: Requantization | None
    groups: int = 1
    group: Expr = as_expr(0)
    first: Expr = as_expr(0)

    def place(self, position: Sequence[Expr]) -> tuple[Expr, ...]:
        """Where in the output the result of a pixel is, without the channel."""
        return tuple(position)

    @property
    def step(self) -> int:
        """How far neighbouring pixels of a row are apart in the output."""
        return 1

    @property
    def neighbours(self) -> bool:
        """Whether the results of neighbouring pixels are neighbours in the output."""
        return self.step == 1 and self.y.buffer.shape[-1] == self.channels

    @property
    def one_pixel(self) -> bool:
        """Whether there is only one pixel."""
        return prod(self.shape) == 1

    def over_groups(self, block: Block) -> Block:
        """The loop over all groups."""
        return loop(self.group, self.groups, *block) if isinstance(self.group, Var) else block

    def trial(self) -> Self:
        """The same work in a kernel that is not kept."""
        return self.inside(self.ctx.trial())

    def inside(self, ctx: KernelContext) -> Self:
        """The same work in another kernel."""
        other = copy(self)
        other.ctx, other.names = ctx, ctx.names
        return other

    # ---- the kernel

    def outputs(self, position: Position, count: int) -> tuple[Pointer, ...]:
        """Where the results of ``count`` pixels go."""
        places = (self.place(position(as_expr(slot))) for slot in range(count))
        return tuple(Pointer(self.y.buffer, self.y.at((*place, 0))) for place in places)

    def scratch(self, pixels: int, align: int = 0) -> Buffer:
        """Memory for what the epilogue takes: bytes [pixel, channel], or accumulators where none are requantized."""
        sums = self.requantization is None
        dtype = DType.I32 if sums else DType.I8
        return self.ctx.temporary("acc" if sums else "bytes", dtype, (pixels, self.channels), align=align)

    def epilogue(
        self, values: Buffer, count: int, position: Position, again: Expr | None = None, together: int = 1,
        bias: Buffer | None = None, begin: Expr | int = 0,
    ) -> Block:  # fmt: skip
        """What of the body is left behind ``count`` pixels of ``values`` from ``begin`` on, to which the ``bias`` of
        each channel is added, but for the first ``again``. As many as ``together`` are neighbours in a row."""
        done = None if self.requantization is None else self.requantization.value

        def index(slot: Expr, c: Expr) -> tuple[Expr, ...]:
            return (*self.place(position(slot)), c + self.first)

        def value(slot: Expr, c: Expr) -> Expr:
            found = values[begin + slot, c]
            return found if bias is None else found + bias[c]

        rescaling = rescaling_behind(self.ctx, self.refs, done) if again is None else None
        if rescaling is not None:
            runs = rescaling.pixels(
                self.names.fresh, values, count, lambda slot, c: index(slot, as_expr(c)), together, begin
            )
            if runs is not None:
                return runs
        block = pixels_epilogue(self.ctx, self.refs, (count, self.channels), value, index, done, again)
        return self.ctx.rolled(block)
