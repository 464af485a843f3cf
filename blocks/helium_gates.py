"""A step of an integer GRU or LSTM behind the products, on cores with Helium: gates and states of four units at a time.

The arithmetic is that of ``ops/int_recurrent_nest.py``, for a state whose sums are not shifted and a table that does
not decrease and whose last two entries are the same. Sums of the input and of the state are for each four units vectors
of four words, gate by gate; *numbers* are likewise, in the order in which they are read: for a gate the multiplier of
the sum of the input, that of the sum of the state, and the sum of their biases. For the candidate of a GRU both
biases are apart, that of the state first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..ir.build import absolute, convert, lt, maximum, minimum, select, store
from ..ir.loops import I32, INDEX, U32, Access, Block, Buffer, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param, power
from .helium_tanh import TABLE_BITS, TABLE_REACH
from .instruction import MVE, BlockInstruction, Cycles

UNITS = 4
"""What is computed at a time; their number is a multiple of it."""
PLACES = TABLE_REACH << TABLE_BITS
"""Of a table, which has one entry more."""
CELL_SHIFT = 14
"""Bits of a cell state behind its place in a table."""
GRU_GATES, LSTM_GATES = (1, 2, 0), (0, 3, 2, 1)
"""The order of gates, by their number in ONNX."""
GRU_NUMBERS = ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 2), (2, 2), (0, 0), (0, 1), (0, 2))
LSTM_NUMBERS = tuple((gate, which) for gate in LSTM_GATES for which in range(3))
"""Numbers of a unit: of which gate, and which of the three. Gate 3 of a GRU has the bias of the candidate's state."""


def is_monotone(table: np.ndarray) -> bool:
    """Whether the blocks' tangents are those between entries of the ``table``."""
    return bool(np.all(np.diff(table.astype(np.int64)) >= 0)) and table[-1] == table[-2]


class _Unit:
    """A unit, lane ``lane`` of vectors that are read one after the other; expressions are bound to variables."""

    def __init__(self, vectors: dict[str, Expr], lane: Expr, table: Buffer) -> None:
        self.vectors, self.lane, self.table, self.block = vectors, lane, table, list[Let]()

    def bind(self, value: Expr) -> Expr:
        variable = Var(f"v{len(self.block)}", value.type)
        self.block.append(Let(variable, value))
        return variable

    def next(self, buffer: Buffer) -> Expr:
        """The element in the next vector."""
        vector = self.vectors[buffer.name]
        self.vectors[buffer.name] = vector + 1
        return I32(buffer[vector * UNITS + self.lane])

    def argument(self, x: Buffer, h: Buffer, numbers: Buffer, x_shift: Number) -> Expr:
        """Of a gate."""
        of_input = high(self.next(x) << I32(x_shift), self.next(numbers))
        return of_input + high(self.next(h), self.next(numbers)) + self.next(numbers)

    def tangent(self, argument: Expr, shift: Number) -> Expr:
        """The hyperbolic tangent of an argument with ``shift`` bits behind its place in the table."""
        u, most = self.bind(argument), power(shift) * PLACES - 1
        a = self.bind(U32(absolute(u)))
        beyond = lt(U32(most), a)
        inside = self.bind(I32(minimum(a, U32(most))))
        place = self.bind(INDEX(inside >> I32(shift)))
        low, above = (self.bind(I32(self.table[at])) for at in (place, place + 1))
        step = self.bind(maximum(above - low, 0))
        part = (step * (inside & (power(shift) - 1)) + (power(shift) >> 1)) >> I32(shift)
        value = self.bind(low + select(beyond, step, part))
        return self.bind(select(lt(u, 0), -value, value))

    def logistic(self, argument: Expr, shift: Number) -> Expr:
        """In steps of 2^-31."""
        return self.bind((self.tangent(argument, shift + 1) + (1 << 16)) << 14)


def high(a: Expr, b: Expr) -> Expr:
    return Call("mul_high", (a, b), I32)


def times(x: Expr, gate: Expr) -> Expr:
    """The upper word of twice the product."""
    return (high(x, gate) << 1) - ((x * gate) >> 31)


