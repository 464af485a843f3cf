"""The register-blocked contraction microkernel: one generator for convolution, matmul, Gemm and recurrent steps.

Float and integer alike: the target's :class:`Dot` says how many lanes and how many neighbouring k one
multiply-accumulate takes.

``acc[row, column] = init[column] + sum over k of lhs[row, k] * rhs[k, column]``

A block of ``rows x vectors`` accumulators stays in registers while k runs; columns are lanes. ``blocking.py`` chooses
its size, ``contraction_loops.py`` the loops around it, ``prefetch.py`` has its weights fetched before they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from math import ceil, prod

from ..ir.build import load, store
from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Expr,
    For,
    Lane,
    Let,
    Load,
    LoopKind,
    Select,
    Space,
    Splat,
    Stmt,
    Type,
    Var,
    as_expr,
)
from ..ir.loops_rewrite import loop, loop_index, map_expr, row_major, stmt_exprs, walk_expr, walk_stmts
from ..ir.types import DType
from ..record import record
from .affine import coefficient, occurs
from .blocking import Axis, Blocking, Region, unroll_factor
from .dots import (
    HALVES,
    ends_whole,
    group_operand,
    halves,
    multiply_accumulate,
    operand_type,
    part_operand,
    weight_part,
    widened,
)
from .names import Names
from .prefetch import Stream, stream

ROWS_THAT_WAIT = 4
"""Rows from which on there is time between the loads of weights to fetch those of later steps."""
LONG_FINISH = 16
"""Operations behind a result from which on they are a loop over the rows: in straight code behind a full block their
constants would compete with its accumulators for registers, and their code would be as many times as long."""


@record
class Contraction:
    """One contraction as index functions.

    ``lhs`` is the scalar load in terms of the axes' variables; its type chooses the Dot. ``rhs(region, block, vector)``
    gives the vector of weights in terms of the k variables, of which the last one counts groups of ``dot.group``, or
    their parts.
    ``init(column, lanes, active)`` gives the start value, ``finish(row, column, vector, lanes, active)`` the statements
    that use a result; ``row`` and ``column`` are index expressions.

    With ``weigh(region, block, vector, sum)`` every sum over all k but the first, which begins with ``init``, becomes
    what is added up, in terms of the first of the k variables. ``packed``: the weights are in the order of
    :func:`~ccml.schedule.contraction.pack_columns`.
    """

    outer: tuple[Axis, ...]
    row: Axis
    columns: int
    k: tuple[Axis, ...]
    lhs: Expr
    rhs: Callable[[Region, Expr, int], Expr]
    init: Callable[[Expr, int, int], Expr]
    finish: Callable[[Expr, Expr, Expr, int, int], Block]
    weigh: Callable[[Region, Expr, int, Expr], Expr] | None = None
    packed: bool = False

    @property
    def depth(self) -> int:
        return prod(axis.extent for axis in self.k)


def tile(
    spec: Contraction, blocking: Blocking, names: Names, region: Region, block_var: Var, var: Var, start: int,
    count: int, height: int, loops: Sequence[Axis],
) -> Block:  # fmt: skip
    """One block of ``height`` rows, the ``var``-th of ``count`` from row ``start`` on, by the columns of block
    ``block_var`` of a region, in the ``loops`` around it."""
    base = loop_index(var, count) * height + start
    block = loop_index(block_var, region.blocks)
    around = [each for each in loops if each.extent > 1]
    weights = None
    if blocking.prefetch is not None:
        elements = ceil(spec.depth / blocking.dot.group) * region.vectors * blocking.dot.rows * blocking.dot.lanes
        elements *= blocking.dot.packed_parts
        rhs = [spec.rhs(region, block, vector) for vector in range(region.vectors)]
        k = [axis.var for axis in spec.k]
        weights = stream(blocking.prefetch, rhs, k, elements, around, blocking.dot.packed_parts)
    return _Microkernel(spec, blocking, names, region, block, base, height, weights).emit()


class _Microkernel:
    """One block of ``height`` rows by ``region.vectors`` vectors."""

    def __init__(
        self, spec: Contraction, blocking: Blocking, names: Names, region: Region, block: Expr, base: Expr, height: int,
        stream: Stream | None,
    ) -> None:  # fmt: skip
        self.spec, self.blocking, self.names, self.stream = spec, blocking, names, stream
        self.region, self.block, self.base, self.height = region, block, base, height
        self.lanes = blocking.dot.lanes
        self.type = Type(DType(blocking.dot.accumulator.value), self.lanes)
        inner = max(1, spec.k[-1].extent // blocking.dot.group)
        self.by_lanes = blocking.lane_operand and _is_consecutive(spec.lhs, spec.k[-1].var)
        self.unroll = unroll_factor(inner, height * region.vectors, blocking)
        if self.by_lanes:
            self.unroll = blocking.dot.steps
        self.chains = blocking.chains if self.unroll % blocking.chains == 0 else 1
        self.tile = blocking.dot.rows
        shape = (self.chains, ceil(height / self.tile), region.vectors * self.tile)
        self.acc = Buffer(names.fresh("acc"), self.type, shape, Space.REG)
        self.sums = Buffer(names.fresh("sums"), self.type, shape[1:], Space.REG)
        operand = operand_type(blocking.dot)
        self.weights = Buffer(names.fresh("wv"), operand, (blocking.dot.parts * shape[2],), Space.REG)
        steps = blocking.dot.steps if blocking.dot.widens else self.lanes
        self.rows = Buffer(names.fresh("xs"), operand.with_lanes(steps), (height,), Space.REG)
        self.registers = (Alloc(self.weights), Alloc(self.rows)) if self.by_lanes else (Alloc(self.weights),)

    def emit(self) -> Block:
        if self.spec.weigh is not None:
            return (*self._weighed_loops(), *self._finish(lambda i, j: self.sums[_index(i, j)]))
        start = (Alloc(self.acc), *self._start(), *self.registers)
        return (*start, *self._k_loops(self.spec.k[:-1]), *self._finish(self._total))

    def _weighed_loops(self) -> Block:
        """For each step of the first k: the sum over the others, weighed, added to what is there."""
        assert self.spec.weigh is not None
        every = [(i, j) for i in range(self.height) for j in range(self.region.vectors)]
        zero = self.type(0)
        start = [store(self.sums[_index(i, j)], zero) for i, j in every]
        add: list[Stmt] = []
        for i, j in every:
            weighed = self.spec.weigh(self.region, self.block, j, self._total(i, j))
            add.append(store(self.sums[_index(i, j)], self.sums[_index(i, j)] + weighed))
        first, *others, _ = self.spec.k
        body = (*self._start(), *self._k_loops(others), *add)
        blocks = loop(first.var, first.extent, *body, kind=first.kind)
        return (Alloc(self.sums), *start, Alloc(self.acc), *self.registers, *blocks)

    def _column(self, vector: int) -> Expr:
        return self.block * (self.region.vectors * self.lanes) + (self.region.start + vector * self.lanes)

    def _active(self, vector: int) -> int:
        """Only the last block can be partial, and then it is the only one of its region."""
        return self.region.active(vector, self.lanes, self.region.blocks - 1)

    def _start(self) -> Block:
        out: list[Stmt] = []
        zero = self.type(0)
        for j in range(self.region.vectors):
            first = self.spec.init(self._column(j), self.lanes, self._active(j))
            if not isinstance(first, Const):
                named = Var(self.names.fresh("init"), self.type)
                out.append(Let(named, first))
                first = named
            starts = [first] if self.tile == 1 else [halves(name, first, first) for name in HALVES]
            for i in range(self.acc.shape[1]):
                for c in range(self.chains):
                    for part, start in enumerate(starts):
                        place = _index(c, i, j * self.tile + part)
                        out.append(store(self.acc[place], start if c == 0 else zero))
        return tuple(out)

    def _k_loops(self, outer: Sequence[Axis]) -> Block:
        inner, group = self.spec.k[-1], self.blocking.dot.group
        full, rest = divmod(inner.extent, group)
        step, block_var = Var(self.names.fresh("t")), Var(self.names.fresh("kb"))
        k = block_var * self.unroll + step if self.unroll > 1 else block_var
        if self.by_lanes:
            body = self._lane_steps(block_var * self.unroll, range(self.unroll))
        else:
            body = (*self._next_lines(k), *self._step(step, k, self._broadcast(k, group)))
            if self.unroll > 1:
                body = (For(step, INDEX(self.unroll), body, LoopKind.UNROLL),)
        passages, left = divmod(full, self.unroll)
        nest = loop(block_var, passages, *self._next_block(block_var, passages), *body)
        if left:
            nest += self._lane_steps(as_expr(full - self.unroll), range(self.unroll - left, self.unroll))
        if rest:
            nest += self._step(as_expr(0), as_expr(full), self._last(full, rest))
        for axis in reversed(outer):
            nest = loop(axis.var, axis.extent, *nest, kind=axis.kind)
        return nest

    def _next_lines(self, k: Expr) -> Block:
        """What fetches the weights that are read some steps behind step ``k`` of the last dimension."""
        if self.stream is None or self.height < ROWS_THAT_WAIT:
            return ()
        steps = ceil(self.spec.k[-1].extent / self.blocking.dot.group)
        elements = self.region.vectors * self.blocking.dot.packed_parts * self.lanes
        return self.stream.next_lines(self._outer_k() * steps + k, elements)

    def _next_block(self, passage: Expr, passages: int) -> Block:
        """What fetches a part of the next block of weights, in a passage of the loop over the last k."""
        if self.stream is None:
            return ()
        bodies = prod(axis.extent for axis in self.spec.k[:-1]) * passages
        return self.stream.next_block(self._outer_k() * passages + passage, bodies)

    def _outer_k(self) -> Expr:
        """How many passages of the loop over the last k came before."""
        outer = self.spec.k[:-1]
        return row_major([axis.var for axis in outer], [axis.extent for axis in outer])

    def _lane_steps(self, first: Expr, lanes: range) -> Block:
        """A vector of each row, from step ``first`` on, then one of the groups in its ``lanes`` after the other."""
        i, group = Var(self.names.fresh("i")), self.blocking.dot.group
        lhs = self._activation(first * group)
        vector: Expr = load(lhs.buffer, *lhs.index, lanes=self.unroll * group)
        vector = Bitcast(self.rows.type, vector) if group > 1 else widened(self.blocking.dot, vector)
        rows = For(i, INDEX(self.height), (store(self.rows[i], _bound(vector, {_ROW: i})),), LoopKind.UNROLL)
        steps: list[Stmt] = []
        for lane in lanes:
            factor = partial(self._lane, lane) if self.tile == 1 else partial(self._rows_of_vectors, HALVES[lane])
            steps += self._step(as_expr(lane), first + lane, factor)
        return (rows, *steps)

    def _lane(self, lane: int, row: Expr) -> Expr:
        return Lane(self.rows[row], lane)

    def _rows_of_vectors(self, name: str, pair: int) -> Expr:
        """The groups of two rows for a product of matrices, from the vectors that :meth:`_lane_steps` has loaded."""
        one, other = self._pair(pair)
        return halves(name, self.rows[_index(one)], self.rows[_index(other)])

    def _rows_from_memory(self, operand: Expr, pair: int) -> Expr:
        """The groups of two rows for a product of matrices."""
        words = [Splat(_bound(operand, {_ROW: as_expr(row)}), 2) for row in self._pair(pair)]
        return halves(HALVES[0], *(Bitcast(self.rows.type, word) for word in words))

    def _pair(self, pair: int) -> tuple[int, int]:
        """The rows of a pair, of which the last may have one alone."""
        return 2 * pair, min(2 * pair + 1, self.height - 1)

    def _activation(self, k: Expr) -> Load:
        """The activation of the row ``_ROW`` at ``k`` of the last dimension."""
        lhs = _bound(self.spec.lhs, {self.spec.k[-1].var: k, self.spec.row.var: self.base + _ROW})
        assert isinstance(lhs, Load)
        return lhs

    def _last(self, full: int, rest: int) -> Callable[[Expr], Expr]:
        """The scalar that a row multiplies its weights with behind ``full`` groups; ``rest`` elements are left."""
        group = self.blocking.dot.group
        if self.spec.packed and ends_whole(self.blocking.dot, full * group + rest):
            return self._broadcast(as_expr(full), group, group - rest)
        return self._broadcast(as_expr(full), rest)

    def _broadcast(self, k: Expr, present: int, earlier: int = 0) -> Callable[[Expr], Expr]:
        """The scalar that a row multiplies its weights with: the group of number ``k``, or the one that begins some
        elements ``earlier``; ``present`` of its elements exist."""
        dot = self.blocking.dot
        operand = group_operand(dot, self._activation(k * dot.group - earlier), present)
        if self.tile > 1:
            return partial(self._rows_from_memory, operand)
        return lambda i: _bound(operand, {_ROW: i})

    def _step(self, step: Expr, k: Expr, factor: Callable[..., Expr]) -> Block:
        """One step of k: the weights into registers, then every row times every vector.

        ``k`` counts groups; ``factor`` is that of a row, or of a pair of rows.
        """
        dot, loads = self.blocking.dot, self._load_weights(k)
        chain = step % self.chains if self.chains > 1 else as_expr(0)
        if self.tile > 1:
            return (*loads, *self._matrix_products(chain, factor))
        i = Var(self.names.fresh("i"))
        operand = factor(i)
        is_lane = isinstance(operand, Lane)
        if self.lanes > 1 and not self.blocking.scalar_operand:
            operand = Splat(operand, self.lanes)
        named: Block = ()
        if not is_lane or dot.weight_registers > 1:
            x = Var(self.names.fresh("xv"), operand.type)
            named, operand = (Let(x, operand),), x
        if self.blocking.scalar_operand:
            operand = Splat(operand, self.lanes)
        columns = (stmt for part in range(dot.parts) for stmt in self._columns(part, chain, i, operand))
        return (*loads, For(i, INDEX(self.height), (*named, *columns), LoopKind.UNROLL))

    def _load_weights(self, k: Expr) -> Block:
        """The weights of group ``k`` into registers, those of a part of it behind each other."""
        dot, inner = self.blocking.dot, self.spec.k[-1].var
        vectors = self.weights.shape[0] // dot.parts
        loads: list[Stmt] = []
        for part in range(dot.parts):
            group = k * dot.packed_parts + part if dot.packed_parts > 1 else k
            for j in range(vectors):
                loaded = _bound(self.spec.rhs(self.region, self.block, j), {inner: group})
                loads.append(store(self.weights[_index(part * vectors + j)], weight_part(dot, loaded, part)))
        return tuple(loads)

    def _columns(self, part: int, chain: Expr, row: Expr, operand: Expr) -> Block:
        """A ``part`` of the activations of a row times every vector of weights."""
        dot, vectors = self.blocking.dot, self.weights.shape[0] // self.blocking.dot.parts
        apart: Block = ()
        if dot.parts > 1:
            x = Var(self.names.fresh("xp"), operand.type)
            apart, operand = (Let(x, part_operand(dot, operand, part)),), x
        j = Var(self.names.fresh("j"))
        acc, weights = self.acc[chain, row, j], self.weights[j + part * vectors if part else j]
        update = store(acc, multiply_accumulate(dot, operand, weights, acc))
        return (*apart, For(j, INDEX(vectors), (update,), LoopKind.UNROLL))

    def _matrix_products(self, chain: Expr, factor: Callable[[int], Expr]) -> Block:
        """Every pair of rows times every pair of columns."""
        out: list[Stmt] = []
        for i in range(self.acc.shape[1]):
            x = Var(self.names.fresh("xv"), self.rows.type)
            out.append(Let(x, factor(i)))
            for j in range(self.acc.shape[2]):
                acc = self.acc[chain, as_expr(i), as_expr(j)]
                out.append(store(acc, multiply_accumulate(self.blocking.dot, x, self.weights[_index(j)], acc)))
        return tuple(out)

    def _total(self, i: int, j: int) -> Expr:
        """The results of a row in a vector of columns."""
        if self.tile == 1:
            return self._sum_of_chains(i, j)
        return halves(HALVES[i % 2], *(self._sum_of_chains(i // 2, 2 * j + part) for part in range(2)))

    def _sum_of_chains(self, i: int, j: int) -> Expr:
        value: Expr = self.acc[_index(0, i, j)]
        for c in range(1, self.chains):
            value = value + self.acc[_index(c, i, j)]
        return value

    def _finish(self, result: Callable[[int, int], Expr]) -> Block:
        first = self._finished(as_expr(0), lambda j: result(0, j))
        if self.height > 1 and _operations(first) > LONG_FINISH * self.region.vectors:
            return self._finish_by_rows(result)
        rows = (self._finished(as_expr(i), partial(result, i)) for i in range(1, self.height))
        return (*first, *chain.from_iterable(rows))

    def _finish_by_rows(self, result: Callable[[int, int], Expr]) -> Block:
        """The results to the stack, then a loop over the rows."""
        vectors, lanes = self.region.vectors, self.lanes
        scalar = self.type.with_lanes(1)
        shape, align = (self.height, vectors * lanes), lanes * scalar.dtype.size
        results = Buffer(self.names.fresh("results"), scalar, shape, Space.STACK, align=align)
        stores = tuple(
            store(results[_index(i, j * lanes)], result(i, j)) for i in range(self.height) for j in range(vectors)
        )
        row = Var(self.names.fresh("i"))
        finished = self._finished(row, lambda j: load(results, row, j * lanes, lanes=lanes))
        return (Alloc(results), *stores, *loop(row, self.height, *finished))

    def _finished(self, row: Expr, result: Callable[[int], Expr]) -> Block:
        """What is done with the results of a row of the block."""
        columns = (
            self.spec.finish(self.base + row, self._column(j), result(j), self.lanes, self._active(j))
            for j in range(self.region.vectors)
        )
        return tuple(chain.from_iterable(columns))


def _operations(block: Block) -> int:
    """Operations on elements, not on indices."""
    exprs = (part for stmt in walk_stmts(block) for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return sum(isinstance(part, (Binary, Call, Select)) and part.type.dtype is not DType.INDEX for part in exprs)


_ROW = Var("row of the block")
"""Stands for a row until it is known which."""


def _is_consecutive(lhs: Expr, k: Var) -> bool:
    """Whether neighbouring k are neighbours in memory."""
    if not isinstance(lhs, Load) or lhs.lanes != 1 or lhs.active is not None:
        return False
    return coefficient(lhs.index[-1], k) == 1 and not any(occurs(k, index) for index in lhs.index[:-1])


def _index(*values: int) -> tuple[Expr, ...]:
    return tuple(as_expr(v) for v in values)


def _bound(expr: Expr, bindings: dict[Var, Expr]) -> Expr:
    return map_expr(expr, lambda part: bindings.get(part) if isinstance(part, Var) else None)
