"""Integer recurrent layers with Helium: four units at a time.

Most layers have a block for all that is behind the products, for which rows are in fours of units, gate by gate
(:class:`UnitsInFours`). In others the gates of all units come one after the other.

Before::                                      After::

    for unit:                                   for gates, unit: work0[gate, unit] = argument
      gates = tanh(arguments)                   invoke helium_tanh(work0)
      states of the gates                       for unit: states of the gates

The arguments of tangents, and then these, take the places of sums that have been read. The arithmetic is that of
``ops/int_recurrent_nest.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...blocks import has_block
from ...blocks.helium_gates import GRU_GATES, GRU_NUMBERS, LSTM_GATES, LSTM_NUMBERS, UNITS, is_monotone
from ...ir.build import convert, store
from ...ir.graph import Node
from ...ir.loops import I32, Block, Buffer, Expr, Invoke, LoopKind, Pointer, as_expr
from ...ir.types import DType
from ...ops.attributes import flag, integer, texts
from ...ops.int_recurrent import CELL_BITS, INITIAL, ONE, TABLE, TABLE_BITS
from ...ops.int_recurrent_nest import (
    between,
    bounded_cell,
    cell_state,
    hidden_state,
    left,
    rounded,
    shown,
    times,
)
from ...ops.nest_tools import Lets, loops, operand, optional
from ...ops.opdef import NestContext
from ...ops.recurrent_nest import Cell, Cells, recurrence
from ..byte_operands import start
from ..int_recurrent import Nests, Units, UnitsByGate, VectorCell, is_int_recurrent, recurrent_loops
from ..kernel import KernelContext


def is_helium_recurrent(ctx: KernelContext) -> bool:
    """Whether the anchor is an integer recurrent layer for which :func:`is_int_recurrent` holds, with its table in
    memory, on a core that has the block of tangents."""
    assert ctx.anchor is not None
    table = ctx.anchor.inputs[TABLE]
    known = table is not None and table.name in ctx.refs
    return known and has_block("helium_tanh", ctx.cpu.extensions) and is_int_recurrent(ctx)


def lower_helium_recurrent(ctx: KernelContext) -> Block:
    """A recurrent layer for which :func:`is_helium_recurrent` holds."""
    if _in_fours(ctx):
        return recurrent_loops(ctx, UnitsInFours, _Cell, {"int_lstm": _lstm_in_fours, "int_gru": _gru_in_fours})
    return recurrent_loops(ctx, UnitsByGate, _Cell, _NESTS)


def _in_fours(ctx: KernelContext) -> bool:
    """Whether the layer is one that the blocks of whole steps compute."""
    node = ctx.anchor
    assert node is not None
    table = ctx.constant(node.inputs[TABLE])
    usual = {
        "int_lstm": not node.attrs.get("input_forget"), "int_gru": bool(node.attrs.get("linear_before_reset")),
    }.get(node.op, False)  # fmt: skip
    whole = integer(node.attrs, "hidden") % UNITS == 0 and not integer(node.attrs, "h_shift")
    return usual and whole and table is not None and is_monotone(table)


class UnitsInFours(Units):
    """Rows of four units after the other, gate by gate in the order of the blocks."""

    def of_input(self, weights: np.ndarray) -> np.ndarray:
        order = GRU_GATES if self.gates == len(GRU_GATES) else LSTM_GATES
        fours = weights.reshape(self.gates, -1, UNITS, weights.shape[1])[list(order)]
        return fours.swapaxes(0, 1).reshape(weights.shape)

    def of_state(self, weights: np.ndarray) -> np.ndarray:
        return self.of_input(weights)

    def numbers(self, op: str, bias: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """``[hidden / 4, numbers, 4]``."""
        every = super().numbers(op, bias, multipliers)
        chosen = every[:, *np.transpose(GRU_NUMBERS if op == "int_gru" else LSTM_NUMBERS)]
        return chosen.reshape(-1, UNITS, chosen.shape[1]).swapaxes(1, 2)


class _Cell(VectorCell):
    """A cell whose steps are made of loops over all units."""

    def each_unit(self, body: Callable[[Expr], Block], units: int | None = None) -> Block:
        """Four units at a time, in a loop that stays one."""
        rolled = loops(self.ctx, ("k",), (units or self.hidden,), lambda index: body(index[0]), LoopKind.ROLLED)
        return self.kernel.vectorized(rolled)

    def arguments(self, work: Sequence[Buffer], gates: Sequence[int]) -> Block:
        """``work[0]``: those of ``gates``."""
        block: Block = ()
        for gate in gates:

            def one(k: Expr, gate: int = gate) -> Block:
                return (store(work[0][0, k + gate * self.hidden], self.argument(work, k, gate)),)

            block += self.each_unit(one)
        return block

    @property
    def table(self) -> Pointer:
        table = self.kernel.refs[operand(self.node, TABLE).name]
        return Pointer(table.buffer, table.at((0,)))

    def step_in_fours(self, block: str, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
        """A step by the ``block`` of its gates."""
        hidden, attrs = self.hidden, self.node.attrs
        pointers = (*map(start, (*states, *work, self.numbers)), self.table)
        shifts = integer(attrs, "x_shift") - self.shifted, integer(attrs, "fraction") - TABLE_BITS
        return (
            *self.input_sums(work[0], t), *self.state_sums(work[1], range(self.rows), states[0]),
            Invoke(block, pointers, (hidden, *shifts)),
            *self.each_unit(lambda k: self.write(0, (t, k), I32(states[0][0, k]))),
        )  # fmt: skip

    def tangents(self, target: Buffer, first: int, gates: int, more: int = 0, bits: int | None = None) -> Block:
        """``target`` of some ``gates`` from ``first`` on; arguments have ``bits`` bits of fraction, and ``more``."""
        fraction = (bits or integer(self.node.attrs, "fraction")) + more
        place = Pointer(target, (as_expr(0), as_expr(first * self.hidden)))
        return (Invoke("helium_tanh", (place, self.table), (gates * self.hidden, fraction - TABLE_BITS)),)

    def sigmoids(self, target: Buffer, first: int, gates: int) -> Block:
        """The same, without the half that :meth:`gate` adds."""
        return self.tangents(target, first, gates, 1)

    def gate(self, work: Sequence[Buffer], k: Expr, gate: int) -> Expr:
        """A sigmoid that is there, in steps of 2^-17."""
        return work[0][0, k + gate * self.hidden] + (ONE >> 1)


def _lstm_in_fours(ctx: NestContext, node: Node, cells: Cells) -> Block:
    initial = (optional(node, INITIAL), optional(node, INITIAL + 1))
    return recurrence(ctx, node, initial, (4, 4), partial(_step_in_fours, "helium_lstm"), cells)


def _gru_in_fours(ctx: NestContext, node: Node, cells: Cells) -> Block:
    return recurrence(ctx, node, (optional(node, INITIAL),), (3, 3), partial(_step_in_fours, "helium_gru"), cells)


def _step_in_fours(block: str, cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    assert isinstance(cell, _Cell)
    return cell.step_in_fours(block, work, states, t)


def _lstm(ctx: NestContext, node: Node, cells: Cells) -> Block:
    initial = (optional(node, INITIAL), optional(node, INITIAL + 1))
    return recurrence(ctx, node, initial, (4, 4), _lstm_step, cells)


def _lstm_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    """Gates are i, o, f, c; the new cell state is behind the sums of ``work[1]``, and then its tangent."""
    assert isinstance(cell, _Cell)
    (h, c), hidden = states, cell.hidden
    gates = [0, 1] if flag(cell.node.attrs, "input_forget") else [0, 1, 2]

    def renew(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        i = lets.bind("i", cell.gate(work, k, 0))
        f = cell.gate(work, k, 2) if len(gates) == 3 else ONE - i
        new = lets.bind("c", cell_state(c[0, k], f, work[0][0, k + 3 * hidden], i))
        new = lets.bind("c", bounded_cell(new))
        return (*lets.block, store(c[0, k], new), store(work[1][0, k], new))

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        y = lets.bind("y", shown(work[1][0, k], cell.gate(work, k, 1)))
        return (*lets.block, store(h[0, k], convert(y, DType.I16)), *cell.write(0, (t, k), y))

    return (
        *cell.input_sums(work[0], t), *cell.state_sums(work[1], range(cell.rows), h),
        *cell.arguments(work, [*gates, 3]), *cell.sigmoids(work[0], 0, len(gates)), *cell.tangents(work[0], 3, 1),
        *cell.each_unit(renew), *cell.tangents(work[1], 0, 1, bits=CELL_BITS), *cell.each_unit(update),
    )  # fmt: skip


def _gru(ctx: NestContext, node: Node, cells: Cells) -> Block:
    sections = (3, 3) if flag(node.attrs, "linear_before_reset") else (3, 3, 1)
    return recurrence(ctx, node, (optional(node, INITIAL),), sections, _gru_step, cells)


def _gru_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    """Gates are z, r, n; the argument of the candidate is behind the sums of ``work[1]``, and then its tangent."""
    assert isinstance(cell, _Cell)
    (h,), hidden = states, cell.hidden
    before = flag(cell.node.attrs, "linear_before_reset")

    def reset(k: Expr) -> Block:
        return (store(work[2][0, k], left(h[0, k], cell.gate(work, k, 1))),)

    def candidate(k: Expr) -> Block:
        past = cell.scaled(work[1], k, 2, True)
        if before:
            past = times(past, cell.gate(work, k, 1))
        return (store(work[1][0, k + 2 * hidden], cell.scaled(work[0], k, 2, False) + past),)

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        n = lets.bind("n", work[1][0, k + 2 * hidden])
        y = lets.bind("y", hidden_state(between(n, h[0, k], cell.gate(work, k, 0))))
        return (*lets.block, store(h[0, k], convert(y, DType.I16)), *cell.write(0, (t, k), y))

    rows = range((3 if before else 2) * hidden)
    block = (
        *cell.input_sums(work[0], t), *cell.state_sums(work[1], rows, h), *cell.arguments(work, [0, 1]),
        *cell.sigmoids(work[0], 0, 2),
    )  # fmt: skip
    if not before:
        block += (*cell.each_unit(reset), *cell.state_sums(work[1], range(2 * hidden, 3 * hidden), work[2]))
    return (*block, *cell.each_unit(candidate), *cell.tangents(work[1], 2, 1), *cell.each_unit(update))


def _rnn(ctx: NestContext, node: Node, cells: Cells) -> Block:
    return recurrence(ctx, node, (optional(node, INITIAL),), (1, 1), _rnn_step, cells)


def _rnn_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    assert isinstance(cell, _Cell)
    (h,) = states
    logistic = texts(cell.node.attrs, "activations")[0] == "Sigmoid"

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        y = rounded(cell.gate(work, k, 0), 2) if logistic else rounded(work[0][0, k], 1)
        y = lets.bind("y", hidden_state(y))
        return (*lets.block, store(h[0, k], convert(y, DType.I16)), *cell.write(0, (t, k), y))

    return (
        *cell.input_sums(work[0], t), *cell.state_sums(work[1], range(cell.hidden), h), *cell.arguments(work, [0]),
        *cell.tangents(work[0], 0, 1, int(logistic)), *cell.each_unit(update),
    )  # fmt: skip


_NESTS: Nests = {"int_lstm": _lstm, "int_gru": _gru, "int_rnn": _rnn}
