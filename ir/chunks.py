"""Kernels in chunks: what may run on several threads at once.

The outermost loops of a chunked kernel, as many as its ``chunked`` says, are ``parallel``, have constant extents and
hold nothing but each other. Each passage of the innermost of them is a chunk::

    kernel add(x: f32[100] const, y: f32[100] out) chunked 1
      parallel c:4
        for i:25
          y[c*25 + i] = x[c*25 + i] + 1.0f32

Chunks write and read what no other chunk writes (``ir/independence.py``), so that who runs them, and in which order,
changes nothing. Printers make a function of one chunk of such a kernel, which takes the numbers of its passage.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from .loops import For, Kernel, LoopKind, const_value


def chunk_loops(kernel: Kernel) -> tuple[For, ...]:
    """The loops whose passages are the chunks of ``kernel``, the outermost first; none where it is not chunked."""
    found: list[For] = []
    body = kernel.body
    for _ in range(kernel.chunked):
        (loop,) = body
        assert isinstance(loop, For) and loop.kind is LoopKind.PARALLEL
        found.append(loop)
        body = loop.body
    return tuple(found)


def chunk_extents(kernel: Kernel) -> tuple[int, ...]:
    """How many passages these loops have."""
    return tuple(int(const_value(loop.extent) or 0) for loop in chunk_loops(kernel))


def chunk_count(kernel: Kernel) -> int:
    """How many chunks there are; 1 where the kernel is not chunked."""
    return prod(chunk_extents(kernel))


def chunk_strides(kernel: Kernel) -> tuple[int, ...]:
    """By how many chunks the next passage of each of the loops is further on."""
    extents = chunk_extents(kernel)
    return tuple(prod(extents[number + 1 :]) for number in range(len(extents)))


def kernel_of_chunk(kernel: Kernel) -> Kernel:
    """The kernel that computes one chunk; the numbers of its passage are its scalars.

    ::

        kernel add(x: f32[100] const, y: f32[100] out, c: index)
          for i:25
            y[c*25 + i] = x[c*25 + i] + 1.0f32
    """
    loops = chunk_loops(kernel)
    if not loops:
        return kernel
    return replace(kernel, body=loops[-1].body, scalars=tuple(loop.var for loop in loops), chunked=0)
