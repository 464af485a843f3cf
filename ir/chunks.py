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

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod

from .loops import Block, Buffer, Expr, For, Kernel, LoopKind, Var, const_value
from .loops_rewrite import map_accesses


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


def with_own_memory(block: Block, names: Collection[str], chunk: Sequence[Var], extents: Sequence[int]) -> Block:
    """``block`` with memory of each chunk's own behind the ``names``: as many times as large, along dimensions in front
    that the numbers of its passage, ``chunk``, go through."""

    def place(buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        if buffer.name not in names:
            return buffer, index
        return replace(buffer, shape=(*extents, *buffer.shape)), (*chunk, *index)

    return map_accesses(block, place)


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
