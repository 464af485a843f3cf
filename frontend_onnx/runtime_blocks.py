"""Col2Im with the extents of the image or of its blocks computed at run time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from ..ir.graph import Value
from .context import NodeContext, Rule
from .runtime_choices import Choice, select, with_operands

MAX_ELEMENTS = 1 << 14
"""Larger blocks are not divided into their possible extents."""


def over_any_blocks(rule: Rule) -> Rule:
    """The result's shape tells the image, and how many elements a block has; the operand selects its extents."""

    def extended(ctx: NodeContext) -> Sequence[Value]:
        if not ctx.runtime(1, 2):
            return rule(ctx)
        shape, x = ctx.declared_shape("the image or the block", (1, 2)), ctx.input(0)
        image = shape[2:]
        if len(x.shape) != 3 or not image or shape[1] < 1 or ctx.input(1).type.size != len(image):
            raise ctx.invalid(f"{x.type} cannot become an image of the declared shape {list(shape)}")
        known = with_operands(ctx, {1: image})
        if not ctx.runtime(2):
            return rule(known)
        given = ctx.input(2)
        if given.type.size != len(image):
            raise ctx.invalid(f"blocks {given.type} do not fit an image {list(image)}")
        if x.shape[1] // shape[1] > MAX_ELEMENTS:
            raise ctx.unsupported(f"blocks of {x.shape[1] // shape[1]} elements computed at run time")
        choices = []
        for block in _blocks(ctx, image, x.shape[1] // shape[1], x.shape[2]):
            apart = ctx.emit("abs", ctx.emit("sub", given, ctx.constant(np.asarray(block, given.dtype.numpy))))
            furthest = ctx.emit("reduce", apart, kind="max", axes=(0,), keepdims=False)
            choices.append(
                Choice(ctx.emit("eq", furthest, ctx.scalar(0, furthest)), with_operands(known, {2: block}))
            )  # fmt: skip
        return select(ctx, choices, rule)

    return extended


def _blocks(ctx: NodeContext, image: Sequence[int], elements: int, blocks: int) -> Iterator[tuple[int, ...]]:
    """Extents of blocks with so many elements, of which so many lie in the image."""
    spatial = len(image)
    ones = (1,) * spatial
    stride, dilation = ctx.integers("strides", ones), ctx.integers("dilations", ones)
    pad = ctx.integers("pads", (0,) * 2 * spatial)
    for block in _products(elements, [e + pad[d] + pad[spatial + d] for d, e in enumerate(image)]):
        room = [e + pad[d] + pad[spatial + d] - (block[d] - 1) * dilation[d] - 1 for d, e in enumerate(image)]
        if min(room) >= 0 and prod(rest // step + 1 for rest, step in zip(room, stride)) == blocks:
            yield block


def _products(number: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Factors of ``number`` within the limits."""
    if not limits:
        if number == 1:
            yield ()
        return
    for factor in range(1, min(number, limits[0]) + 1):
        if number % factor == 0:
            yield from ((factor, *rest) for rest in _products(number // factor, limits[1:]))
