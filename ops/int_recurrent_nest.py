"""Nests of int_lstm, int_gru and int_rnn: the loop over time of ``ops/recurrent_nest.py``, with cells of integers.

A step computes the sums of products, raw, for all rows of both weights; then each unit scales its own and makes its
gates and states of them. The arithmetic is that of ``ops/int_recurrent.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import absolute, convert, lt, maximum, minimum, select, store
from ..ir.graph import Node, Value
from ..ir.loops import I32, Block, Buffer, Call, Expr
from ..ir.types import DType
from ..record import record
from .attributes import flag, integer, texts
from .int_recurrent import CELL_BITS, GATES, INITIAL, LIMIT, ONE, STATES, TABLE, TABLE_BITS, TABLE_REACH
from .nest_tools import Lets, accumulate, accumulator, operand, optional, read_as, serial_loop
from .opdef import Bind, NestContext
from .recurrent_nest import Cell, Cells, recurrence

BIAS, MULTIPLIERS = 3, 4
"""Positions of operands."""


@record
class IntCell(Cell):
    """One direction of an integer recurrence. Work space 0 has the sums of the input, 1 those of the state, 2 of gru
    what the reset gate leaves of the state."""

    @property
    def dtype(self) -> DType:
        return DType.I32

    @property
    def lengths(self) -> Value | None:
        return optional(self.node, INITIAL + STATES[self.node.op])

    @property
    def rows(self) -> int:
        return GATES[self.node.op] * self.hidden

    def scratch_of(self, stem: str, dtype: DType, size: int) -> tuple[Buffer, Block]:
        return self.ctx.scratch(stem, dtype, (1, size))

    def state_memory(self, number: int) -> tuple[Buffer, Block]:
        return self.scratch_of("cell" if number else "state", DType.I32 if number else DType.I16, self.hidden)

    def work_memory(self, number: int, sections: int) -> tuple[Buffer, Block]:
        return self.scratch_of("work", DType.I16 if number == 2 else DType.I32, sections * self.hidden)

    # ------------------------------------------------------------ sums of products

    def input_sums(self, target: Buffer, t: Expr) -> Block:
        """``target[row] = sum((x[t] - x_zero_point) * w[row])``"""
        x, zero = operand(self.node, 0), integer(self.node.attrs, "x_zero_point")

        def element(i: Expr) -> Expr:
            return read_as(self.ctx, x, (t, self.batch, i), DType.I32, zero)

        return self._sums(target, range(self.rows), 1, x.shape[2], element)

    def state_sums(self, target: Buffer, rows: range, state: Buffer) -> Block:
        """``target[row] = sum(state * r[row])`` for each of the ``rows``"""
        return self._sums(target, rows, 2, self.hidden, lambda i: I32(state[self.slot, i]))

    def _sums(self, target: Buffer, rows: range, weights: int, depth: int, element: Callable[[Expr], Expr]) -> Block:
        def one(n: Expr) -> Block:
            row = n + rows.start
            acc, init = accumulator(self.ctx, "acc", DType.I32, 0)

            def term(i: Expr) -> Block:
                return (accumulate("add", acc, element(i) * self.read(operand(self.node, weights), row, i)),)

            steps = serial_loop(self.ctx, "i", depth, term)
            return (*init, *steps, store(target[self.slot, row], acc[0]))

        return self.each_unit(one, len(rows))

    # ------------------------------------------------------------ arithmetic

    def scaled(self, sums: Buffer, k: Expr, gate: int, recurrent: bool) -> Expr:
        """The argument of a gate that a raw sum stands for."""
        row = k + gate * self.hidden
        place = row + self.rows if recurrent else row
        acc = sums[self.slot, row] << I32(integer(self.node.attrs, "h_shift" if recurrent else "x_shift"))
        factor, bias = (self.read(operand(self.node, position), place) for position in (MULTIPLIERS, BIAS))
        return high(acc, factor) + bias

    def argument(self, work: Sequence[Buffer], k: Expr, gate: int) -> Expr:
        """Both parts of the argument of a gate."""
        return self.scaled(work[0], k, gate, False) + self.scaled(work[1], k, gate, True)

    def tanh(self, u: Expr, bind: Bind, fraction: int | None = None) -> Expr:
        """In steps of 2^-16."""
        bits = fraction or integer(self.node.attrs, "fraction")
        u, shift = bind("u", u), bits - TABLE_BITS
        a = bind("a", minimum(absolute(u), (TABLE_REACH << bits) - 1))
        place = bind("place", convert(a >> I32(shift), DType.INDEX))
        # The bounds never bind: they show the range to the verifier.
        place = bind("place", maximum(minimum(place, (TABLE_REACH << TABLE_BITS) - 1), 0))
        low, above = (
            bind("entry", convert(self.ctx.read(operand(self.node, TABLE), (at,)), DType.I32))
            for at in (place, place + 1)
        )
        part = (above - low) * (a & (1 << shift) - 1) + (1 << shift - 1)
        value = bind("value", low + (part >> I32(shift)))
        return select(lt(u, 0), -value, value)

    def sigmoid(self, u: Expr, bind: Bind) -> Expr:
        """In steps of 2^-17."""
        return self.tanh(u, bind, integer(self.node.attrs, "fraction") + 1) + (ONE >> 1)


def high(a: Expr, b: Expr) -> Expr:
    return Call("mul_high", (a, b), I32)


def times(x: Expr, gate: Expr) -> Expr:
    return high(x << 1, gate << 14)


def rounded(x: Expr, shift: int) -> Expr:
    return (x + (1 << shift - 1)) >> I32(shift)


def hidden_state(x: Expr) -> Expr:
    return minimum(maximum(x, -32767), 32767)


def cell_state(c: Expr, f: Expr, g: Expr, i: Expr) -> Expr:
    """The new one of an lstm from the old one, its forget and input gates and candidate."""
    return times(c, f) + rounded(times(g << 13, i), 9)


def bounded_cell(c: Expr) -> Expr:
    return minimum(maximum(c, 1 - LIMIT), LIMIT - 1)


def shown(c: Expr, o: Expr) -> Expr:
    """The hidden state of an lstm from the tangent of its cell state and the output gate."""
    return hidden_state(rounded(times(c << 13, o), 14))


def left(h: Expr, r: Expr) -> Expr:
    """What the reset gate of a gru leaves of the state, as i16."""
    return convert(rounded(times(I32(h) << 14, r), 14), DType.I16)


def between(n: Expr, h: Expr, z: Expr) -> Expr:
    """The hidden state of a gru between its candidate and the old one; not yet within its bounds."""
    return rounded((n << 11) + times(((I32(h) << 1) - n) << 11, z), 12)


PLAIN_INTEGERS = Cells(IntCell)


def int_lstm(ctx: NestContext, node: Node, cells: Cells = PLAIN_INTEGERS) -> Block:
    initial = (optional(node, INITIAL), optional(node, INITIAL + 1))
    return recurrence(ctx, node, initial, (4, 4), _lstm_step, cells)


def _lstm_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    assert isinstance(cell, IntCell)
    (h, c), slot = states, cell.slot

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        bind = lets.bind
        i = bind("i", cell.sigmoid(cell.argument(work, k, 0), bind))
        coupled = flag(cell.node.attrs, "input_forget")
        f = ONE - i if coupled else cell.sigmoid(cell.argument(work, k, 2), bind)
        g = cell.tanh(cell.argument(work, k, 3), bind)
        new = bind("c", cell_state(c[slot, k], f, g, i))
        new = bind("c", bounded_cell(new))
        o = cell.sigmoid(cell.argument(work, k, 1), bind)
        y = bind("y", shown(cell.tanh(new, bind, CELL_BITS), o))
        stored = (store(c[slot, k], new), store(h[slot, k], convert(y, DType.I16)))
        return (*lets.block, *stored, *cell.write(0, (t, k), y))

    return (*cell.input_sums(work[0], t), *cell.state_sums(work[1], range(cell.rows), h), *cell.each_unit(update))


def int_gru(ctx: NestContext, node: Node, cells: Cells = PLAIN_INTEGERS) -> Block:
    sections = (3, 3) if flag(node.attrs, "linear_before_reset") else (3, 3, 1)
    return recurrence(ctx, node, (optional(node, INITIAL),), sections, _gru_step, cells)


def _gru_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    assert isinstance(cell, IntCell)
    (h,), slot, hidden = states, cell.slot, cell.hidden
    before = flag(cell.node.attrs, "linear_before_reset")

    def reset(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        r = cell.sigmoid(cell.argument(work, k, 1), lets.bind)
        kept = left(h[slot, k], r)
        return (*lets.block, store(work[2][slot, k], kept))

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        bind = lets.bind
        past = cell.scaled(work[1], k, 2, True)
        if before:
            past = times(bind("past", past), cell.sigmoid(cell.argument(work, k, 1), bind))
        n = bind("n", cell.tanh(cell.scaled(work[0], k, 2, False) + past, bind))
        z = cell.sigmoid(cell.argument(work, k, 0), bind)
        y = bind("y", hidden_state(between(n, h[slot, k], z)))
        return (*lets.block, store(h[slot, k], convert(y, DType.I16)), *cell.write(0, (t, k), y))

    first = cell.input_sums(work[0], t)
    if before:
        return (*first, *cell.state_sums(work[1], range(3 * hidden), h), *cell.each_unit(update))
    gates, last = range(2 * hidden), range(2 * hidden, 3 * hidden)
    first += (*cell.state_sums(work[1], gates, h), *cell.each_unit(reset))
    return (*first, *cell.state_sums(work[1], last, work[2]), *cell.each_unit(update))


def int_rnn(ctx: NestContext, node: Node, cells: Cells = PLAIN_INTEGERS) -> Block:
    return recurrence(ctx, node, (optional(node, INITIAL),), (1, 1), _rnn_step, cells)


def _rnn_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    assert isinstance(cell, IntCell)
    (h,), slot = states, cell.slot
    logistic = texts(cell.node.attrs, "activations")[0] == "Sigmoid"

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        u = cell.argument(work, k, 0)
        y = cell.sigmoid(u, lets.bind) if logistic else cell.tanh(u, lets.bind)
        y = lets.bind("y", hidden_state(rounded(y, 2 if logistic else 1)))
        return (*lets.block, store(h[slot, k], convert(y, DType.I16)), *cell.write(0, (t, k), y))

    return (*cell.input_sums(work[0], t), *cell.state_sums(work[1], range(cell.hidden), h), *cell.each_unit(update))
