"""Integer contractions through block instructions: pixels staged two at a time, multiplied by all channels.

Before::                                  After::

    for o, row, c:                            for o, pair:
      acc = bias[c]                             for slot:2
      for k: acc += x[o, row, k] * w[c, k]        stage the activations of pixel ``pair * 2 + slot``
      y[o, row, c] = requantize(acc)            invoke pair_i8(weights, staged, both pixels of y)

Where more than an exact requantization follows, the accumulators are left in scratch memory and the kernel's own body
finishes them. A single pixel (a fully connected layer) is not staged: its activations are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ..ir.blocks import PAIR_TILE, SINGLE_TILE
from ..ir.graph import Node
from ..ir.loops import Binary, Block, Buffer, Expr, If, Invoke, Load, Pointer, Var, as_expr, loop
from ..ir.types import DType
from ..ops.integer import zero_point
from ..targets.target import Cpu
from .contraction import join_rows
from .kernel import KernelContext
from .requantization import Requantization, requantization_of
from .staging import Staging, Window


def is_staged(cpu: Cpu, anchor: Node) -> bool:
    """Whether a contraction (with constant weights) goes through block instructions; then it needs no halo."""
    x, w = anchor.inputs[0], anchor.inputs[1]
    if "pair_i8" not in cpu.features or x is None or w is None:
        return False
    if x.dtype is not DType.I8 or w.dtype is not DType.I8 or prod(anchor.output.shape) == 0 or x.shape[-1] == 0:
        return False
    if anchor.op == "conv":
        return anchor.attrs["layout"] == "channels_last" and anchor.attrs["group"] == 1
    plain = anchor.op == "matmul" and zero_point(anchor.attrs, "rhs_zero_point") == 0
    return plain and len(x.shape) >= 2 and len(w.shape) == 2


def lower_staged(ctx: KernelContext) -> Block | None:
    """``conv`` (one group, channels last) or ``matmul`` of int8 with constant weights, on CPUs with the blocks."""
    node = ctx.anchor
    assert node is not None
    weights = ctx.constant(node.inputs[1])
    if weights is None or not is_staged(ctx.cpu, node):
        return None
    return _Staged(ctx, node, weights).emit()


class _Staged:
    """``channels`` columns [o, k] over the ``shape`` of pixels."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray) -> None:
        self.ctx, self.node, self.names = ctx, node, ctx.names
        x = node.inputs[0]
        assert x is not None
        window = Window.of(node)
        self.refs = dict(ctx.refs)
        self.shape = node.output.shape[:-1]
        self.channels = node.output.shape[-1]
        if window.pointwise:
            joined, merged = join_rows(ctx, node, x, self.channels)
            self.shape, self.refs = joined[:-1], {**self.refs, **merged}
            window = Window.pixel(x.shape[-1])
        columns = weights.T if node.op == "matmul" else weights.reshape(self.channels, -1)
        self.columns = np.zeros((self.channels, -(-columns.shape[1] // 4) * 4), np.int8)
        self.columns[:, : columns.shape[1]] = columns
        self.groups = self.columns.shape[1] // 4
        self.bias = self._bias(columns)
        self.requantization = self._requantization()
        self.staging = Staging(ctx, self.refs[x.name], window, zero_point(node.attrs))

    def _bias(self, columns: np.ndarray) -> np.ndarray:
        """With the zero point of the activations: ``sum((x - z) * w) = sum(x * w) - z * sum(w)``."""
        given = self.ctx.constant(self.node.inputs[2]) if len(self.node.inputs) > 2 else None
        base = 0 if given is None else np.broadcast_to(given.astype(np.int64).reshape(-1), (self.channels,))
        return base - zero_point(self.node.attrs) * columns.astype(np.int64).sum(axis=1)

    def _requantization(self) -> Requantization | None:
        reach = np.abs(self.bias) + 128 * np.abs(self.columns.astype(np.int64)).sum(axis=1)
        return requantization_of(self.ctx, reach, 2**21)

    def _stream(self, tile: int) -> Buffer:
        """The weights as ``ir/blocks.py`` describes them."""
        words = np.ascontiguousarray(self.columns).view("<i4")
        full = self.channels // tile * tile
        parts = []
        for start in (*range(0, full, tile), *range(full, self.channels)):
            stop = start + (tile if start < full else 1)
            parts += [self.bias[start:stop].astype(np.int32), words[start:stop].T.reshape(-1)]
            if self.requantization is not None:
                parts.append(np.ascontiguousarray(self.requantization.scale[start:stop]).view(np.int32))
        return self.ctx.pack("w", np.concatenate(parts).astype(np.int32))

    # ---- loops

    def emit(self) -> Block:
        return self._single() if prod(self.shape) == 1 else self._pairs()

    def _single(self) -> Block:
        origin = tuple(as_expr(0) for _ in self.shape)
        before, x = self.staging.bytes(origin)
        w, y = self._stream(SINGLE_TILE), self.refs[self.ctx.output.name]
        rq = self.requantization
        if rq is not None:
            out = Pointer(y.buffer, y.at((*origin, 0)))
            block = Invoke("single_i8", (_start(w), x, out), (self.groups, self.channels, rq.zero_point))
            return (*before, block)
        acc = self.ctx.temporary("acc", DType.I32, (1, self.channels))
        block = Invoke("single_i32", (_start(w), x, _start(acc)), (self.groups, self.channels))
        return (*before, block, *self._finish(acc, as_expr(0), origin))

    def _pairs(self) -> Block:
        """Two neighbours of a row at a time, or of all pixels where a row is odd. Where a pixel would be left, the
        last pair begins one pixel earlier and computes that one ``again``."""
        nested = len(self.shape) == 1 or self.shape[-1] % 2 == 0
        outer = [Var(self.names.fresh("o")) for _ in self.shape[:-1]] if nested else []
        pixels = self.shape[-1] if nested else prod(self.shape)
        pair = Var(self.names.fresh("pair"))
        again = pair // (pixels // 2) if pixels % 2 else as_expr(0)
        first = pair * 2 - again

        def position(slot: Expr) -> tuple[Expr, ...]:
            return (*outer, first + slot) if nested else _unflattened(first + slot, self.shape)

        stage = Var(self.names.fresh("slot"))
        staging = self.staging.stage(position(stage), stage)
        multiply = self._multiply(position, again)
        block = loop(pair, (pixels + 1) // 2, *loop(stage, 2, *staging), *multiply)
        for var, extent in reversed(list(zip(outer, self.shape))):
            block = loop(var, extent, *block)
        return (*self.staging.prepare(), *block)

    def _multiply(self, position: Callable[[Expr], Sequence[Expr]], again: Expr) -> Block:
        """All channels of the staged pair. The first ``again`` pixels have been finished before."""
        w, x, y = _start(self._stream(PAIR_TILE)), _start(self.staging.pair), self.refs[self.ctx.output.name]
        rq = self.requantization
        if rq is not None:
            out = (Pointer(y.buffer, y.at((*position(as_expr(slot)), 0))) for slot in range(2))
            return (Invoke("pair_i8", (w, x, *out), (self.groups, self.channels, rq.zero_point)),)
        acc = self.ctx.temporary("acc", DType.I32, (2, self.channels))
        rows = (Pointer(acc, (as_expr(slot), as_expr(0))) for slot in range(2))
        slot = Var(self.names.fresh("slot"))
        finish = self._finish(acc, slot, position(slot))
        if again != as_expr(0):
            finish = (If(Binary("ge", slot, again), finish),)
        return (Invoke("pair_i32", (w, x, *rows), (self.groups, self.channels)), *loop(slot, 2, *finish))

    def _finish(self, acc: Buffer, slot: Expr, position: Sequence[Expr]) -> Block:
        """The body behind the contraction for the accumulators of a pixel."""
        c = Var(self.names.fresh("c"))
        return loop(c, self.channels, *self.ctx.store_element((*position, c), Load(acc, (slot, c)), self.refs))


def _unflattened(pixel: Expr, shape: Sequence[int]) -> tuple[Expr, ...]:
    """The index of the ``pixel``-th of all elements."""
    found: list[Expr] = []
    for dim, extent in enumerate(shape):
        quotient = pixel // prod(shape[dim + 1 :])
        found.append(as_expr(0) if extent == 1 else quotient % extent if prod(shape[:dim]) > 1 else quotient)
    return tuple(found)


def _start(buffer: Buffer) -> Pointer:
    return Pointer(buffer, tuple(as_expr(0) for _ in buffer.shape))