def rounded(x: Expr, shift: int) -> Expr:
    return (x + (1 << shift - 1)) >> shift


def _words(name: str, vectors: int, units: Number) -> Buffer:
    return param(name, DType.I32, units * vectors, Access.READ, 4)


def _units(units: Number, buffers: dict[Buffer, int], table: Buffer, step: Callable[[_Unit, Expr], Block]) -> Block:
    """``step`` for all units; ``buffers`` have so many vectors for each four."""
    four, lane = Var("four"), Var("lane")
    unit = _Unit({buffer.name: four * vectors for buffer, vectors in buffers.items()}, lane, table)
    stores = step(unit, four * UNITS + lane)
    return loop(four, units // UNITS, *loop(lane, UNITS, *unit.block, *stores))


def _gru(units: Number, x_shift: Number, shift: Number) -> Kernel:
    """``state`` becomes the next one; ``shift``: bits of the candidate's argument behind its place in the table."""
    state = param("state", DType.I16, units, Access.READ_WRITE, 4)
    x, h, numbers = _words("input", 3, units), _words("past", 3, units), _words("numbers", len(GRU_NUMBERS), units)
    table = param("table", DType.U16, PLACES + 1, Access.READ, 4)

    def step(unit: _Unit, k: Expr) -> Block:
        r = unit.logistic(unit.argument(x, h, numbers, x_shift), shift)
        of_input = high(unit.next(x) << I32(x_shift), unit.next(numbers))
        past = unit.bind(high(unit.next(h), unit.next(numbers)) + unit.next(numbers))
        n = unit.bind(unit.tangent(of_input + times(past, r) + unit.next(numbers), shift) << 11)
        z = unit.logistic(unit.argument(x, h, numbers, x_shift), shift)
        between = unit.bind((I32(state[k]) << 12) - n)
        y = minimum(maximum(rounded(n + times(between, z), 12), -32767), 32767)
        return (store(state[k], convert(y, DType.I16)),)

    buffers = {x: 3, h: 3, numbers: len(GRU_NUMBERS)}
    return Kernel("gru", (state, x, h, numbers, table), _units(units, buffers, table, step))


def _lstm(units: Number, x_shift: Number, shift: Number) -> Kernel:
    """``state`` and ``cell`` become the next ones; ``shift``: bits of the candidate's argument behind its place."""
    state = param("state", DType.I16, units, Access.READ_WRITE, 4)
    cell = param("cell", DType.I32, units, Access.READ_WRITE, 4)
    x, h, numbers = _words("input", 4, units), _words("past", 4, units), _words("numbers", len(LSTM_NUMBERS), units)
    table = param("table", DType.U16, PLACES + 1, Access.READ, 4)
    bound = (1 << 30) - 1

    def step(unit: _Unit, k: Expr) -> Block:
        argument = partial(unit.argument, x, h, numbers, x_shift)
        i = unit.logistic(argument(), shift)
        new = unit.bind(unit.tangent(argument(), shift) << 13)
        new = unit.bind(rounded(times(new, i), 9))
        f, old = unit.logistic(argument(), shift), unit.bind(I32(cell[k]))
        c = unit.bind(minimum(maximum(times(old, f) + new, -bound), bound))
        shown = unit.bind(unit.tangent(c, CELL_SHIFT) << 13)
        y = minimum(maximum(rounded(times(shown, unit.logistic(argument(), shift)), 14), -32767), 32767)
        return (store(cell[k], c), store(state[k], convert(y, DType.I16)))

    buffers = {x: 4, h: 4, numbers: len(LSTM_NUMBERS)}
    return Kernel("lstm", (state, cell, x, h, numbers, table), _units(units, buffers, table, step))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_gru", ("units", "x_shift", "shift"), _gru, MVE, ((12, 5, 14), (4, 0, 6)),
        cycles=Cycles(mve=lambda units, *_: 61 + 30.5 * units),
    ),
    BlockInstruction(
        "helium_lstm", ("units", "x_shift", "shift"), _lstm, MVE, ((12, 3, 14), (4, 0, 7)),
        cycles=Cycles(mve=lambda units, *_: 64 + 45.75 * units),
    ),
)
