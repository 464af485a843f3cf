"""Integer recurrent layers with constant weights: sums of products by block instructions or contractions.

What a product reads is a vector of halfwords in scratch memory: the input of a step less its zero point (shifted as far
as the sums are to be, and 16 bits hold), the hidden state, or what a reset gate leaves of it. Rows are in the order of
units, the gates of one side by side, and so are their multipliers and biases, which are added up while compiling where
both parts of an argument are::

    for each direction, sequence, step t
      vector = x[t] - x_zero_point
      work0[unit, gate] = sum over i of vector[i] * w[gate, unit, i]      a block instruction for all rows
      work1[unit, gate] = sum over k of h[k] * r[gate, unit, k]           likewise
      gates and states of ``ops/int_recurrent_nest.py``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Union

import numpy as np

from ..blocks import has_block
from ..blocks.halfword_gemm import (
    GROUP,
    VECTOR,
    can_be_packed,
    pack_bytes,
    pack_halfwords,
    pack_pairs,
    pack_split,
    pack_vectors,
    split_block,
)
from ..blocks.helium import GEMM_8X1, KEPT_STEPS, STEP, pad
from ..ir.build import convert, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Buffer, Expr, Invoke, Pointer, Type, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.int_recurrent import GATES
from ..ops.int_recurrent_nest import BIAS, MULTIPLIERS, IntCell, high, int_gru, int_lstm, int_rnn
from ..ops.nest_tools import operand, read_as, serial_loop
from ..ops.opdef import NestContext
from ..ops.recurrent_nest import Cell, Cells
from ..record import record
from .blocking import Axis, Product
from .byte_operands import start
from .contraction import PackedWeights
from .contraction_loops import contraction_block
from .dots import usable_dots
from .generic import NestAdapter
from .kernel import KernelContext
from .microkernel import Contraction

Nests = Mapping[str, Callable[[NestContext, Node, Cells], Block]]
NESTS: Nests = {"int_lstm": int_lstm, "int_gru": int_gru, "int_rnn": int_rnn}
SPLIT = "helium_split_halfwords"
ROOM = 8
"""Words behind sums that a block may write as well."""


@record
class OnePixelBlock:
    """A block instruction for weights of up to so many ``bits`` that are ``fit``: k come in whole groups of
    ``group``."""

    name: str
    bits: int
    group: int
    pack: Callable[[np.ndarray, np.ndarray], np.ndarray]
    fit: Callable[[np.ndarray], bool] = lambda weights: True


ONE_PIXEL_BLOCKS = (
    OnePixelBlock("gemm_4x1_s16s8_i32", 8, GROUP, pack_pairs, can_be_packed),
    OnePixelBlock("gemm_8x1_s16s8_i32", 8, GROUP, pack_bytes),
    OnePixelBlock("gemm_8x1_s16_i32", 16, GROUP, pack_halfwords),
    OnePixelBlock("helium_gemm_8x1_s16_i32", 16, VECTOR, pack_vectors),
)
"""The first that a core has is taken, with Helium the last."""


def is_int_recurrent(ctx: KernelContext) -> bool:
    """Whether the anchor is an integer recurrent layer with constant weights, biases and multipliers, whose weights a
    block instruction or a multiply-accumulate of halfwords of the CPU takes."""
    weights = _weights(ctx)
    known = weights is not None and all(_constant(ctx, place) is not None for place in (BIAS, MULTIPLIERS))
    if not known or weights is None or _room(ctx.anchor) < 0:
        return False
    return all(_block(ctx, each) is not None or _dots(ctx, each) for each in weights)


def lower_int_recurrent(ctx: KernelContext) -> Block:
    """A recurrent layer for which :func:`is_int_recurrent` holds, all gates of a unit together."""
    return recurrent_loops(ctx, Units, VectorCell, NESTS)


def recurrent_loops(
    ctx: KernelContext, order: type[Units], cell: Callable[..., VectorCell], nests: Nests
) -> Block:
    """The loops of a layer for which :func:`is_int_recurrent` holds: rows in an ``order``, steps of ``nests``."""
    node, weights = ctx.anchor, _weights(ctx)
    assert node is not None and weights is not None
    units = order(integer(node.attrs, "hidden"), GATES[node.op], not node.attrs.get("linear_before_reset", True))
    w, r = weights
    parts = [(_input_product(ctx, units.of_input(x)), _product(ctx, units.of_state(h))) for x, h in zip(w, r)]
    biases, multipliers = _constant(ctx, BIAS), _constant(ctx, MULTIPLIERS)
    assert biases is not None and multipliers is not None
    numbers = [ctx.pack("gates", units.numbers(node.op, b, m)) for b, m in zip(biases, multipliers)]

    def make(adapter: NestContext, node: Node, number: int, batch: Expr) -> Cell:
        return cell(adapter, node, number, batch, ctx, *parts[number], units, numbers[number])

    return nests[node.op](NestAdapter(ctx), node, Cells(make))


def _room(node: Node | None) -> int:
    """How far the input less its zero point may be shifted in 16 bits; less than 0 where it may not even be in them."""
    assert node is not None
    limits, zero = np.iinfo(operand(node, 0).dtype.numpy), integer(node.attrs, "x_zero_point")
    return 15 - max(int(limits.max) - zero, zero - int(limits.min) - 1, 0).bit_length()


def _constant(ctx: KernelContext, place: int) -> np.ndarray | None:
    assert ctx.anchor is not None
    return ctx.constant(ctx.anchor.inputs[place])


def _weights(ctx: KernelContext) -> list[np.ndarray] | None:
    """w and r, ``[dirs, rows, k]``."""
    found = [_constant(ctx, place) for place in (1, 2)]
    return None if any(each is None for each in found) else [each for each in found if each is not None]


def _block(ctx: KernelContext, weights: np.ndarray) -> OnePixelBlock | None:
    bits = 8 if weights.dtype == np.int8 else 16
    known = [
        row for row in ONE_PIXEL_BLOCKS
        if bits <= row.bits and has_block(row.name, ctx.cpu.extensions) and row.fit(weights)
    ]
    return next((row for row in reversed(known) if row.group == VECTOR), known[0] if known else None)


def _dots(ctx: KernelContext, weights: np.ndarray) -> bool:
    return bool(usable_dots(ctx.cpu, DType.I16, weights.dtype))


@record
class Units:
    """The order of rows: unit by unit. ``apart``: the products of the last gate and the state are computed by
    themselves, behind the others."""

    hidden: int
    gates: int
    apart: bool

    @property
    def together(self) -> int:
        """Gates whose products with the state are computed together."""
        return self.gates - 1 if self.apart else self.gates

    def of_input(self, weights: np.ndarray) -> np.ndarray:
        """``weights`` [gates * hidden, k] in the new order."""
        return self._ordered(weights, self.gates)

    def of_state(self, weights: np.ndarray) -> np.ndarray:
        """The same of r."""
        count = self.together * self.hidden
        return np.concatenate([self._ordered(weights[:count], self.together), weights[count:]])

    def _ordered(self, rows: np.ndarray, gates: int) -> np.ndarray:
        return np.moveaxis(rows.reshape(gates, self.hidden, -1), 0, 1).reshape(rows.shape)

    def place(self, unit: Expr, gate: int, recurrent: bool) -> Expr:
        """The row of a gate."""
        if not recurrent:
            return unit * self.gates + gate
        return unit + gate * self.hidden if gate >= self.together else unit * self.together + gate

    def numbers(self, op: str, bias: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """``[hidden, gates + 1, 3]``: the multipliers of a gate, that of w first, and the sum of its biases; of the
        candidate of a gru the bias of w, and in the last place that of r."""
        b, m = (each.reshape(2, self.gates, self.hidden) for each in (bias, multipliers))
        out = np.zeros((self.hidden, self.gates + (op == "int_gru"), 3), np.int32)
        out[:, : self.gates, :2] = np.moveaxis(m, 2, 0).swapaxes(1, 2)
        out[:, : self.gates, 2] = (b[0] + b[1]).T
        if op == "int_gru":
            out[:, -2, 2], out[:, -1, 2] = b[0, -1], b[1, -1]
        return out

    def number(self, unit: Expr, gate: int, which: int) -> tuple[Expr, ...]:
        """Where one of the three numbers of a gate is."""
        return unit, as_expr(gate), as_expr(which)


class UnitsByGate(Units):
    """Rows gate by gate, as the operator has them, so that those of neighbouring units lie side by side."""

    def of_input(self, weights: np.ndarray) -> np.ndarray:
        return weights

    def of_state(self, weights: np.ndarray) -> np.ndarray:
        return weights

    def place(self, unit: Expr, gate: int, recurrent: bool) -> Expr:
        return unit + gate * self.hidden

    def numbers(self, op: str, bias: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """``[gates + 1, 3, hidden]``."""
        return np.moveaxis(super().numbers(op, bias, multipliers), 0, 2)

    def number(self, unit: Expr, gate: int, which: int) -> tuple[Expr, ...]:
        return as_expr(gate), as_expr(which), unit


# ---------------------------------------------------------------- products


class _BlockProduct:
    """``weights`` [rows, k] packed for a block instruction."""

    def __init__(self, ctx: KernelContext, weights: np.ndarray, block: OnePixelBlock) -> None:
        self.ctx, self.weights, self.block = ctx, weights, block
        self.packed: dict[int, Buffer] = {}

    @property
    def padded(self) -> int:
        """Elements of a vector, with those that are zero."""
        return -(-self.weights.shape[1] // self.block.group) * self.block.group

    def sums(self, vector: Buffer, target: Buffer, rows: range) -> Block:
        """``target[0, row]`` for ``rows``."""
        if rows.start not in self.packed:
            part = self.weights[rows.start : rows.stop]
            self.packed[rows.start] = self.ctx.pack("w", self.block.pack(np.zeros(len(part), np.int32), part))
        operands = (start(self.packed[rows.start]), start(vector), Pointer(target, (INDEX(0), as_expr(rows.start))))
        return (Invoke(self.block.name, operands, (self.padded // self.block.group, len(rows))),)


class _SplitProduct:
    """``weights`` [rows, k] of bytes with Helium, where sixteen bytes are multiplied at a time: a halfword v is split
    into two, ``v = 256 * (v >> 8) + ((v & 255) - 128) + 128``."""

    def __init__(self, ctx: KernelContext, weights: np.ndarray) -> None:
        self.ctx, self.weights = ctx, weights
        self.padded = pad(weights.shape[1], STEP)
        self.packed: dict[int, Buffer] = {}

    def sums(self, vector: Buffer, target: Buffer, rows: range) -> Block:
        ctx, vectors = self.ctx, self.padded // STEP
        if rows.start not in self.packed:
            part = self.weights[rows.start : rows.stop]
            missing = (128 * part.astype(np.int64).sum(axis=1)).astype(np.int32)
            self.packed[rows.start] = ctx.pack("w", pack_split(missing, part))
        halves = ctx.temporary("halves", DType.I8, (2 * self.padded,), align=16)
        place = Pointer(target, (INDEX(0), as_expr(rows.start)))
        return (
            Invoke(SPLIT, (start(vector), start(halves)), (vectors,)),
            Invoke(split_block(vectors), (start(self.packed[rows.start]), start(halves), place), (vectors, len(rows))),
        )


class _ByteProduct:
    """``weights`` [rows, k] of bytes by an input of bytes with the ``zero`` point, with Helium: a product takes sixteen
    of both as they are."""

    BLOCK = "helium_gemm_8x1_i32"
    FEW = "helium_gemm_8x1_few_i32"

    def __init__(self, ctx: KernelContext, weights: np.ndarray, zero: int) -> None:
        self.ctx, self.size, self.rows, self.zero = ctx, weights.shape[1], len(weights), zero
        self.padded = pad(self.size, STEP)
        data = np.zeros((self.rows, self.padded), np.int8)
        data[:, : self.size] = weights
        bias = (-zero * weights.astype(np.int64).sum(axis=1)).astype(np.int32)
        self.packed = ctx.pack("w", replace(GEMM_8X1, factors=False).pack(bias, data.view("<i4")))

    def sums(self, x: Pointer, target: Buffer) -> Block:
        """``target[0, row]`` for all rows, of the input at ``x``."""
        before: Block = ()
        if self.padded > self.size:
            line, n = self.ctx.temporary("line", DType.I8, (self.padded,), align=STEP), Var(self.ctx.names.fresh("n"))
            before = (
                *loop(n, self.padded - self.size, store(line[n + self.size], 0)),
                Invoke("helium_copy", (x, start(line)), (1, self.size, 0, 0)),
            )
            x = start(line)
        vectors = self.padded // STEP
        block = self.FEW if vectors <= KEPT_STEPS else self.BLOCK
        return (*before, Invoke(block, (start(self.packed), x, start(target)), (vectors, self.rows)))


class _DotProduct:
    """``weights`` [rows, k] by the contraction generator."""

    def __init__(self, ctx: KernelContext, weights: np.ndarray) -> None:
        self.ctx, self.weights, self.padded = ctx, weights, weights.shape[1]

    def sums(self, vector: Buffer, target: Buffer, rows: range) -> Block:
        ctx, part = self.ctx, self.weights[rows.start : rows.stop]
        k, row = Axis(Var(ctx.names.fresh("k")), self.padded), Axis(Var(ctx.names.fresh("row")), 1)
        product = Product(usable_dots(ctx.cpu, DType.I16, part.dtype), 1, len(part), (k.extent,), 1)
        blocking = ctx.blocking(product)
        packed = PackedWeights(ctx, part.T[None], blocking)

        def finish(r: Expr, column: Expr, value: Expr, lanes: int, active: int) -> Block:
            mask = None if active == lanes else as_expr(active)
            return (store(target[0, column + rows.start], value, mask),)

        spec = Contraction(
            (), row, len(part), (k,), vector[row.var, k.var],
            lambda region, block, vector: packed.load(region, (INDEX(0), block, k.var), vector),
            lambda column, lanes, active: Type(DType.I32, lanes)(0), finish,
        )  # fmt: skip
        return contraction_block(spec, blocking, ctx.names)


_AnyProduct = Union[_BlockProduct, _SplitProduct, _DotProduct]


def _input_product(ctx: KernelContext, weights: np.ndarray) -> _AnyProduct | _ByteProduct:
    """A product with the input of a step."""
    assert ctx.anchor is not None
    x = operand(ctx.anchor, 0)
    ref = ctx.refs.get(x.name)
    as_it_is = x.dtype is DType.I8 and ref is not None and ref.dense and weights.dtype == np.int8 and x.shape[2] > 0
    if as_it_is and has_block(_ByteProduct.BLOCK, ctx.cpu.extensions):
        return _ByteProduct(ctx, weights, integer(ctx.anchor.attrs, "x_zero_point"))
    return _product(ctx, weights)


def _product(ctx: KernelContext, weights: np.ndarray) -> _AnyProduct:
    if weights.dtype == np.int8 and has_block(SPLIT, ctx.cpu.extensions):
        return _SplitProduct(ctx, weights)
    block = _block(ctx, weights)
    return _DotProduct(ctx, weights) if block is None else _BlockProduct(ctx, weights, block)


# ---------------------------------------------------------------- the cell


@record
class VectorCell(IntCell):
    """A cell whose states are vectors that products read where they are."""

    kernel: KernelContext
    of_input: _AnyProduct | _ByteProduct
    of_state: _AnyProduct
    units: Units
    numbers: Buffer

    def _vector(self, stem: str, size: int, padded: int) -> tuple[Buffer, Block]:
        buffer = self.kernel.temporary(stem, DType.I16, (1, padded), align=8)
        return buffer, tuple(store(buffer[0, n], 0) for n in range(size, padded))

    def state_memory(self, number: int) -> tuple[Buffer, Block]:
        if number:
            return super().state_memory(number)
        return self._vector("state", self.hidden, self.of_state.padded)

    def work_memory(self, number: int, sections: int) -> tuple[Buffer, Block]:
        if number == 2:
            return self._vector("left", self.hidden, self.of_state.padded)
        return self.kernel.temporary("work", DType.I32, (1, sections * self.hidden + ROOM), align=8), ()

    def each_unit(self, body: Callable[[Expr], Block], units: int | None = None) -> Block:
        block = super().each_unit(body, units)
        return self.kernel.vectorized(block) if max(self.kernel.cpu.f32_lanes) > 1 else block

    @property
    def shifted(self) -> int:
        """How far the input is shifted, in place of the sums."""
        as_bytes = isinstance(self.of_input, _ByteProduct)
        return 0 if as_bytes else min(_room(self.node), integer(self.node.attrs, "x_shift"))

    def scaled(self, sums: Buffer, k: Expr, gate: int, recurrent: bool) -> Expr:
        bias = self.numbers[self.units.number(k, gate + 1 if recurrent else gate, 2)]
        return self._product(sums, k, gate, recurrent) + bias

    def argument(self, work: Sequence[Buffer], k: Expr, gate: int) -> Expr:
        state = self._product(work[1], k, gate, True) + self.numbers[self.units.number(k, gate, 2)]
        return self._product(work[0], k, gate, False) + state

    def _product(self, sums: Buffer, k: Expr, gate: int, recurrent: bool) -> Expr:
        """A raw sum times its multiplier."""
        acc: Expr = sums[0, self.units.place(k, gate, recurrent)]
        left = integer(self.node.attrs, "h_shift") if recurrent else integer(self.node.attrs, "x_shift") - self.shifted
        return high(acc << left if left else acc, self.numbers[self.units.number(k, gate, int(recurrent))])

    def input_sums(self, target: Buffer, t: Expr) -> Block:
        x, zero = operand(self.node, 0), integer(self.node.attrs, "x_zero_point")
        if isinstance(self.of_input, _ByteProduct):
            ref = self.kernel.refs[x.name]
            return self.of_input.sums(Pointer(ref.buffer, ref.at((t, self.batch, as_expr(0)))), target)
        vector, tail = self._vector("vector", x.shape[2], self.of_input.padded)

        def element(i: Expr) -> Block:
            value = read_as(self.ctx, x, (t, self.batch, i), DType.I32, zero)
            return (store(vector[0, i], convert(value << self.shifted, DType.I16)),)

        copied = self.kernel.vectorized(serial_loop(self.ctx, "i", x.shape[2], element))
        return (*tail, *copied, *self.of_input.sums(vector, target, range(self.rows)))

    def state_sums(self, target: Buffer, rows: range, state: Buffer) -> Block:
        return self.of_state.sums(state, target, rows)
