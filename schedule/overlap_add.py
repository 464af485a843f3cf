"""Overlapping blocks added up to an image on machines with vectors: whole channels, or line by line.

The plain nest collects what blocks add to one element, for which it divides by strides. Here all that blocks add to a
line of the image is neighbours added to neighbours; with a stride s, a line is kept as s lines, of every s-th element::

    for each channel:
      image[...] = 0                                                # with the padding
      for kh, kw: for each block h, w:
        image[h * stride + kh * dilation, kw * dilation mod s, kw * dilation div s + w] += x[kh, kw, h, w]
      y[h, w] = image[h + pad, (w + pad) mod s, (w + pad) div s]

Blocks are read as they lie in memory. A channel that would not stay in the nearest cache is computed line by line, each
of the taps and blocks that reach it. Both ways add the same terms to an element, in the order of the plain nest.
"""

from __future__ import annotations

from math import prod

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import Block, Buffer
from ..ops.attributes import ints
from ..ops.nest_tools import (
    Index,
    Lets,
    accumulator_dtype,
    dim_stems,
    loops,
    operand,
    read_as,
    serial_loops,
    spatial_stems,
    write_as,
)
from ..ops.opdef import NestContext
from ..ops.windows_nest import WindowDim, tap_loops, transposed_taps
from .generic import NestAdapter
from .kernel import KernelContext

NEAR = 32 << 10
"""Bytes of a channel that is kept while all blocks are added."""


def lower_overlap_add(ctx: KernelContext) -> Block:
    """``col2im``, on a machine that has vectors."""
    assert ctx.anchor is not None
    return ctx.vectorized(_OverlapAdd(NestAdapter(ctx), ctx.anchor).emit(), once=True)


class _OverlapAdd:
    """The last ``len(kept)`` dimensions are those of which sums are kept; taps and blocks that reach a place in the
    ``others`` are found for each."""

    def __init__(self, ctx: NestContext, node: Node) -> None:
        self.ctx, self.node, self.x = ctx, node, operand(node, 0)
        image = ints(node.attrs, "image")
        stride, pad, dilation = (ints(node.attrs, name) for name in ("stride", "pad", "dilation"))
        spatial, self.dtype = len(image), accumulator_dtype(self.x.dtype)
        kernel, counts = self.x.shape[2 : 2 + spatial], self.x.shape[2 + spatial :]
        dims = tuple(map(WindowDim, counts, image, kernel, stride, pad[:spatial], pad[spatial:], dilation))
        self.last = dims[-1]
        near = prod(map(_padded, dims)) * self.dtype.size <= NEAR
        self.others, self.kept = ((), dims) if near else (dims[:-1], dims[-1:])

    def emit(self) -> Block:
        outer = 2 + len(self.others)
        stems = ("n", "c", *spatial_stems("o", len(self.others)))
        return loops(self.ctx, stems, self.node.output.shape[:outer], self._sums)

    def _sums(self, at: Index) -> Block:
        ctx, lets, rank = self.ctx, Lets(self.ctx), len(self.kept)
        shape = (*map(_padded, self.kept[:-1]), self.last.stride, -(-_padded(self.last) // self.last.stride))
        sums, allocated = ctx.scratch("sums", self.dtype, shape)
        taps = tuple(transposed_taps(dim, o, lets.bind) for dim, o in zip(self.others, at[2:]))

        def add(tap: Index, block: Index) -> Block:
            stems, extents = spatial_stems("k", rank), [dim.kernel for dim in self.kept]
            return serial_loops(ctx, stems, extents, lambda inner: self._add(sums, at[:2], (tap, inner), block))

        def result(inner: Index) -> Block:
            *places, place = (o + dim.pad for o, dim in zip(inner, self.kept))
            total = sums[(*places, place % self.last.stride, place // self.last.stride)]
            return write_as(ctx, self.node.output, (*at, *inner), total)

        cleared = serial_loops(ctx, dim_stems(len(shape)), shape, lambda place: (store(sums[place], 0),))
        written = loops(ctx, spatial_stems("o", rank), [dim.out for dim in self.kept], result)
        return (*allocated, *lets.block, *cleared, *tap_loops(ctx, taps, add), *written)

    def _add(self, sums: Buffer, channel: Index, tap: tuple[Index, Index], block: Index) -> Block:
        """What all blocks along the kept dimensions add by one tap of the others and one of these."""
        lets, inner = Lets(self.ctx), tap[1]
        reach = inner[-1] * self.last.dilation
        phase = lets.bind("phase", reach % self.last.stride)
        start = lets.bind("start", reach // self.last.stride)

        def element(b: Index) -> Block:
            places = (i * dim.stride + k * dim.dilation for i, k, dim in zip(b[:-1], inner, self.kept))
            total = sums[(*places, phase, start + b[-1])]
            term = read_as(self.ctx, self.x, (*channel, *tap[0], *inner, *block, *b), self.dtype)
            return (store(total, total + term),)

        return (*lets.block, *serial_loops(self.ctx, dim_stems(len(self.kept)), [d.size for d in self.kept], element))


def _padded(dim: WindowDim) -> int:
    """The extent of the image with its padding."""
    return dim.pad + dim.out + dim.pad_end
