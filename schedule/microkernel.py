"""The register-blocked contraction microkernel: one generator for convolution, matmul, Gemm and recurrent steps.

Float and integer alike: the target's :class:`Dot` says how many lanes and how many neighbouring k one
multiply-accumulate takes.

``acc[row, column] = init[column] + sum over k of lhs[row, k] * rhs[k, column]``

A block of ``rows x vectors`` accumulators stays in registers while k runs; columns are lanes. Where a block is too
small to hide the latency of the multiply-add, k is spread over ``chains`` independent sets of accumulators, which are
added at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from ..ir.loops_rewrite import loop, map_expr, stmt_exprs, walk_expr, walk_stmts
from ..ir.types import DType
from ..targets.target import Cpu, Dot, ElementKind
from .affine import coefficient, occurs
from .dots import activation_shift, group_operand, multiply_accumulate
from .names import Names

UNROLLED = 64
"""Multiply-adds in the body of the innermost loop, at most."""
UNROLLED_COMPACT = 8
"""The same for compact code."""
MOST_STEPS = 8
"""Steps of k in the body of the innermost loop, at most."""
LONG_FINISH = 16
"""Operations behind a result from which on they are a loop over the rows: in straight code behind a full block their
constants would compete with its accumulators for registers, and their code would be as many times as long."""


@dataclass(frozen=True)
class Axis:
    var: Var
    extent: int
    kind: LoopKind = LoopKind.SERIAL


@dataclass(frozen=True)
class Blocking:
    """How a contraction is cut: ``rows x vectors`` accumulators of ``dot.lanes``, ``chains`` of them over k.

    With ``scalar_operand`` the multiply-add takes activations from scalar registers, with ``lane_operand`` from lanes:
    each row is loaded for as many steps of k as there are lanes. The loop over k is unrolled to ``limit``
    multiply-adds and ``ahead`` steps at most, with ``lane_operand`` by the lanes.
    """

    dot: Dot
    rows: int
    vectors: int
    chains: int
    unroll: int
    scalar_operand: bool = False
    limit: int = UNROLLED
    lane_operand: bool = False
    ahead: int = MOST_STEPS


@dataclass(frozen=True)
class Region:
    """``blocks`` blocks of ``vectors`` vectors of columns, from column ``start``; ``columns`` are there in all."""

    start: int
    blocks: int
    vectors: int
    columns: int

    def active(self, vector: int, lanes: int, block: int) -> int:
        """Columns that exist in a vector of a block."""
        return max(0, min(lanes, self.columns - (block * self.vectors + vector) * lanes))


@dataclass(frozen=True)
class Contraction:
    """One contraction as index functions.

    ``lhs`` is the scalar load in terms of the axes' variables; its type chooses the Dot. ``rhs(region, block, vector)``
    gives the vector of weights in terms of the k variables, of which the last one counts groups of ``dot.group``.
    ``init(column, lanes, active)`` gives the start value, ``finish(row, column, vector, lanes, active)`` the statements
    that use a result; ``row`` and ``column`` are index expressions.

    With ``scale(region, block, vector)``, a vector in terms of the first of the k variables, the sum over all other k
    is multiplied by it before it is added up.
    """

    outer: tuple[Axis, ...]
    row: Axis
    columns: int
    k: tuple[Axis, ...]
    lhs: Expr
    rhs: Callable[[Region, Expr, int], Expr]
    init: Callable[[Expr, int, int], Expr]
    finish: Callable[[Expr, Expr, Expr, int, int], Block]
    scale: Callable[[Region, Expr, int], Expr] | None = None

    @property
    def depth(self) -> int:
        return prod(axis.extent for axis in self.k)


def regions(columns: int, lanes: int, vectors: int) -> tuple[Region, ...]:
    """Columns as full blocks of ``vectors`` and one narrower block for the rest."""
    total = ceil(columns / lanes)
    main = columns // (lanes * vectors)
    rest = total - main * vectors
    found = []
    if main:
        found.append(Region(0, main, vectors, main * vectors * lanes))
    if rest:
        start = main * vectors * lanes
        found.append(Region(start, 1, rest, columns - start))
    return tuple(found)


# ---------------------------------------------------------------- choice of the blocking


def choose_blocking(
    cpu: Cpu, dots: Sequence[Dot], rows: int, columns: int, k: Sequence[int], outer: int = 1, *, sums: bool = False,
    reserve: int = 0,
) -> Blocking:  # fmt: skip
    """The blocking with the lowest estimated cycles among all of ``dots`` that fit the registers.

    ``k`` are the extents of the reduction; its last dimension is cut into groups. With ``sums`` a second set of
    accumulators is needed for what is scaled; ``reserve`` registers are left to the compiler. For compact code a
    blocking without remainders comes first.
    """
    best: tuple[int, float, int, Blocking] | None = None
    for dot in dots:
        depth = prod(k[:-1]) * ceil(k[-1] / dot.group)
        for vectors in range(1, 9):
            if vectors > max(1, ceil(columns / dot.lanes)):
                break
            for height in range(1, min(rows, 30) + 1):
                by_lanes = _takes_lanes(cpu, dot, k)
                taken = reserve + (height * vectors if sums else 0)
                blocking = _with_chains(cpu, dot, height, vectors, depth, taken, by_lanes)
                if blocking is None:
                    break
                cost = outer * blocking_cycles(cpu, blocking, rows, columns, depth)
                bodies = len(regions(columns, dot.lanes, vectors)) * len(_row_blocks(rows, height))
                key = (bodies if cpu.compact else 0, cost, height * vectors * dot.lanes, blocking)
                if best is None or key[:3] < best[:3]:
                    best = key
    assert best is not None
    return best[3]


def _takes_lanes(cpu: Cpu, dot: Dot, k: Sequence[int]) -> bool:
    """Whether the multiply-add takes activations from lanes of vectors, of which the last dimension has whole ones."""
    whole = k[-1] % (dot.lanes * dot.group) == 0
    plain = dot.activation is ElementKind.F32 or (dot.group == 4 and not activation_shift(dot))
    return cpu.lane_operand and dot.lanes > 1 and whole and plain


def _with_chains(
    cpu: Cpu, dot: Dot, rows: int, vectors: int, depth: int, taken: int, lane_operand: bool
) -> Blocking | None:
    """The number of chains that hides latency within the register budget; ``None`` if the block itself does not fit."""
    budget = cpu.registers.vector or cpu.registers.scalar - 4
    scalar_operand = cpu.scalar_operand and dot.lanes > 1
    factors = rows if lane_operand else dot.temporaries + (0 if scalar_operand else 1)
    spare = budget - vectors - factors - taken
    limit = UNROLLED_COMPACT if cpu.compact else UNROLLED
    if rows * vectors > max(min(spare, limit), 1):
        return None
    chains = 1
    wanted = cpu.pipeline.latency * cpu.pipeline.multiply_adds
    while chains * rows * vectors < wanted and 2 * chains * rows * vectors <= spare and 4 * chains <= depth:
        chains *= 2
    # Compilers load the weights of later steps ahead: they need registers, too. Cores that execute out of order gain
    # little by longer bodies.
    weights = budget - factors - taken - chains * rows * vectors
    ahead = MOST_STEPS if cpu.pipeline.in_order or cpu.compact else max(1, min(MOST_STEPS, weights // vectors))
    return Blocking(dot, rows, vectors, chains, chains, scalar_operand, limit, lane_operand, ahead)


def blocking_cycles(cpu: Cpu, blocking: Blocking, rows: int, columns: int, depth: int) -> float:
    """Estimated cycles of ``rows x columns`` results over ``depth`` steps of k."""
    total = 0.0
    for region in regions(columns, blocking.dot.lanes, blocking.vectors):
        for count, height in _row_blocks(rows, blocking.rows):
            step = _step(cpu, blocking, height, region.vectors)
            finish = 3.0 * height * region.vectors * blocking.chains + 12
            total += region.blocks * count * (depth * step + finish)
    return total


def _step(cpu: Cpu, blocking: Blocking, rows: int, vectors: int) -> float:
    """Cycles of one step of k."""
    pipeline = cpu.pipeline
    products = rows * vectors
    loads = vectors + (rows / blocking.dot.lanes if blocking.lane_operand else rows)
    if pipeline.in_order:
        multiply = products * (2 if blocking.dot.name == "mul+add" else 1)
        return multiply / pipeline.multiply_adds + loads / pipeline.loads + 3.0 / blocking.unroll
    latency = pipeline.latency / blocking.chains
    return max(products / pipeline.multiply_adds, loads / pipeline.loads, latency, (products + loads + 1) / 6)


def _row_blocks(rows: int, height: int) -> list[tuple[int, int]]:
    """(count, height): the full blocks and the rest."""
    blocks = [(rows // height, height)] if rows // height else []
    return blocks + ([(1, rows % height)] if rows % height else [])


def unroll_factor(extent: int, statements: int, blocking: Blocking) -> int:
    """The largest divisor of ``extent`` that is a multiple of the chains and keeps the body of steps of so many
    ``statements`` short."""
    chains = blocking.chains
    most = min(extent, max(blocking.ahead, chains))
    fitting = [u for u in range(1, most + 1) if extent % u == 0 and u * statements <= blocking.limit]
    multiples = [u for u in fitting if u % chains == 0]
    return max(multiples or fitting or [1])


# ---------------------------------------------------------------- generation


def contraction_block(spec: Contraction, blocking: Blocking, names: Names) -> Block:
    """The loop nest of ``spec``: regions of columns, then the outer axes, then blocks of rows."""
    out: list[Stmt] = []
    for region in regions(spec.columns, blocking.dot.lanes, blocking.vectors):
        block_var = Var(names.fresh("nb"))
        block: Expr = block_var if region.blocks > 1 else INDEX(0)
        body: Block = ()
        start = 0
        for count, height in _row_blocks(spec.row.extent, blocking.rows):
            body += _row_loop(spec, blocking, names, region, block, start, count, height)
            start += count * height
        for axis in reversed(spec.outer):
            body = loop(axis.var, axis.extent, *body)
        out.extend(loop(block_var, region.blocks, *body))
    return tuple(out)


def _row_loop(
    spec: Contraction,
    blocking: Blocking,
    names: Names,
    region: Region,
    block: Expr,
    start: int,
    count: int,
    height: int,
) -> Block:
    var = Var(names.fresh("rb"))
    base = (var * height if count > 1 else INDEX(0)) + start
    body = _Microkernel(spec, blocking, names, region, block, base, height).emit()
    return loop(var, count, *body) if count > 1 else body


class _Microkernel:
    """One block of ``height`` rows by ``region.vectors`` vectors."""

    def __init__(
        self, spec: Contraction, blocking: Blocking, names: Names, region: Region, block: Expr, base: Expr, height: int
    ) -> None:
        self.spec, self.blocking, self.names = spec, blocking, names
        self.region, self.block, self.base, self.height = region, block, base, height
        self.lanes = blocking.dot.lanes
        self.type = Type(DType(blocking.dot.accumulator.value), self.lanes)
        inner = max(1, spec.k[-1].extent // blocking.dot.group)
        self.by_lanes = blocking.lane_operand and _is_consecutive(spec.lhs, spec.k[-1].var)
        self.unroll = unroll_factor(inner, height * region.vectors, blocking)
        if self.by_lanes:
            self.unroll = self.lanes
        self.chains = blocking.chains if self.unroll % blocking.chains == 0 else 1
        shape = (self.chains, height, region.vectors)
        self.acc = Buffer(names.fresh("acc"), self.type, shape, Space.REG)
        self.sums = Buffer(names.fresh("sums"), self.type, shape[1:], Space.REG)
        self.weights = Buffer(names.fresh("wv"), self.type, (region.vectors,), Space.REG)
        self.rows = Buffer(names.fresh("xs"), self.type, (height,), Space.REG)
        self.registers = (Alloc(self.weights), Alloc(self.rows)) if self.by_lanes else (Alloc(self.weights),)

    def emit(self) -> Block:
        if self.spec.scale is not None:
            return (*self._scaled_loops(), *self._finish(lambda i, j: self.sums[_index(i, j)]))
        start = (Alloc(self.acc), *self._start(), *self.registers)
        return (*start, *self._k_loops(self.spec.k[:-1]), *self._finish(self._total))

    def _scaled_loops(self) -> Block:
        """For each step of the first k: the sum over the others, times its scale, added to what is there."""
        assert self.spec.scale is not None
        every = [(i, j) for i in range(self.height) for j in range(self.region.vectors)]
        zero = self.type(0)
        start = [store(self.sums[_index(i, j)], zero) for i, j in every]
        clear = [store(self.acc[_index(c, i, j)], zero) for i, j in every for c in range(self.chains)]
        add: list[Stmt] = []
        for j in range(self.region.vectors):
            scale = Var(self.names.fresh("scale"), self.type)
            add.append(Let(scale, self.spec.scale(self.region, self.block, j)))
            for i in range(self.height):
                scaled = self._total(i, j) * scale
                add.append(store(self.sums[_index(i, j)], self.sums[_index(i, j)] + scaled))
        first, *others, _ = self.spec.k
        body = (*clear, *self._k_loops(others), *add)
        blocks = loop(first.var, first.extent, *body)
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
            for i in range(self.height):
                for c in range(self.chains):
                    out.append(store(self.acc[_index(c, i, j)], first if c == 0 else zero))
        return tuple(out)

    def _k_loops(self, outer: Sequence[Axis]) -> Block:
        inner, group = self.spec.k[-1], self.blocking.dot.group
        full, rest = divmod(inner.extent, group)
        step, block_var = Var(self.names.fresh("t")), Var(self.names.fresh("kb"))
        k = block_var * self.unroll + step if self.unroll > 1 else block_var
        if self.by_lanes:
            body = self._lane_steps(block_var * self.lanes)
        else:
            body = self._step(step, k, self._broadcast(k, group))
            if self.unroll > 1:
                body = (For(step, INDEX(self.unroll), body, LoopKind.UNROLL),)
        nest = loop(block_var, full // self.unroll, *body)
        if rest:
            nest += self._step(as_expr(0), as_expr(full), self._broadcast(as_expr(full), rest))
        for axis in reversed(outer):
            nest = loop(axis.var, axis.extent, *nest, kind=axis.kind)
        return nest

    def _lane_steps(self, first: Expr) -> Block:
        """As many steps of k as there are lanes, from ``first`` on: a vector of each row, then one lane after the
        other."""
        i, group = Var(self.names.fresh("i")), self.blocking.dot.group
        lhs = self._activation(first, group)
        vector: Expr = load(lhs.buffer, *lhs.index, lanes=self.lanes * group)
        if group > 1:
            vector = Bitcast(self.type, vector)
        rows = For(i, INDEX(self.height), (store(self.rows[i], _bound(vector, {_ROW: i})),), LoopKind.UNROLL)
        steps: list[Stmt] = []
        for lane in range(self.lanes):
            steps += self._step(as_expr(lane), first + lane, partial(self._lane, lane))
        return (rows, *steps)

    def _lane(self, lane: int, row: Expr) -> Expr:
        return Lane(self.rows[row], lane)

    def _activation(self, k: Expr, group: int) -> Load:
        """The first activation of a group of the row ``_ROW``."""
        lhs = _bound(self.spec.lhs, {self.spec.k[-1].var: k * group, self.spec.row.var: self.base + _ROW})
        assert isinstance(lhs, Load)
        return lhs

    def _broadcast(self, k: Expr, present: int) -> Callable[[Expr], Expr]:
        """The scalar that a row multiplies its weights with; ``present`` of a group's elements exist."""
        operand = group_operand(self.blocking.dot, self._activation(k, self.blocking.dot.group), present)
        return lambda i: _bound(operand, {_ROW: i})

    def _step(self, step: Expr, k: Expr, factor: Callable[[Expr], Expr]) -> Block:
        """One step of k: the weights into registers, then every row times every vector.

        ``k`` counts groups; ``factor`` is that of a row.
        """
        dot, inner, vectors = self.blocking.dot, self.spec.k[-1].var, self.region.vectors
        chain = step % self.chains if self.chains > 1 else as_expr(0)
        loads = tuple(
            store(self.weights[_index(j)], _bound(self.spec.rhs(self.region, self.block, j), {inner: k}))
            for j in range(vectors)
        )
        i, j = Var(self.names.fresh("i")), Var(self.names.fresh("j"))
        acc = self.acc[chain, i, j]
        operand = factor(i)
        late = self.blocking.scalar_operand
        if self.lanes > 1 and not late:
            operand = Splat(operand, self.lanes)
        x = Var(self.names.fresh("xv"), operand.type)
        multiplier = Splat(x, self.lanes) if late else x
        update = store(self.acc[chain, i, j], multiply_accumulate(dot, multiplier, self.weights[j], acc))
        columns = For(j, INDEX(vectors), (update,), LoopKind.UNROLL)
        return (*loads, For(i, INDEX(self.height), (Let(x, operand), columns), LoopKind.UNROLL))

    def _total(self, i: int, j: int) -> Expr:
        """The sum of the chains."""
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
