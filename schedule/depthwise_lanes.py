"""The loops of a depthwise convolution: lanes are channels, neighbouring outputs share the inputs that they load.

For a block of ``rows`` outputs along the width, each input column under the block is loaded once per kernel row and
multiplied into every output that sees it. Where registers allow, a block has two such rows of outputs, one below the
other: what both see is loaded, and brought into the type of the sums, once, and there are twice as many sums that do
not wait for each other.

All channels of a block come one behind the other, so that each pixel under it, and each tap, is a stream of its own:
more than the hardware follows. Where the second cache does not keep them, their lines are fetched some vectors ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil, prod

import numpy as np

from ..ir.build import store
from ..ir.graph import Node
from ..ir.loops import (
    Alloc,
    Block,
    Buffer,
    Call,
    Convert,
    Expr,
    ExprLike,
    Let,
    Load,
    Pointer,
    Prefetch,
    Space,
    Stmt,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop, loop_index, map_block
from ..ir.types import DType
from ..ops.attributes import ints
from ..targets.target import Cpu
from .blocking import pieces
from .byte_operands import Columns
from .contraction_loops import KEPT
from .kernel import KernelContext
from .vectorize import stripes

EXACT_FLOATS = 1 << 24
"""Whole numbers below it are float32."""
AHEAD = 4
"""Vectors of channels between what is multiplied and what is fetched."""
COMPACT_WIDTH = 2
"""Outputs along the width in a block of compact code."""


def block_width(cpu: Cpu, outputs: int, kernel: int) -> int:
    """Outputs along the width to compute together: as many as registers allow, in blocks of equal size."""
    budget = (cpu.registers.vector or cpu.registers.scalar - 4) - kernel - 2
    most = max(1, min(budget, 8 if cpu.registers.vector > 16 else 4))
    if cpu.compact:
        return max(width for width in range(1, most + 1) if outputs % width == 0 and width <= COMPACT_WIDTH)
    return ceil(outputs / ceil(outputs / most))


def block_height(cpu: Cpu, width: int, kernel: Sequence[int], stride: int, dilation: int, registers: int) -> int:
    """Rows of ``width`` outputs to compute together, whose accumulators take so many ``registers`` each: two where
    these and the weights that both multiply with an input leave one for that input."""
    if len(kernel) < 2 or cpu.compact or cpu.registers.vector == 0:
        return 1
    *_, height, columns = kernel
    both = 2 if stride % dilation == 0 and stride < height * dilation else 1
    taken = 2 * width * registers + both * columns + 1
    return 2 if taken < cpu.registers.vector else 1


def product_reach(weights: np.ndarray, activation: DType) -> np.ndarray:
    """For each channel of ``weights[channel, ...]`` of integers: what sums of its products never exceed."""
    limits = np.iinfo(activation.numpy)
    sums: np.ndarray = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(axis=1)
    return sums * max(-int(limits.min), int(limits.max))


class Depthwise:
    """The loops of one convolution ``node``, sums of type ``compute``."""

    def __init__(self, ctx: KernelContext, node: Node, weights: np.ndarray, compute: DType) -> None:
        self.ctx, self.node, self.names, self.compute = ctx, node, ctx.names, compute
        self.rank = weights.ndim - 2
        self.stride, self.dilation = ints(node.attrs, "stride"), ints(node.attrs, "dilation")
        self.pad = ints(node.attrs, "pad")[: self.rank]
        self.kernel = weights.shape[1:-1]
        self.channels = weights.shape[0]
        self.out = node.output.shape
        x = node.inputs[0]
        assert x is not None
        self.x = ctx.refs[x.name]
        self.taps = self.taps_of(weights)
        self.integer = x.dtype.is_integer
        floats = {DType.F32: ctx.cpu.f32_lanes, DType.F16: ctx.cpu.f16_lanes}
        self.lanes = floats.get(compute, ctx.cpu.widening_lanes)
        self.operand = compute if compute.is_float or not self.lanes else DType.I16
        self.fused = compute.is_float and any(dot.name == "fma" for dot in ctx.cpu.dots)

    @staticmethod
    def taps_of(weights: np.ndarray) -> np.ndarray:
        """``weights`` [channels, *kernel, 1] as [*kernel, channels]."""
        return np.moveaxis(weights[..., 0], 0, -1)

    @cached_property
    def weights(self) -> Buffer:
        """Packed [*kernel, channels], as the multiply-accumulates of vectors take them, or as they are."""
        return self.ctx.pack("w", self.taps if self.operand is DType.I32 else self.taps.astype(self.operand.numpy))

    @cached_property
    def bias(self) -> Buffer | None:
        """The start of each channel; for integers with the zero point folded in: ``- zero_point * sum(w)``."""
        bias = self.node.inputs[2] if len(self.node.inputs) > 2 else None
        if not self.integer:
            return None if bias is None else self.ctx.refs[bias.name].reshaped((self.channels,)).buffer
        return self.ctx.pack("bias", self._folded.astype(np.float32 if self.begins_in_floats else np.int32))

    @cached_property
    def _folded(self) -> np.ndarray:
        return Columns.folded(self.ctx, self.node, self.taps.reshape(-1, self.channels).T).bias

    @cached_property
    def begins_in_floats(self) -> bool:
        """Whether sums of integers are computed in floats, which hold them with what they start with as well."""
        if self.compute is not DType.F32 or not self.integer:
            return False
        products = product_reach(self.taps.reshape(-1, self.channels).T, self.node.operands[0].dtype)
        return bool(np.all(products + np.abs(self._folded.astype(np.int64)) < EXACT_FLOATS))

    def starts(self, lanes: int) -> Buffer | None:
        """Where the accumulators of ``lanes`` channels begin, one value for each channel."""
        return self.bias

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, type(self), self.compute, *self.packed())

    def packed(self) -> tuple[Buffer | None, ...]:
        """What all loops read of the constants."""
        return self.weights, self.bias

    def _loops(self) -> Block:
        names, out = self.names, self.out
        outer = [Var(names.fresh("n")), *(Var(names.fresh("o")) for _ in out[1:-2])]
        width = self.width
        block: Block = ()
        *above, last = outer
        for first, count, height in pieces(out[-3], self.height(width)):
            row = loop_index(last, count) * height + first
            columns: Block = ()
            for start, number, rows in pieces(out[-2], width):
                columns += self._row_loop([*above, row], start, number, rows, height)
            block += loop(last, count, *columns)
        for var, extent in reversed(list(zip(above, out[:-3], strict=True))):
            block = loop(var, extent, *block)
        return block

    @cached_property
    def width(self) -> int:
        """Outputs along the width in a block, as decided or as registers allow."""
        shape = None if self.ctx.decision is None else self.ctx.decision.shape
        decided = None if shape is None else min(shape.rows, self.out[-2])
        return decided or block_width(self.ctx.cpu, self.out[-2], self.kernel[-1])

    def height(self, width: int) -> int:
        """Rows of ``width`` outputs in a block."""
        if self.rank == 1 or not self.ctx.cpu.ample_ram or self.lanes == (1,):
            return 1
        registers = 1 if self.operand is self.compute else 2
        return block_height(self.ctx.cpu, width, self.kernel, self.stride[-2], self.dilation[-2], registers)

    def _row_loop(self, position: Sequence[Expr], start: int, count: int, rows: int, height: int) -> Block:
        block_var = Var(self.names.fresh("rb"))
        base = loop_index(block_var, count) * rows + start
        body: Block = ()
        widths = [w for w in self.lanes if w > 1]
        for first, trips, lanes in stripes(self.channels, widths):
            block = Var(self.names.fresh("cb"))
            channel = loop_index(block, trips) * lanes + first
            body += loop(block, trips, *self._block(position, base, rows, height, channel, lanes))
        return loop(block_var, count, *body)

    def _block(
        self, position: Sequence[Expr], base: Expr, rows: int, height: int, channel: Expr, lanes: int
    ) -> Block:  # fmt: skip
        type_ = Type(self.compute, lanes)
        acc = Buffer(self.names.fresh("acc"), type_, (height * rows,), Space.REG)
        out: list[Stmt] = [Alloc(acc)]
        zero = type_(0)
        bias: Expr | None = None
        starts = self.starts(lanes)
        if starts is not None:
            bias = Var(self.names.fresh("init"), type_ if starts.dtype.is_float else Type(starts.dtype, lanes))
            loaded = Load(starts, (channel,), lanes)
            out.append(Let(bias, type_(loaded) if starts.dtype.is_float else loaded))
        first = bias if bias is not None and bias.type == type_ else zero
        out.extend(store(acc[i], first) for i in range(height * rows))
        if height > 1:
            out.extend(self._tall_products(position, base, rows, channel, acc))
        else:
            out.extend(self.products(position, base, rows, channel, acc))
        for i in range(height * rows):
            below, beside = divmod(i, rows)
            at = (*position[:-1], position[-1] + below if below else position[-1], base + beside)
            value: Expr = acc[i]
            if bias is not None and bias is not first:
                value = bias + bias.type(value)
            value = self.ctx.rounded(value)
            place = self.place(at)
            stored = self.ctx.store_vector(
                lambda c, place=place: (*place, c), channel, value, lanes, self.ctx.refs  # type: ignore[misc]
            )
            out.extend(_without_detours(stored, value) if self.begins_in_floats else stored)
        return tuple(out)

    def place(self, position: Sequence[Expr]) -> Sequence[Expr]:
        """Where the result for ``position`` = [n, spatial...] is stored."""
        return position

    def products(self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, acc: Buffer) -> Block:
        """What adds the products of a block to its accumulators ``acc`` [rows]."""
        taps = [Var(self.names.fresh("k")) for _ in self.kernel[:-1]]
        above = self.above(position, taps)
        body = self._input_row(position, above, base, rows, channel, [(0, taps)], acc)
        for var, extent in reversed(list(zip(taps, self.kernel[:-1], strict=True))):
            body = loop(var, extent, *body)
        return body

    def _tall_products(self, position: Sequence[Expr], base: Expr, rows: int, channel: Expr, acc: Buffer) -> Block:
        """The same for a block of several rows: ``acc`` [height * rows]."""
        *outer, taps = self.kernel[:-1]
        stride, dilation, height = self.stride[-2], self.dilation[-2], acc.shape[0] // rows
        variables = [Var(self.names.fresh("k")) for _ in outer]
        body: Block = ()
        for row in range((height - 1) * stride + (taps - 1) * dilation + 1):
            users = [
                (below, [*variables, as_expr(tap)])
                for below in range(height)
                for tap in range(taps)
                if below * stride + tap * dilation == row
            ]
            above = self.above(position, [*variables, 0])
            above[-1] = above[-1] + row
            if users:
                body += self._input_row(position, above, base, rows, channel, users, acc)
        for var, extent in reversed(list(zip(variables, outer, strict=True))):
            body = loop(var, extent, *body)
        return body

    def users(self, rows: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Input columns under a block, and which (row of the block, column of the kernel) see each; all are seen."""
        stride, dilation, width = self.stride[-1], self.dilation[-1], self.kernel[-1]
        for column in range((rows - 1) * stride + (width - 1) * dilation + 1):
            users = [(i, kw) for i in range(rows) for kw in range(width) if i * stride + kw * dilation == column]
            if users:
                yield column, users

    def above(self, position: Sequence[Expr], taps: Sequence[ExprLike]) -> list[Expr]:
        """Where ``taps`` of the kernel are in the input, along all spatial dimensions but the last."""
        return [
            position[1 + d] * self.stride[d] + as_expr(taps[d]) * self.dilation[d] - self.pad[d]
            for d in range(self.rank - 1)
        ]

    def _input_row(
        self, position: Sequence[Expr], above: Sequence[Expr], base: Expr, rows: int, channel: Expr,
        users: Sequence[tuple[int, Sequence[Expr]]], acc: Buffer,
    ) -> Block:  # fmt: skip
        """What a row of the input, ``above`` along all spatial dimensions but the last, adds to the ``users``: rows of
        the block, and the kernel's row that each multiplies. Their weights, then every input column under the block."""
        lanes = acc.type.lanes
        type_ = Type(self.operand, lanes)
        out: list[Stmt] = []
        weights: list[list[Expr]] = []
        for _, taps in users:
            named = [Var(self.names.fresh("wv"), type_) for _ in range(self.kernel[-1])]
            for kw, var in enumerate(named):
                tap = (*taps, as_expr(kw), channel)
                out += self._fetched(Load(self.weights, tap, lanes))
                out.append(Let(var, _as(type_, Load(self.weights, tap, lanes))))
            weights.append([*named])
        for column, seen_by in self.users(rows):
            where = (position[0], *above, base * self.stride[-1] + (column - self.pad[-1]), channel)
            x = Var(self.names.fresh("xv"), type_)
            out += self._fetched(Load(self.x.buffer, self.x.at(where), lanes))
            out.append(Let(x, _as(type_, Load(self.x.buffer, self.x.at(where), lanes))))
            for (below, _), row in zip(users, weights, strict=True):
                out.extend(self._accumulate(acc, below * rows + i, x, row[kw]) for i, kw in seen_by)
        return tuple(out)

    @cached_property
    def far(self) -> bool:
        """Whether the second cache does not keep the input, and the core is told what it will read."""
        cpu, x = self.ctx.cpu, self.x.buffer
        return cpu.prefetch is not None and prod(x.shape) * x.dtype.size > cpu.caches[0].size * KEPT

    def _fetched(self, loaded: Load) -> Block:
        """Fetches what the block some vectors of channels ahead loads in the place of ``loaded``; of few channels, most
        would be of the next pixel."""
        lines, vector = self.ctx.cpu.prefetch, loaded.lanes * loaded.buffer.dtype.size
        few = self.channels < 2 * AHEAD * loaded.lanes
        if not self.far or lines is None or 2 * vector < lines.size or few:
            return ()
        *outer, channel = loaded.index
        return (Prefetch(Pointer(loaded.buffer, (*outer, channel + AHEAD * loaded.lanes))),)

    def _accumulate(self, acc: Buffer, row: int, x: Expr, w: Expr) -> Stmt:
        at = (as_expr(row),)
        old = acc[at]
        value = Call("fma", (x, w, old), acc.type) if self.fused else old + acc.type(x) * acc.type(w)
        return store(acc[at], value)


def _without_detours(block: Block, integers: Expr) -> Block:
    """``block``, which begins by naming ``integers``, converted from whole floats, with these floats where it converts
    them back."""
    named = block[0]
    if not isinstance(named, Let) or named.value != integers or not isinstance(integers, Convert):
        return block
    var, floats = named.var, integers.x

    def rule(expr: Expr) -> Expr | None:
        return floats if isinstance(expr, Convert) and expr.x == var and expr.type == floats.type else None

    return map_block(block, rule)


def _as(type_: Type, loaded: Load) -> Expr:
    return type_(loaded)
