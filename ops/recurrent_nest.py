"""Plain nests of lstm, gru and rnn: directions and batches around the loop over time.

The state and the gates of one batch are on the stack. Each step computes all gates from the old state first; only
then the state is replaced. Layouts and gate order are in ``ops/recurrent.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir.build import absolute, convert, maximum, minimum, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Alloc, Block, Buffer, Const, Expr, Type, as_expr, const
from ..ir.types import DType
from .attributes import integer, number, texts
from .float_exprs import Expansion
from .math_exprs import sigmoid, softplus, tanh
from .nest_tools import (
    Lets,
    accumulate,
    accumulator,
    accumulator_dtype,
    loops,
    operand,
    optional,
    read_as,
    scratch,
    serial_loop,
    write_as,
)
from .opdef import Bind, NestContext
from .recurrent import lengths_position


def _softsign(x: Expr, bind: Bind) -> Expr:
    x = bind("x", x)
    return x / (absolute(x) + 1.0)


ACTIVATIONS: dict[str, Expansion] = {
    "Sigmoid": sigmoid,
    "Tanh": tanh,
    "Relu": lambda x, bind: maximum(0, x),
    "HardSigmoid": lambda x, bind: minimum(1, maximum(0, x * 0.2 + 0.5)),
    "Softsign": _softsign,
    "Softplus": softplus,
}


@dataclass(frozen=True)
class _Cell:
    """One direction of a recurrence for one batch."""

    ctx: NestContext
    node: Node
    direction: int
    batch: Expr

    @property
    def dtype(self) -> DType:
        return accumulator_dtype(operand(self.node, 0).dtype)

    @property
    def hidden(self) -> int:
        return integer(self.node.attrs, "hidden")

    @property
    def backward(self) -> bool:
        return self.direction == 1 or self.node.attrs["direction"] == "reverse"

    def activate(self, position: int, x: Expr, bind: Bind) -> Expr:
        """Activation ``position`` of this direction, behind the clip of its argument."""
        names, bound = texts(self.node.attrs, "activations"), number(self.node.attrs, "clip")
        per_direction = len(names) // _directions(self.node)
        if bound < math.inf:
            x = minimum(bound, maximum(-bound, x))
        return ACTIVATIONS[names[self.direction * per_direction + position]](x, bind)

    def read(self, value: Value, *index: Expr) -> Expr:
        """An element of an operand whose first dimension is the direction."""
        return read_as(self.ctx, value, (as_expr(self.direction), *index), self.dtype)

    def scratch(self, stem: str, sections: int = 1) -> Buffer:
        return scratch(self.ctx, stem, self.dtype, sections * self.hidden)

    # ------------------------------------------------------------ sums

    def dot(self, bias: Expr, sums: Sequence[Callable[[Buffer], Block]]) -> tuple[Block, Expr]:
        """A sum that starts with ``bias``: statements, and its value."""
        acc, init = accumulator(self.ctx, "acc", self.dtype, bias)
        return (*init, *(stmt for add in sums for stmt in add(acc))), acc[0]

    def bias(self, row: Expr, recurrent: bool) -> Expr:
        """The bias of the input weights, or that of the recurrent ones."""
        w, b = operand(self.node, 1), optional(self.node, 3)
        if b is None:
            return const(0, Type(self.dtype))
        return self.read(b, row + w.shape[1] if recurrent else row)

    def biases(self, row: Expr) -> Expr:
        return self.bias(row, False) + self.bias(row, True)

    def input(self, row: Expr, t: Expr) -> Callable[[Buffer], Block]:
        """acc += x[t, batch] . w[row]"""
        x, w = operand(self.node, 0), operand(self.node, 1)

        def term(acc: Buffer, i: Expr) -> Block:
            factor = read_as(self.ctx, x, (t, self.batch, i), self.dtype)
            return (accumulate("add", acc, factor * self.read(w, row, i)),)

        return lambda acc: serial_loop(self.ctx, "i", x.shape[2], lambda i: term(acc, i))

    def recurrent(self, row: Expr, state: Buffer, offset: int = 0) -> Callable[[Buffer], Block]:
        """acc += state[offset:] . r[row]"""
        r = operand(self.node, 2)

        def term(acc: Buffer, j: Expr) -> Block:
            return (accumulate("add", acc, state[j + offset] * self.read(r, row, j)),)

        return lambda acc: serial_loop(self.ctx, "j", self.hidden, lambda j: term(acc, j))

    def each_unit(self, body: Callable[[Expr], Block], units: int | None = None) -> Block:
        """A loop over the hidden units, or over ``units`` rows."""
        return serial_loop(self.ctx, "k", units or self.hidden, body)

    def store_activated(self, number: int, total: Expr, buffer: Buffer, at: Expr) -> Block:
        """Stores an activation of ``total``."""
        lets = Lets(self.ctx)
        value = self.activate(number, lets.bind("sum", total), lets.bind)
        return (*lets.block, store(buffer[at], value))

    def write(self, number: int, index: tuple[Expr, ...], element: Expr) -> Block:
        """Stores to output ``number``, whose last dimensions are direction, batch and unit."""
        *outer, unit = index
        at = (*outer, as_expr(self.direction), self.batch, unit)
        return write_as(self.ctx, self.node.outputs[number], at, element)


# ---------------------------------------------------------------- what is common


Step = Callable[[_Cell, Buffer, Sequence[Buffer], Expr], Block]
"""``step(cell, work, states, t)``: one step in time, which replaces the states and writes output 0."""


def _directions(node: Node) -> int:
    return operand(node, 1).shape[0]


def _recurrence(ctx: NestContext, node: Node, initial: Sequence[Value | None], sections: int, step: Step) -> Block:
    """Runs ``step`` over time. ``initial`` are the first states, ``sections`` hidden sizes of work space are lent."""
    seq, batches, _ = operand(node, 0).shape
    lengths = optional(node, lengths_position(len(initial)))

    def one(cell: _Cell) -> Block:
        work, states = cell.scratch("work", sections), [cell.scratch("state") for _ in initial]
        allocs = tuple(Alloc(buffer) for buffer in (work, *states))
        init = cell.each_unit(lambda k: tuple(
            store(state[k], const(0, state.type) if first is None else cell.read(first, cell.batch, k))
            for state, first in zip(states, initial)
        ))  # fmt: skip
        count, rest = _length(cell, lengths, seq)
        steps = serial_loop(ctx, "t", count, lambda t: step(cell, work, states, _place(cell, t, count)))
        zero = const(0, Type(node.outputs[0].dtype))
        behind = serial_loop(
            ctx, "t", seq - count, lambda t: cell.each_unit(lambda k: cell.write(0, (seq - 1 - t, k), zero))
        )
        finish = cell.each_unit(lambda k: tuple(
            stmt for number, state in enumerate(states, start=1) for stmt in cell.write(number, (k,), state[k])
        ))  # fmt: skip
        return (*allocs, *init, *rest, *steps, *behind, *finish)

    def over_batches(direction: int) -> Block:
        return loops(ctx, ("b",), (batches,), lambda index: one(_Cell(ctx, node, direction, index[0])))

    return tuple(stmt for direction in range(_directions(node)) for stmt in over_batches(direction))


def _length(cell: _Cell, lengths: Value | None, seq: int) -> tuple[Expr, Block]:
    """How many steps a sequence has, within 0 and ``seq``, and the statements that find it."""
    if lengths is None:
        return as_expr(seq), ()
    lets = Lets(cell.ctx)
    given = convert(cell.ctx.read(lengths, (cell.batch,)), INDEX.dtype)
    count = lets.bind("length", maximum(minimum(given, seq), 0))
    return count, lets.block


def _place(cell: _Cell, t: Expr, count: Expr) -> Expr:
    """The place of step t. The clamp never binds: it shows the range to the verifier where the count is not known."""
    if not cell.backward:
        return t
    return count - 1 - t if isinstance(count, Const) else maximum(count - 1 - t, 0)


# ---------------------------------------------------------------- the three cells


def lstm(ctx: NestContext, node: Node) -> Block:
    """All four gates of a step, then c = f * c + i * g, h = o * h(c)."""
    return _recurrence(ctx, node, (optional(node, 4), optional(node, 5)), 4, _lstm_step)


def _lstm_step(cell: _Cell, work: Buffer, states: Sequence[Buffer], t: Expr) -> Block:
    h, c = states

    def gate(row: Expr) -> Block:
        sums, total = cell.dot(cell.biases(row), (cell.input(row, t), cell.recurrent(row, h)))
        return (*sums, store(work[row], total))

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        bind, old = lets.bind, lets.bind("c", c[k])
        sum_i, sum_o, sum_f, sum_g = (work[k + section * cell.hidden] for section in range(4))
        i = bind("i", cell.activate(0, _peep(cell, sum_i, 0, k, old), bind))
        coupled = cell.node.attrs["input_forget"]
        f = 1.0 - i if coupled else cell.activate(0, _peep(cell, sum_f, 2, k, old), bind)
        new = bind("c", f * old + i * cell.activate(1, sum_g, bind))
        o = cell.activate(0, _peep(cell, sum_o, 1, k, new), bind)
        y = bind("y", o * cell.activate(2, new, bind))
        return (*lets.block, store(c[k], new), store(h[k], y), *cell.write(0, (t, k), y))

    return (*cell.each_unit(gate, 4 * cell.hidden), *cell.each_unit(update))


def _peep(cell: _Cell, gate: Expr, section: int, k: Expr, c: Expr) -> Expr:
    """The gate with its peephole (i, o, f in this order), if there is one."""
    p = optional(cell.node, 6)
    return gate if p is None else gate + cell.read(p, k + section * cell.hidden) * c


def gru(ctx: NestContext, node: Node) -> Block:
    """Gates z and r, the candidate, then h = (1 - z) * candidate + z * h."""
    return _recurrence(ctx, node, (optional(node, 4),), 4, _gru_step)


def _gru_step(cell: _Cell, work: Buffer, states: Sequence[Buffer], t: Expr) -> Block:
    """``work`` holds z, r, the candidates and r * h."""
    (h,), hidden = states, cell.hidden

    def gate(row: Expr) -> Block:
        sums, total = cell.dot(cell.biases(row), (cell.input(row, t), cell.recurrent(row, h)))
        return (*sums, *cell.store_activated(0, total, work, row))

    def reset(k: Expr) -> Block:
        return (store(work[k + 3 * hidden], work[k + hidden] * h[k]),)

    def candidate(k: Expr) -> Block:
        row = k + 2 * hidden
        if cell.node.attrs["linear_before_reset"]:
            inner, own = cell.dot(cell.bias(row, False), (cell.input(row, t),))
            outer, past = cell.dot(cell.bias(row, True), (cell.recurrent(row, h),))
            sums, total = (*inner, *outer), own + work[k + hidden] * past
        else:
            sums, total = cell.dot(cell.biases(row), (cell.input(row, t), cell.recurrent(row, work, 3 * hidden)))
        return (*sums, *cell.store_activated(1, total, work, row))

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        z = lets.bind("z", work[k])
        y = lets.bind("y", (1.0 - z) * work[k + 2 * hidden] + z * h[k])
        return (*lets.block, store(h[k], y), *cell.write(0, (t, k), y))

    resets = () if cell.node.attrs["linear_before_reset"] else cell.each_unit(reset)
    return (*cell.each_unit(gate, 2 * hidden), *resets, *cell.each_unit(candidate), *cell.each_unit(update))


def rnn(ctx: NestContext, node: Node) -> Block:
    """h = f(x . w + h . r + bias)."""
    return _recurrence(ctx, node, (optional(node, 4),), 1, _rnn_step)


def _rnn_step(cell: _Cell, work: Buffer, states: Sequence[Buffer], t: Expr) -> Block:
    (h,) = states

    def unit(row: Expr) -> Block:
        sums, total = cell.dot(cell.biases(row), (cell.input(row, t), cell.recurrent(row, h)))
        return (*sums, *cell.store_activated(0, total, work, row))

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        y = lets.bind("y", work[k])
        return (*lets.block, store(h[k], y), *cell.write(0, (t, k), y))

    return (*cell.each_unit(unit), *cell.each_unit(update))
