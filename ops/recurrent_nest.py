"""Nests of lstm, gru and rnn: directions and batches around the loop over time.

The state and the gates of one batch are on the stack. Each step computes all gates from the old state first; only
then the state is replaced. Layouts and gate order are in ``ops/recurrent.py``. The sums of products are those of a
:class:`Cell`, which a schedule may compute otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..ir.build import absolute, convert, maximum, minimum, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Alloc, Block, Buffer, Const, Expr, Type, Var, as_expr, const
from ..ir.types import DType
from ..record import record
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


@record
class Sums:
    """``target[slot, at + n]`` for the n-th of ``rows`` of both weights: the bias and the product with x at time ``t``,
    if there is one, plus those of ``state[slot]``."""

    target: Buffer
    at: int
    rows: range
    t: Expr | None = None
    state: Buffer | None = None


@record
class Units:
    """Statements for each of ``count`` units, or of all units of some sections one after the other. They read and write
    what belongs to this unit alone, in any of the sections."""

    count: int
    body: Callable[[Expr], Block]


@record
class Cell:
    """One direction of a recurrence for one batch, or where a schedule says so, for all of them."""

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

    @property
    def slot(self) -> Expr:
        """Where the states and sums of the batch are in the memory of a cell."""
        return INDEX(0)

    def memory(self, stem: str, sections: int = 1) -> tuple[Buffer, Block]:
        """``[slots, sections * hidden]`` numbers, and the statements that provide them."""
        buffer = scratch(self.ctx, stem, self.dtype, 1, sections * self.hidden)
        return buffer, (Alloc(buffer),)

    def state_memory(self, number: int) -> tuple[Buffer, Block]:
        """The same for a state, by its number."""
        return self.memory("state")

    def work_memory(self, number: int, sections: int) -> tuple[Buffer, Block]:
        """The same for work space."""
        return self.memory("work", sections)

    @property
    def lengths(self) -> Value | None:
        """The operand that has the lengths of sequences."""
        return optional(self.node, lengths_position(2 if self.node.op == "lstm" else 1))

    # ------------------------------------------------------------ sums

    def stage(self, sums: Sequence[Sums], units: Sequence[Units]) -> Block:
        """``sums`` of one state, then ``units`` one after the other."""
        return (*(stmt for each in sums for stmt in self.sums(each)), *(
            stmt for each in units for stmt in self.each_unit(each.body, each.count)
        ))  # fmt: skip

    def sums(self, sums: Sums) -> Block:
        """The sums of all rows."""
        t, state = sums.t, sums.state

        def one(n: Expr) -> Block:
            row, adds = n + sums.rows.start, []
            bias: Expr = const(0, Type(self.dtype))
            if t is not None:
                adds, bias = [self.input(row, t)], self.bias(row, False)
            if state is not None:
                recurrent = self.bias(row, True)
                adds.append(self.recurrent(row, state))
                bias = recurrent if t is None else bias + recurrent
            acc, init = accumulator(self.ctx, "acc", self.dtype, bias)
            done = store(sums.target[self.slot, n + sums.at], acc[0])
            return (*init, *(stmt for add in adds for stmt in add(acc)), done)

        return self.each_unit(one, len(sums.rows))

    def bias(self, row: Expr, recurrent: bool) -> Expr:
        """The bias of the input weights, or that of the recurrent ones."""
        w, b = operand(self.node, 1), optional(self.node, 3)
        if b is None:
            return const(0, Type(self.dtype))
        return self.read(b, row + w.shape[1] if recurrent else row)

    def input(self, row: Expr, t: Expr) -> Callable[[Buffer], Block]:
        """acc += x[t, batch] . w[row]"""
        x, w = operand(self.node, 0), operand(self.node, 1)

        def term(acc: Buffer, i: Expr) -> Block:
            factor = read_as(self.ctx, x, (t, self.batch, i), self.dtype)
            return (accumulate("add", acc, factor * self.read(w, row, i)),)

        return lambda acc: serial_loop(self.ctx, "i", x.shape[2], lambda i: term(acc, i))

    def recurrent(self, row: Expr, state: Buffer) -> Callable[[Buffer], Block]:
        """acc += state[slot] . r[row]"""
        r = operand(self.node, 2)

        def term(acc: Buffer, j: Expr) -> Block:
            return (accumulate("add", acc, state[self.slot, j] * self.read(r, row, j)),)

        return lambda acc: serial_loop(self.ctx, "j", self.hidden, lambda j: term(acc, j))

    def each_unit(self, body: Callable[[Expr], Block], units: int | None = None) -> Block:
        """A loop over the hidden units, or over ``units`` rows."""
        return serial_loop(self.ctx, "k", units or self.hidden, body)

    def write(self, number: int, index: tuple[Expr, ...], element: Expr) -> Block:
        """Stores to output ``number``, whose last dimensions are direction, batch and unit."""
        *outer, unit = index
        at = (*outer, as_expr(self.direction), self.batch, unit)
        return write_as(self.ctx, self.node.outputs[number], at, element)


# ---------------------------------------------------------------- what is common


@record
class Cells:
    """``make`` gives the cell of a direction and a batch. ``together``: one cell is for all batches, and its loops over
    units are loops over batches as well, by the variable that it is made with."""

    make: Callable[[NestContext, Node, int, Expr], Cell] = Cell
    together: bool = False


PLAIN = Cells()
Step = Callable[[Cell, Sequence[Buffer], Sequence[Buffer], Expr], Block]
"""``step(cell, work, states, t)``: one step in time, which replaces the states and writes output 0."""


def _directions(node: Node) -> int:
    return operand(node, 1).shape[0]


def recurrence(
    ctx: NestContext, node: Node, initial: Sequence[Value | None], sections: Sequence[int], step: Step, cells: Cells
) -> Block:
    """Runs ``step`` over time. ``initial`` are the first states; work space has so many ``sections`` of hidden size."""
    seq, batches, _ = operand(node, 0).shape

    def one(cell: Cell) -> Block:
        found = [cell.work_memory(number, count) for number, count in enumerate(sections)]
        found += [cell.state_memory(number) for number in range(len(initial))]
        buffers, allocs = [buffer for buffer, _ in found], tuple(stmt for _, alloc in found for stmt in alloc)
        work, states = buffers[: len(sections)], buffers[len(sections) :]
        init = cell.each_unit(lambda k: tuple(
            store(state[cell.slot, k], _start(cell, state, first, k))
            for state, first in zip(states, initial)
        ))  # fmt: skip
        count, rest = _length(cell, cell.lengths, seq)
        steps = serial_loop(ctx, "t", count, lambda t: step(cell, work, states, _place(cell, t, count)))
        zero = const(0, Type(node.outputs[0].dtype))
        behind = serial_loop(
            ctx, "t", seq - count, lambda t: cell.each_unit(lambda k: cell.write(0, (seq - 1 - t, k), zero))
        )
        finish = cell.each_unit(lambda k: tuple(
            stmt
            for number, state in enumerate(states, start=1)
            for stmt in cell.write(number, (k,), state[cell.slot, k])
        ))  # fmt: skip
        return (*allocs, *init, *rest, *steps, *behind, *finish)

    def over_batches(direction: int) -> Block:
        if cells.together:
            return one(cells.make(ctx, node, direction, Var(ctx.fresh("b"))))
        return loops(ctx, ("b",), (batches,), lambda index: one(cells.make(ctx, node, direction, index[0])))

    return tuple(stmt for direction in range(_directions(node)) for stmt in over_batches(direction))


def _start(cell: Cell, state: Buffer, first: Value | None, k: Expr) -> Expr:
    if first is None:
        return const(0, state.type)
    return convert(cell.read(first, cell.batch, k), state.dtype)


def _length(cell: Cell, lengths: Value | None, seq: int) -> tuple[Expr, Block]:
    """How many steps a sequence has, within 0 and ``seq``, and the statements that find it."""
    if lengths is None:
        return as_expr(seq), ()
    lets = Lets(cell.ctx)
    given = convert(cell.ctx.read(lengths, (cell.batch,)), INDEX.dtype)
    count = lets.bind("length", maximum(minimum(given, seq), 0))
    return count, lets.block


def _place(cell: Cell, t: Expr, count: Expr) -> Expr:
    """The place of step t. The clamp never binds: it shows the range to the verifier where the count is not known."""
    if not cell.backward:
        return t
    return count - 1 - t if isinstance(count, Const) else maximum(count - 1 - t, 0)


# ---------------------------------------------------------------- the three cells


def lstm(ctx: NestContext, node: Node, cells: Cells = PLAIN) -> Block:
    """All four gates of a step, then c = f * c + i * g, h = o * h(c)."""
    return recurrence(ctx, node, (optional(node, 4), optional(node, 5)), (4,), _lstm_step, cells)


def _lstm_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    (gates,), (h, c), slot = work, states, cell.slot

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        bind, old = lets.bind, lets.bind("c", c[slot, k])
        sum_i, sum_o, sum_f, sum_g = (gates[slot, k + section * cell.hidden] for section in range(4))
        i = bind("i", cell.activate(0, _peep(cell, sum_i, 0, k, old), bind))
        coupled = cell.node.attrs["input_forget"]
        f = 1.0 - i if coupled else cell.activate(0, _peep(cell, sum_f, 2, k, old), bind)
        new = bind("c", f * old + i * cell.activate(1, sum_g, bind))
        o = cell.activate(0, _peep(cell, sum_o, 1, k, new), bind)
        y = bind("y", o * cell.activate(2, new, bind))
        return (*lets.block, store(c[slot, k], new), store(h[slot, k], y), *cell.write(0, (t, k), y))

    sums = Sums(gates, 0, range(4 * cell.hidden), t, h)
    return cell.stage([sums], [Units(cell.hidden, update)])


def _peep(cell: Cell, gate: Expr, section: int, k: Expr, c: Expr) -> Expr:
    """The gate with its peephole (i, o, f in this order), if there is one."""
    p = optional(cell.node, 6)
    return gate if p is None else gate + cell.read(p, k + section * cell.hidden) * c


def gru(ctx: NestContext, node: Node, cells: Cells = PLAIN) -> Block:
    """Gates z and r, the candidate, then h = (1 - z) * candidate + z * h."""
    return recurrence(ctx, node, (optional(node, 4),), (3, 1), _gru_step, cells)


def _gru_step(cell: Cell, work: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    """``gates`` are z, r and the sums of the candidates, ``past`` is r * h or the sums that r is multiplied by."""
    (gates, past), (h,), hidden, slot = work, states, cell.hidden, cell.slot
    before = bool(cell.node.attrs["linear_before_reset"])
    candidates = range(2 * hidden, 3 * hidden)

    def gate(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        value = cell.activate(0, lets.bind("sum", gates[slot, k]), lets.bind)
        return (*lets.block, store(gates[slot, k], value))

    def reset(k: Expr) -> Block:
        return (store(past[slot, k], gates[slot, k + hidden] * h[slot, k]),)

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        z = lets.bind("z", gates[slot, k])
        total: Expr = gates[slot, k + 2 * hidden]
        if before:
            total = total + gates[slot, k + hidden] * past[slot, k]
        candidate = cell.activate(1, lets.bind("sum", total), lets.bind)
        y = lets.bind("y", (1.0 - z) * candidate + z * h[slot, k])
        return (*lets.block, store(h[slot, k], y), *cell.write(0, (t, k), y))

    sums, gating, last = Sums(gates, 0, range(2 * hidden), t, h), Units(2 * hidden, gate), Units(hidden, update)
    if before:
        given = Sums(gates, 2 * hidden, candidates, t)
        return cell.stage([sums, Sums(past, 0, candidates, state=h), given], [gating, last])
    first = cell.stage([sums], [gating, Units(hidden, reset)])
    return (*first, *cell.stage([Sums(gates, 2 * hidden, candidates, t, past)], [last]))


def rnn(ctx: NestContext, node: Node, cells: Cells = PLAIN) -> Block:
    """h = f(x . w + h . r + bias)."""
    return recurrence(ctx, node, (optional(node, 4),), (1,), _rnn_step, cells)


def _rnn_step(cell: Cell, memory: Sequence[Buffer], states: Sequence[Buffer], t: Expr) -> Block:
    (work,), (h,), slot = memory, states, cell.slot

    def update(k: Expr) -> Block:
        lets = Lets(cell.ctx)
        y = lets.bind("y", cell.activate(0, lets.bind("sum", work[slot, k]), lets.bind))
        return (*lets.block, store(h[slot, k], y), *cell.write(0, (t, k), y))

    return cell.stage([Sums(work, 0, range(cell.hidden), t, h)], [Units(cell.hidden, update)])
